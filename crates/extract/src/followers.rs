//! Sections below an article that only their heading identifies: a number of comments, or a phrase for further stories.

use crate::blocks::{Page, Tag};
use crate::others::{blocks_in, main_headings};
use crate::votes::is_set;

/// Maximum number of bytes of such a heading, and of words beside the number of comments.
const MAX_BYTES: usize = 96;
const MAX_WORDS: usize = 3;
/// How far above the heading its section may be, in elements.
const MAX_ABOVE: usize = 4;
/// Maximum number of such headings of a page.
const MAX_HEADINGS: usize = 8;
/// Minimum numbers of comments and of stories.
const COMMENTS: usize = 2;
const STORIES: usize = 3;

/// Beginnings of words for comments, in lower case.
const COMMENT_WORDS: [&str; 20] = [
    "comment",
    "kommentar",
    "comentario",
    "comentári",
    "commenti",
    "commento",
    "reactie",
    "reacties",
    "komentar",
    "komentář",
    "коммент",
    "комент",
    "yorum",
    "σχόλι",
    "hozzászólás",
    "评论",
    "評論",
    "コメント",
    "댓글",
    "留言",
];

/// Beginnings of headings of other stories, in lower case.
const MORE: [&str; 96] = [
    "more from",
    "more stories",
    "more articles",
    "more posts",
    "more news",
    "related articles",
    "related posts",
    "related stories",
    "related news",
    "you may also like",
    "you might also like",
    "recommended for you",
    "recommended articles",
    "read next",
    "up next",
    "what to read next",
    "latest news",
    "latest posts",
    "latest articles",
    "recent posts",
    "recent articles",
    "other articles",
    "other stories",
    "other news",
    "keep reading",
    "weitere artikel",
    "weitere beiträge",
    "weitere meldungen",
    "weitere nachrichten",
    "weitere themen",
    "mehr aus",
    "mehr zum thema",
    "das könnte sie auch interessieren",
    "das könnte dich auch interessieren",
    "auch interessant",
    "ähnliche artikel",
    "ähnliche beiträge",
    "verwandte artikel",
    "lesen sie auch",
    "neueste beiträge",
    "à lire aussi",
    "lire aussi",
    "sur le même sujet",
    "articles similaires",
    "autres articles",
    "vous aimerez aussi",
    "más noticias",
    "noticias relacionadas",
    "artículos relacionados",
    "entradas relacionadas",
    "te puede interesar",
    "también te puede interesar",
    "le puede interesar",
    "leia também",
    "artigos relacionados",
    "notícias relacionadas",
    "mais notícias",
    "leggi anche",
    "articoli correlati",
    "altri articoli",
    "altre notizie",
    "lees ook",
    "meer artikelen",
    "meer nieuws",
    "czytaj także",
    "czytaj też",
    "czytaj również",
    "zobacz także",
    "zobacz również",
    "podobne artykuły",
    "przeczytaj także",
    "читайте также",
    "похожие статьи",
    "похожие записи",
    "другие новости",
    "новости по теме",
    "материалы по теме",
    "читайте також",
    "διαβάστε επίσης",
    "σχετικά άρθρα",
    "ilgili haberler",
    "benzer yazılar",
    "diğer haberler",
    "další články",
    "čtěte také",
    "relaterade artiklar",
    "les også",
    "læs også",
    "相关文章",
    "相关阅读",
    "相关新闻",
    "推荐阅读",
    "更多文章",
    "相關文章",
    "関連記事",
    "관련 기사",
];

/// Returns whether a heading is a number of comments: "5 Comments", "Kommentare (12)", "评论（3）".
fn counts_comments(heading: &str) -> bool {
    if !heading.contains(char::is_numeric) {
        return false;
    }
    let heading = heading.to_lowercase();
    let mut words = heading.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    let names = |word: &str| COMMENT_WORDS.iter().any(|start| word.starts_with(start));
    let (mut all, mut named) = (0, false);
    words.by_ref().take(MAX_WORDS + 1).for_each(|word| {
        all += 1;
        named |= names(word);
    });
    // "Comment 1" is the first of several.
    let is_numbered = heading.ends_with(|c: char| c.is_numeric()) && !heading.contains(':');
    named && all <= MAX_WORDS && !is_numbered
}

fn names_more(heading: &str) -> bool {
    let heading = heading.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    // Most headings begin with another letter.
    let first = heading.bytes().next();
    MORE.iter().any(|start| start.bytes().next() == first && heading.starts_with(start))
}

/// What the section below a heading must contain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// At least two elements of one kind below a number of comments.
    Comments,
    /// At least three elements of one kind that begin with a link to another page, below a phrase such as "More from us".
    Stories,
}

/// Returns the blocks of the sections of this kind after the main heading. A section begins at its heading and ends at
/// the next element beside it that begins with a heading of this level. `None` if there are none.
///
/// # Complexity
/// Linear in blocks and elements for each of at most 8 headings.
pub(crate) fn sections(page: &Page, section: Section) -> Option<Vec<bool>> {
    let main = page.blocks.iter().position(|block| block.heading == 1 && !block.hidden)?;
    let is_one = |text: &str| {
        text.len() <= MAX_BYTES
            && if section == Section::Comments { counts_comments(text) } else { names_more(text) }
    };
    let headings = page.blocks.iter().enumerate().skip(main + 1);
    let headings: Vec<usize> = headings
        .filter(|(_, block)| block.heading > 1 && !block.hidden && is_one(&block.text))
        .map(|(at, _)| at)
        .take(MAX_HEADINGS)
        .collect();
    if headings.is_empty() {
        return None;
    }
    let around = main_headings(page);
    let firsts = firsts(page);
    let mut inside = vec![false; page.elements.len()];
    for at in headings {
        for element in section_of(page, section, at, &firsts, &around).unwrap_or_default() {
            inside.get_mut(element).into_iter().for_each(|inside| *inside = true);
        }
    }
    blocks_in(page, |at| is_set(&inside, at))
}

/// Returns the first block of each element, [`usize::MAX`] if it has none.
fn firsts(page: &Page) -> Vec<usize> {
    let mut firsts = vec![usize::MAX; page.elements.len()];
    for (at, block) in page.blocks.iter().enumerate() {
        firsts.get_mut(block.element).into_iter().for_each(|first| *first = at.min(*first));
    }
    page.carry_up(&mut firsts, |parent, child| *parent = (*parent).min(*child));
    firsts
}

/// Returns the heading's element, or one around it that begins with it, and the elements beside it up to the end of the
/// section.
fn section_of(
    page: &Page,
    section: Section,
    heading: usize,
    firsts: &[usize],
    around: &[u32],
) -> Option<Vec<usize>> {
    let block = page.blocks.get(heading)?;
    let first = |at: usize| firsts.get(at).and_then(|first| page.blocks.get(*first));
    let mut at = block.element;
    for _ in 0..MAX_ABOVE {
        let parent = page.elements.get(at)?.parent;
        if at == 0 || around.get(at) != Some(&0) {
            return None;
        }
        let beside = page.elements.iter().enumerate().skip(at + 1);
        let beside = beside.filter(|(_, element)| element.parent == parent).map(|(at, _)| at);
        let beside: Vec<usize> = beside
            .take_while(|at| {
                let level = first(*at).map_or(0, |block| block.heading);
                around.get(*at) == Some(&0) && (level == 0 || level > block.heading)
            })
            .collect();
        let is_item = |at: usize| match section {
            Section::Comments => first(at).is_some_and(|block| block.heading == 0),
            Section::Stories => first(at).is_some_and(|block| block.leads),
        };
        if has_items(page, &beside, section, is_item) {
            return Some([at].into_iter().chain(beside).collect());
        }
        if firsts.get(parent) != Some(&heading) {
            return None;
        }
        at = parent;
    }
    None
}

/// Returns whether enough elements of one kind are items: those beside the heading, or those in one of them.
fn has_items(
    page: &Page,
    beside: &[usize],
    section: Section,
    is_item: impl Fn(usize) -> bool,
) -> bool {
    let least = if section == Section::Comments { COMMENTS } else { STORIES };
    let enough = |elements: &mut dyn Iterator<Item = usize>| {
        let mut kinds: Vec<u32> =
            elements.filter(|at| is_item(*at)).map(|at| page.signature(at)).collect();
        kinds.sort_unstable();
        kinds.chunk_by(|a, b| a == b).any(|kind| kind.len() >= least)
    };
    // Paragraphs are no comments by themselves.
    let is_box = |at: &usize| {
        page.elements.get(*at).is_some_and(|element| matches!(element.tag, Tag::Other | Tag::Item))
    };
    enough(&mut beside.iter().copied().filter(is_box))
        || beside.iter().take(MAX_ABOVE).any(|list| {
            let inside = page.elements.iter().enumerate().skip(list + 1);
            enough(&mut inside.filter(|(_, e)| e.parent == *list).map(|(at, _)| at).filter(is_box))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_with_a_number_of_comments_and_phrases_for_more_are_found() {
        for heading in [
            "5 Comments",
            "Kommentare (12)",
            "评论（3）",
            "12 reader comments",
            "Comments: 4",
            "3 комментария",
        ] {
            assert!(counts_comments(heading), "{heading}");
        }
        for heading in
            ["Comments", "Comment 1", "How to count 5 comments in a text", "5 boats", "Commentary"]
        {
            assert!(!counts_comments(heading), "{heading}");
        }
        for heading in ["More from us", "» Weitere Artikel", "相关文章", "READ NEXT"] {
            assert!(names_more(heading), "{heading}");
        }
        for heading in ["More than rain", "See also", "Articles", ""] {
            assert!(!names_more(heading), "{heading}");
        }
    }
}
