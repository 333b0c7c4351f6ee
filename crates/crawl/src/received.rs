//! Responses ("answers") that are not committed yet. They are stored on disk, so that after a kill only requests in
//! flight are repeated, and not those of the uncommitted group.
//!
//! A file contains `HEADER`, the request fingerprint, and frames (`answer.rs`). Files are never synced, and removed
//! when the last of their answers is committed. A power cut may lose them; then the URLs are requested again.

use std::collections::HashMap;
use std::fs::{DirBuilder, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use hapax_fetch::Fetcher;
use hapax_frontier::{Entry, EntryKind};
use hapax_url::url_key;

use hapax_data::files::open_regular;

use super::answer::{Answer, Head, Key, NUMBERS, frame, key, lengths, parse};

const HEADER: [u8; 16] = *b"hapax answers 1\n";
/// Bytes of the request fingerprint, which follows the header.
const REQUEST_FINGERPRINT: usize = 16;
/// Version of the input of the request fingerprint.
const REACH_VERSION: u32 = 1;
/// Maximum bytes of all files. Answers beyond it would be requested again after a kill.
const MAX_BYTES: u64 = 256 << 20;

#[derive(Debug)]
pub(super) struct Received {
    folder: PathBuf,
    /// The request fingerprint: a hash of what answers depend on except the URL. Others' answers are not used.
    request_fingerprint: [u8; REQUEST_FINGERPRINT],
    max_bytes: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    bytes: u64,
    /// Whether the log has reported that the limit is reached.
    told: bool,
    writing: Option<(File, Arc<Part>)>,
    /// Files with the answers of unfinished leases.
    open: HashMap<Key, Arc<Part>>,
    /// Files with the answers of finished leases that are not committed.
    finished: Vec<Arc<Part>>,
    /// Answers that the run before left.
    earlier: HashMap<Key, Place>,
    unneeded: Vec<PathBuf>,
}

/// A file. Each answer in it that is still needed holds a reference.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    bytes: AtomicU64,
}

#[derive(Debug)]
struct Place {
    part: Arc<Part>,
    offset: u64,
    length: usize,
}

impl Received {
    /// Finds answers that an earlier run left, of URLs that may still be leased, and removes other answers. Files
    /// that cannot be read are ignored: their URLs would be requested again.
    pub(super) fn open(
        folder: PathBuf,
        reach: &hapax_fetch::Options,
        may_come: &dyn Fn(&str) -> bool,
    ) -> Self {
        let proxy = reach.proxy.as_ref().map(url::Url::as_str);
        let reach = (REACH_VERSION, &reach.user_agent, proxy, &reach.headers, reach.cookies);
        let reach = serde_json::to_string(&reach).unwrap_or_default();
        let request_fingerprint = url_key(&reach).to_le_bytes();
        let received =
            Self { folder, request_fingerprint, max_bytes: MAX_BYTES, state: Mutex::default() };
        let warn = |path: &Path, error: &io::Error| {
            tracing::warn!("{}: {error}. Its responses are requested again", path.display());
        };
        match received.numbers() {
            Ok(numbers) => received.with(|state| {
                for number in numbers {
                    let path = received.folder.join(number.to_string());
                    state.next = state.next.max(number.saturating_add(1));
                    if let Err(error) = state.find(&path, request_fingerprint, may_come) {
                        warn(&path, &error);
                    }
                }
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => warn(&received.folder, &error),
        }
        // Otherwise a power cut may bring back removed files.
        let _ = File::open(&received.folder).and_then(|folder| folder.sync_all());
        received
    }

    /// Returns the numbers of our files, oldest first. Other names are ignored.
    fn numbers(&self) -> io::Result<Vec<u64>> {
        let mut numbers: Vec<u64> = Vec::new();
        for file in std::fs::read_dir(&self.folder)? {
            let name = file?.file_name();
            let number = name.to_str().and_then(|name| name.parse().ok());
            numbers.extend(number.filter(|number: &u64| name == *number.to_string()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Calls `work` with the locked state, and removes files that are not needed any more after unlocking.
    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = work(&mut state);
        let unneeded = std::mem::take(&mut state.unneeded);
        drop(state);
        for path in unneeded {
            if let Err(error) = std::fs::remove_file(&path) {
                tracing::debug!("{}: {error}", path.display());
            }
        }
        result
    }

    /// Stores an answer until its lease is committed. The crawl continues if that fails, as on a full disk: after a
    /// kill the URL would be requested again.
    pub(super) async fn keep(self: &Arc<Self>, entry: &Entry, answer: &Answer) {
        let Some(key) = key(entry) else { return };
        let Some((frame, length)) = frame(entry, answer) else { return };
        let (this, body) = (Arc::clone(self), answer.response.raw.clone());
        let write = move || {
            this.with(|state| {
                if state.bytes + length as u64 > this.max_bytes {
                    if !std::mem::replace(&mut state.told, true) {
                        let limit = this.max_bytes >> 20;
                        tracing::info!(
                            "more than {limit} MiB of responses are waiting for the commit thread"
                        );
                    }
                } else if let Err(error) = state.write(&this, key, &frame, &body) {
                    tracing::debug!("{}: {error}", this.folder.display());
                    state.give_up();
                }
            });
        };
        // A panic there does not affect the answer.
        let _ = tokio::task::spawn_blocking(write).await;
    }

    /// Returns the answer that an earlier run received for this entry.
    pub(super) async fn take(&self, entry: &Entry, fetcher: &Fetcher) -> Option<Answer> {
        let key = key(entry)?;
        let place = self.with(|state| state.take(key))?;
        let answer = restored(place, entry, fetcher).await;
        if answer.is_none() {
            self.finish(entry);
        }
        answer
    }

    /// Marks the answer of a finished lease: it is not needed after the next commit.
    pub(super) fn finish(&self, entry: &Entry) {
        let Some(key) = key(entry) else { return };
        self.with(|state| {
            let earlier = state.earlier.remove(&key).map(|place| place.part);
            let parts = state.open.remove(&key).into_iter().chain(earlier);
            state.finished.extend(parts);
        });
    }

    /// Removes the answers of finished leases, which are committed now.
    pub(super) fn committed(&self) {
        self.with(|state| {
            for part in std::mem::take(&mut state.finished) {
                state.release(part);
            }
            state.close();
        });
    }

    /// Removes all answers at the end of a crawl.
    pub(super) fn clear(&self) {
        self.with(|state| {
            let earlier = std::mem::take(&mut state.earlier).into_values().map(|place| place.part);
            state.finished.extend(earlier);
            state.finished.extend(std::mem::take(&mut state.open).into_values());
        });
        self.committed();
        // Fails if there are files of other programs.
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// Reads a stored answer as if it had just arrived.
async fn restored(place: Place, entry: &Entry, fetcher: &Fetcher) -> Option<Answer> {
    let mut known = None;
    let (length, copy) = (place.length, entry.clone());
    let is_sitemap = entry.kind == EntryKind::Sitemap;
    let read = async {
        let read = move || parse(read_at(&place).ok()?, &copy);
        let (answer, wanted) = tokio::task::spawn_blocking(read).await.ok()??;
        // A sitemap is decoded while it is parsed.
        let wanted = wanted && !is_sitemap;
        known = Some((answer.time, answer.took, answer.asked_if_changed));
        Some((answer.response, wanted))
    };
    // Without an answer the URL is requested again.
    let limits = fetcher.limits();
    let most = match entry.kind {
        EntryKind::Sitemap => limits.max_sitemap,
        _ => limits.max_body,
    };
    let response = fetcher.restore(length, most, read).await.ok()??;
    let (time, took, asked_if_changed) = known?;
    Some(Answer { response, time, took, asked_if_changed })
}

impl State {
    fn write(&mut self, of: &Received, key: Key, frame: &[u8], body: &[u8]) -> io::Result<()> {
        let (file, part) = match &mut self.writing {
            Some(writing) => writing,
            none => {
                create(&of.folder)?;
                let path = of.folder.join(self.next.to_string());
                self.next = self.next.saturating_add(1);
                let mut file = new_file(&path)?;
                if let Err(error) = file.write_all(&[HEADER, of.request_fingerprint].concat()) {
                    self.unneeded.push(path);
                    return Err(error);
                }
                none.insert((file, Arc::new(Part { path, bytes: AtomicU64::new(0) })))
            }
        };
        file.write_all(frame)?;
        file.write_all(body)?;
        let length = (frame.len() + body.len()) as u64;
        part.bytes.fetch_add(length, Relaxed);
        self.bytes += length;
        let part = Arc::clone(part);
        if let Some(before) = self.open.insert(key, part) {
            self.release(before);
        }
        Ok(())
    }

    /// Ends the current file. The next answer begins another one.
    fn close(&mut self) {
        if let Some((_, part)) = self.writing.take() {
            self.release(part);
        }
    }

    /// Ends the current file after an incomplete frame, which is cut off.
    fn give_up(&mut self) {
        if let Some((file, part)) = &self.writing {
            let _ = file
                .set_len((HEADER.len() + REQUEST_FINGERPRINT) as u64 + part.bytes.load(Relaxed));
        }
        self.close();
    }

    /// Drops a reference to a file. The file is removed with its last reference.
    fn release(&mut self, part: Arc<Part>) {
        if let Some(part) = Arc::into_inner(part) {
            self.bytes = self.bytes.saturating_sub(part.bytes.into_inner());
            self.unneeded.push(part.path);
        }
    }

    /// Returns the location of an answer, whose lease is unfinished from now on.
    fn take(&mut self, key: Key) -> Option<Place> {
        let place = self.earlier.remove(&key)?;
        if let Some(before) = self.open.insert(key, Arc::clone(&place.part)) {
            self.release(before);
        }
        Some(place)
    }

    /// Records which answers a file contains. Answers after an incomplete frame are lost. Files of other programs
    /// stay unchanged.
    fn find(
        &mut self,
        path: &Path,
        request_fingerprint: [u8; REQUEST_FINGERPRINT],
        may_come: &dyn Fn(&str) -> bool,
    ) -> io::Result<()> {
        // Opening a pipe would block.
        if !path.symlink_metadata()?.is_file() {
            return Ok(());
        }
        let file = open_regular(path)?;
        let end = file.metadata()?.len();
        let mut input = BufReader::new(file);
        // After a power cut a file may be empty or contain zeros.
        if end > 0
            && read_exact(&mut input).is_none_or(|header| header != HEADER && header != [0; 16])
        {
            return Ok(());
        }
        self.bytes += end;
        let part = Arc::new(Part { path: path.to_owned(), bytes: AtomicU64::new(end) });
        let ours = read_exact::<REQUEST_FINGERPRINT>(&mut input) == Some(request_fingerprint);
        let mut offset = (HEADER.len() + REQUEST_FINGERPRINT) as u64;
        while ours
            && let Some(numbers) = read_exact::<NUMBERS>(&mut input)
            && let Some((length, head)) = lengths(&numbers)
            && offset + length as u64 <= end
            && length as u64 <= MAX_BYTES
        {
            let mut json = vec![0; head];
            if input.read_exact(&mut json).is_err() {
                break;
            }
            if let Some(head) = Head::read(&json).filter(|head| may_come(head.url())) {
                let place = Place { part: Arc::clone(&part), offset, length };
                if let Some(before) = self.earlier.insert(head.key(), place) {
                    self.release(before.part);
                }
            }
            offset += length as u64;
            if input.seek_relative((length - head - NUMBERS) as i64).is_err() {
                break;
            }
        }
        self.release(part);
        Ok(())
    }
}

/// Creates the folder with access for its owner only: responses may be personal.
fn create(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

fn new_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.create_new(true).append(true).open(path)
}

fn read_exact<const N: usize>(input: &mut impl Read) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes).ok().map(|()| bytes)
}

fn read_at(place: &Place) -> io::Result<Vec<u8>> {
    let mut file = open_regular(&place.part.path)?;
    file.seek(SeekFrom::Start(place.offset))?;
    let mut frame = vec![0; place.length];
    file.read_exact(&mut frame)?;
    Ok(frame)
}

#[cfg(test)]
mod tests;
