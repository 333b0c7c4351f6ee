//! Unused leases, requeued URLs, sets of any size, and a cluster that is down.

use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

use hapax_cluster::{Cluster, Options};
use hapax_frontier::{Frontier, Next};
use url::Url;

use crate::frontier::{open, page};
use crate::{fresh_name, frontier_suite as suite, join, redis, shared};

#[test]
fn a_finished_lease_is_held_until_its_commit() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    let name = fresh_name();
    let (_a, first) = open(&address, &name, "one", 0, 1);
    first.push(page("http://a.example/1")).unwrap();
    first.commit(b"").unwrap();
    let lease = suite::within(&first, Duration::from_secs(5)).unwrap();
    first.done(lease, Duration::ZERO, Instant::now());
    let (_b, second) = open(&address, &name, "two", 0, 1);
    // Longer than a lease that is not renewed.
    assert!(suite::within(&second, Duration::from_secs(5)).is_none(), "its page is not durable");
    first.commit(b"").unwrap();
    assert_eq!(join(&address, &name, "").counts().unwrap().queued, 0);
}

#[test]
fn unrequested_leases_return_to_the_cluster() {
    let Some(cluster) = shared() else { return };
    let cluster = cluster.lock().unwrap();
    let name = fresh_name();
    let (_a, first) = open(&cluster.address(), &name, "one", 0, 1);
    first.push(page("http://a.example/1")).unwrap();
    first.commit(b"").unwrap();
    let held = || -> BTreeSet<String> {
        let keys = (0..64).map(|part| format!("hapax:{{{name}.h{part}}}:held"));
        let ids = keys.map(|key| cluster.cli(0, &["-c", "hkeys", &key]).trim().to_owned());
        ids.filter(|ids| !ids.is_empty()).collect()
    };
    let began = Instant::now();
    let mut leases = held();
    while leases.len() < 3 && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(100));
        leases.extend(held());
    }
    assert!(leases.len() >= 3, "given back and taken again: {leases:?}");
}

#[test]
fn an_unreadable_queue_entry_is_parked_and_the_others_continue() {
    let Some(cluster) = shared() else { return };
    let cluster = cluster.lock().unwrap();
    let name = fresh_name();
    let (_a, frontier) = open(&cluster.address(), &name, "one", 0, 1);
    let fetch = |url| {
        frontier.push(page(url)).unwrap();
        frontier.commit(b"").unwrap();
        let lease = suite::within(&frontier, Duration::from_secs(5)).unwrap();
        frontier.done(lease, Duration::ZERO, Instant::now());
        frontier.commit(b"").unwrap();
    };
    fetch("http://a.example/1");
    let host = hapax_url::host_key(&Url::parse("http://a.example/").unwrap());
    let cli = |command: &[&str]| cluster.cli(0, &[&["-c"], command].concat()).trim().to_owned();
    let key = |part: u64, what: &str| format!("hapax:{{{name}.h{part}}}:{what}");
    let state = format!("h:{host}");
    let part = (0..64).find(|part| cli(&["exists", &key(*part, &state)]) == "1").unwrap();
    for unreadable in ["", "x", "\u{1}no entry"] {
        cli(&["rpush", &key(part, &format!("q:{host}")), unreadable]);
        cli(&["hincrby", &key(part, "counts"), "queued", "1"]);
    }
    cli(&["zadd", &key(part, "ready"), "0", &host]);
    let began = Instant::now();
    while frontier.counts().deferred < 3 && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!((frontier.counts().queued, frontier.counts().deferred), (3, 3));
    fetch("http://a.example/2");
    let began = Instant::now();
    while !matches!(frontier.next(Instant::now()).unwrap(), Next::Idle) {
        assert!(began.elapsed() < Duration::from_secs(10), "it came again");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Due hosts of another worker that does not lease them must not hide other hosts.
#[test]
fn the_hosts_of_another_worker_are_passed_over_however_many_they_are() {
    let Some(cluster) = shared() else { return };
    let cluster = cluster.lock().unwrap();
    let name = fresh_name();
    let (_a, frontier) = open(&cluster.address(), &name, "two", 1000, 2);
    let cli = |command: &[&str]| cluster.cli(0, &[&["-c"], command].concat()).trim().to_owned();
    let key = |part: u64, what: &str| format!("hapax:{{{name}.h{part}}}:{what}");
    for url in ["http://a.example/1", "http://a.example/2"] {
        frontier.push(page(url)).unwrap();
        frontier.commit(b"").unwrap();
        if url.ends_with('1') {
            let lease = suite::within(&frontier, Duration::from_secs(5)).unwrap();
            frontier.done(lease, Duration::ZERO, Instant::now());
            frontier.commit(b"").unwrap();
            let host = hapax_url::host_key(&Url::parse(url).unwrap());
            let state = format!("h:{host}");
            let part = (0..64).find(|part| cli(&["exists", &key(*part, &state)]) == "1").unwrap();
            let script = "local p = KEYS[1]:sub(1, -6) for n = 1, 1000 do \
                          redis.call('HSET', p .. 'h:other' .. n, 'n', 1, 'o', 'one') \
                          redis.call('ZADD', p .. 'ready', n, 'other' .. n) end return 'made'";
            assert_eq!(cli(&["eval", script, "1", &key(part, "ready")]), "made");
        }
    }
    assert!(suite::within(&frontier, Duration::from_secs(8)).is_some());
}

#[test]
fn a_queued_url_is_not_queued_twice() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    let (_a, frontier) = open(&address, &fresh_name(), "one", 0, 1);
    frontier.push(page("http://a.example/1")).unwrap();
    assert!(!frontier.push_again(page("http://a.example/1")).unwrap(), "it waits here");
    frontier.commit(b"").unwrap();
    assert!(!frontier.push_again(page("http://a.example/1")).unwrap(), "it waits there");
    for _ in 0..2 {
        let lease = suite::within(&frontier, Duration::from_secs(5)).unwrap();
        assert!(!frontier.push_again(lease.entry.clone()).unwrap(), "it is under way");
        let entry = lease.entry.clone();
        frontier.done(lease, Duration::ZERO, Instant::now());
        frontier.commit(b"").unwrap();
        assert_eq!(frontier.counts().queued, 0);
        assert!(frontier.push_again(entry.clone()).unwrap());
        assert!(!frontier.push_again(entry).unwrap());
    }
    assert!(frontier.push_again(page("http://a.example/2")).unwrap(), "never seen");
    assert!(!frontier.push(page("http://a.example/2")).unwrap());
}

#[test]
fn hosts_notes_and_queues_of_any_size_come_in_pieces() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    // So slow that the queue does not change.
    let (_a, frontier) = open(&address, &fresh_name(), "one", 60_000, 1);
    for n in 0..2500 {
        frontier.push(page(&format!("http://a.example/{n}"))).unwrap();
    }
    // More than one page of results in each of 64 parts.
    for n in 0..10_000 {
        let host = format!("h{n}.example");
        frontier.push(page(&format!("http://{host}/"))).unwrap();
        frontier.note(&host, "robots", vec![n as u8; 100]);
    }
    frontier.commit(b"").unwrap();
    let hosts: Vec<String> = frontier.hosts().into_iter().map(|host| host.host).collect();
    assert_eq!((hosts.len(), hosts.iter().collect::<HashSet<_>>().len()), (10_001, 10_001));
    let mut subjects = HashSet::new();
    let mut visits = 0;
    frontier
        .notes("robots", &mut |subject: &str, value: &[u8]| {
            assert_eq!(value.len(), 100);
            subjects.insert(subject.to_owned());
            visits += 1;
        })
        .unwrap();
    assert_eq!((subjects.len(), visits), (10_000, 10_000));
    let began = Instant::now();
    let at = |n: u64| frontier.position(&Url::parse(&format!("http://a.example/{n}")).unwrap());
    // The first one may be leased.
    while !matches!(at(2499).unwrap(), Some(2498 | 2499)) {
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", at(2499));
    }
    assert_eq!(at(2500).unwrap(), None);
}

#[test]
fn a_lost_cluster_is_reported_and_abandoned_soon() {
    let Some(mut servers) = redis::RedisCluster::start() else { return };
    let address = servers.address();
    let options = Options {
        name: "gone".into(),
        worker: "one".into(),
        patience: Duration::from_secs(2),
        ..Options::default()
    };
    let impatient = Cluster::join(&address, &options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let politeness = suite::options(Duration::from_millis(100), 1);
    let told = impatient.frontier(folder.path(), politeness).unwrap();
    let (_a, patient) = open(&address, "gone too", "two", 0, 1);
    for frontier in [&told, &patient] {
        frontier.push(page("http://a.example/1")).unwrap();
        frontier.commit(b"").unwrap();
    }
    let lease = suite::within(&told, Duration::from_secs(5)).unwrap();
    (0..6).for_each(|node| servers.kill(node));
    let address = std::net::IpAddr::from([127, 0, 0, 1]);
    assert!(!told.set_address(&lease, address, Instant::now()), "nobody knows its clock");
    let began = Instant::now();
    while let Ok(Next::At(_) | Next::Lease(_) | Next::Idle) = told.next(Instant::now()) {
        assert!(began.elapsed() < Duration::from_secs(10), "the failure is told");
    }
    let began = Instant::now();
    drop((told, impatient, patient));
    assert!(began.elapsed() < Duration::from_secs(20), "left after {:?}", began.elapsed());
}
