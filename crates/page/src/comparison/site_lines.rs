//! Verdicts that change if lines of a text are the site's, not the page's.

use super::Compared;
use super::rules::{FEW_WORDS, Limits, Outcome, Reason};
use crate::difference::{Difference, PartKind, SITE_PAGES, Words};

/// Texts with more lines are decided without the lines of their sites.
const MAX_LINES: usize = 1_024;
/// Minimum share of unique words in what remains of each page without the lines of its site. Below it, they are
/// versions of one page.
const OTHER_REST: f64 = 0.5;

/// A comparison whose verdict may depend on the lines that the sites of the two pages repeat.
///
/// The comparison is a function of the two texts. Which lines a site repeats depends on the pages before, so
/// [`decide`](Self::decide) is a step of its own.
#[derive(Clone, Debug)]
pub struct SiteCase {
    reason: Reason,
    limits: Limits,
    shared: usize,
    sides: [Side; 2],
}

#[derive(Clone, Debug)]
struct Side {
    words: usize,
    own: usize,
    lines: Vec<Line>,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    hash: u64,
    words: usize,
    /// Whether it is in a block that only this text has.
    is_own: bool,
}

/// The number of words in lines that a site repeats: in all lines, and in those that only this text has.
#[derive(Clone, Copy, Debug, Default)]
struct OfSite {
    all: usize,
    own: usize,
}

impl Outcome {
    /// Returns what the verdict depends on if lines are known that the sites of the two pages repeat; `None` if it
    /// does not depend on them. The arguments are those of [`compare_pages`].
    ///
    /// # Complexity
    /// Linear in the texts.
    pub fn site_case(
        &self,
        page: &Compared,
        kept: &Compared,
        one_site: bool,
    ) -> Option<Box<SiteCase>> {
        let limits = Limits::of(self.names, one_site);
        SiteCase::of(self.reason, limits, self.difference.as_ref()?, [page.words(), kept.words()])
    }
}

impl SiteCase {
    /// Returns the case of a comparison; `None` if no lines of a site can change its verdict. `limits` are those of
    /// unique text.
    ///
    /// # Complexity
    /// Linear in the texts.
    fn of(
        reason: Reason,
        limits: Limits,
        difference: &Difference,
        texts: [&Words; 2],
    ) -> Option<Box<Self>> {
        let has_own = [0, 1].map(|side| difference.own[side] > 0);
        let depends = match reason {
            Reason::OwnText => has_own[0] || has_own[1],
            Reason::LittleDiffers => has_own[0] && has_own[1],
            _ => false,
        };
        if !depends || difference.cut {
            return None;
        }
        let kinds = [PartKind::Removed, PartKind::Added];
        let side = |side: usize| {
            let blocks = difference.parts.iter().filter(|part| part.kind == kinds[side]);
            let blocks = blocks.map(|part| if side == 0 { &part.first } else { &part.second });
            let mut blocks: Vec<_> = blocks.cloned().collect();
            blocks.sort_unstable_by_key(|block| block.start);
            let line = |words: std::ops::Range<usize>| {
                let before = blocks.partition_point(|block| block.start <= words.start);
                let block = before.checked_sub(1).and_then(|at| blocks.get(at));
                let is_own = block.is_some_and(|block| words.end <= block.end);
                Line { hash: texts[side].line_hash(words.clone()), words: words.len(), is_own }
            };
            let lines: Vec<Line> = texts[side].lines().take(MAX_LINES + 1).map(line).collect();
            Side { words: difference.words[side], own: difference.own[side], lines }
        };
        let sides = [side(0), side(1)];
        if sides.iter().any(|side| side.lines.len() > MAX_LINES) {
            return None;
        }
        let case = Self { reason, limits, shared: difference.shared, sides };
        // The most that sites can explain: all blocks, or all common lines.
        let most = case.sides.each_ref().map(|side| {
            let own = side.lines.iter().filter(|line| line.is_own).map(|line| line.words).sum();
            OfSite { all: own, own }
        });
        let may_change = match reason {
            Reason::OwnText => case.is_explained(most),
            _ => true,
        };
        may_change.then(|| Box::new(case))
    }

    /// Decides with the lines that the sites repeat. `pages_with` returns for a side (0 is the page, 1 the kept page)
    /// and the hash of a line the number of other kept pages of that side's site that contain the line.
    ///
    /// - Blocks of whole lines that the site repeats are not unique text of a page.
    /// - Pages that are one only because of such lines are two, if most of the rest of each is unique.
    ///
    /// # Complexity
    /// Linear in the number of lines, with a look-up for each.
    pub fn decide(&self, pages_with: impl Fn(usize, u64) -> u64) -> Reason {
        let of_site = [0, 1].map(|side| {
            let lines = self.sides[side].lines.iter();
            let repeated = lines.filter(|line| pages_with(side, line.hash) >= SITE_PAGES);
            repeated.fold(OfSite::default(), |sum, line| OfSite {
                all: sum.all + line.words,
                own: sum.own + if line.is_own { line.words } else { 0 },
            })
        });
        match self.reason {
            Reason::OwnText if self.is_explained(of_site) => Reason::SiteLines,
            Reason::LittleDiffers if self.differs_beside(of_site) => Reason::SharedSiteLines,
            reason => reason,
        }
    }

    /// Returns whether the rest is within the limits, and more than a few words of it are in both texts.
    fn is_explained(&self, of_site: [OfSite; 2]) -> bool {
        let rest = [0, 1].map(|side| self.sides[side].words.saturating_sub(of_site[side].own));
        let own = [0, 1].map(|side| self.sides[side].own.saturating_sub(of_site[side].own));
        // Common words that are not the site's either.
        let common = [0, 1].map(|side| {
            let of_page = self.sides[side].words.saturating_sub(of_site[side].all);
            of_page.saturating_sub(own[side])
        });
        let share = |part: usize, side: usize| part as f64 / rest[side].max(1) as f64;
        let own_shares = [0, 1].map(|side| share(own[side], side));
        let lacking = [0, 1].map(|side| 1.0 - share(self.shared.min(rest[side]), side));
        let is_much = |side: usize| {
            // Without its blocks, the page is no more the site's than its own.
            common[side] >= FEW_WORDS && share(common[side], side) >= OTHER_REST
        };
        of_site.iter().any(|one| one.own > 0)
            && is_much(0)
            && is_much(1)
            && !self.limits.exceeded(own_shares, lacking, own[0])
    }

    /// Returns whether most of the rest of each page is unique.
    fn differs_beside(&self, of_site: [OfSite; 2]) -> bool {
        [0, 1].into_iter().all(|side| {
            let rest = self.sides[side].words.saturating_sub(of_site[side].all);
            let own = self.sides[side].own.saturating_sub(of_site[side].own);
            of_site[side].all > 0 && rest >= FEW_WORDS && own as f64 > OTHER_REST * rest as f64
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{PageText, compare_pages};
    use super::*;

    const NOTICE: &str = "Sign up for the letter of the works and read what is new in every week of the year.\nThe \
        shop is open on every day but Monday, and it is closed on the days between the years.\nWrite to us if a \
        parcel has not come to you within ten days of the order that you made.";

    fn article(subject: &str, sentences: usize) -> String {
        let line = |at: usize| {
            format!(
                "The {subject} of part{at} stands by the wall{at} and the people of town{at} come to see it.\n"
            )
        };
        (0..sentences).map(line).collect()
    }

    fn page(text: String) -> Compared {
        let heading = "An evening by the sea".to_owned();
        Compared::new(PageText { title: heading.clone(), heading, text, cells: String::new() })
    }

    /// Decides, if all lines of the notice are on this number of other pages.
    fn decided(one: &Compared, other: &Compared, pages: u64) -> Reason {
        let notice = page(NOTICE.to_owned());
        let outcome = compare_pages(one, other, true);
        let Some(case) = outcome.site_case(one, other, true) else { return outcome.reason };
        case.decide(|_, line| if notice.line_hashes().contains(&line) { pages } else { 0 })
    }

    #[test]
    fn a_block_of_the_site_does_not_make_two_pages() {
        // The block is nearly as long as the article, and more than its limit of unique text with an edit.
        let short = article("lamp", 3);
        let block = [NOTICE, NOTICE, NOTICE].join("\n");
        let (with, without) = (page(format!("{short}{block}")), page(short.clone()));
        for (one, other) in [(&with, &without), (&without, &with)] {
            assert_eq!(decided(one, other, 2), Reason::OwnText);
            assert_eq!(decided(one, other, 3), Reason::SiteLines);
        }
        assert!(Reason::SiteLines.same());
        // A line of its own between them.
        let own = page(format!("{short}{block}\n{}", article("tower", 6)));
        assert_eq!(decided(&own, &without, 9), Reason::OwnText);
        // Numbers, names and substitutions are decided as before.
        let other = page(format!("{}{block}", article("bridge", 3)));
        let reason = decided(&other, &without, 9);
        assert!(!reason.same(), "{reason:?}");
    }

    #[test]
    fn pages_of_little_but_the_lines_of_their_site_are_two() {
        let notice: String =
            (0..8).map(|at| NOTICE.replace("the", &format!("the{at}")) + "\n").collect();
        let [one, other] = ["Bert wrote a poem about his garden, where beans and old roses grow beside a small pond.",
            "My aunt has sold four boats to sailors who never paid, so now she keeps bees and sells honey."]
            .map(|own| page(format!("{notice}{own}")));
        let outcome = compare_pages(&one, &other, true);
        assert_eq!(outcome.reason, Reason::LittleDiffers);
        let case = outcome.site_case(&one, &other, true).unwrap();
        let known = page(notice.clone());
        let pages = |pages: u64| {
            let known = known.line_hashes();
            case.decide(move |_, line| if known.contains(&line) { pages } else { 0 })
        };
        assert_eq!(pages(2), Reason::LittleDiffers);
        assert_eq!(pages(3), Reason::SharedSiteLines);
        assert!(!Reason::SharedSiteLines.same());
        // An appended line is no difference of both.
        let shorter = page(notice);
        assert!(compare_pages(&one, &shorter, true).site_case(&one, &shorter, true).is_none());
    }

    proptest! {
        /// Swapped pages are decided alike, and without known lines the verdict stays.
        #[test]
        fn swapped_pages_are_decided_alike(
            lines in prop::collection::vec((0usize..40, 0u8..3), 0..40),
            repeated in prop::collection::hash_set(0usize..40, 0..40),
        ) {
            let line = |at: usize| article(&format!("thing{at}"), 1 + at % 2);
            let text = |side: u8| -> String {
                lines.iter().filter(|(_, on)| *on == 2 || *on == side).map(|(at, _)| line(*at)).collect()
            };
            let (one, other) = (page(text(0)), page(text(1)));
            let known = page(repeated.iter().map(|at| line(*at)).collect());
            let decide = |one: &Compared, other: &Compared, pages: u64| {
                let outcome = compare_pages(one, other, true);
                let case = outcome.site_case(one, other, true);
                let pages = |_, line| if known.line_hashes().contains(&line) { pages } else { 0 };
                (outcome.reason, case.map_or(outcome.reason, |case| case.decide(pages)))
            };
            prop_assert_eq!(decide(&one, &other, 3), decide(&other, &one, 3));
            let (before, after) = decide(&one, &other, 2);
            prop_assert_eq!(before, after);
        }
    }
}
