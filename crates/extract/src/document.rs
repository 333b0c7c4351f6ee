use url::Url;

use crate::charset::CharsetSource;
use crate::numbers::numbers_of_cell;
use crate::page_type::PageType;
use crate::parse::Truncation;
use crate::tokens::{Features, Shingles, features_by};
use crate::votes::Reason;

/// A run of text between two block-level tags.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The text, white space collapsed.
    pub text: String,
    /// Why it was kept or dropped.
    pub reason: Reason,
    /// How often a block with such evidence is text, 0 to 1.
    pub chance: f32,
    /// Whether it is in a cell of a table.
    pub cell: bool,
}

/// A link of the page, absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it leads.
    pub url: Url,
    /// `rel=nofollow` on it.
    pub nofollow: bool,
}

/// An image of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Where it lies.
    pub url: Url,
    /// Its alternative text.
    pub alt: String,
}

/// What `<meta name=robots>` asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RobotsMeta {
    /// Do not index.
    pub noindex: bool,
    /// Do not follow the links.
    pub nofollow: bool,
}

impl RobotsMeta {
    /// Reads one directive list, such as a meta's content or an `X-Robots-Tag` value.
    pub fn read(&mut self, directives: &str) {
        for word in directives.split(',').map(str::trim) {
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

/// A page, read.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its title, or its first heading.
    pub title: String,
    /// Two-letter code, or `""`.
    pub language: &'static str,
    /// Its first heading of the highest level that is not the site's; part of what a page is compared by.
    pub heading: String,
    /// Its own text: the kept blocks, one a line.
    pub text: String,
    /// All blocks in order.
    pub blocks: Vec<Block>,
    /// Where it leads.
    pub links: Vec<Link>,
    /// Links that are none of these: beyond the limits of their number and length.
    pub links_left_out: usize,
    /// Its images, but for those of navigation and the like.
    pub images: Vec<Image>,
    /// The address it names as its own.
    pub canonical: Option<Url>,
    /// What it asks of robots.
    pub robots: RobotsMeta,
    /// Where a meta refresh within a few seconds leads: a redirect in all but name.
    pub refresh: Option<Url>,
    /// The charset's name.
    pub charset: &'static str,
    /// What decided about the charset.
    pub charset_source: CharsetSource,
    /// Type of the page.
    pub page_type: PageType,
    /// Expected F1 of the text, 0 to 1; 1 for plain text.
    pub confidence: f32,
    /// The limit that cut the page short, if one did.
    pub truncated: Option<Truncation>,
}

/// With fewer content words than this a page has little text of its own.
pub(crate) const LITTLE_TEXT: u32 = 15;

/// The text by which a page is indexed and compared.
#[derive(Clone, Debug)]
pub struct Basis {
    /// The page's own text, or, if it has little, its title and all visible text.
    pub text: String,
    /// Whether it has little text of its own: then only equal pages are duplicates, for the rest
    /// is the template that all pages of a site share.
    pub little: bool,
    /// Features of that text.
    pub features: Features,
}

impl Document {
    /// What the page is compared by; `hash` hashes the features.
    pub fn basis(&self, hash: impl Fn(&[u8]) -> u64 + Copy + 'static) -> Basis {
        self.basis_of(Shingles::default(), hash)
    }

    /// The same with these shingles.
    pub(crate) fn basis_of(
        &self,
        shingles: Shingles,
        hash: impl Fn(&[u8]) -> u64 + Copy + 'static,
    ) -> Basis {
        let features = |text: &str| features_by(text, self.language, shingles, hash);
        // Pages made from one template may differ in their heading alone.
        let text = if self.heading.is_empty() || self.text.contains(&self.heading) {
            self.text.clone()
        } else {
            format!("{}\n{}", self.own_heading(), self.text)
        };
        let mut own = features(&text);
        if own.tokens >= LITTLE_TEXT {
            own.numbers.extend(self.numbers_of_cells(hash));
            return Basis { text, little: false, features: own };
        }
        let text = format!("{}\n{}", self.title, self.visible());
        let mut all = features(&text);
        // Few tokens tell the decision that this is a template; without a name nothing tells two
        // pages of it apart, so there are no shingles either.
        if self.title.is_empty() && self.heading.is_empty() {
            all.shingles.clear();
        }
        all.tokens = all.tokens.min(LITTLE_TEXT - 1);
        Basis { text, little: true, features: all }
    }

    /// The numbers of tables that were dropped: pages of one template may differ in them alone.
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

    /// All visible text but navigation, boilerplate too: for pages that have little text of their
    /// own.
    pub fn visible(&self) -> String {
        let shown =
            self.blocks.iter().filter(|b| !matches!(b.reason, Reason::Hidden | Reason::Structure));
        let lines: Vec<&str> = shown.map(|block| block.text.as_str()).collect();
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(document.basis(hash).features.numbers.is_empty());
        let block =
            |text: &str, cell, reason| Block { text: text.into(), reason, chance: 0.1, cell };
        document.blocks.extend([
            block("Monday 9:00", true, Reason::Unlike),
            block("12.50", true, Reason::OutsideRun),
            block("99", false, Reason::Unlike),
            block("77", true, Reason::Hidden),
        ]);
        assert_eq!(document.basis(hash).features.numbers, [hash(b"9:00"), hash(b"12.50")]);
    }
}
