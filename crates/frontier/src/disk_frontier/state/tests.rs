use std::time::{Duration, Instant};

use super::*;
use crate::disk_frontier::tests::{entry, lease, open};
use crate::{Counts, DiskFrontier, End, Fault, Frontier, HostAnswer, Options};

#[test]
fn refusals_cost_no_delay_and_the_next_request_waits_for_the_last_real_one() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 1000);
    for number in 0..1001 {
        frontier.push(entry(&format!("http://a.example/{number}"))).unwrap();
        if number % 100 == 0 {
            frontier.push(entry(&format!("http://b.example/{number}"))).unwrap();
        }
    }
    frontier.commit(b"").unwrap();
    let start = Instant::now() + Duration::from_millis(1);
    let address = IpAddr::from([192, 0, 2, 1]);
    let first = lease(&frontier, start).unwrap();
    assert!(frontier.set_address(&first, address, start));
    frontier.done(first, Duration::ZERO, start);
    let other = lease(&frontier, start).unwrap();
    assert_eq!(other.host, "b.example");
    assert!(!frontier.set_address(&other, address, start), "the address was asked just now");
    frontier.end(other, End::PutBack { wait: Duration::from_secs(600) }, start);
    // All except the last at the same time.
    let now = start + Duration::from_secs(1);
    for number in 1..1000 {
        let mut refused = lease(&frontier, now).unwrap();
        assert_eq!(refused.entry.url.path(), format!("/{number}"));
        frontier.free(&mut refused, HostAnswer::Unasked, now);
        frontier.end(refused, End::Done, Instant::now());
        if number % 200 == 0 {
            frontier.commit(b"").unwrap();
        }
    }
    let asked = lease(&frontier, now).unwrap();
    frontier.done(asked, Duration::ZERO, now);
    assert_eq!(frontier.counts().queued, 11);
    frontier.push(entry("http://a.example/next")).unwrap();
    assert!(lease(&frontier, now + Duration::from_millis(999)).is_none(), "it was asked");
    assert!(lease(&frontier, now + Duration::from_secs(1)).is_some());
}

#[test]
fn a_refusal_gives_nothing_back_that_another_lease_holds() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { delay: Duration::from_secs(1), per_host: 2, ..Options::default() };
    let frontier = DiskFrontier::open(folder.path(), options).unwrap();
    for number in 0..4 {
        frontier.push(entry(&format!("http://a.example/{number}"))).unwrap();
    }
    let start = Instant::now() + Duration::from_millis(1);
    let mut first = lease(&frontier, start).unwrap();
    let second = lease(&frontier, start + Duration::from_secs(1)).unwrap();
    frontier.free(&mut first, HostAnswer::Unasked, start + Duration::from_millis(1100));
    assert!(lease(&frontier, start + Duration::from_millis(1900)).is_none(), "the second's");
    // Deferred without a request: the next one need not wait either.
    let now = start + Duration::from_millis(1950);
    assert!(!frontier.end(second, End::Defer { fault: Fault::Unasked }, now));
    let mut third = lease(&frontier, now).unwrap();
    assert_eq!(third.entry.url.path(), "/2");
    // A delay that was set meanwhile applies.
    frontier.set_delay("a.example", Duration::from_secs(5));
    frontier.free(&mut third, HostAnswer::Unasked, now);
    assert!(lease(&frontier, now + Duration::from_secs(2)).is_none());
}

#[test]
fn failures_between_refusals_open_the_breaker_and_end_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        delay: Duration::from_millis(10),
        breaker_after: 2,
        breaker_wait: Duration::from_secs(4),
        give_up_after: 4,
        ..Options::default()
    };
    let frontier = DiskFrontier::open(folder.path(), options).unwrap();
    for number in 0..40 {
        frontier.push(entry(&format!("http://a.example/{number}"))).unwrap();
    }
    let start = Instant::now() + Duration::from_millis(1);
    let (mut failed, mut ends, mut turn) = (Vec::new(), false, 0);
    for step in 0..60_000 {
        let now = start + Duration::from_millis(step);
        while let Some(mut lease) = lease(&frontier, now) {
            turn += 1;
            if turn % 2 == 0 {
                frontier.free(&mut lease, HostAnswer::Unasked, now);
                frontier.end(lease, End::Done, Instant::now());
            } else {
                failed.push(step);
                ends |= frontier.end(lease, End::Defer { fault: Fault::Failure }, now);
            }
        }
    }
    assert!(ends && failed.len() == 4, "{failed:?}");
    assert!(failed[2] - failed[1] >= 4000 && failed[3] - failed[2] >= 8000, "{failed:?}");
}

#[test]
fn hosts_of_a_dying_address_are_left_alone_together_and_each_has_a_try() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        delay: Duration::from_millis(100),
        address_delay: Duration::from_millis(25),
        breaker_after: 3,
        breaker_wait: Duration::from_secs(4),
        give_up_after: 5,
        ..Options::default()
    };
    let frontier = DiskFrontier::open(folder.path(), options).unwrap();
    for number in 0..60 {
        frontier.push(entry(&format!("http://h{}.example/{number}", number % 20))).unwrap();
        frontier.push(entry(&format!("http://good.example/{number}"))).unwrap();
    }
    // Two addresses in one /64, and one in another network.
    let dying = |host: &str| -> IpAddr {
        format!("2001:db8::{}", 1 + host.len() % 2).parse::<IpAddr>().unwrap()
    };
    let elsewhere = "2001:db8:0:1::1".parse().unwrap();
    let start = Instant::now() + Duration::from_millis(1);
    let (mut tries, mut good) = (Vec::new(), Vec::new());
    for step in 0..40_000 {
        let now = start + Duration::from_millis(step);
        while let Some(lease) = lease(&frontier, now) {
            let is_good = lease.host == "good.example";
            let address = if is_good { elsewhere } else { dying(&lease.host) };
            if !lease.has_address && !frontier.set_address(&lease, address, now) {
                frontier.end(lease, End::PutBack { wait: Duration::ZERO }, now);
            } else if is_good {
                good.push(step);
                frontier.address_answered(&lease);
                frontier.done(lease, Duration::ZERO, now);
            } else {
                tries.push((step, lease.host.clone()));
                frontier.address_silent(&lease, now, now);
                frontier.end(
                    lease,
                    End::Retry { wait: Duration::from_millis(50), failure: true },
                    now,
                );
            }
        }
    }
    assert_eq!((good.len(), good.last().unwrap() / 100), (60, 59), "{good:?}");
    let gaps: Vec<u64> = tries.windows(2).map(|two| two[1].0 - two[0].0).collect();
    // The first host is tried twice before a third one opens the breaker.
    assert!(gaps[..3].iter().all(|gap| *gap <= 100), "{tries:?}");
    assert!(gaps[3] >= 4000 && gaps[4] >= 8000, "{tries:?}");
    // Then the address is down: each host has one try, a delay apart.
    assert!(gaps[5..].iter().all(|gap| (100..300).contains(gap)), "{tries:?}");
    let hosts: std::collections::HashSet<&String> = tries.iter().map(|(_, host)| host).collect();
    assert_eq!(hosts.len(), 20, "{tries:?}");
    assert!(tries.len() <= 20 + 5, "{}", tries.len());
    assert!(hosts.iter().all(|host| frontier.host(host).unwrap().given_up));
    assert_eq!(frontier.counts(), Counts { known: 120, queued: 60, deferred: 60 });
}
