//! The list of the files that an export wrote, so that the next export removes those that it does not write again.
//!
//! A new list grows while files are written: a line comes before its file. At the end it replaces the old one. After a
//! crash the next export reads both.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};

use super::names::folded;
use crate::error::{Error, Result, unreadable, unwritable};
use crate::files::{is_temporary, open_regular, without_links};

/// File names of the list.
pub(super) const NAME: &str = "hapax-export.jsonl";
pub(super) const NEW_NAME: &str = "hapax-export.new.jsonl";
/// First line of the list.
const HEAD: &str = "{\"hapax\":\"markdown export\",\"version\":1}";
/// Maximum length of a line in bytes. A path has a few hundred.
const MAX_LINE: usize = 64 << 10;

/// A line of the list.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) path: String,
    /// URL of the page; missing for an index page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
}

/// The files of earlier exports, and the list of this one.
#[derive(Debug)]
pub(super) struct Manifest {
    folder: PathBuf,
    /// Hashes of the paths of earlier exports.
    earlier: HashSet<u64, FixedState>,
    written: HashSet<u64, FixedState>,
    new: File,
}

impl Manifest {
    /// Reads the lists in a folder and begins a new one.
    ///
    /// # Errors
    /// If a list is not one of an export, cannot be read, or the new one cannot be written.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let mut earlier = HashSet::default();
        let mut last = None;
        for name in [NAME, NEW_NAME] {
            each_line(&folder.join(name), |line| {
                earlier.insert(folded(&line.path));
                last = (name == NEW_NAME).then_some(line);
                Ok(())
            })?;
        }
        // An export that was killed leaves its last file under another name.
        if let Some(Line { path, .. }) = last {
            let relative = Path::new(&path);
            if relative.components().all(|part| matches!(part, Component::Normal(_)))
                && folders_are_real(folder, relative)
            {
                remove_unfinished(folder.join(relative).parent().unwrap_or(folder));
            }
        }
        let path = folder.join(NEW_NAME);
        let failed = |error: &std::io::Error| unwritable(&path, error);
        let mut options = OpenOptions::new();
        // The lines of an export that was interrupted stay.
        without_links(options.create(true).append(true));
        let mut new = options.open(&path).map_err(|error| failed(&error))?;
        let length = new.metadata().map_err(|error| failed(&error))?.len();
        if length == 0 {
            writeln!(new, "{HEAD}").map_err(|error| failed(&error))?;
        } else {
            // It may end in the middle of a line.
            writeln!(new).map_err(|error| failed(&error))?;
        }
        Ok(Self { folder: folder.to_owned(), earlier, written: HashSet::default(), new })
    }

    /// Returns whether an export wrote to a folder.
    pub(super) fn is_in(folder: &Path) -> bool {
        [NAME, NEW_NAME].iter().any(|name| folder.join(name).exists())
    }

    /// Returns whether an earlier export wrote this file.
    pub(super) fn has(&self, path: &str) -> bool {
        self.earlier.contains(&folded(path))
    }

    /// Adds a file before it is written.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub(super) fn add(&mut self, line: &Line) -> Result<()> {
        self.written.insert(folded(&line.path));
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        let path = self.folder.join(NEW_NAME);
        self.new.write_all(text.as_bytes()).map_err(|error| unwritable(&path, &error))
    }

    /// Removes the files of earlier exports that this one did not write, and the folders that became empty. Then the
    /// new list replaces the old one. Returns the number of removed files.
    ///
    /// # Errors
    /// If a file cannot be removed, or a list not read or written.
    pub(super) fn finish(self) -> Result<u64> {
        let Self { folder, written, new, .. } = self;
        let mut removed = 0;
        for name in [NAME, NEW_NAME] {
            each_line(&folder.join(name), |line| {
                if !written.contains(&folded(&line.path)) && remove(&folder, &line.path)? {
                    removed += 1;
                }
                Ok(())
            })?;
        }
        let (path, old) = (folder.join(NEW_NAME), folder.join(NAME));
        let failed = |error: &std::io::Error| unwritable(&old, error);
        new.sync_all().map_err(|error| failed(&error))?;
        drop(new);
        std::fs::rename(&path, &old).map_err(|error| failed(&error))?;
        Ok(removed)
    }
}

/// Calls `each` with every line of a list. Lines that a crash cut are omitted, and a missing file has no line.
fn each_line(path: &Path, mut each: impl FnMut(Line) -> Result<()>) -> Result<()> {
    let file = match open_regular(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        file => file.map_err(|error| unreadable(path, &error))?,
    };
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let mut first = true;
    loop {
        line.clear();
        let mut limited = std::io::Read::take(&mut reader, MAX_LINE as u64);
        let read = limited.read_until(b'\n', &mut line);
        if read.map_err(|error| unreadable(path, &error))? == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&line);
        if std::mem::take(&mut first) {
            if text.trim() != HEAD {
                let what = format!(
                    "{}: not a list of exported files. Export into an empty folder",
                    path.display()
                );
                return Err(Error::Invalid(what));
            }
        } else if let Ok(line) = serde_json::from_str::<Line>(&text) {
            each(line)?;
        }
    }
}

/// Removes a file below the folder, and the folders above it that are empty then. A path that leaves the folder, or goes
/// through a link, names no file of an export.
fn remove(folder: &Path, path: &str) -> Result<bool> {
    let relative = Path::new(path);
    let inside = relative.components().all(|part| matches!(part, Component::Normal(_)));
    let is_page = path.ends_with(".md");
    if !inside || !is_page || !is_real(folder, relative) {
        return Ok(false);
    }
    let file = folder.join(relative);
    match std::fs::remove_file(&file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        removed => removed.map_err(|error| unwritable(&file, &error))?,
    }
    let mut above = relative.parent();
    while let Some(parent) = above.filter(|parent| *parent != Path::new(""))
        && std::fs::remove_dir(folder.join(parent)).is_ok()
    {
        above = parent.parent();
    }
    Ok(true)
}

/// Removes temporary files from a folder that this process has locked.
fn remove_unfinished(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_temporary)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Returns whether all folders on a path are folders and no links, and its end no folder.
fn is_real(folder: &Path, relative: &Path) -> bool {
    let meta = folder.join(relative).symlink_metadata();
    folders_are_real(folder, relative) && meta.is_ok_and(|meta| !meta.is_dir())
}

fn folders_are_real(folder: &Path, relative: &Path) -> bool {
    let mut above = relative.parent();
    while let Some(parent) = above.filter(|parent| *parent != Path::new("")) {
        if !folder.join(parent).symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return false;
        }
        above = parent.parent();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_removes_no_file_that_an_export_did_not_write() {
        let root = tempfile::tempdir().unwrap();
        let (folder, victim) = (root.path().join("notes"), root.path().join("victim.md"));
        std::fs::create_dir_all(folder.join("a.example/b")).unwrap();
        for file in [&victim, &folder.join("own.md"), &folder.join("a.example/b/old.md")] {
            std::fs::write(file, "text").unwrap();
        }
        std::fs::write(folder.join("own.txt"), "text").unwrap();
        let mut list = format!("{HEAD}\n");
        let absolute = victim.display().to_string();
        for path in [
            "../victim.md",
            "a.example/../../victim.md",
            &absolute,
            "own.txt",
            "a.example/b/old.md",
        ] {
            list.push_str(
                &serde_json::to_string(&Line { path: path.to_owned(), url: None }).unwrap(),
            );
            list.push('\n');
        }
        std::fs::write(folder.join(NAME), list).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.path(), folder.join("link")).unwrap();
        let mut manifest = Manifest::open(&folder).unwrap();
        assert!(manifest.has("a.example/b/OLD.md") && !manifest.has("own.md"));
        // A line of an export that was interrupted, through a link.
        manifest.add(&Line { path: "link/victim.md".to_owned(), url: None }).unwrap();
        drop(manifest);
        let mut manifest = Manifest::open(&folder).unwrap();
        manifest.add(&Line { path: "new.md".to_owned(), url: None }).unwrap();
        assert_eq!(manifest.finish().unwrap(), 1);
        assert!(
            victim.exists() && folder.join("own.md").exists() && folder.join("own.txt").exists()
        );
        assert!(!folder.join("a.example").exists() && !folder.join(NEW_NAME).exists());
        assert!(std::fs::read_to_string(folder.join(NAME)).unwrap().contains("new.md"));
    }

    #[test]
    fn the_file_at_which_an_export_was_killed_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let host = folder.path().join("a.example");
        std::fs::create_dir(&host).unwrap();
        let mut manifest = Manifest::open(folder.path()).unwrap();
        manifest.add(&Line { path: "a.example/x.md".to_owned(), url: None }).unwrap();
        drop(manifest);
        let names = [".hapax-ABCDEFGHIJKLMNOP.tmp", ".hapax-own.tmp", "notes.tmp"];
        names.iter().for_each(|name| std::fs::write(host.join(name), "half").unwrap());
        Manifest::open(folder.path()).unwrap();
        assert_eq!(names.map(|name| host.join(name).exists()), [false, true, true]);
        assert!(Manifest::is_in(folder.path()) && !Manifest::is_in(&host));
    }

    #[test]
    fn another_file_of_that_name_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(NAME), "mine\n").unwrap();
        let error = Manifest::open(folder.path()).unwrap_err();
        assert!(error.to_string().contains("empty folder"), "{error}");
    }
}
