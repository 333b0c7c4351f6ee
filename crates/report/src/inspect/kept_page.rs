//! One kept page: its text, metadata and inlinks, its discarded duplicates, and the closest other kept page.

use hapax_data::{
    Cluster, Discarded, Error, Heads, NearMisses, PageMeta, Result, Row, Rows, Standing,
    declared_in, tables,
};
use hapax_index::StoredPage;
use maud::{Markup, html};

use super::computed::Got;
use super::drawing::{Member, drawing, drawing_legend, state_tag};
use super::page::link;
use super::views::{View, frame};
use crate::text::{bytes, counted, escape, number};

/// Duplicates that are listed and drawn.
const LISTED: usize = 200;
/// Redirects of a log up to which each one's target is read.
const MAX_REDIRECTS: usize = 20_000;
/// Bytes of a text that are shown.
const MAX_TEXT: usize = 400_000;

/// The page of a kept page: the number of its directory, and its own number there.
pub(super) fn kept_page(
    view: View<'_>,
    (dir, id): (usize, u64),
    near: impl FnOnce() -> Got<Vec<NearMisses>>,
) -> Result<Markup> {
    let (data, rows) = view.dir(dir)?;
    let texts = crate::stored::texts(data)?;
    let Some(page) = texts.page(id) else {
        return Err(Error::Invalid(format!(
            "no page with the number {id} is kept. It may have been replaced: search for its URL in the list of kept pages"
        )));
    };
    let store = tables(data);
    let heads = Heads::new(rows, store.as_ref());
    let (rows_of_page, is_exact) = represented(&heads, id)?;
    let total = rows_of_page.len();
    let redirects = rows_of_page.iter().filter(|row| row.is_alias()).count();
    let copies = total - redirects;
    let mut cluster = Cluster {
        id: Some(id),
        url: page.url.clone(),
        gone: false,
        copies: copies as u64,
        redirects: redirects as u64,
        bytes: rows_of_page.iter().map(|row| u64::from(row.bytes)).sum(),
        rows: rows_of_page.into_iter().map(|row| (rows, row)).collect(),
    };
    cluster.rows.truncate(LISTED);
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
        h2 { (counted(copies as u64, "duplicate")) " and " (counted(redirects as u64, "redirect")) " (" (bytes(cluster.bytes)) ")" }
        @if !is_exact { p.dim { "The log has more than " (number(MAX_REDIRECTS as u64)) " redirects; they are not listed here." } }
        @if total > 0 {
            (drawing((&page.url, kept), &members, total))
            (drawing_legend())
            (listed(&members, &lines))
            @if total > LISTED { p.dim { "and " (number((total - LISTED) as u64)) " more" } }
        }
        h2 { "Closest kept page" }
        (closest(view, (dir, id), near())?)
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
    Ok(frame(&page.title, "/kept", view.dirs, body))
}

/// Returns the rows that a page represents now, and whether the redirects are among them.
fn represented(heads: &Heads<'_>, id: u64) -> Result<(Vec<Row>, bool)> {
    let is_exact = heads.rows.all().iter().filter(|row| row.is_alias()).count() <= MAX_REDIRECTS;
    let mut found = Vec::new();
    for row in heads.rows.discarded().filter(|row| is_exact || !row.is_alias()) {
        let is_own = match heads.of(row)? {
            Standing::Page(page) => page == id,
            Standing::AsWritten => heads.rows.kept_for(row).0 == id,
            Standing::Nothing => false,
        };
        if is_own {
            found.push(*row);
        }
    }
    Ok((found, is_exact))
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

fn closest(view: View<'_>, (dir, id): (usize, u64), near: Got<Vec<NearMisses>>) -> Result<Markup> {
    Ok(match near {
        Got::Waiting(_) => html! {
            p.dim { "The closest pages are being computed. Load this page again later." }
        },
        Got::Failed(why) => html! { p.dim { (escape(&why)) } },
        Got::Ready(all, _) => {
            let found = all.get(dir).map(|near| near.closest_of(id)).transpose()?.flatten();
            html! {
                @match found {
                    Some(found) => p {
                        a href=(view.kept_link(dir, found.page.id)) { (escape(&found.page.url)) }
                        ", similarity " (format!("{:.2}", found.similarity)) ", " (counted(u64::from(found.distance), "bit")) " differ. "
                        span.dim { "To see why both are kept: " code { "crawl explain URL URL" } }
                    },
                    None => p.dim { "No other kept page is similar." },
                }
            }
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
