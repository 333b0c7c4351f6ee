//! Tests that every [`Frontier`] must pass. Each function gets one with an empty queue.

use std::time::{Duration, Instant};

use hapax_frontier::{End, Entry, Fault, Frontier, HostAnswer, Lease, Next, Options};
use url::Url;

const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn options(delay: Duration, per_host: usize) -> Options {
    Options { delay, per_host, address_delay: delay / 4, breaker_wait: delay, ..Options::default() }
}

fn page(url: &str) -> Entry {
    Entry::page(Url::parse(url).unwrap(), 3)
}

pub(crate) fn within(frontier: &dyn Frontier, time: Duration) -> Option<Lease> {
    let began = Instant::now();
    loop {
        match frontier.next(Instant::now()).unwrap() {
            Next::Lease(lease) => return Some(*lease),
            _ if began.elapsed() >= time => return None,
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

fn next(frontier: &dyn Frontier) -> Lease {
    within(frontier, PATIENCE).expect("a lease within 10 s")
}

fn done(frontier: &dyn Frontier, lease: Lease) {
    frontier.done(lease, Duration::ZERO, Instant::now());
}

/// Waits until nothing is left. Returns whether that happened in time.
fn idle(frontier: &dyn Frontier) -> bool {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if matches!(frontier.next(Instant::now()).unwrap(), Next::Idle) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Requires delay 0 and one request at a time.
pub(crate) fn each_url_is_handed_out_once_in_order(frontier: &dyn Frontier) {
    for n in 0..600 {
        assert!(frontier.push(page(&format!("http://a.example/{n}"))).unwrap());
    }
    assert!(!frontier.push(page("http://a.example/7")).unwrap(), "it is queued");
    frontier.commit(b"one").unwrap();
    assert_eq!(frontier.payload().unwrap(), b"one");
    for n in 0..600 {
        let lease = next(frontier);
        assert_eq!((lease.entry.url.path(), lease.entry.depth), (&*format!("/{n}"), 3));
        assert_eq!((&*lease.host, lease.attempts), ("a.example", 0));
        done(frontier, lease);
    }
    frontier.commit(b"two").unwrap();
    assert!(idle(frontier));
    let counts = frontier.counts();
    assert_eq!((counts.known, counts.queued, counts.deferred), (600, 0, 0));
    assert!(!frontier.push(page("http://a.example/8")).unwrap(), "it is done");
    frontier.commit(b"three").unwrap();
    assert!(idle(frontier));
}

/// Requires delay 200 ms and two requests at a time.
pub(crate) fn a_host_is_asked_no_faster_than_its_delay(frontier: &dyn Frontier) {
    for n in 0..4 {
        frontier.push(page(&format!("http://slow.example/{n}"))).unwrap();
        frontier.push(page(&format!("http://other.example/{n}"))).unwrap();
    }
    frontier.commit(b"").unwrap();
    let mut last: std::collections::HashMap<String, Instant> = Default::default();
    for _ in 0..8 {
        let lease = next(frontier);
        let now = Instant::now();
        if let Some(last) = last.insert(lease.host.clone(), now) {
            assert!(
                now - last >= Duration::from_millis(195),
                "{:?} after {:?}",
                lease.host,
                now - last
            );
        }
        done(frontier, lease);
    }
    frontier.set_delay("slow.example", Duration::from_millis(700));
    frontier.push(page("http://slow.example/8")).unwrap();
    frontier.push(page("http://slow.example/9")).unwrap();
    frontier.commit(b"").unwrap();
    let first = next(frontier);
    let began = Instant::now();
    done(frontier, first);
    let _ = next(frontier);
    assert!(began.elapsed() >= Duration::from_millis(690), "{:?}", began.elapsed());
}

/// Requires delay 0 and two requests at a time.
pub(crate) fn no_more_requests_at_a_time_than_are_allowed(frontier: &dyn Frontier) {
    for n in 0..5 {
        frontier.push(page(&format!("http://a.example/{n}"))).unwrap();
    }
    frontier.commit(b"").unwrap();
    let (mut first, second) = (next(frontier), next(frontier));
    assert!(within(frontier, Duration::from_millis(300)).is_none(), "a third");
    frontier.free(&mut first, HostAnswer::Answered { took: Duration::ZERO }, Instant::now());
    let third = next(frontier);
    frontier.end(third, End::PutBack { wait: Duration::ZERO }, Instant::now());
    let third = next(frontier);
    assert_eq!((third.entry.url.path(), third.attempts), ("/2", 0), "put back to the head");
    for lease in [second, third] {
        done(frontier, lease);
    }
    frontier.end(first, End::Done, Instant::now());
    frontier.commit(b"").unwrap();
    assert_eq!(frontier.host("a.example").unwrap().queued, 2);
    assert_eq!(frontier.hosts().len(), 1);
}

/// Requires delay 500 ms and one request at a time.
pub(crate) fn a_refusal_costs_no_delay_and_forgives_no_failure(frontier: &dyn Frontier) {
    for n in 0..9 {
        frontier.push(page(&format!("http://a.example/{n}"))).unwrap();
    }
    frontier.commit(b"").unwrap();
    let failed = next(frontier);
    assert!(!frontier.end(failed, End::Defer { fault: Fault::Failure }, Instant::now()));
    let mut refused = next(frontier);
    let began = Instant::now();
    frontier.free(&mut refused, HostAnswer::Unasked, Instant::now());
    frontier.end(refused, End::Done, Instant::now());
    for _ in 0..3 {
        assert!(!frontier.end(
            next(frontier),
            End::Defer { fault: Fault::Unasked },
            Instant::now()
        ));
    }
    let asked = next(frontier);
    assert!(began.elapsed() < Duration::from_millis(450), "{:?}", began.elapsed());
    assert_eq!(frontier.host("a.example").unwrap().failures, 1);
    let began = Instant::now();
    done(frontier, asked);
    let _ = next(frontier);
    assert!(began.elapsed() >= Duration::from_millis(450), "{:?}", began.elapsed());
    assert_eq!(frontier.host("a.example").unwrap().failures, 0);
}

/// Requires delay 20 ms and one request at a time.
pub(crate) fn what_fails_is_tried_again_and_a_dead_host_is_given_up(frontier: &dyn Frontier) {
    for n in 0..5 {
        frontier.push(page(&format!("http://dead.example/{n}"))).unwrap();
    }
    frontier.push(page("http://live.example/")).unwrap();
    frontier.commit(b"").unwrap();
    let mut tries = 0;
    let mut given_up = false;
    while let Some(lease) = within(frontier, Duration::from_secs(2)) {
        if lease.host.starts_with("live") {
            done(frontier, lease);
            continue;
        }
        tries += 1;
        let wait = Duration::from_millis(1);
        given_up = match lease.attempts {
            0 | 1 => frontier.end(lease, End::Retry { wait, failure: true }, Instant::now()),
            _ => frontier.end(lease, End::Defer { fault: Fault::Failure }, Instant::now()),
        };
        if given_up {
            break;
        }
    }
    assert!(given_up, "after {tries} tries");
    assert_eq!(tries, Options::default().give_up_after, "of which each failed");
    if let Some(lease) = within(frontier, Duration::from_millis(300)) {
        assert!(lease.host.starts_with("live"));
        done(frontier, lease);
    }
    frontier.push(page("http://dead.example/late")).unwrap();
    frontier.commit(b"").unwrap();
    assert!(idle(frontier), "what waits for a dead host is deferred");
    let counts = frontier.counts();
    assert_eq!((counts.queued, counts.deferred), (6, 6));
    assert!(frontier.host("dead.example").unwrap().given_up);
}

pub(crate) fn who_wants_to_be_left_alone_three_times_is_given_up(frontier: &dyn Frontier) {
    for n in 0..9 {
        frontier.push(page(&format!("http://shut.example/{n}"))).unwrap();
    }
    frontier.commit(b"").unwrap();
    let next = || within(frontier, Duration::from_secs(20)).unwrap();
    // A single page that always asks for a pause does not end the host: another page succeeds.
    assert!(!frontier.end(next(), End::Defer { fault: Fault::Closed }, Instant::now()));
    done(frontier, next());
    for last in [false, false, true] {
        assert_eq!(frontier.end(next(), End::Defer { fault: Fault::Closed }, Instant::now()), last);
    }
    assert!(within(frontier, Duration::from_millis(300)).is_none());
    frontier.commit(b"").unwrap();
    let counts = frontier.counts();
    assert_eq!((counts.queued, counts.deferred), (8, 8));
    frontier.push(page("http://open.example/")).unwrap();
    frontier.commit(b"").unwrap();
    let lease = within(frontier, Duration::from_secs(2)).unwrap();
    assert!(lease.host.starts_with("open"));
    assert!(
        !frontier.end(lease, End::Defer { fault: Fault::None }, Instant::now()),
        "it says nothing of its host"
    );
}

pub(crate) fn marks_refusals_and_notes_are_remembered(frontier: &dyn Frontier) {
    let url = Url::parse("http://a.example/alias").unwrap();
    assert!(!frontier.knows(url.as_str()).unwrap());
    assert!(frontier.mark(&url).unwrap());
    assert!(!frontier.mark(&url).unwrap());
    assert!(frontier.knows(url.as_str()).unwrap());
    assert!(!frontier.push(page(url.as_str())).unwrap());

    let refused = Url::parse("http://a.example/deep").unwrap();
    assert!(frontier.refuse(&refused).unwrap());
    assert!(!frontier.refuse(&refused).unwrap());
    assert!(!frontier.knows(refused.as_str()).unwrap(), "another way may lead there");
    assert!(frontier.push(page(refused.as_str())).unwrap());

    frontier.note("a.example", "robots", b"one".to_vec());
    assert_eq!(frontier.note_of("a.example", "robots").unwrap().unwrap(), b"one");
    frontier.commit(b"").unwrap();
    frontier.note("a.example", "robots", b"two\0\xFF".to_vec());
    frontier.commit(b"").unwrap();
    assert_eq!(frontier.note_of("a.example", "robots").unwrap().unwrap(), b"two\0\xFF");
    assert_eq!(frontier.note_of("b.example", "robots").unwrap(), None);
    let mut found = Vec::new();
    frontier
        .notes("robots", &mut |subject: &str, value: &[u8]| {
            found.push((subject.to_owned(), value.to_vec()));
        })
        .unwrap();
    assert_eq!(found, [("a.example".to_owned(), b"two\0\xFF".to_vec())]);
    let lease = next(frontier);
    done(frontier, lease);
    frontier.commit(b"").unwrap();
    assert!(frontier.push_again(page(refused.as_str())).unwrap());
    frontier.commit(b"").unwrap();
    assert_eq!(next(frontier).entry.url, refused, "looked at again");
    assert_eq!(frontier.counts().known, 2, "one marked, one queued");
}
