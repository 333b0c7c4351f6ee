//! Arbitrary bytes as a stored HTTP response: its parts, Content-Encoding, Retry-After, robots directives and
//! canonical link.
#![no_main]
use hapax_extract::RobotsMeta;
use hapax_fetch::{Response, canonical_link, decode_body, http_parts, robots_directives};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((status, headers, raw)) = http_parts(data) else { return };
    let Ok(url) = url::Url::parse("http://a.example/") else { return };
    let mut robots = RobotsMeta::default();
    for (_, value) in &headers {
        // The header's name does not matter here.
        let value = String::from_utf8_lossy(value);
        robots_directives(&value, "hapax").for_each(|directive| robots.read(directive));
        assert!(canonical_link(&value, &url).is_none_or(|href| value.contains(href)));
    }
    let response = Response::stored(url, status, headers, raw.to_vec().into());
    let _ = response.redirect();
    let _ = response.retry_after(std::time::UNIX_EPOCH);
    let _ = decode_body(raw, response.header("content-encoding").unwrap_or_default());
    let head = response.head();
    assert!(http_parts(&head).is_none_or(|(again, ..)| again == status));
});
