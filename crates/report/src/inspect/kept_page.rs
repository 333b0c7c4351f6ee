//! One kept page: its text, metadata and inlinks, its discarded duplicates, and the closest other kept page.

use hapax_data::{
    Cluster, Discarded, Error, Heads, PageMeta, Result, Row, Rows, closest_kept, declared_in,
};
use hapax_dedup::Store;
use hapax_index::StoredPage;
use maud::{Markup, html};

use super::computed::Got;
use super::drawing::{Member, drawing, drawing_legend, state_tag};
use super::large::Clusters;
use super::page::link;
use super::views::{View, frame, refreshing};
use crate::text::{bytes, counted, duration, escape, number};

/// Duplicates that are listed and drawn.
const LISTED: usize = 200;
/// Bytes of a text that are shown.
const MAX_TEXT: usize = 400_000;

/// The page of a kept page: the number of its directory, and its own number there.
pub(super) fn kept_page(
    view: View<'_>,
    (dir, id): (usize, u64),
    clusters: Got<Clusters>,
) -> Result<Markup> {
    let (data, rows) = view.dir(dir)?;
    let texts = crate::stored::texts(data)?;
    let Some(page) = texts.page(id) else {
        return Err(Error::Invalid(format!(
            "no page with the number {id} is kept. It may have been replaced: search for its URL in the list of kept pages"
        )));
    };
    let store = view.store(dir);
    let heads = Heads::new(rows, store);
    let (known, age) = match clusters {
        Got::Ready(found, age) => (Some(found), age),
        Got::Waiting(_) => (None, None),
        Got::Failed(why) => return Err(Error::Invalid(why)),
    };
    let cluster = represented(known.as_deref(), (dir, id), &heads, &page.url)?;
    let total = usize::try_from(cluster.copies + cluster.redirects).unwrap_or(usize::MAX);
    let (kept, members, lines) =
        declared_members(&cluster, &heads, &texts, |row| view.link(dir, row.id))?;
    let meta = PageMeta::from_json(&page.meta);
    let tokens = heads.record(id)?.map(|record| (record.tokens, record.fingerprint.to_string()));
    let body = html! {
        h1 { @if page.title.is_empty() { "(no title)" } @else { (escape(&page.title)) } }
        (facts(&page, &meta, tokens))
        h2 { "Canonical address" }
        dl.facts {
            dt { "declared" } dd { @match &meta.canonical { Some(url) => (link(url)), None => "none" } }
            dt { "state" } dd { (state_tag(kept)) " " span.dim { (kept.describe()) } }
        }
        @if known.is_none() {
            h2 { "Duplicates" }
            p.notice.wait role="status" { "The duplicates are being counted. The page loads itself again." }
        } @else {
            h2 { (counted(cluster.copies, "duplicate")) " and " (counted(cluster.redirects, "redirect")) " (" (bytes(cluster.bytes)) ")" }
        }
        @if let Some(age) = age { p.dim { "The data has changed since the duplicates were counted " (duration(age)) " ago." } }
        @if total > 0 {
            (drawing((&page.url, kept), &members, total))
            (drawing_legend())
            (listed(&members, &lines))
            @if total > LISTED { p.dim { "and " (number((total - LISTED) as u64)) " more" } }
        }
        h2 { "Closest kept page" }
        (closest(view, (dir, id), store)?)
        h2 { "Inlinks" }
        @if meta.from.is_empty() {
            p.dim { "None is known: it is a seed or a stored page, or was fetched by an earlier version." }
        } @else {
            ul { @for from in &meta.from { li { (link(from)) } } }
        }
        h2 { "Text" }
        (text(&page.text))
        @if !page.other.is_empty() { details { summary { "Other visible text" } (text(&page.other)) } }
    };
    let place = (page.title.as_str(), "/kept");
    Ok(match known {
        Some(_) => frame(place.0, place.1, view.dirs, body),
        None => refreshing(place.0, place.1, view.dirs, body),
    })
}

/// Returns the rows that a page represents now; none while they are unknown.
fn represented<'a>(
    known: Option<&Clusters>,
    (dir, id): (usize, u64),
    heads: &Heads<'a>,
    url: &str,
) -> Result<Cluster<'a>> {
    let index = known.map(|known| known.of_dir(dir));
    let place = index.and_then(|index| index.place_of(id));
    let found = index
        .zip(place)
        .map(|(index, place)| index.cluster(std::slice::from_ref(heads), place, LISTED));
    let none = || Cluster {
        id: None,
        url: String::new(),
        gone: false,
        rows: Vec::new(),
        copies: 0,
        redirects: 0,
        bytes: 0,
    };
    let cluster = found.transpose()?.flatten().unwrap_or_else(none);
    Ok(Cluster { id: Some(id), url: url.to_owned(), gone: false, ..cluster })
}

/// Returns the canonical state of the kept page, and the members with their lines.
pub(super) fn declared_members(
    cluster: &Cluster<'_>,
    heads: &Heads<'_>,
    texts: &hapax_data::Texts,
    link: impl Fn(&Row) -> String,
) -> Result<(hapax_data::CanonicalState, Vec<Member>, Vec<Discarded>)> {
    let declared = declared_in(cluster, std::slice::from_ref(heads), Some(texts))?;
    let (mut members, mut lines) = (Vec::new(), Vec::new());
    for ((rows, row), found) in cluster.rows.iter().zip(&declared.members) {
        let rows: &Rows = rows;
        let entry = rows.entry(row)?;
        members.push(Member {
            link: Some(link(row)),
            url: entry.url.clone(),
            canonical: found.canonical,
            relation: found.relation,
        });
        lines.push(entry);
    }
    Ok((declared.kept, members, lines))
}

fn facts(page: &StoredPage, meta: &PageMeta, tokens: Option<(u32, String)>) -> Markup {
    let simple = [
        ("language", Some(&page.language).filter(|language| !language.is_empty())),
        ("fetched", Some(&page.fetched)),
        ("content type", meta.content_type.as_ref()),
        ("page type", meta.page_type.as_ref()),
        ("author", meta.author.as_ref()),
        ("published", meta.published.as_ref()),
        ("modified", meta.modified.as_ref()),
        ("description", meta.description.as_ref()),
        ("site", meta.site_name.as_ref()),
        ("licence", meta.licence.as_ref()),
        ("archive", Some(&page.stored_at).filter(|place| !place.is_empty())),
    ];
    html! {
        dl.facts {
            dt { "URL" } dd { (link(&page.url)) }
            @for (name, value) in simple { @if let Some(value) = value { dt { (name) } dd { (escape(value)) } } }
            dt { "size" } dd { (bytes(page.bytes)) @if let Some((words, _)) = &tokens { ", " (counted(u64::from(*words), "content word")) } }
            @if let Some((_, fingerprint)) = &tokens { dt { "fingerprint" } dd { code { (fingerprint) } } }
            @if let Some(confidence) = meta.confidence { dt { "confidence" } dd { (format!("{confidence:.2}")) " (expected F1 of the text)" } }
            @if !meta.reservations.is_empty() { dt { "reserved rights" } dd { (escape(&meta.reservations.join("; "))) } }
            @if !meta.against.is_empty() { dt { "in references" } dd { (escape(&meta.against.join(", "))) } }
            @if !meta.alternates.is_empty() { dt { "languages" } dd { ul { @for (language, url) in &meta.alternates {
                li { (escape(language)) ": " (link(url)) }
            } } } }
        }
    }
}

fn listed(members: &[Member], lines: &[Discarded]) -> Markup {
    html! {
        table.plain.stacked {
            thead { tr { th { "discarded" } th { "kind" } th { "cause" } th { "canonical" } th { "similarity" } th { "bytes" } } }
            tbody { @for (member, line) in members.iter().zip(lines) {
                tr {
                    td data-label="discarded" { @match &member.link { Some(link) => a href=(link) { (escape(&line.url)) }, None => (escape(&line.url)) } }
                    td data-label="kind" { (line.kind) }
                    td data-label="cause" { (escape(&line.cause.join(", "))) }
                    td data-label="canonical" { (state_tag(member.canonical)) }
                    td data-label="similarity" { @if let Some(similarity) = line.similarity { (format!("{similarity:.2}")) } }
                    td data-label="bytes" { (bytes(line.bytes)) }
                }
            } }
        }
    }
}

fn closest(view: View<'_>, (dir, id): (usize, u64), store: Option<&Store>) -> Result<Markup> {
    let found = store.map(|store| closest_kept(store, id)).transpose()?.flatten();
    Ok(html! {
        @match found {
            Some(found) => p {
                a href=(view.kept_link(dir, found.page.id)) { (escape(&found.page.url)) }
                ", similarity " (format!("{:.2}", found.similarity)) ", " (counted(u64::from(found.distance), "bit")) " differ. "
                span.dim { "To see why both are kept: " code { "crawl explain URL URL" } }
            },
            None if store.is_none() => p.dim { "Unknown: this directory has no tables." },
            None => p.dim { "No other kept page is similar." },
        }
    })
}

fn text(text: &str) -> Markup {
    let shown = text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or_default();
    html! {
        div.card.text { @for line in shown.lines() { p { (escape(line)) } } }
        @if shown.len() < text.len() { p.dim { "The text continues: " (bytes(text.len() as u64)) " in total." } }
    }
}
