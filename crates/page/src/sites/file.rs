//! The file `sites/lines`: frames of changes after a frame with all counts.
//!
//! It begins with [`MAGIC`]. A frame is the length of its payload (four bytes, little endian), a CRC-32 of the rest
//! (four), the number of the commit (eight), flags (one), and the payload. Flags: 1, the payload replaces all counts;
//! 2, the counts include all kept pages of the data directory.
//!
//! A payload of changes has for each page its site (eight bytes), the number of its lines (four; the highest bit means
//! that the page was removed), and six bytes for each line. A payload with all counts has for each site the site, the
//! number of lines, and eight bytes for each: six of the hash, two of the count.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::counts::SiteCounts;
use super::table::{LineTable, key_of};

const MAGIC: &[u8; 8] = b"hxsites1";
/// Maximum size of a payload. Larger changes are written as all counts, which take less.
pub(crate) const MAX_PAYLOAD: usize = 32 << 20;
const HEAD: usize = 17;
const ALL: u8 = 1;
const WHOLE: u8 = 2;
const REMOVED: u32 = 1 << 31;
const LINE: usize = 6;
/// Size from which the file is rewritten, if changes take more than twice the space of all counts.
const LEAST_CHANGES: u64 = 4 << 20;

/// The end of the valid part of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    /// Its length.
    length: u64,
    /// The part of it up to the last frame with all counts.
    base: u64,
    /// The commit of the last frame.
    pub(crate) commit: u64,
    /// Whether the counts include all kept pages.
    pub(crate) is_whole: bool,
}

impl End {
    /// Returns whether the file should be rewritten.
    pub(crate) const fn is_long(self) -> bool {
        let changes = self.length - self.base;
        changes > LEAST_CHANGES && changes > 2 * self.base
    }
}

/// Adds a page to a payload of changes.
pub(crate) fn put_page(payload: &mut Vec<u8>, site: u64, lines: &[u64], is_removed: bool) {
    let count = u32::try_from(lines.len()).unwrap_or(0) | if is_removed { REMOVED } else { 0 };
    payload.extend(site.to_le_bytes());
    payload.extend(count.to_le_bytes());
    payload.reserve(lines.len() * LINE);
    for line in lines {
        let [_, _, key @ ..]: [u8; 2 + LINE] = key_of(*line).to_le_bytes();
        payload.extend_from_slice(&key);
    }
}

/// Returns all counts as a payload.
fn all_of(counts: &SiteCounts) -> Vec<u8> {
    let mut payload = Vec::new();
    for (site, table) in counts.sites() {
        let slots: Vec<u64> = table.counted().collect();
        payload.extend(site.to_le_bytes());
        payload.extend(u32::try_from(slots.len()).unwrap_or(0).to_le_bytes());
        slots.iter().for_each(|slot| payload.extend(slot.to_le_bytes()));
    }
    payload
}

/// Takes `N` bytes from the front.
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*first)
}

fn take_slice<'b>(rest: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (first, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(first)
}

/// Applies a payload of changes. `None` if it is malformed.
fn apply(counts: &mut SiteCounts, mut payload: &[u8]) -> Option<()> {
    while !payload.is_empty() {
        let site = u64::from_le_bytes(take(&mut payload)?);
        let count = u32::from_le_bytes(take(&mut payload)?);
        let lines = take_slice(&mut payload, ((count & !REMOVED) as usize).saturating_mul(LINE))?;
        let (lines, _) = lines.as_chunks::<LINE>();
        let lines = lines
            .iter()
            .map(|[a, b, c, d, e, f]| u64::from_le_bytes([0, 0, *a, *b, *c, *d, *e, *f]));
        if count & REMOVED == 0 {
            counts.add(site, lines);
        } else {
            counts.remove(site, lines);
        }
    }
    Some(())
}

/// Reads a payload with all counts. `None` if it is malformed.
fn read_all(mut payload: &[u8]) -> Option<SiteCounts> {
    let mut counts = SiteCounts::default();
    while !payload.is_empty() {
        let site = u64::from_le_bytes(take(&mut payload)?);
        let count = u32::from_le_bytes(take(&mut payload)?);
        let slots = take_slice(&mut payload, (count as usize).saturating_mul(8))?;
        let (slots, _) = slots.as_chunks::<8>();
        let slots: Vec<u64> = slots.iter().map(|slot| u64::from_le_bytes(*slot)).collect();
        counts.put(site, LineTable::from_slots(&slots));
    }
    Some(counts)
}

fn frame(payload: &[u8], commit: u64, flags: u8) -> io::Result<Vec<u8>> {
    let too_long = |_| io::Error::other("the counts of lines are too large");
    let length = u32::try_from(payload.len()).map_err(too_long)?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&commit.to_le_bytes());
    hasher.update(&[flags]);
    hasher.update(payload);
    let mut frame = Vec::with_capacity(HEAD + payload.len());
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&hasher.finalize().to_le_bytes());
    frame.extend_from_slice(&commit.to_le_bytes());
    frame.push(flags);
    frame.extend_from_slice(payload);
    Ok(frame)
}

/// Reads the next frame: its commit, flags and payload. `None` at the end of the valid part.
fn next_frame(file: &mut impl Read) -> io::Result<Option<(u64, u8, Vec<u8>)>> {
    let mut head = [0; HEAD];
    if !is_read(file.read_exact(&mut head))? {
        return Ok(None);
    }
    let [l0, l1, l2, l3, s0, s1, s2, s3, commit @ .., flags] = head;
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if length > MAX_PAYLOAD {
        return Ok(None);
    }
    let mut payload = vec![0; length];
    if !is_read(file.read_exact(&mut payload))? {
        return Ok(None);
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&commit);
    hasher.update(&[flags]);
    hasher.update(&payload);
    let is_valid = hasher.finalize() == u32::from_le_bytes([s0, s1, s2, s3]);
    Ok(is_valid.then(|| (u64::from_le_bytes(commit), flags, payload)))
}

fn is_read(result: io::Result<()>) -> io::Result<bool> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        result => result.map(|()| true),
    }
}

/// Reads the frames up to a commit. Returns no counts if the folder has no file.
///
/// # Errors
/// From the file system.
///
/// # Complexity
/// Linear in the file, with memory for one frame and all counts.
pub(crate) fn read(folder: &Path, commit: u64) -> io::Result<Option<(SiteCounts, End)>> {
    let file = match File::open(folder.join("lines")) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut file = BufReader::new(file);
    let (mut counts, mut end) = (SiteCounts::default(), End::default());
    let mut magic = [0; MAGIC.len()];
    if !is_read(file.read_exact(&mut magic))? || magic != *MAGIC {
        return Ok(Some((counts, end)));
    }
    end.length = MAGIC.len() as u64;
    while let Some((number, flags, payload)) = next_frame(&mut file)? {
        if number > commit {
            break;
        }
        if flags & ALL == 0 {
            if apply(&mut counts, &payload).is_none() {
                break;
            }
        } else {
            let Some(all) = read_all(&payload) else { break };
            counts = all;
        }
        end.length += (HEAD + payload.len()) as u64;
        if flags & ALL != 0 {
            end.base = end.length;
        }
        (end.commit, end.is_whole) = (number, flags & WHOLE != 0);
    }
    Ok(Some((counts, end)))
}

/// Writes the file of a folder.
#[derive(Debug)]
pub(crate) struct Writer {
    folder: PathBuf,
    file: Option<File>,
    pub(crate) end: End,
}

impl Writer {
    /// Creates a writer that continues after the valid part.
    pub(crate) fn new(folder: &Path, end: End) -> Self {
        Self { folder: folder.to_owned(), file: None, end }
    }

    /// Appends changes of a commit and makes them durable.
    pub(crate) fn append(&mut self, payload: &[u8], commit: u64, is_whole: bool) -> io::Result<()> {
        let bytes = frame(payload, commit, if is_whole { WHOLE } else { 0 })?;
        let end = self.end;
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let file = open(&self.folder, end.length)?;
                self.file.insert(file)
            }
        };
        let start = end.length.max(MAGIC.len() as u64);
        file.seek(SeekFrom::Start(start))?;
        file.write_all(&bytes)?;
        file.sync_data()?;
        self.end = End { length: start + bytes.len() as u64, commit, is_whole, ..end };
        Ok(())
    }

    /// Replaces the file by one frame with all counts. Returns them as a reader will have them.
    pub(crate) fn rewrite(
        &mut self,
        counts: &SiteCounts,
        commit: u64,
        is_whole: bool,
    ) -> io::Result<SiteCounts> {
        let payload = all_of(counts);
        let bytes = frame(&payload, commit, ALL | if is_whole { WHOLE } else { 0 })?;
        std::fs::create_dir_all(&self.folder)?;
        let new = self.folder.join("lines.tmp");
        let mut file = File::create(&new)?;
        file.write_all(MAGIC)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        drop(file);
        // Closed before the renaming: some systems refuse to replace an open file.
        self.file = None;
        std::fs::rename(&new, self.folder.join("lines"))?;
        sync_folder(&self.folder)?;
        let length = (MAGIC.len() + bytes.len()) as u64;
        self.end = End { length, base: length, commit, is_whole };
        read_all(&payload).ok_or_else(|| io::Error::other("the counts of lines are malformed"))
    }
}

/// Opens the file for writing and cuts it back to its valid part.
fn open(folder: &Path, length: u64) -> io::Result<File> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join("lines");
    let is_new = !path.exists();
    let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    file.set_len(length)?;
    if length == 0 {
        file.write_all(MAGIC)?;
    }
    if is_new {
        file.sync_all()?;
        sync_folder(folder)?;
    }
    Ok(file)
}

/// Makes new names in a folder durable, where the system can.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
