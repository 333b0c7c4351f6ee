//! Cursors: positions in the stream of one data directory.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// A position after an event. A consumer stores it as text, as [`Display`](fmt::Display) writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The random number of the stream.
    pub(super) stream: u64,
    /// The offset in events.jsonl after the event's line.
    pub(super) offset: u64,
    /// CRC-32 of that line: after a restored backup, the same offset may follow another event.
    pub(super) line: u32,
}

const VERSION: &str = "1";

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{VERSION}-{:016x}-{}-{:08x}", self.stream, self.offset, self.line)
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parse = || {
            let mut parts = text.split('-');
            let version = parts.next()?;
            let stream = u64::from_str_radix(parts.next()?, 16).ok()?;
            let offset = parts.next()?.parse().ok()?;
            let line = u32::from_str_radix(parts.next()?, 16).ok()?;
            let cursor = Self { stream, offset, line };
            // Only its one written form: a cursor that was cut off or changed is not another position.
            (version == VERSION && parts.next().is_none() && cursor.to_string() == text)
                .then_some(cursor)
        };
        parse().ok_or_else(|| {
            Error::Invalid(format!(
                "{text:?} is not a cursor of this version. Copy the field `cursor` of the last event, or omit --from \
                 to begin at the first event"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_is_written_and_no_other_text_is_one() {
        for (stream, offset, line) in [(1, 2, 3), (u64::MAX, u64::MAX, u32::MAX), (0, 0, 0)] {
            let cursor = Cursor { stream, offset, line };
            assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
        }
        let text = Cursor { stream: 7, offset: 120, line: 9 }.to_string();
        for end in 0..text.len() {
            assert!(text[..end].parse::<Cursor>().is_err(), "{end}");
        }
        for wrong in [
            "2-0000000000000007-120-00000009",
            "1-0000000000000007-0120-00000009",
            "1-0000000000000007-+120-00000009",
            "1-0000000000000007-120-00000009-",
            "1-0000000000000007-99999999999999999999-00000009",
            "1-000000000000000G-120-00000009",
            "-1",
            "120",
        ] {
            let error = wrong.parse::<Cursor>().unwrap_err().to_string();
            assert!(error.contains("omit --from"), "{wrong}: {error}");
        }
    }
}
