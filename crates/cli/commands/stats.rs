//! `crawl duplicates stats`: statistics of the log.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;

use crate::exit::COMPLETE;
use crate::output::{self, bytes, counted, line, number};
use hapax_data::{Heads, LogStats, Rows, SIMILARITY_CLASSES, must_hold_pages, tables};

/// Hosts shown without `--json`.
const DEFAULT_ROWS: usize = 15;

pub(super) fn run(json: bool, dirs: &[PathBuf]) -> Result<u8> {
    let mut stats: Option<LogStats> = None;
    for data in dirs {
        must_hold_pages(data)?;
        let rows = Rows::open(data)?;
        let one = LogStats::of(&Heads::new(&rows, tables(data).as_ref()))?;
        stats = Some(match stats {
            Some(stats) => stats.and(one),
            None => one,
        });
    }
    let stats = stats.unwrap_or_default();
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", output::json(&serde_json::to_value(&stats)?))?;
        return Ok(COMPLETE);
    }
    writeln!(
        out,
        "{} discarded, {} of page bodies; {} restored, {}",
        counted(stats.discarded, "page"),
        bytes(stats.bytes),
        number(stats.restored),
        counted(stats.aliases, "alias")
    )?;
    for (kind, count) in &stats.kinds {
        writeln!(out, "  {kind:<10} {:>9}", number(*count))?;
    }
    let bars =
        |out: &mut std::io::StdoutLock<'_>, rows: Vec<(String, u64)>| -> std::io::Result<()> {
            let most = rows.iter().map(|row| row.1).max().unwrap_or(0).max(1);
            for (name, count) in rows.into_iter().filter(|row| row.1 > 0) {
                let bar = "#".repeat(usize::try_from(count * 40 / most).unwrap_or(0));
                writeln!(out, "  {name:<12} {:>9}  {bar}", number(count))?;
            }
            Ok(())
        };
    writeln!(out, "\nCause of the address (`crawl duplicates causes` says more)")?;
    let causes = stats.causes.iter().map(|(cause, count)| ((*cause).to_owned(), *count));
    bars(&mut out, causes.collect())?;
    writeln!(out, "\nCanonical address that the page declares (agree: the kept page)")?;
    let canonical = stats.canonical.iter().map(|(state, count)| ((*state).to_owned(), *count));
    bars(&mut out, canonical.collect())?;
    writeln!(out, "\nHamming distance")?;
    let name =
        |at: usize| if at + 1 == stats.distances.len() { format!("{at}+") } else { at.to_string() };
    let counted = stats.distances.iter().enumerate();
    bars(&mut out, counted.map(|(at, count)| (name(at), *count)).collect())?;
    writeln!(out, "\nSimilarity")?;
    let width = 1.0 / SIMILARITY_CLASSES as f64;
    let counted = stats.similarities.iter().enumerate();
    let class = |at: usize| format!("{:.2}", at as f64 * width);
    bars(&mut out, counted.map(|(at, count)| (class(at), *count)).collect())?;
    writeln!(out, "\nLanguage")?;
    bars(&mut out, stats.languages.into_iter().collect())?;
    writeln!(out, "\nHost")?;
    let more = stats.hosts.len().saturating_sub(DEFAULT_ROWS);
    for host in stats.hosts.iter().take(DEFAULT_ROWS) {
        writeln!(
            out,
            "  {:<40} {:>9}  {}",
            line(&host.host, 40),
            number(host.discarded),
            bytes(host.bytes)
        )?;
    }
    if more > 0 {
        writeln!(out, "  ... and {more} more")?;
    }
    Ok(COMPLETE)
}
