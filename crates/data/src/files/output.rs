//! Files that are written under a random name, then renamed. A link with the final name is replaced, never followed.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::root::{is_of_system, without_links};

const BEGINNING: &str = ".hapax-";
const ENDING: &str = ".tmp";
/// Random letters of such a name, so that it cannot be guessed.
const LETTERS: usize = 16;
/// The mode of public files, before the umask.
const FOR_ALL: u32 = 0o666;
/// The mode of files that may have secrets.
const FOR_OWNER: u32 = 0o600;

/// An output file, which appears under its name when it is finished.
#[derive(Debug)]
pub enum NewFile {
    /// A temporary file, and its final name.
    Beside(NamedTempFile, PathBuf),
    /// A pipe or device, which cannot be replaced.
    Direct(File),
}

impl NewFile {
    /// Opens an output that a person named: a file will be replaced, a pipe or device written to.
    pub fn create(path: &Path) -> io::Result<Self> {
        if is_of_system(path) {
            return Ok(Self::Direct(OpenOptions::new().write(true).truncate(true).open(path)?));
        }
        match path.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {
                Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder"))
            }
            Ok(meta) if !meta.is_file() && !meta.is_symlink() => {
                Ok(Self::Direct(OpenOptions::new().write(true).open(path)?))
            }
            Ok(meta) if meta.is_file() => match Self::replacing(path) {
                Ok(Self::Beside(file, name)) => {
                    // Keep the permissions of the old file.
                    file.as_file().set_permissions(meta.permissions())?;
                    Ok(Self::Beside(file, name))
                }
                // The folder is not writable, but the old file may be.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    let mut options = OpenOptions::new();
                    without_links(options.write(true).truncate(true));
                    Ok(Self::Direct(options.open(path)?))
                }
                other => other,
            },
            _ => Self::replacing(path),
        }
    }

    /// Opens an output that replaces any file of this name, even a pipe.
    pub fn replacing(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let file = beside(folder.unwrap_or(Path::new(".")), FOR_ALL)?;
        Ok(Self::Beside(file, path.to_owned()))
    }

    /// Renames the file to its final name.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Beside(file, path) => file.persist(path).map(drop).map_err(|error| error.error),
            Self::Direct(mut file) => file.flush(),
        }
    }

    /// Makes the file durable; does nothing for a pipe.
    pub fn sync(&self) -> io::Result<()> {
        match self {
            Self::Beside(file, _) => file.as_file().sync_all(),
            Self::Direct(_) => Ok(()),
        }
    }

    /// Returns whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Direct(file) if file.is_terminal())
    }
}

/// Fails for a pipe.
impl Seek for NewFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Beside(file, _) => file.as_file_mut().seek(to),
            Self::Direct(file) => file.seek(to),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Beside(file, _) => file.as_file_mut().write(bytes),
            Self::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Beside(file, _) => file.as_file_mut().flush(),
            Self::Direct(file) => file.flush(),
        }
    }
}

/// Replaces the file `name` in `folder` atomically and durably. A `secret` file is only for its owner from the start.
pub fn replace(folder: &Path, name: &str, content: &[u8], secret: bool) -> io::Result<()> {
    let mut file = beside(folder, if secret { FOR_OWNER } else { FOR_ALL })?;
    file.as_file_mut().write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(folder.join(name)).map_err(|error| error.error)?;
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Removes temporary files of a killed run from a folder that this process has locked.
pub fn remove_leftovers(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(is_temporary);
        // Temporary names of earlier versions. A link of that name is removed, not followed.
        let is_old = ["crawl.toml.tmp", "summary.json.tmp", "worker.tmp", "discarded.index.tmp"]
            .iter()
            .any(|old| name == *old);
        if (is_ours || is_old) && entry.file_type().is_ok_and(|kind| !kind.is_dir()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Returns whether a file has the name of a temporary file.
pub fn is_temporary(name: &str) -> bool {
    let letters = name.strip_prefix(BEGINNING).and_then(|name| name.strip_suffix(ENDING));
    letters.is_some_and(|letters| letters.len() == LETTERS)
}

/// Returns a name of a temporary file that depends on at least 16 letters alone.
pub(super) fn temporary_name(letters: &str) -> String {
    format!("{BEGINNING}{}{ENDING}", letters.get(..LETTERS).unwrap_or(letters))
}

/// Creates a temporary file in `folder` that no other process can have opened.
fn beside(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(BEGINNING).suffix(ENDING).rand_bytes(LETTERS);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = mode;
    builder.tempfile_in(folder)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn put(path: &Path, text: &str) {
        let mut file = NewFile::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.finish().unwrap();
    }

    #[test]
    fn a_result_replaces_a_link_and_keeps_the_mode_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (victim, out) = (at("victim"), at("out"));
        std::fs::write(&victim, "victim").unwrap();
        symlink(&victim, &out).unwrap();
        put(&out, "new");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "victim");
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "new");
        std::fs::set_permissions(&out, std::fs::Permissions::from_mode(0o640)).unwrap();
        put(&out, "newer");
        let meta = out.symlink_metadata().unwrap();
        assert_eq!((meta.is_file(), meta.permissions().mode() & 0o777), (true, 0o640));
        assert!(NewFile::create(folder.path()).is_err());
        // An unfinished output leaves the old file, and no other file.
        drop(NewFile::create(&out).unwrap());
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "newer");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_with_secrets_is_its_owners_alone_before_its_first_byte() {
        let folder = tempfile::tempdir().unwrap();
        let file = beside(folder.path(), FOR_OWNER).unwrap();
        let meta = file.as_file().metadata().unwrap();
        assert_eq!((meta.len(), meta.permissions().mode() & 0o777), (0, 0o600));
        let path = folder.path().join("crawl.toml");
        std::fs::write(&path, "of before").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let mut before = File::open(&path).unwrap();
        replace(folder.path(), "crawl.toml", b"secret", true).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let mut read = String::new();
        io::Read::read_to_string(&mut before, &mut read).unwrap();
        assert_eq!(read, "of before", "who has it open sees nothing of the new one");
    }

    #[test]
    fn leftovers_of_killed_runs_are_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("victim"), "victim").unwrap();
        symlink(at("victim"), at("crawl.toml.tmp")).unwrap();
        let (_, kept) = beside(folder.path(), FOR_ALL).unwrap().keep().unwrap();
        std::fs::write(at(".hapax-own.tmp"), "").unwrap();
        remove_leftovers(folder.path());
        assert!(!kept.exists() && at("crawl.toml.tmp").symlink_metadata().is_err());
        assert!(at("victim").exists() && at(".hapax-own.tmp").exists());
    }
}
