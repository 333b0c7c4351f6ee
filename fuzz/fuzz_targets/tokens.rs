//! Any text has tokens and features, with each recipe and in each language.
#![no_main]
use hapax_extract::{Limits, Recipe, extract_plain, features};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let hash = |bytes: &[u8]| bytes.iter().fold(7u64, |h, b| h.wrapping_mul(31) ^ u64::from(*b));
    let text = String::from_utf8_lossy(data);
    for language in ["", "en", "de", "zh", "ja", "ru", "xx"] {
        let found = features(&text, language, hash);
        assert_eq!(found.tokens, found.words.iter().map(|(_, count)| count).sum::<u32>());
        assert!(found.words.iter().all(|(_, count)| *count > 0));
    }
    let document = extract_plain(Some("text/plain; charset=utf-8"), data, &Limits::default());
    let comparison_text = document.comparison_text(hash);
    for recipe in Recipe::ALL {
        let _ = recipe.features(&document, &comparison_text, hash);
    }
});
