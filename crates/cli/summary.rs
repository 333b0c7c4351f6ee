//! The summary of a crawl for a user, and its exit code.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use hapax_crawl::{HostLine, Stop, Summary};
use hapax_data::{PageCounts, SkipReason};

use crate::exit::{COMPLETE, NO_SEED, STOPPED};
use crate::output::{bytes, duration, escape, number};
use hapax_report::shell_path;

pub(crate) fn code_of(summary: &Summary) -> u8 {
    if summary.stopped.is_some() {
        STOPPED
    } else if summary.unreached
        || summary.seed_missed
        // Responses such as errors and redirects out of scope are not pages.
        || summary.pages.fetched == 0 && summary.pages.unchanged == 0 && !summary.shared
    {
        NO_SEED
    } else {
        COMPLETE
    }
}

pub(crate) fn print_hosts(summary: &Summary) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if summary.hosts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n  {:>9} {:>9} {:>9} {:>9}  host", "queued", "fetched", "discarded", "failed")?;
    for line in &summary.hosts {
        let [queued, fetched, discarded, failed] =
            [line.queued, line.fetched, line.discarded, line.failed].map(number);
        let down = if line.down { "  (down: tried at the next run)" } else { "" };
        let host = escape(&line.host);
        writeln!(out, "  {queued:>9} {fetched:>9} {discarded:>9} {failed:>9}  {host}{down}")?;
    }
    // The rest of the totals: hosts that are not listed, and pages read from files.
    let sum = |of: fn(&HostLine) -> u64| summary.hosts.iter().map(of).sum::<u64>();
    let rest = [
        summary.queued_urls.saturating_sub(sum(|line| line.queued)),
        summary.pages.fetched.saturating_sub(sum(|line| line.fetched)),
        summary.pages.discarded().saturating_sub(sum(|line| line.discarded)),
    ];
    if summary.hosts.len() >= Summary::HOSTS || rest.iter().any(|count| *count > 0) {
        let [queued, fetched, discarded] = rest.map(number);
        writeln!(out, "  {queued:>9} {fetched:>9} {discarded:>9} {:>9}  others", "")?;
    }
    Ok(())
}

/// The first line: how the job ended.
fn headline(summary: &Summary) -> String {
    let pages = &summary.pages;
    match (&summary.stopped, code_of(summary)) {
        (Some(why), _) => format!("Stopped: {why}."),
        (None, _) if summary.unreached && summary.responses > 0 => {
            "No page could be looked at again: every answer was a failure (5xx or 429).".to_owned()
        }
        (None, _) if summary.unreached => "No page could be looked at again.".to_owned(),
        (None, NO_SEED) if pages.fetched > 0 => {
            "No seed could be fetched, only what sitemaps or earlier runs led to.".to_owned()
        }
        (None, NO_SEED) => "No seed could be fetched.".to_owned(),
        (None, _) if summary.deferred_urls > 0 => {
            "Done, but for what could not be reached.".to_owned()
        }
        (None, _) if summary.forgotten_seeds > 0 => {
            "Complete, except for forgotten seeds.".to_owned()
        }
        (None, _) => "Complete.".to_owned(),
    }
}

/// The most failed seeds to print.
const SEEDS_SHOWN: usize = 10;

/// Prints the failed seeds with their reasons, and those that lead to other sites.
fn print_seeds(out: &mut impl Write, summary: &Summary) -> std::io::Result<()> {
    let failed = summary.failed_seeds.iter().map(|seed| {
        let (url, detail) = (escape(&seed.url), escape(&seed.detail));
        let detail = if detail.is_empty() { detail } else { format!(", {detail}") };
        format!("failed  {url}: {}{detail}; {}", seed.reason, seed.describe_again())
    });
    let moved = summary.seeds_elsewhere.iter().map(|seed| {
        let (url, to) = (escape(&seed.url), escape(&seed.to));
        format!("moved   {url} redirects to another site; only {to} is fetched from it")
    });
    failed
        .take(SEEDS_SHOWN)
        .chain(moved.take(SEEDS_SHOWN))
        .try_for_each(|line| writeln!(out, "  seed {line}"))?;
    if summary.failed_seeds.len().max(summary.seeds_elsewhere.len()) > SEEDS_SHOWN {
        writeln!(out, "  seeds        more of them are in summary.json")?;
    }
    Ok(())
}

/// The counts of discarded pages by kind; of parts, if there are any.
pub(crate) fn by_kind(pages: &PageCounts) -> String {
    let [exact, near, canonical] = [pages.exact, pages.near, pages.canonical].map(number);
    let part =
        if pages.part > 0 { format!(", part {}", number(pages.part)) } else { String::new() };
    format!("exact {exact}, near {near}, canonical {canonical}{part}")
}

pub(crate) fn print_summary(summary: &Summary, running: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let pages = &summary.pages;
    let rate = pages.fetched as f64 / summary.seconds.max(0.001);
    writeln!(out, "\n{}", headline(summary))?;
    writeln!(
        out,
        "  fetched      {:>9}   {} in {}, {rate:.0} pages/s",
        number(pages.fetched),
        bytes(pages.bytes),
        duration(Duration::from_secs_f64(summary.seconds.clamp(0.0, 1e9)))
    )?;
    writeln!(out, "  indexed      {:>9}", number(pages.indexed))?;
    writeln!(
        out,
        "  discarded    {:>9}   {}; {} of page bodies",
        number(pages.discarded()),
        by_kind(pages),
        bytes(pages.discarded_bytes),
    )?;
    if pages.alias > 0 {
        writeln!(out, "  redirects    {:>9}", number(pages.alias))?;
    }
    if let Some(found) = &summary.recrawl {
        // Of this recrawl alone.
        let [new, changed] = [found.new, found.changed].map(number);
        let [unchanged, gone] = [found.unchanged, found.gone].map(number);
        let line = format!("changed {changed}, unchanged {unchanged}, gone {gone}");
        writeln!(out, "  new pages    {new:>9}   {line} in this recrawl")?;
    }
    let skipped: u64 = summary.skipped.values().sum();
    if skipped > 0 {
        let mut reasons: Vec<(&SkipReason, &u64)> = summary.skipped.iter().collect();
        reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let reasons: Vec<String> =
            reasons.iter().map(|(reason, count)| format!("{reason} {}", number(**count))).collect();
        writeln!(out, "  skipped      {:>9}   {}", number(skipped), reasons.join(", "))?;
    }
    print_seeds(&mut out, summary)?;
    if summary.forgotten_pages > 0 {
        writeln!(
            out,
            "  removed      {:>9}   pages that `crawl forget` removed; not requested. To undo: crawl forget --undo",
            number(summary.forgotten_pages)
        )?;
    }
    if summary.forgotten_seeds > 0 {
        writeln!(
            out,
            "  forgotten    {:>9}   seeds that `crawl forget` excluded; to fetch them: crawl forget --undo",
            number(summary.forgotten_seeds)
        )?;
    }
    if summary.deferred_urls > 0 {
        writeln!(
            out,
            "  unreachable  {:>9}   tried again when the same command is run again",
            number(summary.deferred_urls)
        )?;
    }
    if summary.waiting() > 0 {
        writeln!(out, "  still queued {:>9}", number(summary.waiting()))?;
    }
    let root = Path::new(&summary.data);
    let data = shell_path(root);
    writeln!(out)?;
    // Paths that --no-warc, --no-index or --links-only left out are not listed.
    if root.join("pages").exists() {
        writeln!(out, "  pages as fetched   {}", shell_path(&root.join("pages/")))?;
    }
    if root.join("index").exists() {
        writeln!(out, "  search             crawl search WORDS --data {data}")?;
    }
    writeln!(out, "  what was discarded crawl duplicates list --data {data}")?;
    writeln!(out, "  what was skipped   {}", shell_path(&root.join("skipped.jsonl")))?;
    if summary.stopped.is_some() && !running {
        writeln!(out, "\n  {}", way_on(summary.stop))?;
    }
    Ok(())
}

/// How to continue after a stop.
pub(crate) fn way_on(stop: Option<Stop>) -> String {
    let limit = match stop {
        Some(Stop::Queue) => {
            return "Run it with --recrawl, and with a larger limit, to request those pages again."
                .to_owned();
        }
        Some(Stop::QueueFull) => {
            return "Run the same command again, or with a larger limit, to go on.".to_owned();
        }
        Some(Stop::MaxPages) => "--max-pages",
        Some(Stop::MaxBytes) => "--max-bytes",
        _ => return "Run the same command again to go on.".to_owned(),
    };
    format!("Run it again with a larger {limit}, or {limit} none, to go on.")
}
