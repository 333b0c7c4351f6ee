//! Boxes beside an article that are no part of it: about its author, about personal data, and lists of other pages. Their
//! names alone say little, so each kind also needs its place, its size or its links.

use crate::blocks::{Page, Tag};
use crate::box_names::BoxName;
use crate::measure::Measure;
use crate::others::{blocks_in, main_headings};
use crate::votes::{Votes, is_set};

/// Minimum number of words of a sentence without a full stop: in many scripts, and in lines of text.
const SENTENCE: f64 = 12.0;
/// Maximum share of the words of a list of other pages that are in sentences.
const MAX_SENTENCES: f64 = 0.2;
/// Minimum number of blocks of such a list with a link to another page.
const LINKED: f64 = 3.0;
/// Maximum number of words of a notice about personal data.
const MAX_NOTICE: f64 = 160.0;
/// Words in the names of a page about personal data.
const ABOUT_PRIVACY: [&str; 10] = [
    "privacy",
    "gdpr",
    "rodo",
    "dsgvo",
    "rgpd",
    "consent",
    "datenschutz",
    "prywatno",
    "privaci",
    "données",
];
/// Maximum number of boxes about authors. A page with more is about them.
const MAX_AUTHORS: usize = 2;
/// Maximum share of the words in sentences that are after a box about the author.
const MAX_BEHIND: f64 = 0.15;

/// What an element contains.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    words: f64,
    in_sentences: f64,
    /// Blocks with a link to another page.
    linked: f64,
    /// Tables, quotations and code.
    solid: f64,
}

/// Words in sentences of a block, 0 for headings and links.
fn sentences(m: &Measure) -> f64 {
    let is_sentence = m.ends_sentence || m.words >= SENTENCE;
    if is_sentence && !m.heading && m.link_density < 0.4 { m.words } else { 0.0 }
}

fn contents(page: &Page, votes: &Votes) -> Vec<Content> {
    let mut contents = vec![Content::default(); page.elements.len()];
    for (element, content) in page.elements.iter().zip(&mut contents) {
        let is_solid = element.table || matches!(element.tag, Tag::Pre | Tag::Quote);
        content.solid = f64::from(u8::from(is_solid));
    }
    for (block, m) in page.blocks.iter().zip(&votes.measures) {
        let Some(content) = contents.get_mut(block.element) else { continue };
        content.words += m.words;
        content.in_sentences += sentences(m);
        content.linked += f64::from(u8::from(block.outward));
    }
    page.carry_up(&mut contents, |parent, child| {
        parent.words += child.words;
        parent.in_sentences += child.in_sentences;
        parent.linked += child.linked;
        parent.solid += child.solid;
    });
    contents
}

/// Returns the blocks of each kind of box that is not the page's own; `keep` are the blocks to keep so far. Boxes with the
/// main heading are the page's own, and headings, entries of lists and cells are no boxes.
///
/// # Complexity
/// Linear in blocks and elements.
pub(crate) fn boxes(page: &Page, votes: &Votes, keep: &[bool]) -> Vec<Vec<bool>> {
    if page.kinds.list || page.elements.iter().all(|element| element.box_name.is_none()) {
        return Vec::new();
    }
    let headings = main_headings(page);
    let contents = contents(page, votes);
    let named = |at: usize, name: BoxName| {
        page.elements.get(at).is_some_and(|element| {
            element.box_name == Some(name) && matches!(element.tag, Tag::Other | Tag::Paragraph)
        }) && headings.get(at) == Some(&0)
    };
    let content = |at: usize| contents.get(at).copied().unwrap_or_default();
    let is_list = |at: usize| {
        let content = content(at);
        content.solid == 0.0
            && content.linked >= LINKED
            && content.in_sentences <= MAX_SENTENCES * content.words
    };
    let others = blocks_in(page, |at| named(at, BoxName::Recommended) && is_list(at));
    let is_notice = |at: usize| content(at).words <= MAX_NOTICE;
    let notices = blocks_in(page, |at| named(at, BoxName::Privacy) && is_notice(at));
    let notices = notices.filter(|boxed| !is_about_privacy(page) && is_smaller(votes, keep, boxed));
    let is_author = |at: usize| named(at, BoxName::Author) && content(at).solid == 0.0;
    let authors = blocks_in(page, is_author).filter(|boxed| {
        count_outermost(page, is_author) <= MAX_AUTHORS && is_behind(votes, keep, boxed)
    });
    [others, notices, authors].into_iter().flatten().collect()
}

/// Returns the number of such elements that are in no other one.
fn count_outermost(page: &Page, is_one: impl Fn(usize) -> bool) -> usize {
    let inside = page.below(|at| at > 0 && is_one(at));
    let is_outer = |at: usize| page.elements.get(at).is_some_and(|e| !is_set(&inside, e.parent));
    (1..page.elements.len()).filter(|at| is_one(*at) && is_outer(*at)).count()
}

fn is_about_privacy(page: &Page) -> bool {
    let names = page.blocks.iter().filter(|block| block.heading == 1).map(|block| &block.text);
    names.chain([&page.title]).any(|name| {
        let name = name.to_lowercase();
        ABOUT_PRIVACY.iter().any(|word| name.contains(word))
    })
}

/// Returns whether at most half of the words to keep are in these blocks.
fn is_smaller(votes: &Votes, keep: &[bool], boxed: &[bool]) -> bool {
    let (mut inside, mut all) = (0.0, 0.0);
    for ((m, keep), boxed) in votes.measures.iter().zip(keep).zip(boxed) {
        all += if *keep { m.words } else { 0.0 };
        inside += if *keep && *boxed { m.words } else { 0.0 };
    }
    2.0 * inside <= all
}

/// Returns whether these blocks are behind nearly all sentences to keep, and have at most half of them.
fn is_behind(votes: &Votes, keep: &[bool], boxed: &[bool]) -> bool {
    let (mut inside, mut all, mut since) = (0.0, 0.0, 0.0);
    for (at, (m, boxed)) in votes.measures.iter().zip(boxed).enumerate() {
        let words = if is_set(keep, at) { sentences(m) } else { 0.0 };
        all += words;
        if *boxed {
            inside += words;
        } else if inside > 0.0 {
            since += words;
        }
    }
    all > 0.0 && 2.0 * inside <= all && since <= MAX_BEHIND * (all - inside)
}
