//! Cursors: positions in the streams of data directories.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// The most directories of a cursor. A consumer may store it in a column of limited size.
const MAX_POSITIONS: usize = 4096;

/// A position after an event, in the streams of one or more data directories. A consumer stores it as text, as
/// [`Display`](fmt::Display) writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(pub(super) Vec<Position>);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, position) in self.0.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma}{position}")?;
        }
        Ok(())
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let positions = text.split(',').take(MAX_POSITIONS + 1).map(|part| {
            part.parse().map_err(|()| {
                Error::Invalid(format!(
                    "{text:?} is not a cursor of this version. Copy the field `cursor` of the last event, or omit \
                     --from to begin at the first event"
                ))
            })
        });
        let positions = positions.collect::<Result<Vec<Position>, Error>>()?;
        let streams: HashSet<u64> = positions.iter().map(|position| position.stream).collect();
        if positions.len() > MAX_POSITIONS || streams.len() < positions.len() {
            let what = "a cursor has at most 4,096 parts, each of another data directory";
            return Err(Error::Invalid(what.to_owned()));
        }
        Ok(Self(positions))
    }
}

/// A position after an event of one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// The random number of the stream.
    pub(super) stream: u64,
    /// The offset in events.jsonl after the event's line.
    pub(super) offset: u64,
    /// CRC-32 of that line: after a restored backup, the same offset may follow another event.
    pub(super) line: u32,
}

const VERSION: &str = "1";

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{VERSION}-{:016x}-{}-{:08x}", self.stream, self.offset, self.line)
    }
}

impl FromStr for Position {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let parse = || {
            let mut parts = text.split('-');
            let version = parts.next()?;
            let stream = u64::from_str_radix(parts.next()?, 16).ok()?;
            let offset = parts.next()?.parse().ok()?;
            let line = u32::from_str_radix(parts.next()?, 16).ok()?;
            let position = Self { stream, offset, line };
            // Only its one written form: a cursor that was cut off or changed is not another position.
            (version == VERSION && parts.next().is_none() && position.to_string() == text)
                .then_some(position)
        };
        parse().ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_is_written_and_no_other_text_is_one() {
        for (stream, offset, line) in [(1, 2, 3), (u64::MAX, u64::MAX, u32::MAX), (0, 0, 0)] {
            let cursor = Cursor(vec![Position { stream, offset, line }]);
            assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
        }
        let one = Position { stream: 7, offset: 120, line: 9 };
        let both = Cursor(vec![one, Position { stream: 8, ..one }]);
        assert_eq!(both.to_string().parse::<Cursor>().unwrap(), both);
        assert!(
            Cursor(vec![one, one]).to_string().parse::<Cursor>().is_err(),
            "one directory twice"
        );
        let text = one.to_string();
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
            "1-0000000000000007-120-00000009,",
            "1-0000000000000007-120-00000009 1-0000000000000008-120-00000009",
            "-1",
            "120",
        ] {
            let error = wrong.parse::<Cursor>().unwrap_err().to_string();
            assert!(error.contains("omit --from"), "{wrong}: {error}");
        }
    }
}
