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
    /// Source code.
    pub(crate) const CODE: Self = Self(1 << 12);
    /// `LINE` and `NUMBER` together name the numbers of lines: `line-number`, `blob-num`.
    pub(crate) const LINE: Self = Self(1 << 13);
    pub(crate) const NUMBER: Self = Self(1 << 14);
    /// Questions with answers that are folded.
    pub(crate) const FOLD: Self = Self(1 << 15);

    /// Categories that the fitted weights know.
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
    (
        Marks::COMMENT,
        "comment disqus respond discuss pinglun livefyre feedback kommentar comentari talkback reactie reaction. reactions.",
    ),
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
        Marks::CODE,
        "code. codehilite highlight hljs blob. syntaxhighlighter crayon prettyprint linenums listing. codemirror monaco \
         shiki rouge gist. snippet sourcecode viewer.",
    ),
    (Marks::LINE, "line. lines. blob. ln. crayon. code. lineno linenum gutter."),
    (Marks::NUMBER, "num. nums. number. numbers. no. lineno linenum gutter."),
    (Marks::FOLD, "accordion faq. faqs. accordian"),
    (
        Marks::SUSPICIOUS,
        "ad. ads. advert banner breadcrumb byline comment kommentar comentari talkback reactie reactions. cookie consent disqus footer \
         gdpr header. hidden. menu modal nav. newsletter pager paginat popup popular promo recommend related share sharing sidebar signup skip. social sponsor \
         subscribe tag. tags. teaser toolbar trending widget",
    ),
];

#[derive(Debug)]
struct Word {
    letters: &'static [u8],
    whole: bool,
    marks: Marks,
}

impl Word {
    /// Whether this word can be ignored where it carries most of the text. Comments and teasers can be longer than the
    /// page's own text; other categories are weaker evidence, which the weights balance.
    const fn is_deniable(&self) -> bool {
        self.marks.has(Marks(Marks::NAVIGATION.0 | Marks::SUSPICIOUS.0))
            && !self.marks.has(Marks(Marks::COMMENT.0 | Marks::RELATED.0 | Marks::CONTENT.0))
    }
}

/// Words that name lists of any entries. Other words of navigation, such as `toc` or `language`, also name links in a text
/// or code.
const LISTS: [&str; 6] = ["nav", "navbar", "navigation", "menu", "tab", "tabs"];

/// Returns whether the word with this number names a menu, which may be a list of sentences.
pub(crate) fn is_name_of_menu(word: u8) -> bool {
    let word = VOCABULARY.get(usize::from(word));
    word.is_some_and(|word| LISTS.iter().any(|name| name.as_bytes() == word.letters))
}

/// All words, each with all of its categories. Their numbers fit in a byte.
static VOCABULARY: LazyLock<Vec<Word>> = LazyLock::new(|| {
    let mut all: Vec<Word> = Vec::new();
    for (mark, words) in WORDS {
        for word in words.split_ascii_whitespace() {
            let letters = word.strip_suffix('.').unwrap_or(word).as_bytes();
            let whole = letters.len() < word.len();
            match all.iter_mut().find(|known| known.letters == letters && known.whole == whole) {
                Some(known) => known.marks.0 |= mark.0,
                None => all.push(Word { letters, whole, marks: *mark }),
            }
        }
    }
    all
});

/// Numbers of the words by first letter.
static TABLE: LazyLock<[Vec<u8>; 26]> = LazyLock::new(|| {
    let mut table = [const { Vec::new() }; 26];
    for (word, number) in VOCABULARY.iter().zip(0..=u8::MAX) {
        let first = word.letters.first().map_or(0, |letter| usize::from(letter - b'a'));
        if let Some(list) = table.get_mut(first) {
            list.push(number);
        }
    }
    table
});

/// Maximum number of words of one element that can be denied.
const MAX_DENIABLE: usize = 6;

/// What the class and the id of an element say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// Categories of the words that are not in `deniable`.
    firm: Marks,
    /// Numbers of words that can be denied, plus one; 0 is an empty slot.
    deniable: [u8; MAX_DENIABLE],
}

/// One entry for each word.
pub(crate) type PerWord<T> = [T; 256];

impl Names {
    pub(crate) fn of(class: &str, id: &str) -> Self {
        let mut names = Self::default();
        for name in [class, id] {
            if !name.is_empty() {
                names.read(name);
            }
        }
        names
    }

    /// Adds the words of another name.
    pub(crate) fn and(mut self, name: &str) -> Self {
        self.read(name);
        self
    }

    pub(crate) const fn has_deniable(&self) -> bool {
        self.deniable[0] > 0
    }

    /// Returns the numbers of the words that can be denied.
    pub(crate) fn deniable(&self) -> impl Iterator<Item = u8> {
        self.deniable.into_iter().filter(|slot| *slot > 0).map(|slot| slot - 1)
    }

    pub(crate) fn marks(&self) -> Marks {
        self.marks_of(|_| true)
    }

    /// Returns the categories of the words that count, by their numbers. Words that cannot be denied always count.
    pub(crate) fn marks_of(&self, counts: impl Fn(u8) -> bool) -> Marks {
        if !self.has_deniable() {
            return self.firm;
        }
        let words = self.deniable().filter(|word| counts(*word));
        let marks = words.filter_map(|word| VOCABULARY.get(usize::from(word)));
        Marks(marks.fold(self.firm.0, |marks, word| marks | word.marks.0))
    }

    fn add(&mut self, number: u8, word: &Word) {
        let slot = self.deniable.iter_mut().find(|slot| **slot == 0 || **slot == number + 1);
        match slot {
            Some(slot) if word.is_deniable() => *slot = number + 1,
            _ => self.firm.0 |= word.marks.0,
        }
    }

    /// Reads a class or id. Words end at non-letters and before capitals.
    fn read(&mut self, names: &str) {
        let names = names.as_bytes();
        let names = names.get(..MAX_NAME).unwrap_or(names);
        let mut word = [0u8; 24];
        let mut length = 0;
        let mut before = b' ';
        for &byte in names.iter().chain(b" ") {
            let letter = byte.is_ascii_alphabetic();
            if !letter || (byte.is_ascii_uppercase() && before.is_ascii_lowercase()) {
                self.read_word(word.get(..length).unwrap_or_default());
                length = 0;
            }
            if letter && let Some(slot) = word.get_mut(length) {
                *slot = byte.to_ascii_lowercase();
                length += 1;
            }
            before = byte;
        }
    }

    fn read_word(&mut self, letters: &[u8]) {
        let Some(first) = letters.first() else { return };
        let list = TABLE.get(usize::from(first.wrapping_sub(b'a'))).map_or(&[][..], Vec::as_slice);
        for number in list {
            let Some(word) = VOCABULARY.get(usize::from(*number)) else { continue };
            if if word.whole { letters == word.letters } else { letters.starts_with(word.letters) }
            {
                self.add(*number, word);
            }
        }
    }
}

/// Number of bytes read of a class or id; generated style names can have kilobytes.
const MAX_NAME: usize = 512;

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
            assert_eq!(Names::of(names, "").marks().has(mark), expected, "{names}");
        }
        let _ = Names::of(&"é-x".repeat(5000), &"x".repeat(5000));
    }

    #[test]
    fn a_denied_word_is_ignored_and_no_other() {
        assert!(VOCABULARY.len() < 255, "a slot holds the number plus one");
        let names = Names::of("menu-item comment", "sidebar");
        let marks = names.marks();
        assert!(marks.has(Marks::NAVIGATION) && marks.has(Marks::LIST) && marks.has(Marks::FRAME));
        let is_menu =
            |word: &u8| VOCABULARY.get(usize::from(*word)).is_some_and(|w| w.letters == b"menu");
        let menu = names.deniable().find(is_menu).unwrap();
        let marks = names.marks_of(|word| word != menu);
        assert!(!marks.has(Marks::NAVIGATION) && marks.has(Marks::LIST) && marks.has(Marks::FRAME));
        // Comments can be longer than the page's own text.
        let marks = names.marks_of(|_| false);
        assert!(marks.has(Marks::COMMENT) && marks.has(Marks::SUSPICIOUS));
        assert!(!marks.has(Marks::FRAME));
        // Words beyond the slots cannot be denied, but count.
        let many = Names::of("nav menu header footer sidebar popup promo widget", "");
        assert_eq!(many.deniable().count(), MAX_DENIABLE);
        assert!(many.marks().has(Marks::AD) && many.marks().has(Marks::LIST));
    }
}
