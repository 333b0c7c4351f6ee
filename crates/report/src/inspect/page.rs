//! One pair: the reason, the two texts side by side, and the buttons to change the decision.

use maud::{Markup, html};

use super::drawing::state_tag;
use super::side::side_by_side;
use super::views::{View, frame};
use crate::select::{gone_told, in_store, texts_missing};
use crate::text::{bytes, escape};
use hapax_data::{
    CanonicalState, Discarded, DuplicateKind, Heads, Result, Shown, Texts, canonical_of,
};

/// A link, if the text is a web address.
pub(super) fn link(url: &str) -> Markup {
    html! {
        @if url.starts_with("http://") || url.starts_with("https://") {
            a href=(url) rel="noreferrer noopener" target="_blank" { (escape(url)) }
        } @else { (escape(url)) }
    }
}

/// The page of a discarded page: the number of its directory, and its own number there.
pub(super) fn show(
    view: View<'_>,
    (dir, id): (usize, u64),
    done: Option<&str>,
    token: &str,
) -> Result<Markup> {
    let (data, rows) = view.dir(dir)?;
    let (row, _) = rows.find(&id.to_string())?;
    let store = view.store(dir);
    let heads = Heads::new(rows, store);
    let shown = heads.shown(&row)?;
    let entry = &shown.entry;
    let canonical = canonical_of(&rows.line(&row)?, &entry.of.url, &heads)?;
    let kept_page = entry.of.id.filter(|_| !shown.gone && entry.against.is_none());
    let restored = rows.decisions.restored(id);
    let took_over = rows.decisions.took_over(id);
    let button = |action: &str, key: &str, text: &str, main: bool| {
        html! {
            form method="post" action="/change" {
                input type="hidden" name="token" value=(token);
                input type="hidden" name="id" value=(id);
                input type="hidden" name="dir" value=(dir);
                button.main[main] name="action" value=(action) data-key=(key) { (text) }
            }
        }
    };
    let notice = match done {
        Some("restore") if restored.is_some() => {
            Some("Restored: the page is in the index, and the pair is never merged again.")
        }
        Some("discard") if restored.is_none() => Some("Discarded again, as before."),
        Some("keep") if took_over => Some("This page is now the kept page."),
        _ => None,
    };
    let stored = crate::stored::texts(data)?;
    // Another worker may keep the page.
    let elsewhere = || {
        let others = view.all().filter(|(other, _)| *other != data);
        let mut found = others
            .filter_map(|(other, _)| crate::stored::texts(other).ok()?.page_of(&entry.of.url));
        found.next().map(|page| page.text)
    };
    let body = html! {
        @if let Some(notice) = notice {
            div.notice role="status" {
                (notice)
                @if done == Some("restore") { (button("discard", "u", "Undo", false)) }
            }
        }
        h1 { @if entry.title.is_empty() { "(no title)" } @else { (escape(&entry.title)) } }
        (pair(&shown, canonical, restored, took_over))
        @if let Some(id) = kept_page { p { a href=(view.kept_link(dir, id)) { "The kept page with all its duplicates" } } }
        div.actions {
            @if rows.decisions.renewed(id) {
                p.dim { "A newer log line describes this page." }
            } @else if rows.decisions.ended(id) {
                p.dim { "Forgotten, or fetched again since." }
            } @else if entry.kind != DuplicateKind::Alias && !took_over {
                @if restored.is_some() {
                    (button("discard", "u", "Discard again", false))
                } @else {
                    (button("restore", "r", "Not the same: restore it", true))
                    @if entry.can_replace_other() { (button("keep", "", "Keep this one instead", false)) }
                }
            }
            span.keys.dim { kbd { "r" } " restores, " kbd { "u" } " undoes" }
        }
        (texts(entry, &rows.line(&row)?, &stored, elsewhere))
    };
    Ok(frame(&entry.title, "/list", view.dirs, body))
}

/// The facts of a pair; `canonical` is the state of the discarded page.
pub(super) fn pair(
    shown: &Shown,
    canonical: CanonicalState,
    restored: Option<&str>,
    took_over: bool,
) -> Markup {
    let entry = &shown.entry;
    let quoted = |list: &[String]| {
        let list: Vec<String> =
            list.iter().map(|shingle| format!("“{}”", escape(shingle))).collect();
        list.join(", ")
    };
    html! {
        dl.facts {
            dt { "discarded" } dd { (link(&entry.url)) }
            dt { "kept" } dd { (link(&entry.of.url)) span.dim { (gone_told(shown.gone)) (in_store(entry)) } }
            @if let Some(url) = &shown.leads_to { dt { "leads to" } dd { (link(url)) } }
            @if let Some(url) = &shown.compared_with { dt { "compared" } dd { (link(url)) " " span.dim { "(a better page replaced it later)" } } }
            dt { "why" } dd { span.tag { (entry.kind) } " " (escape(&entry.reason())) }
            @if !entry.cause.is_empty() { dt { "cause" } dd { (escape(&entry.cause.join(", "))) } }
            dt { "canonical" } dd { (state_tag(canonical)) " " span.dim { (canonical.describe()) } }
            @if !entry.links.from.is_empty() { dt { "linked from" } dd { @for from in &entry.links.from { div { (link(from)) } } } }
            dt { "when" } dd { (escape(&entry.time)) ", " (bytes(entry.bytes)) @if !entry.language.is_empty() { ", " (escape(&entry.language)) } }
            @if let (Some(own), Some(other)) = (&entry.fingerprint, &entry.of_fingerprint) {
                dt { "fingerprints" } dd { code { (escape(own)) } " and " code { (escape(other)) } }
            }
            @if !entry.shared.is_empty() { dt { "shared" } dd { (quoted(&entry.shared)) } }
            @if !entry.different.is_empty() { dt { "only here" } dd { (quoted(&entry.different)) } }
            @if let Some(time) = restored { dt { "restored" } dd { span.tag.on { (escape(time)) } } }
            @if took_over { dt { "now" } dd { span.tag.on { "this page is kept" } } }
        }
    }
}

/// The two texts, or why they are not available. `elsewhere` finds the text of a kept page that is not in `texts`.
pub(super) fn texts(
    entry: &Discarded,
    line: &Discarded,
    texts: &Texts,
    elsewhere: impl FnOnce() -> Option<String>,
) -> Markup {
    if entry.kind == DuplicateKind::Alias {
        return html! { p.dim { "A redirect: there is no text of its own." } };
    }
    let (kept, own) = (texts.kept(entry).or_else(elsewhere), texts.discarded(entry, line));
    // Equal texts are stored once.
    let is_equal = entry.level.as_deref() == Some("text") && entry.against.is_none();
    match (kept.clone(), own.or_else(|| kept.filter(|_| is_equal))) {
        (Some(kept), Some(own)) if kept == own => html! {
            p { "The two texts are equal." }
            div.diff { div.card { @for line in own.lines() { p { (escape(line)) } } } }
        },
        (Some(kept), Some(own)) => side_by_side(&kept, &own),
        _ => html! { p.dim { (texts_missing(entry)) } },
    }
}
