//! Overwrites members of a file by members of the same length, so that the places of all other records stay valid.
//!
//! The file is copied and then renamed: a crash leaves the old or the new file, never a part of both.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::SystemTime;

use crc32fast::Hasher;

use crate::member::{END, HEADER};
use crate::time::format_time;

/// Most bytes of a stored block of deflate (RFC 1951, section 3.2.4), and the bytes of its head.
const BLOCK: u64 = 65_535;
const BLOCK_HEAD: u64 = 5;
/// Gzip header and trailer.
const FRAME: u64 = 18;
/// Zeros from this number on are a hole in the file, where the file system can.
const LEAST_HOLE: usize = 4096;
const ZEROS: [u8; LEAST_HOLE] = [0; LEAST_HOLE];

/// Replaces members of the first `length` bytes of a file by records without content: of type `metadata`, without a
/// URL, with a block of zeros. `members` are the offsets and lengths of the members, in the order of offsets. `prefix`
/// begins the ids of the new records. Bytes after `length` are dropped.
///
/// # Errors
/// From the file system. [`io::ErrorKind::InvalidInput`] if a member is too short for such a record, or not in the
/// file. Then the file has not changed.
pub fn overwrite(
    path: &Path,
    length: u64,
    members: &[(u64, u64)],
    prefix: &str,
    time: SystemTime,
) -> io::Result<()> {
    let copy = path.with_extension("gz.new");
    let replaced = copied(path, &copy, length, members, (prefix, time))
        .and_then(|()| std::fs::rename(&copy, path));
    if replaced.is_err() {
        let _ = std::fs::remove_file(&copy);
    }
    replaced?;
    if cfg!(unix)
        && let Some(folder) = path.parent()
    {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn copied(
    path: &Path,
    copy: &Path,
    length: u64,
    members: &[(u64, u64)],
    (prefix, time): (&str, SystemTime),
) -> io::Result<()> {
    let mut input = File::open(path)?;
    let mut out = File::create(copy)?;
    let mut at = 0;
    for &(offset, size) in members {
        copy_bytes(&mut input, &mut out, offset.checked_sub(at))?;
        put_empty(&mut out, size, &format!("<{prefix}:{offset}>"), time)?;
        at = offset.saturating_add(size);
        input.seek(SeekFrom::Start(at))?;
    }
    copy_bytes(&mut input, &mut out, length.checked_sub(at))?;
    out.set_len(length)?;
    out.sync_all()
}

fn copy_bytes(input: &mut File, out: &mut File, count: Option<u64>) -> io::Result<()> {
    let count = count.ok_or_else(|| invalid("members overlap, or exceed the file"))?;
    match io::copy(&mut io::Read::take(input, count), out)? {
        copied if copied == count => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Writes a gzip member of `length` bytes: a record with a block of zeros, not compressed.
fn put_empty(out: &mut File, length: u64, id: &str, time: SystemTime) -> io::Result<()> {
    let short = || invalid("a record is too short to be overwritten");
    let room = length.checked_sub(FRAME).ok_or_else(short)?;
    let blocks = room.div_ceil(BLOCK + BLOCK_HEAD);
    let content = room.checked_sub(blocks * BLOCK_HEAD).ok_or_else(short)?;
    let head = head(content, id, time).ok_or_else(short)?;
    let zeros = content - (head.len() + END.len()) as u64;
    let mut parts = [(Some(head.as_slice()), head.len() as u64), (None, zeros), (Some(END), 4)];
    let mut checksum = Hasher::new();
    out.write_all(&HEADER)?;
    for block in 0..blocks {
        // A last block of its head only is empty: the block before it is then not full.
        let mut left = BLOCK.min(content.saturating_sub(block * BLOCK));
        let size = left as u16;
        out.write_all(&[u8::from(block + 1 == blocks)])?;
        out.write_all(&size.to_le_bytes())?;
        out.write_all(&(!size).to_le_bytes())?;
        for (bytes, rest) in &mut parts {
            let count = left.min(*rest);
            match bytes {
                Some(bytes) => {
                    let (now, later) = bytes.split_at(count as usize);
                    out.write_all(now)?;
                    checksum.update(now);
                    *bytes = later;
                }
                None => put_zeros(out, count, &mut checksum)?,
            }
            *rest -= count;
            left -= count;
        }
    }
    out.write_all(&checksum.finalize().to_le_bytes())?;
    out.write_all(&(content as u32).to_le_bytes())
}

fn put_zeros(out: &mut File, count: u64, checksum: &mut Hasher) -> io::Result<()> {
    let mut left = count;
    while left > 0 {
        let now = ZEROS.get(..left.min(ZEROS.len() as u64) as usize).unwrap_or(&ZEROS);
        checksum.update(now);
        if count < ZEROS.len() as u64 {
            out.write_all(now)?;
        }
        left -= now.len() as u64;
    }
    if count >= ZEROS.len() as u64 {
        out.seek(SeekFrom::Current(count as i64))?;
    }
    Ok(())
}

/// Returns the head of a record that has `content` bytes in all; `None` if it does not fit.
fn head(content: u64, id: &str, time: SystemTime) -> Option<Vec<u8>> {
    let start = format!(
        "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: {id}\r\nWARC-Date: {}\r\nContent-Length: ",
        format_time(time)
    );
    let rest = content.checked_sub((start.len() + 2 * END.len()) as u64)?;
    // The length's own digits count too. Where 9 is too short and 10 too long, it is 09.
    let digits =
        (1..=20u64).find(|digits| rest.saturating_sub(*digits).to_string().len() as u64 <= *digits);
    let digits = digits.filter(|digits| *digits <= rest)?;
    let (block, width) = (rest - digits, digits as usize);
    Some(format!("{start}{block:0width$}\r\n\r\n").into_bytes())
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::{Members, Reader};

    fn of_length(length: u64) -> io::Result<Vec<u8>> {
        let mut out = tempfile::tempfile()?;
        put_empty(&mut out, length, "<urn:hapax:0:purged:1:77>", SystemTime::UNIX_EPOCH)?;
        out.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        out.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn a_record_of_each_length_is_a_whole_member() {
        let least = (1..400).find(|length| of_length(*length).is_ok()).unwrap();
        assert!(least < 200, "{least} bytes");
        let near = |length: u64| length - 30..length + 30;
        let lengths = (least..2000).chain(near(10_000)).chain(near(65_553)).chain(near(65_753));
        for length in lengths.chain(near(131_000)).chain(near(131_098)).chain([5 << 20]) {
            let bytes = of_length(length).unwrap();
            assert_eq!(bytes.len() as u64, length);
            let mut text = Vec::new();
            GzDecoder::new(bytes.as_slice()).read_to_end(&mut text).unwrap();
            let mut reader = Reader::new(io::Cursor::new(&bytes), 8 << 20).unwrap();
            let record = reader.next_record().unwrap().unwrap();
            assert!(record.block.iter().all(|byte| *byte == 0), "{length}");
            assert_eq!(record.header("warc-type"), Some("metadata"));
            assert!(reader.next_record().unwrap().is_none());
            let mut members = Members::new(io::Cursor::new(&bytes), length, 8 << 20).unwrap();
            assert_eq!(members.next_member().unwrap().unwrap().length, length);
        }
        for length in 0..least {
            assert!(of_length(length).is_err());
        }
    }

    #[test]
    fn other_members_keep_their_bytes_and_a_wrong_member_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages-00001.warc.gz");
        let bytes: Vec<u8> = (0..90_000u32).map(|n| (n * 7 % 251) as u8 + 1).collect();
        std::fs::write(&path, &bytes).unwrap();
        let run = |members: &[(u64, u64)]| {
            overwrite(&path, 80_000, members, "urn:x", SystemTime::UNIX_EPOCH)
        };
        for wrong in [&[(0, 10)][..], &[(500, 300), (600, 300)], &[(79_900, 300)], &[(95_000, 300)]]
        {
            assert!(run(wrong).is_err(), "{wrong:?}");
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
        run(&[(300, 400), (20_000, 50_000)]).unwrap();
        let now = std::fs::read(&path).unwrap();
        assert_eq!(now.len(), 80_000);
        for part in [0..300, 700..20_000, 70_000..80_000] {
            assert_eq!(now[part.clone()], bytes[part]);
        }
        for (start, end) in [(300, 700), (20_000, 70_000)] {
            let mut text = Vec::new();
            GzDecoder::new(&now[start..end]).read_to_end(&mut text).unwrap();
            assert!(text.starts_with(b"WARC/1.1\r\n") && text.ends_with(b"\0\r\n\r\n"));
        }
    }
}
