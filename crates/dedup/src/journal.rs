//! The append-only log of records: the one copy of the truth. See docs/format.md.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"HAPAXJNL";
/// The version of the journal's format.
pub(crate) const VERSION: u32 = 1;
const HEADER: u64 = 16;
const FRAME_HEAD: usize = 8;
/// No frame is longer: a key of 65,535 bytes and the fixed parts, or a commit's payload.
const MAX_FRAME: usize = 1 << 17;

/// What a frame holds; its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Record = 1,
    Commit = 2,
}

#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// Where the next frame goes: everything before is committed or waits in `pending`.
    end: u64,
    pending: Vec<u8>,
    poisoned: bool,
}

/// One frame as found by a replay.
pub(crate) struct Frame<'a> {
    pub(crate) kind: Kind,
    pub(crate) offset: u64,
    pub(crate) payload: &'a [u8],
}

impl Journal {
    /// Opens or creates the journal and calls `visit` for each frame of each committed batch.
    ///
    /// What follows the last commit was never acknowledged: it is cut off. A bad frame before it
    /// is damage, and an error.
    pub(crate) fn open(path: &Path, mut visit: impl FnMut(Frame<'_>) -> bool) -> Result<Self> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(io)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() < HEADER as usize {
            // A crash while it was being created: nothing can have been acknowledged.
            file.set_len(0).map_err(io)?;
            file.seek(SeekFrom::Start(0)).map_err(io)?;
            file.write_all(&header()).map_err(io)?;
            file.sync_all().map_err(io)?;
            sync_parent(path)?;
            bytes = header().to_vec();
        }
        check_header(path, &bytes)?;

        let mut committed = HEADER as usize;
        let mut at = committed;
        while let Some((kind, length)) = frame_at(&bytes, at) {
            at += length;
            if kind == Kind::Commit {
                committed = at;
            }
        }
        let commit_at =
            |later| frame_at(&bytes, later).is_some_and(|(kind, _)| kind == Kind::Commit);
        if (at + 1..bytes.len()).any(commit_at) {
            return Err(Error::Corrupt {
                path: path.to_owned(),
                offset: at as u64,
                what: "a frame does not match its checksum, and committed frames follow it",
            });
        }
        let mut at = HEADER as usize;
        while at < committed {
            let Some((kind, length)) = frame_at(&bytes, at) else { break };
            let payload = bytes.get(at + FRAME_HEAD + 1..at + length).unwrap_or_default();
            if !visit(Frame { kind, offset: at as u64, payload }) {
                return Err(Error::Corrupt {
                    path: path.to_owned(),
                    offset: at as u64,
                    what: "a frame with a right checksum holds no valid record",
                });
            }
            at += length;
        }
        if committed < bytes.len() {
            file.set_len(committed as u64).map_err(io)?;
            file.sync_all().map_err(io)?;
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            end: committed as u64,
            pending: Vec::new(),
            poisoned: false,
        })
    }

    /// Adds a frame to the batch and returns its offset. Nothing is written yet.
    pub(crate) fn append(&mut self, kind: Kind, write: impl FnOnce(&mut Vec<u8>)) -> u64 {
        let offset = self.end + self.pending.len() as u64;
        let start = self.pending.len();
        self.pending.extend([0; FRAME_HEAD]);
        self.pending.push(kind as u8);
        write(&mut self.pending);
        let body = self.pending.get(start + FRAME_HEAD..).unwrap_or_default();
        let head = frame_head(body);
        if let Some(slot) = self.pending.get_mut(start..start + FRAME_HEAD) {
            slot.copy_from_slice(&head);
        }
        offset
    }

    /// Makes the batch durable, then seals it with a commit frame that carries `payload`.
    ///
    /// Two syncs: so a valid commit frame proves that its batch reached the disk before it, and a
    /// bad frame in front of one is damage, never a torn write.
    pub(crate) fn commit(&mut self, payload: &[u8]) -> Result<()> {
        if self.poisoned {
            return Err(Error::Poisoned);
        }
        if !self.pending.is_empty() {
            self.write_pending()?;
        }
        self.append(Kind::Commit, |out| out.extend(payload));
        self.write_pending()
    }

    fn write_pending(&mut self) -> Result<()> {
        let written = self
            .file
            .seek(SeekFrom::Start(self.end))
            .and_then(|_| self.file.write_all(&self.pending))
            .and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // After a failed fsync the kernel may have dropped the pages: never retry.
            self.poisoned = true;
            return Err(Error::Io { path: self.path.clone(), source });
        }
        self.end += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Reads one frame's payload back, from the file or from the batch.
    pub(crate) fn read(&mut self, offset: u64) -> Result<Vec<u8>> {
        let path = self.path.clone();
        let bad = |what| Error::Corrupt { path: path.clone(), offset, what };
        if offset >= self.end {
            let start = (offset - self.end) as usize;
            let (_, length) =
                frame_at(&self.pending, start).ok_or_else(|| bad("no frame in the batch"))?;
            let payload = self.pending.get(start + FRAME_HEAD + 1..start + length);
            return Ok(payload.unwrap_or_default().to_vec());
        }
        let mut head = [0; FRAME_HEAD];
        self.file.seek(SeekFrom::Start(offset)).map_err(Error::io(&path))?;
        self.file.read_exact(&mut head).map_err(Error::io(&path))?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if length > MAX_FRAME || length == 0 {
            return Err(bad("a frame's length is out of bounds"));
        }
        let mut body = vec![0; length];
        self.file.read_exact(&mut body).map_err(Error::io(&path))?;
        if frame_head(&body) != head {
            return Err(bad("a frame does not match its checksum"));
        }
        body.remove(0);
        Ok(body)
    }

    /// Bytes on disk.
    pub(crate) const fn len(&self) -> u64 {
        self.end
    }
}

fn header() -> [u8; HEADER as usize] {
    let mut header = [0; HEADER as usize];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let crc = crc32fast::hash(&header[..12]);
    header[12..].copy_from_slice(&crc.to_le_bytes());
    header
}

fn check_header(path: &Path, bytes: &[u8]) -> Result<()> {
    let corrupt = |what| Error::Corrupt { path: path.to_owned(), offset: 0, what };
    let head = bytes.first_chunk::<16>().ok_or_else(|| corrupt("the header is cut"))?;
    if &head[..8] != MAGIC {
        return Err(corrupt("this is no journal"));
    }
    let crc = u32::from_le_bytes([head[12], head[13], head[14], head[15]]);
    if crc32fast::hash(&head[..12]) != crc {
        return Err(corrupt("the header does not match its checksum"));
    }
    let got = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if got != VERSION {
        return Err(Error::Version { path: path.to_owned(), expected: VERSION, got });
    }
    Ok(())
}

/// Length and CRC-32 of a frame's body (kind and payload).
fn frame_head(body: &[u8]) -> [u8; FRAME_HEAD] {
    let mut head = [0; FRAME_HEAD];
    head[..4].copy_from_slice(&(body.len() as u32).to_le_bytes());
    head[4..].copy_from_slice(&crc32fast::hash(body).to_le_bytes());
    head
}

/// Kind and whole length of the valid frame at `at`, if there is one.
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
        _ => return None,
    };
    (frame_head(body) == *head).then_some((kind, FRAME_HEAD + length))
}

/// Makes a file's directory entry durable.
pub(crate) fn sync_parent(path: &Path) -> Result<()> {
    let Some(parent) = path.parent() else { return Ok(()) };
    // Windows cannot open a folder as a file; its journaled metadata needs no such sync.
    if cfg!(unix) {
        File::open(parent).and_then(|folder| folder.sync_all()).map_err(Error::io(parent))?;
    }
    Ok(())
}
