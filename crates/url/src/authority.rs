/// Returns a relative reference without the slashes beyond two at its start: `///a.example/` names a host. The crate url
/// refuses it.
///
/// Source: WHATWG URL, "special authority ignore slashes state".
pub fn without_extra_slashes(reference: &str) -> &str {
    let reference = reference.trim_start_matches(|c: char| c <= ' ');
    let slashes = reference.bytes().take_while(|byte| matches!(byte, b'/' | b'\\')).count();
    reference.get(slashes.saturating_sub(2)..).unwrap_or(reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_slashes_remain() {
        for (reference, short) in [
            ("///a.example/x", "//a.example/x"),
            (" \\\\\\/a.example", "\\/a.example"),
            ("//a.example//x", "//a.example//x"),
            ("/x///y", "/x///y"),
            ("x", "x"),
            ("", ""),
        ] {
            assert_eq!(without_extra_slashes(reference), short);
        }
    }
}
