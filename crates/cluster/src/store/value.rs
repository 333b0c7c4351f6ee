//! A document's value in the cluster: state, whether it is settled, ticket, `of`, the length (one byte) and name of
//! its writer, then the record, which ends in the key. The scripts use these offsets, and find the key by its end.

use hapax_dedup::{DocId, Record};

pub(super) const NOTHING: DocId = DocId::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Its writer has not decided yet.
    Undecided,
    Kept,
    Discarded,
    /// Its writer did not finish, and a waiting writer went on.
    Abandoned,
}

impl State {
    pub(super) const fn letter(self) -> u8 {
        match self {
            Self::Undecided => b'u',
            Self::Kept => b'k',
            Self::Discarded => b'd',
            Self::Abandoned => b'a',
        }
    }

    pub(super) const fn of(letter: u8) -> Option<Self> {
        match letter {
            b'u' => Some(Self::Undecided),
            b'k' => Some(Self::Kept),
            b'd' => Some(Self::Discarded),
            b'a' => Some(Self::Abandoned),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) state: State,
    pub(super) ticket: u64,
    pub(super) of: Option<DocId>,
    pub(super) writer: String,
    pub(super) record: Record,
}

pub(super) fn encode(
    state: State,
    ticket: u64,
    of: DocId,
    writer: &str,
    record: &Record,
) -> Vec<u8> {
    let mut value = vec![state.letter(), b'0'];
    value.extend(ticket.to_le_bytes());
    value.extend(of.to_le_bytes());
    // `Cluster::join` rejects longer names.
    value.push(writer.len() as u8);
    value.extend(writer.as_bytes());
    value.extend(record.to_bytes());
    value
}

pub(super) fn decode(value: &[u8]) -> Option<Stored> {
    let (state, rest) = value.split_first()?;
    let rest = rest.get(1..)?;
    let (ticket, rest) = rest.split_first_chunk()?;
    let (of, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first()?;
    let (writer, record) = rest.split_at_checked(usize::from(*length))?;
    let record = Record::from_bytes(record)?;
    let of = DocId::from_le_bytes(*of);
    Some(Stored {
        state: State::of(*state)?,
        ticket: u64::from_le_bytes(*ticket),
        of: (of != NOTHING).then_some(of),
        writer: String::from_utf8_lossy(writer).into_owned(),
        record,
    })
}
