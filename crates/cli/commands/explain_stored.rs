//! A fetched page: its stored stages, and what was decided about it.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use hapax_data::{Discarded, DuplicateKind, Heads, PageMeta, Rows, Shown, read_only, stored_page};
use hapax_dedup::{Policy, Record, Store};
use hapax_extract::Recipe;
use hapax_page::{Evidence, site_of};
use hapax_report::in_store;
use hapax_url::{UrlLimits, normalize};
use serde_json::{Value, json};
use url::Url;

use super::explain::{page_json, page_text};
use super::explain_page::Page;
use super::explain_verdict::key_of;
use crate::exit::{USAGE, coded};
use crate::output::escape;

/// A page as it lies in a data directory.
pub(super) struct Stored {
    page: Option<Page>,
    /// Why there is no page to show.
    missing: &'static str,
    decision: String,
    /// The same in few words.
    pub(super) fate: String,
    record: Record,
    reservations: Vec<String>,
    /// The first pages that led to it, as of its fetch.
    pub(super) from: Vec<String>,
}

pub(super) fn find(
    data: &Path,
    url: &Url,
    record: Record,
    store: &Store,
    recipe: Recipe,
) -> Result<Stored> {
    let rows = Rows::open(data)?;
    // One that was taken back has another number than its row.
    let named = || rows.by_id(rows.decisions.row_of(&String::from_utf8_lossy(&record.key))?);
    let row = rows.by_id(record.id).or_else(named);
    let heads = Heads::new(&rows, Some(store));
    let shown = row.map(|row| heads.shown(&row)).transpose()?;
    let entry = shown.as_ref().map(|shown| &shown.entry);
    let state = row.and_then(|row| rows.state(&row));
    let discarded = shown.as_ref().filter(|_| state.is_none());
    let fate = match (discarded, record.of) {
        (Some(shown), _) => fate(shown),
        (None, Some(of)) => {
            let of = match rows.decisions.representative(of) {
                Some((_, now)) => now.to_owned(),
                None => key_of(store, of)?,
            };
            format!("discarded, a duplicate of {of}")
        }
        (None, None) => "kept".to_owned(),
    };
    let decision = match (discarded, record.of) {
        (Some(shown), _) => decided(shown),
        (None, Some(_)) => fate.clone(),
        (None, None) => match row.and_then(|row| rows.decisions.restored(row.id)) {
            Some(time) => format!("kept as page {}: restored at {time}", record.id),
            None => format!("kept as page {}", record.id),
        },
    };
    let mut reservations = Vec::new();
    let mut from = entry.map(|entry| entry.links.from.clone()).unwrap_or_default();
    let (page, missing) = match entry.map(|entry| entry.kind.as_str()) {
        Some("alias") => (None, "a redirect or a rule, which has no text"),
        _ => {
            let kept = hapax_report::texts(data)?.page(record.id);
            if let Some(kept) = &kept {
                let meta = PageMeta::from_json(&kept.meta);
                (reservations, from) = (meta.reservations, meta.from);
            }
            let bytes = kept.as_ref().map(|kept| kept.bytes);
            let place = kept.map(|kept| kept.stored_at).filter(|place| !place.is_empty());
            let logged = entry.and_then(|entry| entry.warc.clone());
            let bytes = bytes.or(entry.map(|entry| entry.bytes)).unwrap_or(0);
            match place.or(logged) {
                None => (None, "neither index nor log say where it lies in pages/"),
                Some(place) => read(data, url, &place, bytes, recipe, entry),
            }
        }
    };
    Ok(Stored { page, missing, decision, fate, record, reservations, from })
}

/// What became of a page that is discarded.
fn fate(Shown { entry, leads_to, gone, .. }: &Shown) -> String {
    let of = format!("{}{}", entry.of.url, in_store(entry));
    match (entry.kind.as_str(), leads_to) {
        ("alias", _) if *gone => format!("a redirect to {of}, which has no stored page now"),
        ("alias", Some(target)) => format!("a redirect to {target}, represented by {of}"),
        ("alias", None) => format!("a redirect to {of}"),
        ("part", _) => format!("discarded, a part of {of}"),
        _ if *gone => format!("discarded, a duplicate of {of}, which is no longer stored"),
        _ => format!("discarded, a duplicate of {of}"),
    }
}

fn decided(shown: &Shown) -> String {
    let entry = &shown.entry;
    if entry.kind == DuplicateKind::Alias || shown.gone {
        return fate(shown);
    }
    let number = entry.of.id.map_or(String::new(), |id| format!(" (page {id})"));
    let relation = if entry.kind == DuplicateKind::Part { "" } else { " duplicate" };
    format!("{}{relation} of {}{number}: {}", entry.kind, entry.of.url, entry.reason())
}

/// A stored page by its URL, and what was decided about it.
///
/// # Errors
/// The data directory has no such page, or its text cannot be read.
pub(super) fn page_at(data: &Path, url: &Url, policy: Policy) -> Result<(Page, String)> {
    let missing = |what: &str| coded(USAGE, format!("{url}: {what} ({})", data.display()));
    let Some((store, recipe)) = read_only(data, policy, Recipe::default().name())? else {
        return Err(missing("the data directory has no pages"));
    };
    let normal = normalize(url, &UrlLimits::default()).unwrap_or_else(|_| url.clone());
    let id = store.id_of(normal.as_str().as_bytes())?;
    let Some(record) = id.map(|id| store.record(id)).transpose()?.flatten() else {
        return Err(missing("no page with this URL is stored"));
    };
    let recipe = Recipe::parse(&recipe).unwrap_or_default();
    let stored = find(data, &normal, record, &store, recipe)?;
    match stored.page {
        Some(page) => Ok((page, stored.decision)),
        None => Err(missing(&format!("{}; {}", stored.decision, stored.missing))),
    }
}

fn read(
    data: &Path,
    url: &Url,
    place: &str,
    bytes: u64,
    recipe: Recipe,
    entry: Option<&Discarded>,
) -> (Option<Page>, &'static str) {
    let Some((document, _)) = stored_page(&data.join("pages"), place, url) else {
        return (None, "its record in pages/ cannot be read");
    };
    let equal = entry.is_some_and(|entry| entry.level.as_deref() == Some("text"));
    if equal && document.blocks.is_empty() {
        return (
            None,
            "of an equal text the archive keeps no second copy: explain the page it duplicates",
        );
    }
    let page = Page {
        name: url.to_string(),
        bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
        evidence: Evidence::of(&document, recipe),
        document,
        site: site_of(Some(url), b""),
        address: Some(url.clone()),
        recipe,
    };
    (Some(page), "")
}

impl Stored {
    pub(super) fn text(&self, policy: &Policy, limit: usize) -> String {
        let mut out = String::new();
        match &self.page {
            Some(page) => out += &page_text(page, policy, limit),
            None => {
                let _ = writeln!(out, "{:<12} not shown: {}", "page", self.missing);
                let _ = writeln!(out, "{:<12} {} content words", "tokens", self.record.tokens);
                let _ = writeln!(out, "{:<12} {}", "fingerprint", self.record.fingerprint);
            }
        }
        if !self.reservations.is_empty() {
            let all = self.reservations.join(", ");
            let _ = writeln!(out, "{:<12} {}", "reserved", escape(&all));
        }
        let _ = writeln!(out, "{:<12} {}", "recorded", escape(&self.decision));
        out
    }

    pub(super) fn json(&self, policy: &Policy) -> Value {
        json!({
            "id": self.record.id, "decision": self.decision, "tokens": self.record.tokens,
            "fingerprint": self.record.fingerprint.to_string(),
            "missing": self.page.is_none().then_some(self.missing),
            "reservations": self.reservations,
            "page": self.page.as_ref().map(|page| page_json(page, policy)),
        })
    }
}
