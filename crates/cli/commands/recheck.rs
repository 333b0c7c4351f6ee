//! `crawl duplicates recheck`: what other thresholds would change in the stored decisions; `--apply` changes it.

use std::collections::HashMap;
use std::io::Write;

use anyhow::Result;
use hapax_data::DecidedBy;
use hapax_dedup::{Neighbour, Options, Policy, Record, Store};
use serde_json::json;

use crate::args::RecheckArgs;
use crate::change::alone;
use crate::exit::{BAD_INPUT, COMPLETE, LOCKED, coded};
use crate::output::{self, counted, escape, line, number};
use hapax_crawl::Amend;
use hapax_data::matches_of_record;
use hapax_data::must_hold_pages;
use hapax_data::{Request, Rows};

/// Changes shown to a person.
const FEW: usize = 20;

/// What would become of one page.
struct Change {
    record: Record,
    /// The page it would duplicate; `None` if it would be kept.
    of: Option<(Record, Neighbour)>,
}

impl Change {
    /// What it is discarded for now is not like it any more, or not kept; another one is.
    const fn is_for_another(&self) -> bool {
        self.record.of.is_some() && self.of.is_some()
    }
}

pub(super) fn run(args: &RecheckArgs) -> Result<u8> {
    let data = &args.data.data;
    must_hold_pages(data)?;
    let Some((mut amend, settings)) = alone(data)? else {
        return Err(coded(
            LOCKED,
            format!(
                "a crawl is at work in {}: stop it first, a recheck reads all tables",
                data.display()
            ),
        ));
    };
    let mut asked = settings.clone();
    asked.duplicates.distance = args.distance.or(asked.duplicates.distance);
    asked.duplicates.similarity = args.similarity.or(asked.duplicates.similarity);
    asked.duplicates.similarity_same_host =
        args.similarity_same_host.or(asked.duplicates.similarity_same_host);
    let changes = replay(&amend, asked.policy()?)?;
    let rows = Rows::open(data)?;
    let by_url = newest_rows(&rows)?;

    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let (mut kept, mut discarded, mut for_others) = (0u64, 0u64, 0u64);
    for change in &changes {
        let url = String::from_utf8_lossy(&change.record.key);
        let of = change.of.as_ref().map(|(of, _)| String::from_utf8_lossy(&of.key).into_owned());
        let count = match of {
            None => &mut kept,
            Some(_) if change.is_for_another() => &mut for_others,
            Some(_) => &mut discarded,
        };
        *count += 1;
        if args.json {
            let near = change.of.as_ref().map(|(_, near)| near);
            let row = json!({"url": url, "id": by_url.get(&*url), "verdict": if of.is_some() { "discarded" } else { "kept" },
                "of": of.map(|of| json!({"url": of})), "distance": near.map(|n| n.distance), "similarity": near.and_then(|n| n.similarity)});
            writeln!(out, "{}", output::json(&row))?;
        } else if *count <= FEW as u64 {
            match of {
                Some(of) => writeln!(
                    out,
                    "{}  {}\n         for {}",
                    if change.is_for_another() { "= discarded" } else { "- discarded" },
                    line(&url, 110),
                    line(&of, 110)
                )?,
                None => writeln!(out, "+ kept       {}", line(&url, 110))?,
            }
        }
    }
    let mut not = Vec::new();
    if args.apply {
        let ids: Vec<u64> = changes
            .iter()
            .filter(|change| change.of.is_none() || change.is_for_another())
            .filter_map(|change| by_url.get(&*String::from_utf8_lossy(&change.record.key)).copied())
            .collect();
        amend.decides_by(asked.policy()?);
        // What takes the place of a duplicate comes first: another may be discarded for it.
        let answer = amend.apply(&Request::Restore { ids }, DecidedBy::Recheck)?;
        not = answer.not;
        let texts = crate::duplicates::texts(data)?;
        for change in &changes {
            if let Some((of, near)) = &change.of {
                amend.discard_kept(&texts, &change.record.key, &of.key, near)?;
            }
        }
        let seeds = crate::data::saved(data)?.unwrap_or_default().seeds;
        amend.finish()?;
        crate::data::save(data, seeds, &asked)?;
    } else {
        amend.close()?;
    }
    if !args.json {
        let left: u64 = [kept, discarded, for_others]
            .map(|count| count.saturating_sub(FEW as u64))
            .iter()
            .sum();
        if left > 0 {
            writeln!(out, "... and {} more: --json", number(left))?;
        }
        if changes.is_empty() && args.similarity.is_some() && args.similarity_same_host.is_none() {
            writeln!(
                out,
                "--similarity is for pages of two hosts, --similarity-same-host for those of one."
            )?;
        }
        let done =
            if args.apply { "" } else { "; nothing was changed, --apply does it without fetching" };
        writeln!(
            out,
            "{} more would be kept, {} more discarded{}{done}.",
            counted(kept, "page"),
            number(discarded),
            match for_others {
                0 => String::new(),
                count => format!(", {} for another page than now", number(count)),
            }
        )?;
    }
    out.flush()?;
    for why in &not {
        writeln!(std::io::stderr(), "crawl: not {}", escape(why))?;
    }
    Ok(if not.is_empty() { COMPLETE } else { BAD_INPUT })
}

/// Decides about every stored page anew: first what people chose, then what is kept, in order, then
/// what was discarded.
fn replay(amend: &Amend, policy: Policy) -> Result<Vec<Change>> {
    let options = Options {
        policy,
        recipe: amend.recipe().name().to_owned(),
        strong_digests: true,
        ..Options::default()
    };
    let tables = Store::in_memory(options)?;
    // From numbers in the tables to the store's.
    let mut places: HashMap<u64, u64> = HashMap::new();
    let mut changes = Vec::new();
    let snapshot = amend.store().snapshot();
    let decisions = amend.decisions();
    for pass in 0..3 {
        let discarded = pass == 2;
        for record in snapshot.records() {
            let record = record?;
            let url = String::from_utf8_lossy(&record.key).into_owned();
            // Nobody but the person takes that back.
            let settled = decisions.chosen(&url) || decisions.was_restored(&url);
            let turn = match record.of {
                Some(_) => 2,
                None if settled => 0,
                None => 1,
            };
            if turn != pass || record.tokens == 0 {
                continue;
            }
            let mut best = None;
            // What it is discarded for may have lost its place to a better one.
            let now = record.of.map(|of| decisions.survivor(of).map_or(of, |(id, _)| id));
            let mut stays = false;
            let matches = if pass == 0 { Vec::new() } else { matches_of_record(&tables, &record)? };
            for near in matches {
                let Some(id) = places.get(&near.id) else { continue };
                let Some(of) = amend.store().record(*id)? else { continue };
                if !decisions.distinct(&url, &String::from_utf8_lossy(&of.key)) {
                    stays |= now == Some(*id);
                    best = best.or(Some((of, near)));
                    if stays || !discarded {
                        break;
                    }
                }
            }
            if best.is_some() == discarded && (!discarded || stays) {
                if !discarded {
                    places.insert(tables.insert_record(&record, None)?, record.id);
                }
                continue;
            }
            if best.is_none() {
                places.insert(tables.insert_record(&record, None)?, record.id);
            }
            changes.push(Change { record, of: best });
        }
    }
    Ok(changes)
}

/// The newest row of each URL or key.
fn newest_rows(rows: &Rows) -> Result<HashMap<String, u64>> {
    let mut newest = HashMap::new();
    for row in rows.all() {
        let entry = rows.entry(row)?;
        newest.insert(entry.key.unwrap_or(entry.url), row.id);
    }
    Ok(newest)
}
