//! `crawl changes`: what runs changed, page by page, from the events.

mod net;
mod page;
mod text;

use std::collections::BTreeMap;
use std::path::Path;

use self::net::Net;
use crate::error::{Error, Result};
use crate::filter::parse_moment;
use crate::runs::{Run, Runs};
use crate::stream::DirStream;

pub use self::page::{ChangeKind, DiffPiece, PageChange};

/// Where changes begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Since {
    /// With the last run.
    LastRun,
    /// With the run of this number.
    Run(u64),
    /// At this time, in seconds since 1970.
    Time(u64),
}

impl Since {
    /// Parses a day, a time or the number of a run.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn parse(text: &str) -> Result<Self> {
        if let Ok(run) = text.parse() {
            return Ok(Self::Run(run));
        }
        let moment = parse_moment(text).map(Self::Time);
        moment.map_err(|error| match error {
            Error::Invalid(what) => Error::Invalid(format!(
                "--since {what}, or give the number of a run: 1 is the first"
            )),
            other => other,
        })
    }
}

/// The changes of one or more runs.
#[derive(Debug)]
pub struct Changes {
    /// The run with which they begin, if a run was requested.
    pub run: Option<Run>,
    /// The changes by URL.
    pub pages: Vec<PageChange>,
}

impl Changes {
    /// Reads the changes of a data directory since a run or time, of one URL or of all. Without `with_diff` no text is
    /// read.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a run that is not known; [`Error::Damaged`].
    ///
    /// # Complexity
    /// Linear in the events since. Memory: the changed pages.
    pub fn read(data: &Path, since: &Since, url: Option<&str>, with_diff: bool) -> Result<Self> {
        let run = match since {
            Since::Time(_) => None,
            Since::LastRun | Since::Run(_) => run_of(&Runs::read(data)?, since)?,
        };
        let mut stream = DirStream::of(data)?;
        if let Some(run) = &run
            && !stream.skip_to_run(run)?
        {
            return Err(Error::Invalid(format!(
                "the events of run {} are not in {}: another crawl began there. Give --since TIME",
                run.run,
                data.display()
            )));
        }
        let after = match since {
            Since::Time(seconds) => *seconds,
            _ => 0,
        };
        let mut nets: BTreeMap<String, Net> = BTreeMap::new();
        while let Some(event) = stream.next_bare_event()? {
            if url.is_some_and(|url| url != event.url)
                || after > 0 && parse_moment(&event.time).is_ok_and(|time| time < after)
            {
                continue;
            }
            let key = event.key.clone().unwrap_or_else(|| event.url.clone());
            nets.entry(key).or_default().add(event);
        }
        let pages = nets.into_values().filter_map(|net| {
            let (mut change, texts) = net.result()?;
            if with_diff {
                text::compare(data, &mut change, &texts);
            }
            Some(change)
        });
        Ok(Self { run, pages: pages.collect() })
    }
}

fn run_of(runs: &Runs, since: &Since) -> Result<Option<Run>> {
    let Since::Run(number) = since else { return Ok(runs.runs.last().cloned()) };
    let found = runs.runs.iter().find(|run| run.run == *number);
    found.cloned().map(Some).ok_or_else(|| {
        let known = match (runs.runs.first(), runs.runs.last()) {
            (Some(first), Some(last)) => {
                format!("runs {} to {} that changed something are known", first.run, last.run)
            }
            _ => "no run is known yet".to_owned(),
        };
        Error::Invalid(format!("--since {number}: no such run; {known}. Give another, or a time"))
    })
}

#[cfg(test)]
mod tests;
