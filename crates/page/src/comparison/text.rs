//! The part of a page that is stored for later comparisons.

use hapax_extract::{ComparisonText, Document, Reason};

/// Longer cells are not compared as cells.
const MAX_CELL_WORDS: usize = 12;
/// Maximum number of bytes of the text; [`MAX_WORDS`](crate::difference::MAX_WORDS) words seldom need more.
pub const MAX_TEXT_BYTES: usize = 256 << 10;
/// Maximum number of bytes of the cells.
const MAX_CELL_BYTES: usize = 16 << 10;
/// First byte of the encoded form.
const VERSION: u8 = 1;

/// Heading, title, text and cells of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageText {
    /// The main heading.
    pub heading: String,
    /// The title, with the site's name.
    pub title: String,
    /// The comparison text: kept blocks, one per line.
    pub text: String,
    /// Short table cells, one per line, of kept and dropped tables.
    pub cells: String,
}

impl PageText {
    /// Copies the compared parts of a document.
    ///
    /// # Complexity
    /// Linear in the text; stores at most 272 KiB.
    pub fn of(document: &Document, comparison_text: &ComparisonText) -> Self {
        let mut cells = String::new();
        for block in document.blocks.iter().filter(|block| block.cell) {
            let compared =
                matches!(block.reason, Reason::Text | Reason::OutsideRun | Reason::Unlike);
            let short = block.text.split_whitespace().nth(MAX_CELL_WORDS).is_none();
            let text = block.text.trim();
            if compared && short && !text.is_empty() && cells.len() + text.len() < MAX_CELL_BYTES {
                cells.extend([text, "\n"]);
            }
        }
        let end = comparison_text.text.floor_char_boundary(MAX_TEXT_BYTES);
        Self {
            heading: document.heading.clone(),
            title: document.title.clone(),
            text: comparison_text.text.get(..end).unwrap_or_default().to_owned(),
            cells,
        }
    }

    /// Encodes the page for [`decode`](Self::decode): a version byte, then for heading, title, cells and text the
    /// length (four bytes, little endian) and the UTF-8.
    pub fn encode(&self) -> Vec<u8> {
        let parts = [&self.heading, &self.title, &self.cells, &self.text];
        let mut bytes =
            Vec::with_capacity(1 + parts.iter().map(|part| 4 + part.len()).sum::<usize>());
        bytes.push(VERSION);
        for part in parts {
            bytes.extend(u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend(part.as_bytes());
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
            String::from_utf8(part.to_vec()).ok()
        };
        let (heading, title, cells, text) = (part()?, part()?, part()?, part()?);
        (*version == VERSION && rest.is_empty()).then_some(Self { heading, title, text, cells })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn comparison_text_round_trips(heading: String, title: String, text: String, cells: String) {
            let page = PageText { heading, title, text, cells };
            let bytes = page.encode();
            prop_assert_eq!(PageText::decode(&bytes), Some(page));
            prop_assert_eq!(PageText::decode(&bytes[..bytes.len() - 1]), None);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            PageText::decode(&bytes);
        }
    }
}
