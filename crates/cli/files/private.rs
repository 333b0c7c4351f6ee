//! Pages that a host shows to somebody it knows are for the owner of the data directory alone.

use std::io;
use std::path::Path;

/// From now on this process creates files of mode 0600 and folders of mode 0700.
pub(crate) fn for_owner_only() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

/// Takes a file, or a folder with all that it holds, from group and others. Links stay as they are.
pub(crate) fn close_to_others(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        /// What the owner may do.
        const OWNER: u32 = 0o700;
        let meta = match path.symlink_metadata() {
            Ok(meta) if meta.is_file() || meta.is_dir() => meta,
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            // Gone, as files of the index go.
            _ => return Ok(()),
        };
        let mut permissions = meta.permissions();
        if permissions.mode() & 0o077 != 0 {
            permissions.set_mode(permissions.mode() & OWNER);
            match std::fs::set_permissions(path, permissions) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if meta.is_dir() {
            for entry in std::fs::read_dir(path)?.flatten() {
                close_to_others(&entry.path())?;
            }
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
