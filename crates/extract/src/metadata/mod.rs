//! Metadata of a page: author, dates, description and more, each with its source.
//!
//! The walk over the tree gathers what the page declares ([`gather`]). Then one value is chosen for each field: by
//! source, in the order that `choose` lists, so that a declared value is preferred to a visible one.

mod byline;
mod candidates;
mod choose;
mod date;
mod date_text;
mod gather;
mod json_ld;
mod json_repair;
mod limits;
mod lines;
mod meta_names;
mod months;
mod url_date;

use std::collections::BTreeMap;

pub use candidates::MetadataSource;
pub(crate) use choose::{Surroundings, choose};
pub use date::{Date, Moment};
pub(crate) use gather::{Gathered, Place};
pub(crate) use lines::lines_near;

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
    published: Vec<(Moment, MetadataSource)>,
    modified: Vec<(Moment, MetadataSource)>,
}

impl Metadata {
    /// Returns the time of publication: the first declared one that is not after `latest`.
    pub fn published(&self, latest: Option<Date>) -> Option<(Moment, MetadataSource)> {
        first(&self.published, latest)
    }

    /// Returns the time of the last change: the first declared one that is not after `latest` and not before the
    /// publication.
    pub fn modified(&self, latest: Option<Date>) -> Option<(Moment, MetadataSource)> {
        let published = self.published(latest).map(|(moment, _)| moment.date());
        first(&self.modified, latest)
            .filter(|(moment, _)| published.is_none_or(|published| published <= moment.date()))
    }
}

fn first(
    all: &[(Moment, MetadataSource)],
    latest: Option<Date>,
) -> Option<(Moment, MetadataSource)> {
    let sane = |moment: &Moment| latest.is_none_or(|latest| moment.date() <= latest);
    all.iter().find(|(moment, _)| sane(moment)).copied()
}

#[cfg(test)]
mod tests;
