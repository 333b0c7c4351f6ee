//! A recrawl of the pages whose next visit is due (`--recrawl --due`, `--watch`), within the budgets of a day.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use hapax_data::Again;
use hapax_data::SkipReason;
use hapax_frontier::revisit::{Pace, Quota, RateBelief};
use hapax_frontier::{Entry, Frontier};
use hapax_url::registrable_site;
use url::Url;

use crate::admission::Admission;
use crate::config::Revisits;
use crate::error::Result;
use crate::host_file::outdate_all;
use crate::recrawl::GONE;
use crate::visits::{Visits, unix_now};
use crate::writer::Writer;

/// Most visits of one run. The rest follows in the next one, which a watch begins at once.
const MOST_DUE: usize = 10_000;
/// Value of a visit after the longest interval, in seconds. Other values are smaller.
const OVERDUE: f64 = 1e12;
/// Pages from which the pace of a budget is computed.
const SAMPLE: u64 = 1000;
/// Sites whose budgets are remembered from one run to the next.
const MOST_SITES: usize = 10_000;
/// Seconds between two runs that also read robots.txt and sitemaps again, and what was skipped for a passing reason.
const DAY: u64 = 86_400;
/// Names of the frontier's notes: the visits that a budget has left, and the last daily run.
const QUOTA: &str = "revisit-quota";
const DAILY: &str = "revisit-daily";
/// Subject of the notes about all sites. No host or site has this name.
const ALL: &str = "*";

/// A page whose visit is due.
#[derive(Debug)]
struct Due {
    /// Gained freshness in seconds.
    value: f64,
    /// Kept pages first, then their duplicates, then pages that are gone.
    class: u8,
    entry: Entry,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    /// The greatest has the least value: it leaves a full heap first.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_value = other.value.total_cmp(&self.value);
        by_value.then_with(|| self.entry.url.cmp(&other.entry.url))
    }
}

/// The due pages of a run, the most valuable ones.
#[derive(Debug, Default)]
struct Agenda {
    pages: BinaryHeap<Due>,
    /// Whether some were left out.
    is_full: bool,
}

impl Agenda {
    fn add(&mut self, due: Due) {
        self.pages.push(due);
        if self.pages.len() > MOST_DUE {
            self.pages.pop();
            self.is_full = true;
        }
    }
}

fn decode(note: Option<Vec<u8>>) -> Option<(f64, u64)> {
    let note = note?;
    let (left, at) = note.split_first_chunk::<8>()?;
    let left = f64::from_le_bytes(*left);
    left.is_finite().then_some((left, u64::from_le_bytes(at.try_into().ok()?)))
}

/// Returns whether the last daily run was a day ago, or the clock was ahead then.
pub(crate) fn is_daily(frontier: &dyn Frontier, now: u64) -> Result<bool> {
    let note = frontier.note_of(ALL, DAILY)?.and_then(|note| note.try_into().ok());
    let last = note.map(u64::from_le_bytes);
    Ok(last.is_none_or(|last| now >= last.saturating_add(DAY) || last > now + DAY))
}

/// Returns the value of a visit after a time without one. The greatest come first if a budget has too few visits.
fn value_of_visit(visits: &Visits, elapsed: Duration, pace: &Pace) -> f64 {
    match visits.misses {
        // It must soon be known whether it is gone.
        1 => f64::MAX,
        // A late test shows nothing.
        _ if pace.is_test(&visits.belief) => f64::MAX / 2.0,
        _ if elapsed >= pace.max => OVERDUE + elapsed.as_secs_f64(),
        _ => visits.belief.value_of_visit(elapsed),
    }
}

/// Returns the seconds until all budgets have visits again.
fn refill(quotas: &[&mut Quota]) -> u64 {
    let waits = quotas.iter().filter(|quota| !quota.wait().is_zero()).map(|quota| quota.refill());
    waits.max().unwrap_or_default().as_secs() + 1
}

impl Writer {
    /// Queues the known pages whose visit is due. Returns their number.
    pub(crate) fn again_due(&mut self, revisits: &Revisits) -> Result<u64> {
        let now = unix_now();
        self.begin_look(true);
        let is_daily = is_daily(&*self.frontier, now)?;
        self.committer.look.pace = self.pace(revisits, now)?;
        self.expect_lists(now)?;
        let mut agenda = Agenda::default();
        for id in 0..self.committer.store().next_id() {
            let Some(record) = self.committer.store().record(id)? else { continue };
            let Ok(key) = std::str::from_utf8(&record.key) else { continue };
            let Ok(url) = Url::parse(key) else { continue };
            let visits = Visits::read(&*self.frontier, url.as_str())?;
            let visits = visits.unwrap_or_else(|| Visits::of_record(record.time));
            self.consider(&url, &visits, u8::from(record.of.is_some()), now, &mut agenda)?;
        }
        let mut gone = Vec::new();
        self.frontier.notes(GONE, &mut |url, note| {
            gone.extend(Url::parse(url).ok().filter(|_| !note.is_empty()));
        })?;
        for url in gone {
            if self.committer.store().id_of(url.as_str().as_bytes())?.is_none()
                && let Some(visits) = Visits::read(&*self.frontier, url.as_str())?
            {
                self.consider(&url, &visits, 2, now, &mut agenda)?;
            }
        }
        if agenda.is_full {
            self.stats.due_at(now);
        }
        let queued = self.queue_due(agenda, revisits, now)?;
        if is_daily {
            self.frontier.note(ALL, DAILY, now.to_le_bytes().to_vec());
            outdate_all(&*self.frontier)?;
            let passing = |reason: &SkipReason| reason.again() == Again::Recrawl;
            let reasons: Vec<SkipReason> = SkipReason::ALL.into_iter().filter(passing).collect();
            self.take_in(&reasons)?;
        }
        self.committer.look.under_way = true;
        self.committer.commit(false)?;
        self.save_summary()?;
        Ok(queued)
    }

    /// Computes the pace: without a budget, of a budget that is shared by all pages, or of budgets of sites alone.
    fn pace(&self, revisits: &Revisits, now: u64) -> Result<Pace> {
        let pace = revisits.pace();
        let Some(per_day) = revisits.per_day else { return Ok(pace) };
        let store = self.committer.store();
        let all = store.next_id();
        let step = (all / SAMPLE).max(1) as usize;
        let mut beliefs: Vec<RateBelief> = Vec::new();
        // Another part of the pages in each run.
        for id in (now % step as u64..all).step_by(step) {
            let Some(record) = store.record(id)? else { continue };
            let url = String::from_utf8_lossy(&record.key);
            let visits = Visits::read(&*self.frontier, &url)?;
            beliefs.push(visits.map_or_else(RateBelief::default, |visits| visits.belief));
        }
        let share = beliefs.len() as f64 / (store.len() as f64).max(1.0);
        let budget = per_day as f64 / DAY as f64 * share.min(1.0);
        Ok(pace.fit(&beliefs, budget))
    }

    /// Adds a page to the agenda if it is due and the rules admit it.
    fn consider(
        &self,
        url: &Url,
        visits: &Visits,
        class: u8,
        now: u64,
        agenda: &mut Agenda,
    ) -> Result<()> {
        let due = visits.due(now, &self.committer.look.pace);
        if due > now {
            self.stats.due_at(due);
            return Ok(());
        }
        let depth = self.known_depth(url)?;
        let Admission::Admitted(url) = self.rules.admit(url, depth) else { return Ok(()) };
        // Its host did not answer: the visit is paid for.
        if self.frontier.is_waiting(url.as_str())? {
            return Ok(());
        }
        let elapsed = Duration::from_secs(now.saturating_sub(visits.last));
        let value = value_of_visit(visits, elapsed, &self.committer.look.pace);
        let entry = Entry { recent: true, ..Entry::page(url, depth) };
        agenda.add(Due { value, class, entry });
        Ok(())
    }

    /// Queues the pages of the agenda that the budgets allow, the most valuable ones.
    fn queue_due(&self, agenda: Agenda, revisits: &Revisits, now: u64) -> Result<u64> {
        let mut all = revisits.per_day.map(|per_day| self.quota(ALL, per_day, now)).transpose()?;
        let mut sites: HashMap<String, Quota> = HashMap::new();
        let mut chosen: Vec<Due> = Vec::new();
        // The most valuable first.
        for due in agenda.pages.into_sorted_vec() {
            let mut site = None;
            if let Some(per_site) = revisits.per_site {
                let name = registrable_site(&due.entry.url);
                if !sites.contains_key(&name) {
                    if sites.len() >= MOST_SITES {
                        self.stats.due_at(now);
                        continue;
                    }
                    sites.insert(name.clone(), self.quota(&name, per_site, now)?);
                }
                site = sites.get_mut(&name);
            }
            let mut quotas: Vec<&mut Quota> = all.iter_mut().chain(site).collect();
            let has_visits = quotas.iter().all(|quota| quota.wait().is_zero());
            if has_visits {
                for quota in &mut quotas {
                    quota.take();
                }
            }
            match has_visits {
                true => chosen.push(due),
                false => self.stats.due_at(now.saturating_add(refill(&quotas))),
            }
        }
        for (site, quota) in all.map(|quota| (ALL.to_owned(), quota)).into_iter().chain(sites) {
            self.save_quota(&site, &quota, now);
        }
        // A copy is compared with what is kept now, so it follows the kept pages.
        chosen.sort_by_key(|due| due.class);
        let mut queued = 0;
        for due in chosen {
            queued += u64::from(self.frontier.push_again(due.entry)?);
        }
        Ok(queued)
    }

    /// Queues a known page whose site says that it has changed and is believed, if the budgets have a visit left.
    pub(crate) fn visit_changed(&self, url: &Url) -> Result<()> {
        if self.frontier.is_waiting(url.as_str())? {
            return Ok(());
        }
        let (now, site) = (unix_now(), registrable_site(url));
        let budgets = &self.committer.look.budgets;
        let mut quotas: Vec<(&str, Quota)> = Vec::new();
        for (subject, per_day) in [(ALL, budgets.per_day), (site.as_str(), budgets.per_site)] {
            if let Some(per_day) = per_day {
                quotas.push((subject, self.quota(subject, per_day, now)?));
            }
        }
        if !quotas.iter().all(|(_, quota)| quota.wait().is_zero()) {
            let quotas: Vec<&mut Quota> = quotas.iter_mut().map(|(_, quota)| quota).collect();
            self.stats.due_at(now.saturating_add(refill(&quotas)));
            return Ok(());
        }
        for (subject, mut quota) in quotas {
            quota.take();
            self.save_quota(subject, &quota, now);
        }
        let depth = self.known_depth(url)?;
        self.frontier.push_again(Entry { recent: true, ..Entry::page(url.clone(), depth) })?;
        Ok(())
    }

    /// Returns the depth of a known page. With another one its links would seem closer to a seed.
    pub(super) fn known_depth(&self, url: &Url) -> Result<u16> {
        match self.rules.have_depth() {
            true => self.committer.depth_of(url.as_str()),
            false => Ok(u16::from(!self.seeds.contains(url))),
        }
    }

    fn save_quota(&self, subject: &str, quota: &Quota, now: u64) {
        let note = [quota.left.to_le_bytes(), now.to_le_bytes()].concat();
        self.frontier.note(subject, QUOTA, note);
    }

    /// Returns what a budget has left now.
    fn quota(&self, subject: &str, per_day: u64, now: u64) -> Result<Quota> {
        let mut quota = Quota::new(per_day as f64);
        if let Some((left, at)) = decode(self.frontier.note_of(subject, QUOTA)?) {
            quota.left = left.min(quota.per_day.max(1.0));
            quota.pass(Duration::from_secs(now.saturating_sub(at)));
        }
        Ok(quota)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_was_not_visited_for_the_longest_interval_comes_before_valuable_ones() {
        let day = Duration::from_secs(86_400);
        let pace = Pace { value: Some(86_400.0), ..Pace::new(day / 24, day * 30) };
        // It changes too often for the budget; the other one once a month.
        let mut fast = Visits::of_record(0);
        (0..60).for_each(|_| fast.belief.observe(day / 24, true));
        let mut monthly = Visits::of_record(0);
        (0..90).for_each(|visit| monthly.belief.observe(day, visit % 30 == 0));
        let value = |visits: &Visits, days: u32| value_of_visit(visits, day * days, &pace);
        assert!(value(&fast, 29) < value(&monthly, 29));
        assert!(value(&fast, 30) > value(&monthly, 29));
        let missing = Visits { misses: 1, ..monthly.clone() };
        assert!(value(&missing, 1) > value(&fast, 300));
    }

    #[test]
    fn an_agenda_keeps_the_most_valuable_pages() {
        let mut agenda = Agenda::default();
        for number in 0..MOST_DUE + 500 {
            let url = Url::parse(&format!("http://a.example/{number}")).unwrap();
            let value = (number * 7919 % (MOST_DUE + 500)) as f64;
            agenda.add(Due { value, class: 0, entry: Entry::page(url, 1) });
        }
        assert!(agenda.is_full);
        let values: Vec<f64> = agenda.pages.into_sorted_vec().iter().map(|due| due.value).collect();
        assert_eq!(values.len(), MOST_DUE);
        assert!(values.is_sorted_by(|a, b| a >= b));
        assert_eq!(values.last(), Some(&500.0));
    }
}
