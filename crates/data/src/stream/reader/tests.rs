use super::*;
use crate::positions::PagePosition;
use crate::stream::{EventKind, EventLog};

/// A data directory with a locked store, as beside a running crawl, and its log.
struct Crawl {
    folder: tempfile::TempDir,
    log: Option<EventLog>,
    position: PagePosition,
    _lock: crate::dir::DataDir,
}

impl Crawl {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let lock = crate::dir::DataDir::open(folder.path()).unwrap();
        let position = PagePosition::default();
        let log = Some(EventLog::open(folder.path(), &position).unwrap());
        Self { folder, log, position, _lock: lock }
    }

    fn append(&mut self, ids: std::ops::Range<u64>) {
        for id in ids {
            let url = format!("http://a.example/{id}/{}", "x".repeat((id * 997 % 9000) as usize));
            let event = PageEvent::new(EventKind::Removed, "t".into(), id, &url);
            self.log.as_mut().unwrap().append(&event).unwrap();
        }
    }

    fn sync(&mut self) {
        self.log.as_mut().unwrap().sync(&mut self.position).unwrap();
    }

    fn publish(&mut self) {
        self.log.as_mut().unwrap().publish(self.position.events).unwrap();
    }

    /// A crash after the last commit, which `position` has.
    fn crash(&mut self) {
        self.log = None;
        self.log = Some(EventLog::open(self.folder.path(), &self.position).unwrap());
    }

    fn stream(&self, from: Option<Position>) -> Result<DirStream> {
        DirStream::open(self.folder.path(), from)
    }
}

fn rest(stream: &mut DirStream) -> Vec<(u64, Position)> {
    let mut events = Vec::new();
    while let Some((cursor, event, _)) = stream.next_event().unwrap() {
        events.push((event.id, cursor));
    }
    events
}

fn ids(events: &[(u64, Position)]) -> Vec<u64> {
    events.iter().map(|(id, _)| *id).collect()
}

#[test]
fn only_durable_events_are_read_and_a_follower_sees_each_once() {
    let mut crawl = Crawl::new();
    let mut stream = crawl.stream(None).unwrap();
    assert!(!stream.refresh().unwrap());
    crawl.append(0..3);
    crawl.sync();
    assert!(!stream.refresh().unwrap(), "the store is not committed yet");
    crawl.publish();
    assert!(stream.refresh().unwrap());
    assert_eq!(ids(&rest(&mut stream)), [0, 1, 2]);
    assert!(!stream.refresh().unwrap());
    // Lost in a crash before the commit: they get other content afterwards.
    let committed = std::mem::take(&mut crawl.position);
    crawl.append(100..105);
    crawl.log.as_mut().unwrap().sync(&mut PagePosition::default()).unwrap();
    assert!(!stream.refresh().unwrap() && rest(&mut stream).is_empty());
    crawl.position = committed;
    crawl.crash();
    crawl.append(3..5);
    crawl.sync();
    crawl.publish();
    assert!(stream.refresh().unwrap());
    assert_eq!(ids(&rest(&mut stream)), [3, 4]);
    assert_eq!(ids(&rest(&mut crawl.stream(None).unwrap())), [0, 1, 2, 3, 4]);
}

#[test]
fn a_stream_goes_on_after_each_cursor() {
    let mut crawl = Crawl::new();
    crawl.append(0..60);
    crawl.sync();
    crawl.publish();
    let all = rest(&mut crawl.stream(None).unwrap());
    assert_eq!(ids(&all), (0..60).collect::<Vec<_>>());
    for (at, (_, cursor)) in all.iter().enumerate() {
        let after = rest(&mut crawl.stream(Some(*cursor)).unwrap());
        assert_eq!(after, all[at + 1..], "{cursor}");
    }
}

#[test]
fn a_cursor_of_another_directory_or_position_is_refused() {
    let (mut crawl, mut other) = (Crawl::new(), Crawl::new());
    let cursor = {
        other.append(0..9);
        other.sync();
        other.publish();
        rest(&mut other.stream(None).unwrap())[4].1
    };
    let said =
        |crawl: &Crawl, cursor: Position| crawl.stream(Some(cursor)).unwrap_err().to_string();
    assert!(said(&crawl, cursor).contains("has no events yet"));
    crawl.append(50..59);
    crawl.sync();
    crawl.publish();
    let wrong = said(&crawl, cursor);
    assert!(wrong.contains("belongs to another data directory") && wrong.contains("omit --from"));
    for (changed, why) in [
        (Position { offset: u64::MAX, ..cursor }, "older than the cursor"),
        (Position { offset: cursor.offset - 1, ..cursor }, "restored from a backup"),
        (Position { offset: 0, ..cursor }, "restored from a backup"),
        (Position { line: cursor.line ^ 1, ..cursor }, "restored from a backup"),
    ] {
        let wrong = said(&other, changed);
        assert!(wrong.contains(why), "{wrong}");
    }
}

#[test]
fn a_follower_notices_that_the_directory_was_cleared() {
    let mut crawl = Crawl::new();
    crawl.append(0..3);
    crawl.sync();
    crawl.publish();
    let mut stream = crawl.stream(None).unwrap();
    rest(&mut stream);
    std::fs::remove_file(crawl.folder.path().join("events.jsonl")).unwrap();
    crawl.position = PagePosition { archive: 1, ..PagePosition::default() };
    crawl.crash();
    crawl.append(0..9);
    crawl.sync();
    crawl.publish();
    let error = stream.refresh().unwrap_err().to_string();
    assert!(error.contains("was cleared"), "{error}");
}

#[test]
fn damaged_and_missing_lines_are_named() {
    let mut crawl = Crawl::new();
    crawl.append(0..3);
    crawl.sync();
    crawl.publish();
    let path = crawl.folder.path().join("events.jsonl");
    let whole = std::fs::read(&path).unwrap();
    let second = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut damaged = whole.clone();
    damaged[second] = b'x';
    std::fs::write(&path, damaged).unwrap();
    let mut stream = crawl.stream(None).unwrap();
    assert!(stream.next_event().unwrap().is_some());
    let error = stream.next_event().unwrap_err().to_string();
    assert!(error.contains(&format!("events.jsonl, byte {second}: ")), "{error}");
    std::fs::write(&path, &whole[..second]).unwrap();
    assert!(crawl.stream(None).unwrap_err().to_string().contains("committed bytes"));
    std::fs::remove_file(&path).unwrap();
    assert!(crawl.stream(None).unwrap_err().to_string().contains("it is missing"));
}
