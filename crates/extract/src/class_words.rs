//! Classifies elements by the words in their class and id.

use std::sync::LazyLock;

/// Categories of a class or id, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(pub(crate) u16);

impl Marks {
    pub(crate) const CONTENT: Self = Self(1);
    pub(crate) const COMMENT: Self = Self(1 << 1);
    pub(crate) const RELATED: Self = Self(1 << 2);
    pub(crate) const SHARE: Self = Self(1 << 3);
    pub(crate) const NAVIGATION: Self = Self(1 << 4);
    pub(crate) const FRAME: Self = Self(1 << 5);
    pub(crate) const AD: Self = Self(1 << 6);
    pub(crate) const META: Self = Self(1 << 7);
    pub(crate) const POPUP: Self = Self(1 << 8);
    pub(crate) const LIST: Self = Self(1 << 9);
    pub(crate) const POST: Self = Self(1 << 10);
    /// Almost always boilerplate.
    pub(crate) const SUSPICIOUS: Self = Self(1 << 11);

    pub(crate) const ALL: [Self; 11] = [
        Self::CONTENT,
        Self::COMMENT,
        Self::RELATED,
        Self::SHARE,
        Self::NAVIGATION,
        Self::FRAME,
        Self::AD,
        Self::META,
        Self::POPUP,
        Self::LIST,
        Self::POST,
    ];

    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Words of each category. A full stop marks a whole word, others are prefixes: `nav.` does not match `navigate`.
const WORDS: &[(Marks, &str)] = &[
    (
        Marks::CONTENT,
        "article content entry story text. body main. prose markdown detail paragraph richtext wysiwyg editor.",
    ),
    (Marks::COMMENT, "comment disqus respond discuss pinglun livefyre feedback"),
    (
        Marks::RELATED,
        "related recommend more. popular trending teaser readmore suggest similar also. recirc upnext latest. recent \
         hot. rank youmay xiangguan tuijian outbrain taboola further promoted",
    ),
    (
        Marks::SHARE,
        "share sharing social follow. subscribe subscription newsletter signup facebook twitter weibo addthis",
    ),
    (
        Marks::NAVIGATION,
        "nav. navbar navigation menu breadcrumb crumb pager paginat pagination toc. skip. tab. tabs. toolbar prev. next. jump \
         sitemap language. lang.",
    ),
    (
        Marks::FRAME,
        "footer foot. header. head. masthead sidebar aside rail. bottom. copyright top. topbar logo colophon right. legal",
    ),
    (Marks::AD, "ad. ads. adv. advert adsense sponsor banner promo dfp. gpt. commercial"),
    (
        Marks::META,
        "byline author date. time. timestamp meta. tag. tags. category categories caption credit info. label bio. avatar publish \
         posted postmeta keyword source. dateline profile user. rating vote stats counter badge signature",
    ),
    (
        Marks::POPUP,
        "cookie consent gdpr modal popup overlay login dialog tooltip dropdown paywall alert notice hidden sr. sronly visually screenreader",
    ),
    (
        Marks::LIST,
        "widget card tile list. grid item product price cart module. block. carousel slider gallery slick swiper row. feed",
    ),
    (
        Marks::POST,
        "post. posts. postbody message msg thread topic reply replies answer question forum",
    ),
    (
        Marks::SUSPICIOUS,
        "ad. ads. advert banner breadcrumb byline comment cookie consent disqus footer gdpr header. hidden. menu modal nav. \
         newsletter pager paginat popup popular promo recommend related share sharing sidebar signup skip. social sponsor \
         subscribe tag. tags. teaser toolbar trending widget",
    ),
];

struct Word {
    letters: &'static [u8],
    whole: bool,
    mark: Marks,
}

/// Words by first letter.
static TABLE: LazyLock<[Vec<Word>; 26]> = LazyLock::new(|| {
    let mut table = [const { Vec::new() }; 26];
    for (mark, words) in WORDS {
        for word in words.split_ascii_whitespace() {
            let letters = word.strip_suffix('.').unwrap_or(word).as_bytes();
            let first = letters.first().map_or(0, |letter| usize::from(letter - b'a'));
            if let Some(list) = table.get_mut(first) {
                list.push(Word { letters, whole: letters.len() < word.len(), mark: *mark });
            }
        }
    }
    table
});

/// Number of bytes read of a class or id; generated style names can have kilobytes.
const MAX_NAME: usize = 512;

/// Returns the categories of a class or id. Words end at non-letters and before capitals.
pub(crate) fn marks(names: &str) -> Marks {
    let names = names.as_bytes();
    let names = names.get(..MAX_NAME).unwrap_or(names);
    let mut found = 0;
    let mut word = [0u8; 24];
    let mut length = 0;
    let mut before = b' ';
    for &byte in names.iter().chain(b" ") {
        let letter = byte.is_ascii_alphabetic();
        if !letter || (byte.is_ascii_uppercase() && before.is_ascii_lowercase()) {
            found |= word.get(..length).map_or(0, of_word);
            length = 0;
        }
        if letter && let Some(slot) = word.get_mut(length) {
            *slot = byte.to_ascii_lowercase();
            length += 1;
        }
        before = byte;
    }
    Marks(found)
}

fn of_word(word: &[u8]) -> u16 {
    let Some(first) = word.first() else { return 0 };
    let list = TABLE.get(usize::from(first.wrapping_sub(b'a'))).map_or(&[][..], Vec::as_slice);
    list.iter().fold(0, |marks, entry| {
        let fits =
            if entry.whole { word == entry.letters } else { word.starts_with(entry.letters) };
        if fits { marks | entry.mark.0 } else { marks }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_where_letters_end_and_capitals_begin() {
        for (names, mark, expected) in [
            ("article-body", Marks::CONTENT, true),
            ("articleBody", Marks::CONTENT, true),
            ("c-comments__list", Marks::COMMENT, true),
            ("nav", Marks::NAVIGATION, true),
            ("navigate", Marks::NAVIGATION, false),
            ("adapter tagline", Marks::AD, false),
            ("top ad_300x250", Marks::AD, true),
            ("SIDEBAR", Marks::FRAME, true),
            ("related", Marks::SUSPICIOUS, true),
            ("", Marks::CONTENT, false),
        ] {
            assert_eq!(marks(names).has(mark), expected, "{names}");
        }
        let _ = marks(&"é-x".repeat(5000));
        let _ = marks(&"x".repeat(5000));
    }
}
