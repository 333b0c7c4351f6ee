//! Renders the examples of a CommonMark specification to HTML, writes them back as Markdown, renders that, and compares.
//!
//! `cargo run --example commonmark -- spec.txt`: `spec.txt` of the npm package commonmark-spec. Prints each example that
//! differs, and the number of equal ones.

mod canon;

use std::error::Error;

use canon::canon;
use hapax_extract::{Limits, MarkdownLimits, extract_structured};
use pulldown_cmark::{Options, Parser, html};

fn rendered(markdown: &str) -> String {
    let mut out = String::new();
    html::push_html(
        &mut out,
        Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH),
    );
    out
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: commonmark SPEC.TXT")?;
    let spec = std::fs::read_to_string(path)?;
    let base = url::Url::parse("http://a.example/")?;
    let fence = "`".repeat(32);
    let (mut all, mut equal) = (0, 0);
    for example in spec.split(&format!("{fence} example\n")).skip(1) {
        let example = example.split(&format!("\n{fence}")).next().unwrap_or_default();
        let source = example.split("\n.\n").next().unwrap_or_default().replace('→', "\t");
        let html = rendered(&source);
        let page = |html: &str| {
            // An image alone on a page is between no blocks.
            let body = format!("<html><body><p>begin</p>{html}<p>end</p></body></html>");
            extract_structured(&base, None, body.as_bytes(), &Limits::default())
        };
        let first = page(&html).markdown(|_, _| true, &MarkdownLimits::default()).text;
        let again = rendered(&first);
        let whole = canon(&format!("<p>begin</p>{html}<p>end</p>"));
        all += 1;
        if whole == canon(&again) {
            equal += 1;
        } else {
            println!(
                "--- example {all}
{source}
--- html
{html}
--- written
{first}
--- {whole}
--- {}
",
                canon(&again)
            );
        }
    }
    println!("{equal} of {all} examples are equal");
    Ok(())
}
