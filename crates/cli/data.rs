//! The data directory: its files, its lock, its settings.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::exit::{DAMAGED, LOCKED, USAGE, WRITE, coded};
use crate::files;
use crate::settings::Settings;

/// The version of the data directory's layout.
const VERSION: u32 = 2;

/// What a data directory holds but for its lock. The settings come first: without them it is no
/// crawl's any more. The store comes last: what is there without it is taken for damage.
const OWN: [&str; 16] = [
    "crawl.toml",
    "summary.json",
    "pages",
    "index",
    "frontier",
    "received",
    "discarded.jsonl",
    "discarded.index",
    "skipped.jsonl",
    "decisions.jsonl",
    "addresses.jsonl",
    "spool",
    "upgrade",
    "worker",
    "hapax-demo",
    "dedup",
];

/// So often, and so long in between, a lock is tried that another process holds.
const LOCK_TRIES: u32 = 10;
const LOCK_WAIT: Duration = Duration::from_millis(20);

/// `crawl.toml`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Saved {
    version: u32,
    /// The seeds, normalised.
    #[serde(default)]
    pub(crate) seeds: Vec<String>,
    #[serde(default)]
    pub(crate) settings: Settings,
}

/// A data directory, held by this process.
#[derive(Debug)]
pub(crate) struct DataDir {
    root: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Opens or creates the directory and takes its lock.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        if root.exists() && !root.is_dir() {
            let what = format!("--data {} is no directory", root.display());
            return Err(coded(USAGE, what));
        }
        fs::create_dir_all(root).map_err(|error| unwritable(root, &error))?;
        let path = root.join("LOCK");
        let mut options = OpenOptions::new();
        files::without_links(options.create(true).truncate(false).write(true));
        let lock = options.open(&path).map_err(|error| unwritable(&path, &error))?;
        let mut tries = LOCK_TRIES;
        let locked = loop {
            match lock.try_lock() {
                // Who reads the log holds it for a moment.
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
        let data = Self { root: root.to_owned(), _lock: lock };
        if let Ok(Some(saved)) = data.saved() {
            data.protect(&saved.settings)?;
        }
        Ok(data)
    }

    /// Keeps pages for the owner alone that hosts show only to somebody they know: what is there, and
    /// what this process creates from now on.
    pub(crate) fn protect(&self, settings: &Settings) -> Result<()> {
        if settings.is_personal() {
            files::for_owner_only();
            for name in OWN {
                let path = self.root.join(name);
                files::close_to_others(&path).map_err(|error| unwritable(&path, &error))?;
            }
        }
        Ok(())
    }

    /// Whether there is nothing in it but the lock.
    pub(crate) fn is_empty(&self) -> Result<bool> {
        let mut entries = fs::read_dir(&self.root)?;
        Ok(entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == "LOCK")))
    }

    /// Removes what a crawl writes; whatever else lies there stays.
    pub(crate) fn clear(&self) -> Result<()> {
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

    /// The settings of the last run, if there was one.
    pub(crate) fn saved(&self) -> Result<Option<Saved>> {
        saved(&self.root)
    }

    /// Writes the settings, whole or not at all.
    pub(crate) fn save(&self, seeds: Vec<String>, settings: &Settings) -> Result<()> {
        let saved = Saved { version: VERSION, seeds, settings: settings.clone() };
        let own = toml::to_string(&saved).context("crawl.toml")?;
        let text = format!(
            "# The settings of the last run here; flags given to the next one win.\n{own}\n\
             # Beside them these held, the defaults:\n{}",
            defaults_beside(&own)
        );
        self.replace("crawl.toml", text.as_bytes())
    }

    /// As if nothing had been set yet.
    pub(crate) fn forget_settings(&self) -> Result<()> {
        let path = self.root.join("crawl.toml");
        fs::remove_file(&path).map_err(|error| unwritable(&path, &error))
    }

    /// Replaces a small file in one step that survives a power cut.
    pub(crate) fn replace(&self, name: &str, content: &[u8]) -> Result<()> {
        replace(&self.root, name, content)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
    pub(crate) fn pages(&self) -> PathBuf {
        self.root.join("pages")
    }
    pub(crate) fn index(&self) -> PathBuf {
        self.root.join("index")
    }
    pub(crate) fn dedup(&self) -> PathBuf {
        self.root.join("dedup")
    }
    pub(crate) fn frontier(&self) -> PathBuf {
        self.root.join("frontier")
    }
    /// Answers that wait for their commit.
    pub(crate) fn received(&self) -> PathBuf {
        self.root.join("received")
    }
    pub(crate) fn discarded(&self) -> PathBuf {
        self.root.join("discarded.jsonl")
    }
    pub(crate) fn skipped(&self) -> PathBuf {
        self.root.join("skipped.jsonl")
    }
}

/// What is said of a data directory of a crawl whose crawl.toml is lost.
pub(crate) fn without_settings(data: &Path) -> Option<anyhow::Error> {
    let part = ["frontier", "pages", "index"].into_iter().find(|part| data.join(part).exists())?;
    let what = format!("crawl.toml is missing, and {part}/ is there: name seeds and flags again");
    Some(coded(DAMAGED, what))
}

/// The defaults of all settings that a text does not set, as comments.
fn defaults_beside(own: &str) -> String {
    let is_set = |name: &str| {
        // This very file lies there.
        name == "data"
            || own
                .lines()
                .any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(" =")))
    };
    include_str!("../../config/default.toml")
        .lines()
        .filter_map(|line| line.strip_prefix("#: "))
        // Whose default is nothing.
        .filter(|line| !line.contains("# an example"))
        .filter(|line| line.split_once(" =").is_some_and(|(name, _)| !is_set(name)))
        .map(|line| format!("# {line}\n"))
        .collect()
}

/// Replaces the file `name` in `root` in one step that survives a power cut.
pub(crate) fn replace(root: &Path, name: &str, content: &[u8]) -> Result<()> {
    // Headers, a proxy's and a cluster's address may hold secrets.
    let written = files::replace(root, name, content, name == "crawl.toml");
    written.map_err(|error| unwritable(&root.join(name), &error))
}

/// The settings in `root`, read without its lock.
pub(crate) fn saved(root: &Path) -> Result<Option<Saved>> {
    let path = root.join("crawl.toml");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(&path, &error)),
    };
    let saved: Saved = toml::from_str(&text)
        .map_err(|error| coded(DAMAGED, format!("{}: {}", path.display(), error.message())))?;
    if saved.version != VERSION {
        return Err(coded(
            DAMAGED,
            format!(
                "{} is of version {}, this program reads version {VERSION}: \
                 use the program that wrote it, or another --data",
                root.display(),
                saved.version
            ),
        ));
    }
    Ok(Some(saved))
}

/// Whether a process holds the directory; without a trace.
pub(crate) fn is_locked(data: &Path) -> Result<bool> {
    let path = data.join("LOCK");
    let Ok(file) = files::open_regular(&path) else { return Ok(false) };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// Another process holds the directory.
pub(crate) fn is_held(root: &Path) -> anyhow::Error {
    let root = root.display();
    coded(
        LOCKED,
        format!("another crawl is at work in {root}: wait for it, stop it, or use another --data"),
    )
}

/// Fails unless `root` is a data directory.
pub(crate) fn must_exist(root: &Path) -> Result<()> {
    if root.is_dir() {
        return Ok(());
    }
    Err(coded(
        USAGE,
        format!("{} is no data directory: crawl something first, or give --data", root.display()),
    ))
}

/// A folder that no crawl, `dedup` or other program of ours wrote is one by mistake.
pub(crate) fn must_hold_pages(root: &Path) -> Result<()> {
    must_exist(root)?;
    if ["crawl.toml", "dedup", "discarded.jsonl"].iter().any(|name| root.join(name).exists()) {
        return Ok(());
    }
    Err(coded(USAGE, format!("{} holds no crawl", root.display())))
}

/// No damage, where it is another user's.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let code = if error.kind() == ErrorKind::PermissionDenied { USAGE } else { DAMAGED };
    coded(code, format!("cannot read {}: {error}", path.display()))
}

pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    coded(WRITE, format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::code_of;

    #[test]
    fn a_reader_finds_what_was_set_and_the_defaults_of_all_else() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let settings = Settings { delay: Some("3s".to_owned()), ..Settings::default() };
        data.save(vec!["http://a.example/".to_owned()], &settings).unwrap();
        let text = fs::read_to_string(folder.path().join("crawl.toml")).unwrap();
        let of = |name: &str| -> Vec<&str> {
            text.lines().filter(|line| line.trim_start_matches("# ").starts_with(name)).collect()
        };
        assert_eq!(of("delay = "), ["delay = \"3s\""]);
        assert_eq!(of("scope = "), ["# scope = \"host\""]);
        assert!(of("max-pages = ").is_empty(), "it has none");
        assert_eq!(data.saved().unwrap().unwrap().settings.delay, settings.delay);
        let file = folder.path().join("crawl.toml");
        assert_eq!(code_of(&DataDir::open(&file).unwrap_err()), USAGE);
    }

    #[test]
    fn what_is_not_ours_to_read_is_no_damage() {
        let error = |kind: ErrorKind| unreadable(Path::new("crawl.toml"), &kind.into());
        assert_eq!(code_of(&error(ErrorKind::PermissionDenied)), USAGE);
        assert_eq!(code_of(&error(ErrorKind::InvalidData)), DAMAGED);
    }
}
