//! Names of boxes that are often beside an article: about its author, about personal data, with other pages.

/// What a class says about a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoxName {
    /// About the author: `author-bio`, `aboutTheAuthor`.
    Author,
    /// About personal data: `gdpr-notice`.
    Privacy,
    /// Other pages: `related-posts`.
    Recommended,
}

/// Maximum numbers of names of an element and of words of a name that are read.
const MAX_NAMES: usize = 16;
const MAX_WORDS: usize = 8;
/// Names of entries of a list. Themes give them the tags and the author of the entry as further names.
const ENTRIES: [&str; 6] = ["hentry", "post", "type-post", "entry", "article", "node"];
/// First words of names that say what an element has or lacks, or how an entry is tagged.
const FLAGS: [&str; 14] = [
    "has", "is", "no", "hide", "show", "with", "without", "needs", "js", "for", "tag", "category",
    "cat", "term",
];
const PERSONS: [&str; 5] = ["author", "autor", "auteur", "writer", "contributor"];
const BOXES: [&str; 9] =
    ["bio", "box", "info", "card", "desc", "description", "details", "profile", "widget"];
const AUTHOR_BOXES: [&str; 4] = ["authorbox", "authorbio", "authorinfo", "aboutauthor"];
/// Words beside the name of a person: the box is about something else that has an author.
const OF_OTHERS: [&str; 14] = [
    "testimonial",
    "testimonials",
    "quote",
    "review",
    "reviews",
    "book",
    "comment",
    "article",
    "content",
    "has",
    "hide",
    "no",
    "with",
    "without",
];
const PRIVACY: [&str; 5] = ["gdpr", "rodo", "dsgvo", "rgpd", "consent"];
/// Words beside these: what is inside waits for consent.
const WAITING: [&str; 3] = ["embed", "content", "wrapper"];
const OTHER_PAGES: [&str; 5] = ["related", "recommend", "popular", "trending", "teaser"];

/// Returns what the class of an element says. Ids are ignored: many programs make them from the words of a heading.
pub(crate) fn box_name(class: &str) -> Option<BoxName> {
    let names = || class.split_ascii_whitespace().take(MAX_NAMES);
    let found = names().find_map(|name| {
        let words = words(name);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        kind(&words)
    })?;
    let is_entry = names().any(|name| ENTRIES.iter().any(|entry| name.eq_ignore_ascii_case(entry)));
    (!is_entry).then_some(found)
}

fn kind(words: &[&str]) -> Option<BoxName> {
    if words.first().is_none_or(|first| FLAGS.contains(first)) {
        return None;
    }
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let is_author = has(&AUTHOR_BOXES)
        || words.windows(2).any(|two| match two {
            ["about", person] => PERSONS.contains(person),
            [person, name] => PERSONS.contains(person) && BOXES.contains(name),
            _ => false,
        })
        || words.windows(3).any(|three| match three {
            ["about", "the", person] => PERSONS.contains(person),
            _ => false,
        });
    if is_author && !has(&OF_OTHERS) {
        Some(BoxName::Author)
    } else if has(&PRIVACY) && !has(&WAITING) {
        Some(BoxName::Privacy)
    } else if words.iter().any(|word| OTHER_PAGES.iter().any(|start| word.starts_with(start))) {
        Some(BoxName::Recommended)
    } else {
        None
    }
}

/// Returns the words of a name in lower case. They end at non-letters and before capitals.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in name.chars() {
        let begins = !before.is_ascii_alphabetic()
            || (c.is_ascii_uppercase() && before.is_ascii_lowercase());
        if c.is_ascii_alphabetic() {
            if begins {
                if words.len() == MAX_WORDS {
                    break;
                }
                words.push(String::new());
            }
            words.last_mut().into_iter().for_each(|word| word.push(c.to_ascii_lowercase()));
        }
        before = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_boxes_are_known_by_neighbouring_words() {
        use BoxName::{Author, Privacy, Recommended};
        for (class, expected) in [
            ("post__author-info", Some(Author)),
            ("main-box border-top author-box", Some(Author)),
            ("AuthorBio", Some(Author)),
            ("aboutTheAuthor", Some(Author)),
            ("about-author", Some(Author)),
            ("authorbox", Some(Author)),
            ("cg_rodo_popup", Some(Privacy)),
            ("ConsentBanner", Some(Privacy)),
            ("post_recommend_news", Some(Recommended)),
            ("grid relatedPosts", Some(Recommended)),
            // Two names are two things.
            ("author-ada box", None),
            ("profile_bio", None),
            ("authority-info", None),
            ("details-by-author", None),
            ("infobox-authors-info", None),
            // Flags, and entries of a list with their tags and authors.
            ("content has-author-box", None),
            ("no-author-box", None),
            ("tag-gdpr", None),
            ("hentry author-info", None),
            ("post related", None),
            ("testimonial-author-box", None),
            ("embed-consent", None),
            ("consentement", None),
            ("", None),
        ] {
            assert_eq!(box_name(class), expected, "{class}");
        }
        let _ = box_name(&"aB-é ".repeat(5000));
    }
}
