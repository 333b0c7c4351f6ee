use super::*;
use crate::kind::DuplicateKind;
use crate::positions::PagePosition;
use crate::stream::{EventKind, EventLog, EventOf, PageEvent, TextChange};

const TIMES: [&str; 3] = ["2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z"];

fn event(kind: EventKind, day: usize, url: &str) -> PageEvent {
    PageEvent::new(kind, TIMES[day].to_owned(), 1, url)
}

fn changed(day: usize, url: &str, similarity: f64) -> PageEvent {
    let change = TextChange { similarity: Some(similarity), ..TextChange::default() };
    PageEvent { change: Some(change), ..event(EventKind::Changed, day, url) }
}

/// A data directory with three runs, one a day.
fn crawled() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let _lock = crate::dir::DataDir::open(folder.path()).unwrap();
    let mut position = PagePosition::default();
    let mut log = EventLog::open(folder.path(), &position).unwrap();
    let alias = |day, url: &str| PageEvent {
        kind: Some(DuplicateKind::Alias),
        of: Some(EventOf { id: Some(9), url: "http://a/there".into() }),
        ..event(EventKind::Discarded, day, url)
    };
    let days = [
        vec![
            event(EventKind::Kept, 0, "http://a/1"),
            event(EventKind::Kept, 0, "http://a/2"),
            event(EventKind::Kept, 0, "http://a/3"),
            event(EventKind::Discarded, 0, "http://a/copy"),
        ],
        vec![changed(1, "http://a/1", 0.9), event(EventKind::Removed, 1, "http://a/2")],
        vec![
            changed(2, "http://a/1", 0.5),
            event(EventKind::Kept, 2, "http://a/2"),
            event(EventKind::Removed, 2, "http://a/3"),
            alias(2, "http://a/3"),
            event(EventKind::Kept, 2, "http://a/4"),
            event(EventKind::Removed, 2, "http://a/4"),
        ],
    ];
    for (day, events) in days.into_iter().enumerate() {
        Runs::begin(folder.path(), TIMES[day].to_owned(), day > 0, log.position()).unwrap();
        events.iter().for_each(|event| log.append(event).unwrap());
        log.sync(&mut position).unwrap();
        log.publish(position.events).unwrap();
    }
    // Readers beside a lock take the written end.
    std::mem::forget(_lock);
    folder
}

fn list(folder: &Path, since: &str) -> Vec<(&'static str, String, Option<f64>)> {
    let since = if since.is_empty() { Since::LastRun } else { Since::parse(since).unwrap() };
    let changes = Changes::read(folder, &since, None, false).unwrap();
    let line = |page: PageChange| (page.change.as_str(), page.url, page.similarity);
    changes.pages.into_iter().map(line).collect()
}

#[test]
fn changes_are_the_difference_between_the_first_and_the_last_state() {
    let folder = crawled();
    let url = |number: u32| format!("http://a/{number}");
    assert_eq!(
        list(folder.path(), ""),
        [("changed", url(1), Some(0.5)), ("new", url(2), None), ("moved", url(3), None)]
    );
    // Two changes: the similarity of neither is that of both together.
    assert_eq!(
        list(folder.path(), "2"),
        [("changed", url(1), None), ("changed", url(2), None), ("moved", url(3), None)]
    );
    assert_eq!(list(folder.path(), "2026-03-03"), list(folder.path(), ""));
    assert_eq!(list(folder.path(), "1"), [("new", url(1), None), ("new", url(2), None)]);
    assert_eq!(list(folder.path(), "2027-01-01"), []);
    let one = Changes::read(folder.path(), &Since::Run(2), Some("http://a/3"), true).unwrap();
    assert_eq!(one.pages.len(), 1);
    assert_eq!(one.pages[0].of.as_ref().unwrap().url, "http://a/there");
}

#[test]
fn an_unknown_run_and_a_time_that_is_none_are_refused_with_advice() {
    let folder = crawled();
    let error = Changes::read(folder.path(), &Since::Run(7), None, false).unwrap_err().to_string();
    assert!(error.contains("no such run; runs 1 to 3"), "{error}");
    let error = Since::parse("yesterday").unwrap_err().to_string();
    assert!(error.contains("--since") && error.contains("number of a run"), "{error}");
}
