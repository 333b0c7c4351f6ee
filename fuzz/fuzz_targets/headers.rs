//! Any bytes are a stored HTTP response: its parts, its Content-Encoding, its Retry-After.
#![no_main]
use hapax_fetch::{Response, decode_body, warc};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((status, headers, raw)) = warc::http_parts(data) else { return };
    let Ok(url) = url::Url::parse("http://a.example/") else { return };
    let response = Response::stored(url, status, headers, raw.to_vec().into());
    let _ = response.redirect();
    let _ = response.retry_after(std::time::UNIX_EPOCH);
    let _ = decode_body(raw, response.header("content-encoding").unwrap_or_default());
    let head = response.head();
    assert!(warc::http_parts(&head).is_none_or(|(again, ..)| again == status));
});
