//! Normalizing a URL is idempotent.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let limits = hapax_url::UrlLimits::default();
    let Ok(url) = url::Url::parse(text) else { return };
    let Ok(once) = hapax_url::normalize(&url, &limits) else { return };
    assert_eq!(hapax_url::normalize(&once, &limits).as_ref(), Ok(&once));
});
