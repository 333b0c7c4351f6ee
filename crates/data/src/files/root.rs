//! Regular files below a folder, opened without following any link.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// A folder below which input may name files.
#[derive(Debug)]
pub struct Root {
    /// The path as given, absolute.
    given: PathBuf,
    /// The folder itself: a link to it was followed once, on opening.
    real: PathBuf,
    #[cfg(unix)]
    folder: rustix::fd::OwnedFd,
}

impl Root {
    /// Opens a folder that a person named; it may be a link.
    pub fn open(path: &Path) -> io::Result<Self> {
        // The parent of a file name without a folder.
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let real = path.canonicalize()?;
        if !real.is_dir() {
            return Err(io::Error::new(ErrorKind::NotADirectory, "not a folder"));
        }
        let given = std::path::absolute(path)?;
        #[cfg(unix)]
        let folder = below::folder(&real)?;
        Ok(Self {
            given,
            real,
            #[cfg(unix)]
            folder,
        })
    }

    /// Opens a regular file below the folder. A relative path begins there, an absolute one must be below it. Links,
    /// pipes, devices and `..` are refused. Never blocks.
    pub fn file(&self, path: &Path) -> io::Result<File> {
        let relative = self.relative(path).ok_or_else(|| {
            let root = self.given.display();
            refused(format!(
                "outside {root}: \"path\" must be below this folder. Choose another folder by --root DIR"
            ))
        })?;
        let mut names = Vec::new();
        for component in relative.components() {
            match component {
                Component::Normal(name) => names.push(name),
                Component::CurDir => {}
                _ => return Err(refused("\"path\" contains \"..\". Write it without \"..\"")),
            }
        }
        let Some((name, folders)) = names.split_last() else {
            return Err(refused("not a regular file"));
        };
        #[cfg(unix)]
        return below::file(&self.folder, folders, name);
        #[cfg(not(unix))]
        return walked(&self.real, folders, name);
    }

    /// Returns the path relative to the folder; `None` if it is elsewhere.
    fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        if !path.has_root() {
            return Some(path);
        }
        // Behind a link `..` may lead anywhere.
        if path.components().any(|component| component == Component::ParentDir) {
            return None;
        }
        let below = |root: &Path| path.strip_prefix(root).ok();
        below(&self.given).or_else(|| below(&self.real)).or_else(|| {
            // The same folder by another path, through a link above it.
            let root = path.ancestors().find(|folder| self.is_same(folder))?;
            path.strip_prefix(root).ok()
        })
    }

    #[cfg(unix)]
    fn is_same(&self, folder: &Path) -> bool {
        below::is_same(&self.folder, folder)
    }

    #[cfg(not(unix))]
    fn is_same(&self, folder: &Path) -> bool {
        folder.canonicalize().is_ok_and(|folder| folder == self.real)
    }
}

/// Returns whether a path is a device or a file of a process. Such a file is written to and never replaced, and its
/// folder has no inputs. A file in `/dev/shm` is an ordinary file.
pub fn is_of_system(path: &Path) -> bool {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    if folder.starts_with("/proc") {
        return true;
    }
    if !folder.starts_with("/dev") {
        return false;
    }
    let streams = ["stdin", "stdout", "stderr"];
    (folder == Path::new("/dev") && streams.iter().any(|stream| name == *stream))
        || is_device(&folder.join(name))
}

#[cfg(unix)]
fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = path.symlink_metadata().map(|meta| meta.file_type());
    kind.is_ok_and(|kind| kind.is_char_device() || kind.is_block_device())
}

#[cfg(not(unix))]
const fn is_device(_: &Path) -> bool {
    false
}

/// Opens a regular file in a folder where others may write: follows no link and never waits for a pipe.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if !path.symlink_metadata()?.is_file() {
        return Err(refused("not a regular file"));
    }
    let mut options = OpenOptions::new();
    options.read(true);
    without_links(&mut options);
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused("not a regular file")) }
}

/// Opens a file of the data directory for reading. It may be a link; a pipe or folder is an error instead of a wait.
pub fn open_stored(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused("not a regular file")) }
}

/// Refuses a link as the last part of a path, and never waits for a pipe.
pub fn without_links(options: &mut OpenOptions) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    let _ = options;
}

fn refused(what: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, what.into())
}

#[cfg(unix)]
mod below {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io;
    use std::path::Path;

    use rustix::fd::{AsFd, OwnedFd};
    use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, open, openat, stat, statat};

    use super::refused;

    /// Flags for a folder on the path, which need not be readable.
    const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(SEARCH);
    #[cfg(target_os = "linux")]
    const SEARCH: OFlags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    const SEARCH: OFlags = OFlags::RDONLY;
    /// Flags for the file: no link, no wait for the other end of a pipe.
    const FILE: OFlags = OFlags::RDONLY
        .union(OFlags::CLOEXEC)
        .union(OFlags::NOFOLLOW)
        .union(OFlags::NONBLOCK)
        .union(OFlags::NOCTTY);

    pub(super) fn folder(path: &Path) -> io::Result<OwnedFd> {
        Ok(open(path, FOLDER, Mode::empty())?)
    }

    pub(super) fn is_same(root: &OwnedFd, folder: &Path) -> bool {
        let of = |stat: Stat| (stat.st_dev, stat.st_ino);
        stat(folder).is_ok_and(|there| fstat(root).is_ok_and(|root| of(root) == of(there)))
    }

    pub(super) fn file(root: &OwnedFd, folders: &[&OsStr], name: &OsStr) -> io::Result<File> {
        let mut inner: Option<OwnedFd> = None;
        for name in folders {
            let at = inner.as_ref().unwrap_or(root);
            match kind(at, name)? {
                FileType::Symlink => return Err(is_link(name)),
                FileType::Directory => {}
                _ => return Err(refused(format!("{} is not a folder", Path::new(name).display()))),
            }
            inner = Some(openat(at, *name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?);
        }
        let at = inner.as_ref().unwrap_or(root);
        match kind(at, name)? {
            FileType::RegularFile => {}
            FileType::Symlink => return Err(is_link(name)),
            // To open a pipe or device may already have side effects.
            _ => return Err(refused("not a regular file")),
        }
        let file = openat(at, name, FILE, Mode::empty())?;
        // The file may have been replaced in between.
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile
            || is_of_processes(&file)
        {
            return Err(refused("not a regular file"));
        }
        Ok(File::from(file))
    }

    fn kind(at: &OwnedFd, name: &OsStr) -> io::Result<FileType> {
        let stat = statat(at.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(stat.st_mode))
    }

    fn is_link(name: &OsStr) -> io::Error {
        let name = Path::new(name).display();
        refused(format!("{name}: is a symbolic link. Replace it by the file"))
    }

    /// Files in /proc have secrets of processes, but report themselves as regular.
    #[cfg(target_os = "linux")]
    fn is_of_processes(file: &OwnedFd) -> bool {
        rustix::fs::fstatfs(file).is_ok_and(|fs| fs.f_type == rustix::fs::PROC_SUPER_MAGIC)
    }

    #[cfg(not(target_os = "linux"))]
    fn is_of_processes(_: &OwnedFd) -> bool {
        false
    }
}

#[cfg(not(unix))]
fn walked(root: &Path, folders: &[&std::ffi::OsStr], name: &std::ffi::OsStr) -> io::Result<File> {
    let mut path = root.to_owned();
    for name in folders.iter().chain([&name]) {
        path.push(name);
        if path.symlink_metadata()?.is_symlink() {
            return Err(refused("is a symbolic link. Give the file itself"));
        }
    }
    open_regular(&path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    fn read(root: &Root, path: &str) -> Result<String, String> {
        let mut text = String::new();
        let mut file = root.file(Path::new(path)).map_err(|error| error.to_string())?;
        file.read_to_string(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }

    #[test]
    fn a_root_gives_out_regular_files_below_it_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let inside = base.join("real");
        std::fs::create_dir_all(inside.join("sub")).unwrap();
        std::fs::write(inside.join("sub/a.html"), "a").unwrap();
        std::fs::write(base.join("secret"), "secret").unwrap();
        symlink(&inside, base.join("link")).unwrap();
        symlink(base.join("secret"), inside.join("out")).unwrap();
        symlink("sub/a.html", inside.join("in")).unwrap();
        symlink("sub", inside.join("subs")).unwrap();
        symlink(&base, inside.join("up")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, inside.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(inside.join("socket")).unwrap();
        let root = Root::open(&base.join("link")).unwrap();
        let absolute = |path: &str| base.join(path).display().to_string();
        for path in ["sub/a.html", "./sub/./a.html", "sub//a.html"] {
            assert_eq!(read(&root, path).as_deref(), Ok("a"), "{path}");
        }
        for path in ["link/sub/a.html", "real/sub/a.html"] {
            assert_eq!(read(&root, &absolute(path)).as_deref(), Ok("a"), "{path}");
        }
        for (path, why) in [
            ("sub/../sub/a.html", ".."),
            ("../secret", ".."),
            (&*absolute("secret"), "--root DIR"),
            (&*absolute("real/../secret"), "--root DIR"),
            ("/proc/self/environ", "--root DIR"),
            ("/etc/passwd", "--root DIR"),
            ("out", "symbolic link"),
            ("in", "symbolic link"),
            ("subs/a.html", "symbolic link"),
            ("up/secret", "symbolic link"),
            ("pipe", "not a regular file"),
            ("socket", "not a regular file"),
            ("sub", "not a regular file"),
            ("", "not a regular file"),
            (".", "not a regular file"),
            (&*absolute("real"), "not a regular file"),
            ("sub/a.html/x", "not a folder"),
            ("sub/b.html", "No such file"),
            ("sub/a\0b", ""),
        ] {
            let error = read(&root, path).unwrap_err();
            assert!(error.contains(why), "{path}: {error}");
        }
        assert!(Root::open(&inside.join("sub/a.html")).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_files_of_processes_are_refused_even_below_the_root_of_all() {
        let root = Root::open(Path::new("/")).unwrap();
        let error = root.file(Path::new("/proc/self/environ")).unwrap_err().to_string();
        // `self` is a link, so it is refused as one.
        assert!(error.contains("link"), "{error}");
        let own = format!("/proc/{}/environ", std::process::id());
        let error = root.file(Path::new(&own)).unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }
}
