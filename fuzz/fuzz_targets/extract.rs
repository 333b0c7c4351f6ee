//! Arbitrary bytes as a page: charset (the first line is the Content-Type), parsing, blocks, decision.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(base) = url::Url::parse("http://a.example/") else { return };
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (line, body) = data.split_at(end);
    let content_type = std::str::from_utf8(line).ok().filter(|line| !line.is_empty());
    let limits = hapax_extract::Limits::default();
    let document = hapax_extract::extract(&base, content_type, body, &limits);
    let plain = hapax_extract::extract_plain(content_type, body, &limits);
    for document in [document, plain] {
        let kept = document.blocks.iter().filter(|b| b.reason == hapax_extract::Reason::Text);
        assert!(kept.map(|block| block.text.len()).sum::<usize>() <= document.text.len());
    }
});
