use std::time::{Duration, Instant};

use super::*;
use crate::disk_frontier::heads::HEAD;
use crate::disk_frontier::tests::{entry, lease};
use crate::{End, Frontier, Lease, Next, Options};

/// Leases everything and returns it in order, with a commit after every `commit_each` leases.
fn drain(frontier: &DiskFrontier, commit_each: usize) -> Vec<Entry> {
    let mut all = Vec::new();
    loop {
        match frontier.next(Instant::now()).unwrap() {
            Next::Lease(lease) => {
                let held = frontier.lock().hosts.iter().map(|host| host.held()).max();
                assert!(held <= Some(HEAD + 40), "{held:?} of one host in memory");
                all.push(lease.entry.clone());
                frontier.done(*lease, Duration::ZERO, Instant::now());
                if all.len() % commit_each == 0 {
                    frontier.commit(b"").unwrap();
                }
            }
            _ if frontier.is_dirty() => frontier.commit(b"").unwrap(),
            _ => return all,
        }
    }
}

#[test]
fn shallow_and_recently_changed_urls_come_first_whenever_they_were_found() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let options = Options { delay: Duration::ZERO, per_host: 1000, ..Options::default() };
        DiskFrontier::open(folder.path(), options).unwrap()
    };
    let page = |depth: u16, number: u64| {
        let url = format!("http://a.example/{depth}/{number}");
        Entry { depth, ..entry(&url) }
    };
    // The deepest first, more of each depth than fit in memory.
    let each = HEAD as u64 + 100;
    let fill = |frontier: &DiskFrontier| {
        for depth in (0..12).rev() {
            (0..each).for_each(|number| assert!(frontier.push(page(depth, number)).unwrap()));
        }
        for number in 0..5 {
            let recent = Entry { recent: true, ..page(1, 1000 + number) };
            assert!(frontier.push(recent).unwrap());
        }
    };
    let frontier = open();
    fill(&frontier);
    let first = lease(&frontier, Instant::now()).unwrap();
    assert_eq!(first.entry.url.path(), "/11/0", "what is not in memory needs a commit");
    frontier.end(first, End::PutBack { wait: Duration::ZERO }, Instant::now());
    frontier.commit(b"").unwrap();
    let from_disk = {
        drop(frontier);
        open()
    };
    let handed_out = drain(&from_disk, 700);
    assert_eq!(handed_out.len() as u64, 12 * each + 5);
    let order = |entry: &Entry| {
        let [depth, number] = [1, 2]
            .map(|at: usize| entry.url.path().split('/').nth(at).unwrap().parse::<u64>().unwrap());
        // From depth 6 on in the order of arrival.
        let recent = number >= 1000;
        let late = if depth >= 6 { 11 - depth } else { 0 };
        (if recent { 0 } else { depth.min(6) }, u64::from(recent), late, number)
    };
    let places: Vec<_> = handed_out.iter().map(order).collect();
    assert!(places.is_sorted(), "{:?}", places.windows(2).find(|two| two[0] > two[1]));
    assert_eq!(from_disk.counts().queued, 0);
}

#[test]
fn long_urls_are_buffered_up_to_a_byte_limit_and_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { delay: Duration::ZERO, ..Options::default() };
    let open = || DiskFrontier::open(folder.path(), options.clone()).unwrap();
    let frontier = open();
    let (hosts, urls, long) = (150, 90, "x".repeat(2000));
    assert!(hosts * urls * long.len() > HEADS_BYTES * 3 / 2);
    for url in 0..urls {
        for host in 0..hosts {
            frontier.push(entry(&format!("http://h{host}.example/{long}/{url}"))).unwrap();
        }
        if url % 9 == 8 {
            frontier.commit(b"").unwrap();
        }
    }
    let held = |frontier: &DiskFrontier| -> usize {
        let state = frontier.lock();
        let held: usize = state.hosts.iter().map(|host| host.held_bytes()).sum();
        assert_eq!(held, state.held_bytes);
        let urls: usize = state.hosts.iter().map(|host| host.held()).sum();
        assert!(held >= urls * long.len(), "{held} bytes of {urls}");
        held
    };
    let most = HEADS_BYTES + 4096;
    assert!((HEADS_BYTES..most).contains(&held(&frontier)), "{}", held(&frontier));
    let again = {
        drop(frontier);
        open()
    };
    let mut next = vec![0; hosts];
    for count in 1..=hosts * urls {
        let Some(lease) = lease(&again, Instant::now()) else { panic!("{count}") };
        let host: usize = lease.host[1..lease.host.find('.').unwrap()].parse().unwrap();
        assert!(lease.entry.url.path().ends_with(&format!("/{}", next[host])), "{lease:?}");
        next[host] += 1;
        again.done(lease, Duration::ZERO, Instant::now());
        if count % 500 == 0 {
            assert!(held(&again) < most, "{}", held(&again));
            again.commit(b"").unwrap();
        }
    }
    assert_eq!((again.counts().queued, held(&again)), (0, 0));
}

#[test]
fn sitemaps_below_others_do_not_hold_up_what_seeds_link_to() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { delay: Duration::ZERO, ..Options::default() };
    let frontier = DiskFrontier::open(folder.path(), options).unwrap();
    let url = |path: &str| entry(&format!("http://a.example{path}")).url;
    for (path, depth) in [("/link", 1), ("/", 0)] {
        frontier.push(Entry::page(url(path), depth)).unwrap();
    }
    for (path, hops) in [("/below", 1), ("/named", 0)] {
        frontier.push(Entry::sitemap(url(path), hops)).unwrap();
    }
    frontier.push(Entry { recent: true, ..Entry::page(url("/again"), 0) }).unwrap();
    let order: Vec<String> =
        drain(&frontier, 9).iter().map(|entry| entry.url.path().to_owned()).collect();
    assert_eq!(order, ["/", "/named", "/again", "/link", "/below"]);
}

#[test]
fn a_row_that_damage_left_unreadable_is_counted_once_however_often_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let options = Options { delay: Duration::ZERO, ..Options::default() };
        DiskFrontier::open(folder.path(), options).unwrap()
    };
    let push = |frontier: &DiskFrontier, depth: u16| {
        for number in 0..2 * HEAD {
            let url = format!("http://a.example/{depth}/{number}");
            frontier.push(Entry { depth, ..entry(&url) }).unwrap();
        }
        frontier.commit(b"").unwrap();
    };
    let frontier = open();
    push(&frontier, 9);
    drop(frontier);
    let db = redb::Database::open(folder.path().join("frontier.redb")).unwrap();
    let txn = db.begin_write().unwrap();
    {
        let mut queue = txn.open_table(QUEUE).unwrap();
        let first = redb::ReadableTable::first(&queue).unwrap().unwrap().0.value();
        queue.insert((first.0, first.1 + 7), b"no entry".as_slice()).unwrap();
        // A version without classes stores numbers with their class.
        let next = first.1.to_le_bytes();
        txn.open_table(META).unwrap().insert("next", next.as_slice()).unwrap();
    }
    txn.commit().unwrap();
    drop(db);
    forget_counts(folder.path());
    let frontier = open();
    let order = |all: Vec<Entry>| -> Vec<u16> { all.iter().map(|entry| entry.depth).collect() };
    // Read, dropped from memory for an earlier class, and read again.
    let lease = lease(&frontier, Instant::now()).unwrap();
    frontier.done(lease, Duration::ZERO, Instant::now());
    [10, 1, 2].iter().for_each(|&depth| push(&frontier, depth));
    let depths = order(drain(&frontier, 100));
    assert!(depths.is_sorted() && depths.len() == 8 * HEAD - 2, "{}", depths.len());
    let counts = frontier.counts();
    assert_eq!((counts.queued, counts.deferred), (1, 1));
}

/// Removes the data that a version without counts does not write.
fn forget_counts(folder: &std::path::Path) {
    let db = redb::Database::open(folder.join("frontier.redb")).unwrap();
    let txn = db.begin_write().unwrap();
    assert!(txn.delete_table(WAITING).unwrap());
    txn.commit().unwrap();
}

/// Writes a frontier with nine queued URLs of one host and changes its file.
fn tampered(change: impl FnOnce(&redb::WriteTransaction)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let frontier = DiskFrontier::open(folder.path(), Options::default()).unwrap();
    for number in 0..9 {
        frontier.push(entry(&format!("http://a.example/{number}"))).unwrap();
    }
    frontier.commit(b"").unwrap();
    drop(frontier);
    let db = redb::Database::open(folder.path().join("frontier.redb")).unwrap();
    let txn = db.begin_write().unwrap();
    change(&txn);
    txn.commit().unwrap();
    folder
}

const QUEUE: redb::TableDefinition<'_, (u64, u64), &[u8]> = redb::TableDefinition::new("queue");
const META: redb::TableDefinition<'_, &str, &[u8]> = redb::TableDefinition::new("meta");
const WAITING: redb::TableDefinition<'_, (u64, u8), u64> = redb::TableDefinition::new("waiting");

#[test]
fn stale_counts_of_another_version_are_rebuilt() {
    // A version without counts removed one row of the queue.
    let folder = tampered(|txn| drop(txn.open_table(QUEUE).unwrap().pop_first().unwrap()));
    for _ in 0..2 {
        let frontier = DiskFrontier::open(folder.path(), Options::default()).unwrap();
        assert_eq!(frontier.counts().queued, 8);
    }
    // It removed one row and added one of another host: the sum is the same.
    let folder = tampered(|txn| {
        let mut queue = txn.open_table(QUEUE).unwrap();
        queue.pop_first().unwrap().unwrap();
        let host = crate::host::host_hash("b.example");
        let (other, next) = (entry("http://b.example/"), 10u64);
        queue.insert((host, next), other.encode().as_slice()).unwrap();
        let hosts: redb::TableDefinition<'_, &str, ()> = redb::TableDefinition::new("hosts");
        txn.open_table(hosts).unwrap().insert("b.example", ()).unwrap();
        let next = (next + 1).to_le_bytes();
        txn.open_table(META).unwrap().insert("next", next.as_slice()).unwrap();
    });
    for _ in 0..2 {
        let options = Options { delay: Duration::ZERO, ..Options::default() };
        let frontier = DiskFrontier::open(folder.path(), options).unwrap();
        assert_eq!(frontier.host("b.example").unwrap().queued, 1);
        assert_eq!(frontier.host("a.example").unwrap().queued, 8);
    }
}

#[test]
fn a_next_number_with_a_class_of_another_version_replaces_no_entry() {
    let folder = tampered(|txn| {
        let mut meta = txn.open_table(META).unwrap();
        let next = crate::host::sequence(3, 5).to_le_bytes();
        meta.insert("next", next.as_slice()).unwrap();
        meta.remove("counted").unwrap();
    });
    let open = || {
        let options = Options { delay: Duration::ZERO, ..Options::default() };
        DiskFrontier::open(folder.path(), options).unwrap()
    };
    let frontier = open();
    for number in 9..18 {
        frontier.push(entry(&format!("http://a.example/{number}"))).unwrap();
    }
    frontier.commit(b"").unwrap();
    drop(frontier);
    assert_eq!(drain(&open(), 4).len(), 18);
}

#[test]
fn impossible_counts_are_rebuilt() {
    let key = |txn: &redb::WriteTransaction| {
        let waiting = txn.open_table(WAITING).unwrap();
        redb::ReadableTable::first(&waiting).unwrap().unwrap().0.value()
    };
    let put = |txn: &redb::WriteTransaction, key, count: u64| {
        txn.open_table(WAITING).unwrap().insert(key, count).unwrap();
    };
    type Change<'a> = &'a dyn Fn(&redb::WriteTransaction);
    let changes: [Change<'_>; 5] = [
        // Two counts whose sum overflows, an invalid class, an unknown host, a count that is one too high.
        &|txn| [(7, 0), (8, 0)].into_iter().for_each(|other| put(txn, other, u64::MAX)),
        &|txn| put(txn, (key(txn).0, 200), 9),
        &|txn| {
            let known = key(txn);
            put(txn, (known.0 ^ 1, known.1), 9);
            txn.open_table(WAITING).unwrap().remove(known).unwrap();
        },
        &|txn| put(txn, key(txn), 10),
        &|txn| drop(txn.open_table(META).unwrap().insert("next", b"x".as_slice()).unwrap()),
    ];
    for change in changes {
        let folder = tampered(change);
        let open = || {
            let options = Options { delay: Duration::ZERO, ..Options::default() };
            DiskFrontier::open(folder.path(), options).unwrap()
        };
        assert_eq!(open().counts().queued, 9);
        // The second open uses the counts that the first has written and assigns unused numbers.
        let frontier = open();
        (0..9).for_each(|number| {
            frontier.push(entry(&format!("http://a.example/new/{number}"))).unwrap();
        });
        frontier.commit(b"").unwrap();
        assert_eq!(drain(&frontier, 100).len(), 18);
        assert_eq!(frontier.counts().queued, 0);
    }
}

#[test]
fn a_changed_byte_of_the_file_is_found_when_it_is_asked_for() {
    let folder = tampered(|_| {});
    DiskFrontier::verify(folder.path()).unwrap();
    let path = folder.path().join("frontier.redb");
    let bytes = std::fs::read(&path).unwrap();
    let text = b"http://a.example/3";
    let at = bytes.windows(text.len()).rposition(|window| window == text).unwrap();
    let mut changed = bytes.clone();
    changed[at + 7] ^= 1;
    std::fs::write(&path, &changed).unwrap();
    let error = DiskFrontier::verify(folder.path()).unwrap_err();
    assert!(matches!(error, crate::Error::Damaged { .. }), "{error}");
}

#[test]
fn nothing_is_handed_out_twice_or_lost_whatever_comes_in_between() {
    for seed in 0..20u64 {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { delay: Duration::ZERO, per_host: 40, ..Options::default() };
        let mut frontier = DiskFrontier::open(folder.path(), options.clone()).unwrap();
        let mut random = seed;
        let mut next = |below: u64| {
            random =
                (random ^ random >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed | 1);
            (random >> 33) % below
        };
        let (mut pushed, mut done, mut held) =
            (0u64, std::collections::BTreeSet::new(), Vec::new());
        for _ in 0..1500 {
            let now = Instant::now();
            match next(12) {
                0..4 => {
                    for _ in 0..next(40) {
                        let url = format!("http://h{}.example/{pushed}", next(3));
                        let recent = next(9) == 0;
                        let depth = next(14) as u16;
                        frontier.push(Entry { depth, recent, ..entry(&url) }).unwrap();
                        pushed += 1;
                    }
                }
                4..9 => held.extend(lease(&frontier, now)),
                9 => frontier.commit(b"").unwrap(),
                10 if !held.is_empty() => {
                    let lease: Lease = held.swap_remove(next(held.len() as u64) as usize);
                    let wait = Duration::ZERO;
                    let end = match next(3) {
                        0 => End::PutBack { wait },
                        1 => End::Retry { wait, failure: false },
                        _ => {
                            assert!(done.insert(lease.entry.url.clone()), "twice");
                            End::Done
                        }
                    };
                    frontier.end(lease, end, now);
                }
                11 if next(30) == 0 => {
                    // URLs in flight are queued again after the next open.
                    held.clear();
                    frontier.commit(b"").unwrap();
                    drop(frontier);
                    frontier = DiskFrontier::open(folder.path(), options.clone()).unwrap();
                    // The counts that commits maintain equal those of a full count.
                    let kept = frontier.hosts();
                    drop(frontier);
                    forget_counts(folder.path());
                    frontier = DiskFrontier::open(folder.path(), options.clone()).unwrap();
                    assert_eq!(kept, frontier.hosts(), "seed {seed}");
                }
                _ => {}
            }
        }
        for lease in held {
            assert!(done.insert(lease.entry.url.clone()), "twice");
            frontier.done(lease, Duration::ZERO, Instant::now());
        }
        for entry in drain(&frontier, 50) {
            assert!(done.insert(entry.url), "twice");
        }
        assert_eq!(done.len() as u64, pushed, "seed {seed}");
        assert_eq!(frontier.counts().queued, 0);
    }
}

#[test]
fn leases_in_flight_stay_valid_when_better_urls_take_their_buffer() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { delay: Duration::ZERO, per_host: 10, ..Options::default() };
    let frontier = DiskFrontier::open(folder.path(), options).unwrap();
    let count = 2 * HEAD as u64;
    let push = |depth| {
        for number in 0..count {
            let url = format!("http://a.example/{depth}/{number}");
            assert!(frontier.push(Entry { depth, ..entry(&url) }).unwrap());
        }
    };
    push(9);
    let [first, second, third] = [(); 3].map(|()| lease(&frontier, Instant::now()).unwrap());
    frontier.end(first, End::PutBack { wait: Duration::ZERO }, Instant::now());
    push(2);
    frontier.commit(b"").unwrap();
    let all = drain(&frontier, 100);
    assert_eq!(all.len() as u64, 2 * count - 2);
    assert_eq!((all[0].depth, all[count as usize].url.path()), (2, "/9/0"));
    let under_way = [second, third].map(|lease| lease.entry);
    assert!(all.iter().all(|entry| !under_way.contains(entry)));
}
