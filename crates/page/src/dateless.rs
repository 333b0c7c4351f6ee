//! The text of a page without its dates: equal for the months of a calendar without events.

use std::borrow::Cow;

use hapax_extract::{Document, for_each_word};
use url::Url;

use crate::difference::{changing, is_number};
use crate::evidence::HASH;

/// Maximum length of such a text in bytes. A page with more has something to say.
const MAX_TEXT: usize = 8 << 10;
/// Maximum number of links of such a page.
const MAX_LINKS: usize = 1_000;
/// The greatest number alone in its line that is a day.
const LAST_DAY: u32 = 31;

/// A page and its URL without dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dateless {
    /// Hash of the URL without dates and numbers.
    pub url: u64,
    /// Hash of the page without dates; `None` if its name has no date, or if it has a long text or many links.
    pub text: Option<u64>,
}

impl Dateless {
    /// Returns `None` if the URL has neither dates nor numbers.
    ///
    /// # Complexity
    /// Linear in the names; of a page with a date in them, linear in its text and its links.
    pub fn of(url: &Url, document: &Document) -> Option<Self> {
        Some(Self { url: url_without_dates(url)?, text: hash_without_dates(document) })
    }
}

/// Returns a hash of the words, images and links of a page without dates, counters and days of the month; `None` if its
/// names have no date, or if it has a long text or many links. Pages with equal hashes differ in dates only.
fn hash_without_dates(document: &Document) -> Option<u64> {
    let mut words = Undated::default();
    words.add(&document.title);
    words.add(&document.heading);
    if !words.dated || document.links.len() > MAX_LINKS {
        return None;
    }
    // Headlines of an archive may be outside the main text.
    let text = document.visible();
    // Without a text, nothing is known of what the page has besides dates.
    if text.is_empty() || text.len() > MAX_TEXT {
        return None;
    }
    text.lines().for_each(|line| words.add(line));
    let mut addresses: Vec<String> =
        document.links.iter().map(|link| undated(&link.url).0).collect();
    addresses.extend(document.images.iter().map(|image| image.url.to_string()));
    addresses.sort_unstable();
    addresses.dedup();
    words.bytes.extend(addresses.join("\n").bytes());
    Some(HASH.hash(&words.bytes))
}

/// Words without dates.
#[derive(Default)]
struct Undated {
    bytes: Vec<u8>,
    /// Whether there were dates.
    dated: bool,
}

impl Undated {
    fn add(&mut self, line: &str) {
        let mut words: Vec<String> = Vec::new();
        for_each_word(line, |word| words.push(word.to_owned()));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if let [day] = words[..]
            && day.parse().is_ok_and(|day: u32| day <= LAST_DAY)
        {
            return;
        }
        let dates = changing(&words);
        self.dated |= dates.contains(&true);
        for (word, is_date) in words.iter().zip(dates) {
            if !is_date {
                self.bytes.extend(word.bytes().chain([b' ']));
            }
        }
        self.bytes.push(b'\n');
    }
}

/// Returns the words of a URL without numbers and names of months and days, and whether it had any.
fn undated(url: &Url) -> (String, bool) {
    let (mut out, mut dated) = (String::new(), false);
    for_each_word(&percent_decoded(url.as_str()), |word| {
        if is_number(word) || changing(&[word]).contains(&true) {
            dated = true;
        } else {
            out.push_str(word);
            out.push(' ');
        }
    });
    (out, dated)
}

/// Decodes percent-encoding (RFC 3986, section 2.1): its digits are no numbers, and months may be in any script.
fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return text.into();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let digits = after.first_chunk::<2>().filter(|_| *byte == b'%');
        let decoded = digits
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(decoded.unwrap_or(*byte));
        rest = if decoded.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// Returns a hash of a URL without numbers and names of months and days; `None` if it has none. URLs of one calendar
/// have equal hashes.
pub fn url_without_dates(url: &Url) -> Option<u64> {
    let (words, dated) = undated(url);
    dated.then(|| HASH.hash(words.as_bytes()))
}

#[cfg(test)]
mod tests {
    use hapax_extract::{Limits, extract};

    use super::*;

    fn hash(body: &str) -> Option<u64> {
        let base = Url::parse("http://a.example/").unwrap();
        let page = format!("<title>Town</title><main>{body}</main>");
        let document = extract(&base, Some("text/html"), page.as_bytes(), &Limits::default());
        hash_without_dates(&document)
    }

    #[test]
    fn urls_of_one_calendar_have_equal_hashes() {
        let hash = |path: &str| {
            url_without_dates(&Url::parse("http://a.example/").unwrap().join(path).unwrap())
        };
        let first = hash("/events/2031/07/?view=month");
        assert!(first.is_some());
        for same in ["/events/2031/07/03?view=month", "/events/july-2031?view=month"] {
            assert_eq!(hash(same), first, "{same}");
        }
        assert_ne!(hash("/events/2031/07/?view=day-list"), first);
        assert_eq!(hash("/events?view=all"), None);
        assert_eq!(hash("/%D0%BF%D0%BE?x=%"), None, "the digits of an encoded letter");
        assert_eq!(hash("/m%C3%A4rz/x"), hash("/april/x"));
    }

    #[test]
    fn pages_that_differ_in_dates_only_have_equal_hashes() {
        let month = |name: &str, days: &str, link: &str| {
            hash(&format!(
                "<h1>{name}</h1><table><tr>{days}</tr></table><p>There are no events for {name}.</p>\
                 <a href=/events/{link}>next</a>"
            ))
        };
        let july = month("July 2031", "<td>30<td>31", "2031-08");
        assert!(july.is_some());
        assert_eq!(july, month("February 2019", "<td>27<td>28", "2019-03"));
        assert_eq!(july, month("June 2031", "<td>29<td>30", "july-2031"));
        let other = "<h1>July 2031</h1><p>There are no events for July 2031.</p>";
        for more in [
            "<p>The fair</p>",
            "<p>12 July 2031 Jazz night</p>",
            "<p>12.50 Euro</p>",
            "<a href=/fair>x</a>",
            "<img src=/2031/07.jpg>",
            "<img src=/2031/08.jpg>",
        ] {
            assert_ne!(hash(&format!("{other}{more}")), hash(other), "{more}");
        }
        let event = |name: &str| hash(&format!("{other}<p>12 July 2031 {name}</p>"));
        assert_ne!(event("Jazz night"), event("Summer fair"));
        let image = |number: u32| hash(&format!("{other}<img src=/{number}.jpg>"));
        assert_ne!(image(1), image(2));
        assert_eq!(hash("<h1>Screws 4 x 40</h1><p>Box of 200 pieces</p>"), None);
        assert_eq!(
            hash(&format!("<h1>July 2031</h1>{}", "It rained. ".repeat(MAX_TEXT / 10))),
            None
        );
    }
}
