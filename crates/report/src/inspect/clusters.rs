//! The list of clusters, each with its picture.

use hapax_data::{ClusterIndex, Result, Texts, declared_in};
use maud::{Markup, html};
use serde::Deserialize;

use super::computed::Got;
use super::drawing::{Member, drawing, drawing_legend, state_tag};
use super::large::Clusters;
use super::page::link;
use super::pager::{PAGE, address, pager};
use super::views::View;
use crate::select::{gone_told, members};
use crate::text::{bytes, escape, number};

/// Members of a cluster in its picture and its list: 50 clusters on a page read at most 1,000 lines of the log.
const DRAWN: usize = 20;

/// The query of the list.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClusterQuery {
    page: usize,
}

/// The list, the largest clusters first.
pub(super) fn clusters(
    found: Got<Clusters>,
    view: View<'_>,
    query: ClusterQuery,
) -> Result<Markup> {
    found.page(("Clusters", "/clusters"), view.dirs, |found| list(&found.all, view, query))
}

fn list(index: &ClusterIndex, view: View<'_>, query: ClusterQuery) -> Result<Markup> {
    let heads = view.heads();
    let total = index.len();
    let texts: Option<Texts> = match view.dirs {
        [data] => Some(crate::stored::texts(data)?),
        _ => None,
    };
    let first = query.page.saturating_mul(PAGE);
    let mut shown = Vec::new();
    for place in first..first.saturating_add(PAGE).min(total) {
        let Some(group) = index.cluster(&heads, place, DRAWN)? else { continue };
        let size = usize::try_from(group.copies + group.redirects).unwrap_or(usize::MAX);
        let declared = declared_in(&group, &heads, texts.as_ref())?;
        let (mut drawn, mut kinds) = (Vec::new(), Vec::new());
        for ((rows, row), found) in group.rows.iter().zip(&declared.members) {
            let dir = view.rows.iter().position(|own| std::ptr::eq(own, *rows)).unwrap_or(0);
            let entry = rows.entry(row)?;
            kinds.push(entry.kind);
            let (canonical, relation) = (found.canonical, found.relation);
            drawn.push(Member {
                link: Some(view.link(dir, row.id)),
                url: entry.url,
                canonical,
                relation,
            });
        }
        let own = group.id.filter(|_| !group.gone).map(|id| view.kept_link(0, id));
        shown.push(html! {
            li {
                div {
                    @match &own { Some(own) => a href=(own) { (escape(&group.url)) }, None => (link(&group.url)) }
                    span.dim { (gone_told(group.gone)) }
                }
                div.meta { span { "represents " (members(&group)) } span { (bytes(group.bytes)) } span { "canonical: " (state_tag(declared.canonical)) } }
                (drawing((&group.url, declared.kept), &drawn, size))
                details {
                    summary { "its copies" }
                    ul { @for (member, kind) in drawn.iter().zip(&kinds) {
                        li {
                            a href=[&member.link] { (escape(&member.url)) } " " span.tag { (kind) } " "
                            span.tag { (member.relation.as_str()) } " " (state_tag(member.canonical))
                        }
                    } }
                    @if size > DRAWN {
                        p.dim { "and " (number((size - DRAWN) as u64)) " more" @if own.is_some() { ": open the kept page" } }
                    }
                }
            }
        });
    }
    Ok(html! {
        h1 { (number(total as u64)) " clusters" }
        (drawing_legend())
        ol.rows { @for item in shown { (item) } }
        (pager(query.page, total, |page| address("/clusters", &[("page", &page.to_string())])))
    })
}
