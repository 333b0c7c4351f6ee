//! The maximal repeats of the places of one anchor: runs with the same words, which differ before and behind.
//!
//! A repeat has at least `seed_words` words, so its first window chooses one of its anchors, the same in each place. The
//! repeat is found at this anchor only: for each distance of the anchor from the repeat's first word, places with the
//! same words before the anchor are a class. The sorted words behind form a tree (of longest common prefixes), whose
//! inner nodes are the runs that cannot be extended behind.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::bucket::Bucket;
use crate::error::Result;
use crate::range_min::RangeMin;
use crate::types::Place;

/// Levels of nested repeats of one class that are all reported. From then on each is longer by a share, so that
/// documents which are beginnings of each other have few.
const MAX_LEVELS: usize = 16;
/// The share: an eighth.
const GROWTH: u32 = 8;

/// Calls `found` with the length in words and the sorted places of each maximal repeat on two documents or more.
///
/// # Complexity
/// O(n log n) for n members and each window, and the size of the results.
pub(crate) fn repeats(
    bucket: &Bucket,
    window: usize,
    shortest: u32,
    found: &mut impl FnMut(u32, &[Place]) -> Result<()>,
) -> Result<()> {
    let common = RangeMin::new(bucket.common.clone());
    // The class of each member; `None` if the document has no more words before it.
    let mut classes: Vec<Option<u32>> = vec![Some(0); bucket.members.len()];
    for distance in 0..window {
        let mut active: Vec<(u32, usize)> = Vec::new();
        for (at, (class, member)) in classes.iter().zip(&bucket.members).enumerate() {
            if let Some(class) = class
                && (member.near as usize..=member.far as usize).contains(&distance)
            {
                active.push((*class, at));
            }
        }
        active.sort_unstable();
        for class in active.chunk_by(|a, b| a.0 == b.0).filter(|class| class.len() > 1) {
            let members: Vec<usize> = class.iter().map(|(_, at)| *at).collect();
            of_class(bucket, &common, &members, (distance, shortest), found)?;
        }
        refine(bucket, distance + 1, &mut classes);
        if classes.iter().all(Option::is_none) {
            break;
        }
    }
    Ok(())
}

/// Splits the classes by the word at a distance before the anchor.
fn refine(bucket: &Bucket, distance: usize, classes: &mut [Option<u32>]) {
    let mut numbers: HashMap<(u32, u64), u32, foldhash::fast::FixedState> = HashMap::default();
    for (at, class) in classes.iter_mut().enumerate() {
        *class = class.zip(bucket.before(at, distance)).map(|pair| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(pair).or_insert(next)
        });
    }
}

fn of_class(
    bucket: &Bucket,
    common: &RangeMin,
    members: &[usize],
    (distance, shortest): (usize, u32),
    found: &mut impl FnMut(u32, &[Place]) -> Result<()>,
) -> Result<()> {
    let before = u32::try_from(distance).unwrap_or(u32::MAX);
    // Equal words of consecutive members; then changes of the word before, and of the document, up to each member.
    let mut equal = Vec::with_capacity(members.len());
    let (mut words, mut documents) = (vec![0u32], vec![0u32]);
    for two in members.windows(2) {
        let &[one, other] = two else { continue };
        equal.push(common.min(one + 1, other + 1));
        let word = |at| bucket.before(at, distance + 1);
        let differ = word(one).is_none() || word(one) != word(other);
        words.push(words.last().copied().unwrap_or(0) + u32::from(differ));
        let document = |at: usize| bucket.members.get(at).map(|member| member.document);
        let differ = document(one) != document(other);
        documents.push(documents.last().copied().unwrap_or(0) + u32::from(differ));
    }
    let change = |counts: &[u32], node: &Node| counts.get(node.to) > counts.get(node.from);
    let mut nodes = nodes(&equal);
    nodes.retain(|node| {
        node.equal + before >= shortest && change(&words, node) && change(&documents, node)
    });
    // From the root to the leaves.
    nodes.sort_unstable_by_key(|node| (node.from, Reverse(node.to)));
    // End and length of the reported nodes around the present one.
    let mut around: Vec<(usize, u32)> = Vec::new();
    let mut places = Vec::new();
    for node in nodes {
        while around.last().is_some_and(|(end, _)| *end < node.to) {
            around.pop();
        }
        if let Some((_, length)) = around.get(MAX_LEVELS..).and_then(<[_]>::last)
            && node.equal < length + length / GROWTH
        {
            continue;
        }
        around.push((node.to, node.equal));
        places.clear();
        for at in members.get(node.from..=node.to).unwrap_or_default() {
            let member = bucket.members.get(*at);
            places.extend(
                member.map(|member| Place {
                    document: member.document,
                    start: member.start - before,
                }),
            );
        }
        places.sort_unstable();
        found(node.equal + before, &places)?;
    }
    Ok(())
}

/// Consecutive members, and the number of words that all of them have in common.
#[derive(Clone, Copy, Debug)]
struct Node {
    from: usize,
    /// The last member.
    to: usize,
    equal: u32,
}

/// Returns the inner nodes of the tree of common prefixes.
fn nodes(equal: &[u32]) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut open: Vec<(usize, u32)> = Vec::new();
    for (at, equal) in equal.iter().copied().chain([0]).enumerate() {
        let mut from = at;
        while let Some((start, length)) = open.pop_if(|(_, length)| *length > equal) {
            nodes.push(Node { from: start, to: at, equal: length });
            from = start;
        }
        if equal > 0 && open.last().is_none_or(|(_, length)| *length < equal) {
            open.push((from, equal));
        }
    }
    nodes
}
