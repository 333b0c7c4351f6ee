//! What pages declare (canonical address, versions in other languages) beside what the crawl chose.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::clusters::Cluster;
use crate::declared::{declared_by, in_normal_form};
use crate::error::Result;
use crate::lines::Discarded;
use crate::page_meta::PageMeta;
use crate::rows::Row;
use crate::standing::{Heads, Standing};
use crate::texts::Texts;

/// The declared canonical address of a page, beside the page that the crawl chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CanonicalState {
    /// The page declares none.
    None,
    /// It declares the kept page.
    Agree,
    /// It declares a page that is discarded, or an address that redirects.
    Discarded,
    /// It declares an address that was never fetched or is gone.
    Missing,
    /// It declares itself although it was discarded, or another kept page.
    Conflict,
}

impl CanonicalState {
    /// Returns its name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Agree => "agree",
            Self::Discarded => "discarded",
            Self::Missing => "missing",
            Self::Conflict => "conflict",
        }
    }

    /// Describes it for people.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::None => "no page declares a canonical address",
            Self::Agree => "the declared canonical address is the kept page",
            Self::Discarded => "the declared canonical address is a discarded page or a redirect",
            Self::Missing => "the declared canonical address was not fetched or is gone",
            Self::Conflict => "the declared canonical address is another page than the kept one",
        }
    }
}

/// How a discarded page is related to the kept one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// A duplicate.
    Duplicate,
    /// The kept page declares it as its version in another language (`hreflang`).
    Translation,
    /// Another page of a series: the addresses differ in the number of a page.
    Pagination,
    /// A redirect.
    Redirect,
    /// A part of the kept page.
    Part,
}

impl Relation {
    /// Returns its name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Translation => "translation",
            Self::Pagination => "pagination",
            Self::Redirect => "redirect",
            Self::Part => "part",
        }
    }
}

/// The declarations of one discarded page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredMember {
    /// Its canonical address.
    pub canonical: CanonicalState,
    /// Its relation to the kept page.
    pub relation: Relation,
}

/// The declarations of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredCluster {
    /// The worst state of its pages: conflict, missing, discarded, agree, none.
    pub canonical: CanonicalState,
    /// That of the kept page; none without an index.
    pub kept: CanonicalState,
    /// Those of the rows, in their order.
    pub members: Vec<DeclaredMember>,
}

/// Returns the state of a page that declares `declared`, if the crawl chose `chosen`. `own` is its address.
///
/// # Errors
/// If the tables cannot be read.
fn canonical_state(
    declared: Option<&str>,
    (own, chosen): (&str, &str),
    heads: &Heads<'_>,
) -> Result<CanonicalState> {
    let Some(declared) = declared else { return Ok(CanonicalState::None) };
    let declared = in_normal_form(declared);
    let declared = declared.as_str();
    if declared == chosen {
        return Ok(CanonicalState::Agree);
    }
    if declared == own || !heads.has_tables() {
        return Ok(CanonicalState::Conflict);
    }
    Ok(match heads.record_of(declared)? {
        None => CanonicalState::Missing,
        // Records of redirects have no tokens.
        Some(record) if record.of.is_some() || record.tokens == 0 => CanonicalState::Discarded,
        Some(_) => CanonicalState::Conflict,
    })
}

/// Returns the state of the page of a line, if the crawl chose `chosen`.
///
/// # Errors
/// If the tables cannot be read.
pub fn canonical_of(line: &Discarded, chosen: &str, heads: &Heads<'_>) -> Result<CanonicalState> {
    canonical_state(declared_by(line), (&line.url, chosen), heads)
}

/// Returns the state of the page of a row, beside its present representative.
///
/// # Errors
/// If log or tables cannot be read.
///
/// # Complexity
/// Reads the line only if the page declares an address that is neither the representative in the line nor itself.
pub fn canonical_of_row(row: &Row, heads: &Heads<'_>) -> Result<CanonicalState> {
    let Some(declared) = row.declared() else { return Ok(CanonicalState::None) };
    let is_as_written = match heads.of(row)? {
        Standing::Page(id) => id == row.of,
        Standing::AsWritten | Standing::Nothing => heads.rows.kept_for(row).0 == row.of,
    };
    if is_as_written && !row.is_alias() {
        if declared == row.of_key {
            return Ok(CanonicalState::Agree);
        }
        if declared == row.key() {
            return Ok(CanonicalState::Conflict);
        }
    }
    canonical_of(&heads.rows.line(row)?, &heads.shown(row)?.entry.of.url, heads)
}

/// Returns what the pages of a cluster declare. `texts` has the index of the only directory.
///
/// # Errors
/// If log or tables cannot be read.
pub fn declared_in(
    cluster: &Cluster<'_>,
    heads: &[Heads<'_>],
    texts: Option<&Texts>,
) -> Result<DeclaredCluster> {
    let kept_page = texts.zip(cluster.id).and_then(|(texts, id)| texts.page(id));
    let meta = kept_page.map(|page| PageMeta::from_json(&page.meta)).unwrap_or_default();
    let translations: BTreeSet<&str> = meta.alternates.values().map(String::as_str).collect();
    let chosen = cluster.url.as_str();
    let kept = match heads.first() {
        Some(heads) => canonical_state(meta.canonical.as_deref(), (chosen, chosen), heads)?,
        None => CanonicalState::None,
    };
    let mut members = Vec::with_capacity(cluster.rows.len());
    for (rows, row) in &cluster.rows {
        let line = rows.line(row)?;
        let own_heads = heads.iter().find(|heads| std::ptr::eq(heads.rows, *rows));
        let canonical = match own_heads {
            Some(heads) => canonical_of(&line, chosen, heads)?,
            None => CanonicalState::None,
        };
        let causes = rows.entry(row)?.cause;
        let relation = if row.is_alias() {
            Relation::Redirect
        } else if row.is_part() {
            Relation::Part
        } else if translations.contains(line.url.as_str()) {
            Relation::Translation
        } else if causes.iter().any(|cause| cause == "pagination") {
            Relation::Pagination
        } else {
            Relation::Duplicate
        };
        members.push(DeclaredMember { canonical, relation });
    }
    let worst = members.iter().map(|member| member.canonical).chain([kept]).max();
    Ok(DeclaredCluster { canonical: worst.unwrap_or(CanonicalState::None), kept, members })
}
