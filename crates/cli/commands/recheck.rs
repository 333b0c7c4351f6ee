//! `crawl duplicates recheck`: how other thresholds would change the stored decisions; `--apply` changes them.

use std::io::Write;

use anyhow::Result;
use hapax_crawl::Rechecked;
use serde_json::json;

use crate::args::RecheckArgs;
use crate::change::alone;
use crate::exit::{BAD_INPUT, COMPLETE, LOCKED, coded};
use crate::output::{self, counted, escape, line, number};
use hapax_data::{Rows, must_hold_pages};

/// Changes shown without `--json`.
const DEFAULT_ROWS: usize = 20;

pub(super) fn run(args: &RecheckArgs) -> Result<u8> {
    let data = &args.data.data;
    must_hold_pages(data)?;
    let Some((mut amend, settings)) = alone(data)? else {
        return Err(coded(
            LOCKED,
            format!("a crawl is running in {}. Stop it before a recheck", data.display()),
        ));
    };
    let mut asked = settings.clone();
    asked.duplicates.distance = args.distance.or(asked.duplicates.distance);
    asked.duplicates.similarity = args.similarity.or(asked.duplicates.similarity);
    asked.duplicates.similarity_same_host =
        args.similarity_same_host.or(asked.duplicates.similarity_same_host);
    let changes = amend.recheck(asked.policy()?, &Rows::open(data)?)?;

    let counts = list(args, &changes)?;
    let mut not = Vec::new();
    if args.apply {
        not = amend.apply_recheck(asked.policy()?, &changes)?.not;
        let seeds = crate::data::saved(data)?.unwrap_or_default().seeds;
        amend.finish()?;
        crate::data::save(data, seeds, &asked)?;
    } else {
        amend.close()?;
    }
    if !args.json {
        sum_up(args, changes.is_empty(), counts)?;
    }
    for why in &not {
        writeln!(std::io::stderr(), "crawl: not changed: {}", escape(why))?;
    }
    Ok(if not.is_empty() { COMPLETE } else { BAD_INPUT })
}

/// Pages that would be kept, be discarded, or get another kept page.
type Counts = [u64; 3];

fn list(args: &RecheckArgs, changes: &[Rechecked]) -> Result<Counts> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let (mut kept, mut discarded, mut for_others) = (0u64, 0u64, 0u64);
    for change in changes {
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
            let row = json!({"url": url, "id": change.row, "verdict": if of.is_some() { "discarded" } else { "kept" },
                "of": of.map(|of| json!({"url": of})), "distance": near.map(|n| n.distance), "similarity": near.and_then(|n| n.similarity)});
            writeln!(out, "{}", output::json(&row))?;
        } else if *count <= DEFAULT_ROWS as u64 {
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
    out.flush()?;
    Ok([kept, discarded, for_others])
}

fn sum_up(args: &RecheckArgs, nothing: bool, counts: Counts) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let [kept, discarded, for_others] = counts;
    let left: u64 = counts.map(|count| count.saturating_sub(DEFAULT_ROWS as u64)).iter().sum();
    if left > 0 {
        writeln!(out, "... and {} more: --json", number(left))?;
    }
    if nothing && args.similarity.is_some() && args.similarity_same_host.is_none() {
        writeln!(
            out,
            "--similarity is for pages of two hosts, --similarity-same-host for those of one."
        )?;
    }
    let done = if args.apply { "" } else { ". Nothing was changed; to apply it, add --apply" };
    writeln!(
        out,
        "{} more would be kept, {} more discarded{}{done}.",
        counted(kept, "page"),
        number(discarded),
        match for_others {
            0 => String::new(),
            count => format!(", {} discarded for another page than now", number(count)),
        }
    )?;
    Ok(())
}
