//! Decision trees, and how they are asked about many blocks at once.

/// The most leaves of a tree.
const LEAVES: usize = 16;

/// Blocks that are judged side by side, in vectors.
const BLOCKS: usize = 16;

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

/// Trees whose scores add up.
#[derive(Debug, Default)]
pub(crate) struct Forest(Vec<Tree>);

impl Forest {
    /// Reads the trees on the lines that begin with `prefix`; what is no tree is left out, for a
    /// test reads the file whole.
    pub(crate) fn read(text: &str, prefix: &str) -> Self {
        Self(
            text.lines()
                .filter_map(|line| line.strip_prefix(prefix))
                .filter_map(Tree::read)
                .collect(),
        )
    }

    /// How much speaks for each block, in thousandths of a logit; `evidence` holds of each value what
    /// it is for each of them.
    ///
    /// # Complexity
    /// Linear in the nodes of all trees.
    fn score(&self, evidence: &[[f32; BLOCKS]]) -> [i32; BLOCKS] {
        let mut sum = [0i32; BLOCKS];
        for Tree { nodes, scores } in &self.0 {
            let mut left = [u32::MAX; BLOCKS];
            for &Node { threshold, feature, below } in nodes {
                let Some(values) = evidence.get(usize::from(feature)) else { continue };
                for (left, value) in left.iter_mut().zip(values) {
                    *left &= !(u32::from(*value > threshold).wrapping_neg() & below);
                }
            }
            for (sum, left) in sum.iter_mut().zip(left) {
                let leaf = left.trailing_zeros() as usize % LEAVES;
                // No sum of these comes near the end of its type.
                *sum = sum.wrapping_add(scores.get(leaf).copied().map_or(0, i32::from));
            }
        }
        sum
    }
}

/// Scores block after block.
pub(crate) struct Judge<'a> {
    forest: &'a Forest,
    waiting: Vec<[f32; BLOCKS]>,
    count: usize,
    scores: Vec<i32>,
}

impl<'a> Judge<'a> {
    /// Each block has `values` values.
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

    /// Of each block pushed, in thousandths of a logit.
    pub(crate) fn finish(mut self) -> Vec<i32> {
        self.judge();
        self.scores
    }
}

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

    const WEIGHTS: &str = include_str!("../data/blocks.model");
    const LOOKS: [&str; 2] = ["first ", "second "];
    const VALUES: usize = 128;

    /// The trees as they are written, walked from the root.
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
    fn what_is_no_tree_is_left_out() {
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
        // As f32 a tenth is more than a tenth.
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
        [-2433, -2796, -2671, -3174, -1882, -2979, -1774, -2730],
        [-476, -537, -374, -506, -148, -309, -1471, -428],
    ];
}
