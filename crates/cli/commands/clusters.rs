//! `crawl duplicates clusters`: kept pages, each with its discarded copies.

use std::cmp::Ordering;
use std::io::Write;

use anyhow::Result;
use serde_json::json;

use super::duplicates::{cell, open_all};
use super::sink::Sink;
use crate::args::ListArgs;
use crate::exit::COMPLETE;
use crate::output::{self, bytes, line, number};
use hapax_data::{CanonicalState, Cluster, DeclaredCluster, Row, Rows, clusters, declared_in};
use hapax_report::Order;
use hapax_report::{gone_told, members};

/// Copies shown of a cluster.
const FEW_COPIES: usize = 5;
/// Clusters shown without `--limit` and `--json`.
const DEFAULT_ROWS: usize = 100;

pub(super) fn run(args: &ListArgs) -> Result<u8> {
    let opened = open_all(&args.data)?;
    let heads: Vec<_> = opened.iter().map(|log| log.heads()).collect();
    let tests: hapax_data::Result<Vec<_>> =
        opened.iter().map(|log| args.filter.test(&log.rows)).collect();
    let tests = tests?;
    let mut clusters = clusters(&heads, |rows, row| {
        let test = opened.iter().zip(&tests).find(|(log, _)| std::ptr::eq(&log.rows, rows));
        test.map_or(Ok(false), |(_, test)| test.wants(rows, row))
    })?;
    sort(&mut clusters, args.sort, args.reverse);
    let total = clusters.len();
    let whole = args.json || args.csv;
    let limit = args.limit.unwrap_or(if whole { usize::MAX } else { DEFAULT_ROWS });
    let page = clusters.into_iter().skip(args.offset).take(limit);
    let texts = match &*args.data.dirs {
        [data] => Some(hapax_report::texts(data)?),
        _ => None,
    };
    let declared = |cluster: &Cluster<'_>| declared_in(cluster, &heads, texts.as_ref());
    let mut out = Sink::create(None)?;
    if args.csv {
        return table(page, declared, out);
    }
    let mut shown = 0;
    for cluster in page {
        shown += 1;
        if args.json {
            let (mut pages, found) = (Vec::new(), declared(&cluster)?);
            for ((rows, row), member) in cluster.rows.iter().zip(&found.members) {
                let entry = rows.entry(row)?;
                pages.push(json!({"id": entry.id, "url": entry.url, "kind": entry.kind,
                    "distance": entry.distance, "similarity": entry.similarity,
                    "canonical": member.canonical, "relation": member.relation}));
            }
            let of = json!({"id": cluster.id, "url": cluster.url, "canonical": found.kept});
            let mut row = json!({"of": of, "copies": cluster.copies, "redirects": cluster.redirects,
                "bytes": cluster.bytes, "canonical": found.canonical, "pages": pages});
            if let Some(object) = row.as_object_mut().filter(|_| cluster.gone) {
                object.insert("of_gone".into(), true.into());
            }
            writeln!(out, "{}", output::json(&row))?;
            continue;
        }
        writeln!(out, "{}{}", line(&cluster.url, 110), gone_told(cluster.gone))?;
        writeln!(out, "  represents {}, {}", members(&cluster), bytes(cluster.bytes))?;
        let found = declared(&cluster)?;
        if found.canonical != CanonicalState::None {
            writeln!(
                out,
                "  canonical: {}, {}",
                found.canonical.as_str(),
                found.canonical.describe()
            )?;
        }
        for ((rows, row), member) in cluster.rows.iter().zip(&found.members).take(FEW_COPIES) {
            let (entry, relation) = (rows.entry(row)?, member.relation.as_str());
            let url = line(&entry.url, 100);
            writeln!(out, "  {:>7}  {:<9} {relation:<11} {url}", entry.id, entry.kind)?;
        }
        if cluster.rows.len() > FEW_COPIES {
            writeln!(out, "           ... and {} more", cluster.rows.len() - FEW_COPIES)?;
        }
        writeln!(out)?;
    }
    if !args.json {
        print_end(&mut out, args.offset, shown, total)?;
    }
    out.flush()?;
    Ok(COMPLETE)
}

fn print_end(
    out: &mut impl Write,
    offset: usize,
    shown: usize,
    total: usize,
) -> std::io::Result<()> {
    let next = offset + shown;
    match shown == total {
        true => writeln!(out, "{} clusters.", number(total as u64)),
        false if next >= total => writeln!(out, "{shown} of {} clusters.", number(total as u64)),
        false => writeln!(
            out,
            "{shown} of {} clusters. The next ones: --offset {next}",
            number(total as u64)
        ),
    }
}

/// Sorts the largest first by default. Another order applies to the copies of each cluster and to the clusters by
/// their first copy; size means the whole cluster.
fn sort(clusters: &mut [Cluster<'_>], order: Option<Order>, reverse: bool) {
    let turned = |ordering: Ordering| if reverse { ordering.reverse() } else { ordering };
    let Some(order) = order else {
        if reverse {
            clusters.reverse();
        }
        return;
    };
    let compare =
        |a: &(&Rows, Row), b: &(&Rows, Row)| turned(order.compare_across((a.0, &a.1), (b.0, &b.1)));
    clusters.iter_mut().for_each(|cluster| cluster.rows.sort_by(compare));
    clusters.sort_by(|a, b| match (a.rows.first(), b.rows.first()) {
        _ if order == Order::Bytes => turned(a.bytes.cmp(&b.bytes)),
        (Some(a), Some(b)) => compare(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    });
}

/// Writes one row a copy, with its kept page.
fn table<'a>(
    clusters: impl Iterator<Item = Cluster<'a>>,
    declared: impl Fn(&Cluster<'a>) -> hapax_data::Result<DeclaredCluster>,
    mut out: Sink,
) -> Result<u8> {
    out.record([
        "of_id",
        "of_url",
        "copies",
        "id",
        "kind",
        "url",
        "distance",
        "similarity",
        "bytes",
        "canonical",
        "relation",
    ])?;
    for cluster in clusters {
        let members = declared(&cluster)?.members;
        let of_id = cluster.id.map_or_else(String::new, |id| id.to_string());
        let (of_url, copies) = (cell(cluster.url), cluster.copies.to_string());
        for ((rows, row), member) in cluster.rows.iter().zip(&members) {
            let entry = rows.entry(row)?;
            let cells = [
                of_id.clone(),
                of_url.clone(),
                copies.clone(),
                entry.id.to_string(),
                entry.kind.to_string(),
                cell(entry.url),
                entry.distance.map_or_else(String::new, |distance| distance.to_string()),
                entry.similarity.map_or_else(String::new, |similarity| similarity.to_string()),
                entry.bytes.to_string(),
                member.canonical.as_str().to_owned(),
                member.relation.as_str().to_owned(),
            ];
            out.record(cells.iter().map(String::as_str))?;
        }
    }
    out.finish()?;
    Ok(COMPLETE)
}
