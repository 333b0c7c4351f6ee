//! Arbitrary bytes as an HTML page that is written as Markdown: bounded, the same each time, and without a line that
//! its front matter could be taken for.
#![no_main]
use hapax_extract::{Limits, MarkdownLimits, extract_structured};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(base) = url::Url::parse("http://a.example/dir/page") else { return };
    let page = extract_structured(&base, None, data, &Limits::default());
    let small = MarkdownLimits {
        max_bytes: 1 << 10,
        max_depth: 3,
        max_columns: 4,
        max_cells: 20,
        ..MarkdownLimits::default()
    };
    for limits in [MarkdownLimits::default(), small] {
        for thin in [false, true] {
            let text = page.comparison_markdown(thin, &limits);
            // The end of a code block is written beyond the limit: its fence is longer than any run in the page.
            assert!(text.text.len() <= limits.max_bytes + data.len() + 1_024);
            assert!(!text.text.contains('\r') && !text.text.starts_with("---\n"));
            assert_eq!(text, page.comparison_markdown(thin, &limits));
        }
        let all = page.markdown(|_, _| true, &limits);
        assert!(all.text.len() <= limits.max_bytes + data.len() + 1_024);
    }
});
