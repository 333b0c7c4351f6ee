//! Any bytes are a page: charset, parse, blocks, tokens.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let Ok(base) = url::Url::parse("http://a.example/") else { return };
    let document = hapax_extract::extract(&base, None, body, &hapax_extract::Limits::default());
    let _ = document.basis(|bytes| bytes.len() as u64);
});
