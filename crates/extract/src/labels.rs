//! Labels of advertisements: lines that only say that an advertisement is beside them.

use crate::blocks::{Page, RawBlock};

/// Maximum length of a label in bytes.
const MAX_BYTES: usize = 96;

/// Whole lines in lower case, without punctuation at their ends.
const LABELS: [&str; 51] = [
    "ad",
    "ads",
    "advert",
    "advertisement",
    "advertisements",
    "advertising",
    "sponsored",
    "article continues below",
    "article continues below advertisement",
    "article continues after advertisement",
    "continue reading below",
    "continues after advertisement",
    "scroll to continue with content",
    "skip advertisement",
    "story continues below",
    "story continues below advertisement",
    "this advertisement has not loaded yet, but your article continues below",
    "anzeige",
    "werbung",
    "der artikel wird unter der anzeige fortgesetzt",
    "weiterlesen nach der anzeige",
    "advertentie",
    "annons",
    "annonce",
    "annonse",
    "mainos",
    "publicité",
    "la suite après la publicité",
    "la suite après cette publicité",
    "publicidad",
    "anuncio",
    "publicidade",
    "continua depois da publicidade",
    "continua após a publicidade",
    "pubblicità",
    "continua a leggere dopo la pubblicità",
    "reklama",
    "reklam",
    "reklám",
    "hirdetés",
    "oglas",
    "διαφήμιση",
    "реклама",
    "إعلان",
    "פרסומת",
    "विज्ञापन",
    "广告",
    "廣告",
    "広告",
    "スポンサーリンク",
    "광고",
];

/// Returns which blocks are only the label of an advertisement. Headings, entries and cells are not: they are names.
///
/// # Complexity
/// Linear in the blocks.
pub(crate) fn labels(page: &Page) -> Vec<bool> {
    page.blocks.iter().map(|block| is_label(block) && !page.is_entry(block)).collect()
}

fn is_label(block: &RawBlock) -> bool {
    let text = block.text.trim_matches(|c: char| !c.is_alphanumeric());
    text.len() <= MAX_BYTES && LABELS.contains(&text.to_lowercase().as_str())
}
