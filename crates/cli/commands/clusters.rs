//! `crawl duplicates clusters`: kept pages, and what was discarded for each.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use serde_json::json;

use super::duplicates::{cell, open_all};
use super::sink::{Sink, Table};
use crate::args::ListArgs;
use crate::crawl::DiscardedOf;
use crate::duplicates::{Order, Row, Rows};
use crate::exit::COMPLETE;
use crate::output::{self, bytes, line, number};

/// Copies shown of a cluster.
const FEW_COPIES: usize = 5;
/// Clusters shown to a person without `--limit`.
const FEW: usize = 100;

/// The copies of one kept page; never none.
type Cluster<'a> = Vec<(&'a Rows, Row)>;

pub(super) fn run(args: &ListArgs) -> Result<u8> {
    let logs = open_all(&args.data)?;
    let mut clusters: BTreeMap<String, Cluster<'_>> = BTreeMap::new();
    for log in &logs {
        let test = args.filter.test(&log.rows)?;
        for row in log.rows.discarded() {
            if !test.wants(&log.rows, row)? {
                continue;
            }
            let (of, url) = log.rows.kept_for(row);
            let name = if logs.len() > 1 {
                // Numbers are a directory's own, URLs are everybody's.
                log.rows.entry(row)?.of.url
            } else if of == u64::MAX && url.is_none() {
                // A page that was not fetched has no number: its URL tells it.
                format!("{:020}{:020}", of, row.of_key)
            } else {
                format!("{of:020}")
            };
            clusters.entry(name).or_default().push((&log.rows, *row));
        }
    }
    let mut clusters: Vec<Cluster<'_>> = clusters.into_values().collect();
    sort(&mut clusters, args.sort, args.reverse);
    let total = clusters.len();
    let whole = args.json || args.csv;
    let limit = args.limit.unwrap_or(if whole { usize::MAX } else { FEW });
    let page = clusters.into_iter().skip(args.offset).take(limit);
    let mut out = Sink::create(None)?;
    if args.csv {
        return table(page, out);
    }
    for cluster in page {
        let Some(of) = kept(&cluster)? else { continue };
        if args.json {
            let mut pages = Vec::new();
            for (rows, row) in &cluster {
                let entry = rows.entry(row)?;
                pages.push(json!({"id": entry.id, "url": entry.url, "kind": entry.kind,
                    "distance": entry.distance, "similarity": entry.similarity}));
            }
            let row = json!({"of": {"id": of.id, "url": of.url}, "copies": cluster.len(),
                "bytes": size(&cluster), "pages": pages});
            writeln!(out, "{}", output::json(&row))?;
            continue;
        }
        writeln!(
            out,
            "{}\n  stands for {} more, {}",
            line(&of.url, 110),
            cluster.len(),
            bytes(size(&cluster))
        )?;
        for (rows, row) in cluster.iter().take(FEW_COPIES) {
            let entry = rows.entry(row)?;
            writeln!(
                out,
                "  {:>7}  {:<9} {}",
                entry.id,
                line(&entry.kind, 9),
                line(&entry.url, 100)
            )?;
        }
        if cluster.len() > FEW_COPIES {
            writeln!(out, "           ... and {} more", cluster.len() - FEW_COPIES)?;
        }
        writeln!(out)?;
    }
    if !args.json {
        writeln!(out, "{} clusters.", number(total as u64))?;
    }
    out.flush()?;
    Ok(COMPLETE)
}

/// The page that a cluster's copies were discarded for.
fn kept(cluster: &Cluster<'_>) -> Result<Option<DiscardedOf>> {
    let first = cluster.first().map(|(rows, row)| rows.entry(row)).transpose()?;
    Ok(first.map(|entry| entry.of))
}

fn size(cluster: &Cluster<'_>) -> u64 {
    cluster.iter().map(|(_, row)| u64::from(row.bytes)).sum()
}

/// The largest first, or as is asked: then the copies of each lie in this order, and the clusters by their
/// first copies, by size as a whole.
fn sort(clusters: &mut [Cluster<'_>], order: Option<Order>, reverse: bool) {
    let turned = |ordering: Ordering| if reverse { ordering.reverse() } else { ordering };
    let Some(order) = order else {
        clusters.sort_by_key(|cluster| Reverse(cluster.len()));
        if reverse {
            clusters.reverse();
        }
        return;
    };
    let compare =
        |a: &(&Rows, Row), b: &(&Rows, Row)| turned(order.compare_across((a.0, &a.1), (b.0, &b.1)));
    clusters.iter_mut().for_each(|cluster| cluster.sort_by(compare));
    clusters.sort_by(|a, b| match (a.first(), b.first()) {
        _ if order == Order::Bytes => turned(size(a).cmp(&size(b))),
        (Some(a), Some(b)) => compare(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    });
}

/// One line a copy, with the page that was kept for it.
fn table<'a>(clusters: impl Iterator<Item = Cluster<'a>>, out: Sink) -> Result<u8> {
    let mut table = Table::new(out);
    table.row([
        "of_id",
        "of_url",
        "copies",
        "id",
        "kind",
        "url",
        "distance",
        "similarity",
        "bytes",
    ])?;
    for cluster in clusters {
        let Some(of) = kept(&cluster)? else { continue };
        let of_id = of.id.map_or_else(String::new, |id| id.to_string());
        let (of_url, copies) = (cell(of.url), cluster.len().to_string());
        for (rows, row) in &cluster {
            let entry = rows.entry(row)?;
            let cells = [
                of_id.clone(),
                of_url.clone(),
                copies.clone(),
                entry.id.to_string(),
                entry.kind,
                cell(entry.url),
                entry.distance.map_or_else(String::new, |distance| distance.to_string()),
                entry.similarity.map_or_else(String::new, |similarity| similarity.to_string()),
                entry.bytes.to_string(),
            ];
            table.row(cells.iter().map(String::as_str))?;
        }
    }
    table.finish()?;
    Ok(COMPLETE)
}
