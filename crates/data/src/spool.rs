//! The spool: each requested change is a file there, until the process that has locked the data directory applies it.
//! So changes can be requested during a crawl, and survive a crash of either process.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use crate::error::{Context, Error, Result};
use crate::files::open_regular;
use crate::purge::Purged;

/// A requested change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Request {
    /// Index the pages of these rows.
    Restore {
        /// The rows' numbers.
        ids: Vec<u64>,
    },
    /// Undo [`Restore`](Self::Restore).
    Discard {
        /// The rows' numbers.
        ids: Vec<u64>,
    },
    /// Keep the pages of these rows instead of the kept ones.
    Keep {
        /// The rows' numbers.
        ids: Vec<u64>,
    },
    /// Remove a page, or all pages of a host.
    Forget {
        /// The page or host.
        url_or_host: String,
        /// Also overwrite the records of its pages in the archive.
        #[serde(default)]
        purge: bool,
    },
    /// Undo [`Forget`](Self::Forget).
    Unforget {
        /// The page or host; without it, the last one that was forgotten.
        url_or_host: Option<String>,
    },
}

/// The answer to a request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Answer {
    /// Number of pages that were changed.
    pub done: u64,
    /// Why the other pages were not changed, one line each.
    pub not: Vec<String>,
    /// The records that were overwritten in the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purged: Option<Purged>,
}

/// The spool of a data directory.
#[derive(Clone, Debug)]
pub struct Spool(PathBuf);

/// Unread answers are removed after this time.
const KEPT_FOR: Duration = Duration::from_secs(600);
const MAX_BYTES: u64 = 64 << 20;
/// Longest wait until a crawl takes a request.
const PATIENCE: Duration = Duration::from_secs(20);

impl Spool {
    /// Returns the spool of a data directory, which need not exist.
    pub fn of(data: &Path) -> Self {
        Self(data.join("spool"))
    }

    /// Returns requests in the order of arrival. Unreadable ones are answered with an error.
    pub fn requests(&self) -> Vec<(PathBuf, Request)> {
        let Ok(entries) = std::fs::read_dir(&self.0) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let mut requests = Vec::new();
        for path in paths {
            let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
            let meta = path.symlink_metadata();
            if meta.as_ref().is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
                // A link leads elsewhere, and reading a pipe might never end.
                let removed = std::fs::remove_file(&path).is_ok();
                if removed {
                    tracing::warn!("{}: not a regular file, removed", path.display());
                }
                continue;
            }
            let old = meta.as_ref().ok().and_then(|meta| meta.modified().ok()?.elapsed().ok());
            match extension {
                // A killed command may leave a `tmp` file.
                "answer" | "tmp" if old.is_some_and(|age| age > KEPT_FOR) => {
                    let _ = std::fs::remove_file(&path);
                }
                "json" if meta.is_ok_and(|meta| meta.len() <= MAX_BYTES) => {
                    match read(&path).ok().and_then(|b| serde_json::from_slice(&b).ok()) {
                        Some(request) => requests.push((path, request)),
                        None => self.answer(
                            &path,
                            &Answer {
                                not: vec!["the request cannot be read".into()],
                                ..Answer::default()
                            },
                        ),
                    }
                }
                _ => {}
            }
        }
        requests
    }

    /// Answers a request that is applied and durable.
    pub fn answer(&self, path: &Path, answer: &Answer) {
        let name = path.with_extension("answer");
        let name = name.file_name().map(|name| name.to_string_lossy().into_owned());
        if let (Ok(bytes), Some(name)) = (serde_json::to_vec(answer), name) {
            let _ = crate::dir::replace(&self.0, &name, &bytes);
        }
        let _ = std::fs::remove_file(path);
    }

    fn put(&self, request: &Request) -> Result<PathBuf> {
        std::fs::create_dir_all(&self.0).with_context(|| self.0.display().to_string())?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let name = format!("{:020}-{}.json", now.as_nanos(), std::process::id());
        let bytes = serde_json::to_vec(request)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(Error::Invalid(
                "too many pages at once: name fewer, by --host or --since say".to_owned(),
            ));
        }
        crate::dir::replace(&self.0, &name, &bytes)?;
        Ok(self.0.join(name))
    }
}

/// Reads a file of the spool. Refuses links, pipes and files larger than a request can be.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Has a request applied by the running crawl, or by `alone` if none is running.
///
/// # Errors
/// From `alone`, and from files.
pub fn submit<E: From<Error>>(
    data: &Path,
    request: &Request,
    alone: impl Fn() -> std::result::Result<bool, E>,
) -> std::result::Result<Answer, E> {
    let spool = Spool::of(data);
    let path = spool.put(request)?;
    let answered = path.with_extension("answer");
    let until = Instant::now() + PATIENCE;
    loop {
        if let Ok(bytes) = read(&answered) {
            let _ = std::fs::remove_file(&answered);
            let answer = serde_json::from_slice(&bytes);
            return answer
                .map_err(|_| Error::Damaged("the answer cannot be read".to_owned()).into());
        }
        // `false`: another process has locked the directory, and will read the spool.
        let done = alone().inspect_err(|_| {
            // No process may apply it later.
            let _ = std::fs::remove_file(&path);
        })?;
        if done {
            if !answered.exists() {
                let folder = spool.0.display();
                return Err(Error::Write(format!(
                    "{folder}: cannot write the answer of the change"
                ))
                .into());
            }
        } else {
            if Instant::now() > until {
                return Err(Error::Invalid(format!(
                    "the crawl running in {} has not applied the change yet. The change is queued in spool/ \
                     and will be applied",
                    data.display()
                )).into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_in_order_and_what_cannot_be_read_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::of(folder.path());
        assert!(spool.requests().is_empty());
        let first = Request::Restore { ids: vec![1] };
        let second = Request::Forget { url_or_host: "a.example".into(), purge: false };
        spool.put(&first).unwrap();
        spool.put(&second).unwrap();
        std::fs::write(folder.path().join("spool/0.json"), "noise").unwrap();
        let found = spool.requests();
        assert_eq!(found.iter().map(|(_, r)| r.clone()).collect::<Vec<_>>(), [first, second]);
        assert!(folder.path().join("spool/0.answer").exists());
        for (path, _) in &found {
            spool.answer(path, &Answer::default());
        }
        assert!(spool.requests().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_in_the_spool_are_removed_and_never_read() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::of(folder.path());
        let request = Request::Restore { ids: vec![1] };
        let path = spool.put(&request).unwrap();
        let outside = folder.path().join("outside.json");
        std::fs::rename(&path, &outside).unwrap();
        let at = |name: &str| folder.path().join("spool").join(name);
        std::os::unix::fs::symlink(&outside, at("1.json")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("2.json"), rustix::fs::Mode::RWXU).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("2.answer"), rustix::fs::Mode::RWXU).unwrap();
        assert_eq!(spool.requests(), []);
        assert_eq!(std::fs::read_dir(at("")).unwrap().count(), 0);
        assert!(outside.exists());
    }

    #[test]
    fn a_spool_request_whose_answer_cannot_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let request = Request::Restore { ids: vec![1] };
        let error =
            submit(folder.path(), &request, || Ok::<_, Error>(true)).unwrap_err().to_string();
        assert!(error.contains("cannot write the answer"), "{error}");
        let large = Request::Restore { ids: vec![u64::MAX; 4 << 20] };
        assert!(submit(folder.path(), &large, || Ok::<_, Error>(true)).is_err());
        assert_eq!(Spool::of(folder.path()).requests().len(), 1, "the first one alone");
    }
}
