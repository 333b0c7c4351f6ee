//! Page names: heading and title. Pages of one site with different names are seldom duplicates.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use url::Url;

use crate::Document;
use crate::block_evidence::words as words_of;
use crate::blocks::{Page, RawBlock};
use crate::lang::is_cjk;
use crate::tokens::for_each_token;
use crate::version::without_version;
use crate::votes::Choice;
use crate::votes::Reason;

/// Maximum number of bytes of a heading, far above any real one.
pub(crate) const MAX_HEADING: usize = 16_384;

impl Document {
    /// Returns hashes of the page names: the heading, and the title without the site's name. Each is hashed as it
    /// is, and with every number replaced by 0. The hashes of a missing name are 0.
    ///
    /// # Complexity
    /// Linear in heading and title.
    pub fn names(&self, hash: impl Fn(&[u8]) -> u64) -> [[u64; 2]; 2] {
        [name(&self.heading, &hash), name(own_title(&self.title, &self.heading), &hash)]
    }

    /// Returns the heading, or the first part of the title if the heading belongs to comments or to the template: if
    /// it has no word of a long first part, and less than half of its words are in any other part.
    pub(crate) fn own_heading(&self) -> &str {
        let parts = parts(&self.title);
        let Some((first, others)) = parts.split_first() else { return &self.heading };
        let heading = tokens(&self.heading);
        let known = |part: &str| {
            let part = tokens(part);
            heading.iter().filter(|word| part.contains(word)).count()
        };
        let foreign =
            known(first) == 0 && others.iter().all(|part| 2 * known(part) < heading.len());
        if foreign && tokens(first).len() >= SITE_WORDS { first } else { &self.heading }
    }
}

/// Minimum number of words of a title's first part that is the page's own: sites seldom have such long names.
const SITE_WORDS: usize = 4;

/// Separators between a page's title and its site's name.
const JOINTS: [&str; 7] = [" - ", " :: ", " | ", " – ", " — ", " · ", " » "];

/// Splits a title into its parts. An underscore is a separator only beside a Chinese or Japanese character.
fn parts(title: &str) -> Vec<&str> {
    let mut parts = vec![title];
    for joint in JOINTS {
        parts = parts.into_iter().flat_map(|part| part.split(joint)).collect();
    }
    let joins = |text: &str, at: usize| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + 1..).and_then(|text| text.chars().next());
        before.is_some_and(is_cjk) || after.is_some_and(is_cjk)
    };
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        let mut from = 0;
        for (at, _) in part.match_indices('_').filter(|(at, _)| joins(part, *at)) {
            all.extend(part.get(from..at));
            from = at + 1;
        }
        all.extend(part.get(from..));
    }
    all
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for_each_token(text, |token| tokens.push(token.to_owned()));
    tokens
}

/// Returns the title without the site's name: the first part, unless only a later one shares words with the heading.
fn own_title<'a>(title: &'a str, heading: &str) -> &'a str {
    let parts = parts(title);
    let theirs = tokens(heading);
    let shared = |part: &str| tokens(part).iter().filter(|word| theirs.contains(word)).count();
    let first = parts.first().copied().unwrap_or(title);
    if shared(first) > 0 || tokens(first).len() >= SITE_WORDS {
        return first;
    }
    let best = parts.into_iter().rev().max_by_key(|part| shared(part));
    best.filter(|part| shared(part) > 0).unwrap_or(first)
}

/// Returns a heading or title without its section number and without words such as "print version".
pub fn plain_name(text: &str) -> &str {
    without_version(without_section(text))
}

/// Hashes a name's tokens, as they are and with numbers as 0. Spacing, case and punctuation do not matter.
fn name(text: &str, hash: impl Fn(&[u8]) -> u64) -> [u64; 2] {
    let (mut tokens, mut masked) = (String::new(), String::new());
    for_each_token(plain_name(text), |token| {
        tokens.push_str(token);
        tokens.push(' ');
        // `1,000` is two tokens, but one number.
        if masked.ends_with("0 ") && token.chars().all(char::is_numeric) {
            return;
        }
        let mut digits = false;
        for c in token.chars() {
            match (c.is_numeric(), digits) {
                (false, _) => masked.push(c),
                (true, false) => masked.push('0'),
                (true, true) => {}
            }
            digits = c.is_numeric();
        }
        masked.push(' ');
    });
    if tokens.is_empty() { [0; 2] } else { [hash(tokens.as_bytes()), hash(masked.as_bytes())] }
}

/// Removes `4.7. ` or `D.5. `, which may differ between editions. Without the last dot, it may be a version number.
fn without_section(text: &str) -> &str {
    let Some((section, rest)) = text.trim_start().split_once(char::is_whitespace) else {
        return text;
    };
    let numbers = |part: &str| part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    let letter = |part: &str| part.len() == 1 && part.bytes().all(|byte| byte.is_ascii_uppercase());
    let mut parts = section.split('.').rev();
    let dotted = parts.next() == Some("") && section.len() > 1;
    let mut parts = parts.rev();
    let first =
        parts.next().is_some_and(|part| !part.is_empty() && (numbers(part) || letter(part)));
    let others = parts.all(|part| !part.is_empty() && numbers(part));
    if dotted && first && others && !rest.trim().is_empty() { rest } else { text }
}

/// Returns the first heading of the highest level, except menus and the site's name: the last part of the title, or a
/// label of the host. If the title has none of its words (comments), returns the heading that the title covers best.
pub(crate) fn main_heading(page: &Page, choices: &[Choice], url: &Url) -> Option<String> {
    let title = page.title.trim();
    let site = JOINTS.iter().filter_map(|joint| title.rsplit_once(joint)).map(|(_, site)| site);
    let site = site.min_by_key(|site| site.len()).unwrap_or_default();
    let away = [Reason::Structure, Reason::Hidden, Reason::Name];
    let headings = || {
        let all = page.blocks.iter().zip(choices);
        all.filter(|(block, _)| block.heading > 0 && !names_host(heading_of(block), url))
    };
    let is_away = |choice: &Choice| away.contains(&choice.reason);
    let others: Vec<&str> = headings()
        .filter(|(_, choice)| !is_away(choice))
        .map(|(block, _)| heading_of(block))
        .collect();
    let only = only_main(page).filter(|only| names_page(heading_of(only), title, site, &others));
    // Editions of one page name it in a header ("Class Boat") or in the text ("Boat").
    let known: HashSet<String, RandomState> = lowercase_words(title).collect();
    let only = only.filter(|_| others.iter().all(|other| share(&known, other) < 1.0));
    let own: Vec<&RawBlock> = headings()
        .filter(|(block, choice)| {
            let names = || only.is_some_and(|only| std::ptr::eq(only, *block));
            block.text.trim() != site.trim() && (!is_away(choice) || names())
        })
        .map(|(block, _)| block)
        .collect();
    let first = |blocks: &[&'_ RawBlock]| {
        let level = blocks.iter().map(|block| block.heading).min()?;
        blocks.iter().position(|block| block.heading == level)
    };
    let Some(mut main) = first(&own) else {
        let all: Vec<&RawBlock> = headings().map(|(block, _)| block).collect();
        return first(&all).and_then(|at| all.get(at)).map(|block| heading_of(block).to_owned());
    };
    let known_of = |block: &RawBlock| share(&known, heading_of(block));
    if own.get(main).is_some_and(|block| known_of(block) == 0.0) {
        let mut best = KNOWN_TO_TITLE;
        for (at, share) in own.iter().map(|block| known_of(block)).enumerate().rev() {
            if share >= best {
                (best, main) = (share, at);
            }
        }
    }
    own.get(main).map(|block| heading_of(block).to_owned())
}

/// Returns the only shown heading of the first level. One with a link is the name of the site.
fn only_main(page: &Page) -> Option<&RawBlock> {
    let mut all = page.blocks.iter().filter(|block| block.heading == 1 && !block.hidden);
    all.next().filter(|main| all.next().is_none() && !main.styled && main.links == 0)
}

/// Returns whether the only main heading names the page although it is in a header, a banner or a breadcrumb. At least
/// .75 of its words are in a part of the title other than the site's name, or half and it has the whole part; and no
/// other heading has the rest of the title. Or no heading has a word of the title.
fn names_page(main: &str, title: &str, site: &str, others: &[&str]) -> bool {
    let words: HashSet<String, RandomState> = lowercase_words(title).collect();
    if words.is_empty() || main.trim() == site.trim() {
        return false;
    }
    if share(&words, main) == 0.0 {
        return others.iter().all(|other| share(&words, other) == 0.0);
    }
    let own: HashSet<String, RandomState> = lowercase_words(main).collect();
    let rest: HashSet<String, RandomState> = words.difference(&own).cloned().collect();
    if others.iter().any(|other| share(&rest, other) >= KNOWN_TO_TITLE) {
        return false;
    }
    let parts = parts(title);
    let mut parts = parts.iter().filter(|part| site.is_empty() || part.trim() != site.trim());
    parts.any(|part| {
        let known = share(&lowercase_words(part).collect(), main);
        known >= MOSTLY_KNOWN || known >= KNOWN_TO_TITLE && share(&own, part) >= 1.0
    })
}

/// The same for a heading in a header that lacks words of the title.
const MOSTLY_KNOWN: f64 = 0.75;

/// Minimum number of bytes of a host's label that may be a site's name.
const LEAST_LABEL: usize = 4;

/// Returns whether a heading is a label of its host (not the last): `A Quiet Paper` on `www.a-quiet-paper.example`.
fn names_host(heading: &str, url: &Url) -> bool {
    let letters = |text: &str| -> String {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let (named, _) = url.domain().and_then(|host| host.rsplit_once('.')).unwrap_or_default();
    let mut labels = named.split('.').map(letters);
    let longest = named.len();
    // Labels are not longer than their host: skip most headings.
    heading.len() <= 4 * longest && {
        let heading = letters(heading);
        heading.len() >= LEAST_LABEL && labels.any(|label| label == heading)
    }
}

/// Minimum share of a heading's words in the title if the title covers it.
const KNOWN_TO_TITLE: f64 = 0.5;

fn lowercase_words(text: &str) -> impl Iterator<Item = String> + '_ {
    words_of(text).map(str::to_lowercase)
}

fn share(known: &HashSet<String, RandomState>, text: &str) -> f64 {
    let (mut all, mut found) = (0u32, 0u32);
    for word in lowercase_words(text) {
        all += 1;
        found += u32::from(known.contains(&word));
    }
    f64::from(found) / f64::from(all.max(1))
}

/// Returns the text of a heading, within [`MAX_HEADING`].
pub(crate) fn heading_of(block: &RawBlock) -> &str {
    let end = block.text.floor_char_boundary(MAX_HEADING);
    block.text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(text: &str) -> [u64; 2] {
        name(text, |bytes| bytes.iter().fold(7, |h: u64, b| h.wrapping_mul(31) ^ u64::from(*b)))
    }

    #[test]
    fn the_site_is_no_part_of_a_name_of() {
        assert_eq!(own_title("The river rose - Paper", ""), "The river rose");
        assert_eq!(own_title("Paper | The river rose", "River rose"), "The river rose");
        assert_eq!(own_title("abi_x - The Unstable Book", "The abi_x feature"), "abi_x");
        let title = "How the river rose - Paper - A flood elsewhere";
        assert_eq!(own_title(title, "A flood elsewhere"), "How the river rose");
        assert_eq!(own_title("大河涨水_晚报 (2)", ""), "大河涨水");
        assert_eq!(parts("_a_b_河_c_d_ - x_y"), ["_a_b", "河", "c_d_", "x_y"]);
        assert_eq!(name_of("The  River\nrose!"), name_of("the river rose"));
        assert_eq!(name_of("The river rose (print)"), name_of("The river rose"));
        assert_eq!(name_of(" - "), [0; 2]);
        let (one, other) = (name_of("Item 12a of 3"), name_of("Item 407a of 5"));
        assert_ne!(one[0], other[0]);
        assert_eq!(one[1], other[1]);
        assert_ne!(name_of("Item 12 of 3")[1], one[1], "a letter more");
        assert_eq!(name_of("Lot 1,000")[1], name_of("Lot 999")[1]);
        for text in ["4.7. Check the files", "D.5. Check the files", "12. Check the files"] {
            assert_eq!(without_section(text), "Check the files");
        }
        for text in [
            "4.7 Check",
            "2024. Check",
            ". Check",
            "4..7. Check",
            "a.7. Check",
            "4.7. ",
            "",
            "天.1. 空",
        ] {
            assert_eq!(without_section(text), text);
        }
    }
}
