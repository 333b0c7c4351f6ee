//! Gzip members (RFC 1952) from parts that any thread compresses.
//!
//! Deflate streams (RFC 1951) that end with a sync flush can be concatenated: each ends at a byte boundary without a
//! final block. So workers do the expensive compression, and the writer adds only head and trailer. The CRC-32 of the
//! whole is combined from those of the parts.

use std::io;

use crc32fast::Hasher;
use flate2::{Compress, Compression, FlushCompress};

pub(crate) const END: &[u8; 4] = b"\r\n\r\n";
/// [`END`] as a final stored block of deflate, after its length and the complement of that.
const END_BLOCK: [u8; 9] = [1, 4, 0, !4, !0, b'\r', b'\n', b'\r', b'\n'];
/// Gzip header: deflate, no flags, no time, fastest level, unknown system.
pub(crate) const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff];
const PIECE: usize = 16 << 10;

/// Compressed bytes of a member, without header and trailer.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    deflated: Vec<u8>,
    /// CRC-32 and length of the uncompressed bytes.
    checksum: Hasher,
    length: usize,
}

impl Part {
    pub(crate) const fn size(&self) -> usize {
        self.deflated.len()
    }

    /// Stores a small part uncompressed (RFC 1951, section 3.2.4), to save the writer's time.
    pub(crate) fn stored(bytes: &[u8]) -> Self {
        let mut part = Self { deflated: Vec::new(), checksum: Hasher::new(), length: bytes.len() };
        for block in bytes.chunks(usize::from(u16::MAX)) {
            let length = block.len() as u16;
            part.deflated.push(0);
            part.deflated.extend(length.to_le_bytes());
            part.deflated.extend((!length).to_le_bytes());
            part.deflated.extend(block);
        }
        part.checksum.update(bytes);
        part
    }

    pub(crate) const fn length(&self) -> usize {
        self.length
    }
}

/// Compresses parts. Its state takes about 300 KiB and is reused.
#[derive(Debug)]
pub(crate) struct Deflater {
    deflate: Compress,
    piece: Box<[u8]>,
}

impl Deflater {
    pub(crate) fn new(level: u32) -> Self {
        let deflate = Compress::new(Compression::new(level), false);
        Self { deflate, piece: vec![0; PIECE].into() }
    }

    /// Compresses the pieces into one part.
    ///
    /// # Errors
    /// If deflate fails, which does not happen on bytes in memory.
    pub(crate) fn part(&mut self, pieces: &[&[u8]]) -> io::Result<Part> {
        self.deflate.reset();
        let mut part = Part { deflated: Vec::new(), checksum: Hasher::new(), length: 0 };
        for piece in pieces {
            self.put(piece, FlushCompress::None, &mut part.deflated)?;
            part.checksum.update(piece);
            part.length += piece.len();
        }
        self.put(&[], FlushCompress::Sync, &mut part.deflated)?;
        part.deflated.shrink_to_fit();
        Ok(part)
    }

    fn put(&mut self, mut bytes: &[u8], flush: FlushCompress, out: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let (taken, made) = (self.deflate.total_in(), self.deflate.total_out());
            self.deflate.compress(bytes, &mut self.piece, flush)?;
            let taken = (self.deflate.total_in() - taken) as usize;
            let made = (self.deflate.total_out() - made) as usize;
            out.extend_from_slice(self.piece.get(..made).unwrap_or_default());
            bytes = bytes.get(taken..).unwrap_or_default();
            // If the buffer is full, there may be more output.
            if bytes.is_empty() && made < self.piece.len() {
                return Ok(());
            }
        }
    }
}

/// Appends the gzip member of a record: its parts, then [`END`].
pub(crate) fn put_member<'p>(parts: impl Iterator<Item = &'p Part>, out: &mut Vec<u8>) {
    out.extend(HEADER);
    let (mut checksum, mut length) = (Hasher::new(), END.len());
    for part in parts {
        out.extend_from_slice(&part.deflated);
        checksum.combine(&part.checksum);
        length += part.length;
    }
    out.extend(END_BLOCK);
    checksum.update(END);
    out.extend(checksum.finalize().to_le_bytes());
    // Modulo 2^32 (RFC 1952).
    out.extend((length as u32).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::{GzDecoder, MultiGzDecoder};
    use proptest::prelude::*;

    use super::*;

    /// Expands runs to bytes; half of the runs are incompressible.
    fn bytes(runs: &[(u8, usize)]) -> Vec<u8> {
        let mut seed = 1u32;
        let mut noise = |byte: u8| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if byte < 128 { byte } else { (seed >> 24) as u8 }
        };
        runs.iter()
            .flat_map(|&(byte, count)| std::iter::repeat_n(byte, count))
            .map(&mut noise)
            .collect()
    }

    proptest! {
        #[test]
        fn members_decompress_to_their_parts(
            members in prop::collection::vec(
                prop::collection::vec(
                    prop::collection::vec((any::<u8>(), 0usize..70_000), 0..4), 0..4), 1..4),
            level in 0u32..=9,
        ) {
            // Parts may come from different threads.
            let mut deflaters = [Deflater::new(level), Deflater::new(level)];
            let (mut file, mut expected) = (Vec::new(), Vec::new());
            for member in members {
                let texts: Vec<Vec<u8>> = member.iter().map(|runs| bytes(runs)).collect();
                let parts: Vec<Part> = texts.iter().zip((0..2).cycle()).map(|(text, which)| {
                    let (one, other) = text.split_at(text.len() / 2);
                    match text.len() % 3 {
                        0 => Part::stored(text),
                        _ => deflaters[which].part(&[one, other]).unwrap(),
                    }
                }).collect();
                let mut made = Vec::new();
                put_member(parts.iter(), &mut made);
                prop_assert_eq!(&made[..3], &[0x1f, 0x8b, 8]);
                let mut alone = Vec::new();
                GzDecoder::new(made.as_slice()).read_to_end(&mut alone).unwrap();
                let whole = [texts.concat().as_slice(), END].concat();
                prop_assert_eq!(&alone, &whole);
                file.extend(made);
                expected.extend(whole);
            }
            let mut all = Vec::new();
            MultiGzDecoder::new(file.as_slice()).read_to_end(&mut all).unwrap();
            prop_assert_eq!(all, expected);
        }
    }
}
