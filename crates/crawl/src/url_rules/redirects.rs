//! Redirects as evidence: URLs that lead to one page are equivalent, so the parts in which they differ do not change it.

use std::sync::atomic::Ordering::Relaxed;

use hapax_frontier::Frontier;
use hapax_url::{registrable_site, url_key};
use url::Url;

use super::parts::Address;
use super::rule::simplify;
use super::{State, UrlRules, learn_differing};
use crate::error::Result;

/// Name of the frontier's note with the number of URLs that redirect to a page, and the first of them.
const REDIRECTED: &str = "url-redirected";
/// Maximum number of URLs of one target that are evidence: all pages of a members' area redirect to one form.
const MAX_FROM: u32 = 8;

impl UrlRules {
    /// Adds a redirect as evidence.
    ///
    /// # Errors
    /// An error of the frontier.
    pub(crate) fn saw_redirect(
        &self,
        frontier: &dyn Frontier,
        url: &Url,
        target: &Url,
    ) -> Result<()> {
        let mut state = self.writing();
        let Some(identity) = state.identity(target) else { return Ok(()) };
        let (number, first) = redirected(frontier, &identity)?.unwrap_or((0, url.clone()));
        if number >= MAX_FROM || number > 0 && first == *url {
            return Ok(());
        }
        frontier.note(&identity, REDIRECTED, format!("{} {first}", number + 1).into());
        if number == 0 {
            let site = registrable_site(url);
            state.learn(&site, |learning| learning.redirecting(url));
            return Ok(());
        }
        if state.redirects(frontier, url, (&first, url_key(&identity) as u64))? {
            self.any.store(true, Relaxed);
        }
        Ok(())
    }

    /// Adds the redirects that led to a duplicate and to the kept page as evidence.
    ///
    /// # Errors
    /// An error of the frontier.
    pub(crate) fn saw_redirects_to(
        &self,
        frontier: &dyn Frontier,
        url: &Url,
        kept: (&Url, u64),
    ) -> Result<()> {
        let mut state = self.writing();
        let (Some(of_url), Some(mut of_kept)) = (state.identity(url), state.identity(kept.0))
        else {
            return Ok(());
        };
        if of_url == of_kept {
            // A redirect to the kept page may have been noted before a rule made the two equivalent.
            let Some(address) = Address::of(kept.0) else { return Ok(()) };
            of_kept = address.without(|_| false).0;
            if of_url == of_kept {
                return Ok(());
            }
        }
        let Some((_, from)) = redirected(frontier, &of_url)? else { return Ok(()) };
        let Some((number, first)) = redirected(frontier, &of_kept)? else { return Ok(()) };
        if number >= MAX_FROM {
            return Ok(());
        }
        frontier.note(&of_kept, REDIRECTED, format!("{} {first}", number + 1).into());
        if state.redirects(frontier, &from, (&first, kept.1))? {
            self.any.store(true, Relaxed);
        }
        Ok(())
    }
}

impl State {
    /// Returns what all equivalent URLs have in common.
    fn identity(&self, url: &Url) -> Option<String> {
        let mut address = Address::of(url)?;
        if let Some(rules) = self.rules.get(&address.site) {
            simplify(&mut address, rules);
        }
        Some(address.without(|_| false).0)
    }

    /// Adds a URL and the first one that leads to the same page. Returns whether there are new rules.
    fn redirects(
        &mut self,
        frontier: &dyn Frontier,
        url: &Url,
        first: (&Url, u64),
    ) -> Result<bool> {
        let (Some(mut address), Some(mut other)) = (Address::of(url), Address::of(first.0)) else {
            return Ok(false);
        };
        if let Some(rules) = self.rules.get(&address.site) {
            for address in [&mut address, &mut other] {
                simplify(address, rules);
            }
        }
        match address.differing(&other) {
            Some(differing) if address.site == other.site => {
                learn_differing(self, frontier, differing, &address, (&other, first))
            }
            _ => Ok(false),
        }
    }
}

/// Returns the number of URLs that redirect to a page, and the first of them.
fn redirected(frontier: &dyn Frontier, identity: &str) -> Result<Option<(u32, Url)>> {
    let note = frontier.note_of(identity, REDIRECTED)?.unwrap_or_default();
    let note = std::str::from_utf8(&note).unwrap_or_default();
    Ok(note
        .split_once(' ')
        .and_then(|(number, first)| Some((number.parse().ok()?, Url::parse(first).ok()?))))
}

#[cfg(test)]
mod tests {
    use hapax_frontier::{DiskFrontier, Options};

    use super::*;
    use crate::url_rules::evidence::Evidence;
    use crate::url_rules::parts::Part;
    use crate::url_rules::rule::Rule;

    #[test]
    fn redirects_noted_before_a_rule_count_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let frontier = DiskFrontier::open(folder.path(), Options::default()).unwrap();
        let rules = UrlRules::default();
        let url = |text: String| Url::parse(&format!("http://a.example/{text}")).unwrap();
        let link =
            |random: u64, page: u64| url(format!("go/r{:08x}/p{page}", random * 0x9E37_79B9));
        let target = |page: u64, visit: u64| url(format!("p{page}?visit={visit}"));
        for page in 0..40 {
            rules.saw_redirect(&frontier, &link(page, page), &target(page, 1)).unwrap();
        }
        let visit = Part::Parameter("visit".to_owned());
        let mut state = rules.writing();
        state
            .rules
            .entry("a.example".to_owned())
            .or_default()
            .insert(visit, Rule::new(Evidence::default()));
        drop(state);
        let learnt = || {
            let state = rules.reading();
            let parts: Vec<String> = state.rules["a.example"].keys().map(Part::to_string).collect();
            parts.contains(&"segment 2 of the path, below /go/".to_owned())
        };
        let mut needed = 0;
        while !learnt() && needed < 40 {
            let (page, second) = (needed, target(needed, 2));
            rules.saw_redirect(&frontier, &link(100 + page, page), &second).unwrap();
            rules.saw_redirects_to(&frontier, &second, (&target(page, 1), page)).unwrap();
            needed += 1;
        }
        assert!(needed < 40, "the random segment of redirects is not learnt");
    }
}
