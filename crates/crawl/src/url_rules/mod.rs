//! Parts of URLs that do not change the page, learnt for each site: random parameters, session names in path or host,
//! folders without end, filters in any order.
//!
//! A page that is a duplicate speaks for the parts in which its URL differs from the kept page's; a page that is none speaks
//! against them. Once enough speaks for a part, only one URL is requested of those that differ in it alone. URLs are
//! never changed: the first one that was met is the one that is requested. A few of the others are requested all the
//! same, fewer and fewer; if one of them is another page, the part matters again, and what was left out is found again
//! in the archive. Compare Bar-Yossef, Keidar and Schonfeld, "Do not crawl in the DUST" (2007).

mod learn;
mod parts;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hapax_frontier::Frontier;
use hapax_url::registrable_site;
use url::Url;

use self::learn::{Learning, SiteRules};
use self::parts::Address;
pub(crate) use self::parts::Part;
use crate::error::Result;
use crate::patterns::{LeftOut, is_sample};

/// Under this name the frontier remembers the rules of a site.
const RULES: &str = "url-rules";
/// Under this name it remembers which of several URLs that differ in nothing is requested.
const FIRST: &str = "url-first";
/// Under this name it remembers URLs that were queued before a rule was learnt, and left out by it: how far from a seed.
const LEFT_OUT: &str = "url-left-out";
/// Entries of all sites that are held in memory to learn from; then learning begins again. 64 bytes each, and the names.
const MAX_ENTRIES: usize = 500_000;
/// Parts of a site that are remembered.
const MAX_RULES: usize = 64;

/// The rules of all sites, and what they are learnt from.
#[derive(Debug, Default)]
pub(crate) struct UrlRules {
    any: AtomicBool,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    learning: HashMap<String, Learning>,
    rules: HashMap<String, SiteRules>,
    /// Of this run: how many URLs of a site were left out for a part, and one of them.
    left_out: HashMap<(String, Part), (u64, Url)>,
}

impl UrlRules {
    /// Reads the rules that earlier runs learnt.
    pub(crate) fn read(frontier: &dyn Frontier) -> Result<Self> {
        let mut state = State::default();
        frontier.notes(RULES, &mut |site, note| {
            // What cannot be read is learnt again.
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

    /// Whether anything was learnt of a URL's site.
    pub(crate) fn has_rules(&self, url: &Url) -> bool {
        self.any.load(Relaxed)
            && self
                .reading()
                .rules
                .get(&registrable_site(url))
                .is_some_and(|rules| !rules.is_empty())
    }

    /// Whether a URL differs from one that is requested in nothing that matters. If not, it is the one from now on.
    ///
    /// # Complexity
    /// Linear in the URL, and two look-ups in the frontier for a site with rules.
    pub(crate) fn repeats(&self, frontier: &dyn Frontier, url: &Url) -> Result<bool> {
        if !self.any.load(Relaxed) {
            return Ok(false);
        }
        let Some(address) = Address::of(url) else { return Ok(false) };
        let (identity, dropped) = match self.reading().rules.get(&address.site) {
            Some(rules) => address.without(|part| rules.contains_key(part)),
            None => return Ok(false),
        };
        let Some(first) = frontier.note_of(&identity, FIRST)?.filter(|first| !first.is_empty())
        else {
            frontier.note(&identity, FIRST, url.as_str().into());
            return Ok(false);
        };
        let Some(part) = dropped.first().filter(|_| first != url.as_str().as_bytes()) else {
            return Ok(false);
        };
        Ok(!self.writing().is_sample(&address.site, part, url))
    }

    /// Takes in that a queued URL is left out.
    pub(crate) fn left_out_of_queue(&self, frontier: &dyn Frontier, url: &Url, depth: u16) {
        frontier.note(url.as_str(), LEFT_OUT, depth.to_le_bytes().to_vec());
    }

    /// Returns the queued URLs of a site that were left out, and how far from a seed they are. Each once.
    ///
    /// # Errors
    /// The frontier's.
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

    /// Returns the queued URLs that were left out by rules that a run gave up before it was killed.
    ///
    /// # Errors
    /// The frontier's.
    pub(crate) fn left_over(&self, frontier: &dyn Frontier) -> Result<Vec<Url>> {
        let state = self.reading();
        let mut sites = BTreeMap::new();
        frontier.notes(LEFT_OUT, &mut |url, depth| {
            if let Ok(url) = Url::parse(url)
                && !depth.is_empty()
                && let Some(address) = Address::of(&url)
            {
                let rules = state.rules.get(&address.site);
                let drops = |part: &Part| rules.is_some_and(|rules| rules.contains_key(part));
                if address.without(drops).1.is_empty() {
                    sites.insert(address.site, url);
                }
            }
        })?;
        Ok(sites.into_values().collect())
    }

    /// Takes in that a page is a duplicate of a kept one.
    ///
    /// # Errors
    /// The frontier's.
    pub(crate) fn saw_duplicate(
        &self,
        frontier: &dyn Frontier,
        url: &Url,
        kept: (&Url, u64),
    ) -> Result<()> {
        let (Some(address), Some(other)) = (Address::of(url), Address::of(kept.0)) else {
            return Ok(());
        };
        let Some(mut parts) = address.differing(&other) else { return Ok(()) };
        let mut state = self.writing();
        let state = &mut *state;
        if let Some(rules) = state.rules.get(&address.site) {
            parts.retain(|part| !rules.contains_key(part));
        }
        let site = address.site.clone();
        let learnt = match parts.is_empty() {
            true => Vec::new(),
            false => {
                state.learning.entry(site.clone()).or_default().duplicate(&address, &parts, kept.1)
            }
        };
        if learnt.is_empty() {
            return match state.rules.get(&site) {
                Some(rules) => claim(frontier, &other, kept.0, rules),
                None => Ok(()),
            };
        }
        let rules = state.rules.entry(site.clone()).or_default();
        let before = rules.len();
        for (part, evidence) in learnt {
            if rules.len() < MAX_RULES {
                tracing::info!(
                    "{site}: {part} does not change pages: {} of {} were duplicates",
                    evidence.alone + evidence.together,
                    evidence.alone + evidence.together + evidence.others + evidence.unclear
                );
                rules.insert(part, learn::Rule { evidence, left_out: 0 });
            }
        }
        remember(frontier, &site, rules);
        self.any.store(true, Relaxed);
        if rules.len() > before {
            for page in state.learning.get(&site).map_or(&[][..], Learning::pages) {
                if let Some(address) = Address::of(page) {
                    claim(frontier, &address, page, rules)?;
                }
            }
        }
        claim(frontier, &other, kept.0, rules)
    }

    /// Takes in that a URL came to no page: another one of those that differ in nothing may be requested.
    ///
    /// # Errors
    /// The frontier's.
    pub(crate) fn failed(&self, frontier: &dyn Frontier, url: &Url) -> Result<()> {
        if !self.any.load(Relaxed) {
            return Ok(());
        }
        let Some(address) = Address::of(url) else { return Ok(()) };
        let state = self.reading();
        let Some(rules) = state.rules.get(&address.site) else { return Ok(()) };
        let (identity, _) = address.without(|part| rules.contains_key(part));
        if frontier.note_of(&identity, FIRST)?.is_some_and(|first| first == url.as_str().as_bytes())
        {
            frontier.note(&identity, FIRST, Vec::new());
        }
        Ok(())
    }

    /// Takes in that a page is no duplicate. Returns whether that contradicts a rule, which is given up. `is_page` says
    /// whether a URL has a page in the store.
    ///
    /// # Errors
    /// The frontier's.
    pub(crate) fn saw_kept(
        &self,
        frontier: &dyn Frontier,
        url: &Url,
        is_page: impl Fn(&str) -> bool,
    ) -> Result<bool> {
        let Some(mut address) = Address::of(url) else { return Ok(false) };
        let mut state = self.writing();
        let state = &mut *state;
        state.make_room();
        let learning = state.learning.entry(address.site.clone()).or_default();
        let mut contradicted = Vec::new();
        if let Some(rules) = state.rules.get_mut(&address.site) {
            let (identity, dropped) = address.without(|part| rules.contains_key(part));
            let first = frontier.note_of(&identity, FIRST)?.unwrap_or_default();
            let first = std::str::from_utf8(&first).unwrap_or_default();
            if first != url.as_str() && is_page(first) {
                contradicted = dropped;
            } else {
                frontier.note(&identity, FIRST, url.as_str().into());
            }
            for part in &contradicted {
                tracing::info!("{}: {part} changes pages after all: {url}", address.site);
                rules.remove(part);
                learning.contradicted(part);
            }
            if !contradicted.is_empty() {
                remember(frontier, &address.site, rules);
            }
            address.pairs.retain(|pair| {
                let name = pair.split('=').next().unwrap_or_default().to_owned();
                !rules.contains_key(&Part::Parameter(name))
            });
        }
        learning.kept(url, &address);
        Ok(!contradicted.is_empty())
    }

    /// What was left out in this run, by site and part.
    pub(crate) fn left_out(&self) -> Vec<LeftOut> {
        let state = self.reading();
        let mut all: Vec<_> = state.left_out.iter().collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        all.into_iter()
            .map(|((site, part), (count, example))| {
                let rule = state.rules.get(site).and_then(|rules| rules.get(part));
                let evidence = rule.map_or(String::new(), |rule| {
                    let pages = rule.evidence.alone + rule.evidence.together;
                    format!(", as {pages} pages were duplicates that differ in it")
                });
                let detail = format!(
                    "{count} URLs of {site} like this one were not requested: {part} does not change pages{evidence}"
                );
                LeftOut { example: example.clone(), count: *count, detail }
            })
            .collect()
    }
}

impl State {
    /// Counts a URL that is left out. Returns whether it is requested all the same.
    fn is_sample(&mut self, site: &str, part: &Part, url: &Url) -> bool {
        let Some(rule) = self.rules.get_mut(site).and_then(|rules| rules.get_mut(part)) else {
            return true;
        };
        rule.left_out += 1;
        if is_sample(rule.left_out) {
            return true;
        }
        let key = (site.to_owned(), part.clone());
        self.left_out.entry(key).or_insert_with(|| (0, url.clone())).0 += 1;
        false
    }

    fn make_room(&mut self) {
        if self.learning.values().map(Learning::size).sum::<usize>() > MAX_ENTRIES {
            self.learning.clear();
        }
    }
}

/// Makes a kept page the one of those that differ from it in nothing that matters, if none is.
fn claim(frontier: &dyn Frontier, address: &Address, url: &Url, rules: &SiteRules) -> Result<()> {
    let (identity, _) = address.without(|part| rules.contains_key(part));
    if frontier.note_of(&identity, FIRST)?.is_none_or(|first| first.is_empty()) {
        frontier.note(&identity, FIRST, url.as_str().into());
    }
    Ok(())
}

fn remember(frontier: &dyn Frontier, site: &str, rules: &SiteRules) {
    let rules: Vec<_> = rules.iter().collect();
    frontier.note(site, RULES, serde_json::to_vec(&rules).unwrap_or_default());
}
