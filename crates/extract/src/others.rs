//! Parts of a page that other people wrote, or that belong to other pages: comments, and stories below the article.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::blocks::{ElementInfo, Page, RawBlock, Tag};
use crate::class_words::Marks;
use crate::comment_names::CommentName;
use crate::votes::{Votes, is_set};

/// Number of bytes that is an article by itself. Without an article, the comments are the page's text.
const LEAST_ARTICLE: usize = 700;
/// Minimum number of words in sentences of a short article below its main heading, if the page declares an article.
const SHORT_ARTICLE: f64 = 20.0;
/// The same if it does not.
const UNDECLARED_ARTICLE: f64 = 70.0;
/// Minimum number of stories of a stream.
const STORIES: usize = 3;

/// Returns whether the kept blocks are an article, or a short one below a main heading. A very short
/// one must be declared, by `<article>` around its heading or by the page's type, because the first post of a discussion
/// is short too. A heading that is a question begins a discussion more often than an article.
pub(crate) fn is_article(page: &Page, votes: &Votes, keep: &[bool]) -> bool {
    let kept = || page.blocks.iter().zip(&votes.measures).zip(keep).filter(|(_, keep)| **keep);
    if kept().map(|((block, _), _)| block.text.len()).sum::<usize>() >= LEAST_ARTICLE {
        return true;
    }
    let Some(main) = page.blocks.iter().find(|block| block.heading == 1 && !block.hidden) else {
        return false;
    };
    let declared = declares_article(page, main);
    if main.text.trim_end().ends_with(['?', '？']) {
        return false;
    }
    let mut headed = false;
    let mut words = 0.0;
    for ((block, m), keep) in page.blocks.iter().zip(&votes.measures).zip(keep) {
        headed |= block.heading == 1;
        if headed && *keep && m.ends_sentence && m.link_density < 0.4 {
            words += m.words;
        }
    }
    words >= if declared { SHORT_ARTICLE } else { UNDECLARED_ARTICLE }
}

/// Returns whether the page declares an article, by its type or by `<article>` around the main heading.
fn declares_article(page: &Page, main: &RawBlock) -> bool {
    let around = page.below(|at| page.elements.get(at).is_some_and(|element| element.article));
    page.kinds.article || is_set(&around, main.element)
}

/// Returns the blocks of containers that are named as comments and lack the main heading; `None` if there are none.
pub(crate) fn comments(page: &Page) -> Option<Vec<bool>> {
    let headings = main_headings(page);
    let named = |at: usize| {
        let element = page.elements.get(at);
        element.is_some_and(|e| e.marks.has(Marks::COMMENT) && e.suspicious)
            && headings.get(at) == Some(&0)
    };
    blocks_in(page, named)
}

/// Returns the same for names that the weights do not know. Names that also mean other things need a container without
/// tables and code, and "replies" a page that declares an article: those to the first post of a thread are text.
pub(crate) fn named_comments(page: &Page) -> Option<Vec<bool>> {
    if page.elements.iter().all(|element| element.comments.is_none()) {
        return None;
    }
    let headings = main_headings(page);
    let main = page.blocks.iter().find(|block| block.heading == 1 && !block.hidden);
    let declared = main.is_some_and(|main| declares_article(page, main));
    let mut solid: Vec<u32> = page.elements.iter().map(|e| u32::from(is_solid(e))).collect();
    page.carry_up(&mut solid, |parent, child| *parent += child);
    let named = |at: usize| {
        let name = page.elements.get(at).and_then(|element| {
            element.comments.filter(|_| matches!(element.tag, Tag::Other | Tag::Item))
        });
        let allowed = match name {
            None => false,
            Some(CommentName::Certain) => true,
            Some(CommentName::Likely) => solid.get(at) == Some(&0),
            Some(CommentName::Reply) => declared && solid.get(at) == Some(&0),
        };
        allowed && headings.get(at) == Some(&0)
    };
    blocks_in(page, named)
}

fn is_solid(element: &ElementInfo) -> bool {
    element.table || element.tag == Tag::Pre || element.marks.has(Marks::CODE)
}

/// Returns for each element how many main headings it contains.
pub(crate) fn main_headings(page: &Page) -> Vec<u32> {
    let mut headings = vec![0u32; page.elements.len()];
    for block in page.blocks.iter().filter(|block| block.heading == 1) {
        headings.get_mut(block.element).into_iter().for_each(|count| *count += 1);
    }
    page.carry_up(&mut headings, |parent, child| *parent += child);
    headings
}

/// What an element contains.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    /// Headings below the first level; those of them that lead to another page.
    headings: u32,
    linked: u32,
    /// Words in sentences.
    words: f64,
    /// Whether it contains the main heading.
    main: bool,
}

/// Returns the blocks of other stories: at least three elements of one kind, each with one heading, after the article
/// and outside of it. Their headings lead to other pages, or they are articles. `None` if there are none.
///
/// The article is the `<article>` around the main heading. Without one, only stories in an element that is named as
/// teasers are others: the entries of a list also have headings that lead to other pages.
///
/// # Complexity
/// Linear in blocks and elements.
pub(crate) fn other_stories(page: &Page, votes: &Votes) -> Option<Vec<bool>> {
    if page.kinds.list {
        return None;
    }
    let main =
        page.blocks.iter().find(|block| block.heading == 1 && !block.hidden && !block.structure)?;
    let contents = contents(page, votes, main.element);
    let content = |at: usize| contents.get(at).copied().unwrap_or_default();
    let article = page
        .below(|at| at > 0 && page.elements.get(at).is_some_and(|e| e.article) && content(at).main);
    let teasers = page.below(|at| {
        at > 0
            && page.elements.get(at).is_some_and(|e| e.marks.has(Marks::RELATED))
            && !content(at).main
    });
    let has_article = article.contains(&true);
    let mut kinds: HashMap<u32, Vec<usize>, RandomState> = HashMap::default();
    for (at, element) in page.elements.iter().enumerate().skip(main.element + 1) {
        let inside = content(at);
        let is_story = inside.headings == 1
            && (inside.linked == 1 || element.article)
            && !is_set(&article, at)
            && (has_article || is_set(&teasers, at));
        if is_story {
            kinds.entry(element.signature).or_default().push(at);
        }
    }
    let mut stories = vec![false; page.elements.len()];
    let has_words = |at: &&usize| content(**at).words > 0.0;
    let are_stories = |kind: &Vec<usize>| kind.iter().filter(has_words).count() >= STORIES;
    for at in kinds.into_values().filter(are_stories).flatten() {
        stories.get_mut(at).into_iter().for_each(|story| *story = true);
    }
    blocks_in(page, |at| is_set(&stories, at))
}

fn contents(page: &Page, votes: &Votes, main: usize) -> Vec<Content> {
    let mut contents = vec![Content::default(); page.elements.len()];
    for (block, m) in page.blocks.iter().zip(&votes.measures) {
        let Some(content) = contents.get_mut(block.element) else { continue };
        let minor = block.heading > 1 || block.heading == 1 && block.element != main;
        content.headings += u32::from(minor);
        content.linked += u32::from(minor && block.outward);
        content.words += if m.ends_sentence && !m.heading { m.words } else { 0.0 };
    }
    contents.get_mut(main).into_iter().for_each(|content| content.main = true);
    page.carry_up(&mut contents, |parent, child| {
        parent.headings += child.headings;
        parent.linked += child.linked;
        parent.words += child.words;
        parent.main |= child.main;
    });
    contents
}

pub(crate) fn blocks_in(page: &Page, marked: impl Fn(usize) -> bool) -> Option<Vec<bool>> {
    let inside = page.below(|at| at > 0 && marked(at));
    let blocks: Vec<bool> = page.blocks.iter().map(|b| is_set(&inside, b.element)).collect();
    blocks.contains(&true).then_some(blocks)
}
