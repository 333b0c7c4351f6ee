use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use hapax_cluster::ClusterFrontier;
use hapax_dedup::DocumentStore;
use hapax_frontier::{Entry, Frontier, Next};
use url::Url;

use crate::{fresh_name, frontier_suite as suite, join, redis, shared};

pub(crate) fn open(
    address: &str,
    name: &str,
    worker: &str,
    delay_ms: u64,
    per_host: usize,
) -> (tempfile::TempDir, ClusterFrontier) {
    let folder = tempfile::tempdir().unwrap();
    let options = suite::options(Duration::from_millis(delay_ms), per_host);
    let frontier = join(address, name, worker).frontier(folder.path(), options).unwrap();
    (folder, frontier)
}

pub(crate) fn page(url: &str) -> Entry {
    Entry::page(Url::parse(url).unwrap(), 1)
}

#[test]
fn the_suite_of_frontiers_passes() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    let on = |delay: u64, per_host: usize, test: fn(&dyn Frontier)| {
        let (_folder, frontier) = open(&address, &fresh_name(), "one", delay, per_host);
        test(&frontier);
    };
    on(0, 1, suite::each_url_is_handed_out_once_in_order);
    on(200, 2, suite::a_host_is_asked_no_faster_than_its_delay);
    on(500, 1, suite::a_refusal_costs_no_delay_and_forgives_no_failure);
    on(0, 2, suite::no_more_requests_at_a_time_than_are_allowed);
    on(20, 1, suite::what_fails_is_tried_again_and_a_dead_host_is_given_up);
    on(0, 1, suite::who_wants_to_be_left_alone_three_times_is_given_up);
    on(20, 1, suite::marks_refusals_and_notes_are_remembered);
}

/// Fetches everything with several workers, each on a thread. Returns the times of each host's requests.
fn fetch_all(
    frontiers: &[ClusterFrontier],
    pages: usize,
) -> HashMap<String, Vec<(Instant, Instant)>> {
    let asked: Mutex<HashMap<String, Vec<(Instant, Instant)>>> = Mutex::default();
    let fetched = Mutex::new(0);
    std::thread::scope(|scope| {
        for frontier in frontiers {
            scope.spawn(|| {
                let began = Instant::now();
                let mut since_commit = 0;
                while *fetched.lock().unwrap() < pages && began.elapsed() < Duration::from_secs(60)
                {
                    match frontier.next(Instant::now()).unwrap() {
                        Next::Lease(lease) => {
                            let from = Instant::now();
                            std::thread::sleep(Duration::from_millis(2));
                            let host = lease.host.clone();
                            asked
                                .lock()
                                .unwrap()
                                .entry(host)
                                .or_default()
                                .push((from, Instant::now()));
                            frontier.done(*lease, Duration::ZERO, Instant::now());
                            *fetched.lock().unwrap() += 1;
                            since_commit += 1;
                        }
                        _ => std::thread::sleep(Duration::from_millis(1)),
                    }
                    if since_commit >= 20 {
                        frontier.commit(b"").unwrap();
                        since_commit = 0;
                    }
                }
                frontier.commit(b"").unwrap();
            });
        }
    });
    asked.into_inner().unwrap()
}

#[test]
fn workers_share_the_hosts_and_their_politeness() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    let name = fresh_name();
    let (_folders, frontiers): (Vec<_>, Vec<_>) =
        (0..3).map(|n| open(&address, &name, &format!("w{n}"), 100, 1)).unzip();
    for host in 0..20 {
        for n in 0..8 {
            let worker = &frontiers[(host + n) % 3];
            worker.push(page(&format!("http://h{host}.example/{n}"))).unwrap();
        }
    }
    frontiers.iter().for_each(|frontier| frontier.commit(b"").unwrap());
    let asked = fetch_all(&frontiers, 160);
    assert_eq!(asked.values().map(Vec::len).sum::<usize>(), 160, "each page once");
    for (host, mut times) in asked {
        times.sort();
        for pair in times.windows(2) {
            let pause = pair[1].0.saturating_duration_since(pair[0].1);
            assert!(pause >= Duration::from_millis(95), "{host} was asked after {pause:?}");
        }
    }
    let began = Instant::now();
    while frontiers.iter().any(|f| f.counts().queued > 0)
        && began.elapsed() < Duration::from_secs(5)
    {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(frontiers.iter().all(|frontier| frontier.counts().queued == 0));
}

#[test]
fn a_host_has_one_owner_at_a_time() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    let name = fresh_name();
    let (_a, first) = open(&address, &name, "one", 0, 3);
    let (_b, second) = open(&address, &name, "two", 0, 3);
    for n in 0..10 {
        first.push(page(&format!("http://a.example/{n}"))).unwrap();
    }
    first.commit(b"").unwrap();
    let (mut leases, began) = ([0, 0], Instant::now());
    while began.elapsed() < Duration::from_secs(4) {
        for (frontier, leases) in [&first, &second].into_iter().zip(&mut leases) {
            *leases += usize::from(suite::within(frontier, Duration::from_millis(5)).is_some());
        }
    }
    leases.sort_unstable();
    assert_eq!(leases, [0, 3], "as many as are allowed at a time, all of one worker");
}

#[test]
fn the_leases_of_a_dead_worker_return() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    let name = fresh_name();
    let (_a, first) = open(&address, &name, "one", 0, 1);
    first.push(page("http://a.example/1")).unwrap();
    first.commit(b"").unwrap();
    let lease = suite::within(&first, Duration::from_secs(5)).unwrap();
    // As after kill -9: nothing is sent or renewed.
    std::mem::forget(first.dies());
    let (_b, second) = open(&address, &name, "two", 0, 1);
    assert!(suite::within(&second, Duration::from_millis(500)).is_none(), "it is leased");
    let again = suite::within(&second, Duration::from_secs(8)).expect("it expires after 2 s");
    assert_eq!((again.entry.url, again.attempts), (lease.entry.url, 1));
}

#[test]
fn a_worker_that_begins_again_has_its_leases_back_at_once() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    let name = fresh_name();
    let (_a, first) = open(&address, &name, "one", 0, 1);
    first.push(page("http://a.example/1")).unwrap();
    first.commit(b"kept").unwrap();
    let _ = suite::within(&first, Duration::from_secs(5)).unwrap();
    std::mem::forget(first.dies());
    let (_b, again) = open(&address, &name, "one", 0, 1);
    assert!(suite::within(&again, Duration::from_millis(1000)).is_some());
}

/// kill -9 of one master of three during a crawl.
#[test]
fn a_lost_master_is_survived() {
    let Some(mut servers) = redis::RedisCluster::start() else { return };
    let address = servers.address();
    let (_a, first) = open(&address, "lost", "one", 30, 1);
    let (_b, second) = open(&address, "lost", "two", 30, 1);
    for host in 0..30 {
        for n in 0..40 {
            first.push(page(&format!("http://h{host}.example/{n}"))).unwrap();
        }
    }
    first.commit(b"").unwrap();
    let store = join(&address, "lost", "one").store("test-1", Default::default(), 1000).unwrap();
    // Writes that have not reached a replica are lost with the master; wait for replication.
    std::thread::sleep(Duration::from_millis(500));
    let frontiers = [first, second];
    let (asked, stall) = std::thread::scope(|scope| {
        let fetching = scope.spawn(|| fetch_all(&frontiers, 1200));
        let offering = scope.spawn(|| {
            let mut stall = Duration::ZERO;
            for n in 0..2000u64 {
                let key = n.to_le_bytes();
                let bits = hapax_dedup::Fingerprint::from_bits(hapax_dedup::mix64(n));
                let began = Instant::now();
                store.offer_many(&[hapax_dedup::Document::new(&key, bits)]).unwrap();
                stall = stall.max(began.elapsed());
                std::thread::sleep(Duration::from_millis(2));
            }
            stall
        });
        std::thread::sleep(Duration::from_secs(1));
        let master = servers.masters()[0];
        servers.kill(master);
        (fetching.join().unwrap(), offering.join().unwrap())
    });
    println!("the longest offer took {stall:?}");
    assert!(stall < Duration::from_secs(20), "a stall of {stall:?}");
    let mut pages = 0;
    for (host, mut times) in asked {
        times.sort();
        pages += times.len();
        for pair in times.windows(2) {
            let pause = pair[1].0.saturating_duration_since(pair[0].1);
            assert!(pause >= Duration::from_millis(28), "{host} was asked after {pause:?}");
        }
    }
    assert!(pages >= 1200, "{pages} of 1200 pages");
}
