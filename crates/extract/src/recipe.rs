//! Recipes for fingerprints: the default one, and published ones for comparison and compatibility.

use std::collections::{BTreeMap, HashSet, VecDeque};

use crate::frequency::ONCE;
use crate::lang::is_han;
use crate::recipe_version::RecipeVersion;
use crate::tokens::{MAX_TOKENS, RECIPE, for_each_token, weighted_words_by};
use crate::{ComparisonText, Document};

/// Value of a bit whose votes are tied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// It is 0.
    Zero,
    /// It is 1.
    One,
}

/// A versioned method to compute weighted features. Fingerprints and sketches of two recipes are never compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    kind: Kind,
    version: RecipeVersion,
}

/// The features of a fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    /// The default, best at distance 3: stemmed content words with [their weights](crate::Features::weighted).
    #[default]
    ContentWords,
    /// The classic Chinese method: all segmented words, weighted by count; FNV-1 over UTF-16 units, ties to 1.
    SegmentedWords,
    /// Shingles of three words that contain a stopword, and the words of title and heading with constant weights.
    StopwordShingles,
    /// Each window of four tokens.
    TokenWindow,
    /// Each run of four characters, without spaces and punctuation.
    CharacterNgrams,
    /// Chinese characters by code, other words whole, and enumerated values: language, and orders of magnitude of the
    /// numbers of paragraphs, links and images.
    Characters,
    /// The default, and a feature for the source and for the alternative text of each image.
    WordsAndImages,
}

/// Weights of words in title and heading.
const TITLE: u32 = 4;
const HEADING: u32 = 2;
/// Weight of an image feature: that of three words that occur once.
const IMAGE: u32 = 3 * ONCE;
/// Weight of an enumerated value.
const VALUE: u32 = 4;

impl Recipe {
    /// All recipes in their newest version, the default first.
    pub const ALL: [Self; 7] = Self::all(RecipeVersion::Six);
    /// All recipes in the previous version. Older data directories use them.
    pub const FORMER: [Self; 7] = Self::all(RecipeVersion::Five);
    /// All recipes in the oldest version that is supported.
    pub const OLDEST: [Self; 7] = Self::all(RecipeVersion::Four);

    const fn all(version: RecipeVersion) -> [Self; 7] {
        [
            Self { kind: Kind::ContentWords, version },
            Self { kind: Kind::SegmentedWords, version },
            Self { kind: Kind::StopwordShingles, version },
            Self { kind: Kind::TokenWindow, version },
            Self { kind: Kind::CharacterNgrams, version },
            Self { kind: Kind::Characters, version },
            Self { kind: Kind::WordsAndImages, version },
        ]
    }

    /// Returns the name that is stored with fingerprints.
    pub const fn name(self) -> &'static str {
        let names = match self.kind {
            Kind::ContentWords => ["content-words-tf-4", "content-words-tf-5", RECIPE],
            Kind::SegmentedWords => [
                "segmented-words-fnv1-utf16-4",
                "segmented-words-fnv1-utf16-5",
                "segmented-words-fnv1-utf16-6",
            ],
            Kind::StopwordShingles => {
                ["stopword-shingles-4", "stopword-shingles-5", "stopword-shingles-6"]
            }
            Kind::TokenWindow => ["token-window-4-4", "token-window-4-5", "token-window-4-6"],
            Kind::CharacterNgrams => {
                ["character-4-grams-4", "character-4-grams-5", "character-4-grams-6"]
            }
            Kind::Characters => {
                ["characters-and-values-4", "characters-and-values-5", "characters-and-values-6"]
            }
            Kind::WordsAndImages => {
                ["content-words-images-4", "content-words-images-5", "content-words-images-6"]
            }
        };
        let [four, five, six] = names;
        match self.version {
            RecipeVersion::Four => four,
            RecipeVersion::Five => five,
            RecipeVersion::Six => six,
        }
    }

    /// Returns the previous version of this recipe; `None` if this is the oldest.
    pub fn former(self) -> Option<Self> {
        Some(Self { version: self.version.former()?, ..self })
    }

    /// Returns the earlier version of this recipe with this name.
    pub fn former_named(self, name: &str) -> Option<Self> {
        std::iter::successors(self.former(), |recipe| recipe.former())
            .find(|recipe| recipe.name() == name)
    }

    /// Returns the stemmed content words of a page's text with their weights, as [`weighted_words`](crate::weighted_words).
    pub fn weighted_words(self, document: &Document, text: &str) -> Vec<(String, u32)> {
        weighted_words_by(text, document.language_by(self.version), self.version)
    }

    /// Returns the comparison text of a page; `hash` hashes the features.
    pub fn comparison_text(
        self,
        document: &Document,
        hash: impl Fn(&[u8]) -> u64 + Copy + 'static,
    ) -> ComparisonText {
        document.comparison_text_with(self.version, hash)
    }

    /// Returns the recipe with this name. The version may be omitted for the newest one.
    pub fn parse(name: &str) -> Option<Self> {
        let plain = |recipe: &Self| recipe.name().rsplit_once('-').map(|(plain, _)| plain);
        let newest = |recipe: &Self| recipe.name() == name || plain(recipe) == Some(name);
        let former = |recipe: &Self| recipe.name() == name;
        let found = Self::ALL.into_iter().find(newest);
        found.or_else(|| Self::FORMER.into_iter().chain(Self::OLDEST).find(former))
    }

    /// Returns the value of tied bits.
    pub const fn tie(self) -> Tie {
        match self.kind {
            Kind::SegmentedWords => Tie::One,
            _ => Tie::Zero,
        }
    }

    /// Returns the features of a page with weights. `hash` applies to all recipes except the one with its own hash.
    ///
    /// # Complexity
    /// Linear in the text; at most 2^21 features.
    pub fn features(
        self,
        document: &Document,
        comparison_text: &ComparisonText,
        hash: impl Fn(&[u8]) -> u64,
    ) -> Vec<(u64, u32)> {
        let text = &comparison_text.text;
        let mut all = Vec::new();
        let mut add = |feature: u64, weight: u32| {
            if all.len() < MAX_TOKENS {
                all.push((feature, weight));
            }
        };
        match self.kind {
            Kind::ContentWords => return comparison_text.features.weighted().collect(),
            Kind::SegmentedWords => for_each_token(text, |word| add(fnv1_utf16(word), 1)),
            Kind::StopwordShingles => {
                let none = Default::default();
                let language = document.language_by(self.version);
                let list = self.version.stop_lists().of(language).unwrap_or(&none);
                let held = |words: &[String]| {
                    list.is_empty() || words.iter().any(|word| list.contains(word.as_str()))
                };
                windows(text, 3, false, |words| {
                    if held(words) {
                        add(hash(words.join(" ").as_bytes()), 1);
                    }
                });
                for (name, weight, of) in
                    [("title", TITLE, &document.title), ("heading", HEADING, &document.heading)]
                {
                    for_each_token(of, |word| {
                        add(hash(format!("{name} {word}").as_bytes()), weight)
                    });
                }
            }
            Kind::TokenWindow => {
                windows(text, 4, true, |words| add(hash(words.join(" ").as_bytes()), 1));
            }
            Kind::CharacterNgrams => four_characters(text, |gram| add(hash(gram.as_bytes()), 1)),
            Kind::Characters => {
                let language = document.language_by(self.version);
                return characters(text, document, language, hash);
            }
            Kind::WordsAndImages => {
                let mut all: Vec<(u64, u32)> = comparison_text.features.weighted().collect();
                all.extend(images(document, hash));
                return all;
            }
        }
        all
    }
}

/// Visits every four characters in a row, across words; if the text has fewer, all of them.
fn four_characters(text: &str, mut visit: impl FnMut(String)) {
    let mut gram: VecDeque<char> = VecDeque::with_capacity(4);
    for_each_token(text, |word| {
        for c in word.chars() {
            if gram.len() == 4 {
                gram.pop_front();
            }
            gram.push_back(c);
            if gram.len() == 4 {
                visit(String::from_iter(&gram));
            }
        }
    });
    if !gram.is_empty() && gram.len() < 4 {
        visit(String::from_iter(&gram));
    }
}

/// Returns Han characters, other words and enumerated values with their counts.
fn characters(
    text: &str,
    document: &Document,
    language: &str,
    hash: impl Fn(&[u8]) -> u64,
) -> Vec<(u64, u32)> {
    let mut all: BTreeMap<u64, u32> = BTreeMap::new();
    for_each_token(text, |word| {
        if word.chars().any(is_han) {
            for c in word.chars() {
                *all.entry(hash(&u32::from(c).to_le_bytes())).or_default() += 1;
            }
        } else {
            *all.entry(hash(word.as_bytes())).or_default() += 1;
        }
    });
    let magnitude = |count: usize| usize::BITS - count.leading_zeros();
    for value in [
        format!("language={language}"),
        format!("paragraphs={}", magnitude(text.lines().count())),
        format!("links={}", magnitude(document.links.len())),
        format!("images={}", magnitude(document.images.len())),
    ] {
        *all.entry(hash(value.as_bytes())).or_default() += VALUE;
    }
    all.into_iter().collect()
}

/// Returns source and alternative text of each image, without repetitions.
fn images(document: &Document, hash: impl Fn(&[u8]) -> u64) -> Vec<(u64, u32)> {
    let (mut all, mut seen) = (Vec::new(), HashSet::new());
    for image in &document.images {
        // The query of an image's address is often a size or a session.
        let source = format!("image {}", image.url.path());
        let mut alt = "alt".to_owned();
        for_each_token(&image.alt, |word| alt.extend([" ", word]));
        for feature in [source, alt] {
            if feature.len() > "image ".len() && seen.insert(feature.clone()) {
                all.push((hash(feature.as_bytes()), IMAGE));
            }
        }
    }
    all
}

/// Calls `visit` with each `width` tokens in a row. With `also_fewer`, a shorter text is one window.
fn windows(text: &str, width: usize, also_fewer: bool, mut visit: impl FnMut(&[String])) {
    let mut window: Vec<String> = Vec::with_capacity(width);
    for_each_token(text, |token| {
        if window.len() < width {
            window.push(token.to_owned());
        } else {
            window.rotate_left(1);
            if let Some(last) = window.last_mut() {
                last.clear();
                last.push_str(token);
            }
        }
        if window.len() == width {
            visit(&window);
        }
    });
    if also_fewer && !window.is_empty() && window.len() < width {
        visit(&window);
    }
}

/// 64-bit FNV-1, one UTF-16 unit per step.
fn fnv1_utf16(text: &str) -> u64 {
    text.encode_utf16().fold(0xcbf2_9ce4_8422_2325, |hash: u64, unit| {
        hash.wrapping_mul(0x100_0000_01b3) ^ u64::from(unit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, extract};

    fn hash(bytes: &[u8]) -> u64 {
        bytes.iter().fold(7, |h, b| h.wrapping_mul(0x100_0000_01b3) ^ u64::from(*b))
    }

    fn features(kind: Kind, html: &str) -> Vec<(u64, u32)> {
        let recipe = Recipe { kind, ..Recipe::default() };
        let base = url::Url::parse("http://a.example/").unwrap();
        let document = extract(&base, None, html.as_bytes(), &Limits::default());
        let comparison_text = document.comparison_text(hash);
        recipe.features(&document, &comparison_text, hash)
    }

    const PAGE: &str = "<title>The river</title><h1>The river rose</h1><p>When the river rose in the spring, the people of the \
        village moved their animals to the hill and waited there until the water had gone down again, as they did each year \
        when the snow in the mountains had melted.</p><img src=/flood.jpg?w=300 alt='The flooded village'>";

    #[test]
    fn names_are_unique_and_found_again() {
        let names: HashSet<&str> = Recipe::ALL.iter().map(|recipe| recipe.name()).collect();
        assert_eq!(names.len(), Recipe::ALL.len());
        for recipe in [Recipe::ALL, Recipe::FORMER, Recipe::OLDEST].concat() {
            assert_eq!(Recipe::parse(recipe.name()), Some(recipe));
        }
        let window = Recipe { kind: Kind::TokenWindow, ..Recipe::default() };
        assert_eq!(Recipe::parse("token-window-4"), Some(window));
        assert_eq!(Recipe::parse("token-window-4-5"), window.former());
        assert_eq!(Recipe::parse("token-window-4-4"), window.former_named("token-window-4-4"));
        assert_eq!(window.former_named("token-window-4-6"), None, "it is the newest");
        assert_eq!(Recipe::parse("nothing"), None);
    }

    #[test]
    fn each_recipe_takes_what_it_says() {
        let words = features(Kind::ContentWords, PAGE).len();
        let images = features(Kind::WordsAndImages, PAGE);
        assert_eq!(images.len(), words + 2);
        assert!(images.contains(&(hash(b"image /flood.jpg"), IMAGE)), "without its query");
        assert!(images.contains(&(hash(b"alt the flooded village"), IMAGE)));
        let shingles = features(Kind::StopwordShingles, PAGE);
        assert!(shingles.contains(&(hash(b"title river"), TITLE)));
        assert!(shingles.contains(&(hash(b"river rose in"), 1)));
        let window = features(Kind::TokenWindow, PAGE);
        assert!(window.contains(&(hash(b"river rose in the"), 1)));
        assert!(features(Kind::CharacterNgrams, PAGE).contains(&(hash(b"vill"), 1)));
        assert!(features(Kind::SegmentedWords, PAGE).contains(&(fnv1_utf16("the"), 1)));
        let zh = "<p>今天天气很好，我们在公园里散步，看见许多人也在那里休息，天气真的很好。</p>";
        let characters = features(Kind::Characters, zh);
        assert!(characters.contains(&(hash(&u32::from('天').to_le_bytes()), 3)));
        assert!(characters.contains(&(hash(b"language=zh"), VALUE)));
    }

    #[test]
    fn further_stop_lists_and_languages_belong_to_version_6() {
        let page = "<html lang=lt><title>Upė</title><h1>Upė</h1><p>Kai upė pavasarį pakilo, kaimo žmonės išvarė savo gyvulius į kalną ir \
            laukė ten, kol vanduo vėl nuslūgo, nes taip jie darė kiekvienais metais, kai kalnuose ištirpdavo sniegas.</p>";
        let base = url::Url::parse("http://a.example/").unwrap();
        let document = extract(&base, None, page.as_bytes(), &Limits::default());
        assert_eq!((document.language, document.first_language), ("lt", ""));
        let words = |recipe: Recipe| {
            let all = recipe.weighted_words(&document, &document.text);
            all.into_iter().map(|(word, _)| word).collect::<HashSet<_>>()
        };
        let [new, five] = [Recipe::ALL, Recipe::FORMER].map(|[default, ..]| words(default));
        assert!(five.contains("ir") && !new.contains("ir") && new.contains("upė"), "{new:?}");
        assert_eq!(five, words(Recipe::OLDEST[0]));
        let [characters, former] = [Recipe::ALL[5], Recipe::FORMER[5]].map(|recipe| {
            let text = recipe.comparison_text(&document, hash);
            recipe.features(&document, &text, hash)
        });
        assert!(characters.contains(&(hash(b"language=lt"), VALUE)));
        assert!(former.contains(&(hash(b"language="), VALUE)));
    }

    #[test]
    fn golden_hash_of_utf16_units() {
        // FNV-1 by its published parameters: the offset for an empty text, then one step.
        assert_eq!(fnv1_utf16(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1_utf16("a"), 0xaf63_bd4c_8601_b7be);
        assert_eq!(fnv1_utf16("中"), 0xaf63_bd4c_8601_b7df ^ 0x4e2d);
    }
}
