//! Exchanges two folders, so that a reader finds one of them at any time.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Exchanges the names of two folders of one parent, durably: in one step where the file system can, otherwise in
/// three. [`end_exchange`] ends an exchange in three steps that a crash interrupted.
///
/// # Errors
/// From the file system.
pub fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    if at_once(new, old).is_err() {
        let aside = aside(old);
        fs::rename(old, &aside)?;
        fs::rename(new, old)?;
        fs::rename(&aside, new)?;
    }
    sync_parent(old)
}

/// Gives a folder its name back if a crash interrupted an exchange.
///
/// # Errors
/// From the file system.
pub fn end_exchange(old: &Path) -> io::Result<()> {
    let aside = aside(old);
    match (old.exists(), aside.exists()) {
        (false, true) => fs::rename(&aside, old).and_then(|()| sync_parent(old)),
        (true, true) => fs::remove_dir_all(&aside),
        _ => Ok(()),
    }
}

/// The name of the old folder between two steps.
fn aside(old: &Path) -> PathBuf {
    let mut name = old.file_name().unwrap_or_default().to_owned();
    name.push(".aside");
    old.with_file_name(name)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn at_once(new: &Path, old: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn at_once(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        // Windows opens no folders as files; its renames are durable.
        Some(parent) if cfg!(unix) => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_folders_exchange_their_names() {
        let root = tempfile::tempdir().unwrap();
        let [new, old] = ["new", "old"].map(|name| root.path().join(name));
        for (folder, file) in [(&new, "a"), (&old, "b")] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(file), "").unwrap();
        }
        exchange(&new, &old).unwrap();
        assert!(old.join("a").exists() && new.join("b").exists());
        end_exchange(&old).unwrap();
        assert!(old.join("a").exists() && new.join("b").exists());
    }

    #[test]
    fn an_interrupted_exchange_loses_no_folder() {
        let root = tempfile::tempdir().unwrap();
        let old = root.path().join("old");
        // After the first step.
        fs::create_dir(aside(&old)).unwrap();
        end_exchange(&old).unwrap();
        assert!(old.exists() && !aside(&old).exists());
        // After the second one.
        fs::create_dir(aside(&old)).unwrap();
        end_exchange(&old).unwrap();
        assert!(old.exists() && !aside(&old).exists());
    }
}
