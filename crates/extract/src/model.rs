//! The model that decides about blocks: decision trees, fitted by `scripts/train-blocks` to pages with known text.
//!
//! Apart from the comparisons, all arithmetic is on integers or single divisions: every platform gets the same text.

use std::sync::LazyLock;

use crate::block_evidence::{EVIDENCE, Evidence, Witness};
use crate::blocks::Page;
use crate::context::{CONTEXT, Surroundings};
use crate::trees::{Forest, Judge};
use crate::votes::Votes;

const WEIGHTS: &str = include_str!("../data/blocks.model");

/// Distance of two entries in the table of chances, and the score of its first, in thousandths of a logit.
const STEP: i32 = 100;
const FIRST: i32 = -6000;

/// Maximum number of blocks whose values are kept for the second stage (0.7 MB). Larger pages compute them again.
const ROWS: usize = 2_048;

#[derive(Debug, Default)]
pub(crate) struct Model {
    /// The second stage also uses the context of a block: the first stage's scores around it.
    first: Forest,
    second: Forest,
    /// Probability that a block is text, in parts of 65,536, for scores from [`FIRST`] on.
    chances: Vec<u32>,
}

/// Returns the model of the recipe.
pub(crate) fn model() -> &'static Model {
    static MODEL: LazyLock<Model> = LazyLock::new(|| Model::read(WEIGHTS));
    &MODEL
}

impl Model {
    /// Reads the output of the script.
    fn read(text: &str) -> Self {
        let chances =
            text.lines().find_map(|line| line.strip_prefix("chances ")).unwrap_or_default();
        Self {
            first: Forest::read(text, "first "),
            second: Forest::read(text, "second "),
            chances: chances.split(' ').filter_map(|chance| chance.parse().ok()).collect(),
        }
    }

    /// Returns the score of each block, in thousandths of a logit.
    ///
    /// # Complexity
    /// Linear in blocks, elements and trees.
    pub(crate) fn scores(&self, page: &Page, votes: &Votes, sizes: &[u64]) -> Vec<i32> {
        self.scores_with(page, votes, sizes, ROWS)
    }

    /// `kept` is the maximum number of blocks whose values are kept.
    fn scores_with(&self, page: &Page, votes: &Votes, sizes: &[u64], kept: usize) -> Vec<i32> {
        let witness = Witness::new(page, votes);
        let mut judge = Judge::new(&self.first, EVIDENCE);
        let mut rows = Vec::new();
        witness.each(|evidence| {
            judge.push(evidence);
            if rows.len() < kept {
                rows.push(*evidence);
            }
        });
        let first = judge.finish();
        let around = Surroundings::new(page, &witness, sizes, &first, |score| self.chance(score));
        let mut judge = Judge::new(&self.second, EVIDENCE + CONTEXT);
        let mut number = 0;
        let mut push = |evidence: &Evidence| {
            judge.push(evidence.iter().chain(&around.of(number)));
            number += 1;
        };
        if first.len() <= kept {
            rows.iter().for_each(push);
        } else {
            witness.each(&mut push);
        }
        judge.finish()
    }

    /// Returns the probability that a block with this score is text, in parts of 65,536.
    pub(crate) fn chance(&self, score: i32) -> u32 {
        let last = self.chances.len().saturating_sub(1);
        let at = (score.saturating_sub(FIRST) / STEP).max(0) as usize;
        self.chances.get(at.min(last)).copied().unwrap_or(0)
    }

    /// Returns which blocks to keep: the N best blocks, where N maximises the expected F1. None below [`MIN_CHANCE`].
    pub(crate) fn keep(&self, scores: &[i32], sizes: &[u64]) -> Vec<bool> {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        let score = |at: usize| scores.get(at).copied().unwrap_or(i32::MIN);
        order.sort_by_key(|&at| (std::cmp::Reverse(score(at)), at));
        let size = |at: usize| sizes.get(at).copied().unwrap_or(0).min(MAX_SIZE);
        let right = |at: usize| size(at) * u64::from(self.chance(score(at)));
        let expected: u64 = order.iter().map(|&at| right(at)).sum();
        let (mut kept, mut found) = (0, 0);
        let (mut best, mut count) = (0.0, 0);
        for (number, &at) in order.iter().enumerate() {
            kept += size(at) * 65_536;
            found += right(at);
            let quality = found as f64 / (kept + expected).max(1) as f64;
            if quality > best {
                (best, count) = (quality, number + 1);
            }
        }
        let mut keep = vec![false; scores.len()];
        for at in order.into_iter().take(count) {
            if let Some(slot) = keep.get_mut(at) {
                *slot = self.chance(score(at)) >= MIN_CHANCE;
            }
        }
        keep
    }

    /// Returns the expected F1 of keeping these blocks, 0 to 1; 0 if none is kept.
    pub(crate) fn expected_f1(&self, keep: &[bool], scores: &[i32], sizes: &[u64]) -> f32 {
        let (mut kept, mut found, mut expected) = (0, 0, 0);
        for ((keep, score), size) in keep.iter().zip(scores).zip(sizes) {
            let size = (*size).min(MAX_SIZE);
            let right = size * u64::from(self.chance(*score));
            expected += right;
            if *keep {
                (kept, found) = (kept + size * 65_536, found + right);
            }
        }
        2.0 * found as f32 / (kept + expected).max(1) as f32
    }
}

/// Maximum size of a block in tokens. Otherwise a huge block would be kept whatever its probability.
const MAX_SIZE: u64 = 1000;

/// Minimum probability of a kept block, in parts of 65,536: one in ten.
const MIN_CHANCE: u32 = 6_554;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_grow_with_scores() {
        let chances = &model().chances;
        assert!(chances.is_sorted() && chances.len() == 121);
    }

    #[test]
    fn evidence_that_is_gathered_again_is_the_same() {
        let html = "<h1>A page</h1><nav><a href=/>home</a></nav><p>This is the text of it, and \
                    there is more of that below.</p><p>So it goes on for a while.</p>";
        let html = scraper::Html::parse_document(&html.repeat(3));
        let page = crate::blocks::collect(
            &html,
            &crate::styles::Styles::default(),
            &crate::Limits::default(),
        );
        let votes = crate::content::vote(&page, crate::stop_lists::StopLists::First.of("en"));
        let scores = |kept| model().scores_with(&page, &votes, &votes.sizes(), kept);
        assert_eq!(scores(usize::MAX).len(), 12);
        assert!([0, 11, 12].map(scores).iter().all(|some| *some == scores(usize::MAX)));
    }

    #[test]
    fn the_set_of_greatest_expected_f1_is_kept() {
        let model = model();
        let sizes = [10, 10, 10, 10];
        assert_eq!(model.keep(&[5000, -5000, 4000, -5900], &sizes), [true, false, true, false]);
        // If the best probability is low, blocks below one half are kept too.
        assert_eq!(model.keep(&[-500, -500, -500, -5900], &sizes), [true, true, true, false]);
        assert_eq!(model.keep(&[-5900, -5900], &sizes[..2]), [false, false]);
        assert!(model.keep(&[], &[]).is_empty());
        let f1 = |keep: &[bool]| model.expected_f1(keep, &[5000, -5000, 4000, -5900], &sizes);
        let best = f1(&[true, false, true, false]);
        assert!(best > 0.9 && best <= 1.0 && f1(&[true; 4]) < best && f1(&[false; 4]) == 0.0);
        assert_eq!(
            (model.chance(i32::MIN), model.chance(i32::MAX) > 65_000),
            (model.chance(FIRST), true)
        );
    }
}
