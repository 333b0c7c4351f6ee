//! Decision trees that score several blocks at once.

/// Maximum number of leaves of a tree.
const LEAVES: usize = 16;

/// Blocks that are scored at once, in vectors.
const BLOCKS: usize = 32;

/// A node: one value is compared with a threshold. All nodes of a tree are evaluated, for many blocks at once. That
/// is cheaper than following each block's path to its leaf, because the branches are unpredictable.
#[derive(Clone, Copy, Debug)]
struct Node {
    threshold: f32,
    /// Index of the value.
    feature: u16,
    /// Bit mask of the leaves on the lower side. A value above the threshold excludes them.
    below: u32,
}

impl Node {
    /// Excludes no leaf.
    const NONE: Self = Self { threshold: f32::INFINITY, feature: 0, below: 0 };
}

/// The result is the first leaf from the left that is not excluded (QuickScorer; Lucchese et al., SIGIR 2015).
#[derive(Clone, Copy, Debug)]
struct Tree {
    nodes: [Node; LEAVES - 1],
    scores: [i32; LEAVES],
}

/// Trees whose scores are added.
#[derive(Debug, Default)]
pub(crate) struct Forest(Vec<Tree>);

impl Forest {
    /// Reads the trees in the lines that begin with `prefix`. Invalid trees are skipped; a test checks the file.
    pub(crate) fn read(text: &str, prefix: &str) -> Self {
        Self(
            text.lines()
                .filter_map(|line| line.strip_prefix(prefix))
                .filter_map(Tree::read)
                .collect(),
        )
    }

    /// Returns each block's score, in thousandths of a logit. `evidence` holds each feature's value in each block.
    ///
    /// # Complexity
    /// Linear in the nodes of all trees.
    fn score(&self, evidence: &[[f32; BLOCKS]]) -> [i32; BLOCKS] {
        let mut sum = [0i32; BLOCKS];
        for Tree { nodes, scores } in &self.0 {
            let mut excluded = [0u32; BLOCKS];
            for &Node { threshold, feature, below } in nodes {
                let Some(values) = evidence.get(usize::from(feature)) else { continue };
                for (excluded, value) in excluded.iter_mut().zip(values) {
                    *excluded |= u32::from(*value > threshold).wrapping_neg() & below;
                }
            }
            for (sum, excluded) in sum.iter_mut().zip(excluded) {
                let leaf = excluded.trailing_ones() as usize % LEAVES;
                // The sums are far from the limits of `i32`.
                *sum = sum.wrapping_add(scores.get(leaf).copied().unwrap_or(0));
            }
        }
        sum
    }
}

/// Collects blocks and scores [`BLOCKS`] of them at once.
pub(crate) struct Judge<'a> {
    forest: &'a Forest,
    waiting: Vec<[f32; BLOCKS]>,
    count: usize,
    scores: Vec<i32>,
}

impl<'a> Judge<'a> {
    /// `values` is the number of values per block.
    pub(crate) fn new(forest: &'a Forest, values: usize) -> Self {
        Self { forest, waiting: vec![[0.0; BLOCKS]; values], count: 0, scores: Vec::new() }
    }

    pub(crate) fn push<'v>(&mut self, values: impl IntoIterator<Item = &'v f32>) {
        for (slots, value) in self.waiting.iter_mut().zip(values) {
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
        self.scores.extend(self.forest.score(&self.waiting).into_iter().take(self.count));
        self.count = 0;
    }

    /// Returns the score of each block pushed, in thousandths of a logit.
    pub(crate) fn finish(mut self) -> Vec<i32> {
        self.judge();
        self.scores
    }
}

impl Tree {
    /// Reads `feature:threshold:left:right` for a node and `score` for a leaf, each after its parent.
    fn read(text: &str) -> Option<Self> {
        let parts: Vec<Vec<&str>> = text.split(' ').map(|node| node.split(':').collect()).collect();
        let mut tree = Self { nodes: [Node::NONE; LEAVES - 1], scores: [0; LEAVES] };
        let (mut nodes, mut leaves) = (tree.nodes.iter_mut(), 0usize);
        // From left to right, each with the node whose left side ends before it.
        let mut open: Vec<(usize, Option<(Node, u32)>)> = vec![(0, None)];
        while let Some((at, closes)) = open.pop() {
            if let Some((node, first)) = closes {
                // The leaves read since then are its left side.
                let below = u32::MAX.checked_shl(first)? & !u32::MAX.checked_shl(leaves as u32)?;
                *nodes.next()? = Node { below, ..node };
            }
            match parts.get(at)?.as_slice() {
                [score] => {
                    *tree.scores.get_mut(leaves)? = score.parse::<i16>().ok()?.into();
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

/// Returns the largest `f32` that is at most `threshold`: each `f32` value stays on its side.
fn at_most(threshold: f64) -> f32 {
    let near = threshold as f32;
    if f64::from(near) > threshold { near.next_down() } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: &str = include_str!("../data/blocks.model");
    const LOOKS: [&str; 2] = ["first ", "second "];
    const VALUES: usize = 128;

    /// Walks the trees as written in the file, from the root.
    fn walked(prefix: &str, values: &[f32]) -> i32 {
        let mut score = 0;
        for tree in WEIGHTS.lines().filter_map(|line| line.strip_prefix(prefix)) {
            let nodes: Vec<&str> = tree.split(' ').collect();
            let mut at = 0;
            loop {
                let node = *nodes.get(at).unwrap();
                let parts: Vec<&str> = node.split(':').collect();
                let [feature, threshold, left, right] = *parts.as_slice() else {
                    score += node.parse::<i32>().unwrap();
                    break;
                };
                let value = f64::from(*values.get(feature.parse::<usize>().unwrap()).unwrap());
                let below = value <= threshold.parse().unwrap();
                at = if below { left } else { right }.parse().unwrap();
            }
        }
        score
    }

    fn scores(forest: &Forest, blocks: &[Vec<f32>]) -> Vec<i32> {
        let mut judge = Judge::new(forest, VALUES);
        blocks.iter().for_each(|values| judge.push(values));
        judge.finish()
    }

    fn some_values(seed: u8) -> Vec<f32> {
        let value = |at: u8| at.wrapping_mul(37).wrapping_add(seed.wrapping_mul(29)) % 64;
        (0..VALUES as u8).map(|at| f32::from(value(at)) / 4.0).collect()
    }

    #[test]
    fn the_file_is_read_whole() {
        for prefix in LOOKS {
            let forest = Forest::read(WEIGHTS, prefix);
            let trees = WEIGHTS.lines().filter(|line| line.starts_with(prefix)).count();
            assert!(trees > 0 && forest.0.len() == trees);
            let nodes = forest.0.iter().flat_map(|tree| tree.nodes);
            assert!(nodes.clone().all(|node| usize::from(node.feature) < VALUES));
            let asked = nodes.filter(|node| node.threshold < f32::INFINITY).count();
            assert!(asked > trees * LEAVES / 2);
        }
    }

    #[test]
    fn all_questions_lead_to_the_leaf_that_a_walk_leads_to() {
        for prefix in LOOKS {
            for count in [0, 1, BLOCKS - 1, BLOCKS, 251] {
                let blocks: Vec<Vec<f32>> =
                    (0..count).map(|seed| some_values(seed as u8)).collect();
                let walked: Vec<i32> = blocks.iter().map(|block| walked(prefix, block)).collect();
                assert_eq!(scores(&Forest::read(WEIGHTS, prefix), &blocks), walked);
            }
        }
    }

    #[test]
    fn an_invalid_tree_is_rejected() {
        let deep: Vec<String> =
            (0..16).map(|i| format!("0:{i}:{}:{}", 2 * i + 1, 2 * i + 2)).collect();
        let deep = deep.iter().map(|node| format!("{node} 1")).collect::<Vec<_>>().join(" ");
        for text in ["", "x", "0:1.5:1:2 3", "0:1:0:0", "0:1:1 2 3", "1:2:3:4:5", "70000", &deep] {
            assert!(Tree::read(text).is_none(), "{text}");
        }
        assert!(Tree::read("0:1.5:1:2 3 4").is_some());
    }

    #[test]
    fn a_value_at_the_threshold_goes_below_and_trees_add_up() {
        let forest = Forest::read("# x\nt 0:1.5:1:2 -10 20\nt 1:0.1:1:4 0:3.0:2:3 1 2 300\n", "t ");
        // The `f32` nearest to 0.1 is above 0.1.
        for (values, score) in [
            ([1.5, 0.0], -10 + 1),
            ([1.5f32.next_up(), 0.0], 20 + 1),
            ([4.0, 0.0], 20 + 2),
            ([4.0, 0.1], 20 + 300),
        ] {
            assert_eq!(scores(&forest, &[values.to_vec()]), [score]);
        }
    }

    #[test]
    fn golden_score_holds_as_long_as_the_recipe() {
        let blocks: Vec<Vec<f32>> = (0..8).map(some_values).collect();
        let found = LOOKS.map(|prefix| scores(&Forest::read(WEIGHTS, prefix), &blocks));
        assert_eq!(found, GOLDEN, "texts, and so fingerprints, would be others: name a new recipe");
    }
    const GOLDEN: [[i32; 8]; 2] = [
        [-2604, -2591, -2268, -2764, -1899, -2801, -2241, -3050],
        [-9, 122, 210, 58, 340, -932, -28, -332],
    ];
}
