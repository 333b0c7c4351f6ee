//! Decodes Content-Encoding within limits: a few bytes may expand to gigabytes.

mod stream;
mod text;

use std::io::Read;

use bytes::Bytes;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::error::{Error, Exceeded, Kind};
use crate::limits::Limits;

pub(crate) use self::stream::{decode_beginning, decoded};
use self::text::{GZIP, is_text};

/// Supported encodings (RFC 9110, section 8.4.1; RFC 7932; RFC 8878). Others are ignored: servers declare `identity`,
/// `none` or `utf-8` for plain bodies.
const ENCODINGS: [&str; 6] = ["gzip", "x-gzip", "deflate", "br", "zstd", "x-zstd"];
/// Log2 of the maximum window of a zstd frame: 8 MiB, the limit of RFC 9659.
const ZSTD_WINDOW_LOG: u32 = 23;

/// Decodes a stored body by its Content-Encoding, within the default limits.
///
/// # Errors
/// [`Kind::Bomb`] or [`Kind::Encoding`].
pub fn decode_body(raw: &[u8], encoding: &str) -> Result<Vec<u8>, Error> {
    decode_body_within(raw, encoding, &Limits::default())
}

/// Decodes a body by its Content-Encoding. Ignores unknown names, and encodings that are declared for plain text.
///
/// # Errors
/// [`Kind::Bomb`] or [`Kind::Encoding`]; [`Kind::TooLarge`] if nothing is encoded.
pub fn decode_body_within(raw: &[u8], encoding: &str, limits: &Limits) -> Result<Vec<u8>, Error> {
    decode_up_to(raw, encoding, limits, usize::MAX).map(Option::unwrap_or_default)
}

/// Like [`decode_body_within`], but does not copy a body without an encoding.
///
/// # Errors
/// As [`decode_body_within`].
pub fn decode_bytes_within(raw: &Bytes, encoding: &str, limits: &Limits) -> Result<Bytes, Error> {
    if is_plain(encoding) {
        within(raw, limits)?;
        return Ok(raw.clone());
    }
    decode_body_within(raw, encoding, limits).map(Bytes::from)
}

/// Returns the supported encodings, in the order in which they were applied.
fn layers(encoding: &str) -> impl Iterator<Item = &str> {
    let is_known = |layer: &&str| ENCODINGS.iter().any(|known| layer.eq_ignore_ascii_case(known));
    encoding.split(',').map(str::trim).filter(is_known)
}

/// Returns whether no supported encoding is declared.
pub(crate) fn is_plain(encoding: &str) -> bool {
    layers(encoding).next().is_none()
}

/// Applies the limit of decoded bodies to a plain body.
fn within(raw: &[u8], limits: &Limits) -> Result<(), Error> {
    if raw.len() <= limits.max_body {
        return Ok(());
    }
    let what = format!("{} bytes, over {}", raw.len(), limits.max_body);
    Err(Error::new(Kind::TooLarge, what))
}

/// Like [`decode_body_within`], but stops with `None` beyond `most` bytes.
pub(crate) fn decode_up_to(
    raw: &[u8],
    encoding: &str,
    limits: &Limits,
    most: usize,
) -> Result<Option<Vec<u8>>, Error> {
    let mut body: Option<Vec<u8>> = None;
    let layers: Vec<&str> = layers(encoding).collect();
    if layers.len() > limits.max_encodings {
        let detail = format!("{} encodings one over the other", layers.len());
        return Err(Error::bomb(Exceeded::Encodings, detail));
    }
    for layer in layers.iter().rev() {
        let input = body.as_deref().unwrap_or(raw);
        let decoded = match one(input, &layer.to_ascii_lowercase(), limits, most) {
            // The server declared an encoding and sent plain text.
            Err(error) if error.kind() == Kind::Encoding && is_text(input) => {
                within(input, limits)?;
                Some(input.to_vec())
            }
            decoded => decoded?,
        };
        body = decoded;
        if body.is_none() {
            return Ok(None);
        }
    }
    if let Some(body) = body {
        return Ok(Some(body));
    }
    within(raw, limits)?;
    Ok(Some(raw.to_vec()))
}

/// Returns whether a gzip stream is complete, with a valid trailer (RFC 1952, section 2.3.1).
pub(crate) fn is_complete_gzip(raw: &[u8]) -> bool {
    let mut decoder = MultiGzDecoder::new(raw);
    let mut piece = [0; 16 * 1024];
    // Bounded: the body was already decoded within the limits.
    loop {
        match decoder.read(&mut piece) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

fn one(
    input: &[u8],
    encoding: &str,
    limits: &Limits,
    most: usize,
) -> Result<Option<Vec<u8>>, Error> {
    let wire = input.len();
    match encoding {
        "gzip" | "x-gzip" => read(MultiGzDecoder::new(input), wire, limits, most),
        // As browsers do. Neither zlib nor raw deflate begins with these bytes.
        "deflate" if input.starts_with(&GZIP) => {
            read(MultiGzDecoder::new(input), wire, limits, most)
        }
        // Some servers send raw deflate under this name, others zlib as the standard requires.
        "deflate" => match read(ZlibDecoder::new(input), wire, limits, most) {
            Err(error) if error.kind() == Kind::Encoding => {
                read(DeflateDecoder::new(input), wire, limits, most)
            }
            read => read,
        },
        "br" => read(brotli_decompressor::Decompressor::new(input, 8192), wire, limits, most),
        "zstd" | "x-zstd" => {
            let failed = |error: std::io::Error| Error::new(Kind::Encoding, error.to_string());
            let mut decoder = zstd::Decoder::new(input).map_err(failed)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(failed)?;
            read(decoder, wire, limits, most)
        }
        other => Err(Error::new(Kind::Encoding, format!("content-encoding {other:?}"))),
    }
}

fn read(
    mut decoder: impl Read,
    wire: usize,
    limits: &Limits,
    most: usize,
) -> Result<Option<Vec<u8>>, Error> {
    let mut body = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        let count = match decoder.read(&mut piece) {
            Ok(0) => return Ok(Some(body)),
            Ok(count) => count,
            // The beginning of a truncated stream is usable; an error only if nothing was decoded.
            Err(_) if !body.is_empty() => return Ok(Some(body)),
            Err(error) => return Err(Error::new(Kind::Encoding, error.to_string())),
        };
        body.extend_from_slice(piece.get(..count).unwrap_or_default());
        if body.len() > limits.max_body {
            let detail = format!("over {} bytes decoded", limits.max_body);
            return Err(Error::bomb(Exceeded::Body, detail));
        }
        if body.len() > 64 * 1024 && body.len() / wire.max(1) > limits.max_ratio {
            let detail = format!("grows over {} times", limits.max_ratio);
            return Err(Error::bomb(Exceeded::Ratio, detail));
        }
        if body.len() > most {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::decode_body_within as decode;
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use std::io::Write;

    const TEXT: &[u8] = b"some text that is sent in several ways";

    #[test]
    fn the_three_encodings_and_their_spellings_are_read() {
        let limits = Limits::default();
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(TEXT).unwrap();
        let gz = gz.finish().unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(TEXT).unwrap();
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::fast());
        raw.write_all(TEXT).unwrap();
        assert_eq!(decode(&gz, "GZIP", &limits).unwrap(), TEXT);
        let small = Limits { max_body: TEXT.len() - 1, ..Limits::default() };
        assert_eq!(decode(&gz, "gzip", &small).unwrap_err().kind(), Kind::Bomb);
        let mut both = ZlibEncoder::new(Vec::new(), Compression::fast());
        both.write_all(&gz).unwrap();
        let both = both.finish().unwrap();
        assert_eq!(decode(&both, "gzip, deflate", &limits).unwrap(), TEXT);
        assert_eq!(decode(&both, "deflate, gzip", &limits).unwrap_err().kind(), Kind::Encoding);
        // Exceeds the ratio but not the maximum size.
        let mut zeros = GzEncoder::new(Vec::new(), Compression::best());
        zeros.write_all(&vec![0; 1 << 20]).unwrap();
        let zeros = zeros.finish().unwrap();
        assert_eq!(decode(&zeros, "gzip", &limits).unwrap_err().kind(), Kind::Bomb);
        let wide = Limits { max_ratio: 2000, ..Limits::default() };
        assert_eq!(decode(&zeros, "gzip", &wide).unwrap().len(), 1 << 20);
        assert_eq!(decode_up_to(&gz, "gzip", &limits, TEXT.len() - 1).unwrap(), None);
        assert_eq!(decode_up_to(&gz, "gzip", &limits, TEXT.len()).unwrap().unwrap(), TEXT);
        assert_eq!(decode(&zlib.finish().unwrap(), "deflate", &limits).unwrap(), TEXT);
        assert_eq!(decode(&raw.finish().unwrap(), "deflate", &limits).unwrap(), TEXT);
        assert_eq!(decode(&gz, "deflate", &limits).unwrap(), TEXT);
        assert_eq!(decode(TEXT, "identity", &limits).unwrap(), TEXT);
        // A plain body has the same limit, and is not copied.
        assert_eq!(decode(TEXT, "identity", &small).unwrap_err().kind(), Kind::TooLarge);
        let raw = Bytes::from_static(TEXT);
        for none in ["", "identity, none"] {
            let same = decode_bytes_within(&raw, none, &limits).unwrap();
            assert_eq!(same.as_ptr(), raw.as_ptr());
            let error = decode_bytes_within(&raw, none, &small).unwrap_err();
            assert_eq!(error.kind(), Kind::TooLarge);
        }
        let gz_bytes = Bytes::from(gz.clone());
        assert_eq!(decode_bytes_within(&gz_bytes, "gzip", &limits).unwrap(), TEXT);
        let cut = decode(&gz[..gz.len() - 9], "gzip", &limits).unwrap_or_default();
        assert!(TEXT.starts_with(&cut));
        // Declared but not applied, and unknown names.
        for name in ["gzip", "deflate", "br", "zstd", "gzip, deflate", "UTF-8", "text/html", "foo"]
        {
            assert_eq!(decode(TEXT, name, &limits).unwrap(), TEXT, "{name}");
        }
        let noise = [0x1f, 0x8b, 7, 0, 1, 2, 3];
        for name in ["gzip", "deflate", "br", "zstd"] {
            assert_eq!(decode(&noise, name, &limits).unwrap_err().kind(), Kind::Encoding, "{name}");
        }
    }

    #[test]
    fn zstd_is_read_within_limits() {
        let limits = Limits::default();
        let packed = zstd::encode_all(TEXT, 3).unwrap();
        assert_eq!(decode(&packed, "zstd", &limits).unwrap(), TEXT);
        assert_eq!(
            decode(&[&packed[..], &packed].concat(), "zstd", &limits).unwrap(),
            TEXT.repeat(2)
        );
        let bomb = zstd::encode_all(&vec![0; 20 << 20][..], 19).unwrap();
        assert_eq!(decode(&bomb, "zstd", &limits).unwrap_err().kind(), Kind::Bomb);
        // A window of 128 MiB.
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(27).unwrap();
        encoder.include_contentsize(false).unwrap();
        encoder.write_all(&vec![b'a'; 1 << 20]).unwrap();
        let wide = encoder.finish().unwrap();
        assert_eq!(decode(&wide, "zstd", &limits).unwrap_err().kind(), Kind::Encoding);
    }

    #[test]
    fn bombs_are_stopped() {
        let mut gz = GzEncoder::new(Vec::new(), Compression::best());
        gz.write_all(&vec![0; 20 << 20]).unwrap();
        let bomb = gz.finish().unwrap();
        assert_eq!(decode(&bomb, "gzip", &Limits::default()).unwrap_err().kind(), Kind::Bomb);
        let wide = Limits { max_ratio: 1_000_000, ..Limits::default() };
        assert_eq!(decode(&bomb, "gzip", &wide).unwrap_err().kind(), Kind::Bomb);
        assert_eq!(decode(&bomb, "gzip, gzip, gzip", &wide).unwrap_err().kind(), Kind::Bomb);
        let deflated = &bomb[10..bomb.len() - 8];
        assert_eq!(decode(deflated, "deflate", &wide).unwrap_err().kind(), Kind::Bomb);
        // 32 MiB of zeros, compressed by the reference brotli encoder.
        let brotli = [
            203, 255, 255, 63, 248, 39, 0, 226, 177, 64, 32, 247, 254, 143, 255, 255, 127, 240, 79,
            0, 196, 97, 17, 128, 238, 253, 31, 255, 255, 255, 224, 159, 0, 136, 195, 2, 0, 221,
            251, 63, 254, 255, 255, 193, 63, 1, 16, 135, 5, 0, 186, 247, 127, 3,
        ];
        assert_eq!(decode(&brotli, "br", &Limits::default()).unwrap_err().kind(), Kind::Bomb);
        assert_eq!(decode(&brotli, "br", &wide).unwrap_err().kind(), Kind::Bomb);
    }
}
