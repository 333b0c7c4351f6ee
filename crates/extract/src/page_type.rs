//! Determines the page type from declarations, then the URL, then the text.

use url::Url;

use crate::blocks::Page;
use crate::kinds::Kinds;
use crate::votes::{Choice, Reason};

/// Minimum number of words of a block that counts as prose.
const PROSE_WORDS: usize = 20;
/// Minimum number of words of prose in an article that declares no type.
const ARTICLE_WORDS: usize = 150;
/// A page with a larger share of its words in links is a listing.
const LINKED_SHARE: f64 = 0.4;

/// Type of a page. `scripts/score-pages --export` measures its accuracy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PageType {
    /// News, a blog post, an essay.
    Article,
    /// A discussion, or questions and answers.
    Forum,
    /// A single product that is sold.
    Product,
    /// A list of other pages: results, categories, a front page.
    Listing,
    /// A manual, a reference, a tutorial.
    Documentation,
    /// Any other type, or too little text to decide.
    #[default]
    Other,
}

impl PageType {
    /// Returns its name in logs and exports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Article => "article",
            Self::Forum => "forum",
            Self::Product => "product",
            Self::Listing => "listing",
            Self::Documentation => "documentation",
            Self::Other => "other",
        }
    }
}

impl std::fmt::Display for PageType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// # Complexity
/// Linear in the text.
pub(crate) fn page_type(page: &Page, choices: &[Choice], url: &Url) -> PageType {
    let kinds = page.kinds;
    if kinds.is_discussion() || is_thread(url) {
        PageType::Forum
    } else if kinds.product && !kinds.article && !kinds.list {
        PageType::Product
    } else if is_documentation(url, &page.title) {
        PageType::Documentation
    } else {
        by_text(kinds, &Text::of(page, choices), url)
    }
}

fn by_text(kinds: Kinds, text: &Text, url: &Url) -> PageType {
    if kinds.list && !kinds.article || text.linked > LINKED_SHARE * text.words {
        PageType::Listing
    } else if is_product(url) {
        PageType::Product
    } else if url.path() == "/" && url.query().is_none() && text.prose < 4 * ARTICLE_WORDS {
        PageType::Other
    } else if text.prose >= ARTICLE_WORDS || kinds.article && text.prose > 0 {
        PageType::Article
    } else {
        PageType::Other
    }
}

#[derive(Debug, Default)]
struct Text {
    words: f64,
    /// Words in links.
    linked: f64,
    /// Words in long blocks.
    prose: usize,
}

impl Text {
    fn of(page: &Page, choices: &[Choice]) -> Self {
        let mut text = Self::default();
        let kept = page.blocks.iter().zip(choices).filter(|(_, c)| c.reason == Reason::Text);
        for (block, _) in kept {
            // All white space is single spaces here.
            let mut words = 1 + block.text.bytes().filter(|byte| *byte == b' ').count();
            let mut chars = block.text.len();
            if !block.text.is_ascii() {
                chars = block.text.chars().count();
                // In scripts without spaces, two characters count as one word.
                let wide = |c: &char| matches!(c, '\u{3040}'..='\u{9fff}');
                words = words.max(block.text.chars().filter(wide).count() / 2);
            }
            #[expect(clippy::cast_precision_loss, reason = "a count of words")]
            {
                text.words += words as f64;
                text.linked += (words * block.link_chars) as f64 / chars.max(1) as f64;
            }
            text.prose += if words >= PROSE_WORDS { words } else { 0 };
        }
        text
    }
}

/// Returns whether a part of the path, or the first label of the host, is in the list.
fn has_word(url: &Url, words: &[&str]) -> bool {
    let host = url.host_str().unwrap_or_default();
    let label = host.split('.').next().unwrap_or_default();
    let mut parts = url.path().split('/').chain([label]);
    parts.any(|part| words.iter().any(|word| part.eq_ignore_ascii_case(word)))
}

/// Returns whether this is the address of a discussion: on a forum's host, or with a thread's number in the path.
fn is_thread(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let label = host.strip_prefix("www.").unwrap_or(host);
    let begins = |text: &str, words: &[&str]| {
        let text = text.to_ascii_lowercase();
        words.iter().any(|word| text.starts_with(word))
    };
    let path = url.path();
    let numbered = path.bytes().chain(url.query().unwrap_or_default().bytes());
    let numbered = numbered.filter(u8::is_ascii_digit).count() > 0;
    begins(label, &["forum", "bbs", "board.", "boards.", "discuss", "community.", "tieba"])
        || path.split('/').any(|part| begins(part, &["forum", "viewtopic", "showthread"]))
        || numbered
            && path.split('/').any(|part| begins(part, &["thread", "topic", "question", "bbs"]))
            && !path.split('/').any(|part| begins(part, &["blog", "news"]))
}

fn is_documentation(url: &Url, title: &str) -> bool {
    let host = url.host_str().unwrap_or_default();
    let title = title.to_lowercase();
    has_word(url, &DOCUMENTATION)
        || TITLE.iter().any(|word| title.contains(word))
        || HOSTS.iter().any(|suffix| host.ends_with(suffix))
}

fn is_product(url: &Url) -> bool {
    has_word(url, &["product", "products", "item", "itm", "ip", "dp"]) && url.path().len() > 12
}

const DOCUMENTATION: [&str; 16] = [
    "doc",
    "docs",
    "documentation",
    "developer",
    "manual",
    "manuals",
    "reference",
    "refman",
    "man",
    "javadoc",
    "apidocs",
    "tutorial",
    "glossary",
    "man-pages",
    "wiki",
    "support",
];

/// In titles of documentation, in lower case.
const TITLE: [&str; 4] = ["documentation", " manual", "javadoc", "api reference"];

const HOSTS: [&str; 5] =
    [".readthedocs.io", ".readthedocs.org", ".gitbook.io", "docs.rs", ".rtfd.io"];

/// Returns whether address or title indicate a forum, or questions and answers.
pub(crate) fn is_forum(url: &Url, title: &str) -> bool {
    let title = title.to_lowercase();
    if FORUM_TITLE.iter().any(|word| title.contains(word)) {
        return true;
    }
    let host = url.host_str().unwrap_or_default();
    let words = |text: &str| {
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| FORUM.iter().any(|forum| word.to_ascii_lowercase().starts_with(forum)))
    };
    words(host) || words(url.path())
}

/// In titles of forums, in lower case.
const FORUM_TITLE: [&str; 5] = ["forum", "论坛", "論壇", "bbs", "форум"];

/// Beginnings of words in addresses of forums.
const FORUM: [&str; 13] = [
    "forum",
    "thread",
    "topic",
    "viewtopic",
    "showthread",
    "board",
    "bbs",
    "discuss",
    "question",
    "ask",
    "answer",
    "community",
    "tieba",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forums_are_known_by_their_addresses() {
        let forum = |url: &str| is_forum(&Url::parse(url).unwrap(), "");
        for url in [
            "http://forum.example/1",
            "http://a.example/viewtopic.php?t=1",
            "http://bbs.example/x",
            "http://a.example/questions/7/why",
        ] {
            assert!(forum(url), "{url}");
        }
        for url in ["http://a.example/news/the-river", "http://task.example/masks", "urn:x"] {
            assert!(!forum(url), "{url}");
        }
    }

    fn type_of(url: &str, html: &str) -> PageType {
        let url = Url::parse(url).unwrap();
        crate::extract(&url, None, html.as_bytes(), &crate::Limits::default()).page_type
    }

    #[test]
    fn a_page_is_what_it_declares_then_what_its_address_says_then_what_it_reads_like() {
        let line = "The harbour is open to everybody who has a boat or wants to have one soon, and it is closed \
                    when the fog is thick and nobody finds the door of it.";
        let prose =
            format!("<main><h1>The harbour</h1>{}</main>", format!("<p>{line}</p>").repeat(9));
        let links = "<li><a href=/a>The harbour and all the boats that are in it</a>".repeat(30);
        let product = r#"<script type="application/ld+json">{"@type": "Product"}</script>"#;
        let faq = r#"<script type="application/ld+json">{"@type": "FAQPage", "mainEntity": [{"@type": "Question"}]}</script>"#;
        for (url, html, expected) in [
            ("http://a.example/news/1", prose.clone(), PageType::Article),
            ("http://a.example/docs/harbour", prose.clone(), PageType::Documentation),
            ("http://docs.a.example/harbour", prose.clone(), PageType::Documentation),
            ("http://a.example/forum/1", prose.clone(), PageType::Forum),
            ("http://a.example/questions/17/x", prose.clone(), PageType::Forum),
            ("http://a.example/topics/boats", format!("{faq}{prose}"), PageType::Article),
            ("http://a.example/1", format!("{product}{prose}"), PageType::Product),
            ("http://a.example/news", format!("<ul>{links}</ul>"), PageType::Listing),
            ("http://a.example/x", "<p>Nothing here.</p>".into(), PageType::Other),
            ("http://a.example/x", String::new(), PageType::Other),
        ] {
            assert_eq!(type_of(url, &html), expected, "{url}");
        }
    }
}
