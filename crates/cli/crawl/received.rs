//! Answers that have come and are not committed yet. They lie on disk, so that a crawl that was killed
//! asks again for what was in flight alone, and not for the group on its way to its commit.
//!
//! A file is `HEADER` and frames (`answer.rs`). Files are never synced, and removed when the last of
//! their answers is committed: a power cut may lose them, and then their answers are asked for again.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hapax_fetch::Fetcher;
use hapax_frontier::Entry;

use super::answer::{Answer, Head, Key, NUMBERS, frame, key, lengths, parse};

/// What a file begins with. One that begins otherwise is removed.
const HEADER: &[u8; 16] = b"hapax answers 1\n";
/// Bytes of all files; what comes beyond them would be asked for again after a kill.
const MAX_BYTES: u64 = 256 << 20;
/// Bytes of a head: a URL, and little else.
const MAX_HEAD: usize = 64 << 10;

/// The answers of one data directory.
#[derive(Debug)]
pub(super) struct Received {
    folder: PathBuf,
    max_bytes: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What the next file is called.
    next: u64,
    /// Of all files.
    bytes: u64,
    writing: Option<(File, Arc<Part>)>,
    /// Answers of leases that are not finished.
    open: HashMap<Key, Arc<Part>>,
    /// The same of leases that are finished and not committed.
    finished: Vec<Arc<Part>>,
    /// What the run before left.
    earlier: HashMap<Key, Place>,
}

/// A file; held by each answer in it that is still needed.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    bytes: AtomicU64,
}

/// Where a frame lies.
#[derive(Debug)]
struct Place {
    part: Arc<Part>,
    offset: u64,
    length: usize,
}

impl Received {
    /// Finds what an earlier run left in the folder, if it is there.
    pub(super) fn open(folder: PathBuf) -> io::Result<Self> {
        let mut state = State::default();
        let mut numbers: Vec<u64> = match std::fs::read_dir(&folder) {
            Ok(files) => {
                files.filter_map(|file| file.ok()?.file_name().to_str()?.parse().ok()).collect()
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        numbers.sort_unstable();
        for number in numbers {
            state.next = number.saturating_add(1);
            state.find(&folder.join(number.to_string()))?;
        }
        Ok(Self { folder, max_bytes: MAX_BYTES, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an answer until its lease is committed. Where that fails, as on a full disk, the crawl goes
    /// on: what cannot be kept would be asked for again.
    pub(super) fn keep(&self, entry: &Entry, answer: &Answer) {
        let Some((frame, length)) = frame(entry, answer) else { return };
        let mut state = self.state();
        if state.bytes + length as u64 > self.max_bytes {
            return;
        }
        if let Err(error) = state.write(&self.folder, key(entry), &frame, &answer.response.raw) {
            tracing::debug!("{}: {error}", self.folder.display());
            // Behind half a frame nothing could be found.
            state.close();
        }
    }

    /// What an earlier run was answered to this.
    pub(super) async fn take(&self, entry: &Entry, fetcher: &Fetcher) -> Option<Answer> {
        let place = self.state().take(key(entry))?;
        let mut found = None;
        let read = || {
            let (answer, wanted) = parse(read_at(&place).ok()?, entry)?;
            let response = answer.response.clone();
            found = Some(answer);
            Some((response, wanted))
        };
        // Without it the host is asked again.
        let response = fetcher.restore(place.length, read).await.ok()??;
        Some(Answer { response, ..found? })
    }

    /// A lease is finished: its answer is not needed beyond the next commit.
    pub(super) fn finish(&self, entry: &Entry) {
        let mut state = self.state();
        let part = state.open.remove(&key(entry));
        state.finished.extend(part);
    }

    /// What was finished is durable elsewhere.
    pub(super) fn committed(&self) {
        let mut state = self.state();
        for part in std::mem::take(&mut state.finished) {
            state.release(part);
        }
        state.close();
    }

    /// Forgets everything: the crawl has ended, or looks at all pages again.
    pub(super) fn clear(&self) {
        let mut state = self.state();
        let earlier = std::mem::take(&mut state.earlier).into_values().map(|place| place.part);
        let parts: Vec<_> = earlier.chain(std::mem::take(&mut state.open).into_values()).collect();
        for part in parts {
            state.release(part);
        }
        drop(state);
        self.committed();
        // Not, where somebody else's files are in it.
        let _ = std::fs::remove_dir(&self.folder);
    }
}

impl State {
    fn write(&mut self, folder: &Path, key: Key, frame: &[u8], body: &[u8]) -> io::Result<()> {
        let (file, part) = match &mut self.writing {
            Some(writing) => writing,
            none => {
                std::fs::create_dir_all(folder)?;
                let path = folder.join(self.next.to_string());
                self.next += 1;
                let file = File::options().create_new(true).append(true).open(&path)?;
                let part = Arc::new(Part { path, bytes: AtomicU64::new(0) });
                let writing = none.insert((file, part));
                writing.0.write_all(HEADER)?;
                writing
            }
        };
        file.write_all(frame)?;
        file.write_all(body)?;
        let length = (frame.len() + body.len()) as u64;
        part.bytes.fetch_add(length, Relaxed);
        self.bytes += length;
        if let Some(before) = self.open.insert(key, Arc::clone(part)) {
            self.release(before);
        }
        Ok(())
    }

    /// What is written next goes to another file.
    fn close(&mut self) {
        if let Some((_, part)) = self.writing.take() {
            self.release(part);
        }
    }

    /// Lets go of a file; with the last of its answers it is removed.
    fn release(&mut self, part: Arc<Part>) {
        if let Some(part) = Arc::into_inner(part) {
            self.bytes = self.bytes.saturating_sub(part.bytes.into_inner());
            if let Err(error) = std::fs::remove_file(&part.path) {
                tracing::debug!("{}: {error}", part.path.display());
            }
        }
    }

    /// The place of an answer, which is open from now on.
    fn take(&mut self, key: Key) -> Option<Place> {
        let place = self.earlier.remove(&key)?;
        if let Some(before) = self.open.insert(key, Arc::clone(&place.part)) {
            self.release(before);
        }
        Some(place)
    }

    /// Notes what answers a file holds; those behind one that was cut are lost.
    fn find(&mut self, path: &Path) -> io::Result<()> {
        let file = File::open(path)?;
        let end = file.metadata()?.len();
        self.bytes += end;
        let part = Arc::new(Part { path: path.to_owned(), bytes: AtomicU64::new(end) });
        let mut input = BufReader::new(file);
        let whole = read_exact(&mut input).is_some_and(|header: [u8; 16]| header == *HEADER);
        let mut offset = HEADER.len() as u64;
        while whole
            && let Some(numbers) = read_exact::<NUMBERS>(&mut input)
            && let Some((length, head)) = lengths(&numbers)
            && head <= MAX_HEAD
            && offset + length as u64 <= end
        {
            let mut json = vec![0; head];
            if input.read_exact(&mut json).is_err() {
                break;
            }
            if let Some(head) = Head::read(&json) {
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

fn read_exact<const N: usize>(input: &mut impl Read) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes).ok().map(|()| bytes)
}

fn read_at(place: &Place) -> io::Result<Vec<u8>> {
    let mut file = File::open(&place.part.path)?;
    file.seek(SeekFrom::Start(place.offset))?;
    let mut frame = vec![0; place.length];
    file.read_exact(&mut frame)?;
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::answer::tests::answer;
    use super::*;

    struct Bench {
        folder: tempfile::TempDir,
        fetcher: Fetcher,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            Self { folder, fetcher: Fetcher::new(hapax_fetch::Options::default()).unwrap() }
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("received")
        }

        fn open(&self) -> Received {
            Received::open(self.path()).unwrap()
        }

        fn files(&self) -> usize {
            std::fs::read_dir(self.path()).map_or(0, Iterator::count)
        }

        async fn take(&self, received: &Received, url: &str) -> Option<String> {
            let (entry, before) = answer(url, 200, "");
            let found = received.take(&entry, &self.fetcher).await?;
            assert_eq!(found.response.request, before.response.request);
            assert_eq!((found.time, found.took), (before.time, before.took));
            Some(String::from_utf8(found.response.body.to_vec()).unwrap())
        }
    }

    const A: &str = "http://a.example/";
    const B: &str = "http://b.example/";

    fn keep(received: &Received, url: &str, body: &str) {
        let (entry, answer) = answer(url, 200, body);
        received.keep(&entry, &answer);
    }

    fn finish(received: &Received, url: &str) {
        received.finish(&answer(url, 200, "").0);
    }

    #[tokio::test]
    async fn what_was_not_committed_is_there_after_a_kill_and_given_once() {
        let bench = Bench::new();
        let received = bench.open();
        for (url, body) in [(A, "one"), (B, "two"), (A, "three")] {
            keep(&received, url, body);
        }
        drop(received);
        let received = bench.open();
        assert_eq!(bench.take(&received, A).await.as_deref(), Some("three"), "the newest");
        assert_eq!(bench.take(&received, A).await, None);
        assert_eq!(bench.take(&received, "http://c.example/").await, None);
        // Killed again: it was not committed since.
        drop(received);
        let received = bench.open();
        assert_eq!(bench.take(&received, A).await.as_deref(), Some("three"));
        assert_eq!(bench.take(&received, B).await.as_deref(), Some("two"));
        for url in [A, B] {
            assert_eq!(bench.files(), 1, "{url}");
            finish(&received, url);
        }
        assert_eq!(bench.files(), 1, "finished is not committed");
        received.committed();
        assert_eq!(bench.files(), 0);
        assert_eq!(received.state().bytes, 0);
    }

    #[tokio::test]
    async fn a_commit_removes_what_is_finished_and_keeps_the_rest() {
        let bench = Bench::new();
        let received = bench.open();
        keep(&received, A, "one");
        keep(&received, B, "two");
        finish(&received, A);
        received.committed();
        keep(&received, A, "three");
        assert_eq!(bench.files(), 2);
        finish(&received, B);
        received.committed();
        assert_eq!(bench.files(), 1, "of the first file nothing is needed any more");
        drop(received);
        let received = bench.open();
        assert_eq!(bench.take(&received, A).await.as_deref(), Some("three"));
        assert_eq!(bench.take(&received, B).await, None);
    }

    #[tokio::test]
    async fn a_file_that_was_cut_or_changed_gives_what_is_whole() {
        let bench = Bench::new();
        let received = bench.open();
        keep(&received, A, "one");
        keep(&received, B, "two");
        drop(received);
        let path = bench.path().join("0");
        let whole = std::fs::read(&path).unwrap();
        let write = |bytes: &[u8]| {
            std::fs::create_dir_all(bench.path()).unwrap();
            std::fs::write(&path, bytes).unwrap();
        };
        for cut in 0..whole.len() {
            write(&whole[..cut]);
            let received = bench.open();
            assert_eq!(bench.take(&received, B).await, None, "{cut}");
            let first = bench.take(&received, A).await;
            assert!(first.is_none() || first.as_deref() == Some("one"), "{cut}");
            received.clear();
            assert_eq!(bench.files(), 0, "{cut}");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x20;
            write(&changed);
            let received = bench.open();
            let both = [bench.take(&received, A).await, bench.take(&received, B).await];
            assert!(both.iter().filter(|found| found.is_some()).count() <= 1, "{at}");
            received.clear();
        }
    }

    #[tokio::test]
    async fn there_is_an_end_to_what_is_kept_and_a_folder_that_cannot_be_written_is_no_error() {
        let bench = Bench::new();
        let received = Received { max_bytes: 2_000, ..bench.open() };
        for number in 0..100 {
            keep(&received, &format!("http://a.example/{number}"), "some text");
        }
        let kept = received.state().bytes;
        assert!((1_000..=2_000).contains(&kept), "{kept}");
        // A file where the folder should be.
        received.clear();
        std::fs::write(bench.path(), "").unwrap();
        let received = Received { folder: bench.path(), ..received };
        keep(&received, A, "one");
        assert_eq!(received.state().bytes, 0);
    }

    #[tokio::test]
    async fn a_packed_body_is_unpacked_again() {
        let bench = Bench::new();
        let (entry, mut packed) = answer(A, 200, "text that was packed");
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(b"text that was packed").unwrap();
        packed.response.raw = out.finish().unwrap().into();
        packed.response.headers.push(("content-encoding".to_owned(), b"gzip".to_vec()));
        packed.took = Duration::from_micros(4567);
        let received = bench.open();
        received.keep(&entry, &packed);
        drop(received);
        let received = bench.open();
        assert_eq!(bench.take(&received, A).await.as_deref(), Some("text that was packed"));
    }
}
