//! tdmrep.json of a host (TDM Reservation Protocol): requested once a day if reservations are obeyed, and stored
//! between runs.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use hapax_fetch::{MAX_ROBOTS_REDIRECTS, MAX_TDMREP, TDMREP_PATH, TdmRules, Validators};
use hapax_frontier::{Frontier, Lease};
use hapax_url::{host_key, registrable_site};
use tokio::sync::OnceCell;
use url::Url;

use super::answer::is_failure;
use super::context::Shared;
use super::host_file::{AGAIN, TDMREP, VALID, note, read_note, remembered};
use super::host_rules::{FoundTdm, HostRules, MAX_HOSTS, Source, TdmCells};
use super::robots::time_of_all_tries;

/// A URL that tdmrep.json reserves.
#[derive(Debug)]
pub(super) struct Reserved {
    /// The rule, for people.
    pub(super) detail: String,
    /// Whether this lease requested the file.
    pub(super) asked: bool,
}

impl HostRules {
    /// Returns the reservation of the lease's URL by the tdmrep.json of its host. The first caller fetches the file;
    /// later callers wait for the result. `robots` tells whether this lease has just requested robots.txt.
    pub(super) async fn reserved(
        &self,
        shared: &Shared,
        lease: &Lease,
        robots: Source,
    ) -> Option<Reserved> {
        let cell = cell(&mut self.tdm.lock().unwrap_or_else(PoisonError::into_inner), &lease.host);
        let mut asked = false;
        let now = &mut asked;
        let found = cell.get_or_init(move || find(shared, lease, robots, now)).await;
        let rules = Arc::clone(&found.rules);
        let detail = rules.reservation(&lease.entry.url)?;
        Some(Reserved { detail, asked })
    }
}

/// Returns the cell of a host. If there are too many, those with a result are dropped.
fn cell(held: &mut TdmCells, host: &str) -> Arc<OnceCell<FoundTdm>> {
    if held.len() >= MAX_HOSTS && !held.contains_key(host) {
        held.retain(|_, cell| cell.get().is_none());
    }
    let cell = held.entry(host.to_owned()).or_default();
    if cell.get().is_some_and(|found| found.until <= Instant::now()) {
        *cell = Arc::default();
    }
    Arc::clone(cell)
}

fn holds_for(rules: TdmRules, time: Duration) -> FoundTdm {
    FoundTdm { rules: Arc::new(rules), until: Instant::now() + time }
}

async fn find(shared: &Shared, lease: &Lease, robots: Source, asked: &mut bool) -> FoundTdm {
    let url = &lease.entry.url;
    let kept = shared.frontier.note_of(&lease.host, TDMREP).ok().flatten();
    let kept = kept.as_deref().and_then(read_note);
    if let Some((age, text)) = kept
        && age < VALID
    {
        return holds_for(TdmRules::parse(url, text), VALID.saturating_sub(age));
    }
    let Ok(file) = url.join(TDMREP_PATH) else { return holds_for(TdmRules::default(), VALID) };
    if !shared.rules.allows(shared, lease, &file).await {
        return holds_for(TdmRules::default(), VALID);
    }
    let pause = shared.rules.pause(shared, lease).await;
    if robots == Source::Lease {
        // The request of robots.txt was followed by the usual delay only.
        tokio::time::sleep(pause.saturating_sub(shared.delay)).await;
    }
    *asked = true;
    let within = time_of_all_tries(pause);
    let text = tokio::time::timeout(within, request(shared, lease, file, pause)).await;
    let found = match (text, kept) {
        (Ok(Some(text)), _) => {
            shared.frontier.note(&lease.host, TDMREP, note(&text));
            holds_for(TdmRules::parse(url, &text), VALID)
        }
        // The protocol counts an unreachable file as absent. A copy of it may be used, as of robots.txt.
        (_, Some((_, text))) => holds_for(TdmRules::parse(url, text), AGAIN),
        (_, None) => holds_for(TdmRules::default(), AGAIN),
    };
    // The request of the page follows.
    tokio::time::sleep(pause).await;
    found
}

/// Requests the file and follows redirects within the site. Returns an empty text if there is no file, and `None` if
/// it is unreachable.
async fn request(shared: &Shared, lease: &Lease, file: Url, pause: Duration) -> Option<Vec<u8>> {
    let mut at = file;
    for hop in 0..=MAX_ROBOTS_REDIRECTS {
        if hop > 0 {
            tokio::time::sleep(pause).await;
        }
        let response = shared.fetch.get_tdmrep(&at, &Validators::default()).await.ok()?;
        match (response.status, response.redirect()) {
            (200 | 203, _) => {
                let end = response.body.len().min(MAX_TDMREP);
                return Some(response.body.get(..end).unwrap_or_default().to_vec());
            }
            (300..=399, Some(next)) if may_follow(shared, lease, &next).await => at = next,
            (status, _) if is_failure(status) => return None,
            _ => break,
        }
    }
    Some(Vec::new())
}

/// Returns whether a redirect of the file is followed: within the site, and past the robots.txt of the own host.
async fn may_follow(shared: &Shared, lease: &Lease, next: &Url) -> bool {
    let is_web = matches!(next.scheme(), "http" | "https");
    is_web
        && registrable_site(next) == registrable_site(&lease.entry.url)
        && (host_key(next) != lease.host || shared.rules.allows(shared, lease, next).await)
}

/// Returns the reservation of a URL by the stored file of its host.
pub(crate) fn remembered_reservation(
    frontier: &dyn Frontier,
    url: &Url,
) -> crate::error::Result<Option<String>> {
    let file = remembered(frontier, &host_key(url), TDMREP)?;
    Ok(file.and_then(|(_, text)| TdmRules::parse(url, &text).reservation(url)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_few_hosts_are_held_and_expired_ones_are_requested_again() {
        let mut held = TdmCells::new();
        let first = cell(&mut held, "a.example");
        assert!(Arc::ptr_eq(&first, &cell(&mut held, "a.example")), "no result yet");
        first.set(holds_for(TdmRules::default(), Duration::ZERO)).unwrap();
        assert!(!Arc::ptr_eq(&first, &cell(&mut held, "a.example")), "it has expired");
        for host in 0..3 * MAX_HOSTS {
            let cell = cell(&mut held, &format!("{host}.example"));
            cell.set(holds_for(TdmRules::default(), VALID)).unwrap();
            assert!(held.len() <= MAX_HOSTS);
        }
        assert!(held.contains_key("a.example"), "its request is under way");
    }
}
