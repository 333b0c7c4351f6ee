//! Chooses one value for each field.

use url::Url;

use super::byline::{joined, marked_line, names, of_line};
use super::candidates::{Candidates, Field, MetadataSource};
use super::date::Moment;
use super::date_text::{Order, declared, visible};
use super::gather::Gathered;
use super::limits::{MAX_DATE_TEXT, MAX_DATES};
use super::url_date;
use super::values::Metadata;
use MetadataSource::{DublinCore, JsonLd, Link, Meta, Microdata, OpenGraph, Text, Time};

/// The page around the declarations.
#[derive(Debug)]
pub(crate) struct Surroundings<'a> {
    pub(crate) url: &'a Url,
    /// The canonical address that the page declares.
    pub(crate) canonical: Option<&'a Url>,
    /// Detected language, and the language that the page declares.
    pub(crate) language: &'a str,
    pub(crate) declared_language: Option<&'a str>,
    /// The visible lines near the main heading, in document order.
    pub(crate) lines: &'a [&'a str],
}

const AUTHOR: [MetadataSource; 7] = [JsonLd, OpenGraph, Meta, DublinCore, Microdata, Link, Text];
const DESCRIPTION: [MetadataSource; 5] = [Meta, OpenGraph, DublinCore, JsonLd, Microdata];
const SITE_NAME: [MetadataSource; 5] = [OpenGraph, JsonLd, Microdata, Meta, DublinCore];
const DATES: [MetadataSource; 5] = [JsonLd, OpenGraph, Meta, DublinCore, Microdata];
const PICTURE: [MetadataSource; 5] = [OpenGraph, JsonLd, Meta, Link, Microdata];
const LICENCE: [MetadataSource; 4] = [Link, JsonLd, Microdata, DublinCore];
const TYPE: [MetadataSource; 4] = [JsonLd, OpenGraph, Microdata, DublinCore];

/// Chooses from what the page declares. `join` makes an address absolute, within the limit on URLs.
pub(crate) fn choose(
    gathered: Gathered,
    page: &Surroundings<'_>,
    join: impl Fn(&str) -> Option<Url>,
) -> Metadata {
    let Gathered { candidates, alternates, .. } = gathered;
    let mut metadata = Metadata::default();
    let mut take = |name, found: Option<(String, MetadataSource)>| {
        let (value, source) = found?;
        metadata.sources.insert(name, source);
        Some(value)
    };
    let first = |field, sources| {
        let all = candidates.of(field, sources).into_iter();
        all.map(|candidate| (candidate.value.clone(), candidate.source)).next()
    };
    let address = |field, sources: &[MetadataSource]| {
        let all = candidates.of(field, sources);
        all.iter().find_map(|c| Some((join(&c.value)?.to_string(), c.source)))
    };
    let author = take("author", author(&candidates, page));
    let description = take("description", first(Field::Description, &DESCRIPTION));
    let site_name = take("site_name", first(Field::SiteName, &SITE_NAME));
    let picture = take("picture", address(Field::Picture, &PICTURE));
    let licence = first(Field::Licence, &LICENCE).and_then(|(value, source)| {
        let is_address = value.contains('/') && !value.contains(' ');
        Some((if is_address { join(&value)?.to_string() } else { value }, source))
    });
    let licence = take("licence", licence);
    let declared_type = take("type", first(Field::Type, &TYPE));
    let (published, modified) = dates(&candidates, page);
    let alternates = alternates
        .into_iter()
        .filter_map(|(tag, href)| Some((tag, join(&href)?.to_string())))
        .collect();
    Metadata {
        author,
        description,
        site_name,
        picture,
        licence,
        declared_type,
        alternates,
        published,
        modified,
        ..metadata
    }
}

/// Returns all authors of the first source that names one.
fn author(candidates: &Candidates, page: &Surroundings<'_>) -> Option<(String, MetadataSource)> {
    for source in AUTHOR {
        let all = candidates.of(Field::Author, &[source]);
        if source == Text {
            let mut lines = all.iter().map(|candidate| &*candidate.value);
            let name = lines.find_map(marked_line);
            let name = name.or_else(|| page.lines.iter().find_map(|line| of_line(line)))?;
            return Some((name, source));
        }
        // A page declares each author once, but links to one author several times.
        let most = if source == Link { 1 } else { usize::MAX };
        let named = || all.iter().filter(|candidate| !names(&candidate.value).is_empty());
        let Some(first) = named().next() else { continue };
        let values = named().filter(|candidate| candidate.rank == first.rank).take(most);
        return Some((joined(values.flat_map(|candidate| names(&candidate.value)))?, source));
    }
    None
}

type Dates = Vec<(Moment, MetadataSource)>;

/// Returns publication and last change. Declared dates come first, then `<time>`, the URL, and visible lines.
fn dates(candidates: &Candidates, page: &Surroundings<'_>) -> (Dates, Dates) {
    let host = page.url.host_str().unwrap_or_default();
    let order = Order::of(page.language, page.declared_language, host);
    let read = |field, sources: &[MetadataSource]| -> Dates {
        let all = candidates.of(field, sources);
        let parse = |source, value| match source {
            Text => visible(value, order),
            _ => declared(value, order),
        };
        all.iter().filter_map(|c| Some((parse(c.source, &c.value)?, c.source))).collect()
    };
    let mut published = read(Field::Published, &DATES);
    published.extend(read(Field::Published, &[Time]));
    let urls = [Some(page.url), page.canonical].into_iter().flatten();
    let of_url = |date| (Moment { date, clock: None }, MetadataSource::Url);
    published.extend(urls.filter_map(url_date::date).map(of_url));
    published.extend(read(Field::Published, &[Text]));
    let line = page.lines.iter().filter(|line| line.len() <= MAX_DATE_TEXT);
    published.extend(line.filter_map(|line| visible(line, order)).map(|moment| (moment, Text)));
    let mut modified = read(Field::Modified, &DATES);
    modified.extend(read(Field::Modified, &[Time, Text]));
    published.truncate(MAX_DATES);
    modified.truncate(MAX_DATES);
    (published, modified)
}
