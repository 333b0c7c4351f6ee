//! The append-only log of changes that are not in a segment yet. See docs/format.md.

use std::path::{Path, PathBuf};

use crate::dir::{Directory, Output};
use crate::error::{Error, Result};
use crate::limits::{MAX_FRAME, OLDEST, VERSION};

const MAGIC: &[u8; 8] = b"HAPAXJNL";
pub(crate) const HEADER: usize = 16;
const FRAME_HEAD: usize = 8;
/// The most bytes of a journal that has no commit yet.
pub(crate) const FIRST: usize = HEADER + FRAME_HEAD + MAX_FRAME;
/// Above this number of bytes a new journal is begun, even with few documents in memory: payloads and deletions take
/// space too.
pub(crate) const FULL: u64 = 64 << 20;

/// The kind of a frame; its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Record = 1,
    Commit = 2,
    Delete = 3,
}

pub(crate) fn name(number: u64) -> String {
    format!("journal-{number}")
}

#[derive(Debug, Default)]
pub(crate) struct Batch(Vec<u8>);

impl Batch {
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Clears the batch and returns its capacity.
    pub(crate) fn clear(&mut self) -> usize {
        self.0.clear();
        self.0.capacity()
    }

    pub(crate) fn append(&mut self, kind: Kind, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.0.len();
        self.0.extend([0; FRAME_HEAD]);
        self.0.push(kind as u8);
        write(&mut self.0);
        let body = self.0.get(start + FRAME_HEAD..).unwrap_or_default();
        let head = frame_head(body);
        if let Some(slot) = self.0.get_mut(start..start + FRAME_HEAD) {
            slot.copy_from_slice(&head);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) number: u64,
    path: PathBuf,
    out: Box<dyn Output>,
    /// In bytes.
    pub(crate) length: u64,
}

impl Journal {
    /// Creates a journal that begins with a commit of `payload`; both the journal and its name are durable.
    pub(crate) fn create(dir: &dyn Directory, number: u64, payload: Option<&[u8]>) -> Result<Self> {
        let name = name(number);
        let path = dir.path().join(&name);
        let out = dir.create(&name).map_err(Error::io(&path))?;
        let mut journal = Self { number, path, out, length: 0 };
        // Synced separately, so that a commit in a journal proves that its header is on disk.
        journal.write(&header())?;
        journal.sync()?;
        if let Some(payload) = payload {
            journal.seal(payload)?;
        }
        dir.sync().map_err(Error::io(dir.path()))?;
        Ok(journal)
    }

    /// Continues a journal of which `length` bytes are committed.
    pub(crate) fn resume(dir: &dyn Directory, number: u64, length: u64) -> Result<Self> {
        let name = name(number);
        let path = dir.path().join(&name);
        let out = dir.append(&name, length).map_err(Error::io(&path))?;
        let mut journal = Self { number, path, out, length };
        journal.sync()?;
        Ok(journal)
    }

    /// Makes the batch durable, then seals it with a commit frame that carries `payload`.
    ///
    /// The two syncs make a valid commit frame prove that its batch was on disk before it. So a bad frame before a
    /// commit is damage, never a torn write.
    pub(crate) fn commit(&mut self, batch: &Batch, payload: &[u8]) -> Result<()> {
        if !batch.is_empty() {
            self.write(&batch.0)?;
            self.sync()?;
        }
        self.seal(payload)
    }

    fn seal(&mut self, payload: &[u8]) -> Result<()> {
        let mut commit = Batch::default();
        commit.append(Kind::Commit, |out| out.extend(payload));
        self.write(&commit.0)?;
        self.sync()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write(bytes).map_err(Error::io(&self.path))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.out.sync().map_err(Error::io(&self.path))
    }
}

/// Calls `visit` with each frame of each committed batch and returns the number of committed bytes. In the `last`
/// journal, bytes after the last commit were never acknowledged and are ignored. Any earlier journal must end with a
/// commit.
pub(crate) fn replay(
    path: &Path,
    bytes: &[u8],
    last: bool,
    at_least: u64,
    visit: impl FnMut(Kind, &[u8]) -> bool,
) -> Result<u64> {
    check_header(path, bytes)?;
    replay_from(path, bytes, HEADER, (last, at_least), visit)
}

/// Does the same for the frames from an offset on, which is the end of a committed batch. The flag and the number are
/// `last` and `at_least` of [`replay`].
pub(crate) fn replay_from(
    path: &Path,
    bytes: &[u8],
    begin: usize,
    (last, at_least): (bool, u64),
    mut visit: impl FnMut(Kind, &[u8]) -> bool,
) -> Result<u64> {
    let corrupt = |offset: usize, what| {
        Err(Error::Corrupt { path: path.to_owned(), offset: offset as u64, what })
    };
    let (mut at, mut committed) = (begin, begin);
    while let Some((kind, length)) = frame_at(bytes, at) {
        at += length;
        if kind == Kind::Commit {
            committed = at;
        }
    }
    let damaged = || {
        (at + 1..bytes.len())
            .any(|later| frame_at(bytes, later).is_some_and(|(kind, _)| kind == Kind::Commit))
    };
    if at < bytes.len() && damaged() {
        return corrupt(at, "a frame does not match its checksum, and committed frames follow it");
    }
    if (committed as u64) < at_least || !last && committed < bytes.len() {
        return corrupt(committed, "the journal is cut, or its last frames are damaged");
    }
    let mut at = begin;
    while at < committed {
        let Some((kind, length)) = frame_at(bytes, at) else { break };
        let payload = bytes.get(at + FRAME_HEAD + 1..at + length).unwrap_or_default();
        if !visit(kind, payload) {
            return corrupt(at, "a frame with a right checksum holds nothing valid");
        }
        at += length;
    }
    Ok(committed as u64)
}

fn header() -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let crc = crc32fast::hash(&header[..12]);
    header[12..].copy_from_slice(&crc.to_le_bytes());
    header
}

fn check_header(path: &Path, bytes: &[u8]) -> Result<()> {
    let corrupt = |what| Error::Corrupt { path: path.to_owned(), offset: 0, what };
    let head = bytes.first_chunk::<HEADER>().ok_or_else(|| corrupt("the header is cut"))?;
    if &head[..8] != MAGIC {
        return Err(corrupt("not a journal"));
    }
    let crc = u32::from_le_bytes([head[12], head[13], head[14], head[15]]);
    if crc32fast::hash(&head[..12]) != crc {
        return Err(corrupt("the header does not match its checksum"));
    }
    let got = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if !(OLDEST..=VERSION).contains(&got) {
        return Err(Error::Version { path: path.to_owned(), expected: VERSION, got });
    }
    Ok(())
}

/// Returns length and CRC-32 of a frame's body (kind and payload).
fn frame_head(body: &[u8]) -> [u8; FRAME_HEAD] {
    let mut head = [0; FRAME_HEAD];
    head[..4].copy_from_slice(&(body.len() as u32).to_le_bytes());
    head[4..].copy_from_slice(&crc32fast::hash(body).to_le_bytes());
    head
}

/// Returns kind and whole length of a valid frame at `at`.
fn frame_at(bytes: &[u8], at: usize) -> Option<(Kind, usize)> {
    let rest = bytes.get(at..)?;
    let head = rest.first_chunk::<FRAME_HEAD>()?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    if length == 0 || length > MAX_FRAME {
        return None;
    }
    let body = rest.get(FRAME_HEAD..FRAME_HEAD + length)?;
    let kind = match body.first()? {
        1 => Kind::Record,
        2 => Kind::Commit,
        3 => Kind::Delete,
        _ => return None,
    };
    (frame_head(body) == *head).then_some((kind, FRAME_HEAD + length))
}

/// Returns whether a journal has a commit, even behind damaged frames.
pub(crate) fn has_commit(bytes: &[u8]) -> bool {
    let commit = |at| frame_at(bytes, at).is_some_and(|(kind, _)| kind == Kind::Commit);
    (HEADER..bytes.len()).any(commit)
}
