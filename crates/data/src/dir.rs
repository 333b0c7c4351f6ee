//! The data directory: its files and its lock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Context, Error, Result, unwritable};
use crate::files;

/// The contents of a data directory except its lock, in the order of removal. The settings come first: without them
/// it is not a crawl. The store comes last: files without a store look like damage.
const OWN: [&str; 21] = [
    "crawl.toml",
    "summary.json",
    "pages",
    "index",
    "frontier",
    "received",
    "texts",
    "sites",
    "discarded.jsonl",
    "discarded.index",
    "skipped.jsonl",
    "decisions.jsonl",
    "events.jsonl",
    "events.end",
    "runs.json",
    "addresses.jsonl",
    "spool",
    "upgrade",
    "worker",
    "hapax-demo",
    "dedup",
];

/// How often, and at which interval, a lock is tried.
const LOCK_TRIES: u32 = 10;
const LOCK_WAIT: Duration = Duration::from_millis(20);

/// A data directory, locked by this process.
#[derive(Debug)]
pub struct DataDir {
    root: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Opens or creates the directory and takes its lock.
    pub fn open(root: &Path) -> Result<Self> {
        if root.exists() && !root.is_dir() {
            let what = format!("--data {}: not a directory. Choose another path", root.display());
            return Err(Error::Invalid(what));
        }
        fs::create_dir_all(root).map_err(|error| unwritable(root, &error))?;
        let path = root.join("LOCK");
        let mut options = OpenOptions::new();
        files::without_links(options.create(true).truncate(false).write(true));
        let lock = options.open(&path).map_err(|error| unwritable(&path, &error))?;
        let mut tries = LOCK_TRIES;
        let locked = loop {
            match lock.try_lock() {
                // A reader of the log locks it briefly.
                Err(TryLockError::WouldBlock) if tries > 0 => {
                    tries -= 1;
                    std::thread::sleep(LOCK_WAIT);
                }
                locked => break locked,
            }
        };
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(is_held(root));
            }
            Err(TryLockError::Error(error)) => return Err(unwritable(&path, &error)),
        }
        files::remove_leftovers(root);
        Ok(Self { root: root.to_owned(), _lock: lock })
    }

    /// Makes the directory accessible to its owner only, including files that this process creates later. It may have
    /// pages that require a login.
    ///
    /// # Errors
    /// From the file system.
    pub fn protect(&self) -> Result<()> {
        files::for_owner_only();
        for name in OWN {
            let path = self.root.join(name);
            files::close_to_others(&path).map_err(|error| unwritable(&path, &error))?;
        }
        Ok(())
    }

    /// Returns whether the directory is empty except for the lock.
    pub fn is_empty(&self) -> Result<bool> {
        let mut entries = fs::read_dir(&self.root)?;
        Ok(entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == "LOCK")))
    }

    /// Removes the files of a crawl; all other files stay.
    pub fn clear(&self) -> Result<()> {
        for name in OWN {
            let path = self.root.join(name);
            let removed =
                if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            match removed {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(unwritable(&path, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Replaces a small file atomically and durably.
    pub fn replace(&self, name: &str, content: &[u8]) -> Result<()> {
        replace(&self.root, name, content)
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }
    /// The folder of the WARC files.
    pub fn pages(&self) -> PathBuf {
        self.root.join("pages")
    }
    /// The folder of the full-text index.
    pub fn index(&self) -> PathBuf {
        self.root.join("index")
    }
    /// The folder of the dedup store.
    pub fn dedup(&self) -> PathBuf {
        self.root.join("dedup")
    }
    /// The folder of the texts for comparison.
    pub fn texts(&self) -> PathBuf {
        self.root.join("texts")
    }
    /// The folder of the counts of lines that sites repeat.
    pub fn sites(&self) -> PathBuf {
        self.root.join("sites")
    }
    /// The folder of the frontier.
    pub fn frontier(&self) -> PathBuf {
        self.root.join("frontier")
    }
    /// The folder of answers that are not committed yet.
    pub fn received(&self) -> PathBuf {
        self.root.join("received")
    }
    /// The log of discarded pages.
    pub fn discarded(&self) -> PathBuf {
        self.root.join("discarded.jsonl")
    }
    /// The log of skipped URLs.
    pub fn skipped(&self) -> PathBuf {
        self.root.join("skipped.jsonl")
    }
}

/// Replaces the file `name` in `root` atomically and durably.
pub fn replace(root: &Path, name: &str, content: &[u8]) -> Result<()> {
    // The settings may have secrets: headers, and the addresses of a proxy or cluster.
    let written = files::replace(root, name, content, name == "crawl.toml");
    written.map_err(|error| unwritable(&root.join(name), &error))
}

/// Returns whether a process has locked the directory. Changes nothing.
pub fn is_locked(data: &Path) -> Result<bool> {
    let path = data.join("LOCK");
    let Ok(file) = files::open_regular(&path) else { return Ok(false) };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// The error that another process has locked the directory.
pub fn is_held(root: &Path) -> Error {
    let root = root.display();
    Error::Locked(format!(
        "another crawl is running in {root}. Wait for it, stop it, or use another --data"
    ))
}

/// Fails unless `root` is a directory.
pub fn must_exist(root: &Path) -> Result<()> {
    if root.is_dir() {
        return Ok(());
    }
    Err(Error::Invalid(format!(
        "{}: not a data directory. Run a crawl first, or give --data",
        root.display()
    )))
}

/// Fails unless one of our programs wrote a crawl there; otherwise the folder is probably a mistake.
pub fn must_hold_pages(root: &Path) -> Result<()> {
    must_exist(root)?;
    if ["crawl.toml", "dedup", "discarded.jsonl"].iter().any(|name| root.join(name).exists()) {
        return Ok(());
    }
    Err(Error::Invalid(format!("{}: contains no crawl", root.display())))
}
