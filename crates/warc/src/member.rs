//! Gzip members, one after the other.

use std::io;

use flate2::{Compress, Compression, FlushCompress, Status};

/// 32 KiB, which is what every reader has.
const WINDOW_BITS: u8 = 15;

/// Makes gzip members (RFC 1952). What it needs for one, some 300 KiB, serves the next.
#[derive(Debug)]
pub(crate) struct Members {
    gzip: Compress,
    /// What it has just made.
    piece: Box<[u8]>,
    out: Vec<u8>,
}

const PIECE: usize = 16 << 10;

impl Members {
    /// By a level of deflate.
    pub(crate) fn new(level: u32) -> Self {
        let gzip = Compress::new_gzip(Compression::new(level), WINDOW_BITS);
        Self { gzip, piece: vec![0; PIECE].into(), out: Vec::new() }
    }

    /// The pieces, one behind the other, as a member of their own.
    ///
    /// # Errors
    /// If deflate fails, which it does not on bytes in memory.
    pub(crate) fn make(&mut self, pieces: &[&[u8]]) -> io::Result<&[u8]> {
        self.gzip.reset();
        self.out.clear();
        for piece in pieces {
            self.put(piece, FlushCompress::None)?;
        }
        self.put(&[], FlushCompress::Finish)?;
        Ok(&self.out)
    }

    fn put(&mut self, mut bytes: &[u8], flush: FlushCompress) -> io::Result<()> {
        loop {
            let (taken, made) = (self.gzip.total_in(), self.gzip.total_out());
            let status = self.gzip.compress(bytes, &mut self.piece, flush)?;
            let taken = (self.gzip.total_in() - taken) as usize;
            let made = (self.gzip.total_out() - made) as usize;
            self.out.extend_from_slice(self.piece.get(..made).unwrap_or_default());
            bytes = bytes.get(taken..).unwrap_or_default();
            let done = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => bytes.is_empty(),
            };
            if done {
                return Ok(());
            }
        }
    }

    /// Lets go of the room for a member that was large.
    pub(crate) fn shrink(&mut self, most: usize) {
        if self.out.capacity() > most {
            self.out = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::MultiGzDecoder;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn members_unpack_to_what_went_in(
            members in prop::collection::vec(prop::collection::vec((any::<u8>(), 0usize..70_000), 0..6), 1..5),
            level in 0u32..=9,
        ) {
            let mut maker = Members::new(level);
            let (mut file, mut expected) = (Vec::new(), Vec::new());
            for member in members {
                let mut seed = 1u32;
                let mut noise = |byte: u8| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    // Half of the pieces cannot be made smaller.
                    if byte < 128 { byte } else { (seed >> 24) as u8 }
                };
                let pieces: Vec<Vec<u8>> =
                    member.iter().map(|&(byte, count)| (0..count).map(|_| noise(byte)).collect()).collect();
                let slices: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
                let made = maker.make(&slices).unwrap();
                prop_assert_eq!(&made[..3], &[0x1f, 0x8b, 8]);
                let mut alone = Vec::new();
                flate2::read::GzDecoder::new(made).read_to_end(&mut alone).unwrap();
                prop_assert_eq!(&alone, &pieces.concat());
                file.extend_from_slice(made);
                expected.extend(pieces.concat());
            }
            let mut all = Vec::new();
            MultiGzDecoder::new(file.as_slice()).read_to_end(&mut all).unwrap();
            prop_assert_eq!(all, expected);
        }
    }
}
