//! Files that are written whole: beside their place, under a name that nobody can guess, and put there
//! in one step. A link at that place is replaced and never written through.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::root::{is_of_system, without_links};

/// How unfinished files are called: this, random letters, and `ENDING`.
const BEGINNING: &str = ".hapax-";
const ENDING: &str = ".tmp";
/// Random letters of such a name: more than anybody can guess.
const LETTERS: usize = 16;
/// The mode of files for everybody, before the mask of the process.
const FOR_ALL: u32 = 0o666;
/// The mode of files that may hold secrets.
const FOR_OWNER: u32 = 0o600;

/// A file of results; it appears under its name when it is finished.
#[derive(Debug)]
pub enum NewFile {
    /// Unfinished, and its name.
    Beside(NamedTempFile, PathBuf),
    /// A pipe or device, which cannot be replaced.
    Direct(File),
}

impl NewFile {
    /// Where a person wants a result: a file is replaced; a pipe or device is written to.
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
                    // Whoever could not read the file of before cannot read the next one.
                    file.as_file().set_permissions(meta.permissions())?;
                    Ok(Self::Beside(file, name))
                }
                // The folder takes no new file, but the old one may be written to.
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

    /// Takes the place of whatever has this name, a pipe too.
    pub fn replacing(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let file = beside(folder.unwrap_or(Path::new(".")), FOR_ALL)?;
        Ok(Self::Beside(file, path.to_owned()))
    }

    /// Puts the file under its name.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Beside(file, path) => file.persist(path).map(drop).map_err(|error| error.error),
            Self::Direct(mut file) => file.flush(),
        }
    }

    /// Makes what was written durable; a pipe has nothing to make durable.
    pub fn sync(&self) -> io::Result<()> {
        match self {
            Self::Beside(file, _) => file.as_file().sync_all(),
            Self::Direct(_) => Ok(()),
        }
    }

    /// Whether a person sees it.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Direct(file) if file.is_terminal())
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

/// Replaces the file `name` in `folder` in one step that survives a power cut. A `secret` one is its
/// owner's alone before its first byte.
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

/// Removes what a run that was killed left unfinished in a folder that this process holds.
pub fn remove_leftovers(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name
            .to_str()
            .and_then(|name| name.strip_prefix(BEGINNING)?.strip_suffix(ENDING))
            .is_some_and(|letters| letters.len() == LETTERS);
        // As the version before called them; a link of that name is removed, not followed.
        let is_old = ["crawl.toml.tmp", "summary.json.tmp", "worker.tmp", "discarded.index.tmp"]
            .iter()
            .any(|old| name == *old);
        if (is_ours || is_old) && entry.file_type().is_ok_and(|kind| !kind.is_dir()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A new file in `folder` that nobody else has opened.
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
        // One that is never finished leaves the file of before, and nothing beside it.
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
