//! The part of a page that is stored for later comparisons.

use hapax_extract::{ComparisonText, Document, Reason};
use url::Url;

use super::address::without_address;
use super::cells::cells_of;
use crate::difference::LineSet;

/// Maximum number of bytes of the text; [`MAX_WORDS`](crate::difference::MAX_WORDS) words seldom need more.
pub const MAX_TEXT_BYTES: usize = 256 << 10;
/// First byte of the encoded form.
const VERSION: u8 = 2;
/// The version before: without lines outside the text.
const FIRST_VERSION: u8 = 1;

/// Heading, title, text and cells of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageText {
    /// The main heading.
    pub heading: String,
    /// The title, with the site's name.
    pub title: String,
    /// The comparison text: kept blocks, one per line.
    pub text: String,
    /// Short table cells, one per line, of kept and dropped tables, and dropped rows of numbers without a table.
    pub cells: String,
    /// Lines outside the comparison text: dropped blocks that are visible.
    pub outside: LineSet,
}

impl PageText {
    /// Copies the compared parts of a document.
    ///
    /// # Complexity
    /// Linear in the text; stores at most 272 KiB.
    pub fn of(document: &Document, comparison_text: &ComparisonText) -> Self {
        let outside = document.blocks.iter().filter(|block| {
            block.reason != Reason::Hidden && !block.is_compared(comparison_text.thin)
        });
        let end = comparison_text.text.floor_char_boundary(MAX_TEXT_BYTES);
        Self {
            heading: document.heading.clone(),
            title: document.title.clone(),
            text: comparison_text.text.get(..end).unwrap_or_default().to_owned(),
            cells: cells_of(&document.blocks),
            outside: LineSet::of(outside.map(|block| &*block.text)),
        }
    }

    /// Blanks the page's own address in the text, unless the heading has it too: error pages and print versions show the address
    /// at which they were requested.
    ///
    /// # Complexity
    /// Linear in the text.
    #[must_use]
    pub fn without_address<'u>(mut self, url: impl Into<Option<&'u Url>>) -> Self {
        if let Some(url) = url.into()
            && !self.heading.contains(url.path())
            && let Some(text) = without_address(&self.text, url)
        {
            self.text = text;
        }
        self
    }

    /// Encodes the page for [`decode`](Self::decode): a version byte, then for heading, title, cells, text and
    /// [`LineSet`] the length (four bytes, little endian) and the bytes.
    pub fn encode(&self) -> Vec<u8> {
        let outside = self.outside.encode();
        let texts = [&self.heading, &self.title, &self.cells, &self.text];
        let parts = texts.into_iter().map(String::as_bytes).chain([&*outside]);
        let mut bytes =
            Vec::with_capacity(1 + parts.clone().map(|part| 4 + part.len()).sum::<usize>());
        bytes.push(VERSION);
        for part in parts {
            bytes.extend(u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend(part);
        }
        bytes
    }

    /// Decodes the encoded form; `None` if it is damaged or of a later version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, mut rest) = bytes.split_first()?;
        let mut part = || {
            let (length, behind) = rest.split_first_chunk::<4>()?;
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            let (part, behind) = behind.split_at_checked(length)?;
            rest = behind;
            Some(part.to_vec())
        };
        let mut text = || String::from_utf8(part()?).ok();
        let (heading, title, cells, text) = (text()?, text()?, text()?, text()?);
        let outside = match *version {
            FIRST_VERSION => LineSet::default(),
            VERSION => LineSet::decode(&part()?)?,
            _ => return None,
        };
        rest.is_empty().then_some(Self { heading, title, text, cells, outside })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Evidence;

    #[test]
    fn dropped_blocks_that_are_visible_are_outside_the_text() {
        let article =
            "When the river rose in the spring the people of the village moved to the hill. "
                .repeat(8);
        let html = format!(
            "<html lang=en><title>The flood</title><body><nav><a href=/a>News of the harbour today</a></nav>\
             <article><h1>The flood</h1><p>{article}</p></article>\
             <p style='display:none'>Nobody sees this line of the page.</p>\
             <footer><p>All rights reserved by the paper.</p></footer>"
        );
        let url = url::Url::parse("http://a.example/flood").unwrap();
        let html = html.as_bytes();
        let document = hapax_extract::extract(&url, Some("text/html"), html, &Default::default());
        let evidence = Evidence::of(&document, hapax_extract::Recipe::default());
        let page = PageText::of(&document, &evidence.comparison_text);
        let outside = |line: &str| {
            let words = crate::difference::Words::of(line);
            page.outside.contains(words.line_hash(0..words.len()))
        };
        assert!(
            outside("News of the harbour today") && outside("All rights reserved by the paper")
        );
        assert!(!outside("Nobody sees this line of the page") && !outside(&article));
        assert!(page.text.contains("the river rose"));
    }

    proptest! {
        #[test]
        fn comparison_text_round_trips(heading: String, title: String, text: String, cells: String) {
            let outside = LineSet::of(text.lines());
            let page = PageText { heading, title, text, cells, outside };
            let bytes = page.encode();
            prop_assert_eq!(PageText::decode(&bytes), Some(page));
            prop_assert_eq!(PageText::decode(&bytes[..bytes.len() - 1]), None);
        }

        #[test]
        fn the_text_of_the_version_before_is_read(heading: String, text: String) {
            let mut bytes = vec![FIRST_VERSION];
            for part in [&heading, "title", "cells", &text] {
                bytes.extend(u32::try_from(part.len()).unwrap().to_le_bytes());
                bytes.extend(part.as_bytes());
            }
            let (title, cells) = ("title".to_owned(), "cells".to_owned());
            let page = PageText { heading, title, text, cells, outside: LineSet::default() };
            prop_assert_eq!(PageText::decode(&bytes), Some(page));
            bytes[0] = VERSION + 1;
            prop_assert_eq!(PageText::decode(&bytes), None);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            PageText::decode(&bytes);
        }
    }
}
