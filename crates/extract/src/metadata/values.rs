//! The chosen values.

use std::collections::BTreeMap;

use super::candidates::MetadataSource;
use super::date::{Date, Moment};

/// Metadata of a page, as it declares it. A value is plain text; the page may declare anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Authors, joined by `; `.
    pub author: Option<String>,
    /// Summary of the page.
    pub description: Option<String>,
    /// Name of the site.
    pub site_name: Option<String>,
    /// Absolute URL of the main picture.
    pub picture: Option<String>,
    /// Licence: an absolute URL, or its name.
    pub licence: Option<String>,
    /// Declared type, such as `NewsArticle` (schema.org) or `article` (Open Graph).
    pub declared_type: Option<String>,
    /// Absolute URLs of versions in other languages, by language tag (`hreflang`).
    pub alternates: BTreeMap<String, String>,
    /// The source of each field above, by its name in JSON.
    pub sources: BTreeMap<&'static str, MetadataSource>,
    pub(crate) published: Vec<(Moment, MetadataSource)>,
    pub(crate) modified: Vec<(Moment, MetadataSource)>,
}

impl Metadata {
    /// Returns the time of publication: the first declared one that is not after `latest`.
    pub fn published(&self, latest: Option<Date>) -> Option<(Moment, MetadataSource)> {
        first(&self.published, latest)
    }

    /// Returns the time of the last change: the first declared one that is not after `latest` and not before the
    /// publication.
    pub fn modified(&self, latest: Option<Date>) -> Option<(Moment, MetadataSource)> {
        let published = self.published(latest);
        first(&self.modified, latest)
            .filter(|(moment, _)| published.is_none_or(|(other, _)| !moment.is_before(&other)))
    }
}

fn first(
    all: &[(Moment, MetadataSource)],
    latest: Option<Date>,
) -> Option<(Moment, MetadataSource)> {
    let sane = |moment: &Moment| latest.is_none_or(|latest| moment.date() <= latest);
    all.iter().find(|(moment, _)| sane(moment)).copied()
}
