//! Names of comments that the fitted weights do not know: in other languages, by schema.org, and words that also name
//! other things.

use crate::box_names::words;

/// How sure a name is that an element contains comments, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CommentName {
    /// It names nothing else.
    Certain,
    /// It also names other boxes, such as the responses of a server.
    Likely,
    /// It also names the posts of a thread.
    Reply,
}

/// Maximum number of names of an element that are read.
const MAX_NAMES: usize = 16;
/// Beginnings of words.
const CERTAIN: [&str; 4] = ["komentar", "hozzaszolas", "yorumlar", "leserbriefe"];
/// Part of words: `leserkommentare`.
const WITHIN: &str = "kommentar";
const LIKELY: [&str; 6] =
    ["response", "responses", "opinions", "meinungen", "guestbook", "gaestebuch"];
const REPLIES: [&str; 2] = ["reply", "replies"];
/// Words that may be beside these.
const PARTS: [&str; 18] = [
    "list",
    "lists",
    "container",
    "section",
    "area",
    "wrapper",
    "wrap",
    "block",
    "box",
    "item",
    "items",
    "body",
    "content",
    "text",
    "user",
    "users",
    "reader",
    "readers",
];

/// Returns whether the attributes of schema.org say that an element is a comment.
pub(crate) fn is_comment(itemprop: Option<&str>, itemtype: Option<&str>) -> bool {
    let kind = itemtype.and_then(|of| of.trim_end().rsplit('/').next());
    itemprop == Some("comment") || matches!(kind, Some("Comment" | "UserComments"))
}

/// Returns what a class says about comments.
pub(crate) fn comments_of_class(class: &str) -> Option<CommentName> {
    class.split_ascii_whitespace().take(MAX_NAMES).filter_map(comments_of_name).min()
}

/// Returns what an id, or one name of a class, says about comments.
pub(crate) fn comments_of_name(name: &str) -> Option<CommentName> {
    if !may_name(name) {
        return None;
    }
    let words = words(name);
    let is_certain = |word: &String| {
        word.contains(WITHIN) || CERTAIN.iter().any(|start| word.starts_with(start))
    };
    if words.iter().any(is_certain) {
        return Some(CommentName::Certain);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words == ["feedback", "list"] {
        return Some(CommentName::Likely);
    }
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let found = if has(&LIKELY) {
        CommentName::Likely
    } else if has(&REPLIES) {
        CommentName::Reply
    } else {
        return None;
    };
    let is_known =
        |word: &&str| LIKELY.contains(word) || REPLIES.contains(word) || PARTS.contains(word);
    words.iter().all(is_known).then_some(found)
}

/// First letters of all words above.
const STARTS: [&[u8; 4]; 12] = [
    b"feed", b"gaes", b"gues", b"hozz", b"kome", b"komm", b"lese", b"mein", b"opin", b"repl",
    b"resp", b"yoru",
];

/// Returns whether the letters of one of these words are in a name. Most names have none, and need no reading.
fn may_name(name: &str) -> bool {
    let lower = |four: &[u8]| four.first_chunk().map(|four: &[u8; 4]| four.to_ascii_lowercase());
    let names = |four: &[u8]| {
        lower(four).is_some_and(|four| STARTS.iter().any(|start| **start == four[..]))
    };
    name.as_bytes().windows(4).any(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_comments_alone_are_names_of_comments() {
        let of = |name| comments_of_class(name);
        for name in ["leserkommentare", "komentarze-lista", "box yorumlar", "hozzaszolasok"] {
            assert_eq!(of(name), Some(CommentName::Certain), "{name}");
            assert_eq!(comments_of_name(name), Some(CommentName::Certain), "{name}");
        }
        for name in ["responses", "user-responses", "feedback-list", "guestbook", "readerOpinions"]
        {
            assert_eq!(of(name), Some(CommentName::Likely), "{name}");
        }
        for name in ["replies", "reply-list"] {
            assert_eq!(of(name), Some(CommentName::Reply), "{name}");
        }
        let words = CERTAIN.iter().chain(&LIKELY).chain(&REPLIES).chain([&WITHIN, &"feedback"]);
        assert!(words.clone().all(|word| may_name(&word.to_uppercase())));
        for name in
            ["", "http-response", "response-code", "feedback", "category-opinions", "no-reply", "é"]
        {
            assert_eq!(of(name), None, "{name}");
        }
        assert!(is_comment(Some("comment"), None));
        let is_kind = |kind| is_comment(None, Some(kind));
        assert!(is_kind("http://schema.org/UserComments") && is_kind("https://schema.org/Comment"));
        assert!(!is_kind("https://schema.org/CommentAction"));
    }
}
