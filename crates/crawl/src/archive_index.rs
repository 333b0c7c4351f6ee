//! Writes the CDXJ files beside finished WARC files. A thread does the work: the commit thread only starts it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use hapax_data::write_cdxj;

/// The index of an archive that a crawl is writing.
#[derive(Debug)]
pub(crate) struct ArchiveIndex {
    folder: PathBuf,
    /// The first file without an index, as far as this run knows.
    next: u32,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ArchiveIndex {
    pub(crate) fn of(folder: PathBuf) -> Self {
        Self { folder, next: 1, stop: Arc::default(), thread: None }
    }

    /// Indexes the files before `last`, the committed one that is being written, unless the thread is still busy: a later
    /// commit starts it again.
    pub(crate) fn committed(&mut self, last: u32) {
        let is_busy = self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        if last <= self.next || is_busy {
            return;
        }
        let (folder, stop) = (self.folder.clone(), Arc::clone(&self.stop));
        let work = move || {
            let stopped = || stop.load(Ordering::Relaxed);
            if let Err(error) = write_cdxj(&folder, last, stopped) {
                // The archive itself is complete, and the next run tries again.
                tracing::warn!("the index of a WARC file was not written: {error}");
            }
        };
        // Without a thread, a later commit tries again.
        self.thread = std::thread::Builder::new().name("archive-index".into()).spawn(work).ok();
        if self.thread.is_some() {
            self.next = last;
        }
    }
}

/// Ends the thread at its next record. The next run writes what is missing.
impl Drop for ArchiveIndex {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, SystemTime};

    use hapax_warc::{RecordKind, WarcOptions, Writer};

    use super::*;

    #[test]
    fn each_finished_file_of_a_crawl_gets_an_index_and_the_last_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |number: u32| folder.path().join(format!("pages-{number:05}.warc.gz.cdxj"));
        let options = WarcOptions { max_file_bytes: 900, ..WarcOptions::default() };
        let mut writer = Writer::open(folder.path(), 1, 0, options).unwrap();
        let mut index = ArchiveIndex::of(folder.path().to_owned());
        let mut last = 1;
        for page in 0..12 {
            let url = format!("http://a.example/{page}").parse().unwrap();
            let response = crate::import::of_resource(&url, "text/html", "body");
            writer
                .append(&RecordKind::Response, &response, SystemTime::now(), &page.to_string(), &[])
                .unwrap();
            last = writer.sync().unwrap().0;
            index.committed(last);
        }
        assert!(last > 3, "{last} files");
        let began = Instant::now();
        while !(1..last).all(|number| path(number).exists()) {
            assert!(began.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(5));
            // A file may have been finished while the thread was busy.
            index.committed(last);
        }
        drop(index);
        assert!(!path(last).exists());
        let lines =
            (1..last).map(|number| std::fs::read_to_string(path(number)).unwrap().lines().count());
        assert!(lines.sum::<usize>() >= 9);
    }
}
