//! Visits of known pages: when each was visited last, what its visits showed, and when it is due again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hapax_frontier::Frontier;
use hapax_frontier::revisit::{Pace, RateBelief, Sighting, VISIT};

use crate::error::Result;

/// A page that was missing once is visited after the shortest interval. More misses are not counted.
const MOST_MISSES: u8 = 2;

/// What a visit showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The main text is the same, except for dates and counters.
    Same,
    Changed,
    /// A known page that is gone.
    Missing,
    /// Nothing: the request failed.
    Nothing,
}

/// The visits of one URL.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Visits {
    /// The last one, in seconds since 1970.
    pub(crate) last: u64,
    /// When the page itself was there.
    pub(crate) sighting: Sighting,
    /// How often the page was missing in a row.
    pub(crate) misses: u8,
    pub(crate) belief: RateBelief,
    /// The date that a sitemap or feed gave since then.
    pub(crate) claim: Option<DateClaim>,
}

/// A claim that a page has or has not changed since its last visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DateClaim {
    pub(crate) changed: bool,
    /// Whether the site's claims of this kind proved right so far.
    pub(crate) believed: bool,
    /// When it was read, in seconds since 1970.
    pub(crate) at: u64,
}

impl Visits {
    /// Returns the visits of a page without a note: it was fetched once.
    pub(crate) fn of_record(time: u64) -> Self {
        let sighting = Sighting { first: time, last: time };
        Self { last: time, sighting, misses: 0, belief: RateBelief::default(), claim: None }
    }

    pub(crate) fn read(frontier: &dyn Frontier, url: &str) -> Result<Option<Self>> {
        Ok(frontier.note_of(url, VISIT)?.and_then(|note| Self::decode(&note)))
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.sighting.begin_note(self.misses, self.last);
        bytes.extend(self.belief.encode());
        if let Some(DateClaim { changed, believed, at }) = self.claim {
            bytes.push(u8::from(changed) | u8::from(believed) << 1);
            bytes.extend(at.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn write(&self, frontier: &dyn Frontier, url: &str) {
        frontier.note(url, VISIT, self.encode());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (sighting, (misses, last), belief) = Sighting::of_note(bytes)?;
        let (belief, claim) = match belief.len() {
            RateBelief::BYTES => (belief, None),
            _ => {
                belief.split_at_checked(RateBelief::BYTES).map(|(own, claim)| (own, Some(claim)))?
            }
        };
        let claim = match claim {
            Some([flags @ 0..=3, at @ ..]) => Some(DateClaim {
                changed: flags & 1 != 0,
                believed: flags & 2 != 0,
                at: u64::from_le_bytes(at.try_into().ok()?),
            }),
            Some(_) => return None,
            None => None,
        };
        Some(Self { last, sighting, misses, belief: RateBelief::decode(belief)?, claim })
    }

    /// Records a visit at `now`. An observation covers at most twice the longest interval: after a jump of the clock, or a
    /// year without a run, the page is not believed to change once in a decade.
    pub(crate) fn observe(&mut self, seen: Seen, now: u64, pace: &Pace) {
        let elapsed = Duration::from_secs(now.saturating_sub(self.last)).min(pace.max * 2);
        match seen {
            Seen::Same | Seen::Changed => {
                self.misses = 0;
                self.sighting.last = now;
                self.belief.observe(elapsed, seen == Seen::Changed);
            }
            Seen::Missing => self.misses = self.misses.saturating_add(1).min(MOST_MISSES),
            Seen::Nothing => {}
        }
        (self.last, self.claim) = (now, None);
    }

    /// Returns when the next visit is due, in seconds since 1970. If the clock was ahead at the last visit, it is `now`.
    pub(crate) fn due(&self, now: u64, pace: &Pace) -> u64 {
        if self.last > now.saturating_add(pace.min.as_secs()) {
            return now;
        }
        let (since, interval) = match self.claim.filter(|claim| claim.believed && claim.at <= now) {
            _ if self.misses == 1 => (self.last, pace.min),
            Some(claim) if claim.changed => (self.last, pace.min),
            Some(claim) => (self.last.max(claim.at), pace.interval(&self.belief)),
            None => (self.last, pace.interval(&self.belief)),
        };
        // A fraction of a second counts as a whole one, so that no visit is early.
        let seconds = interval.as_secs() + u64::from(interval.subsec_nanos() > 0);
        since.saturating_add(seconds)
    }
}

/// Returns the seconds since 1970.
pub(crate) fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace::new(Duration::from_secs(3600), Duration::from_secs(30 * 86_400));

    #[test]
    fn visits_round_trip_and_other_bytes_are_ignored() {
        let mut visits = Visits::of_record(1_000_000);
        visits.observe(Seen::Changed, 1_100_000, &PACE);
        visits.observe(Seen::Missing, 1_200_000, &PACE);
        let again = Visits::decode(&visits.encode()).unwrap();
        assert_eq!((again.last, again.misses), (1_200_000, 1));
        let sighting = Sighting { first: 1_000_000, last: 1_100_000 };
        assert_eq!(again.sighting, sighting);
        assert_eq!(again.due(1_200_000, &PACE), 1_203_600);
        let mut bytes = visits.encode();
        bytes[0] = 9;
        assert_eq!(Visits::decode(&bytes), None);
        assert_eq!(Visits::decode(&visits.encode()[..50]), None);
        assert_eq!(Visits::decode(b""), None);
        for (changed, believed) in [(false, false), (true, false), (false, true), (true, true)] {
            visits.claim = Some(DateClaim { changed, believed, at: 1_250_000 });
            assert_eq!(Visits::decode(&visits.encode()).unwrap().claim, visits.claim);
        }
        let mut bytes = visits.encode();
        bytes.pop();
        assert_eq!(Visits::decode(&bytes), None);
    }

    #[test]
    fn a_believed_date_moves_the_next_visit_and_another_one_does_not() {
        let mut visits = Visits::of_record(1_000_000);
        let interval = visits.due(1_000_000, &PACE) - 1_000_000;
        assert!(interval > 86_400);
        let mut due = |changed, believed| {
            visits.claim = Some(DateClaim { changed, believed, at: 1_050_000 });
            visits.due(1_060_000, &PACE)
        };
        assert_eq!(due(true, false), 1_000_000 + interval);
        assert_eq!(due(true, true), 1_003_600);
        assert_eq!(due(false, false), 1_000_000 + interval);
        assert_eq!(due(false, true), 1_050_000 + interval);
    }

    #[test]
    fn a_clock_that_jumps_neither_stops_visits_nor_teaches_nonsense() {
        let start = 1_700_000_000;
        let mut visits = Visits::of_record(start);
        // Ten years ahead, and back.
        visits.observe(Seen::Same, start + 10 * 365 * 86_400, &PACE);
        assert_eq!(visits.due(start + 60, &PACE), start + 60);
        visits.observe(Seen::Changed, start + 120, &PACE);
        assert_eq!(visits.last, start + 120);
        let due = visits.due(start + 120, &PACE);
        assert!((start + 120 + 3600..=start + 120 + 30 * 86_400).contains(&due), "{due}");
        // A step back of some seconds makes no page due.
        assert!(visits.due(start + 100, &PACE) > start + 3600);
        // The unchanged decade counts as twice the longest interval.
        let mut long = Visits::of_record(start);
        long.observe(Seen::Same, start + 10 * 365 * 86_400, &PACE);
        let mut short = Visits::of_record(start);
        short.observe(Seen::Same, start + 60 * 86_400, &PACE);
        assert_eq!(long.belief, short.belief);
    }

    #[test]
    fn a_page_that_is_missing_is_visited_again_soon_and_one_that_returns_as_before() {
        let mut visits = Visits::of_record(0);
        for day in 1..20 {
            visits.observe(Seen::Same, day * 86_400, &PACE);
        }
        let interval = |visits: &Visits| visits.due(visits.last, &PACE) - visits.last;
        let before = interval(&visits);
        visits.observe(Seen::Missing, 20 * 86_400, &PACE);
        assert_eq!(interval(&visits), 3600);
        visits.observe(Seen::Missing, 20 * 86_400 + 3600, &PACE);
        assert!(interval(&visits) > 86_400);
        visits.observe(Seen::Nothing, 21 * 86_400, &PACE);
        assert_eq!(visits.misses, 2);
        visits.observe(Seen::Same, 22 * 86_400, &PACE);
        assert!(visits.misses == 0 && interval(&visits) >= before);
    }
}
