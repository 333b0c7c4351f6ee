//! Arbitrary bytes as a robots.txt and as a tdmrep.json; the first line is the requested path.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let path = String::from_utf8_lossy(body.split(|&b| b == b'\n').next().unwrap_or_default())
        .into_owned();
    let Ok(url) = url::Url::parse(&format!("http://a.example/{path}")) else { return };
    let robots = hapax_fetch::Robots::parse(body, "hapax");
    let _ = robots.allows(&url);
    let rules = body.iter().position(|&b| b == b'\n').and_then(|at| body.get(at..)).unwrap_or(body);
    let _ = hapax_fetch::TdmRules::parse(&url, rules).reservation(&url);
    // Cleaning is idempotent.
    if let Some(clean) = robots.clean(&url) {
        assert_eq!(robots.clean(&clean), None);
    }
});
