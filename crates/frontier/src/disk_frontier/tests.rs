use super::heads::{HEAD, HEADS};
use super::*;
use crate::lease::Fault;

pub(super) fn entry(url: &str) -> Entry {
    Entry::page(Url::parse(url).unwrap(), 1)
}

pub(super) fn open(folder: &Path, delay_ms: u64) -> DiskFrontier {
    let delay = Duration::from_millis(delay_ms);
    DiskFrontier::open(folder, Options { delay, ..Options::default() }).unwrap()
}

pub(super) fn lease(frontier: &dyn Frontier, now: Instant) -> Option<Lease> {
    match frontier.next(now).unwrap() {
        Next::Lease(lease) => Some(*lease),
        _ => None,
    }
}

#[test]
fn a_url_is_handed_out_once_and_a_host_waits_its_delay() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 500);
    assert!(frontier.push(entry("http://a.example/1")).unwrap());
    assert!(!frontier.push(entry("http://a.example/1")).unwrap());
    assert!(frontier.push(entry("http://a.example/2")).unwrap());
    assert!(frontier.push(entry("http://b.example/1")).unwrap());
    let now = Instant::now() + Duration::from_millis(1);
    let first = lease(&frontier, now).unwrap();
    let second = lease(&frontier, now).unwrap();
    assert_eq!(
        (first.entry.url.as_str(), second.entry.url.as_str()),
        ("http://a.example/1", "http://b.example/1")
    );
    assert!(lease(&frontier, now).is_none(), "one request at a time");
    frontier.done(first, Duration::ZERO, now);
    assert!(lease(&frontier, now + Duration::from_millis(499)).is_none());
    assert!(lease(&frontier, now + Duration::from_millis(500)).is_some());
}

#[test]
fn a_slow_host_is_asked_less_often() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 100);
    frontier.push(entry("http://a.example/1")).unwrap();
    frontier.push(entry("http://a.example/2")).unwrap();
    let now = Instant::now() + Duration::from_millis(1);
    let first = lease(&frontier, now).unwrap();
    frontier.done(first, Duration::from_secs(2), now);
    assert!(lease(&frontier, now + Duration::from_millis(3900)).is_none());
    assert!(lease(&frontier, now + Duration::from_secs(4)).is_some());
}

#[test]
fn committed_urls_survive_a_kill_and_leases_in_flight_are_requeued() {
    let folder = tempfile::tempdir().unwrap();
    {
        let frontier = open(folder.path(), 0);
        for i in 0..1000 {
            frontier.push(entry(&format!("http://a.example/{i}"))).unwrap();
        }
        let now = Instant::now();
        let first = lease(&frontier, now).unwrap();
        frontier.done(first, Duration::ZERO, now);
        let _ = lease(&frontier, now).unwrap();
        frontier.commit(b"position").unwrap();
    }
    let frontier = open(folder.path(), 0);
    assert_eq!(frontier.payload().unwrap(), b"position");
    assert_eq!(frontier.counts(), Counts { known: 1000, queued: 999, deferred: 0 });
    let mut urls = Vec::new();
    while let Some(lease) = lease(&frontier, Instant::now()) {
        urls.push(lease.entry.url.path().to_owned());
        frontier.done(lease, Duration::ZERO, Instant::now());
    }
    let expected: Vec<String> = (1..1000).map(|i| format!("/{i}")).collect();
    assert_eq!(urls, expected);
}

#[test]
fn a_queue_longer_than_its_head_is_read_back_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 0);
    for i in 0..HEAD * 3 {
        frontier.push(entry(&format!("http://a.example/{i}"))).unwrap();
    }
    let mut seen = 0;
    for _ in 0..4 {
        while let Some(lease) = lease(&frontier, Instant::now()) {
            assert_eq!(lease.entry.url.path(), format!("/{seen}"));
            seen += 1;
            frontier.done(lease, Duration::ZERO, Instant::now());
        }
        frontier.commit(b"").unwrap();
    }
    assert_eq!(seen, HEAD * 3);
    assert_eq!(frontier.counts().queued, 0);
}

#[test]
fn work_waiting_for_a_commit_is_distinguished_from_work_waiting_for_its_host() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 0);
    assert!(!frontier.has_work());
    for i in 0..=HEAD {
        frontier.push(entry(&format!("http://a.example/{i}"))).unwrap();
    }
    assert!(frontier.has_work());
    while let Some(lease) = lease(&frontier, Instant::now()) {
        frontier.done(lease, Duration::ZERO, Instant::now());
    }
    assert_eq!(frontier.counts().queued, 1);
    assert!(!frontier.has_work(), "the last one cannot be read from disk yet");
    frontier.push(entry("http://b.example/")).unwrap();
    frontier.set_delay("b.example", Duration::from_secs(600));
    assert!(frontier.has_work() && lease(&frontier, Instant::now()).is_none(), "later, not after");
    frontier.commit(b"").unwrap();
    assert!(lease(&frontier, Instant::now()).is_some());
}

#[test]
fn a_retry_comes_first_and_counts() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 0);
    frontier.push(entry("http://a.example/1")).unwrap();
    frontier.push(entry("http://a.example/2")).unwrap();
    let now = Instant::now();
    let first = lease(&frontier, now).unwrap();
    frontier.end(first, End::Retry { wait: Duration::from_secs(5), failure: false }, now);
    assert!(lease(&frontier, now + Duration::from_secs(4)).is_none());
    let again = lease(&frontier, now + Duration::from_secs(5)).unwrap();
    assert_eq!((again.entry.url.path(), again.attempts), ("/1", 1));
}

#[test]
fn two_processes_do_not_share_a_frontier() {
    let folder = tempfile::tempdir().unwrap();
    let _held = open(folder.path(), 0);
    assert!(matches!(DiskFrontier::open(folder.path(), Options::default()), Err(Error::Locked(_))));
}

/// A command that reads the file does not end a crawl that starts.
#[test]
fn opening_waits_for_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    drop(DiskFrontier::open(folder.path(), Options::default()).unwrap());
    let reader = DiskFrontier::open_read_only(folder.path(), Options::default()).unwrap();
    let ends = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        drop(reader);
    });
    DiskFrontier::open(folder.path(), Options::default()).unwrap();
    ends.join().unwrap();
}

#[test]
fn hosts_of_one_address_share_its_clock() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { address_delay: Duration::from_millis(200), ..Options::default() };
    let frontier = DiskFrontier::open(folder.path(), options).unwrap();
    for host in ["a", "b", "c"] {
        frontier.push(entry(&format!("http://{host}.example/1"))).unwrap();
        frontier.push(entry(&format!("http://{host}.example/2"))).unwrap();
    }
    let start = Instant::now() + Duration::from_millis(1);
    let ip: IpAddr = "192.0.2.1".parse().unwrap();
    let mut asked = Vec::new();
    for step in 0..4000 {
        let now = start + Duration::from_millis(step);
        while let Some(lease) = lease(&frontier, now) {
            if !lease.has_address && !frontier.set_address(&lease, ip, now) {
                frontier.end(lease, End::PutBack { wait: Duration::ZERO }, now);
                continue;
            }
            asked.push(step);
            frontier.done(lease, Duration::ZERO, now);
        }
    }
    assert_eq!(asked.len(), 6);
    assert!(asked.windows(2).all(|pair| pair[1] - pair[0] >= 200), "{asked:?}");
}

#[test]
fn ten_thousand_hosts_of_one_address_are_one_server_and_do_not_keep_another_waiting() {
    const HOSTS: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let pause = Duration::from_millis(200);
    let options = Options { address_delay: pause, delay: pause, ..Options::default() };
    let frontier = DiskFrontier::open(folder.path(), options).unwrap();
    for host in 0..HOSTS {
        frontier.push(entry(&format!("http://h{host}.example/"))).unwrap();
    }
    for page in 0..10 {
        frontier.push(entry(&format!("http://honest.example/{page}"))).unwrap();
    }
    frontier.commit(b"").unwrap();
    let start = Instant::now() + Duration::from_millis(1);
    let (crowd, alone) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
    let (mut asked, mut honest, mut looked) = (0, 0, 0);
    for step in (0..2000).step_by(10) {
        let now = start + Duration::from_millis(step);
        while let Some(lease) = lease(&frontier, now) {
            let is_honest = lease.host == "honest.example";
            let ip = if is_honest { alone } else { crowd };
            looked += 1;
            if !lease.has_address && !frontier.set_address(&lease, ip, now) {
                frontier.end(lease, End::PutBack { wait: Duration::ZERO }, now);
                continue;
            }
            *(if is_honest { &mut honest } else { &mut asked }) += 1;
            frontier.done(lease, Duration::ZERO, now);
        }
    }
    assert_eq!((asked, honest), (10, 10), "one in 200 ms each, as two servers would be asked");
    // Each name is resolved once; no host is leased repeatedly while its address is busy.
    assert!(looked < 2 * HOSTS, "{looked}");
    let counts = frontier.counts();
    assert_eq!(counts.queued, (HOSTS - 10) as u64, "all others still wait");
}

#[test]
fn a_dying_host_is_left_alone_then_given_up_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        delay: Duration::from_millis(10),
        breaker_after: 2,
        breaker_wait: Duration::from_secs(4),
        give_up_after: 4,
        ..Options::default()
    };
    let frontier = DiskFrontier::open(folder.path(), options.clone()).unwrap();
    for i in 0..HEAD * 2 {
        frontier.push(entry(&format!("http://dead.example/{i}"))).unwrap();
    }
    frontier.push(entry("http://good.example/1")).unwrap();
    frontier.commit(b"").unwrap();
    let start = Instant::now() + Duration::from_millis(1);
    let (mut tries, mut good, mut given_up) = (Vec::new(), 0, false);
    for step in 0..60_000 {
        let now = start + Duration::from_millis(step);
        while let Some(lease) = lease(&frontier, now) {
            if lease.host == "good.example" {
                good += 1;
                frontier.done(lease, Duration::ZERO, now);
            } else {
                tries.push(step);
                given_up |= frontier.end(lease, End::Defer { fault: Fault::Failure }, now);
            }
        }
    }
    assert_eq!((tries.len(), good, given_up), (4, 1, true), "{tries:?}");
    assert!(tries[2] - tries[1] >= 4000 && tries[3] - tries[2] >= 8000, "{tries:?}");
    let counts = frontier.counts();
    assert_eq!((counts.queued, counts.deferred), (HEAD as u64 * 2, HEAD as u64 * 2));
    assert!(frontier.host("dead.example").unwrap().given_up);
    // URLs that are pushed later are deferred too.
    frontier.push(entry("http://dead.example/late")).unwrap();
    let counts = frontier.counts();
    assert_eq!(counts.queued, counts.deferred);
    frontier.commit(b"").unwrap();
    drop(frontier);
    let frontier = DiskFrontier::open(folder.path(), options).unwrap();
    assert_eq!(frontier.counts().queued, HEAD as u64 * 2 + 1);
    assert!(lease(&frontier, Instant::now()).is_some(), "the next run tries again");
}

#[test]
fn notes_are_found_before_and_after_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 0);
    assert_eq!(frontier.note_of("a.example", "robots").unwrap(), None);
    frontier.note("a.example", "robots", b"one".to_vec());
    frontier.note("a.example", "robots", b"two".to_vec());
    assert_eq!(frontier.note_of("a.example", "robots").unwrap().unwrap(), b"two");
    frontier.commit(b"").unwrap();
    drop(frontier);
    let frontier = open(folder.path(), 0);
    assert_eq!(frontier.note_of("a.example", "robots").unwrap().unwrap(), b"two");
    let mut found = Vec::new();
    frontier
        .notes("robots", &mut |subject: &str, value: &[u8]| {
            found.push((subject.to_owned(), value.to_vec()));
        })
        .unwrap();
    assert_eq!(found, [("a.example".to_owned(), b"two".to_vec())]);
}

#[test]
fn a_url_is_looked_at_again_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 0);
    frontier.push(entry("http://a.example/1")).unwrap();
    frontier.commit(b"").unwrap();
    assert!(!frontier.push_again(entry("http://a.example/1")).unwrap(), "it is queued");
    let now = Instant::now();
    let first = lease(&frontier, now).unwrap();
    frontier.done(first, Duration::ZERO, now);
    frontier.commit(b"").unwrap();
    assert!(!frontier.push(entry("http://a.example/1")).unwrap());
    assert!(frontier.push_again(entry("http://a.example/1")).unwrap());
    assert!(!frontier.push_again(entry("http://a.example/1")).unwrap());
    frontier.commit(b"").unwrap();
    assert_eq!(frontier.counts(), Counts { known: 1, queued: 1, deferred: 0 });
    assert_eq!(frontier.position(&Url::parse("http://a.example/1").unwrap()).unwrap(), Some(0));
    assert!(lease(&frontier, Instant::now()).is_some());
}

#[test]
fn an_entry_is_read_back_as_it_was_written() {
    let url = Url::parse("http://a.example/1").unwrap();
    for entry in [
        Entry::page(url.clone(), 7),
        Entry::sitemap(url.clone(), 2),
        Entry { hops: 5, ..Entry::page(url, 0) },
    ] {
        assert_eq!(Entry::decode(&entry.encode()), Some(entry));
    }
}

#[test]
fn nothing_is_forgotten_while_a_commit_is_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = std::sync::Arc::new(open(folder.path(), 0));
    let count = HEAD * 40;
    let writer = {
        let frontier = std::sync::Arc::clone(&frontier);
        std::thread::spawn(move || {
            for i in 0..count {
                frontier.push(entry(&format!("http://a.example/{i}"))).unwrap();
                if i % (HEAD * 2) == HEAD * 2 - 1 {
                    frontier.commit(b"").unwrap();
                }
            }
            frontier.commit(b"").unwrap();
        })
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut handed_out = 0;
    while handed_out < count && Instant::now() < deadline {
        match frontier.next(Instant::now()).unwrap() {
            Next::Lease(lease) => {
                frontier.done(*lease, Duration::ZERO, Instant::now());
                handed_out += 1;
            }
            _ if writer.is_finished() => {
                // One more `next` after the last commit, then it ends.
                match frontier.next(Instant::now()).unwrap() {
                    Next::Lease(lease) => {
                        frontier.done(*lease, Duration::ZERO, Instant::now());
                        handed_out += 1;
                    }
                    _ => break,
                }
            }
            _ => std::thread::yield_now(),
        }
    }
    writer.join().unwrap();
    assert_eq!(handed_out, count);
}

#[test]
fn a_host_that_answers_with_errors_alone_is_given_up_too() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        delay: Duration::ZERO,
        breaker_after: 2,
        breaker_wait: Duration::from_secs(1),
        give_up_after: 3,
        per_host: 2,
        ..Options::default()
    };
    let frontier = DiskFrontier::open(folder.path(), options).unwrap();
    for i in 0..10 {
        frontier.push(entry(&format!("http://sick.example/{i}"))).unwrap();
    }
    let mut now = Instant::now();
    let waiting = lease(&frontier, now).unwrap();
    let mut ends = false;
    for _ in 0..3 {
        let mut sick = loop {
            now += Duration::from_secs(1);
            if let Some(lease) = lease(&frontier, now) {
                break lease;
            }
        };
        ends = frontier.free(&mut sick, HostAnswer::Failed, now);
        frontier.end(sick, End::Done, Instant::now());
    }
    assert!(ends);
    // URLs that were in flight come back and are deferred like the rest.
    frontier.end(waiting, End::PutBack { wait: Duration::ZERO }, now);
    assert_eq!(frontier.counts(), Counts { known: 10, queued: 7, deferred: 7 });
    assert!(lease(&frontier, now + Duration::from_secs(3600)).is_none());
}

#[test]
fn an_uncommitted_url_counts_as_queued_when_it_is_pushed_again() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 0);
    frontier.push(entry("http://a.example/1")).unwrap();
    assert!(!frontier.push_again(entry("http://a.example/1")).unwrap(), "queued, not committed");
    let now = Instant::now();
    let first = lease(&frontier, now).unwrap();
    assert!(!frontier.push_again(entry("http://a.example/1")).unwrap(), "in flight");
    frontier.done(first, Duration::ZERO, now);
    assert!(frontier.push_again(entry("http://a.example/1")).unwrap(), "done, not committed");
    assert!(!frontier.push_again(entry("http://a.example/1")).unwrap(), "queued again");
    frontier.commit(b"").unwrap();
    let second = lease(&frontier, Instant::now()).unwrap();
    // On disk it is queued, in memory it is done.
    frontier.done(second, Duration::ZERO, Instant::now());
    assert!(frontier.push_again(entry("http://a.example/1")).unwrap(), "done, not committed");
    frontier.commit(b"").unwrap();
    drop(frontier);
    let frontier = open(folder.path(), 0);
    assert_eq!(frontier.counts(), Counts { known: 1, queued: 1, deferred: 0 });
    let third = lease(&frontier, Instant::now()).unwrap();
    assert!(!frontier.push_again(third.entry).unwrap(), "in flight");
}

fn until_committing(frontier: &DiskFrontier) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while frontier.lock().committing.is_none() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert!(frontier.lock().committing.is_some());
}

#[test]
fn a_batch_can_be_read_while_it_is_written_and_commits_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 0);
    frontier.push(entry("http://a.example/done")).unwrap();
    let first = lease(&frontier, Instant::now()).unwrap();
    frontier.commit(b"").unwrap();
    frontier.done(first, Duration::ZERO, Instant::now());
    frontier.push(entry("http://a.example/queued")).unwrap();
    frontier.note("a.example", "robots", b"one".to_vec());
    let held = frontier.disk.hold();
    std::thread::scope(|threads| {
        let one = threads.spawn(|| frontier.commit(b"one"));
        until_committing(&frontier);
        assert_eq!(frontier.note_of("a.example", "robots").unwrap().unwrap(), b"one");
        assert!(!frontier.push_again(entry("http://a.example/queued")).unwrap());
        assert!(frontier.push_again(entry("http://a.example/done")).unwrap());
        let two = threads.spawn(|| frontier.commit(b"two"));
        // Long enough for the second commit to take the first one's batch, if that were possible.
        std::thread::sleep(Duration::from_millis(50));
        assert!(frontier.knows("http://a.example/queued").unwrap());
        assert!(!frontier.push_again(entry("http://a.example/done")).unwrap());
        held.abort().unwrap();
        one.join().unwrap().unwrap();
        two.join().unwrap().unwrap();
    });
    assert_eq!(frontier.payload().unwrap(), b"two");
    drop(frontier);
    let frontier = open(folder.path(), 0);
    assert_eq!(frontier.counts(), Counts { known: 2, queued: 2, deferred: 0 });
}

#[test]
fn after_a_failed_commit_everything_is_refused() {
    const OTHER: redb::TableDefinition<'_, u8, u8> = redb::TableDefinition::new("notes");
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), 0));
    // With a table of another type no commit can open it.
    let db = redb::Database::open(folder.path().join("frontier.redb")).unwrap();
    let txn = db.begin_write().unwrap();
    txn.open_table(OTHER).unwrap().insert(1, 1).unwrap();
    txn.commit().unwrap();
    drop(db);
    let frontier = open(folder.path(), 0);
    frontier.push(entry("http://a.example/1")).unwrap();
    assert!(matches!(frontier.commit(b"one"), Err(Error::Damaged { .. })));
    assert!(matches!(frontier.commit(b"two"), Err(Error::Damaged { .. })));
    assert!(matches!(frontier.push(entry("http://a.example/2")), Err(Error::Damaged { .. })));
    assert!(matches!(frontier.next(Instant::now()), Err(Error::Damaged { .. })));
    drop(frontier);
    let frontier = open(folder.path(), 0);
    assert_eq!(frontier.payload().unwrap(), b"");
    assert!(frontier.push(entry("http://a.example/1")).unwrap(), "nothing of it was kept");
}

#[test]
fn rows_that_damage_left_unreadable_hide_none_behind_them() {
    use redb::ReadableTable;
    const QUEUE: redb::TableDefinition<'_, (u64, u64), &[u8]> = redb::TableDefinition::new("queue");
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 0);
    for number in 0..1000 {
        frontier.push(entry(&format!("http://a.example/{number}"))).unwrap();
    }
    frontier.commit(b"").unwrap();
    drop(frontier);
    let db = redb::Database::open(folder.path().join(FILE)).unwrap();
    let txn = db.begin_write().unwrap();
    {
        let mut table = txn.open_table(QUEUE).unwrap();
        let first = table.first().unwrap().unwrap().0.value();
        // Single rows, and more consecutive ones than one read returns.
        for row in (0..3).map(|row| 10 * row).chain(400..800) {
            table.insert((first.0, first.1 + row), b"no entry".as_slice()).unwrap();
        }
    }
    txn.commit().unwrap();
    drop(db);
    let frontier = open(folder.path(), 0);
    let mut found = 0;
    while let Some(lease) = lease(&frontier, Instant::now()) {
        frontier.done(lease, Duration::ZERO, Instant::now());
        found += 1;
    }
    assert_eq!(found, 597);
    // They stay deferred, and the crawl does not wait for them.
    assert_eq!(frontier.counts(), Counts { known: 1000, queued: 403, deferred: 403 });
}

#[test]
fn a_probe_that_a_kill_lost_is_asked_again_and_one_that_was_answered_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let probe = || Entry { kind: EntryKind::Probe, ..entry("http://a.example/no-such-page") };
    for answered in [false, true] {
        let frontier = open(folder.path(), 0);
        assert!(frontier.push(probe()).unwrap(), "{answered}");
        assert!(!frontier.push(probe()).unwrap());
        let Next::Lease(lease) = frontier.next(Instant::now()).unwrap() else { panic!("a lease") };
        if answered {
            frontier.done(*lease, Duration::ZERO, Instant::now());
        }
        frontier.commit(b"").unwrap();
    }
    let frontier = open(folder.path(), 0);
    assert!(!frontier.push(probe()).unwrap());
    assert_eq!(frontier.counts().queued, 0);
}

#[test]
fn refusals_are_no_known_urls() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 0);
    frontier.push(entry("http://a.example/1")).unwrap();
    let deep = Url::parse("http://a.example/deep").unwrap();
    assert!(frontier.refuse(&deep).unwrap());
    assert_eq!(frontier.counts().known, 1);
    frontier.commit(b"").unwrap();
    drop(frontier);
    let frontier = open(folder.path(), 0);
    assert_eq!(frontier.counts().known, 1);
    assert!(!frontier.refuse(&deep).unwrap());
}

#[test]
fn of_many_hosts_few_urls_each_are_held_in_memory_and_none_is_lost() {
    assert_eq!([1, 256, 1024, 8192, 1 << 20].map(head), [256, 256, 64, 8, 8]);
    let folder = tempfile::tempdir().unwrap();
    let options = Options { delay: Duration::ZERO, per_host: 1000, ..Options::default() };
    let frontier = DiskFrontier::open(folder.path(), options).unwrap();
    let (hosts, urls) = (2000, 60);
    // The first URL of every host first, like seeds.
    for url in 0..urls {
        for host in 0..hosts {
            frontier.push(entry(&format!("http://h{host}.example/{url}"))).unwrap();
        }
        frontier.commit(b"").unwrap();
    }
    let held: usize = frontier.lock().hosts.iter().map(Host::held).sum();
    assert!(held <= HEADS + hosts, "{held} of {} in memory", hosts * urls);
    let mut handed_out = 0;
    while let Next::Lease(lease) = frontier.next(Instant::now()).unwrap() {
        frontier.done(*lease, Duration::ZERO, Instant::now());
        handed_out += 1;
        if handed_out % 10_000 == 0 {
            frontier.commit(b"").unwrap();
        }
    }
    assert_eq!(handed_out, hosts * urls);
}
