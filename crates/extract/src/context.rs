//! Feature values of the second stage: scores of the first stage around a block (stacking; Wolpert 1992).
//!
//! A comment that reads like the article is among comments, a short line of the article among paragraphs. The values
//! are the scores of neighbours, and shares of text around, before and after the block and in its elements.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::block_evidence::Witness;
use crate::blocks::Page;

/// Number of values that the second stage adds.
pub(crate) const CONTEXT: usize = 29;

/// Context values of one block, in the order of the `push` calls in [`Surroundings::of`].
pub(crate) type Context = [f32; CONTEXT];

/// Offsets of the neighbours whose scores are values.
const NEIGHBOURS: [isize; 6] = [-1, 1, -2, 2, -3, 3];
/// Score of a missing neighbour, in thousandths.
const NOBODY: i32 = -9000;
/// Numbers of blocks on each side for which the share of text is computed.
const WINDOWS: [usize; 3] = [2, 5, 15];

/// Size of blocks, and the part that is likely text.
#[derive(Clone, Copy, Debug, Default)]
struct Mass {
    size: u64,
    text: u64,
}

impl Mass {
    fn add(&mut self, other: &Self) {
        self.size += other.size;
        self.text += other.text;
    }

    const fn less(self, other: Self) -> Self {
        Self {
            size: self.size.saturating_sub(other.size),
            text: self.text.saturating_sub(other.text),
        }
    }

    /// The share that is likely text, 0 to 1.
    fn share(self) -> f32 {
        ratio(self.text, self.size.saturating_mul(CERTAIN))
    }
}

/// A probability of one.
const CERTAIN: u64 = 65_536;
/// Size of a token. Each block adds one, so that its size is never 0.
const TOKEN: u64 = 10;

fn ratio(part: u64, whole: u64) -> f32 {
    (part as f64 / whole.max(1) as f64) as f32
}

/// The blocks of a page after the first stage.
pub(crate) struct Surroundings<'a> {
    page: &'a Page,
    witness: &'a Witness<'a>,
    /// In thousandths of a logit.
    scores: &'a [i32],
    best: i32,
    /// Prefix sums; the last entry is the total.
    before: Vec<Mass>,
    /// Sums of each element's subtree, and of each signature.
    subtrees: Vec<Mass>,
    signatures: HashMap<u32, Mass, RandomState>,
}

impl<'a> Surroundings<'a> {
    /// `chance` returns the probability that a block with a score is text, in parts of 65,536.
    ///
    /// # Complexity
    /// Linear in blocks and elements.
    pub(crate) fn new(
        page: &'a Page,
        witness: &'a Witness<'a>,
        sizes: &[u64],
        scores: &'a [i32],
        chance: impl Fn(i32) -> u32,
    ) -> Self {
        let mut before = Vec::with_capacity(scores.len() + 1);
        let mut whole = Mass::default();
        let mut subtrees = vec![Mass::default(); page.elements.len()];
        let mut signatures: HashMap<u32, Mass, RandomState> = HashMap::default();
        for ((block, score), tokens) in page.blocks.iter().zip(scores).zip(sizes) {
            let size = tokens * TOKEN + 1;
            let mass = Mass { size, text: size * u64::from(chance(*score)) };
            before.push(whole);
            whole.add(&mass);
            if let Some(subtree) = subtrees.get_mut(block.element) {
                subtree.add(&mass);
            }
            signatures.entry(page.signature(block.element)).or_default().add(&mass);
        }
        before.push(whole);
        page.carry_up(&mut subtrees, Mass::add);
        let best = scores.iter().copied().max().unwrap_or(NOBODY);
        Self { page, witness, scores, best, before, subtrees, signatures }
    }

    fn between(&self, from: usize, to: usize) -> Mass {
        let before = |at: usize| self.before.get(at.min(self.scores.len())).copied();
        before(to).unwrap_or_default().less(before(from).unwrap_or_default())
    }

    /// Returns the context values of a block.
    ///
    /// # Complexity
    /// Constant.
    pub(crate) fn of(&self, at: usize) -> Context {
        let mut context = [0.0; CONTEXT];
        let mut slots = context.iter_mut();
        let mut push = |value: f32| {
            if let Some(slot) = slots.next() {
                *slot = value;
            }
        };
        let score = |at: Option<usize>| {
            at.and_then(|at| self.scores.get(at)).copied().unwrap_or(NOBODY) as f32
        };
        push(score(Some(at)));
        for step in NEIGHBOURS {
            push(score(at.checked_add_signed(step)));
        }
        for window in WINDOWS {
            let (first, end) = (at.saturating_sub(window), at + window + 1);
            push(self.between(first, end).share());
            push(self.between(first, at).share());
            push(self.between(at + 1, end).share());
        }
        let whole = self.between(0, usize::MAX);
        push(ratio(self.between(0, at).text, whole.text));
        push(ratio(self.between(at + 1, usize::MAX).text, whole.text));
        push(ratio(whole.text, CERTAIN * TOKEN));
        push(whole.share());
        let element = self.page.blocks.get(at).map_or(0, |block| block.element);
        let kin = self.witness.kin(element).map(|at| self.subtrees.get(at));
        let alike = self.signatures.get(&self.page.signature(element));
        for mass in kin.into_iter().chain([alike]) {
            let mass = mass.copied().unwrap_or_default();
            push(mass.share());
            push(ratio(mass.text, whole.text));
        }
        push(self.best as f32);
        debug_assert!(slots.next().is_none(), "CONTEXT is the number of pushes");
        context
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::{ElementInfo, RawBlock};
    use crate::content::vote;

    fn surroundings(blocks: &[(usize, u64, i32)], look: impl Fn(&Surroundings<'_>)) {
        let element = |parent| ElementInfo { parent, ..ElementInfo::default() };
        let page = Page {
            elements: [0, 0, 1, 1].map(element).to_vec(),
            blocks: blocks
                .iter()
                .map(|&(element, ..)| RawBlock {
                    element,
                    text: "text".to_owned(),
                    ..RawBlock::default()
                })
                .collect(),
            ..Page::default()
        };
        let votes = vote(&page, None);
        let witness = Witness::new(&page, &votes);
        let sizes: Vec<u64> = blocks.iter().map(|block| block.1).collect();
        let scores: Vec<i32> = blocks.iter().map(|block| block.2).collect();
        let chance = |score: i32| if score > 0 { CERTAIN as u32 } else { 0 };
        look(&Surroundings::new(&page, &witness, &sizes, &scores, chance));
    }

    #[test]
    fn shares_are_those_of_the_tokens_around() {
        // Elements 2 and 3 are in 1. Sizes are 10 per token plus 1 per block.
        let blocks = [(2, 100, 500), (3, 200, -500), (3, 700, 900)];
        surroundings(&blocks, |all| {
            let [first, second, third] = [0, 1, 2].map(|at| all.of(at));
            assert_eq!(&first[..7], &[500.0, -9000.0, -500.0, -9000.0, 900.0, -9000.0, -9000.0]);
            assert_eq!(&third[..7], &[900.0, -500.0, -9000.0, 500.0, -9000.0, -9000.0, -9000.0]);
            // Around, before, after.
            let near = |value: f32, wanted: f32| assert!((value - wanted).abs() < 0.01, "{value}");
            near(second[7], 0.8);
            near(second[8], 1.0);
            near(second[9], 1.0);
            near(third[8], 1.0 / 3.0);
            near(third[9], 0.0);
            // Before and after of all text, all text in tokens, its share of the page.
            near(second[16], 1.0 / 8.0);
            near(second[17], 7.0 / 8.0);
            assert!((second[18] - 800.2).abs() < 0.1);
            near(second[19], 0.8);
            // The parent and the signature cover all blocks.
            near(second[20], 0.8);
            near(second[21], 1.0);
            near(second[26], 0.8);
            assert_eq!([first[28], third[28]], [900.0; 2]);
        });
    }

    #[test]
    fn a_page_without_blocks_or_without_text_has_no_share() {
        surroundings(&[], |all| assert_eq!(all.of(0)[7], 0.0));
        surroundings(&[(1, 0, -1)], |all| assert!(all.of(0).iter().all(|value| value.is_finite())));
    }
}
