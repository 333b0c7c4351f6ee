//! Records without a payload: it is in another record, which may come earlier, later or in another file. They wait
//! until everything is read. Then the archives are read again for their payloads. Records beyond the memory limit
//! wait for another pass.

use std::collections::HashMap;
use std::time::SystemTime;

use hapax_data::SkipReason;
use hapax_fetch::Response;
use hapax_warc::{Record, http_parts, payload_digest};
use url::Url;

use super::record::{Refused, holds_payload, target, time};
use crate::readers::StoredPage;

/// Maximum bytes of waiting revisits.
pub const MAX_WAITING: usize = 64 << 20;
/// Bytes of each revisit except URL, names and headers.
const EACH: usize = 256;
/// Maximum bytes of a revisit's head. If it is longer, the head of the original is used.
const MAX_HEAD: usize = 64 << 10;
/// Headers that describe the payload: those of the record with the payload are used.
const OF_THE_PAYLOAD: [&str; 4] =
    ["content-encoding", "content-length", "content-type", "transfer-encoding"];

type Headers = Vec<(String, Vec<u8>)>;

/// A page that was served again, and whose payload is in another record.
#[derive(Debug)]
pub struct Revisit {
    /// Its URL.
    pub url: Url,
    time: SystemTime,
    /// The server reported that the page has not changed.
    unchanged: bool,
    /// Status and headers, if the record has them.
    head: Option<(u16, Headers)>,
    digest: Option<String>,
    /// Names of the record with the payload.
    names: Vec<String>,
}

impl Revisit {
    /// Returns the revisit of a record; `None` if the record is not a revisit.
    ///
    /// # Errors
    /// The reason why it cannot be used.
    pub fn of(record: &Record) -> Option<Result<Self, Refused>> {
        let revisit = record.header("warc-type") == Some("revisit") && !holds_payload(record);
        revisit.then(|| target(record).map(|url| Self::about(url, record)))
    }

    fn about(url: Url, record: &Record) -> Self {
        let profile = record.header("warc-profile").unwrap_or_default();
        let unchanged = profile.contains("server-not-modified");
        let short = Some(record.block.as_slice()).filter(|block| block.len() <= MAX_HEAD);
        let head = short.and_then(http_parts).map(|(status, headers, _)| (status, headers));
        // The digest of a 304 is that of an empty payload.
        let digest = record.header("warc-payload-digest").filter(|_| !unchanged);
        let mut names: Vec<String> = digest.map(by_digest).into_iter().collect();
        if let Some(url) = record.header("warc-refers-to-target-uri") {
            names.push(by_address(url, record.header("warc-refers-to-date")));
        }
        names.extend(record.header("warc-refers-to").map(by_id));
        let digest = digest.map(str::to_owned);
        Self { url, time: time(record), unchanged, head, digest, names }
    }

    fn weight(&self) -> usize {
        let head = self.head.iter().flat_map(|(_, headers)| headers);
        let headers: usize = head.map(|(name, value)| name.len() + value.len() + EACH / 4).sum();
        let names: usize = self.names.iter().map(|name| 2 * name.len()).sum();
        EACH + self.url.as_str().len() + headers + names
    }

    /// Returns the page with the payload of `original`; `None` if it is `original` itself.
    ///
    /// # Errors
    /// The reason why it is not a page.
    pub fn page(self, original: &StoredPage) -> Result<Option<StoredPage>, Refused> {
        if self.url == original.url {
            return Ok(None);
        }
        let own = match self.head {
            Some((status, _)) if status != 200 && !self.unchanged => {
                return Err(Refused::new(
                    &self.url,
                    SkipReason::HttpOther,
                    format!("status {status}"),
                ));
            }
            Some((_, headers)) if !self.unchanged => Some(headers),
            _ => None,
        };
        let from = &original.response;
        let of_payload = |(name, _): &&(String, Vec<u8>)| OF_THE_PAYLOAD.contains(&name.as_str());
        let headers = match own {
            Some(own) => {
                let payloads = from.headers.iter().filter(of_payload);
                own.iter().filter(|header| !of_payload(header)).chain(payloads).cloned().collect()
            }
            None => from.headers.clone(),
        };
        let mut response = Response::stored(self.url.clone(), 200, headers, from.raw.clone());
        response.body = from.body.clone();
        Ok(Some(StoredPage {
            url: self.url,
            response,
            time: self.time,
            title: original.title.clone(),
        }))
    }
}

fn by_digest(digest: &str) -> String {
    format!("digest {}", digest.to_ascii_lowercase())
}

fn by_address(url: &str, date: Option<&str>) -> String {
    format!("{} {}", date.unwrap_or("any"), url.trim_matches(['<', '>']))
}

fn by_id(id: &str) -> String {
    format!("id {id}")
}

/// Revisits that wait for their payload, within a limit of memory.
#[derive(Debug)]
pub struct Revisits {
    most: usize,
    bytes: usize,
    waiting: Vec<Option<Revisit>>,
    left: usize,
    by_name: HashMap<String, Vec<usize>>,
    /// Number of revisits seen in this pass, in the order of the archives.
    met: u64,
    /// Number of these that an earlier pass handled.
    before: u64,
    /// The limit was reached: further revisits need another pass.
    beyond: bool,
}

impl Revisits {
    /// Makes an empty queue of at most `most` bytes.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            bytes: 0,
            waiting: Vec::new(),
            left: 0,
            by_name: HashMap::new(),
            met: 0,
            before: 0,
            beyond: false,
        }
    }

    /// Adds a revisit if the limit allows it. The first one is always added.
    pub fn wait(&mut self, revisit: Revisit) {
        let weight = revisit.weight();
        if self.met < self.before {
            self.met += 1;
            return;
        }
        self.beyond |= !self.waiting.is_empty() && self.bytes + weight > self.most;
        if self.beyond {
            return;
        }
        self.met += 1;
        self.bytes += weight;
        self.left += 1;
        for name in &revisit.names {
            self.by_name.entry(name.clone()).or_default().push(self.waiting.len());
        }
        self.waiting.push(Some(revisit));
    }

    /// Returns whether no revisit waits.
    pub const fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Removes and returns the revisits that wait for the payload of this record.
    pub fn take(&mut self, record: &Record) -> Vec<Revisit> {
        if !holds_payload(record) {
            return Vec::new();
        }
        let computed = || http_parts(&record.block).map(|(_, _, payload)| payload_digest(payload));
        let digest = record.header("warc-payload-digest").map(str::to_owned).or_else(computed);
        let mut names: Vec<String> = digest.iter().map(|digest| by_digest(digest)).collect();
        if let Some(url) = record.header("warc-target-uri") {
            names.push(by_address(url, record.header("warc-date")));
            names.push(by_address(url, None));
        }
        names.extend(record.header("warc-record-id").map(by_id));
        let mut found = Vec::new();
        for name in names {
            let Some(numbers) = self.by_name.get_mut(&name) else { continue };
            numbers.retain(|&number| {
                let Some(slot) = self.waiting.get_mut(number) else { return false };
                // Another version of the page has another digest.
                let other = |one: &Revisit| match (&one.digest, &digest) {
                    (Some(one), Some(this)) => {
                        !one.eq_ignore_ascii_case(this) && algorithm(one) == algorithm(this)
                    }
                    _ => false,
                };
                if slot.as_ref().is_some_and(other) {
                    return true;
                }
                found.extend(slot.take());
                false
            });
            if numbers.is_empty() {
                self.by_name.remove(&name);
            }
        }
        self.left -= found.len();
        found
    }

    /// Ends a pass. Returns the URLs whose payload was not found, and whether the archives must be read again for
    /// revisits beyond the limit.
    pub fn next_look(&mut self) -> (Vec<Url>, bool) {
        let lost = self.waiting.drain(..).flatten().map(|revisit| revisit.url).collect();
        let again = self.beyond;
        *self = Self { before: self.met, ..Self::new(self.most) };
        (lost, again)
    }
}

/// Returns the algorithm of a digest, such as `sha1`. Digests of different algorithms cannot be compared.
fn algorithm(digest: &str) -> String {
    digest.split(':').next().unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(headers: &[(&str, &str)], block: &str) -> Record {
        let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Record { headers: headers.collect(), block: block.into() }
    }

    fn revisit(url: &str, names: &[(&str, &str)]) -> Revisit {
        let kind = [("warc-type", "revisit"), ("warc-target-uri", url)];
        let block = "HTTP/1.1 200 OK\r\nX: own\r\nContent-Type: text/css\r\n\r\n";
        Revisit::of(&record(&[&kind[..], names].concat(), block)).unwrap().unwrap()
    }

    fn original(url: &str, date: &str, id: &str, body: &str) -> Record {
        let digest = payload_digest(body.as_bytes());
        let headers = [
            ("warc-type", "response"),
            ("warc-target-uri", url),
            ("warc-date", date),
            ("warc-record-id", id),
            ("warc-payload-digest", &*digest),
        ];
        record(&headers, &format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}"))
    }

    #[test]
    fn a_payload_is_known_by_digest_by_address_and_date_or_by_id_and_never_against_the_digest() {
        let (body, other) = (payload_digest(b"body"), payload_digest(b"other"));
        let at = ("warc-refers-to-target-uri", "http://a.example/");
        let names: [(&[(&str, &str)], bool); 8] = [
            (&[("warc-payload-digest", &body)], true),
            (&[("warc-payload-digest", &other)], false),
            (&[at, ("warc-refers-to-date", "2024-01-01T00:00:00Z")], true),
            (&[at, ("warc-refers-to-date", "2025-01-01T00:00:00Z")], false),
            (&[at], true),
            (&[("warc-refers-to", "<urn:1>")], true),
            (&[("warc-payload-digest", &other), ("warc-refers-to", "<urn:1>"), at], false),
            (&[], false),
        ];
        let original = original("http://a.example/", "2024-01-01T00:00:00Z", "<urn:1>", "body");
        for (names, found) in names {
            let mut revisits = Revisits::new(MAX_WAITING);
            revisits.wait(revisit("http://b.example/", names));
            assert_eq!(revisits.take(&original).len(), usize::from(found), "{names:?}");
            assert_eq!(revisits.is_empty(), found);
            assert_eq!(revisits.next_look().0.len(), usize::from(!found));
        }
    }

    #[test]
    fn the_page_has_the_headers_of_its_own_answer_and_those_of_the_payload() {
        let limits = hapax_fetch::Limits::default();
        let original = original("http://a.example/", "2024-01-01T00:00:00Z", "<urn:1>", "body");
        let original = super::super::record::page_of(original, &limits).unwrap();
        let page = revisit("http://b.example/", &[]).page(&original).unwrap().unwrap();
        assert_eq!(
            (page.url.as_str(), &page.response.body[..]),
            ("http://b.example/", &b"body"[..])
        );
        assert_eq!(page.response.header("x"), Some("own"));
        assert_eq!(page.response.header("content-type"), Some("text/html"));
        assert!(revisit("http://a.example/", &[]).page(&original).unwrap().is_none());
    }

    #[test]
    fn waiting_revisits_stay_within_a_memory_budget_and_each_gets_its_turn() {
        let names: Vec<String> = (0..10).map(|n| format!("http://b.example/{n}")).collect();
        let two = 2 * revisit(&names[0], &[]).weight();
        let mut revisits = Revisits::new(two);
        let (mut seen, mut looks) = (Vec::new(), 0);
        loop {
            names.iter().for_each(|name| revisits.wait(revisit(name, &[])));
            assert!(revisits.bytes <= two && revisits.waiting.len() == 2);
            let (lost, again) = revisits.next_look();
            seen.extend(lost.iter().map(Url::to_string));
            looks += 1;
            if !again {
                break;
            }
        }
        assert_eq!((looks, seen), (5, names));
    }
}
