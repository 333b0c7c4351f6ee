//! The verdict of a data directory's tables about a page.

use std::path::Path;

use anyhow::Result;
use hapax_dedup::{Neighbour, Record, Store};
use hapax_url::{host_key, normalize};
use serde_json::{Value, json};
use url::Url;

use super::explain_page::Page;
use crate::settings::Settings;
use hapax_data::{
    ComparedTexts, Comparison, Decisions, Digests, Extent, Findings, TextStore, digests_of,
    matches, proposal_in_words, read_sites, site_of_key, url_of_key,
};
use hapax_page::comparison::{Compared, PageText};

/// The decision, in words and for programs.
pub(super) struct Verdict {
    pub(super) text: String,
    pub(super) json: Value,
}

impl Verdict {
    pub(super) fn not_asked(why: String) -> Self {
        Self { json: json!({"verdict": null, "why": why}), text: format!("not asked: {why}") }
    }
}

/// Asks the tables about a page as a crawl would; nothing is changed.
pub(super) fn ask(
    page: &Page,
    tables: Option<&(Store, String)>,
    settings: &Settings,
    data: &Path,
) -> Result<Verdict> {
    let Some((store, recipe)) = tables else {
        let shown = data.display();
        return Ok(Verdict::not_asked(format!(
            "{shown} has no stored pages to compare with. Give a crawl's directory by --data DIR"
        )));
    };
    if recipe != page.recipe.name() {
        return Ok(Verdict::not_asked(format!(
            "the tables of {} use recipe {recipe}, whose fingerprints are not comparable",
            data.display()
        )));
    }
    let url = page.address.as_ref();
    let limits = settings.url_limits()?;
    let normal = url.map(|url| normalize(url, &limits).unwrap_or_else(|_| url.clone()));
    let key = normal.as_ref().map_or(page.name.as_str(), Url::as_str);
    if let Some(record) = store.id_of(key.as_bytes())?.and_then(|id| store.record(id).transpose()) {
        return known(store, &record?, key);
    }
    let decisions = Decisions::committed(data)?;
    if normal.as_ref().is_some_and(|url| decisions.forgotten(key, &host_key(url))) {
        let text = "excluded by `crawl forget`".to_owned();
        return Ok(Verdict { text, json: json!({"verdict": "forgotten"}) });
    }
    let document = page.evidence.document(key.as_bytes(), normal.as_ref(), 0);
    let former = page.evidence.comparison_text.features.former_digest;
    let former = former.filter(|_| digests_of(&store.payload()).is_ok_and(Digests::has_former));
    let own = PageText::of(&page.document, &page.evidence.comparison_text).without_address(url);
    let own = Compared::new(own);
    let texts = TextStore::read_only(&data.join("texts"));
    let mut comparison = Comparison::new(&texts, &own, Findings::new());
    for best in matches(store, &document, former, Extent::All, Some(&mut comparison))? {
        let of = key_of(store, best.id)?;
        // A person has said that these two are not the same.
        if !decisions.distinct(key, &of) {
            let sites = [key, &of].map(|key| site_of_key(key.as_bytes()));
            let compared = comparison.take(best.id);
            let compared = compared.map(|one| one.with_sites(&read_sites(data, store), sites));
            return Ok(duplicate(&best, &of, settings.policy()?.distance, compared));
        }
    }
    Ok(Verdict {
        text: format!("new: like none of {} in {}", store.len(), data.display()),
        json: json!({"verdict": "new", "documents": store.len()}),
    })
}

fn known(store: &Store, record: &Record, key: &str) -> Result<Verdict> {
    let (fate, of) = match record.of {
        Some(of) => {
            let url = key_of(store, of)?;
            (format!("discarded, a duplicate of {url} (page {of})"), json!({"id": of, "url": url}))
        }
        None => ("kept".to_owned(), Value::Null),
    };
    Ok(Verdict {
        text: format!("known: {key} is page {}, {fate}; it is not decided again", record.id),
        json: json!({"verdict": "known", "id": record.id, "of": of}),
    })
}

fn duplicate(
    best: &Neighbour,
    of: &str,
    threshold: u32,
    compared: Option<ComparedTexts>,
) -> Verdict {
    let why = proposal_in_words(best, threshold);
    let differs = compared
        .as_ref()
        .map_or(String::new(), |compared| format!("; compared: {}", compared.differs.join("; ")));
    Verdict {
        text: format!("duplicate of {of} (page {}): {why}{differs}", best.id),
        json: json!({
            "verdict": "duplicate", "of": {"id": best.id, "url": of}, "level": best.level.name(),
            "table": best.table, "distance": best.distance, "threshold": threshold,
            "similarity": best.similarity, "similarity_threshold": best.similarity_threshold, "why": why,
            "compared": compared,
        }),
    }
}

pub(super) fn key_of(store: &Store, id: u64) -> Result<String> {
    let record = store.record(id)?;
    let key = record.map(|r| String::from_utf8_lossy(&r.key).into_owned()).unwrap_or_default();
    Ok(url_of_key(&key).to_owned())
}
