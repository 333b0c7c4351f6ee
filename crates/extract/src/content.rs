//! Selects the blocks that are the page's own text.
//!
//! Navigation, teasers and advertisements contain almost no stopwords ("Home", "Sign in"); sentences do. The stopword
//! rule adds stopwords up to the container of the text, and subtracts links and boilerplate names. Alone it reaches an
//! F1 of .74 (forums) to .94 (news). Fitted weights decide, with its result as input: see `docs/quality.md`.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use url::Url;

use crate::blocks::{Page, RawBlock};
use crate::boxes::boxes;
use crate::followers::{Section, sections};
use crate::gaps::{InGap, keep_gaps};
use crate::headings::keep_headings;
use crate::labels::labels;
use crate::measure::{Measure, measure};
use crate::model::model;
use crate::others::{comments, is_article, named_comments, other_stories};
use crate::page_type::is_forum;
use crate::stop_lists::StopList;
use crate::tables::keep_as_one;
use crate::votes::{Choice, Reason, Votes, is_set};

/// An element with a boilerplate name is pruned only if it holds at most this share of the page's value.
const MAX_PRUNED_SHARE: f64 = 0.4;
/// If less than this share of the value remains, boilerplate names are ignored.
const MIN_SURVIVING_SHARE: f64 = 0.3;
/// With a second article of this share of the value, the page is a stream of articles.
const ARTICLE_SHARE: f64 = 0.15;
const CONTENT_BONUS: f64 = 1.1;

/// Applies the stopword rule.
pub(crate) fn vote(page: &Page, stopwords: Option<&StopList>) -> Votes {
    let measures: Vec<Measure> =
        page.blocks.iter().map(|block| measure(block, stopwords)).collect();
    let values: Vec<f64> = measures.iter().map(|m| m.value()).collect();
    let shown: Vec<bool> = page.blocks.iter().map(|b| !b.hidden && !b.structure).collect();

    let sums = sum_up(page, &values, &shown);
    let positive = |alive: &[bool]| -> f64 {
        values.iter().zip(alive).filter(|(v, alive)| **v > 0.0 && **alive).map(|(v, _)| v).sum()
    };
    let total = positive(&shown);
    let limit = MAX_PRUNED_SHARE * total;
    let suspicious = |at: usize| page.elements.get(at).is_some_and(|element| element.suspicious);
    // The root is not an element of the page.
    let light = |at: usize| sums.get(at).is_some_and(|sum| *sum <= limit);
    let pruned = page.below(|at| at > 0 && suspicious(at) && light(at));
    let mut alive: Vec<bool> = page
        .blocks
        .iter()
        .zip(&shown)
        .map(|(b, shown)| *shown && !is_set(&pruned, b.element))
        .collect();
    if positive(&alive) < MIN_SURVIVING_SHARE * total {
        alive.clone_from(&shown);
    }

    let sums = sum_up(page, &values, &alive);
    let container = best_container(page, &sums);
    let inside = page.below(|at| at == container);
    let mut reasons: Vec<Reason> = page
        .blocks
        .iter()
        .zip(&alive)
        .map(|(block, alive)| {
            if block.hidden {
                Reason::Hidden
            } else if block.structure {
                Reason::Structure
            } else if !alive {
                Reason::Name
            } else if is_set(&inside, block.element) {
                Reason::Text
            } else {
                Reason::OutsideContainer
            }
        })
        .collect();
    keep_first_article(page, &sums, container, &inside, &mut reasons);
    trim_to_run(&values, &measures, &mut reasons);
    for (reason, m) in reasons.iter_mut().zip(&measures) {
        if *reason == Reason::Text
            && m.link_density > 0.6
            && (m.words < 20.0 || m.link_density > 0.8)
        {
            *reason = Reason::Links;
        }
    }
    for (reason, m) in reasons.iter_mut().zip(&measures).rev() {
        if *reason != Reason::Text {
            continue;
        }
        if !m.heading {
            break;
        }
        *reason = Reason::TrailingHeading;
    }
    Votes { measures, values, container, inside, reasons }
}

#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) choices: Vec<Choice>,
    /// Expected F1 of the kept blocks, 0 to 1.
    pub(crate) confidence: f32,
}

/// Decides about each block. The stopword rule is reliable for articles, but misses the text of forums, lists and
/// pages with few stopwords. So its result is only one input of the fitted weights. Comments and other stories are then
/// dropped if an article remains, data tables are kept or dropped whole, and short headings of kept text are kept.
pub(crate) fn choose(page: &Page, stopwords: Option<&StopList>, url: &Url) -> Chosen {
    let votes = vote(page, stopwords);
    let scores = model().scores(page, &votes, &votes.sizes());
    choose_by(page, &votes, &scores, url)
}

/// Decides about each block by its `scores`, in thousandths of a logit.
pub(crate) fn choose_by(page: &Page, votes: &Votes, scores: &[i32], url: &Url) -> Chosen {
    let model = model();
    let sizes = votes.sizes();
    let keep_but = |barred: &[bool]| {
        let scores = scores.iter().zip(barred);
        let scores: Vec<i32> =
            scores.map(|(score, barred)| if *barred { BARRED } else { *score }).collect();
        let keep = model.keep(&scores, &sizes).into_iter().zip(barred);
        keep.map(|(keep, barred)| keep && !barred).collect::<Vec<bool>>()
    };
    let expected = |at: usize| {
        let chance = scores.get(at).map_or(0, |score| model.chance(*score));
        sizes.get(at).copied().unwrap_or(0) * u64::from(chance)
    };
    let mut barred = barred_as_hidden(page, expected);
    let labels = labels(page, &votes.measures);
    barred.iter_mut().zip(&labels).for_each(|(barred, label)| *barred |= label);
    let mut keep = keep_but(&barred);
    if !page.kinds.is_discussion() && !is_forum(url, &page.title) {
        let others = [
            comments(page),
            named_comments(page),
            sections(page, Section::Comments),
            other_stories(page, votes),
            if page.kinds.list { None } else { sections(page, Section::Stories) },
        ];
        for other in others.into_iter().flatten() {
            let more: Vec<bool> = barred.iter().zip(other).map(|(a, b)| *a || b).collect();
            let without = keep_but(&more);
            if is_article(page, votes, &without) {
                (barred, keep) = (more, without);
            }
        }
        for boxed in boxes(page, votes, &keep) {
            let without: Vec<bool> = keep.iter().zip(&boxed).map(|(a, b)| *a && !b).collect();
            if is_article(page, votes, &without) {
                barred.iter_mut().zip(boxed).for_each(|(barred, boxed)| *barred |= boxed);
                keep = without;
            }
        }
    }
    keep_as_one(page, votes, &barred, expected, &mut keep);
    let named =
        page.below(|at| at > 0 && page.elements.get(at).is_some_and(|element| element.suspicious));
    let reason = |at: usize| match votes.reasons.get(at).copied() {
        Some(voted @ (Reason::Hidden | Reason::Structure)) => voted,
        _ if is_set(&labels, at) => Reason::Advertisement,
        None | Some(Reason::Text) => why(page, votes, &named, at),
        Some(voted) => voted,
    };
    let chance =
        |at: usize| scores.get(at).map_or(0.0, |score| model.chance(*score) as f32 / 65_536.0);
    let repeated = repeated(page);
    let in_gap = |at: usize| match (reason(at), page.blocks.get(at)) {
        (Reason::Hidden, _) => InGap::Hidden,
        (_, Some(block)) if block.styled => InGap::Hidden,
        (Reason::Unlike, Some(block))
            if barred.get(at) != Some(&true) && !repeated.contains(block.text.as_str()) =>
        {
            InGap::Unlike { chance: chance(at).into(), is_entry: page.is_entry(block) }
        }
        _ => InGap::Other,
    };
    keep_gaps(in_gap, &mut keep);
    keep_headings(page, votes, &barred, &mut keep);
    let confidence = model.expected_f1(&keep, scores, &sizes);
    let mut choices = Vec::with_capacity(keep.len());
    for (at, keep) in keep.into_iter().enumerate() {
        let reason = if keep { Reason::Text } else { reason(at) };
        choices.push(Choice { reason, chance: chance(at) });
    }
    Chosen { choices, confidence }
}

/// Returns the texts of several blocks: labels, such as those of advertisements.
fn repeated(page: &Page) -> HashSet<&str, RandomState> {
    let mut seen: HashSet<&str, RandomState> = HashSet::default();
    let texts = page.blocks.iter().map(|block| block.text.as_str());
    texts.filter(|text| !seen.insert(text)).collect()
}

/// Score of a block that is never text.
const BARRED: i32 = i32::MIN / 4;

/// Blocks that attributes or style sheets hide are never text, unless most of the `expected` text is hidden: a script will show it.
fn barred_as_hidden(page: &Page, expected: impl Fn(usize) -> u64) -> Vec<bool> {
    let is_hidden = |block: &RawBlock| block.hidden || block.styled;
    let text = |hidden: bool| -> u64 {
        let blocks = page.blocks.iter().enumerate();
        let blocks = blocks.filter(|(_, block)| is_hidden(block) == hidden && !block.structure);
        blocks.map(|(at, _)| expected(at)).sum()
    };
    let bars = text(true) <= text(false);
    page.blocks.iter().map(|block| bars && is_hidden(block)).collect()
}

/// Returns the first reason that applies against a block that the stopword rule would keep: links, a name of
/// boilerplate, or unlike text.
fn why(page: &Page, votes: &Votes, named: &[bool], at: usize) -> Reason {
    let Some((block, m)) = page.blocks.get(at).zip(votes.measures.get(at)) else {
        return Reason::Unlike;
    };
    if m.link_density > 0.4 {
        Reason::Links
    } else if is_set(named, block.element) {
        Reason::Name
    } else {
        Reason::Unlike
    }
}

/// Returns for each element the sum of the values of all blocks below it.
fn sum_up(page: &Page, values: &[f64], alive: &[bool]) -> Vec<f64> {
    let mut sums = vec![0.0; page.elements.len()];
    for ((block, value), alive) in page.blocks.iter().zip(values).zip(alive) {
        if *alive && let Some(sum) = sums.get_mut(block.element) {
            *sum += value;
        }
    }
    page.carry_up(&mut sums, |parent, child| *parent += child);
    sums
}

/// Returns the deepest element with the greatest sum. Elements that declare content have a bonus.
fn best_container(page: &Page, sums: &[f64]) -> usize {
    let mut best = (0, f64::MIN, 0);
    for (index, (element, sum)) in page.elements.iter().zip(sums).enumerate() {
        let score = if element.content { sum * CONTENT_BONUS } else { *sum };
        // Sums of the same blocks may differ in the last digits.
        if score > best.1 + 1e-9 || (score > best.1 - 1e-9 && element.depth > best.2) {
            best = (index, score, element.depth);
        }
    }
    best.0
}

/// In an endless stream of articles, the URL is that of the first article: drops the others.
fn keep_first_article(
    page: &Page,
    sums: &[f64],
    container: usize,
    inside: &[bool],
    reasons: &mut [Reason],
) {
    let whole = sums.get(container).copied().unwrap_or(0.0);
    let articles: Vec<usize> = (1..page.elements.len())
        .filter(|&index| {
            page.elements.get(index).is_some_and(|e| e.article)
                && index != container
                && is_set(inside, index)
                && sums.get(index).is_some_and(|sum| *sum >= ARTICLE_SHARE * whole)
        })
        .collect();
    let (Some(&first), true) = (articles.first(), articles.len() >= 2) else { return };
    let inside = page.below(|at| at == first);
    for (block, reason) in page.blocks.iter().zip(reasons) {
        if *reason == Reason::Text && !is_set(&inside, block.element) {
            *reason = Reason::OtherArticle;
        }
    }
}

/// Keeps the contiguous run of blocks of greatest value (Kadane), and the headings directly before it.
fn trim_to_run(values: &[f64], measures: &[Measure], reasons: &mut [Reason]) {
    let kept: Vec<usize> =
        (0..reasons.len()).filter(|&i| reasons.get(i) == Some(&Reason::Text)).collect();
    let (mut best, mut best_range) = (0.0, None);
    let (mut sum, mut start) = (0.0, 0);
    for (position, &index) in kept.iter().enumerate() {
        if sum <= 0.0 {
            sum = 0.0;
            start = position;
        }
        sum += values.get(index).copied().unwrap_or(0.0);
        if sum > best {
            best = sum;
            best_range = Some((start, position));
        }
    }
    let Some((mut first, last)) = best_range else { return };
    let is_heading = |position: usize| {
        kept.get(position).and_then(|&i| measures.get(i)).is_some_and(|m| m.heading)
    };
    while first > 0 && is_heading(first - 1) {
        first -= 1;
    }
    for (position, &index) in kept.iter().enumerate() {
        if !(first..=last).contains(&position)
            && let Some(reason) = reasons.get_mut(index)
        {
            *reason = Reason::OutsideRun;
        }
    }
}
