//! Quotes text for shells, and escapes control characters for terminals.

use std::path::Path;

/// Whether a character controls a terminal or the order of displayed text.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
        || matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// A path for a command line that users copy: quoted where a shell needs it, with control characters escaped.
pub fn shell_path(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+:,@%=".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return path.display().to_string();
    }
    let odd = |c: char| is_hidden(c) || c.is_control();
    if let Some(text) = path.to_str().filter(|text| !text.contains(odd)) {
        return format!("'{}'", text.replace('\'', "'\\''"));
    }
    let mut out = "$'".to_owned();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\'' | '\\' => out.extend(['\\', c]),
                c if odd(c) && c.is_ascii() => out += &format!("\\x{:02x}", u32::from(c)),
                c if odd(c) => out += &format!("\\u{:04x}", u32::from(c)),
                c => out.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| out += &format!("\\x{byte:02x}"));
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_be_copied_into_a_shell() {
        for (path, shown) in [
            ("crawl-data", "crawl-data"),
            ("/tmp/a b", "'/tmp/a b'"),
            ("~x", "'~x'"),
            ("it's", "'it'\\''s'"),
            ("北京", "'北京'"),
            ("a\u{1b}[31m'b\n", "$'a\\x1b[31m\\'b\\x0a'"),
            ("a\u{202e}\\", "$'a\\u202e\\\\'"),
            ("", "''"),
        ] {
            assert_eq!(shell_path(Path::new(path)), shown);
        }
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            let path = Path::new(std::ffi::OsStr::from_bytes(b"a\xff"));
            assert_eq!(shell_path(path), "$'a\\xff'");
        }
    }
}
