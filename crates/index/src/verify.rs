//! Checks the files of the index before tantivy trusts a length in them: it would allocate whatever a damaged file
//! requires, and a failed allocation ends the process.
//!
//! tantivy ends each file with a footer: JSON with the CRC-32 of all bytes before it, the length of that JSON, and a
//! magic number. `meta.json` has no checksum, so we add one.

use std::collections::HashMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::footer::Footer;
use tantivy::directory::{DirectoryLock, FileHandle, Lock, WatchCallback, WatchHandle, WritePtr};
use tantivy::index::{SegmentComponent, SegmentId};
use tantivy::{Directory, IndexReader, ReloadPolicy, Searcher, SegmentMeta, TantivyError};

use crate::schema::{Fields, fields_of};

const META: &str = "meta.json";
const MANAGED: &str = ".managed.json";
/// Length and magic number at the end of a file, 4 bytes each.
const TRAILER: usize = 8;
const MAGIC: u32 = 1337;
/// Longest footer that tantivy reads; it writes about 100 bytes.
const MAX_FOOTER: usize = 50_000;
/// The first member of meta.json: our checksum, eight hexadecimal digits, of the text that tantivy wrote.
const SEAL: &[u8] = b"{\n  \"crc32\": \"";
const SEAL_END: &[u8] = b"\",";
const SEAL_DIGITS: usize = 8;
/// Commits of another process while a reader is opened, beyond which their counts are compared all the same.
const MAX_COMMITS: usize = 20;
/// Limit of [`SOUND`]: a long-running process opens new index files all the time.
const MAX_REMEMBERED: usize = 100_000;

/// A directory that verifies a file when it is opened: once in each process, until the file changes.
#[derive(Clone, Debug)]
pub(crate) struct Verified<D> {
    within: D,
    folder: PathBuf,
}

impl<D: Directory + Clone> Verified<D> {
    pub(crate) fn new(within: D, folder: &Path) -> Self {
        Self { within, folder: folder.to_owned() }
    }

    /// Compares a file with its checksum, even if this process has done so before.
    pub(crate) fn verify(&self, name: &Path) -> Result<(), OpenReadError> {
        let path = self.folder.join(name);
        // Taken before the bytes are read, so that a change during the read changes the stamp.
        let stamp = Stamp::of(&path);
        let handle = self.within.get_file_handle(name).map_err(missing_is_damage)?;
        compare(&*handle).map_err(|error| OpenReadError::wrap_io_error(error, name.into()))?;
        if let Some(stamp) = stamp {
            remember(path, stamp);
        }
        Ok(())
    }
}

impl<D: Directory + Clone> Directory for Verified<D> {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let full = self.folder.join(path);
        let stamp = Stamp::of(&full);
        let is_sound = stamp.is_some() && sound().get(&full) == stamp.as_ref();
        if !is_sound {
            self.verify(path)?;
        }
        self.within.get_file_handle(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let bytes = self.within.atomic_read(path)?;
        let checked = match path.to_str() {
            Some(META) => unseal(bytes),
            Some(MANAGED) => check_names(&bytes).map(|()| bytes),
            _ => Ok(bytes),
        };
        checked.map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        if path == Path::new(META) {
            return self.within.atomic_write(path, &seal(data));
        }
        self.within.atomic_write(path, data)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        sound().remove(&self.folder.join(path));
        self.within.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.within.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.within.open_write(path)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.within.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.within.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.within.watch(callback)
    }
}

/// Detects a change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: SystemTime,
    file: (u64, u64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok()?;
        #[cfg(unix)]
        let file = {
            use std::os::unix::fs::MetadataExt;
            (meta.dev(), meta.ino())
        };
        #[cfg(not(unix))]
        let file = (0, 0);
        Some(Self { length: meta.len(), modified: meta.modified().ok()?, file })
    }
}

/// The files with a correct checksum that this process has read.
static SOUND: LazyLock<Mutex<HashMap<PathBuf, Stamp>>> = LazyLock::new(Mutex::default);

fn sound() -> MutexGuard<'static, HashMap<PathBuf, Stamp>> {
    SOUND.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remember(path: PathBuf, stamp: Stamp) {
    let mut files = sound();
    if files.len() >= MAX_REMEMBERED {
        files.clear();
    }
    files.insert(path, stamp);
}

fn damage(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// tantivy takes some missing files for empty ones.
fn missing_is_damage(error: OpenReadError) -> OpenReadError {
    match error {
        OpenReadError::FileDoesNotExist(path) => {
            OpenReadError::wrap_io_error(damage("meta.json names it, but it is missing"), path)
        }
        other => other,
    }
}

/// Compares all bytes of a file with the checksum in its footer.
fn compare(file: &dyn FileHandle) -> io::Result<()> {
    let cut = || damage("it is cut, or its end is damaged");
    let length = file.len();
    let end = length.checked_sub(TRAILER).ok_or_else(cut)?;
    let trailer = file.read_bytes(end..length)?;
    let number = |at: usize| {
        let bytes = trailer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_le_bytes).ok_or_else(cut)
    };
    if number(4)? != MAGIC {
        return Err(cut());
    }
    let footer_length = number(0)? as usize;
    if footer_length > MAX_FOOTER {
        return Err(cut());
    }
    let body_length = end.checked_sub(footer_length).ok_or_else(cut)?;
    let footer = file.read_bytes(body_length..end)?;
    let version: Footer = serde_json::from_slice(&footer).map_err(|_| cut())?;
    version.is_compatible().map_err(|error| damage(format!("{error:?}")))?;
    let footer: serde_json::Value = serde_json::from_slice(&footer).map_err(|_| cut())?;
    let written = footer["crc"].as_u64().ok_or_else(cut)?;
    let found = crc32fast::hash(&file.read_bytes(0..body_length)?);
    if u64::from(found) != written {
        return Err(damage("its checksum does not match: bytes in it have changed"));
    }
    Ok(())
}

/// Adds a checksum to the text of meta.json. Older versions ignore unknown members.
fn seal(data: &[u8]) -> Vec<u8> {
    let Some(rest) = data.strip_prefix(b"{") else { return data.to_vec() };
    let sum = format!("{:0SEAL_DIGITS$x}", crc32fast::hash(data));
    [SEAL, sum.as_bytes(), SEAL_END, rest].concat()
}

/// Returns the text of meta.json as tantivy wrote it. An older version adds no checksum.
fn unseal(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let Some(sealed) = bytes.strip_prefix(SEAL) else { return Ok(bytes) };
    let wrong = || damage("its checksum does not match: bytes in it have changed");
    let (sum, rest) = sealed.split_at_checked(SEAL_DIGITS).ok_or_else(wrong)?;
    let rest = rest.strip_prefix(SEAL_END).ok_or_else(wrong)?;
    let data = [b"{", rest].concat();
    let written = std::str::from_utf8(sum).ok().and_then(|sum| u32::from_str_radix(sum, 16).ok());
    if written != Some(crc32fast::hash(&data)) {
        return Err(wrong());
    }
    Ok(data)
}

/// Rejects names in other folders: tantivy removes files on this list.
fn check_names(bytes: &[u8]) -> io::Result<()> {
    let names: Vec<PathBuf> = serde_json::from_slice(bytes)
        .map_err(|error| damage(format!("not a list of files: {error}")))?;
    for name in names {
        let mut parts = name.components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            return Err(damage(format!("it names a file of another folder: {}", name.display())));
        }
    }
    Ok(())
}

/// Opens a reader of the version that meta.json names, and compares the two: an older version added no checksum. Returns
/// the fields too.
pub(crate) fn agreeing_reader(index: &tantivy::Index) -> tantivy::Result<(IndexReader, Fields)> {
    let wrong = |what: String| {
        Err(TantivyError::from(OpenReadError::wrap_io_error(damage(what), PathBuf::from(META))))
    };
    let mut metas = index.searchable_segment_metas()?;
    let reader: IndexReader =
        index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
    let Some(fields) = fields_of(index) else {
        return wrong("its fields are unknown: damaged, or from another version".to_owned());
    };
    // Another process may have committed in between.
    for _ in 0..MAX_COMMITS {
        let now = index.searchable_segment_metas()?;
        if versions(&metas) == versions(&now) {
            break;
        }
        reader.reload()?;
        metas = now;
    }
    match disagreement(&metas, &reader.searcher())? {
        Some(what) => wrong(what),
        None => Ok((reader, fields)),
    }
}

fn versions(metas: &[SegmentMeta]) -> Vec<(SegmentId, Option<u64>)> {
    metas.iter().map(|meta| (meta.id(), meta.delete_opstamp())).collect()
}

/// Returns how the counts of meta.json differ from the files.
fn disagreement(metas: &[SegmentMeta], searcher: &Searcher) -> tantivy::Result<Option<String>> {
    for segment in searcher.segment_readers() {
        let id = segment.segment_id();
        let Some(meta) = metas.iter().find(|meta| meta.id() == id) else { continue };
        let stored = segment.fast_fields().u64("id")?.num_docs();
        let deleted = u64::from(meta.num_deleted_docs());
        let alive = u64::from(segment.num_docs());
        let bits = segment.alive_bitset().map(|alive| alive.bitset().max_value());
        if stored != meta.max_doc()
            || bits.is_some_and(|bits| bits != stored)
            || alive + deleted != u64::from(stored)
        {
            let name = meta.relative_path(SegmentComponent::Store);
            return Ok(Some(format!(
                "it counts {} pages and {deleted} deleted ones in {}, which holds {stored} and {alive} that are not deleted",
                meta.max_doc(),
                name.display()
            )));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
