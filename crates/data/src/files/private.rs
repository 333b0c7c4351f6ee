//! Restricts files to the owner of the data directory, for pages that require a login.

use std::io;
use std::path::Path;

/// From now on this process creates files with mode 0600 and folders with mode 0700.
pub fn for_owner_only() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

/// Removes the access of group and others to a file, or to a folder with its contents. Links are never followed, even
/// if they appear during the call.
pub fn close_to_others(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return close(rustix::fs::CWD, path);
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(())
    }
}

#[cfg(unix)]
fn close(folder: impl rustix::fd::AsFd, name: impl rustix::path::Arg + Copy) -> io::Result<()> {
    use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fchmod, fstat, openat, statat};
    use rustix::io::Errno;

    let others = Mode::RWXG | Mode::RWXO;
    let how =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let opened = match openat(&folder, name, how, Mode::empty()) {
        Ok(opened) => opened,
        // Removed meanwhile (as index files are), a link, or a socket.
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(()),
        Err(Errno::ACCESS) => {
            let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let is_closed = !Mode::from_raw_mode(stat.st_mode).intersects(others);
            return if is_closed { Ok(()) } else { Err(Errno::ACCESS.into()) };
        }
        Err(error) => return Err(error.into()),
    };
    let stat = fstat(&opened)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if !matches!(kind, FileType::RegularFile | FileType::Directory) {
        return Ok(());
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    if mode.intersects(others) {
        fchmod(&opened, mode & Mode::RWXU)?;
    }
    if kind == FileType::Directory {
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            if ![&b"."[..], b".."].contains(&entry.file_name().to_bytes()) {
                close(&opened, entry.file_name())?;
            }
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_private_folder_is_closed_recursively_without_following_symlinks() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode = |name: &str| at(name).symlink_metadata().unwrap().permissions().mode() & 0o777;
        fs::create_dir_all(at("data/inner")).unwrap();
        for name in ["data/inner/page", "data/own", "victim"] {
            fs::write(at(name), "").unwrap();
            fs::set_permissions(at(name), Permissions::from_mode(0o644)).unwrap();
        }
        fs::set_permissions(at("data/own"), Permissions::from_mode(0o0)).unwrap();
        symlink(at("victim"), at("data/link")).unwrap();
        close_to_others(&at("data")).unwrap();
        assert_eq!((mode("data"), mode("data/inner")), (0o700, 0o700));
        assert_eq!((mode("data/inner/page"), mode("data/own"), mode("victim")), (0o600, 0, 0o644));
        close_to_others(&at("data/link")).unwrap();
        close_to_others(&at("missing")).unwrap();
        assert_eq!(mode("victim"), 0o644);
    }
}
