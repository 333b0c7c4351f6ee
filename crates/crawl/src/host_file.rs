//! Files about a whole host, robots.txt and tdmrep.json, as the frontier stores them: requested once a day.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hapax_frontier::Frontier;

use crate::error::Result;

/// Maximum age of a copy, unless the file is unreachable (RFC 9309, section 2.4).
pub(crate) const VALID: Duration = Duration::from_secs(24 * 60 * 60);
/// Time to use an old copy of an unreachable file before the next attempt.
pub(crate) const AGAIN: Duration = Duration::from_secs(60 * 60);
/// Names of the frontier's notes with the files.
pub(crate) const ROBOTS: &str = "robots";
pub(crate) const TDMREP: &str = "tdmrep";

/// Returns a note: the time of the request and the file.
pub(crate) fn note(text: &[u8]) -> Vec<u8> {
    let mut note = seconds_now().to_le_bytes().to_vec();
    note.extend(text);
    note
}

/// Returns age and text of a stored file. A time in the future counts as the maximum age: a clock is wrong.
pub(crate) fn read_note(note: &[u8]) -> Option<(Duration, &[u8])> {
    let (time, text) = note.split_first_chunk::<8>()?;
    let age = seconds_now().checked_sub(u64::from_le_bytes(*time));
    Some((age.map_or(Duration::MAX, Duration::from_secs), text))
}

/// Returns age and text of a host's stored file, for `crawl explain`.
pub(crate) fn remembered(
    frontier: &dyn Frontier,
    host: &str,
    name: &'static str,
) -> Result<Option<(Duration, Vec<u8>)>> {
    let note = frontier.note_of(host, name)?;
    Ok(note.as_deref().and_then(read_note).map(|(age, text)| (age, text.to_vec())))
}

/// Marks the stored files of a host as outdated: they are requested again, and a copy is used only if that fails.
pub(crate) fn outdate(frontier: &dyn Frontier, host: &str) -> Result<()> {
    for name in [ROBOTS, TDMREP] {
        if let Some(mut note) = frontier.note_of(host, name)?
            && let Some((time, _)) = note.split_first_chunk_mut::<8>()
        {
            *time = [0; 8];
            frontier.note(host, name, note);
        }
    }
    Ok(())
}

pub(crate) fn outdate_all(frontier: &dyn Frontier) -> Result<()> {
    let mut hosts = Vec::new();
    for name in [ROBOTS, TDMREP] {
        frontier.notes(name, &mut |host, _| hosts.push(host.to_owned()))?;
    }
    hosts.sort_unstable();
    hosts.dedup();
    hosts.iter().try_for_each(|host| outdate(frontier, host))
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use hapax_frontier::{DiskFrontier, Options};

    use super::*;

    #[test]
    fn a_copy_dated_in_the_future_is_not_fresh() {
        let note = |seconds: u64| [&seconds.to_le_bytes()[..], b"Disallow: /"].concat();
        let age = |seconds| read_note(&note(seconds)).map(|(age, _)| age).unwrap();
        assert!(age(seconds_now()) < VALID);
        assert!(age(seconds_now() - 2 * VALID.as_secs()) >= VALID);
        assert!(age(seconds_now() + 3_600) >= VALID);
    }

    #[test]
    fn outdated_files_keep_their_text() {
        let folder = tempfile::tempdir().unwrap();
        let frontier = DiskFrontier::open(folder.path(), Options::default()).unwrap();
        for (host, name) in [("a", ROBOTS), ("a", TDMREP), ("b", TDMREP)] {
            frontier.note(host, name, note(name.as_bytes()));
            assert!(remembered(&frontier, host, name).unwrap().unwrap().0 < VALID);
        }
        ["a", "b"].iter().for_each(|host| outdate(&frontier, host).unwrap());
        for (host, name) in [("a", ROBOTS), ("a", TDMREP), ("b", TDMREP)] {
            let (age, text) = remembered(&frontier, host, name).unwrap().unwrap();
            assert!(age >= VALID && text == name.as_bytes(), "{host} {name}");
        }
        assert_eq!(remembered(&frontier, "b", ROBOTS).unwrap(), None);
    }
}
