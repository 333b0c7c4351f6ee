//! Distinguishes plain text from a body that cannot be decoded: servers declare encodings that they did not apply.

/// The first bytes of gzip (RFC 1952).
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Number of bytes that are checked.
const LOOKED_AT: usize = 1024;
/// Of this number of characters of a text, at most one is a control character. Of noise, one in nine is.
const CONTROLS: usize = 20;
/// Of this number of characters of UTF-16, at least one is ASCII: markup and spaces. Of noise, one in 512 is.
const ASCII: usize = 8;
/// Beginnings of compressed bodies: gzip, zlib at its usual levels, zstd.
const COMPRESSED: [&[u8]; 5] = [&GZIP, b"\x78\x01", b"\x78\x9c", b"\x78\xda", b"\x28\xb5\x2f\xfd"];
const ESCAPE: u8 = 0x1b;

/// Returns whether the beginning of a body is text, in any charset: it has few control characters except white space
/// and escape sequences (ISO-2022-JP), or it is UTF-16.
pub(super) fn is_text(body: &[u8]) -> bool {
    if COMPRESSED.iter().any(|magic| body.starts_with(magic)) {
        return false;
    }
    if body.starts_with(&[0xFF, 0xFE]) || body.starts_with(&[0xFE, 0xFF]) {
        return true;
    }
    let start = body.get(..LOOKED_AT.min(body.len())).unwrap_or_default();
    let next = start.iter().skip(1).map(Some).chain([None]);
    let is_control = |(byte, next): (&u8, Option<&u8>)| {
        let begins_escape = *byte == ESCAPE && matches!(next, Some(b'$' | b'('));
        byte.is_ascii_control() && !byte.is_ascii_whitespace() && !begins_escape
    };
    let controls = start.iter().zip(next).filter(|pair| is_control(*pair)).count();
    !body.is_empty() && controls * CONTROLS <= start.len()
        || [u16::from_le_bytes, u16::from_be_bytes].iter().any(|unit| is_utf16(start, *unit))
}

/// Returns whether these bytes are UTF-16 without a byte order mark.
fn is_utf16(start: &[u8], unit: fn([u8; 2]) -> u16) -> bool {
    let (mut all, mut controls, mut ascii) = (0, 0, 0);
    for c in char::decode_utf16(start.as_chunks::<2>().0.iter().map(|pair| unit(*pair))) {
        let is_bad = c.as_ref().map_or(true, |c| c.is_control() && !c.is_whitespace());
        all += 1;
        controls += usize::from(is_bad);
        ascii += usize::from(c.is_ok_and(|c| c.is_ascii() && !is_bad));
    }
    ascii > 0 && ascii * ASCII >= all && controls * CONTROLS <= all
}

#[cfg(test)]
mod tests {
    use super::super::{decode_body_within, decoded};
    use super::*;
    use crate::limits::Limits;
    use std::io::Read;

    #[test]
    fn text_in_any_charset_under_a_declared_encoding_is_text() {
        let page = "<html><p>some words of a page that nobody compressed</p></html>";
        let utf16 = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
            format!("{page}{}", "\u{65e5}\u{672c}".repeat(30))
                .encode_utf16()
                .flat_map(unit)
                .collect()
        };
        for text in [
            page.replace("words", "wo\0rds").into_bytes(),
            b"<p>\x1b$B;d\x1b(B.\x1b$B;d\x1b(B".to_vec(),
            utf16(u16::to_le_bytes),
            utf16(u16::to_be_bytes),
        ] {
            for encoding in ["gzip", "deflate", "br", "zstd"] {
                let body = decode_body_within(&text, encoding, &Limits::default()).unwrap();
                assert_eq!(body, text, "{encoding}");
                let mut body = Vec::new();
                decoded(&text, encoding, 2, 1 << 20).read_to_end(&mut body).unwrap();
                assert_eq!(body, text, "{encoding}");
            }
        }
    }

    #[test]
    fn noise_and_damaged_streams_are_no_text() {
        let mut state = 1u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(4000)
        .collect();
        assert!(!is_text(&noise));
        for magic in COMPRESSED {
            assert!(!is_text(&[magic, b"some words that follow the magic"].concat()));
        }
        assert!(!is_text(b""));
        assert!(!is_text(&[0; 100]));
    }
}
