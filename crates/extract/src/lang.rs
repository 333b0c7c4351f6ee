//! Language detection and stopwords.

use std::cell::OnceCell;

use rust_stemmers::Algorithm;
use whatlang::{Detector, Info, Lang};

use crate::fold::visible;
use crate::stop_lists::{SharedWords, StopLists};

/// Bytes of text for the detector. More text makes it slower, but not more certain.
const SAMPLE: usize = 900;
/// Number of blocks in the sample, the longest ones, and maximum number of bytes of each.
const SAMPLED_BLOCKS: usize = 4;
const SAMPLED_BLOCK: usize = 400;
/// Below this number of bytes, detection is unreliable.
const SMALL: usize = 200;

/// Stopwords prove a language if the text has this number of words and this percentage of them are its stopwords. Only
/// the list of a closely related language reaches such a share, and the detector fails there too on short texts.
const SURE_WORDS: usize = 20;
const SURE_SHARE: usize = 35;
/// Technical text has fewer stopwords: this percentage is enough if it is [`CLEAR_LEAD`] times that of each other list.
const CLEAR_SHARE: usize = 15;
const CLEAR_LEAD: usize = 2;

/// Returns whether `c` is part of a word as the lists spell it.
pub(crate) fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric() || c == '\''
    } else {
        c.is_alphanumeric() || c == '’'
    }
}

/// Returns a word as the lists spell it, written to `room`.
pub(crate) fn lowered<'a>(word: &str, room: &'a mut String) -> &'a str {
    room.clear();
    if word.is_ascii() {
        room.push_str(word);
        room.make_ascii_lowercase();
    } else {
        let straight = |c| if c == '’' { '\'' } else { c };
        room.extend(word.chars().flat_map(char::to_lowercase).map(straight));
    }
    room
}

/// Returns whether `c` is of a script without spaces for which we have no dictionary: Thai, Lao, Burmese, Khmer.
pub const fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0E01}'..='\u{0E4E}' | '\u{0E81}'..='\u{0ECE}' | '\u{1000}'..='\u{103F}' | '\u{1780}'..='\u{17D3}')
}

/// Returns whether a character belongs to a script written without spaces: Han, kana.
pub fn is_cjk(c: char) -> bool {
    is_han(c) || is_kana(c)
}

pub(crate) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3134F}' | '\u{3005}')
}

/// Japanese grammar and native words are written in hiragana, names and loanwords in [katakana](is_katakana).
pub(crate) const fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309F}')
}

pub(crate) const fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}')
}

pub(crate) fn is_kana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}')
}

/// A sample of a text, for language detection.
#[derive(Debug)]
pub(crate) struct Sample {
    /// Beginnings of the longest blocks.
    text: String,
    /// Numbers of Han characters and of kana, if they outnumber the words of other scripts.
    cjk: Option<(usize, usize)>,
    /// What the detector says, once it was asked.
    detected: OnceCell<Option<Info>>,
}

impl PartialEq for Sample {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, self.cjk) == (&other.text, other.cjk)
    }
}

impl Sample {
    /// # Complexity
    /// Linear in the texts.
    pub(crate) fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut blocks: Vec<&str> = texts.into_iter().collect();
        let cjk = cjk(&blocks);
        blocks.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let mut text = String::new();
        for block in blocks.into_iter().take(SAMPLED_BLOCKS) {
            text.push_str(
                block.get(..block.floor_char_boundary(SAMPLED_BLOCK)).unwrap_or_default(),
            );
            text.push(' ');
        }
        text.truncate(text.floor_char_boundary(SAMPLE));
        Self { text, cjk, detected: OnceCell::new() }
    }

    fn detected(&self) -> Option<&Info> {
        self.detected.get_or_init(|| Detector::new().detect(&self.text)).as_ref()
    }

    /// Returns whether the sample is too short to overrule a longer one.
    pub(crate) const fn is_small(&self) -> bool {
        self.text.len() < SMALL
    }

    /// Returns whether the stopwords prove `language`: see [`SURE_SHARE`] and [`CLEAR_SHARE`]. A language of the first
    /// lists is compared with these only.
    pub(crate) fn speaks(&self, language: &str) -> bool {
        let first = StopLists::First.of(language).is_some();
        let shared = SharedWords::of(if first { StopLists::First } else { StopLists::Second });
        let Some(this) = shared.place(language).filter(|_| self.cjk.is_none()) else {
            return false;
        };
        let (words, found) = self.stopwords(shared);
        is_proven(this, words, found)
    }

    /// Returns the language with most stopwords, if they prove it.
    fn proven(&self) -> Option<&'static str> {
        let shared = SharedWords::of(StopLists::Second);
        let (words, found) = self.stopwords(shared);
        let best = (0..found.len()).max_by_key(|at| found.get(*at))?;
        let code = shared.code(best)?;
        is_proven(best, words, found).then_some(code)
    }

    /// Returns the number of words, and for each language the number of its stopwords.
    fn stopwords(&self, shared: &SharedWords) -> (usize, Vec<usize>) {
        let (mut words, mut lower) = (0usize, String::new());
        let mut found = shared.counts();
        for word in visible(&self.text).split(|c: char| !is_letter(c)).filter(|w| !w.is_empty()) {
            words += 1;
            shared.count(lowered(word, &mut lower), &mut found);
        }
        (words, found)
    }

    /// Returns the language by both versions of the stop lists. `declared` is the page's `lang`. It decides only if
    /// the stopwords confirm it, the text is too short or the detector is unsure.
    pub(crate) fn languages(&self, declared: Option<&str>) -> Languages {
        let declared =
            declared.and_then(|d| d.split(['-', '_']).next()).map(str::to_ascii_lowercase);
        // Both written forms of Norwegian share one code.
        let declared =
            declared.map(|d| if matches!(&*d, "nb" | "nn") { "no".to_owned() } else { d });
        if let Some((han, kana)) = self.cjk {
            return Languages::both(by_script(han, kana, declared.as_deref()));
        }
        let by = |lists: StopLists| {
            let known = declared.as_deref().and_then(|code| match code {
                "ja" => Some("ja"),
                "ko" => Some("ko"),
                code => lists.code(code),
            });
            known.unwrap_or("")
        };
        let (first, second) = (by(StopLists::First), by(StopLists::Second));
        if self.text.chars().filter(|c| c.is_alphabetic()).count() < 20 {
            return Languages { first, second };
        }
        // Trust the declared language if the stopwords confirm it.
        if self.speaks(first) {
            return Languages::both(first);
        }
        let found = self.detected();
        let of_first = match found {
            Some(info) if info.is_reliable() || first.is_empty() => code(info.lang()),
            _ => first,
        };
        if self.speaks(second) {
            return Languages { first: of_first, second };
        }
        let detected = match found {
            Some(info) if info.is_reliable() => code_with_added(info.lang()),
            Some(info) if second.is_empty() => code(info.lang()),
            _ => second,
        };
        // The detector takes languages that it does not know for others.
        let proven = if self.speaks(detected) { None } else { self.proven() };
        Languages { first: of_first, second: proven.unwrap_or(detected) }
    }

    /// Returns the confidence that the sample is in this language, 0 to 1: 1 if its script or its stopwords prove it,
    /// else the detector's; 0 if the language is only declared.
    pub(crate) fn score(&self, language: &str) -> f32 {
        if language.is_empty() {
            return 0.0;
        }
        if self.cjk.is_some() || self.speaks(language) {
            return 1.0;
        }
        match self.detected() {
            Some(info) if code_with_added(info.lang()) == language => {
                (info.confidence() as f32).clamp(0.0, 1.0)
            }
            _ => 0.0,
        }
    }
}

/// Maximum number of Han characters in a Japanese page without kana: names, addresses, a table.
const TERSE: usize = 300;

/// Decides between Japanese, with kana in every sentence, and Chinese. If there are few of either, `declared` does.
fn by_script(han: usize, kana: usize, declared: Option<&str>) -> &'static str {
    match declared {
        Some("ja") if han <= TERSE => "ja",
        Some("zh") if kana * 5 < han && kana < TERSE => "zh",
        _ if kana * 20 > han + kana => "ja",
        _ => "zh",
    }
}

/// Counts Han characters and kana, if they outnumber the words of other scripts, such as names and code.
fn cjk(texts: &[&str]) -> Option<(usize, usize)> {
    let (mut han, mut kana, mut words) = (0usize, 0usize, 0usize);
    // Both begin at U+3005, so the first byte of their UTF-8 is at least 0xE3.
    let may_have = |text: &str| text.bytes().fold(0, u8::max) >= 0xE3;
    let has_one = |text: &str| text.chars().any(|c| is_han(c) || is_kana(c));
    if !texts.iter().any(|text| may_have(text) && has_one(text)) {
        return None;
    }
    for text in texts {
        let mut inside = false;
        for c in text.chars() {
            let ideograph = is_han(c);
            let syllable = is_kana(c);
            let letter = !ideograph && !syllable && c.is_alphabetic();
            han += usize::from(ideograph);
            kana += usize::from(syllable);
            words += usize::from(letter && !inside);
            inside = letter;
        }
    }
    (han + kana > words).then_some((han, kana))
}

/// Returns whether the stopwords of the language at `place` prove it, of those found of each language.
fn is_proven(place: usize, words: usize, mut found: Vec<usize>) -> bool {
    let ours = found.get_mut(place).map(std::mem::take).unwrap_or(0);
    let others = found.into_iter().max().unwrap_or(0);
    let has = |share| ours * 100 >= words * share;
    words >= SURE_WORDS && (has(SURE_SHARE) || has(CLEAR_SHARE) && ours >= others * CLEAR_LEAD)
}

/// The two-letter code of a text's language, or `""` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Languages {
    /// By the first stop lists, for recipes up to version 5 and for the choice of blocks.
    pub(crate) first: &'static str,
    /// By all lists.
    pub(crate) second: &'static str,
}

impl Languages {
    const fn both(language: &'static str) -> Self {
        Self { first: language, second: language }
    }
}

/// Returns the code of a language, also of those that only the second stop lists have.
fn code_with_added(lang: Lang) -> &'static str {
    match lang {
        Lang::Afr => "af",
        Lang::Aze => "az",
        Lang::Bel => "be",
        Lang::Cym => "cy",
        Lang::Epo => "eo",
        Lang::Est => "et",
        Lang::Lav => "lv",
        Lang::Lit => "lt",
        Lang::Mar => "mr",
        Lang::Mkd => "mk",
        Lang::Nep => "ne",
        Lang::Srp => "sr",
        Lang::Tgl => "tl",
        Lang::Urd => "ur",
        Lang::Uzb => "uz",
        lang => code(lang),
    }
}

/// Returns the code of a language that Hapax knew before the second stop lists.
fn code(lang: Lang) -> &'static str {
    match lang {
        Lang::Eng => "en",
        Lang::Deu => "de",
        Lang::Fra => "fr",
        Lang::Spa => "es",
        Lang::Ita => "it",
        Lang::Por => "pt",
        Lang::Nld => "nl",
        Lang::Dan => "da",
        Lang::Nob => "no",
        Lang::Swe => "sv",
        Lang::Fin => "fi",
        Lang::Hun => "hu",
        Lang::Rus => "ru",
        Lang::Ukr => "uk",
        Lang::Bul => "bg",
        Lang::Pol => "pl",
        Lang::Ces => "cs",
        Lang::Slk => "sk",
        Lang::Slv => "sl",
        Lang::Hrv => "hr",
        Lang::Ron => "ro",
        Lang::Tur => "tr",
        Lang::Ell => "el",
        Lang::Ara => "ar",
        Lang::Pes => "fa",
        Lang::Heb => "he",
        Lang::Hin => "hi",
        Lang::Ind => "id",
        Lang::Vie => "vi",
        Lang::Cat => "ca",
        Lang::Kor => "ko",
        Lang::Jpn => "ja",
        Lang::Cmn => "zh",
        // These are recognised by their scripts.
        Lang::Tha => "th",
        Lang::Khm => "km",
        Lang::Mya => "my",
        Lang::Kat => "ka",
        Lang::Hye => "hy",
        Lang::Amh => "am",
        Lang::Ben => "bn",
        Lang::Tam => "ta",
        Lang::Tel => "te",
        Lang::Kan => "kn",
        Lang::Mal => "ml",
        Lang::Guj => "gu",
        Lang::Pan => "pa",
        Lang::Sin => "si",
        _ => "",
    }
}

/// Returns the Snowball stemmer of a language.
pub(crate) fn stemmer(language: &str) -> Option<Algorithm> {
    Some(match language {
        "ar" => Algorithm::Arabic,
        "da" => Algorithm::Danish,
        "de" => Algorithm::German,
        "el" => Algorithm::Greek,
        "en" => Algorithm::English,
        "es" => Algorithm::Spanish,
        "fi" => Algorithm::Finnish,
        "fr" => Algorithm::French,
        "hu" => Algorithm::Hungarian,
        "it" => Algorithm::Italian,
        "nl" => Algorithm::Dutch,
        "no" => Algorithm::Norwegian,
        "pt" => Algorithm::Portuguese,
        "ro" => Algorithm::Romanian,
        "ru" => Algorithm::Russian,
        "sv" => Algorithm::Swedish,
        "tr" => Algorithm::Turkish,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_languages_are_detected() {
        for (text, expected) in [
            ("The weather was fine and we walked through the park for an hour.", "en"),
            ("Das Wetter war schön, und wir gingen eine Stunde durch den Park.", "de"),
            ("今天天气很好，我们在公园里散步。", "zh"),
            ("我們昨天在臺北車站見面。", "zh"),
            ("今日は天気がよかったので、公園を散歩しました。", "ja"),
            ("", ""),
        ] {
            assert_eq!(Sample::of([text]).languages(None).second, expected, "{text}");
        }
        assert_eq!(Sample::of(["Menu"]).languages(Some("fr-CA")).second, "fr");
    }

    #[test]
    fn the_declared_language_decides_between_related_languages_and_shared_scripts() {
        let of = |text: &str, declared| Sample::of([text]).languages(Some(declared)).second;
        let table = "会社名 東京電気株式会社 所在地 東京都千代田区 資本金 三億円";
        assert_eq!((of(table, "ja"), of(table, "zh-CN"), of(table, "en")), ("ja", "zh", "zh"));
        let quote = "日语里的「の」大致相当于汉语的「的」，用法却更广。";
        assert_eq!(
            (of(quote, "zh"), of("今日は天気がよかったので散歩しました。", "zh")),
            ("zh", "ja")
        );
        let text = "Det er en fin dag i byen, og vi går en tur langs elva for å se på båtene som \
                    ligger der. Etterpå drikker vi kaffe på torget, og så går vi hjem igjen.";
        assert_eq!((of(text, "nb-NO"), of(text, "nn"), of(text, "no")), ("no", "no", "no"));
    }

    #[test]
    fn stopwords_prove_languages_that_the_detector_does_not_know() {
        let text = "Ferjumaðurinn fór alltaf fyrstur á fætur og gekk niður að vatninu áður en það varð bjart. \
                    Hann horfði um stund til himins og svo á reipið, því að það hafði verið blautt alla nóttina \
                    og hann treysti því ekki. Hann sagði að hann vissi það ekki en að fuglarnir hefðu flogið lágt.";
        let sample = Sample::of([text]);
        for declared in [None, Some("is"), Some("en")] {
            assert_eq!(sample.languages(declared).second, "is", "{declared:?}");
        }
        assert_ne!(sample.languages(None).first, "is", "recipes up to 5 do not know it");
    }

    #[test]
    fn code_does_not_make_a_page_another_language() {
        let code = "function render(element, options) { return element.create(options.name) } ";
        let text = "这个函数根据选项创建一个元素，并把它返回给调用者。";
        let page = [code, text];
        assert_eq!(Sample::of(page).languages(None).second, "zh");
        let english =
            "The word for river in the old songs is 江, and later 河, as every child knows.";
        assert_eq!(Sample::of([english]).languages(None).second, "en");
    }

    #[test]
    fn the_longest_blocks_are_sampled() {
        let long = "Das Wetter war schön, und wir gingen eine Stunde durch den Park. ".repeat(5);
        let sample = Sample::of(["Home", &long, "Menu"]);
        assert!(sample.text.starts_with("Das Wetter") && sample.text.len() <= SAMPLE);
        assert_eq!((sample.languages(Some("en")).second, sample.is_small()), ("de", false));
        assert!(Sample::of(["Home"]).is_small());
    }
}
