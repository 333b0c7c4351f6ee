//! The values that a page declares, before one is chosen for each field.

use super::limits::{MAX_CANDIDATES, MAX_DESCRIPTION, MAX_VALUE};

/// A field of the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Author,
    Description,
    SiteName,
    Published,
    Modified,
    Picture,
    Licence,
    Type,
}

/// Where a value was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetadataSource {
    /// schema.org in JSON-LD.
    JsonLd,
    /// Open Graph, and the names of Facebook beside it (`article:published_time`).
    OpenGraph,
    /// Other `<meta>` names.
    Meta,
    /// Dublin Core.
    DublinCore,
    /// schema.org in attributes (`itemprop`).
    Microdata,
    /// A link with a relation: `rel=author`, `rel=license`, `rel=canonical`, `hreflang`.
    Link,
    /// A `<time>` element.
    Time,
    /// A date in the URL.
    Url,
    /// A visible line near the heading; for the language, the whole text.
    Text,
    /// A header of the response.
    Header,
}

impl MetadataSource {
    /// Returns its name in `metadata_from`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JsonLd => "json-ld",
            Self::OpenGraph => "open-graph",
            Self::Meta => "meta",
            Self::DublinCore => "dublin-core",
            Self::Microdata => "microdata",
            Self::Link => "link",
            Self::Time => "time",
            Self::Url => "url",
            Self::Text => "text",
            Self::Header => "header",
        }
    }
}

/// A value of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) field: Field,
    pub(crate) source: MetadataSource,
    /// Lower ranks are preferred within one source.
    pub(crate) rank: u8,
    pub(crate) value: String,
}

/// The values of a page, in document order.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    all: Vec<Candidate>,
}

impl Candidates {
    /// Adds a value, with its white space collapsed and its character references resolved. A value that is too long is
    /// cut if it is a description, and ignored otherwise.
    pub(crate) fn add(&mut self, field: Field, source: MetadataSource, rank: u8, value: &str) {
        if self.all.len() >= MAX_CANDIDATES {
            return;
        }
        let value = match field {
            Field::Description => prefix(value, 4 * MAX_DESCRIPTION),
            Field::Picture => value.trim(),
            _ if value.len() > 4 * MAX_VALUE => return,
            _ => value,
        };
        let mut value = plain(value);
        match field {
            Field::Description => value.truncate(value.floor_char_boundary(MAX_DESCRIPTION)),
            // The limit on URLs applies to it.
            Field::Picture => {}
            _ if value.len() > MAX_VALUE => return,
            _ => {}
        }
        if !value.is_empty() {
            self.all.push(Candidate { field, source, rank, value });
        }
    }

    /// Returns the values of a field from these sources: by source, then by rank, then in document order.
    pub(crate) fn of(&self, field: Field, sources: &[MetadataSource]) -> Vec<&Candidate> {
        let place = |candidate: &Candidate| sources.iter().position(|s| *s == candidate.source);
        let mut found: Vec<(usize, &Candidate)> = self
            .all
            .iter()
            .filter(|candidate| candidate.field == field)
            .filter_map(|candidate| Some((place(candidate)?, candidate)))
            .collect();
        found.sort_by_key(|(place, candidate)| (*place, candidate.rank));
        found.into_iter().map(|(_, candidate)| candidate).collect()
    }
}

/// Returns at most this number of bytes, ending at a character's boundary.
pub(crate) fn prefix(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

/// Collapses white space, drops control characters and resolves character references: sites often encode twice.
fn plain(value: &str) -> String {
    let resolved = if value.contains('&') { resolved(value) } else { value.to_owned() };
    let words: Vec<&str> = resolved
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

const REFERENCES: [(&str, &str); 7] = [
    ("amp", "&"),
    ("quot", "\""),
    ("apos", "'"),
    ("lt", "<"),
    ("gt", ">"),
    ("nbsp", " "),
    ("hellip", "…"),
];

/// Longest character reference that is resolved, in bytes.
const MAX_REFERENCE: usize = 8;

fn resolved(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let name = prefix(from.get(1..).unwrap_or_default(), MAX_REFERENCE + 1);
        let name = name.split_once(';').map(|(name, _)| name);
        match name.and_then(|name| Some((name, reference(name)?))) {
            Some((name, character)) => {
                out.push_str(&character);
                rest = from.get(name.len() + 2..).unwrap_or_default();
            }
            None => {
                out.push('&');
                rest = from.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

fn reference(name: &str) -> Option<String> {
    if let Some((_, character)) = REFERENCES.iter().find(|(known, _)| *known == name) {
        return Some((*character).to_owned());
    }
    let digits = name.strip_prefix('#')?;
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    char::from_u32(code).map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_plain_and_bounded() {
        let mut all = Candidates::default();
        all.add(
            Field::SiteName,
            MetadataSource::Meta,
            0,
            " Moss &amp;\n Sons &#8217;&#x41;&bogus; & x\u{7} ",
        );
        all.add(Field::SiteName, MetadataSource::Meta, 0, &"n".repeat(MAX_VALUE + 1));
        all.add(Field::SiteName, MetadataSource::Meta, 0, "  ");
        let names = all.of(Field::SiteName, &[MetadataSource::Meta]);
        assert_eq!(names.len(), 1);
        assert_eq!(names.first().unwrap().value, "Moss & Sons ’A&bogus; & x");
        all.add(Field::Description, MetadataSource::Meta, 0, &"ä".repeat(MAX_DESCRIPTION));
        let description = all.of(Field::Description, &[MetadataSource::Meta]);
        assert_eq!(description.first().unwrap().value.len(), MAX_DESCRIPTION);
    }

    #[test]
    fn no_page_has_more_candidates_than_the_limit() {
        let mut all = Candidates::default();
        for _ in 0..2 * MAX_CANDIDATES {
            all.add(Field::Author, MetadataSource::Meta, 0, "Ada Moss");
        }
        assert_eq!(all.of(Field::Author, &[MetadataSource::Meta]).len(), MAX_CANDIDATES);
    }

    #[test]
    fn the_first_source_is_preferred_then_the_lower_rank_then_the_first_value() {
        let mut all = Candidates::default();
        for (source, rank, value) in [
            (MetadataSource::Meta, 0, "d"),
            (MetadataSource::JsonLd, 1, "c"),
            (MetadataSource::JsonLd, 0, "a"),
            (MetadataSource::JsonLd, 0, "b"),
            (MetadataSource::Text, 0, "never"),
        ] {
            all.add(Field::Author, source, rank, value);
        }
        let order = all.of(Field::Author, &[MetadataSource::JsonLd, MetadataSource::Meta]);
        let values: Vec<&str> = order.iter().map(|candidate| &*candidate.value).collect();
        assert_eq!(values, ["a", "b", "c", "d"]);
    }
}
