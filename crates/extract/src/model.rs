//! The weights by which the evidence about a block counts: decision trees, fitted by
//! `scripts/train-blocks` to pages with known text and stored as data.
//!
//! Everything after the comparison of a value with a threshold is arithmetic of integers or of
//! single divisions, so that the same page gives the same text on every platform.

use std::sync::LazyLock;

use crate::evidence::Evidence;

const WEIGHTS: &str = include_str!("../data/blocks.model");

/// Thousandths between two entries of the table of chances, and the score of its first.
const STEP: i32 = 100;
const FIRST: i32 = -6000;

/// Small, for the trees are walked for every block of every page.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// What the value is compared with; in a leaf its score.
    threshold: f32,
    /// How far behind it lies what follows at or below the threshold, and above it; nothing
    /// follows a leaf.
    skips: [u16; 2],
    /// The value that is compared.
    feature: u8,
}

/// Trees that are walked side by side: the way through one is a chain of waits.
const SIDE_BY_SIDE: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Model {
    /// All trees' nodes.
    nodes: Vec<Node>,
    roots: Vec<usize>,
    /// The most steps from a root to a leaf.
    depth: usize,
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
                model.roots.push(model.nodes.len());
                let nodes: Vec<Node> = tree.split(' ').zip(0..).filter_map(node).collect();
                model.depth = model.depth.max(depth(&nodes));
                model.nodes.extend(nodes);
            }
        }
        model
    }

    /// How much speaks for a block, in thousandths of a logit.
    ///
    /// # Complexity
    /// One path in each tree.
    pub(crate) fn score(&self, evidence: &Evidence) -> i32 {
        let node = |at: usize| self.nodes.get(at).copied().unwrap_or(NOWHERE);
        let mut score = 0;
        for roots in self.roots.chunks(SIDE_BY_SIDE) {
            let mut places = [usize::MAX; SIDE_BY_SIDE];
            places.iter_mut().zip(roots).for_each(|(place, root)| *place = *root);
            for _ in 0..self.depth {
                for place in &mut places {
                    let Node { threshold, skips, feature } = node(*place);
                    let value = evidence.get(usize::from(feature)).copied().unwrap_or(0.0);
                    // Without a branch: which way it goes cannot be foretold.
                    let [below, above] = skips.map(usize::from);
                    *place += if value > threshold { above } else { below };
                }
            }
            // A leaf holds a whole number of thousandths, exact in 24 bits.
            score += places.iter().map(|place| node(*place).threshold as i32).sum::<i32>();
        }
        score
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

/// A block is text with at least this chance, in parts of 65,536: one in ten.
const MIN_CHANCE: u32 = 6_554;

/// Of no tree.
const NOWHERE: Node = Node { threshold: 0.0, skips: [0; 2], feature: 0 };

/// A node and its place in its tree.
fn node((text, at): (&str, u16)) -> Option<Node> {
    let mut parts = text.split(':');
    let first = parts.next()?;
    let Some(threshold) = parts.next() else {
        let score: i16 = first.parse().ok()?;
        return Some(Node { threshold: f32::from(score), ..NOWHERE });
    };
    let mut skip = || parts.next()?.parse::<u16>().ok()?.checked_sub(at);
    Some(Node {
        threshold: at_most(threshold.parse().ok()?),
        feature: first.parse().ok()?,
        skips: [skip()?, skip()?],
    })
}

/// The most steps from the first node to a leaf; children lie behind their node.
fn depth(nodes: &[Node]) -> usize {
    let mut below = vec![0; nodes.len()];
    for (at, node) in nodes.iter().enumerate().rev() {
        let followed = node.skips.iter().filter(|skip| **skip > 0);
        let deepest = followed.filter_map(|skip| below.get(at + usize::from(*skip)).copied()).max();
        if let (Some(slot), Some(deepest)) = (below.get_mut(at), deepest) {
            *slot = deepest + 1;
        }
    }
    below.first().copied().unwrap_or(0)
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

    #[test]
    fn the_file_is_read_whole() {
        let model = model();
        let trees = WEIGHTS.lines().filter(|line| line.starts_with("tree ")).count();
        let nodes: usize = WEIGHTS
            .lines()
            .filter_map(|line| line.strip_prefix("tree "))
            .map(|tree| tree.split(' ').count())
            .sum();
        assert_eq!((model.roots.len(), model.nodes.len()), (trees, nodes));
        assert!((4..16).contains(&model.depth), "{}", model.depth);
        assert!(trees > 0 && model.chances.is_sorted() && model.chances.len() == 121);
        for (number, &root) in model.roots.iter().enumerate() {
            let end = model.roots.get(number + 1).copied().unwrap_or(nodes);
            for (at, node) in model.nodes.get(root..end).unwrap().iter().enumerate() {
                assert!(usize::from(node.feature) < EVIDENCE);
                assert!(node.skips.iter().all(|&skip| root + at + usize::from(skip) < end));
                assert!(node.skips == [0; 2] || !node.skips.contains(&0));
            }
        }
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
        assert_eq!(model.score(&evidence), -10 + 1);
        evidence[0] = 1.5f32.next_up();
        assert_eq!(model.score(&evidence), 20 + 1);
        evidence[0] = 4.0;
        assert_eq!(model.score(&evidence), 20 + 2);
        // As f32 a tenth is more than a tenth.
        evidence[1] = 0.1;
        assert_eq!(model.score(&evidence), 20 + 300);
    }

    #[test]
    fn golden_score_holds_as_long_as_the_recipe() {
        let scores: Vec<i32> = (0..8u8)
            .map(|seed| {
                let mut evidence = [0.0; EVIDENCE];
                for (at, value) in evidence.iter_mut().enumerate() {
                    *value =
                        f32::from((at as u8).wrapping_mul(37).wrapping_add(seed * 29) % 64) / 4.0;
                }
                model().score(&evidence)
            })
            .collect();
        assert_eq!(
            scores, GOLDEN,
            "texts, and so fingerprints, would be others: name a new recipe"
        );
    }
    const GOLDEN: [i32; 8] = [-2571, -2396, -2342, -2634, -1928, -2637, -1203, -2487];
}
