//! Queues links, redirects and entries of sitemaps that the crawl admits, and logs the others.

use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;

use hapax_data::{SkipReason, Skipped};
use hapax_extract::utf8_query;
use hapax_frontier::Entry;
use hapax_url::{Applied, host_key, normalize, registrable_site, url_key};
use hapax_warc::format_time;
use url::Url;

use super::Writer;
use crate::admission::{Admission, Skip};
use crate::admit::{Knowledge, Stage, admit};
use crate::commit::Outcome;
use crate::dropped_links::MAX_EXCLUDING;
use crate::error::{Error, Result};
use crate::page::PageWork;
use crate::patterns::MIN_HOST_PAGES;
use crate::rules::Rules;
use crate::url_rules::{KeptPage, OfHost};

impl Knowledge for Writer {
    type Error = Error;

    fn rules(&self) -> &Rules {
        &self.rules
    }

    fn is_forgotten(&self, url: &Url, host: &str) -> bool {
        self.committer.forgotten(url, host)
    }

    fn repeats(&mut self, url: &Url, host: &str) -> Result<bool> {
        if self.dropped.source.as_ref().is_some_and(|source| source.page != *url)
            && self.url_rules.has_versions(url)
        {
            // Count a URL once for each page that links to it.
            let first = self.dropped.links.insert(url_key(url.as_str()));
            if self.frontier.knows(url.as_str())? {
                if first {
                    self.url_rules.linked_again(url);
                }
                return Ok(false);
            }
        }
        let pages = self.stats.host_pages(host);
        if pages < MIN_HOST_PAGES && !self.url_rules.has_rules(url) {
            return Ok(false);
        }
        // Count each URL once, even if several pages link to it.
        if self.frontier.knows(url.as_str())? {
            return Ok(false);
        }
        Ok(self.patterns.leaves_out(url, pages)
            || !self.committer.is_shared() && self.repeats_by_parts(url)?)
    }

    fn is_left_to_feed(&mut self, url: &Url, depth: u16) -> Result<bool> {
        self.left_to_feed(url, depth)
    }
}

/// Logs a URL instead of which a given rule requests another one.
pub(crate) fn rewritten(url: Url, depth: u16, to: &Url, rule: String) -> Skip {
    let skip = Skip::new(url, SkipReason::DustRule, format!("requested as {to}"));
    Skip { depth: Some(depth), rule: Some(rule), ..skip }
}

impl Writer {
    pub(crate) fn admit(&mut self, url: &Url, depth: u16) -> Result<Admission> {
        admit(url, depth, Stage::Queue, self)
    }

    pub(crate) fn not_admitted(&mut self, admission: Admission) -> Result<()> {
        match admission {
            Admission::Admitted(_)
            | Admission::NoWebAddress
            | Admission::Repeats(_)
            | Admission::LeftToFeed => Ok(()),
            Admission::Refused(skip) => self.refuse(skip).map(drop),
            Admission::LeftOut(skip) => match self.frontier.mark(&skip.url)? {
                true => self.committer.skip_refused(skip),
                false => Ok(()),
            },
        }
    }

    /// Logs a refused URL once, unless the frontier knows it. Returns whether a line was written.
    pub(crate) fn refuse(&mut self, skip: Skip) -> Result<bool> {
        let url = &skip.url;
        let fresh = !self.frontier.knows(url.as_str())? && self.frontier.refuse(url)?;
        if fresh {
            let page = self.dropped.source.as_ref().map(|source| source.page.clone());
            self.committer.skip_refused(Skip { from: skip.from.or(page), ..skip })?;
        }
        Ok(fresh)
    }

    pub(crate) fn push(&mut self, url: &Url, depth: u16, hops: u8) -> Result<()> {
        self.removed.saw(url, &self.rules.limits);
        if let Some((url, Applied::Rewritten { to, rule })) = self.rules.given(url, depth) {
            self.refuse(rewritten(url, depth, &to, rule))?;
        }
        match self.admit(url, depth)? {
            Admission::Admitted(url) => {
                self.queue_if_place(Entry { hops, ..Entry::page(url, depth) }, None)
            }
            other => self.not_admitted(other),
        }
    }

    /// Logs a link with rel=nofollow: once for each URL that no other link has led to yet.
    pub(crate) fn record_nofollow(&mut self, url: &Url, depth: u16, from: &Url) -> Result<()> {
        let Admission::Admitted(url) = self.rules.admit(url, depth) else {
            // It would not be followed anyway; this is logged as for other links.
            return self.push(url, depth, 0);
        };
        // A separate key: a later run may admit the URL itself, if it was refused for its depth.
        let mut named = url.clone();
        named.set_fragment(Some("nofollow"));
        if self.frontier.refuse(&named)? && !self.frontier.knows(url.as_str())? {
            let detail = format!("rel=nofollow on {from}");
            let time = format_time(SystemTime::now());
            let line = Skipped::new(time, url.as_str(), SkipReason::Nofollow, detail);
            self.committer.skip_line(&Skipped { from: vec![from.to_string()], ..line })?;
        }
        Ok(())
    }

    /// Adds a page as evidence about the URLs of its site.
    pub(crate) fn learn_urls(&mut self, page: &PageWork, outcome: &Outcome) -> Result<()> {
        let url = &page.url;
        if matches!(outcome, Outcome::Against(_)) {
            // A page of another crawl is no evidence about the URLs of this site.
            return Ok(());
        }
        let alike = matches!(outcome, Outcome::Duplicate(_) | Outcome::Better(_));
        self.patterns.saw(url, alike);
        if self.committer.is_shared() {
            return Ok(());
        }
        let other = match outcome {
            Outcome::Known | Outcome::Against(_) => return Ok(()),
            Outcome::New { .. } => None,
            Outcome::Duplicate(of) => Some((self.committer.url_of(of.id)?, of.id)),
            Outcome::Better(other) => Some((other.clone(), url_key(other) as u64)),
        };
        match other {
            Some((other, id)) => {
                if let Ok(other) = Url::parse(&other) {
                    // A recrawl requests known duplicates again, without new URLs.
                    let of_host = OfHost {
                        pages: self.stats.host_pages(&host_key(url)),
                        new_urls: self.dropped.new_urls,
                    };
                    self.url_rules.saw_duplicate(&*self.frontier, (url, of_host), (&other, id))?;
                    self.url_rules.saw_redirects_to(&*self.frontier, url, (&other, id))?;
                }
            }
            // In a recrawl a page may have changed since its copies were excluded.
            None if self.committer.look.on => {
                if self.url_rules.saw_new_in_recrawl(&*self.frontier, url) {
                    self.rule_given_up(url);
                }
            }
            None => {
                let store = self.committer.store();
                let is_page = |url: &str| {
                    let id = store.id_of(url.as_bytes()).ok().flatten();
                    let record = id.and_then(|id| store.record(id).ok().flatten());
                    // Records of redirects have no tokens.
                    record.is_some_and(|record| record.tokens > 0)
                };
                let mut kept = KeptPage::default();
                if let Outcome::New { versions_of } = outcome {
                    for id in versions_of {
                        kept.versions_of.extend(Url::parse(&self.committer.url_of(*id)?));
                    }
                }
                if !kept.versions_of.is_empty() {
                    kept.is_linked_again = self.committer.inlinks(url.as_str())?.len() > 1;
                }
                // Only lists with several filters need it.
                let leads_on = self.dropped.new_elsewhere > 0;
                kept.combines = self.url_rules.may_combine(url)
                    && self.committer.combines_known_lines(page, !leads_on);
                if self.url_rules.saw_kept(&*self.frontier, url, &kept, is_page)? {
                    self.rule_given_up(url);
                }
            }
        }
        Ok(())
    }

    /// Returns whether a link is known with its query in UTF-8, from a version that ignored the charset of the page.
    pub(super) fn is_known_in_utf8(&self, page: &PageWork, link: &Url) -> Result<bool> {
        // A recrawl finds what the other spelling did not lead to.
        if !self.committer.run.utf8_queries || self.committer.look.on {
            return Ok(false);
        }
        let Some(before) = utf8_query(link, page.document.charset) else { return Ok(false) };
        let normal = |url: &Url| normalize(url, &self.rules.limits);
        let (Ok(now), Ok(before)) = (normal(link), normal(&before)) else { return Ok(false) };
        let before = before.as_str();
        let is_there = self.committer.store().id_of(before.as_bytes())?.is_some()
            || self.frontier.is_waiting(before)?;
        Ok(is_there && !self.frontier.knows(now.as_str())?)
    }

    fn rule_given_up(&mut self, page: &Url) {
        self.given_up_rules.push(page.clone());
        self.control.given_up.store(self.given_up_rules.len() as u64, Relaxed);
        let others = self.dropped.excluding.remove(&registrable_site(page)).unwrap_or_default();
        self.links_are_missing(&host_key(page), &others);
    }

    fn repeats_by_parts(&mut self, url: &Url) -> Result<bool> {
        let repeats = match self.archive && !self.committer.look.on {
            true => self.url_rules.repeats(&*self.frontier, url),
            false => self.url_rules.repeats_in_part(&*self.frontier, url),
        }?;
        if let Some(source) = self.dropped.source.as_ref().filter(|_| repeats) {
            let all = &mut self.dropped.excluding;
            let (site, host) = (registrable_site(url), host_key(&source.page));
            if host != host_key(url) && (all.len() < MAX_EXCLUDING || all.contains_key(&site)) {
                let hosts = all.entry(site).or_default();
                if hosts.len() < MAX_EXCLUDING {
                    hosts.insert(host);
                }
            }
        }
        Ok(repeats)
    }

    /// Queues URLs again that removed rules had excluded from the queue. Returns whether there were any.
    pub(crate) fn take_back_left_out(&mut self) -> Result<bool> {
        if self.given_up_rules.is_empty() {
            return Ok(false);
        }
        // Only committed notes can be listed.
        self.committer.commit(false)?;
        let mut any = false;
        for site in std::mem::take(&mut self.given_up_rules) {
            for (url, depth) in self.url_rules.take_back(&*self.frontier, &site)? {
                any |= self.frontier.push_again(Entry::page(url, depth))?;
            }
        }
        self.committer.commit(false)?;
        self.control.given_up.store(0, Relaxed);
        Ok(any)
    }

    /// Logs one line for each rule that excluded URLs in this run.
    pub(crate) fn log_left_out(&mut self) -> Result<()> {
        let learnt = self.url_rules.left_out().into_iter().chain(self.patterns.left_out());
        let removed: Vec<_> = self.removed.left_out().map(|line| (line, None)).collect();
        let flag = SkipReason::DustRule.flag().map(str::to_owned);
        let learnt = learnt.map(|line| (line, flag.clone()));
        let calendars: Vec<_> =
            self.calendars.left_out().into_iter().map(|line| (line, None)).collect();
        let learnt = learnt.chain(calendars);
        for (left_out, flag) in learnt.chain(removed) {
            let url = left_out.example.as_str();
            let time = format_time(SystemTime::now());
            let line = Skipped::new(time, url, SkipReason::DustRule, left_out.detail);
            let (count, rule) = (Some(left_out.count), Some(left_out.rule));
            self.committer.skip_line(&Skipped { count, rule, flag, ..line })?;
        }
        Ok(())
    }
}
