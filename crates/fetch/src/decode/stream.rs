//! Decodes Content-Encoding as a stream, for bodies that need not be in memory as a whole.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use super::{GZIP, ZSTD_WINDOW_LOG, is_text, layers};

/// Buffer between two layers, in bytes. Its first filling shows whether a declared encoding was applied.
const BUFFER: usize = 16 << 10;

/// Bytes by which the result of an inner layer may exceed the limit: encoding incompressible bytes adds some.
const OVERHEAD: usize = 64 << 10;

/// Returns the decoded bytes of a body. Unknown encodings, and encodings that are declared for plain text, are
/// ignored, as [`decode_body`](super::decode_body) does.
///
/// Each layer returns at most `max` bytes and an overhead, so work is bounded by the number of layers times `max`; layers beyond
/// `max_encodings` are an error of the reader. A damaged stream is an error after its readable beginning.
pub(crate) fn decoded<'b>(
    raw: &'b [u8],
    encoding: &str,
    max_encodings: usize,
    max: usize,
) -> Box<dyn BufRead + 'b> {
    let layers: Vec<&str> = layers(encoding).collect();
    if layers.len() > max_encodings {
        return Box::new(BufReader::new(Failed));
    }
    let mut source: Box<dyn BufRead + 'b> = Box::new(raw);
    for layer in layers.iter().rev() {
        source = one(source, &layer.to_ascii_lowercase(), max);
    }
    source
}

fn one<'b>(mut source: Box<dyn BufRead + 'b>, layer: &str, max: usize) -> Box<dyn BufRead + 'b> {
    let head = source.fill_buf().unwrap_or_default();
    let head = head.get(..BUFFER).unwrap_or(head);
    let limited = |decoder: Box<dyn Read + 'b>| -> Box<dyn BufRead + 'b> {
        Box::new(BufReader::with_capacity(
            BUFFER,
            decoder.take(max.saturating_add(OVERHEAD) as u64),
        ))
    };
    match layer {
        "gzip" | "x-gzip" if begins(Box::new(MultiGzDecoder::new(head))) => {
            limited(Box::new(MultiGzDecoder::new(source)))
        }
        "deflate" if head.starts_with(&GZIP) && begins(Box::new(MultiGzDecoder::new(head))) => {
            limited(Box::new(MultiGzDecoder::new(source)))
        }
        // Some servers send raw deflate under this name.
        "deflate" if begins(Box::new(ZlibDecoder::new(head))) => {
            limited(Box::new(ZlibDecoder::new(source)))
        }
        "deflate" if begins(Box::new(DeflateDecoder::new(head))) => {
            limited(Box::new(DeflateDecoder::new(source)))
        }
        "br" if begins(Box::new(brotli_decompressor::Decompressor::new(head, BUFFER))) => {
            limited(Box::new(brotli_decompressor::Decompressor::new(source, BUFFER)))
        }
        "zstd" | "x-zstd" if zstd_of(head).is_ok_and(|decoder| begins(Box::new(decoder))) => {
            match zstd_of(source) {
                Ok(decoder) => limited(Box::new(decoder)),
                Err(_) => Box::new(BufReader::new(Failed)),
            }
        }
        _ if is_text(head) || head.is_empty() => source,
        _ => Box::new(BufReader::new(Failed)),
    }
}

fn zstd_of<'b, R: BufRead + 'b>(source: R) -> io::Result<zstd::Decoder<'b, R>> {
    let mut decoder = zstd::Decoder::with_buffer(source)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG)?;
    Ok(decoder)
}

/// Returns whether a decoder returns a first byte, or the end, or needs more than the buffer to return one.
fn begins(decoder: Box<dyn Read + '_>) -> bool {
    match BufReader::with_capacity(1, decoder).fill_buf() {
        Ok(_) => true,
        Err(error) => error.kind() == io::ErrorKind::UnexpectedEof,
    }
}

/// A body that cannot be decoded.
struct Failed;

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::InvalidData, "Content-Encoding"))
    }
}

/// Decodes at most `max` bytes into memory; the readable beginning of a damaged body.
pub(crate) fn decode_beginning(
    raw: &[u8],
    encoding: &str,
    max_encodings: usize,
    max: usize,
) -> Vec<u8> {
    let mut body = Cursor::new(Vec::new());
    // An error ends the copy; the beginning is kept.
    let _ = io::copy(&mut decoded(raw, encoding, max_encodings, max).take(max as u64), &mut body);
    body.into_inner()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;

    use super::super::decode_body_within;
    use super::*;
    use crate::limits::Limits;

    fn encoded(text: &[u8], layer: &str) -> Vec<u8> {
        match layer {
            "gzip" => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            "zlib" => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            "deflate" => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            "zstd" => zstd::encode_all(text, 1).unwrap(),
            _ => text.to_vec(),
        }
    }

    /// Encodings that were applied, and what the header declares.
    const LAYERS: [(&str, &str); 7] = [
        ("gzip", "gzip"),
        ("gzip", "X-GZIP"),
        ("zlib", "deflate"),
        ("deflate", "deflate"),
        ("zstd", "zstd"),
        ("none", "gzip"),
        ("none", "utf-8"),
    ];

    proptest! {
        #[test]
        fn a_stream_decodes_as_decoding_in_memory_does(
            words in proptest::collection::vec("[a-z]{1,9} ", 1..3000),
            layers in proptest::collection::vec(proptest::sample::select(&LAYERS[..]), 1..3),
            cut in 0..3usize,
        ) {
            let mut raw = words.concat().into_bytes();
            for (applied, _) in &layers {
                raw = encoded(&raw, applied);
            }
            raw.truncate(raw.len() - cut.min(raw.len() - 1));
            let names: Vec<&str> = layers.iter().map(|(_, name)| *name).collect();
            let names = names.join(", ");
            let limits = Limits { max_ratio: usize::MAX, ..Limits::default() };
            let max = limits.max_body;
            let expected = decode_body_within(&raw, &names, &limits).unwrap_or_default();
            let found = decode_beginning(&raw, &names, limits.max_encodings, max);
            // A truncated stream may end at different bytes of its last block.
            if cut > 0 {
                prop_assert!(found.starts_with(&expected) || expected.starts_with(&found));
                return Ok(());
            }
            prop_assert_eq!(&found, &expected);
            let short = decode_beginning(&raw, &names, limits.max_encodings, 10);
            prop_assert_eq!(&short[..], expected.get(..10.min(expected.len())).unwrap());
        }
    }

    #[test]
    fn layers_of_bombs_end_at_the_limit() {
        let zeros = encoded(&encoded(&vec![0; 64 << 20], "gzip"), "gzip");
        assert_eq!(decode_beginning(&zeros, "gzip, gzip", 2, 1 << 20).len(), 1 << 20);
        assert_eq!(decode_beginning(&zeros, "gzip, gzip, gzip", 2, 1 << 20).len(), 0);
        // Layers without output: empty gzip members.
        let empty = encoded(&encoded(b"", "gzip").repeat(1 << 20), "gzip");
        assert_eq!(decode_beginning(&empty, "gzip, gzip", 2, 1 << 20).len(), 0);
        let noise = [0x1f, 0x8b, 7, 0, 1, 2, 3];
        for name in ["gzip", "deflate", "br", "zstd"] {
            assert_eq!(decode_beginning(&noise, name, 2, 100).len(), 0, "{name}");
        }
    }
}
