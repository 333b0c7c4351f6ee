//! The first bytes of the note about the visits of a URL: when its page was there.

/// Name of the frontier's note with the visits of a URL.
pub const VISIT: &str = "visit";
/// First byte of a note. The first version had no [`Sighting`].
const FIRST_VERSION: u8 = 1;
const VERSION: u8 = 2;

/// When a page was there first and last, in seconds since 1970; 0 if that is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sighting {
    /// The first time.
    pub first: u64,
    /// The last time. A visit without an answer, or of a page that was missing, is no sighting.
    pub last: u64,
}

impl Sighting {
    /// Begins a note: the version, the misses in a row, the time of the last visit, and this.
    pub fn begin_note(self, misses: u8, visited: u64) -> Vec<u8> {
        let mut note = vec![VERSION, misses];
        for time in [visited, self.first, self.last] {
            note.extend(time.to_le_bytes());
        }
        note
    }

    /// Reads the begin of a note. Returns the sighting, the misses in a row with the time of the last visit, and the rest.
    /// `None` for a note of a later version.
    pub fn of_note(note: &[u8]) -> Option<(Self, (u8, u64), &[u8])> {
        let (&[version, misses], rest) = note.split_first_chunk::<2>()?;
        let (visited, mut rest) = time(rest)?;
        let sighting = match version {
            // A failed request was a visit too, so the page may not have been there.
            FIRST_VERSION => Self::default(),
            VERSION => {
                let first;
                let last;
                (first, rest) = time(rest)?;
                (last, rest) = time(rest)?;
                Self { first, last }
            }
            _ => return None,
        };
        Some((sighting, (misses, visited), rest))
    }
}

fn time(bytes: &[u8]) -> Option<(u64, &[u8])> {
    bytes.split_first_chunk::<8>().map(|(time, rest)| (u64::from_le_bytes(*time), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_has_the_sighting_and_one_of_the_first_version_has_none() {
        let sighting = Sighting { first: 7, last: 9 };
        let note = [sighting.begin_note(1, 11), b"rest".to_vec()].concat();
        assert_eq!(Sighting::of_note(&note), Some((sighting, (1, 11), &b"rest"[..])));
        let first = [&[1, 2][..], &11_u64.to_le_bytes(), b"rest"].concat();
        let none = Sighting::default();
        assert_eq!(Sighting::of_note(&first), Some((none, (2, 11), &b"rest"[..])));
        for length in 0..26 {
            assert_eq!(Sighting::of_note(&note[..length]), None, "{length}");
        }
        assert_eq!(Sighting::of_note(&[3; 40]), None);
    }
}
