use super::*;

fn entry(url: &str) -> Entry {
    Entry { url: Url::parse(url).unwrap(), depth: 1, hops: 0 }
}

fn open(folder: &Path, delay_ms: u64) -> Frontier {
    let delay = Duration::from_millis(delay_ms);
    Frontier::open(folder, Options { delay, ..Options::default() }).unwrap()
}

fn lease(frontier: &Frontier, now: Instant) -> Option<Lease> {
    match frontier.next(now).unwrap() {
        Next::Lease(lease) => Some(*lease),
        _ => None,
    }
}

#[test]
fn a_url_is_handed_out_once_and_a_host_waits_its_delay() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 500);
    assert!(frontier.push(entry("http://a.example/1")));
    assert!(!frontier.push(entry("http://a.example/1")));
    assert!(frontier.push(entry("http://a.example/2")));
    assert!(frontier.push(entry("http://b.example/1")));
    let now = Instant::now() + Duration::from_millis(1);
    let first = lease(&frontier, now).unwrap();
    let second = lease(&frontier, now).unwrap();
    assert_eq!(
        (first.entry.url.as_str(), second.entry.url.as_str()),
        ("http://a.example/1", "http://b.example/1")
    );
    assert!(lease(&frontier, now).is_none(), "one request at a time");
    frontier.done(&first, Duration::ZERO, now);
    assert!(lease(&frontier, now + Duration::from_millis(499)).is_none());
    assert!(lease(&frontier, now + Duration::from_millis(500)).is_some());
}

#[test]
fn a_slow_host_is_asked_less_often() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 100);
    frontier.push(entry("http://a.example/1"));
    frontier.push(entry("http://a.example/2"));
    let now = Instant::now() + Duration::from_millis(1);
    let first = lease(&frontier, now).unwrap();
    frontier.done(&first, Duration::from_secs(2), now);
    assert!(lease(&frontier, now + Duration::from_millis(3900)).is_none());
    assert!(lease(&frontier, now + Duration::from_secs(4)).is_some());
}

#[test]
fn what_was_committed_survives_and_what_was_in_flight_comes_again() {
    let folder = tempfile::tempdir().unwrap();
    {
        let frontier = open(folder.path(), 0);
        for i in 0..1000 {
            frontier.push(entry(&format!("http://a.example/{i}")));
        }
        let now = Instant::now();
        let first = lease(&frontier, now).unwrap();
        frontier.done(&first, Duration::ZERO, now);
        lease(&frontier, now).unwrap();
        frontier.commit(b"position").unwrap();
    }
    let frontier = open(folder.path(), 0);
    assert_eq!(frontier.payload().unwrap(), b"position");
    assert_eq!(frontier.counts(), Counts { known: 1000, queued: 999, deferred: 0 });
    let mut urls = Vec::new();
    while let Some(lease) = lease(&frontier, Instant::now()) {
        urls.push(lease.entry.url.path().to_owned());
        frontier.done(&lease, Duration::ZERO, Instant::now());
    }
    let expected: Vec<String> = (1..1000).map(|i| format!("/{i}")).collect();
    assert_eq!(urls, expected);
}

#[test]
fn a_queue_longer_than_its_head_is_read_back_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 0);
    for i in 0..HEAD * 3 {
        frontier.push(entry(&format!("http://a.example/{i}")));
    }
    let mut seen = 0;
    for _ in 0..4 {
        while let Some(lease) = lease(&frontier, Instant::now()) {
            assert_eq!(lease.entry.url.path(), format!("/{seen}"));
            seen += 1;
            frontier.done(&lease, Duration::ZERO, Instant::now());
        }
        frontier.commit(b"").unwrap();
    }
    assert_eq!(seen, HEAD * 3);
    assert_eq!(frontier.counts().queued, 0);
}

#[test]
fn a_retry_comes_first_and_counts() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 0);
    frontier.push(entry("http://a.example/1"));
    frontier.push(entry("http://a.example/2"));
    let now = Instant::now();
    let first = lease(&frontier, now).unwrap();
    frontier.retry(first, Duration::from_secs(5), now);
    assert!(lease(&frontier, now + Duration::from_secs(4)).is_none());
    let again = lease(&frontier, now + Duration::from_secs(5)).unwrap();
    assert_eq!((again.entry.url.path(), again.attempts), ("/1", 1));
}

#[test]
fn two_processes_do_not_share_a_frontier() {
    let folder = tempfile::tempdir().unwrap();
    let _held = open(folder.path(), 0);
    assert!(matches!(Frontier::open(folder.path(), Options::default()), Err(Error::Locked(_))));
}
