//! Headings of sections whose text is kept: short ones have few words to be judged by.

use crate::blocks::Page;
use crate::votes::Votes;

/// Maximum number of words of such a heading, and share of words in links.
const MAX_WORDS: f64 = 16.0;
const LINKED: f64 = 0.5;
/// How many ancestors of a heading may contain the text of its section, and how deep the text may be in one.
const ABOVE: usize = 3;
const BELOW: usize = 6;

/// Keeps each heading between kept blocks, of which the next block that is not a heading is kept, if both are near each
/// other in the document. Blocks that `never` are text stay dropped.
///
/// # Complexity
/// Linear in the blocks.
pub(crate) fn keep_headings(page: &Page, votes: &Votes, never: &[bool], keep: &mut [bool]) {
    let kept = |keep: &[bool], at: usize| keep.get(at) == Some(&true);
    let Some(first) = keep.iter().position(|keep| *keep) else { return };
    // The block that begins the section of the headings before it.
    let mut section: Option<usize> = None;
    for at in (first..page.blocks.len()).rev() {
        let Some((block, m)) = page.blocks.get(at).zip(votes.measures.get(at)) else { continue };
        if block.heading == 0 {
            section = Some(at).filter(|at| kept(keep, *at));
            continue;
        }
        let Some(text) = section.and_then(|at| page.blocks.get(at)) else { continue };
        let is_name = m.words <= MAX_WORDS && m.link_density < LINKED;
        let barred = never.get(at).copied().unwrap_or(true);
        if is_name && !barred && is_near(page, block.element, text.element) {
            keep.iter_mut().skip(at).take(1).for_each(|keep| *keep = true);
        }
    }
}

/// Returns whether one of the nearest ancestors of a heading contains the text.
fn is_near(page: &Page, heading: usize, text: usize) -> bool {
    let parents = |element: usize, count: usize| {
        let parent = |at: &usize| page.elements.get(*at).map(|element| element.parent);
        std::iter::successors(Some(element), parent).take(count)
    };
    let above: Vec<usize> = parents(heading, ABOVE + 1).collect();
    parents(text, BELOW + 1).any(|element| above.contains(&element))
}
