//! Class words that carry most of a page's text say nothing about it.
//!
//! Page builders name each box `widget`, and a list of dishes or rooms `menu` or `w-nav`. Such a word marks boilerplate
//! on other pages. Here it would mark the text, so it does not count. Names of menus do not count either for a
//! single element with long entries and hardly a link.

use crate::blocks::Page;
use crate::class_words::{Names, PerWord, is_name_of_menu};

/// A word is ignored if elements with it hold more than this share of the text outside of links, in percent.
const SHARE: u64 = 66;
/// An element with this share of all characters is a wrapper around the page, in percent: its words describe the layout.
const WRAPPER: u64 = 90;

/// Names of menus say nothing about an element with this number of characters outside of links, of which half are in
/// blocks of [`LONG_ENTRY`] or more, if one in [`TEXT_PER_LINK`] of its characters at most is in a link. Menus of
/// a site have short entries, all of them links.
const LONG_MENU: u64 = 300;
const LONG_ENTRY: usize = 40;
const TEXT_PER_LINK: u64 = 20;

/// Removes the words that carry most of the text from the categories of all elements.
///
/// # Complexity
/// Linear in blocks and elements.
pub(crate) fn deny_common_names(page: &mut Page) {
    if !page.elements.iter().any(|element| element.names.has_deniable()) {
        return;
    }
    let mut text = vec![0u64; page.elements.len()];
    let mut all = vec![0u64; page.elements.len()];
    let mut long = vec![0u64; page.elements.len()];
    for block in &page.blocks {
        let chars = block.text.chars().count();
        let own = if block.hidden || block.structure {
            0
        } else {
            chars.saturating_sub(block.link_chars)
        };
        text.get_mut(block.element).into_iter().for_each(|sum| *sum += own as u64);
        all.get_mut(block.element).into_iter().for_each(|sum| *sum += chars as u64);
        let entry = if own >= LONG_ENTRY { own as u64 } else { 0 };
        long.get_mut(block.element).into_iter().for_each(|sum| *sum += entry);
    }
    page.carry_up(&mut text, |parent, child| *parent += child);
    page.carry_up(&mut all, |parent, child| *parent += child);
    page.carry_up(&mut long, |parent, child| *parent += child);
    let total = text.first().copied().unwrap_or(0);
    let whole = all.first().copied().unwrap_or(0);
    for (text, all) in text.iter_mut().zip(&all) {
        if all * 100 >= whole * WRAPPER {
            *text = 0;
        }
    }
    let denied = carried(page, &text).map(|carried| carried * 100 > total * SHARE);
    let is_long_menu = |at: usize, names: &Names| {
        let of = |sums: &[u64]| sums.get(at).copied().unwrap_or(0);
        let (text, all) = (of(&text), of(&all));
        let links = all.saturating_sub(text);
        text >= LONG_MENU
            && of(&long) * 2 >= text
            && links * TEXT_PER_LINK <= all
            && names.deniable().any(is_name_of_menu)
    };
    // For each element, whether it is in such a list.
    let mut in_menu: Vec<bool> = Vec::with_capacity(page.elements.len());
    for (at, element) in page.elements.iter().enumerate() {
        let above = in_menu.get(element.parent).copied().unwrap_or(false);
        in_menu.push(above || is_long_menu(at, &element.names));
    }
    for (element, in_menu) in page.elements.iter_mut().zip(in_menu) {
        let counts = |word: u8| {
            let denied = denied.get(usize::from(word)).copied().unwrap_or(false);
            !(denied || in_menu && is_name_of_menu(word))
        };
        let marks = element.names.marks_of(counts);
        if marks != element.marks {
            element.set_marks(marks);
        }
    }
}

/// Returns for each word the text inside elements with it. An element within another one of the same word adds nothing.
fn carried(page: &Page, text: &[u64]) -> PerWord<u64> {
    let mut ends: Vec<usize> = (1..=page.elements.len()).collect();
    page.carry_up(&mut ends, |parent, child| *parent = (*parent).max(*child));
    let mut sums = [0; 256];
    // The end of the last element that was counted.
    let mut counted = [0; 256];
    for (at, element) in page.elements.iter().enumerate() {
        let Some((text, own)) = text.get(at).zip(ends.get(at)).filter(|(text, _)| **text > 0)
        else {
            continue;
        };
        for word in element.names.deniable().map(usize::from) {
            let slots = sums.get_mut(word).zip(counted.get_mut(word));
            if let Some((sum, end)) = slots.filter(|(_, end)| at >= **end) {
                *sum += *text;
                *end = *own;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class_words::Marks;

    fn marks_of(html: &str, class: &str) -> Marks {
        let html = scraper::Html::parse_document(html);
        let mut page = crate::blocks::collect(
            &html,
            &crate::styles::Styles::default(),
            &crate::Limits::default(),
        );
        deny_common_names(&mut page);
        let names = crate::class_words::Names::of(class, "");
        page.elements.iter().find(|element| element.names == names).unwrap().marks
    }

    #[test]
    fn a_word_is_ignored_from_two_thirds_of_the_text_on() {
        let page = |inside: &str, outside: &str| {
            let links = "<a href=/>A long list of links to other pages</a> ".repeat(3);
            format!("<div>{links}</div><div class=menu-items>{inside}</div><p>{outside}</p>")
        };
        let text = "word ".repeat(100);
        let entries = "<li>word word</li>".repeat(50);
        assert!(!marks_of(&page(&entries, &text[..200]), "menu-items").has(Marks::NAVIGATION));
        assert!(marks_of(&page(&entries, &text[..400]), "menu-items").has(Marks::NAVIGATION));
        // Long entries without links are text, however much is around them.
        let entries = "<li>An entry that is about as long as a sentence of a text.</li>".repeat(8);
        let outside = text.repeat(3);
        assert!(!marks_of(&page(&entries, &outside), "menu-items").has(Marks::NAVIGATION));
        let short = "<li>A short entry.</li>".repeat(30);
        assert!(marks_of(&page(&short, &outside), "menu-items").has(Marks::NAVIGATION));
        let linked = entries.replace("An entry that", "<a href=/>An entry</a> that");
        assert!(marks_of(&page(&linked, &outside), "menu-items").has(Marks::NAVIGATION));
        // Text in links is no text.
        let linked = format!("<a href=/>{text}</a>");
        assert!(marks_of(&page(&linked, &text[..200]), "menu-items").has(Marks::NAVIGATION));
    }

    #[test]
    fn nested_elements_of_one_word_count_once_and_wrappers_do_not() {
        let text = "word ".repeat(50);
        let nested = format!("<p class=nav><b class=nav>{text}</b></p>");
        let nested = format!("<div class=nav><div class=nav>{nested}</div></div><p>{text}</p>");
        assert!(marks_of(&nested, "nav").has(Marks::NAVIGATION));
        let boxes = format!("<div class=nav>{text}</div><p>{text}</p><div class=nav>{text}</div>");
        let boxes = format!("{boxes}<div class=nav>{text}</div>");
        assert!(!marks_of(&boxes, "nav").has(Marks::NAVIGATION));
        assert!(marks_of(&format!("<div class=nav>{text}</div>"), "nav").has(Marks::NAVIGATION));
    }
}
