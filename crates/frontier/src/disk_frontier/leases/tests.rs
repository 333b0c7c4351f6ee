use super::super::tests::{entry, lease, open};
use super::*;
use crate::{Counts, Frontier, LeaseCounts, Options};

#[test]
fn each_way_to_end_a_lease_frees_its_host_once() {
    let wait = Duration::ZERO;
    let ends = [
        End::Done,
        End::PutBack { wait },
        End::Retry { wait, failure: false },
        End::Defer { fault: Fault::None },
    ];
    let answers = [None, Some(HostAnswer::Answered { took: wait }), Some(HostAnswer::Unasked)];
    for (end, answer) in ends.iter().flat_map(|end| answers.map(|answer| (*end, answer))) {
        let folder = tempfile::tempdir().unwrap();
        let frontier = open(folder.path(), 0);
        frontier.push(entry("http://a.example/1")).unwrap();
        let mut first = lease(&frontier, Instant::now()).unwrap();
        let leases = frontier.leases().unwrap();
        assert_eq!((leases.open(), leases.lost()), (1, 0));
        if let Some(answer) = answer {
            frontier.free(&mut first, answer, Instant::now());
            // A second call has no effect.
            frontier.free(&mut first, answer, Instant::now());
        }
        frontier.push(entry("http://a.example/2")).unwrap();
        frontier.end(first, end, Instant::now());
        assert_eq!((leases.open(), leases.lost()), (0, 0), "{end:?} {answer:?}");
        assert_eq!(frontier.host("a.example").unwrap().in_flight, 0, "{end:?} {answer:?}");
        let left = match end {
            End::Done | End::Defer { .. } => 1,
            End::PutBack { .. } | End::Retry { .. } => 2,
        };
        let mut next = Vec::new();
        while let Some(lease) = lease(&frontier, Instant::now() + Duration::from_secs(1)) {
            next.push(lease.entry.url.path().to_owned());
            frontier.done(lease, Duration::ZERO, Instant::now());
        }
        assert_eq!(next.len(), left, "{end:?} {answer:?}");
        let queued = u64::from(matches!(end, End::Defer { .. }));
        assert_eq!(frontier.counts(), Counts { known: 2, queued, deferred: queued });
    }
}

#[test]
fn a_lease_dropped_without_an_end_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 0);
    frontier.push(entry("http://a.example/1")).unwrap();
    drop(lease(&frontier, Instant::now()));
    assert_eq!(frontier.leases().map(LeaseCounts::lost), Some(1));
}

#[test]
fn a_lease_whose_host_is_free_leaves_the_other_one_in_flight() {
    let wait = Duration::ZERO;
    let ends = [
        End::Done,
        End::PutBack { wait },
        End::Retry { wait, failure: false },
        End::Defer { fault: Fault::None },
    ];
    for end in ends {
        let folder = tempfile::tempdir().unwrap();
        let options =
            Options { delay: wait, address_delay: wait, per_host: 2, ..Options::default() };
        let frontier = DiskFrontier::open(folder.path(), options).unwrap();
        for number in 0..4 {
            frontier.push(entry(&format!("http://a.example/{number}"))).unwrap();
        }
        let now = Instant::now() + Duration::from_millis(1);
        let (mut first, second) = (lease(&frontier, now).unwrap(), lease(&frontier, now).unwrap());
        frontier.free(&mut first, HostAnswer::Answered { took: wait }, now);
        frontier.end(first, end, now);
        assert_eq!(frontier.host("a.example").unwrap().in_flight, 1, "{end:?}");
        frontier.end(second, End::Done, now);
        assert_eq!(frontier.host("a.example").unwrap().in_flight, 0, "{end:?}");
    }
}
