//! Redirects: aliases, moved pages, moved seeds and loops.

use crate::admission::Admission;
use crate::admit::{Stage, admit};
use crate::error::Result;
use hapax_data::SkipReason;
use hapax_frontier::{End, Entry, EntryKind, Lease};
use hapax_url::{Rejected, normalize, registrable_site};
use url::Url;

use crate::visits::Seen;
use crate::writer::Writer;

/// Maximum number of characters of an invalid target in the log.
const MAX_SHOWN: usize = 200;

impl Writer {
    /// Handles a redirect. `moved`: it is permanent.
    pub(crate) fn redirected(&mut self, lease: &Lease, target: &Url, moved: bool) -> Result<End> {
        let entry = &lease.entry;
        let to = match normalize(target, &self.rules.limits) {
            Err(Rejected::Scheme) => {
                let target: String = target.as_str().chars().take(MAX_SHOWN).collect();
                let detail = format!("it redirects to {target}, which is not an http(s) URL");
                return self.leads_back(lease, &detail);
            }
            to => to.ok(),
        };
        if to.as_ref() == Some(&entry.url) {
            // It was followed up to the limit and led here again.
            let hint = self.cookie_walls.hint(std::iter::once(entry.url.as_str()));
            let detail =
                format!("it redirects to itself, or to another spelling of itself: {target}{hint}");
            return self.leads_back(lease, &detail);
        }
        if let Some(to) = &to {
            self.end_former_alias(&entry.url, Some(to))?;
            self.committer.remember_target(&entry.url, to);
            if !self.committer.is_shared() && !self.committer.look.on {
                self.url_rules.saw_redirect(&*self.frontier, &entry.url, to)?;
            }
            let most = self.max_redirects;
            let round = self.committer.redirects_round(&entry.url, to.clone(), most)?;
            if !round.is_empty() {
                // The page of the loop that was requested first.
                let hops = entry.hops.saturating_add(1);
                if hops <= self.max_redirects && self.cookie_walls.asks_again(to.as_str()) {
                    self.committer.end_alias(to)?;
                    self.frontier
                        .push_again(Entry { hops, ..Entry::page(to.clone(), entry.depth) })?;
                    self.committer.alias(lease, to)?;
                    return Ok(End::Done);
                }
                let all = round.iter().chain([&entry.url]).map(Url::as_str);
                let hint = self.cookie_walls.hint(all);
                for url in round {
                    self.committer.end_alias(&url)?;
                    self.committer.skip_loop(&url, hint)?;
                }
                let detail = format!("a redirect loop through {target}{hint}");
                return self.leads_back(lease, &detail);
            }
        }
        // A known page has another URL now. If that is not fetched, the text would be lost: then it stays under the
        // old URL.
        if self.follow(entry, target)? && moved {
            self.committer.gone(entry.url.as_str())?;
        }
        // The alias names the normal form: the page has this URL if it is fetched.
        self.committer.alias(lease, to.as_ref().unwrap_or(target))?;
        Ok(End::Done)
    }

    /// Logs a redirect that leads to no page. The next recrawl requests the URL again.
    pub(super) fn leads_back(&mut self, lease: &Lease, detail: &str) -> Result<End> {
        self.end_former_alias(&lease.entry.url, None)?;
        // The page was not there.
        self.committer.look.seen = Some(Seen::Nothing);
        let url = lease.entry.url.as_str();
        self.committer.ask_again(url);
        self.committer.skip(url, SkipReason::Redirects, detail)?;
        Ok(End::Done)
    }

    /// Returns whether the target is queued or has a page.
    fn follow(&mut self, from: &Entry, target: &Url) -> Result<bool> {
        let hops = from.hops.saturating_add(1);
        let from_seed = from.kind == EntryKind::Page && self.seeds.contains(&from.url);
        if hops > self.max_redirects {
            let detail = format!("more than {} redirects in a row", self.max_redirects);
            let to = normalize(target, &self.rules.limits).unwrap_or_else(|_| target.clone());
            if from_seed && self.committer.store().id_of(to.as_str().as_bytes())?.is_none() {
                // A failure of the seed: no other request leads there.
                self.committer.seeds.add(&to);
            }
            self.committer.skip(to.as_str(), SkipReason::Redirects, &detail)?;
            return Ok(false);
        }
        // The target of a seed has the seed's depth, as has every known page in a recrawl.
        if from_seed && leads_away(&from.url, target) {
            // Probably a parked domain, or a site that was sold.
            if let Ok(url) = normalize(target, &self.rules.limits) {
                tracing::warn!(
                    "the seed {} redirects to another site. Only {url} is fetched from it. To crawl that \
                     site, add this URL to the seeds",
                    from.url
                );
                self.committer.seeds.leads(&*self.frontier, from.url.as_str(), Some(&url));
                self.committer.seeds.add(&url);
                self.seeds.insert(url.clone());
                let depth = from.depth;
                let page = Entry::page(url.clone(), depth).from_page(&from.url);
                let page = Entry { hops, ..page };
                // The rules admit it only here.
                let is_recrawl = self.committer.look.on && !self.committer.look.due;
                let is_queued_again = is_recrawl
                    && self.committer.seeds.retry(url.as_str())
                    && self.frontier.push_again(page.clone())?;
                return Ok(is_queued_again
                    || self.push_target(&from.url, page)?
                    || self.committer.store().id_of(url.as_str().as_bytes())?.is_some()
                    || self.frontier.is_waiting(url.as_str())?);
            }
        }
        if from_seed {
            // A moved seed extends the scope: http://x to https://www.x.
            self.committer.seeds.leads(&*self.frontier, from.url.as_str(), None);
            self.rules.seed_moved(target);
            if let Ok(normal) = normalize(target, &self.rules.limits) {
                self.committer.seeds.add(&normal);
                self.seeds.insert(normal);
            }
            let target = target.to_string();
            if !self.committer.run.moved_seeds.contains(&target) {
                self.committer.run.moved_seeds.push(target);
            }
        }
        let depth = from.depth;
        match admit(target, depth, Stage::Redirect, self)? {
            // Servers add session ids by redirects. The page is behind the redirect, so URL rules do not apply. It is
            // requested before further links, as browsers do: the session may expire, and the rules learn from pages.
            Admission::Admitted(url) | Admission::Repeats(url) => {
                let page = Entry::page(url.clone(), depth).from_page(&from.url);
                let target = Entry { hops, recent: true, ..page };
                if self.push_target(&from.url, target)? {
                    return Ok(true);
                }
                // A URL that is only known may have been refused, or answered with an error.
                let known = self.committer.store().id_of(url.as_str().as_bytes())?.is_some();
                if from_seed && known {
                    // A sitemap or another page led there before.
                    self.committer.run.seed_fetched = Some(true);
                }
                // In a recrawl it may still be queued.
                Ok(known || self.frontier.is_waiting(url.as_str())?)
            }
            other => self.not_admitted(other).map(|()| false),
        }
    }
}

/// Returns whether a redirect leads to another registrable domain. IP addresses and names without a domain count as
/// the same site.
fn leads_away(from: &Url, to: &Url) -> bool {
    let is_name = |url: &Url| {
        let site = registrable_site(url);
        url.domain().is_some() && site.contains('.') && !site.ends_with(".localhost")
    };
    is_name(from) && is_name(to) && registrable_site(from) != registrable_site(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_registrable_domain_is_another_site() {
        for (from, to, away) in [
            ("http://a.example/", "https://www.a.example/", false),
            ("http://a.example.com/", "http://b.example.com/", false),
            ("http://a.example/", "http://parked.test/", true),
            ("http://one.github.io/", "http://two.github.io/", true),
            ("http://127.0.0.1:1/", "http://127.0.0.1:2/", false),
            ("http://127.0.0.1/", "http://a.example/", false),
            ("http://localhost/", "http://a.example/", false),
        ] {
            let [from, to] = [from, to].map(|url| Url::parse(url).unwrap());
            assert_eq!(leads_away(&from, &to), away, "{from} {to}");
        }
    }
}
