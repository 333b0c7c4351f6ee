//! A crawler that keeps texts in a map. The store proposes pages, and their texts decide.
//!
//! ```text
//! cargo run -p hapax-page --example compare_texts
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::io::Write;

use hapax_dedup::{Confirm, Document, Options, Proposal, Store, Verdict};
use hapax_extract::Recipe;
use hapax_page::comparison::{Compared, PageText, compare_pages};
use hapax_page::{Evidence, Kind};
use url::Url;

/// Stored texts by key.
type Texts = HashMap<Vec<u8>, Compared>;

/// A page that is offered to the store.
struct Offered<'t> {
    texts: &'t Texts,
    page: &'t Compared,
    /// Differences from the page that it duplicates.
    differs: Vec<String>,
}

impl Confirm for Offered<'_> {
    fn confirm(&mut self, document: &Document<'_>, proposal: &Proposal<'_>) -> Option<bool> {
        // Without a text, the sketch decides.
        let kept = self.texts.get(&proposal.record.key)?;
        let outcome = compare_pages(self.page, kept, document.site == proposal.record.site);
        if outcome.same() {
            self.differs = outcome.phrases(self.page, kept, ["this page", "the kept page"]);
        }
        Some(outcome.same())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let store = Store::in_memory(Options::default())?;
    let mut texts = Texts::new();
    let mut out = std::io::stdout().lock();
    for (address, name, more) in [
        ("http://shop.example/navy", "Tee - Navy", ""),
        ("http://shop.example/rust", "Tee - Rust", ""),
        ("http://shop.example/navy?print", "Tee - Navy", "<p>Printed on Monday, 5 March 2024</p>"),
        (
            "http://shop.example/navy?all",
            "Tee - Navy",
            "<p>It fits my brother too, wrote Anna.</p>",
        ),
    ] {
        let html = format!(
            "<title>{name} | The shop</title><h1>{name}</h1><p>The tee is made of cotton from a small farm in the hills, \
             and it is sewn by the people of the village who have done so for many years. It is washed once before it is \
             sent, so that it does not shrink, and it can be sent back for a month if it does not fit.</p>{more}"
        );
        let url = Url::parse(address)?;
        let document = Kind::Html.read(&url, None, html.as_bytes());
        let evidence = Evidence::of(&document, Recipe::default());
        let page = Compared::new(PageText::of(&document, &evidence.comparison_text));
        let mut offered = Offered { texts: &texts, page: &page, differs: Vec::new() };
        let document = evidence.document(address.as_bytes(), Some(&url), 0);
        match store.offer_confirmed(&document, &mut offered)? {
            Verdict::New(_) => {
                writeln!(out, "keep     {address}")?;
                texts.insert(address.as_bytes().to_vec(), page);
            }
            _ => writeln!(out, "discard  {address}: {}", offered.differs.join("; "))?,
        }
    }
    Ok(())
}
