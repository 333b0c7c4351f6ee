//! Feature values of each block: its counts, those of its neighbours and elements, the result of the stopword rule.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use crate::blocks::{ElementInfo, Page, RawBlock};
use crate::class_words::Marks;
use crate::measure::Measure;
use crate::votes::{Reason, Votes, is_set};

/// Number of feature values per block.
pub(crate) const EVIDENCE: usize = 86;

/// Feature values of one block, in the order of the `push` calls in [`Witness::each`].
pub(crate) type Evidence = [f32; EVIDENCE];

/// Sums over a subtree, or over all blocks with one signature.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    words: f64,
    stopwords: f64,
    /// Words in links.
    linked: f64,
    value: f64,
    blocks: f64,
    sentences: f64,
    /// Blocks that mention cookies.
    cookies: f64,
}

impl Sums {
    fn of(m: &Measure, value: f64, cookies: bool) -> Self {
        Self {
            cookies: f64::from(u8::from(cookies)),
            words: m.words,
            stopwords: m.stopwords / m.fair.max(0.01),
            linked: m.words * m.link_density,
            value,
            blocks: 1.0,
            sentences: f64::from(u8::from(m.ends_sentence && m.words >= 6.0)),
        }
    }

    fn add(&mut self, other: &Self) {
        self.words += other.words;
        self.stopwords += other.stopwords;
        self.linked += other.linked;
        self.value += other.value;
        self.blocks += other.blocks;
        self.sentences += other.sentences;
        self.cookies += other.cookies;
    }

    fn density(&self) -> f64 {
        self.stopwords / self.words.max(1.0)
    }

    fn link_density(&self) -> f64 {
        self.linked / self.words.max(1.0)
    }
}

/// Distance from an element up to the nearest element of each kind: 0 for the element itself.
#[derive(Clone, Copy, Debug)]
struct Distances {
    marks: [u8; Marks::ALL.len()],
    content: u8,
    article: u8,
    /// The outermost ancestor below the container.
    branch: usize,
}

/// Farther away, or absent.
const FAR: u8 = 99;
/// Added at the container: elements around it contain the text too.
const BEYOND: u8 = 20;

impl Distances {
    const START: Self =
        Self { marks: [FAR; Marks::ALL.len()], content: FAR, article: FAR, branch: 0 };
}

/// Returns the [`Distances`] of each element. Parents come before their children.
fn distances(page: &Page, votes: &Votes) -> Vec<Distances> {
    let mut distances: Vec<Distances> = Vec::with_capacity(page.elements.len());
    for (at, element) in page.elements.iter().enumerate() {
        if at == 0 {
            distances.push(Distances::START);
            continue;
        }
        let step = if at == votes.container { 1 + BEYOND } else { 1 };
        let further = |steps: u8| steps.saturating_add(step).min(FAR);
        let above = distances.get(element.parent).copied().unwrap_or(Distances::START);
        let mut distance = Distances { branch: above.branch, ..Distances::START };
        for ((steps, above), mark) in distance.marks.iter_mut().zip(above.marks).zip(Marks::ALL) {
            *steps = if element.marks.has(mark) { 0 } else { further(above) };
        }
        distance.content = if element.content { 0 } else { further(above.content) };
        distance.article = if element.article { 0 } else { further(above.article) };
        let outermost = above.branch == 0 || above.branch == votes.container;
        if outermost {
            distance.branch = at;
        }
        distances.push(distance);
    }
    distances
}

struct Row {
    values: Evidence,
    at: usize,
}

impl Row {
    fn push(&mut self, value: f64) {
        if let Some(slot) = self.values.get_mut(self.at) {
            *slot = value as f32;
        }
        self.at += 1;
    }

    fn flag(&mut self, value: bool) {
        self.push(f64::from(u8::from(value)));
    }
}

/// Computes the feature values of the blocks of a page.
pub(crate) struct Witness<'a> {
    page: &'a Page,
    votes: &'a Votes,
    /// Sums of each element's subtree.
    subtrees: Vec<Sums>,
    signatures: HashMap<u32, Sums, RandomState>,
    whole: Sums,
    /// For each block, whether it mentions cookies.
    cookies: Vec<bool>,
    /// Number of occurrences of each text on the page.
    texts: HashMap<&'a str, u32, RandomState>,
    articles: f64,
    best_signature: f64,
    /// First and last block that the stopword rule keeps.
    first_kept: usize,
    last_kept: usize,
    title_words: HashSet<&'a [u8], RandomState>,
    distances: Vec<Distances>,
}

impl<'a> Witness<'a> {
    /// # Complexity
    /// Linear in blocks and elements, whatever their depth.
    pub(crate) fn new(page: &'a Page, votes: &'a Votes) -> Self {
        let mut subtrees = vec![Sums::default(); page.elements.len()];
        let mut signatures: HashMap<u32, Sums, RandomState> = HashMap::default();
        let mut texts: HashMap<&str, u32, RandomState> = HashMap::default();
        let mut whole = Sums::default();
        let cookies: Vec<bool> =
            page.blocks.iter().map(|block| speaks_of_cookies(&block.text)).collect();
        let measured = page.blocks.iter().zip(&votes.measures).zip(&votes.values).zip(&cookies);
        for (((block, m), value), cookies) in measured {
            let sums = Sums::of(m, *value, *cookies);
            if let Some(subtree) = subtrees.get_mut(block.element) {
                subtree.add(&sums);
            }
            signatures.entry(page.signature(block.element)).or_default().add(&sums);
            *texts.entry(&block.text).or_default() += 1;
            whole.add(&sums);
        }
        page.carry_up(&mut subtrees, |parent, child| parent.add(child));
        let kept = votes.reasons.iter().enumerate().filter(|(_, reason)| **reason == Reason::Text);
        let (first_kept, last_kept) =
            kept.fold((usize::MAX, 0), |(first, last), (at, _)| (first.min(at), last.max(at)));
        Self {
            page,
            votes,
            articles: page.elements.iter().filter(|element| element.article).count() as f64,
            best_signature: signatures.values().map(|sums| sums.value).fold(1.0, f64::max),
            first_kept,
            last_kept,
            title_words: words(&page.title).map(str::as_bytes).collect(),
            distances: distances(page, votes),
            subtrees,
            signatures,
            whole,
            cookies,
            texts,
        }
    }

    fn distance(&self, element: usize) -> Distances {
        self.distances.get(element).copied().unwrap_or(Distances::START)
    }

    /// Returns the outermost ancestor inside the container; outside of the container, the element itself.
    fn branch(&self, element: usize) -> usize {
        if is_set(&self.votes.inside, element) { self.distance(element).branch } else { element }
    }

    /// Returns the elements whose blocks say most about those of `element`: parent, grandparent, [`Self::branch`].
    pub(crate) fn kin(&self, element: usize) -> [usize; 3] {
        let parent = |at: usize| self.page.elements.get(at).map_or(0, |element| element.parent);
        [parent(element), parent(parent(element)), self.branch(element)]
    }

    /// Calls `visit` with the values of each block in turn: those of all blocks would take more memory than the page.
    ///
    /// # Complexity
    /// Linear in the blocks.
    pub(crate) fn each(&self, mut visit: impl FnMut(&Evidence)) {
        let Self { page, votes, whole, .. } = self;
        let mut words_before = 0.0;
        let mut heading_before = (0u8, usize::MAX);
        for (at, (block, m)) in page.blocks.iter().zip(&votes.measures).enumerate() {
            let mut row = Row { values: [0.0; EVIDENCE], at: 0 };
            let element = page.elements.get(block.element).cloned().unwrap_or_default();
            self.put_block(&mut row, block, m, &element);
            // Position.
            row.push(at as f64);
            row.push(words_before / whole.words.max(1.0));
            row.push(f64::from(element.depth));
            row.push(f64::from(heading_before.0));
            row.push(if heading_before.1 == usize::MAX {
                -1.0
            } else {
                (at - heading_before.1) as f64
            });
            self.put_page(&mut row);
            self.put_neighbours(&mut row, at);
            self.put_votes(&mut row, at, block);
            self.put_elements(&mut row, block);
            self.put_kind(&mut row, at, block, &element);
            debug_assert_eq!(row.at, EVIDENCE, "EVIDENCE is the number of pushes");
            visit(&row.values);
            words_before += m.words;
            if block.heading > 0 {
                heading_before = (block.heading, at);
            }
        }
    }

    fn put_block(&self, row: &mut Row, block: &RawBlock, m: &Measure, element: &ElementInfo) {
        row.push(m.words);
        row.push(m.density());
        row.push(m.link_density);
        row.push(f64::from(block.links));
        row.push(m.chars as f64 / m.words.max(1.0));
        row.push(m.digits as f64 / m.chars.max(1) as f64);
        row.push(m.marks as f64 / m.words.max(1.0));
        row.push(m.capitals as f64 / m.words.max(1.0));
        row.flag(m.ends_sentence);
        row.push(f64::from(block.heading));
        row.push(f64::from(element.tag as u8));
        row.flag(m.fair < 0.2);
        row.flag(block.hidden);
        row.flag(block.structure);
        row.flag(speaks_of_rights(&block.text));
        row.push(f64::from(self.texts.get(block.text.as_str()).copied().unwrap_or(1)));
        row.push(shared(&self.title_words, &block.text));
    }

    fn put_page(&self, row: &mut Row) {
        let Self { page, whole, .. } = self;
        row.push(whole.words);
        row.push(whole.density());
        row.push(whole.link_density());
        row.push(whole.blocks);
        row.push(whole.value);
        row.push(self.articles);
        row.flag(page.kinds.article);
        row.flag(page.kinds.forum);
        row.flag(page.kinds.product);
        row.flag(page.kinds.list);
    }

    fn put_neighbours(&self, row: &mut Row, at: usize) {
        let votes = &self.votes;
        for step in [-1isize, 1, -2, 2] {
            let neighbour = at.checked_add_signed(step).and_then(|at| votes.measures.get(at));
            row.push(neighbour.map_or(-1.0, |m| m.words));
            row.push(neighbour.map_or(-1.0, Measure::density));
            row.push(neighbour.map_or(-1.0, |m| m.link_density));
        }
    }

    /// Result of the stopword rule.
    fn put_votes(&self, row: &mut Row, at: usize, block: &RawBlock) {
        let Self { votes, whole, .. } = self;
        let container_sums = self.sums_of(votes.container);
        row.push(match votes.reasons.get(at) {
            Some(Reason::Text) => 0.0,
            Some(Reason::OutsideRun | Reason::TrailingHeading) => 1.0,
            Some(Reason::Links) => 2.0,
            Some(Reason::OtherArticle) => 3.0,
            Some(Reason::Name) => 4.0,
            Some(Reason::OutsideContainer) => 5.0,
            _ => 6.0,
        });
        row.push(votes.values.get(at).copied().unwrap_or(0.0));
        row.push((self.first_kept as f64 - at as f64).max(0.0));
        row.push((at as f64 - self.last_kept as f64).max(0.0));
        let inside = is_set(&votes.inside, block.element);
        row.flag(inside);
        row.push(container_sums.words / whole.words.max(1.0));
        row.push(container_sums.link_density());
        row.push(container_sums.blocks);
    }

    /// Values of the elements around the block, innermost first.
    fn put_elements(&self, row: &mut Row, block: &RawBlock) {
        let Self { page, votes, whole, .. } = self;
        let container_sums = self.sums_of(votes.container);
        let up = self.distance(block.element);
        up.marks.iter().for_each(|nearest| row.push(f64::from(*nearest)));
        row.push(f64::from(up.content));
        row.push(f64::from(up.article));
        let mut parents = [None; 3];
        let mut above = block.element;
        for slot in &mut parents {
            if above == 0 {
                break;
            }
            *slot = Some(above);
            above = page.elements.get(above).map_or(0, |element| element.parent);
        }
        for number in 1..3 {
            let sums = parents
                .get(number)
                .copied()
                .flatten()
                .map(|at| self.sums_of(at))
                .unwrap_or_default();
            row.push(sums.words);
            row.push(sums.density());
            row.push(sums.link_density());
            row.push(sums.blocks);
            row.push(sums.value / whole.value.max(1.0));
        }
        let sums = self.sums_of(self.branch(block.element));
        row.push(sums.words);
        row.push(sums.link_density());
        row.push(sums.value / container_sums.value.max(1.0));
    }

    /// Values of all blocks in elements with the same signature.
    fn put_kind(&self, row: &mut Row, at: usize, block: &RawBlock, element: &ElementInfo) {
        let whole = &self.whole;
        let sums = self.signatures.get(&element.signature).copied().unwrap_or_default();
        row.push(sums.blocks);
        row.push(sums.words / whole.words.max(1.0));
        row.push(sums.density());
        row.push(sums.link_density());
        row.push(sums.value / self.best_signature);
        row.push(sums.sentences / sums.blocks.max(1.0));
        // Consent dialogs are full sentences, and on a short page longer than the text.
        row.flag(is_set(&self.cookies, at));
        let [parent, ..] = self.kin(block.element);
        let parent = self.sums_of(parent);
        row.push(parent.cookies / parent.blocks.max(1.0));
    }

    fn sums_of(&self, at: usize) -> Sums {
        self.subtrees.get(at).copied().unwrap_or_default()
    }
}

/// Nearly all languages use the English word for these cookies.
fn speaks_of_cookies(text: &str) -> bool {
    text.contains("ookie")
}

/// A copyright notice is seldom part of a text.
fn speaks_of_rights(text: &str) -> bool {
    // Two searches: `contains` with an array of characters would decode each character.
    text.contains("opyright") || !text.is_ascii() && (text.contains('©') || text.contains('®'))
}

pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Returns the share of a text's first words that are in the title.
fn shared(title: &HashSet<&[u8], RandomState>, text: &str) -> f64 {
    let (mut all, mut found) = (0u32, 0u32);
    let mut count = |word: &[u8]| {
        all += 1;
        found += u32::from(title.contains(word));
    };
    if text.is_ascii() {
        let words = text.as_bytes().split(|byte| !byte.is_ascii_alphanumeric());
        words.filter(|word| !word.is_empty()).take(SHARED).for_each(&mut count);
    } else {
        words(text).take(SHARED).map(str::as_bytes).for_each(&mut count);
    }
    f64::from(found) / f64::from(all.max(1))
}

/// Number of words compared with the title.
const SHARED: usize = 40;
