//! Compresses a large sitemap while it arrives, so that it is never in memory as a whole.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

/// First two bytes of a gzip file (RFC 1952, section 2.3.1), which would not become smaller.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A body that was compressed after it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    pub(crate) gzip: Bytes,
    /// Number of bytes received.
    pub(crate) received: usize,
}

/// The bytes of a body that arrive, compressed beyond a number of bytes.
#[derive(Debug)]
pub(crate) struct Buffer {
    plain: Vec<u8>,
    packer: Option<GzEncoder<Vec<u8>>>,
    received: usize,
    pack_beyond: usize,
}

impl Buffer {
    pub(crate) fn new(capacity: usize, pack_beyond: usize) -> Self {
        Self { plain: Vec::with_capacity(capacity), packer: None, received: 0, pack_beyond }
    }

    pub(crate) const fn len(&self) -> usize {
        self.received
    }

    /// Appends a piece.
    ///
    /// # Errors
    /// If it cannot be compressed; writing to memory does not fail.
    pub(crate) fn push(&mut self, piece: &[u8]) -> std::io::Result<()> {
        self.received += piece.len();
        if let Some(packer) = &mut self.packer {
            return packer.write_all(piece);
        }
        self.plain.extend_from_slice(piece);
        if self.plain.len() > self.pack_beyond && !self.plain.starts_with(&GZIP) {
            let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
            packer.write_all(&std::mem::take(&mut self.plain))?;
            self.packer = Some(packer);
        }
        Ok(())
    }

    /// Returns the body as received, or compressed.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub(crate) fn end(mut self) -> std::io::Result<(Bytes, Option<Packed>)> {
        let Some(packer) = self.packer else {
            // The buffer doubles as it grows: release the unused half.
            self.plain.shrink_to_fit();
            return Ok((self.plain.into(), None));
        };
        let mut gzip = packer.finish()?;
        gzip.shrink_to_fit();
        Ok((Bytes::new(), Some(Packed { gzip: gzip.into(), received: self.received })))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;

    fn buffer(pieces: &[Vec<u8>], beyond: usize) -> Buffer {
        let mut buffer = Buffer::new(0, beyond);
        pieces.iter().for_each(|piece| buffer.push(piece).unwrap());
        buffer
    }

    proptest! {
        #[test]
        fn no_byte_is_lost(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..20),
            beyond in 0_usize..200,
        ) {
            let buffer = buffer(&pieces, beyond);
            let whole = pieces.concat();
            prop_assert_eq!(buffer.len(), whole.len());
            let (raw, packed) = buffer.end().unwrap();
            let body = match packed {
                None => raw.to_vec(),
                Some(packed) => {
                    prop_assert!(raw.is_empty() && packed.received == whole.len());
                    let mut body = Vec::new();
                    flate2::read::GzDecoder::new(&packed.gzip[..]).read_to_end(&mut body).unwrap();
                    body
                }
            };
            prop_assert_eq!(body, whole);
        }
    }

    #[test]
    fn a_long_sitemap_becomes_a_tenth_and_a_gzip_file_stays() {
        let piece = b"<url><loc>http://a.example/page</loc></url>".repeat(100);
        let (raw, packed) = buffer(&vec![piece; 100], 1000).end().unwrap();
        let packed = packed.unwrap();
        assert!(raw.is_empty() && packed.gzip.len() < packed.received / 10);
        let file = [&GZIP[..], &[0; 5000]].concat();
        let (raw, packed) = buffer(std::slice::from_ref(&file), 1000).end().unwrap();
        assert!(raw == file && packed.is_none());
    }
}
