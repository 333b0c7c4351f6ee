//! Turns bytes into a document.

use std::collections::HashMap;

use encoding_rs::Encoding;
use foldhash::fast::RandomState;
use url::Url;

use crate::addresses::{join, join_in};
use crate::block_evidence::Witness;
use crate::blocks;
use crate::charset::{CharsetSource, decode, name_of};
use crate::code_rows::join_rows_of_code;
use crate::common_names::deny_common_names;
use crate::content::{Chosen, choose, choose_by, vote};
use crate::context::Surroundings;
use crate::declared::Declared;
use crate::document::{Block, Document, Image, Link, RobotsMeta};
use crate::lang::{Languages, Sample};
use crate::limits::Limits;
use crate::markdown::{Elements, Structured};
use crate::metadata::{self, Metadata, MetadataSource};
use crate::model::model;
use crate::near_heading::lines_near;
use crate::page_type::{PageType, page_type};
use crate::parse::{is_xml, parse, parse_as};
use crate::refresh::Refresh;
use crate::scan::scan;
use crate::stop_lists::StopLists;
use crate::styles::Styles;
use crate::title::{heading_of, main_heading};
use crate::trace::Trace;
use crate::votes::{Choice, Reason, Votes};
use crate::wrap::unwrapped;

/// Extracts an HTML page with the URL `base`.
///
/// # Complexity
/// Linear in the body, within `limits`.
pub fn extract(base: &Url, content_type: Option<&str>, body: &[u8], limits: &Limits) -> Document {
    read(base, content_type, body, limits, false).0
}

/// Extracts an HTML page and keeps its elements, for [`Structured::markdown`].
///
/// # Complexity
/// Linear in the body, within `limits`. It holds the tree of the page, which may need 30 times the body.
pub fn extract_structured(
    base: &Url,
    content_type: Option<&str>,
    body: &[u8],
    limits: &Limits,
) -> Structured {
    let (document, elements) = read(base, content_type, body, limits, true);
    Structured::new(document, elements)
}

/// Extracts a page; `keeps` its elements, if they are needed later.
fn read(
    base: &Url,
    content_type: Option<&str>,
    body: &[u8],
    limits: &Limits,
    keeps: bool,
) -> (Document, Option<Elements>) {
    let (text, encoding, charset_source) = decode(body, content_type);
    let (html, truncated) = parse_as(&text, &limits.parse, is_xhtml(content_type, &text));
    let (mut page, trace) =
        blocks::collect_with(&html, &Styles::of(&text), limits, keeps.then(Trace::default));
    join_rows_of_code(&mut page);
    // The tree needs most of the memory: free it before the decision.
    let html = keeps.then_some(html);
    drop(text);
    let whole = Sample::of(page.blocks.iter().map(|block| block.text.as_str()));
    let languages = whole.languages(page.lang.as_deref());
    page.unhide();
    deny_common_names(&mut page);
    // The text does not depend on the recipe.
    let list = StopLists::First.of(languages.first);
    let Chosen { choices, confidence } = choose(&page, list, base);

    let declared = std::mem::take(&mut page.declared);
    let (url, base) = (base, base_of(base, &declared, limits));
    let mut document = declare(url, &base, declared, encoding, limits);
    let page_type = page_type(&page, &choices, url);
    document.images = images_of(&mut page, &base, limits);
    let heading = || page.blocks.iter().find(|b| b.heading > 0).map(heading_of).unwrap_or_default();
    let title = one_line(&page.title, limits);
    document.title = if title.is_empty() { one_line(heading(), limits) } else { title };
    document.heading = main_heading(&page, &choices, url).unwrap_or_default();
    document.metadata =
        metadata_of(&mut page, &document, &choices, (url, &base, languages.second), limits);
    let blocks = std::mem::take(&mut page.blocks);
    let elements = html.zip(trace).map(|(html, trace)| Elements {
        html,
        trace,
        numbers: blocks.iter().map(|block| block.numbers).collect(),
        base: base.clone(),
        encoding,
    });
    document.blocks = blocks
        .into_iter()
        .zip(choices)
        .map(|(block, Choice { reason, chance })| {
            let cell = page.is_in_cell(block.element);
            let menu = block.is_menu();
            Block { text: block.text, reason, chance, cell, menu }
        })
        .collect();
    let kept: Vec<&str> = document
        .blocks
        .iter()
        .filter(|block| block.reason == Reason::Text)
        .map(|block| block.text.as_str())
        .collect();
    document.text = kept.join("\n");
    // The boilerplate may be longer than the text, and in another language.
    let own = Sample::of(kept);
    let same = |language| own == whole || own.is_small() || own.speaks(language);
    let (first_same, same) = (same(languages.first), same(languages.second));
    let of_own = if first_same && same { languages } else { own.languages(page.lang.as_deref()) };
    let language = if same { languages.second } else { of_own.second };
    let sources = [
        ("canonical", MetadataSource::Link, document.canonical.is_some()),
        ("alternates", MetadataSource::Link, !document.metadata.alternates.is_empty()),
        ("content_type", MetadataSource::Header, media_type(content_type).is_some()),
        ("language", MetadataSource::Text, !language.is_empty()),
    ];
    let found = sources.into_iter().filter(|(.., found)| *found);
    document.metadata.sources.extend(found.map(|(name, source, _)| (name, source)));
    let document = Document {
        language,
        first_language: if first_same { languages.first } else { of_own.first },
        language_score: if same { whole } else { own }.score(language),
        page_type,
        confidence,
        content_type: media_type(content_type),
        charset: name_of(encoding),
        charset_source,
        truncated,
        ..document
    };
    (document, elements)
}

fn images_of(page: &mut blocks::Page, base: &Url, limits: &Limits) -> Vec<Image> {
    let mut bytes = 0;
    std::mem::take(&mut page.images)
        .into_iter()
        .filter_map(|(source, alt)| Some(Image { url: join(base, &source, limits)?, alt }))
        .filter(|image| {
            let length = image.url.as_str().len() + image.alt.len();
            let fits = bytes + length <= limits.max_links_bytes;
            bytes += if fits { length } else { 0 };
            fits
        })
        .collect()
}

/// Chooses the metadata; `of` is the URL of the page, its base URL and its language.
fn metadata_of(
    page: &mut blocks::Page,
    document: &Document,
    choices: &[Choice],
    of: (&Url, &Url, &str),
    limits: &Limits,
) -> Metadata {
    let (url, base, language) = of;
    let gathered = std::mem::take(&mut page.gathered);
    let first_text = choices.iter().position(|choice| choice.reason == Reason::Text);
    let lines = lines_near(&page.blocks, &document.heading, first_text);
    let surroundings = metadata::Surroundings {
        url,
        canonical: document.canonical.as_ref(),
        language,
        declared_language: page.lang.as_deref(),
        lines: &lines,
    };
    let absolute = |href: &str| join(base, href.trim(), limits).filter(is_http);
    metadata::choose(gathered, &surroundings, absolute)
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

fn is_xhtml(content_type: Option<&str>, text: &str) -> bool {
    content_type.is_some_and(|kind| kind.contains("xhtml")) || is_xml(text)
}

/// Reads only what a crawl needs: links, title, canonical address, directives. The document has no text or blocks.
///
/// # Complexity
/// Linear in the body, within `limits`; no tree is built.
pub fn links(base: &Url, content_type: Option<&str>, body: &[u8], limits: &Limits) -> Document {
    let (text, encoding, charset_source) = decode(body, content_type);
    let (declared, title, truncated) = scan(&text, limits, is_xhtml(content_type, &text));
    let title = one_line(&title, limits);
    let (url, base) = (base, base_of(base, &declared, limits));
    let document = declare(url, &base, declared, encoding, limits);
    let content_type = media_type(content_type);
    Document {
        title,
        charset: name_of(encoding),
        charset_source,
        truncated,
        content_type,
        ..document
    }
}

/// Returns the base URL of a page's links.
fn base_of(url: &Url, declared: &Declared, limits: &Limits) -> Url {
    let base = declared.base.as_deref().and_then(|base| join(url, base, limits));
    // WHATWG HTML, "set the frozen base URL".
    let base = base.filter(|base| !matches!(base.scheme(), "data" | "javascript"));
    base.unwrap_or_else(|| url.clone())
}

/// Returns what the tags reserve, with the absolute addresses of licences, each once.
fn reservations(declared: &Declared, base: &Url, encoding: &'static Encoding) -> Vec<String> {
    let mut all = declared.reservations.clone();
    let licences = declared.licences.iter().filter_map(|href| join_in(base, href, encoding));
    for licence in licences.map(|url| format!("rsl: {url}")) {
        if !all.contains(&licence) {
            all.push(licence);
        }
    }
    all
}

/// Returns a document without text from the declarations of a page.
fn declare(
    url: &Url,
    base: &Url,
    declared: Declared,
    encoding: &'static Encoding,
    limits: &Limits,
) -> Document {
    let mut robots = RobotsMeta::default();
    declared.robots.iter().for_each(|directives| robots.read(directives));
    let mut links_left_out = declared.beyond;
    let mut bytes = 0;
    // More than half of the links of a page may have the address of another one.
    let mut known: HashMap<&str, Option<Url>, RandomState> = HashMap::default();
    let links = declared.links.iter().filter_map(|link| {
        let url = known.entry(&link.href).or_insert_with(|| join_in(base, &link.href, encoding));
        let url = url.clone()?;
        let fits = url.as_str().len() <= limits.max_url_bytes
            && bytes + url.as_str().len() <= limits.max_links_bytes;
        links_left_out += usize::from(!fits);
        bytes += if fits { url.as_str().len() } else { 0 };
        fits.then_some(Link { url, nofollow: link.nofollow })
    });
    let mut links: Vec<Link> = links.collect();
    let refresh = declared
        .refresh
        .as_deref()
        .and_then(|content| Refresh::parse(url, base, content, encoding))
        .filter(|refresh| refresh.target().as_str().len() <= limits.max_url_bytes)
        .and_then(|refresh| refresh.or_link(&mut links));
    Document {
        title: String::new(),
        language: "",
        first_language: "",
        language_score: 0.0,
        heading: String::new(),
        text: String::new(),
        blocks: Vec::new(),
        links,
        links_left_out,
        reservations: reservations(&declared, base, encoding),
        images: Vec::new(),
        canonical: declared
            .canonical
            .as_deref()
            .and_then(|href| join_in(base, href.trim(), encoding))
            .filter(|url| url.as_str().len() <= limits.max_url_bytes),
        robots,
        refresh,
        charset: "UTF-8",
        charset_source: CharsetSource::Detected,
        page_type: PageType::Other,
        confidence: 0.0,
        metadata: Metadata::default(),
        truncated: None,
        content_type: None,
    }
}

/// The most bytes of a media type. Both of its names have at most 127 (RFC 6838).
const MAX_MEDIA_TYPE: usize = 255;

/// Returns the media type of a `Content-Type` field, without parameters.
fn media_type(content_type: Option<&str>) -> Option<String> {
    let name = content_type?.split([';', ',']).next()?.trim();
    let is_type = name.contains('/') && name.len() <= MAX_MEDIA_TYPE && name != "*/*";
    is_type.then(|| name.to_ascii_lowercase())
}

/// Collapses white space to single spaces and applies the limit on titles.
fn one_line(text: &str, limits: &Limits) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.get(..line.floor_char_boundary(limits.max_title_bytes)).unwrap_or_default().to_owned()
}

/// Input of the decision about a block. `scripts/train-blocks` fits the weights to it.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The block's text.
    pub text: String,
    /// Values of the first stage.
    pub values: Vec<f32>,
    /// Additional values of the second stage, for each list of scores that was given.
    pub contexts: Vec<Vec<f32>>,
}

/// Returns the feature values of each block. Each list in `looks` holds first-stage scores, in thousandths of a logit.
pub fn evidence(
    content_type: Option<&str>,
    body: &[u8],
    limits: &Limits,
    looks: &[Vec<i32>],
) -> Vec<Evidence> {
    let (page, votes) = voted(content_type, body, limits);
    let witness = Witness::new(&page, &votes);
    let mut rows = Vec::with_capacity(page.blocks.len());
    witness.each(|evidence| rows.push(evidence.to_vec()));
    let sizes = votes.sizes();
    let looks: Vec<Surroundings<'_>> = looks
        .iter()
        .map(|scores| Surroundings::new(&page, &witness, &sizes, scores, |s| model().chance(s)))
        .collect();
    let blocks = page.blocks.iter().zip(rows).enumerate();
    blocks
        .map(|(at, (block, values))| Evidence {
            text: block.text.clone(),
            values,
            contexts: looks.iter().map(|look| look.of(at).to_vec()).collect(),
        })
        .collect()
}

/// Returns for each block whether it is text, if the second stage gave these `scores`, in thousandths of a logit. Weights
/// that were fitted without a page can so be tested on it, together with the rules.
pub fn kept_by(
    base: &Url,
    content_type: Option<&str>,
    body: &[u8],
    limits: &Limits,
    scores: &[i32],
) -> Vec<bool> {
    let (page, votes) = voted(content_type, body, limits);
    let chosen = choose_by(&page, &votes, scores, base);
    chosen.choices.into_iter().map(|choice| choice.reason == Reason::Text).collect()
}

/// Reads a page and applies the stopword rule.
fn voted(content_type: Option<&str>, body: &[u8], limits: &Limits) -> (blocks::Page, Votes) {
    let (text, ..) = decode(body, content_type);
    let (html, _) = parse(&text, &limits.parse);
    let mut page = blocks::collect(&html, &Styles::of(&text), limits);
    join_rows_of_code(&mut page);
    let whole = Sample::of(page.blocks.iter().map(|block| block.text.as_str()));
    let languages = whole.languages(page.lang.as_deref());
    page.unhide();
    deny_common_names(&mut page);
    let votes = vote(&page, StopLists::First.of(languages.first));
    (page, votes)
}

/// Extracts a plain-text page. Its paragraphs become the blocks, its first line the title.
pub fn extract_plain(content_type: Option<&str>, body: &[u8], limits: &Limits) -> Document {
    let (text, encoding, charset_source) = decode(body, content_type);
    let text = unwrapped(&text);
    let blocks: Vec<Block> = text
        .split("\n\n")
        .flat_map(|part| part.split("\r\n\r\n"))
        .map(str::trim)
        .filter(|paragraph| !paragraph.is_empty())
        .map(|paragraph| Block {
            text: paragraph.to_owned(),
            reason: Reason::Text,
            chance: 1.0,
            cell: false,
            menu: false,
        })
        .collect();
    let sample = Sample::of(blocks.iter().map(|block| block.text.as_str()));
    let Languages { first, second: language } = sample.languages(None);
    let title = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    Document {
        title: title
            .get(..title.floor_char_boundary(limits.max_title_bytes))
            .unwrap_or_default()
            .to_owned(),
        heading: String::new(),
        language,
        first_language: first,
        language_score: sample.score(language),
        text: text.trim().to_owned(),
        blocks,
        links: Vec::new(),
        links_left_out: 0,
        images: Vec::new(),
        canonical: None,
        robots: RobotsMeta::default(),
        reservations: Vec::new(),
        refresh: None,
        charset: name_of(encoding),
        charset_source,
        page_type: PageType::Other,
        confidence: 1.0,
        metadata: Metadata::default(),
        truncated: None,
        content_type: media_type(content_type),
    }
}

#[cfg(test)]
mod tests;
