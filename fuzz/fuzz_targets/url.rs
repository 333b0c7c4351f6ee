//! The normal form of a URL is its own normal form.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let limits = hapax_frontier::UrlLimits::default();
    let Ok(url) = url::Url::parse(text) else { return };
    let Ok(once) = hapax_frontier::normalize(&url, &limits) else { return };
    assert_eq!(hapax_frontier::normalize(&once, &limits).as_ref(), Ok(&once));
});
