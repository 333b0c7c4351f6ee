//! Names of comments that the fitted weights do not know: in other languages, by schema.org, and words that also name
//! other things.

use crate::box_names::words;

/// How sure a name is that an element contains comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Returns what class, id and the attributes of schema.org say about comments.
pub(crate) fn comment_name(
    [class, id]: [&str; 2],
    itemprop: Option<&str>,
    itemtype: Option<&str>,
) -> Option<CommentName> {
    let kind = itemtype.and_then(|of| of.trim_end().rsplit('/').next());
    if itemprop == Some("comment") || matches!(kind, Some("Comment" | "UserComments")) {
        return Some(CommentName::Certain);
    }
    let names = class.split_ascii_whitespace().take(MAX_NAMES).chain([id]);
    let found = names.filter(|name| !name.is_empty()).filter_map(kind_of);
    found.min_by_key(|found| *found as u8)
}

fn kind_of(name: &str) -> Option<CommentName> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_comments_alone_are_names_of_comments() {
        let of = |name| comment_name([name, ""], None, None);
        for name in ["leserkommentare", "komentarze-lista", "box yorumlar", "hozzaszolasok"] {
            assert_eq!(of(name), Some(CommentName::Certain), "{name}");
            assert_eq!(comment_name(["x", name], None, None), Some(CommentName::Certain), "{name}");
        }
        for name in ["responses", "user-responses", "feedback-list", "guestbook", "readerOpinions"]
        {
            assert_eq!(of(name), Some(CommentName::Likely), "{name}");
        }
        for name in ["replies", "reply-list"] {
            assert_eq!(of(name), Some(CommentName::Reply), "{name}");
        }
        for name in
            ["", "http-response", "response-code", "feedback", "category-opinions", "no-reply", "é"]
        {
            assert_eq!(of(name), None, "{name}");
        }
        let schema = |itemprop, itemtype| comment_name([""; 2], itemprop, itemtype);
        assert_eq!(schema(Some("comment"), None), Some(CommentName::Certain));
        let of = |kind| schema(None, Some(kind));
        assert_eq!(of("http://schema.org/UserComments"), Some(CommentName::Certain));
        assert_eq!(of("https://schema.org/Comment"), Some(CommentName::Certain));
        assert_eq!(of("https://schema.org/CommentAction"), None);
    }
}
