use super::tests::{entry, open};
use super::*;

/// Writes a frontier of 50 hosts, closes it and returns its file.
fn written(folder: &Path) -> std::path::PathBuf {
    let frontier = open(folder, 0);
    for i in 0..2000 {
        frontier.push(entry(&format!("http://host-{}.example/{i}", i % 50))).unwrap();
    }
    frontier.commit(b"{}").unwrap();
    folder.join(FILE)
}

#[test]
fn an_empty_file_is_no_new_frontier() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path());
    std::fs::write(file, b"").unwrap();
    let opened = DiskFrontier::open(folder.path(), Options::default());
    assert!(matches!(opened, Err(Error::Damaged { .. })), "{opened:?}");
}

#[test]
fn a_damaged_frontier_file_is_an_error_and_never_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path());
    let whole = std::fs::read(&file).unwrap();
    let (mut seed, mut damaged) = (7u64, 0);
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (seed >> 33) as usize % below
    };
    // Any other error would advise the user to run the command again.
    let is_damage = |error: &Error| assert!(matches!(error, Error::Damaged { .. }), "{error:?}");
    for trial in 0..120 {
        let mut bytes = whole.clone();
        let length = [1, 64, 4096, whole.len() / 3][trial % 4];
        // Every third change is in the header, which locates everything else.
        let start = random(if trial % 3 == 0 { 320 } else { bytes.len() - length });
        bytes[start..start + length].iter_mut().for_each(|byte| *byte = random(256) as u8);
        if trial % 10 == 9 {
            bytes.truncate(start);
        }
        let _ = std::fs::remove_file(&file);
        std::fs::write(&file, &bytes).unwrap();
        let verified = DiskFrontier::verify(folder.path());
        assert!(std::fs::read(&file).unwrap() == bytes, "trial {trial}: the check has written");
        let _ = verified.as_ref().inspect_err(|error| is_damage(error));
        // A database that panicked is never closed and keeps the lock on this file.
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, &bytes).unwrap();
        let frontier = match DiskFrontier::open(folder.path(), Options::default()) {
            Ok(frontier) => frontier,
            Err(error) => {
                damaged += 1;
                is_damage(&error);
                assert!(verified.is_err(), "trial {trial}: it opens no more, and all was well");
                continue;
            }
        };
        let mut leases = 0;
        while let Ok(Next::Lease(lease)) = frontier.next(Instant::now()) {
            frontier.done(*lease, Duration::ZERO, Instant::now());
            leases += 1;
            if leases > 100 {
                break;
            }
        }
        let _ = frontier.commit(b"{}").inspect_err(is_damage);
        damaged += u32::from(verified.is_err());
    }
    assert!(damaged > 40, "{damaged}");
}
