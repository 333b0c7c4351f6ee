//! `crawl stream` of several data directories.

use std::path::Path;

use serde_json::Value;

use crate::helpers::stored;
use crate::stream::Consumer;
use crate::support::{Bench, code, crawl, json_lines, prose, text};

#[test]
fn several_directories_are_one_stream_with_one_cursor_that_equals_their_export() {
    let benches = [Bench::new(), Bench::new()];
    let page = |seed: u64| (format!("http://a.example/{seed}"), prose(seed, 12));
    let pages = [1, 2, 3, 4].map(page);
    let record = |at: usize| (pages[at].0.as_str(), format!("<p>{}</p>", pages[at].1));
    stored(&benches[0], &[record(0), record(1)], &[]);
    stored(&benches[1], &[record(1), record(2), record(3)], &[]);
    let dirs: Vec<_> = benches.iter().map(Bench::data).collect();
    let both = [dirs[0].as_path(), dirs[1].as_path()];
    let read = |from: &str, dirs: &[&Path]| -> Vec<Value> {
        let dirs = dirs.iter().flat_map(|data| [Path::new("--data"), data]);
        let output = crawl().args(["stream", "--from", from]).args(dirs).output().unwrap();
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        json_lines(&output.stdout)
    };
    let all = read("", &both);
    // Both directories keep one page: it is that of the first one.
    assert_eq!(all.len(), 4, "{all:?}");
    let mut consumer = Consumer::default();
    all.iter().for_each(|event| consumer.take(event));
    consumer.agrees_with(&both, "joined", &[]);
    // Every cursor continues with the events after it, also with the directories in another order.
    for (number, event) in all.iter().enumerate() {
        let cursor = event["cursor"].as_str().unwrap();
        assert_eq!(read(cursor, &both), all[number + 1..], "{cursor}");
    }
    let last = all[3]["cursor"].as_str().unwrap();
    assert_eq!(last.split(',').count(), 2);
    assert!(read(last, &[both[1], both[0]]).is_empty());
    // A worker that joined later begins at its first event; one that is missing is an error.
    let first = read("", &both[..1]);
    assert_eq!(read(first[1]["cursor"].as_str().unwrap(), &both).len(), 2);
    let refused =
        crawl().args(["stream", "--from", last, "--data"]).arg(&dirs[0]).output().unwrap();
    assert_eq!(code(&refused), 1);
    assert!(
        text(&refused.stderr).contains("belongs to none of these"),
        "{}",
        text(&refused.stderr)
    );
    // The first directory loses the page that the second one keeps: that one takes its place.
    benches[0].run(&["forget", &pages[1].0]);
    benches[0].run(&["forget", &pages[0].0]);
    let later = read(last, &both);
    let kinds: Vec<_> = later.iter().map(|event| (&event["event"], &event["url"])).collect();
    let url = |at: usize| Value::from(pages[at].0.as_str());
    assert_eq!(kinds, [(&"kept".into(), &url(1)), (&"removed".into(), &url(0))]);
    assert_eq!(later[0]["data"], dirs[1].display().to_string());
    later.iter().for_each(|event| consumer.take(event));
    consumer.agrees_with(&both, "after a removal", &[]);
    // The other order of the directories is another corpus, with the pages of the other one.
    let mut other = Consumer::default();
    read("", &[both[1], both[0]]).iter().for_each(|event| other.take(event));
    other.agrees_with(&[both[1], both[0]], "in the other order", &[]);
    let twice = crawl()
        .args(["stream", "--data"])
        .arg(&dirs[0])
        .arg("--data")
        .arg(&dirs[0])
        .output()
        .unwrap();
    assert_eq!(code(&twice), 1);
}
