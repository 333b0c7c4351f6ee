//! Learns which parts of a site's URLs do not change the page: random parameters, session ids in path or host,
//! endless folders, filters in any order.
//!
//! A duplicate is evidence that the parts in which its URL differs from the kept page's do not matter. A kept page is
//! evidence that they do. With enough evidence for a part, the crawl requests one URL of each group that differs in
//! that part only: the first one that it finds, unchanged.
//!
//! If nothing but duplicates with new URLs comes from a host for a long time and no part is learnt, no further URL of it is
//! requested.
//!
//! Samples of the other URLs are still requested, at exponentially growing distances. A sample that is not a
//! duplicate removes the rule. Then the excluded URLs are queued again, and links are read again from the archive.
//! Compare Bar-Yossef, Keidar and Schonfeld, "Do not crawl in the DUST" (2007).

mod differing;
mod evidence;
mod facets;
mod learn;
mod named_filters;
mod parts;
mod places;
mod redirects;
mod rows;
mod rule;
mod versions;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hapax_frontier::Frontier;
use hapax_url::registrable_site;
use url::Url;

use self::differing::Differing;
use self::evidence::Evidence;
pub(crate) use self::facets::is_outside_list;
use self::learn::Learning;
use self::named_filters::MAX_NAMED;
use self::parts::Address;
pub(crate) use self::parts::Part;
pub(crate) use self::rows::OfHost;
use self::rule::{Rule, SiteRules, drops, is_news, reason, sampled_in_vain, simplify, withdraw};
use crate::error::Result;
use crate::patterns::LeftOut;

/// Name of the frontier's note with the rules of a site.
const RULES: &str = "url-rules";
/// Name of the note with the URL that is requested, for a group of equivalent URLs.
const FIRST: &str = "url-first";
/// Name of the note that marks a URL as a sample, so that the rules agree when it is queued and when it is leased.
const SAMPLE: &str = "url-sample";
/// Name of the note with the depth of a URL that was queued before a rule excluded it.
const LEFT_OUT: &str = "url-left-out";
/// Maximum number of evidence entries of all sites, of about 64 bytes and names. Beyond it all evidence is dropped.
const MAX_ENTRIES: usize = 500_000;
/// The same for one site, of which the evidence is dropped.
const MAX_SITE_ENTRIES: usize = 100_000;
const MAX_RULES: usize = 64;

/// What is known about a page that was kept.
#[derive(Debug, Default)]
pub(crate) struct KeptPage {
    /// Kept pages with the same name and most of the words.
    pub(crate) versions_of: Vec<Url>,
    /// Whether several pages link to it.
    pub(crate) is_linked_again: bool,
    /// Whether other pages of the site have nearly all of its lines.
    pub(crate) combines: bool,
}

#[derive(Debug, Default)]
pub(crate) struct UrlRules {
    any: AtomicBool,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    learning: HashMap<String, Learning>,
    /// Number of entries in `learning`.
    entries: usize,
    rules: HashMap<String, SiteRules>,
    /// Whether `learning` may have versions of any site.
    sees_versions: bool,
    /// For each site and part: the number of URLs that this run excluded, and an example.
    left_out: HashMap<(String, Part), (u64, Url)>,
}

impl UrlRules {
    pub(crate) fn read(frontier: &dyn Frontier) -> Result<Self> {
        let mut state = State::default();
        frontier.notes(RULES, &mut |site, note| {
            // A rule that cannot be read is learnt again.
            if let Ok(rules) = serde_json::from_slice::<Vec<_>>(note) {
                state.rules.insert(site.to_owned(), rules.into_iter().collect());
            }
        })?;
        state.rules.retain(|_, rules| !rules.is_empty());
        Ok(Self { any: AtomicBool::new(!state.rules.is_empty()), state: RwLock::new(state) })
    }

    fn reading(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has_rules(&self, url: &Url) -> bool {
        self.any.load(Relaxed)
            && self
                .reading()
                .rules
                .get(&registrable_site(url))
                .is_some_and(|rules| !rules.is_empty())
    }

    /// Returns whether an equivalent URL is requested instead. If there is none yet, this URL becomes the one that is
    /// requested.
    ///
    /// # Complexity
    /// Linear in the URL, and two look-ups in the frontier for a site with rules.
    pub(crate) fn repeats(&self, frontier: &dyn Frontier, url: &Url) -> Result<bool> {
        self.repeats_in(frontier, url, |_| true)
    }

    /// Does the same without rules about whole hosts: their links could not be found again without an archive, and a recrawl
    /// looks for new pages.
    ///
    /// # Complexity
    /// The same.
    pub(crate) fn repeats_in_part(&self, frontier: &dyn Frontier, url: &Url) -> Result<bool> {
        self.repeats_in(frontier, url, |part| !matches!(part, Part::Whole { .. }))
    }

    fn repeats_in(
        &self,
        frontier: &dyn Frontier,
        url: &Url,
        applies: impl Fn(&Part) -> bool,
    ) -> Result<bool> {
        if !self.any.load(Relaxed) {
            return Ok(false);
        }
        let Some(address) = Address::of(url) else { return Ok(false) };
        let (identity, dropped) = match self.reading().rules.get(&address.site) {
            Some(rules) => address.without(|part| applies(part) && drops(rules, &address, part)),
            None => return Ok(false),
        };
        let Some(first) = frontier.note_of(&identity, FIRST)?.filter(|first| !first.is_empty())
        else {
            frontier.note(&identity, FIRST, url.as_str().into());
            return Ok(false);
        };
        if dropped.is_empty() || first == url.as_str().as_bytes() {
            return Ok(false);
        }
        if frontier.note_of(url.as_str(), SAMPLE)?.is_some() {
            return Ok(false);
        }
        let is_sample = self.writing().is_sample(&address, &dropped, url);
        if is_sample {
            frontier.note(url.as_str(), SAMPLE, b"1".to_vec());
        }
        Ok(!is_sample)
    }

    /// Records that a queued URL was excluded.
    pub(crate) fn left_out_of_queue(&self, frontier: &dyn Frontier, url: &Url, depth: u16) {
        frontier.note(url.as_str(), LEFT_OUT, depth.to_le_bytes().to_vec());
    }

    /// Returns the queued URLs of a site that were excluded, with their depth, and forgets them.
    ///
    /// # Errors
    /// An error of the frontier.
    pub(crate) fn take_back(&self, frontier: &dyn Frontier, of: &Url) -> Result<Vec<(Url, u16)>> {
        let site = registrable_site(of);
        let mut urls = Vec::new();
        frontier.notes(LEFT_OUT, &mut |url, depth| {
            let depth = <[u8; 2]>::try_from(depth).map(u16::from_le_bytes);
            if let (Ok(url), Ok(depth)) = (Url::parse(url), depth)
                && registrable_site(&url) == site
            {
                urls.push((url, depth));
            }
        })?;
        for (url, _) in &urls {
            frontier.note(url.as_str(), LEFT_OUT, Vec::new());
        }
        Ok(urls)
    }

    /// Returns one URL for each site with excluded URLs that no rule excludes now: a killed run had removed the rule.
    ///
    /// # Errors
    /// An error of the frontier.
    pub(crate) fn left_over(&self, frontier: &dyn Frontier) -> Result<Vec<Url>> {
        let state = self.reading();
        let mut sites = BTreeMap::new();
        frontier.notes(LEFT_OUT, &mut |url, depth| {
            if let Ok(url) = Url::parse(url)
                && !depth.is_empty()
                && let Some(address) = Address::of(&url)
            {
                let rules = state.rules.get(&address.site);
                let excludes =
                    |part: &Part| rules.is_some_and(|rules| drops(rules, &address, part));
                if address.without(excludes).1.is_empty() {
                    sites.insert(address.site, url);
                }
            }
        })?;
        Ok(sites.into_values().collect())
    }

    /// Adds a duplicate as evidence.
    ///
    /// # Errors
    /// An error of the frontier.
    pub(crate) fn saw_duplicate(
        &self,
        frontier: &dyn Frontier,
        (url, of_host): (&Url, OfHost),
        kept: (&Url, u64),
    ) -> Result<()> {
        let (Some(mut address), Some(mut other)) = (Address::of(url), Address::of(kept.0)) else {
            return Ok(());
        };
        let mut state = self.writing();
        let state = &mut *state;
        if let Some(rules) = state.rules.get(&address.site) {
            // What remains may differ in the order of parameters.
            for address in [&mut address, &mut other] {
                simplify(address, rules);
            }
        }
        if address.site != other.site {
            return Ok(());
        }
        let site = address.site.clone();
        let host = address.host.clone();
        let differing = address.differing(&other);
        let is_twin = differing.as_ref().is_some_and(|differing| {
            state.learning.get(&site).is_some_and(|learning| learning.is_twin(differing))
        });
        if !is_twin
            && let Some(evidence) = state.learn(&site, |learning| learning.repeated(&host, of_host))
        {
            let whole = Part::Whole { host };
            if !state.rules.get(&site).is_some_and(|rules| rules.contains_key(&whole)) {
                state.add_rules(frontier, &address, vec![(whole, evidence)], (&other, kept.0))?;
                self.any.store(true, Relaxed);
                return Ok(());
            }
        }
        let facets = state.learn(&site, |learning| learning.facets(&address, false));
        let rules = state.rules.get(&site);
        if facets.iter().any(|learnt| is_news(rules, learnt)) {
            state.add_rules(frontier, &address, facets, (&other, kept.0))?;
            self.any.store(true, Relaxed);
            return Ok(());
        }
        let Some(differing) = differing else {
            return match state.rules.get(&address.site) {
                Some(rules) => claim(frontier, &other, kept.0, rules),
                None => Ok(()),
            };
        };
        if learn_differing(state, frontier, differing, &address, (&other, kept))? {
            self.any.store(true, Relaxed);
        }
        Ok(())
    }

    /// Records that a URL has no page, so that an equivalent URL may be requested.
    ///
    /// # Errors
    /// An error of the frontier.
    pub(crate) fn failed(&self, frontier: &dyn Frontier, url: &Url) -> Result<()> {
        if !self.any.load(Relaxed) {
            return Ok(());
        }
        let Some(address) = Address::of(url) else { return Ok(()) };
        let state = self.reading();
        let Some(rules) = state.rules.get(&address.site) else { return Ok(()) };
        let (identity, _) = address.without(|part| drops(rules, &address, part));
        if frontier.note_of(&identity, FIRST)?.is_some_and(|first| first == url.as_str().as_bytes())
        {
            frontier.note(&identity, FIRST, Vec::new());
        }
        Ok(())
    }

    /// Removes the rule about a host that has a new page in a recrawl. Returns whether there was one.
    pub(crate) fn saw_new_in_recrawl(&self, frontier: &dyn Frontier, url: &Url) -> bool {
        let Some(address) = Address::of(url) else { return false };
        let mut state = self.writing();
        let whole = Part::Whole { host: address.host };
        let Some(rules) = state.rules.get_mut(&address.site) else { return false };
        let was_there = rules.remove(&whole).is_some();
        if was_there {
            tracing::info!("{}: rule removed, {url} is a new page", address.site);
            remember(frontier, &address.site, rules);
        }
        was_there
    }

    /// Adds a kept page as evidence, and removes rules that it contradicts. Returns whether there were any. `is_page`
    /// returns whether the store has a page with a URL.
    ///
    /// # Errors
    /// An error of the frontier.
    pub(crate) fn saw_kept(
        &self,
        frontier: &dyn Frontier,
        url: &Url,
        page: &KeptPage,
        is_page: impl Fn(&str) -> bool,
    ) -> Result<bool> {
        let Some(mut address) = Address::of(url) else { return Ok(false) };
        let mut state = self.writing();
        let state = &mut *state;
        let mut others: Vec<(Address, &Url)> = page
            .versions_of
            .iter()
            .filter_map(|other| Some((Address::of(other)?, other)))
            .filter(|(other, _)| other.site == address.site)
            .collect();
        let mut contradicted = Vec::new();
        if let Some(rules) = state.rules.get_mut(&address.site) {
            let (identity, dropped) = address.without(|part| drops(rules, &address, part));
            let first = frontier.note_of(&identity, FIRST)?.unwrap_or_default();
            let first = std::str::from_utf8(&first).unwrap_or_default();
            if first != url.as_str() && is_page(first) {
                // Versions of a page do not contradict a rule that versions led to.
                let is_version = others.iter().any(|(other, _)| {
                    other.without(|part| drops(rules, other, part)).0 == identity
                });
                let by_versions =
                    |part: &Part| rules.get(part).is_some_and(|rule| rule.evidence.versions > 0);
                contradicted = dropped;
                contradicted.retain(|part| match part {
                    Part::Facets { .. } => !page.combines,
                    part => !(is_version && by_versions(part)),
                });
            } else {
                if first != url.as_str() {
                    sampled_in_vain(rules, &address, &dropped);
                }
                frontier.note(&identity, FIRST, url.as_str().into());
            }
            contradicted = withdraw(rules, &address, contradicted);
            if !contradicted.is_empty() {
                remember(frontier, &address.site, rules);
            }
            simplify(&mut address, rules);
            others.iter_mut().for_each(|(other, _)| simplify(other, rules));
        }
        // Of several pages the first whose URL can be compared part by part.
        let version =
            others.iter().find_map(|(other, url)| Some((address.differing(other)?, (other, *url))));
        let is_version = version.is_some();
        let (mut differing, other) = version.unzip();
        if let (Some(found), Some(rules)) = (&mut differing, state.rules.get(&address.site)) {
            found.parts.retain(|part| !drops(rules, &address, part));
            if found.each.iter().any(|part| drops(rules, &address, part)) {
                found.parts.clear();
            }
        }
        let differing = differing.filter(|found| !found.parts.is_empty());
        state.sees_versions |= is_version;
        let mut learnt = state.learn(&address.site, |learning| {
            contradicted.iter().for_each(|part| learning.contradicted(part));
            learning.kept(url, &address, is_version);
            let facets = learning.facets(&address, !page.combines);
            let versions = differing.map(|differing| {
                if page.is_linked_again {
                    learning.linked_again(&address);
                }
                learning.version(&address, &differing)
            });
            versions.unwrap_or_default().into_iter().chain(facets).collect::<Vec<_>>()
        });
        let rules = state.rules.get(&address.site);
        learnt.retain(|learnt| is_news(rules, learnt));
        if !learnt.is_empty() {
            let first = other.unwrap_or((&address, url));
            state.add_rules(frontier, &address, learnt, first)?;
            self.any.store(true, Relaxed);
        }
        Ok(!contradicted.is_empty())
    }

    /// Returns whether a page may be one of a list with combined filters.
    pub(crate) fn may_combine(&self, url: &Url) -> bool {
        let Some(address) = Address::of(url) else { return false };
        let state = self.reading();
        state.learning.get(&address.site).is_none_or(|learning| learning.may_combine(&address))
    }

    /// Returns whether kept pages of the site were versions of others, so that further links are evidence.
    pub(crate) fn has_versions(&self, url: &Url) -> bool {
        let state = self.reading();
        state.sees_versions
            && state.learning.get(&registrable_site(url)).is_some_and(Learning::has_versions)
    }

    /// Counts a further link to a known URL.
    pub(crate) fn linked_again(&self, url: &Url) {
        if let Some(address) = Address::of(url) {
            let site = address.site.clone();
            self.writing().learn(&site, |learning| learning.linked_again(&address));
        }
    }

    /// Returns the URLs that this run excluded, by site and part.
    pub(crate) fn left_out(&self) -> Vec<LeftOut> {
        let state = self.reading();
        let mut all: Vec<_> = state.left_out.iter().collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        all.into_iter()
            .map(|((site, part), (count, example))| {
                let rule = state.rules.get(site).and_then(|rules| rules.get(part));
                let evidence = rule.map(|rule| rule.evidence.clone()).unwrap_or_default();
                let reason = reason(part, &evidence);
                let detail = format!("{count} URLs of {site} were not requested: {reason}");
                let rule = format!("learnt {site}: {part}");
                LeftOut { example: example.clone(), count: *count, rule, detail }
            })
            .collect()
    }
}

impl State {
    /// Adds rules of a site that were learnt at this address, and makes its kept pages the ones that are requested; `kept`
    /// is one of them.
    fn add_rules(
        &mut self,
        frontier: &dyn Frontier,
        address: &Address,
        learnt: Vec<(Part, Evidence)>,
        kept: (&Address, &Url),
    ) -> Result<()> {
        let site = &address.site;
        let rules = self.rules.entry(site.clone()).or_default();
        let before = rules.len();
        for (part, evidence) in learnt {
            let filters = evidence.filters.clone();
            if rules.len() < MAX_RULES && !rules.contains_key(&part) {
                tracing::info!("{site}: {}", reason(&part, &evidence));
                rules.insert(part.clone(), Rule::new(evidence));
            }
            if let Some(rule) = rules.get_mut(&part) {
                if filters.is_empty() {
                    rule.evidence.filters.clear();
                } else if rule.evidence.filters.len() <= MAX_NAMED {
                    rule.evidence.filters.extend(filters);
                }
                rule.places.learn(address, &part);
            }
        }
        remember(frontier, site, rules);
        if rules.len() > before {
            for page in self.learning.get(site).into_iter().flat_map(Learning::requested) {
                if let Some(address) = Address::of(page) {
                    claim(frontier, &address, page, rules)?;
                }
            }
        }
        claim(frontier, kept.0, kept.1, rules)
    }

    /// Counts a URL that these parts exclude. Returns whether it is a sample, which is requested.
    fn is_sample(&mut self, address: &Address, parts: &[Part], url: &Url) -> bool {
        let Some(rules) = self.rules.get_mut(&address.site) else { return true };
        let mut is_due = false;
        for part in parts {
            is_due |= rules.get_mut(part).is_some_and(|rule| rule.leave_out(address, part));
        }
        if is_due {
            for part in parts {
                rules.get_mut(part).into_iter().for_each(|rule| rule.sampled(address, part));
            }
            return true;
        }
        if let Some(part) = parts.first() {
            let key = (address.site.clone(), part.clone());
            self.left_out.entry(key).or_insert_with(|| (0, url.clone())).0 += 1;
        }
        false
    }

    /// Adds evidence of a site. Drops evidence first if there is too much.
    fn learn<T>(&mut self, site: &str, add: impl FnOnce(&mut Learning) -> T) -> T {
        // A site counts as an entry too.
        if self.entries + self.learning.len() > MAX_ENTRIES {
            self.learning.clear();
            self.entries = 0;
        }
        let learning = self.learning.entry(site.to_owned()).or_default();
        if learning.size() > MAX_SITE_ENTRIES {
            self.entries = self.entries.saturating_sub(learning.size());
            *learning = Learning::default();
        }
        let before = learning.size();
        let added = add(learning);
        self.entries = (self.entries + learning.size()).saturating_sub(before);
        added
    }
}

/// Makes a kept page the one that is requested of its equivalent URLs, if there is none.
fn claim(frontier: &dyn Frontier, address: &Address, url: &Url, rules: &SiteRules) -> Result<()> {
    let (identity, _) = address.without(|part| drops(rules, address, part));
    if frontier.note_of(&identity, FIRST)?.is_none_or(|first| first.is_empty()) {
        frontier.note(&identity, FIRST, url.as_str().into());
    }
    Ok(())
}

/// Adds two URLs of one page as evidence. Returns whether there are new rules.
fn learn_differing(
    state: &mut State,
    frontier: &dyn Frontier,
    mut differing: Differing,
    address: &Address,
    (other, kept): (&Address, (&Url, u64)),
) -> Result<bool> {
    if let Some(rules) = state.rules.get(&address.site) {
        differing.parts.retain(|part| !drops(rules, address, part));
        if differing.each.iter().any(|part| drops(rules, address, part)) {
            differing.parts.clear();
        }
    }
    let learnt = match differing.parts.is_empty() {
        true => Vec::new(),
        false => {
            state.learn(&address.site, |learning| learning.duplicate(address, &differing, kept.1))
        }
    };
    if !learnt.is_empty() {
        state.add_rules(frontier, address, learnt, (other, kept.0))?;
        return Ok(true);
    }
    if let Some(rules) = state.rules.get(&address.site) {
        claim(frontier, other, kept.0, rules)?;
    }
    Ok(false)
}

fn remember(frontier: &dyn Frontier, site: &str, rules: &SiteRules) {
    let rules: Vec<_> = rules.iter().collect();
    frontier.note(site, RULES, serde_json::to_vec(&rules).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_site_cannot_drop_the_evidence_of_others() {
        let mut state = State::default();
        let mut keep = |site: &str, path: &str| {
            let url = Url::parse(&format!("http://{site}/{path}")).unwrap();
            let address = Address::of(&url).unwrap();
            state.learn(site, |learning| learning.kept(&url, &address, false));
            (state.entries, state.learning.get("a.example").map(Learning::size))
        };
        let (_, before) = keep("a.example", "one/page?x=1");
        let mut most = 0;
        for number in 0..40_000 {
            let (entries, own) =
                keep("b.example", &format!("{number}/a{number}-b{number}/c{number}"));
            assert_eq!(own, before);
            most = most.max(entries);
        }
        // It was reached, and no more than one page was added.
        assert!((MAX_SITE_ENTRIES..MAX_SITE_ENTRIES + 200).contains(&most), "{most}");
    }
}
