use url::Url;

use crate::charset::CharsetSource;
use crate::declared::robots_words;
use crate::metadata::Metadata;
use crate::numbers::numbers_of_cell;
use crate::page_type::PageType;
use crate::parse::Truncation;
use crate::recipe_version::RecipeVersion;
use crate::stop_lists::StopLists;
use crate::tokens::{Features, features_by};
use crate::votes::Reason;

/// A run of text between two block-level tags.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The text, with white space collapsed.
    pub text: String,
    /// Why it was kept or dropped.
    pub reason: Reason,
    /// Probability that the block is page text, 0 to 1.
    pub chance: f32,
    /// Whether the block is in a table cell.
    pub cell: bool,
    /// Whether at least .6 of its characters are in links, as in a menu.
    pub menu: bool,
}

impl Block {
    /// Returns whether the comparison text has it: of a `thin` page all visible blocks.
    pub fn is_compared(&self, thin: bool) -> bool {
        match self.reason {
            Reason::Text => true,
            Reason::Hidden | Reason::Structure => false,
            _ => thin,
        }
    }
}

/// A link of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The absolute target.
    pub url: Url,
    /// Whether it has `rel=nofollow`.
    pub nofollow: bool,
}

/// An image of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The absolute address.
    pub url: Url,
    /// Its alternative text.
    pub alt: String,
}

/// Robots directives of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RobotsMeta {
    /// Do not index.
    pub noindex: bool,
    /// Do not follow the links.
    pub nofollow: bool,
}

impl RobotsMeta {
    /// Adds one list of directives: the content of a robots meta element or an `X-Robots-Tag` value.
    pub fn read(&mut self, directives: &str) {
        for word in robots_words(directives) {
            if word.eq_ignore_ascii_case("noindex") {
                self.noindex = true;
            } else if word.eq_ignore_ascii_case("nofollow") {
                self.nofollow = true;
            } else if word.eq_ignore_ascii_case("none") {
                *self = Self { noindex: true, nofollow: true };
            }
        }
    }
}

/// An extracted page.
#[derive(Clone, Debug)]
pub struct Document {
    /// The title; if the page has none, its first heading.
    pub title: String,
    /// Two-letter language code, or `""` if unknown.
    pub language: &'static str,
    /// The language for recipes up to version 5, which knew fewer.
    pub(crate) first_language: &'static str,
    /// Confidence in the language, 0 to 1: 1 if script or stopwords prove it, 0 if only the page declares it.
    pub language_score: f32,
    /// The main heading: the first one of the highest level that is not the site's name. Pages are compared by it.
    pub heading: String,
    /// The page's own text: the kept blocks, one per line.
    pub text: String,
    /// All blocks in document order.
    pub blocks: Vec<Block>,
    /// The links, within the limits on number and length.
    pub links: Vec<Link>,
    /// Number of links beyond these limits.
    pub links_left_out: usize,
    /// The images, except those in hidden elements, navigation, footers and asides.
    pub images: Vec<Image>,
    /// The canonical address that the page declares.
    pub canonical: Option<Url>,
    /// The page's robots directives.
    pub robots: RobotsMeta,
    /// Rights that the page reserves: `noai`, `noimageai`, `tdm-reservation: 1` (TDM Reservation Protocol), `rsl: URL`.
    pub reservations: Vec<String>,
    /// Target of a refresh within 10 seconds, which works like a redirect. The page's own URL if it names none.
    pub refresh: Option<Url>,
    /// Name of the charset.
    pub charset: &'static str,
    /// How the charset was determined.
    pub charset_source: CharsetSource,
    /// Type of the page.
    pub page_type: PageType,
    /// Expected F1 of the text, 0 to 1; 1 for plain text.
    pub confidence: f32,
    /// Author, dates, description and more, as declared.
    pub metadata: Metadata,
    /// The limit that cut the page short, if any.
    pub truncated: Option<Truncation>,
    /// The media type of the response in lower case, without parameters; `None` if it had none.
    pub content_type: Option<String>,
}

/// The most bytes of [`Document::other_text`].
pub const MAX_OTHER_TEXT: usize = 256 << 10;

/// A page with fewer content words is thin.
pub const MIN_CONTENT_WORDS: u32 = 15;

/// The comparison text of a page: the text that is indexed and compared.
#[derive(Clone, Debug)]
pub struct ComparisonText {
    /// Heading and own text of the page; for a thin page, title and all visible text.
    pub text: String,
    /// Whether the page is thin. Its text is mostly the site's template, so only equal pages are duplicates.
    pub thin: bool,
    /// Features of this text.
    pub features: Features,
}

impl Document {
    /// Returns the comparison text; `hash` hashes the features.
    pub fn comparison_text(&self, hash: impl Fn(&[u8]) -> u64 + Copy + 'static) -> ComparisonText {
        self.comparison_text_with(RecipeVersion::default(), hash)
    }

    /// Returns the language as a version of the recipes knows it.
    pub(crate) fn language_by(&self, version: RecipeVersion) -> &'static str {
        match version.stop_lists() {
            StopLists::First => self.first_language,
            StopLists::Second => self.language,
        }
    }

    /// Returns the comparison text with the features of this version.
    pub(crate) fn comparison_text_with(
        &self,
        version: RecipeVersion,
        hash: impl Fn(&[u8]) -> u64 + Copy + 'static,
    ) -> ComparisonText {
        let features = |text: &str| features_by(text, self.language_by(version), version, hash);
        // Pages of one template may differ only in their heading.
        let text = if self.heading.is_empty() || self.text.contains(&self.heading) {
            self.text.clone()
        } else {
            format!("{}\n{}", self.own_heading(), self.text)
        };
        let mut own = features(&text);
        if own.tokens >= MIN_CONTENT_WORDS {
            own.numbers.extend(self.numbers_of_cells(hash));
            return ComparisonText { text, thin: false, features: own };
        }
        let text = format!("{}\n{}", self.title, self.visible());
        let mut all = features(&text);
        // A low token count marks the page as thin. Without a name, nothing distinguishes pages of one template.
        if self.title.is_empty() && self.heading.is_empty() {
            all.shingles.clear();
        }
        all.tokens = all.tokens.min(MIN_CONTENT_WORDS - 1);
        ComparisonText { text, thin: true, features: all }
    }

    /// Returns the numbers of dropped table cells: pages of one template may differ only in them.
    fn numbers_of_cells(&self, hash: impl Fn(&[u8]) -> u64) -> Vec<u64> {
        let dropped = |block: &&Block| {
            block.cell && matches!(block.reason, Reason::OutsideRun | Reason::Unlike)
        };
        let cells = self.blocks.iter().filter(dropped);
        cells.flat_map(|block| numbers_of_cell(&block.text, &hash)).collect()
    }

    /// Returns whether the page has no visible text outside of navigation.
    pub fn shows_nothing(&self) -> bool {
        let hidden = |block: &Block| matches!(block.reason, Reason::Hidden | Reason::Structure);
        self.blocks.iter().all(|block| hidden(block) || block.text.trim().is_empty())
    }

    /// Returns all visible text except navigation, but including boilerplate. Used for thin pages.
    pub fn visible(&self) -> String {
        let shown =
            self.blocks.iter().filter(|b| !matches!(b.reason, Reason::Hidden | Reason::Structure));
        let lines: Vec<&str> = shown.map(|block| block.text.as_str()).collect();
        lines.join("\n")
    }

    /// Returns the visible text that the comparison text lacks, one block a line: boxes, comments, tables that were
    /// dropped, footers; behind them the blocks that are mostly links, as menus. `thin`: whether the page is. At most
    /// [`MAX_OTHER_TEXT`] bytes.
    pub fn other_text(&self, thin: bool) -> String {
        let is_other = |block: &&Block| {
            !block.is_compared(thin)
                && block.reason != Reason::Hidden
                && !block.text.trim().is_empty()
        };
        let (menus, others): (Vec<_>, Vec<_>) =
            self.blocks.iter().filter(is_other).partition(|block| block.menu);
        let mut text = String::new();
        for block in others.into_iter().chain(menus) {
            let left = MAX_OTHER_TEXT.saturating_sub(text.len() + 1);
            if block.text.len() > left {
                break;
            }
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&block.text);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_directives_are_separated_by_commas_semicolons_and_white_space() {
        for (directives, noindex, nofollow) in [
            ("noindex,nofollow", true, true),
            ("noindex nofollow", true, true),
            ("NoIndex;nofollow", true, true),
            ("index\n; nofollow", false, true),
            ("max-snippet:-1 none", true, true),
            ("max-image-preview: none", false, false),
            ("max-image-preview : none, nofollow", false, true),
            ("unavailable_after: Wed, 25 Jun 2010 noindex", true, false),
            ("noindexed", false, false),
            ("", false, false),
        ] {
            let mut robots = RobotsMeta::default();
            robots.read(directives);
            assert_eq!(robots, RobotsMeta { noindex, nofollow }, "{directives}");
        }
    }

    #[test]
    fn other_text_is_what_the_comparison_text_lacks_with_menus_last() {
        let url = Url::parse("http://a.example/").unwrap();
        let limits = crate::Limits::default();
        let mut document = crate::extract(&url, None, b"<p>A page</p>", &limits);
        let block = |text: &str, menu, reason| Block {
            text: text.into(),
            reason,
            chance: 0.1,
            cell: false,
            menu,
        };
        document.blocks = vec![
            block("Home", true, Reason::Structure),
            block("Text", false, Reason::Text),
            block("Products", true, Reason::Unlike),
            block("Secret", false, Reason::Hidden),
            block(" ", false, Reason::Unlike),
            block("A box", false, Reason::Unlike),
            block("Imprint", false, Reason::Structure),
        ];
        assert_eq!(document.other_text(false), "A box\nImprint\nHome\nProducts");
        // Of a thin page, the rest is in the comparison text.
        assert_eq!(document.other_text(true), "Imprint\nHome");
        document.blocks.push(block(&"x".repeat(MAX_OTHER_TEXT), false, Reason::Unlike));
        assert_eq!(document.other_text(false), "A box\nImprint");
    }

    #[test]
    fn numbers_of_dropped_cells_are_evidence_and_dates_in_them_too() {
        let text = "The harbour office is open to everybody who has a boat or wants to have one soon, \
                    and it is closed when the fog is so thick that nobody finds the door of it.";
        let url = Url::parse("http://a.example/").unwrap();
        let limits = crate::Limits::default();
        let mut document = crate::extract(&url, None, b"<p>A page</p>", &limits);
        document.text =
            format!("{text} Boats, nets, ropes, sails, anchors and lamps are sold there too.");
        let hash = |bytes: &[u8]| {
            bytes.iter().fold(7u64, |sum, byte| sum.wrapping_mul(31) ^ u64::from(*byte))
        };
        assert!(document.comparison_text(hash).features.numbers.is_empty());
        let block = |text: &str, cell, reason| Block {
            text: text.into(),
            reason,
            chance: 0.1,
            cell,
            menu: false,
        };
        document.blocks.extend([
            block("Monday 9:00", true, Reason::Unlike),
            block("12.50", true, Reason::OutsideRun),
            block("99", false, Reason::Unlike),
            block("77", true, Reason::Hidden),
        ]);
        assert_eq!(
            document.comparison_text(hash).features.numbers,
            [hash(b"9:00"), hash(b"12.50")]
        );
    }
}
