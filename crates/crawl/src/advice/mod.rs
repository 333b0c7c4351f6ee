//! Advice from the duplicates of a crawl: rules for the next crawl, and lines for the owner of a site.
//!
//! A rule is advised only if a crawl of the same addresses by the rules so far would request each page that is kept
//! now: its own address is requested, and links lead there from the seeds. The links are read from the archive.

mod candidates;
mod known;
mod links;
mod outcome;
mod site;
mod text;
mod weigh;

use std::path::Path;

use hapax_data::{CauseReport, PagePosition, Rows, read_position, tables};
use hapax_extract::Limits;
use hapax_url::UrlLimits;
use url::Url;

pub use self::outcome::{Advice, AdvisedRule, RefusedRule};

use self::candidates::candidates;
use self::known::Known;
use self::links::Links;
use self::weigh::Simulation;
use crate::error::{Error, Result};

impl Advice {
    /// Finds advice for a crawl with these seeds and these limits of addresses and documents. Reads the whole archive for its links.
    ///
    /// # Errors
    /// The directory has no tables, or a file cannot be read.
    ///
    /// # Complexity
    /// Memory: about 120 bytes for each address and 8 for each link, within limits beyond which nothing is advised.
    pub fn of(data: &Path, seeds: &[Url], limits: (&UrlLimits, &Limits)) -> Result<Self> {
        let rows = Rows::open(data)?;
        let store = tables(data).ok_or_else(|| {
            Error::invalid(format!(
                "{}: has no tables (dedup/), so there is no advice",
                data.display()
            ))
        })?;
        let mut advice = Self::default();
        let report = CauseReport::of(data, &rows, Some(&store))?;
        advice.learnt = report.dropped.iter().map(text::learnt).collect();
        let Some(known) = Known::read(&rows, &store)? else {
            advice.unverified = Some("there are more than 4,000,000 addresses".to_owned());
            return Ok(advice);
        };
        let all = candidates(&rows)?;
        let pages = data.join("pages");
        let position: PagePosition = read_position(&store.payload())?;
        let end = (position.warc_file, position.warc_length);
        let links = if pages.is_dir() { Links::read(&pages, end, &known, limits)? } else { None };
        let Some(links) = links else {
            let why = "the links of the pages could not be read: the archive (pages/) is missing, damaged, or has more \
                       than 40,000,000 links";
            advice.unverified = Some(why.to_owned());
            advice.refused =
                all.into_iter().map(|one| refused(one, "not verified".to_owned())).collect();
            return Ok(advice);
        };
        let mut simulation = Simulation::new(&known, &links, seeds);
        advice.requests.0 = simulation.requests;
        for candidate in all {
            match simulation.add(&candidate.rule) {
                Ok(saved) => advice.rules.push(AdvisedRule {
                    rule: candidate.rule,
                    cause: candidate.cause,
                    pages: saved.pages,
                    bytes: saved.bytes,
                    example: candidate.example,
                }),
                Err(why) => advice.refused.push(refused(candidate, why)),
            }
        }
        advice.requests.1 = simulation.requests;
        Ok(advice)
    }

    /// Returns the rules as a file for `--rules`; explanations are comments.
    pub fn rules_file(&self) -> String {
        text::rules_file(self)
    }

    /// Returns lines for the owners of the sites: redirects, robots.txt, canonical addresses.
    pub fn for_sites(&self) -> String {
        site::lines(self)
    }
}

fn refused(candidate: candidates::Candidate, why: String) -> RefusedRule {
    let candidates::Candidate { rule, cause, duplicates, example, .. } = candidate;
    RefusedRule { rule, cause, duplicates, why, example }
}
