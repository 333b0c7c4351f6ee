//! `crawl --watch`: crawls, and then visits known pages again whenever they are due.

use std::io::Write;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;

use super::main_job::{Job, Run, Session};
use crate::exit::{COMPLETE, LOCKED, code_of};
use crate::output::{self, number};
use crate::summary::code_of as code_of_summary;
use hapax_crawl::Summary;
use hapax_data::{DataDir, parse_moment};

/// Longest time between two looks at the clock, which may jump.
const LOOK: Duration = Duration::from_secs(30);
/// Shortest time between two runs, unless pages are due sooner (--revisit-min).
const PAUSE: Duration = Duration::from_secs(60);
/// Time until hosts and seeds that did not answer are tried again.
const AGAIN: Duration = Duration::from_secs(600);

/// Runs until a signal arrives or a limit is reached. Returns the exit code.
pub(super) fn run(job: &Job<'_>, first: DataDir) -> Result<u8> {
    let session = Session::new()?;
    let code = cycles(&session, job, first);
    session.close();
    code
}

fn cycles(session: &Session, job: &Job<'_>, first: DataDir) -> Result<u8> {
    let root = first.root().to_owned();
    let mut data = Some(first);
    // The first run finishes the crawl. A recrawl that was interrupted goes on in it.
    let mut run = Run { recrawl: false, due: false, ..job.run.clone() };
    loop {
        let opened = data.take().map_or_else(|| DataDir::open(&root), Ok);
        let begun = Instant::now();
        let done = match opened {
            Ok(data) => job.resume(data, run.clone(), session),
            Err(error) => Err(error.into()),
        };
        let summary = match done {
            // `crawl forget` or another command holds it for a moment.
            Err(error) if code_of(&error) == LOCKED && run.due => {
                tracing::warn!("{error:#}");
                if session.sleep(PAUSE) {
                    return Ok(COMPLETE);
                }
                continue;
            }
            done => done?,
        };
        // Also after a crawl without a page: its seeds may come back.
        if summary.stopped.is_some() {
            job.print(&summary)?;
            return Ok(code_of_summary(&summary));
        }
        if run.due {
            print_cycle(job, &summary)?
        } else {
            job.print(&summary)?
        }
        let is_first = !std::mem::replace(&mut run.due, true);
        run = Run { recrawl: true, retry: Vec::new(), forget_flags: false, ..run };
        // The first run of due pages finds out when the next visit is.
        if !is_first && wait(session, &summary, job.min.min(PAUSE).max(begun.elapsed())) {
            return Ok(COMPLETE);
        }
    }
}

/// Waits until the next visit is due, but at least `pause`. Returns whether a signal ended the wait. The clock may jump:
/// the wait ends when either the time of day or the time that has passed says so.
fn wait(session: &Session, summary: &Summary, pause: Duration) -> bool {
    let until = summary.next_visit.as_deref().and_then(|time| parse_moment(time).ok());
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let left = || until.map(|at| Duration::from_secs(at).saturating_sub(now()));
    let begun = Instant::now();
    let mut longest = left().unwrap_or(AGAIN).max(pause);
    if summary.deferred_urls > 0 {
        longest = longest.min(AGAIN.max(pause));
    }
    loop {
        let passed = begun.elapsed();
        let rest = left().unwrap_or(AGAIN).min(longest.saturating_sub(passed));
        let rest = rest.max(pause.saturating_sub(passed));
        if rest.is_zero() {
            return false;
        }
        if session.sleep(rest.min(LOOK)) {
            return true;
        }
    }
}

/// Prints a line about the visits of due pages, if there were any.
fn print_cycle(job: &Job<'_>, summary: &Summary) -> Result<()> {
    let Some(found) = summary.recrawl.filter(|_| !job.common.quiet) else { return Ok(()) };
    let [new, changed, unchanged, gone] =
        [found.new, found.changed, found.unchanged, found.gone].map(number);
    let next = summary.next_visit.as_deref().unwrap_or("unknown");
    let time = &summary.time;
    let line = format!(
        "{time}  new {new}, changed {changed}, unchanged {unchanged}, gone {gone}; next visit {next}"
    );
    output::unless_closed(writeln!(std::io::stdout(), "{line}"))?;
    Ok(())
}
