//! The weights by which the evidence about a block counts: decision trees, fitted by
//! `scripts/train-blocks` to pages with known text and stored as data.
//!
//! Everything after the comparison of a value with a threshold is arithmetic of integers or of
//! single divisions, so that the same page gives the same text on every platform.

use std::sync::LazyLock;

use crate::evidence::{EVIDENCE, Evidence};

const WEIGHTS: &str = include_str!("../data/blocks.model");

/// Thousandths between two entries of the table of chances, and the score of its first.
const STEP: i32 = 100;
const FIRST: i32 = -6000;

/// The most leaves of a tree.
const LEAVES: usize = 16;

/// Blocks that are judged side by side, in vectors.
const BLOCKS: usize = 16;
/// Of each value, what it is for each of these blocks.
type Side = [[f32; BLOCKS]; EVIDENCE];

/// A question to one value. Of a tree all are asked, which many blocks can be at once: cheaper than
/// to follow for each the few that lead to its leaf, for where those lie cannot be foretold.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// What the value is compared with.
    threshold: f32,
    /// The value that is compared.
    feature: u16,
    /// The leaves on the side below, none of which is left when the value is above.
    below: u32,
}

impl Node {
    /// Nothing is above it.
    const NONE: Self = Self { threshold: f32::INFINITY, feature: 0, below: 0 };
}

/// The leaves of a tree are numbered from left, and the first that is left over is the one
/// (QuickScorer; Lucchese et al., SIGIR 2015).
#[derive(Clone, Copy, Debug)]
struct Tree {
    nodes: [Node; LEAVES - 1],
    scores: [i16; LEAVES],
}

#[derive(Debug, Default)]
pub(crate) struct Model {
    trees: Vec<Tree>,
    /// For scores from [`FIRST`] on: how often such a block is text, in parts of 65,536.
    chances: Vec<u32>,
}

/// The model of the recipe.
pub(crate) fn model() -> &'static Model {
    static MODEL: LazyLock<Model> = LazyLock::new(|| Model::read(WEIGHTS));
    &MODEL
}

impl Model {
    /// Reads what the script wrote; what is no tree is left out, for a test reads the file whole.
    fn read(text: &str) -> Self {
        let mut model = Self::default();
        for line in text.lines() {
            if let Some(chances) = line.strip_prefix("chances ") {
                model.chances = chances.split(' ').filter_map(|c| c.parse().ok()).collect();
            } else if let Some(tree) = line.strip_prefix("tree ") {
                model.trees.extend(Tree::read(tree));
            }
        }
        model
    }

    /// How much speaks for each block, in thousandths of a logit.
    ///
    /// # Complexity
    /// Linear in the nodes of all trees.
    fn score(&self, evidence: &Side) -> [i32; BLOCKS] {
        let mut sum = [0; BLOCKS];
        for Tree { nodes, scores } in &self.trees {
            let mut left = [u32::MAX; BLOCKS];
            for &Node { threshold, feature, below } in nodes {
                let Some(values) = evidence.get(usize::from(feature)) else { continue };
                for (left, value) in left.iter_mut().zip(values) {
                    *left &= !(u32::from(*value > threshold).wrapping_neg() & below);
                }
            }
            for (sum, left) in sum.iter_mut().zip(left) {
                let leaf = left.trailing_zeros() as usize % LEAVES;
                *sum += scores.get(leaf).copied().map_or(0, i32::from);
            }
        }
        sum
    }

    /// How often a block of this score is text, in parts of 65,536.
    pub(crate) fn chance(&self, score: i32) -> u32 {
        let last = self.chances.len().saturating_sub(1);
        let at = (score.saturating_sub(FIRST) / STEP).max(0) as usize;
        self.chances.get(at.min(last)).copied().unwrap_or(0)
    }

    /// Which blocks to keep, given their scores and sizes: the set of greatest expected F1, which
    /// always is that of the best few. Nothing, where nothing is likely.
    pub(crate) fn keep(&self, scores: &[i32], sizes: &[u64]) -> Vec<bool> {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        let score = |at: usize| scores.get(at).copied().unwrap_or(i32::MIN);
        order.sort_by_key(|&at| (std::cmp::Reverse(score(at)), at));
        let size = |at: usize| sizes.get(at).copied().unwrap_or(0);
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
}

/// Scores block after block.
pub(crate) struct Judge<'a> {
    model: &'a Model,
    waiting: Box<Side>,
    count: usize,
    scores: Vec<i32>,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(model: &'a Model) -> Self {
        Self { model, waiting: Box::new([[0.0; BLOCKS]; EVIDENCE]), count: 0, scores: Vec::new() }
    }

    pub(crate) fn push(&mut self, evidence: &Evidence) {
        for (slots, value) in self.waiting.iter_mut().zip(evidence) {
            if let Some(slot) = slots.get_mut(self.count) {
                *slot = *value;
            }
        }
        self.count += 1;
        if self.count == BLOCKS {
            self.judge();
        }
    }

    fn judge(&mut self) {
        self.scores.extend(self.model.score(&self.waiting).into_iter().take(self.count));
        self.count = 0;
    }

    /// Of each block pushed, in thousandths of a logit.
    pub(crate) fn finish(mut self) -> Vec<i32> {
        self.judge();
        self.scores
    }
}

/// A block is text with at least this chance, in parts of 65,536: one in ten.
const MIN_CHANCE: u32 = 6_554;

impl Tree {
    /// Reads `feature:threshold:left:right` for a node and `score` for a leaf, each after its
    /// parent; `None` for what is no tree, or one of too many leaves.
    fn read(text: &str) -> Option<Self> {
        let parts: Vec<Vec<&str>> = text.split(' ').map(|node| node.split(':').collect()).collect();
        let mut tree = Self { nodes: [Node::NONE; LEAVES - 1], scores: [0; LEAVES] };
        let (mut nodes, mut leaves) = (tree.nodes.iter_mut(), 0usize);
        // From left to right, with the node whose left side each one ends.
        let mut open: Vec<(usize, Option<(Node, u32)>)> = vec![(0, None)];
        while let Some((at, closes)) = open.pop() {
            if let Some((node, first)) = closes {
                // What came since is its left side.
                let below = u32::MAX.checked_shl(first)? & !u32::MAX.checked_shl(leaves as u32)?;
                *nodes.next()? = Node { below, ..node };
            }
            match parts.get(at)?.as_slice() {
                [score] => {
                    *tree.scores.get_mut(leaves)? = score.parse().ok()?;
                    leaves += 1;
                }
                [feature, threshold, left, right] => {
                    let [left, right] = [left.parse().ok()?, right.parse().ok()?];
                    if left <= at || right <= at {
                        return None;
                    }
                    let threshold = at_most(threshold.parse().ok()?);
                    let node = Node { threshold, feature: feature.parse().ok()?, ..Node::NONE };
                    open.push((right, Some((node, leaves as u32))));
                    open.push((left, None));
                }
                _ => return None,
            }
        }
        Some(tree)
    }
}

/// The largest `f32` that is not above `threshold`: no value changes sides.
fn at_most(threshold: f64) -> f32 {
    let near = threshold as f32;
    if f64::from(near) > threshold { near.next_down() } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::EVIDENCE;

    /// The trees as they are written, walked from the root.
    fn walked(text: &str, evidence: &Evidence) -> i32 {
        let mut score = 0;
        for tree in text.lines().filter_map(|line| line.strip_prefix("tree ")) {
            let nodes: Vec<&str> = tree.split(' ').collect();
            let mut at = 0;
            loop {
                let node = *nodes.get(at).unwrap();
                let parts: Vec<&str> = node.split(':').collect();
                let [feature, threshold, left, right] = *parts.as_slice() else {
                    score += node.parse::<i32>().unwrap();
                    break;
                };
                let value = evidence.get(feature.parse::<usize>().unwrap()).unwrap();
                let value = f64::from(*value);
                let below = value <= threshold.parse().unwrap();
                at = if below { left } else { right }.parse().unwrap();
            }
        }
        score
    }

    fn score(model: &Model, evidence: &Evidence) -> i32 {
        let mut judge = Judge::new(model);
        judge.push(evidence);
        judge.finish().remove(0)
    }

    fn some_evidence(seed: u8) -> Evidence {
        let mut evidence = [0.0; EVIDENCE];
        for (at, value) in evidence.iter_mut().enumerate() {
            *value =
                f32::from((at as u8).wrapping_mul(37).wrapping_add(seed.wrapping_mul(29)) % 64)
                    / 4.0;
        }
        evidence
    }

    #[test]
    fn the_file_is_read_whole() {
        let model = model();
        let trees = WEIGHTS.lines().filter(|line| line.starts_with("tree ")).count();
        assert!(trees > 0 && model.trees.len() == trees);
        assert!(model.chances.is_sorted() && model.chances.len() == 121);
        let nodes = model.trees.iter().flat_map(|tree| tree.nodes);
        assert!(nodes.clone().all(|node| usize::from(node.feature) < EVIDENCE));
        assert!(nodes.filter(|node| node.threshold < f32::INFINITY).count() > trees * LEAVES / 2);
    }

    #[test]
    fn all_questions_lead_to_the_leaf_that_a_walk_leads_to() {
        for count in [0, 1, BLOCKS - 1, BLOCKS, 251] {
            let blocks: Vec<Evidence> = (0..count).map(|seed| some_evidence(seed as u8)).collect();
            let mut judge = Judge::new(model());
            blocks.iter().for_each(|evidence| judge.push(evidence));
            let walked: Vec<i32> = blocks.iter().map(|block| walked(WEIGHTS, block)).collect();
            assert_eq!(judge.finish(), walked);
        }
    }

    #[test]
    fn what_is_no_tree_is_left_out() {
        let deep: Vec<String> =
            (0..16).map(|i| format!("0:{i}:{}:{}", 2 * i + 1, 2 * i + 2)).collect();
        let interleaved = deep.iter().map(|node| format!("{node} 1")).collect::<Vec<_>>().join(" ");
        for text in
            ["", "x", "0:1.5:1:2 3", "0:1:0:0", "0:1:1 2 3", "1:2:3:4:5", "70000", &interleaved]
        {
            assert!(Tree::read(text).is_none(), "{text}");
        }
        assert!(Tree::read("0:1.5:1:2 3 4").is_some());
    }

    #[test]
    fn the_set_of_greatest_expected_f1_is_kept() {
        let model = model();
        let sizes = [10, 10, 10, 10];
        assert_eq!(model.keep(&[5000, -5000, 4000, -5900], &sizes), [true, false, true, false]);
        // Where the best chance is poor, more is kept than one block in two would be.
        assert_eq!(model.keep(&[-500, -500, -500, -5900], &sizes), [true, true, true, false]);
        assert_eq!(model.keep(&[-5900, -5900], &sizes[..2]), [false, false]);
        assert!(model.keep(&[], &[]).is_empty());
        assert_eq!(
            (model.chance(i32::MIN), model.chance(i32::MAX) > 65_000),
            (model.chance(FIRST), true)
        );
    }

    #[test]
    fn a_value_at_the_threshold_goes_below_and_trees_add_up() {
        let model = Model::read("# x\ntree 0:1.5:1:2 -10 20\ntree 1:0.1:1:4 0:3.0:2:3 1 2 300\n");
        let mut evidence = [0.0; EVIDENCE];
        evidence[0] = 1.5;
        assert_eq!(score(&model, &evidence), -10 + 1);
        evidence[0] = 1.5f32.next_up();
        assert_eq!(score(&model, &evidence), 20 + 1);
        evidence[0] = 4.0;
        assert_eq!(score(&model, &evidence), 20 + 2);
        // As f32 a tenth is more than a tenth.
        evidence[1] = 0.1;
        assert_eq!(score(&model, &evidence), 20 + 300);
    }

    #[test]
    fn golden_score_holds_as_long_as_the_recipe() {
        let scores: Vec<i32> = (0..8).map(|seed| score(model(), &some_evidence(seed))).collect();
        assert_eq!(
            scores, GOLDEN,
            "texts, and so fingerprints, would be others: name a new recipe"
        );
    }
    const GOLDEN: [i32; 8] = [-2571, -2396, -2342, -2634, -1928, -2637, -1203, -2487];
}
