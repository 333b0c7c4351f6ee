//! The text of a page without its dates and the numbers of its URL: equal for the months of a calendar without events,
//! and for the pages behind the end of a list.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::RangeInclusive;

use hapax_extract::{Document, for_each_word};
use url::Url;

use crate::difference::{changing, is_number, of_dates};
use crate::evidence::HASH;
use crate::glued::{pieces_of_date, pieces_of_url};

/// Maximum length of such a text in bytes. A page with more has something to say.
const MAX_TEXT: usize = 8 << 10;
/// The same for a page whose names have no date and no number of its URL.
const MAX_UNNAMED: usize = 2 << 10;
/// Maximum number of links of such a page.
const MAX_LINKS: usize = 1_000;
/// The greatest week number. Days are smaller.
const LAST_WEEK: u32 = 53;
const LAST_MONTH: u32 = 12;
const YEAR_DIGITS: usize = 4;
/// Numbers that are years beside a month, as in 10/2026.
const YEARS: RangeInclusive<u32> = 1000..=2999;
/// Number of days that every month has. From this day on, the first of the next month may follow.
const DAYS: u32 = 28;
/// Maximum number of days in the view of a week, which may have one of the next.
const WEEK: usize = 8;
/// Minimum percentage of the numbers of a calendar that follow each other as days do. The other numbers are those of weeks.
const IN_ORDER: usize = 70;

/// A page and its URL without dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dateless {
    /// Hash of the URL without dates and numbers.
    pub url: u64,
    /// Hash of the page without dates. Without a date in its names, also without the numbers of its URL, which then must
    /// be in its names or its query. `None` for other pages, and for those with a long text or many links.
    pub text: Option<u64>,
}

impl Dateless {
    /// Returns `None` if the URL has neither dates nor numbers.
    ///
    /// # Complexity
    /// Linear in the names; of a page with such names or such a query, linear in its text and its links.
    pub fn of(url: &Url, document: &Document) -> Option<Self> {
        let hash = url_without_dates(url)?;
        Some(Self { url: hash, text: hash_without_dates(url, hash, document) })
    }
}

/// Returns a hash of the words, images and links of a page. Pages with equal hashes differ only in dates, counters and
/// days of the month if the names have a date, otherwise only in dates, the numbers of their URLs, and pagers.
fn hash_without_dates(url: &Url, own: u64, document: &Document) -> Option<u64> {
    if document.links.len() > MAX_LINKS {
        return None;
    }
    let mut words = Undated { numbers: numbers_of(url), ..Undated::default() };
    words.add_name(&document.title);
    words.add_name(&document.heading);
    let by_query = || url.query().is_some_and(|query| query.contains(|c: char| c.is_ascii_digit()));
    let most = if words.dated || words.numbered {
        MAX_TEXT
    } else if by_query() {
        MAX_UNNAMED
    } else {
        return None;
    };
    // Headlines of an archive may be outside the main text.
    let text = document.visible();
    // Without a text, nothing is known of what the page has besides dates.
    if text.is_empty() || text.len() > most {
        return None;
    }
    let mut addresses: Vec<String> = Vec::new();
    let mut others: Vec<&Url> = Vec::new();
    for link in &document.links {
        let (address, dated) = undated(&link.url);
        if dated && HASH.hash(address.as_bytes()) == own {
            words.siblings.extend(numbers_of(&link.url));
            addresses.push(address);
        } else if link.url.host() != url.host() {
            // It may share this page.
            addresses.push(address);
        } else {
            others.push(&link.url);
        }
    }
    // Links to other numbers lead to other documents.
    let of_other = |link: &&Url| if words.dated { words.undated(link) } else { link.to_string() };
    addresses.extend(others.iter().map(of_other));
    text.lines().for_each(|line| words.add(line));
    words.end();
    addresses.extend(document.images.iter().map(|image| image.url.to_string()));
    addresses.sort_unstable();
    addresses.dedup();
    words.bytes.extend(addresses.join("\n").bytes());
    Some(HASH.hash(&words.bytes))
}

/// Returns the numbers of a URL's path and query.
fn numbers_of(url: &Url) -> HashSet<String> {
    let mut numbers = HashSet::new();
    for text in [url.path(), url.query().unwrap_or_default()] {
        for_each_word(&percent_decoded(text), |word| {
            let numbered = pieces_of_date(word).into_iter().filter(|piece| is_number(piece));
            numbers.extend(numbered.map(|piece| unpadded(piece).to_owned()));
        });
    }
    numbers
}

/// Removes leading zeros: a page may write month 05 of its URL as 5.
fn unpadded(number: &str) -> &str {
    let digits = number.trim_start_matches('0');
    if digits.starts_with(|c: char| c.is_ascii_digit()) { digits } else { number }
}

/// Words without dates and certain numbers.
#[derive(Default)]
struct Undated {
    bytes: Vec<u8>,
    /// Numbers of the page's URL.
    numbers: HashSet<String>,
    /// Numbers of the URLs of links to its siblings.
    siblings: HashSet<String>,
    /// Whether the names have a date, a counter or the number of a section.
    dated: bool,
    /// Whether they have a number of the URL.
    numbered: bool,
    /// Numbers alone in their lines on a dated page.
    alone: Vec<u32>,
}

/// Returns whether numbers are the days of a month, a week or a year in order. Days of adjacent months and week numbers
/// may stand among them.
fn are_days(numbers: &[u32]) -> bool {
    let follows = |pair: &[u32]| match pair {
        [day, next] => *next == day + 1 || *day >= DAYS && *next == 1,
        _ => false,
    };
    let in_order = numbers.windows(2).filter(|pair| follows(pair)).count();
    match numbers.len() {
        0 => true,
        1 => false,
        2..=WEEK => in_order + 1 == numbers.len(),
        count => (1..=DAYS).all(|day| numbers.contains(&day)) && in_order * 100 >= IN_ORDER * count,
    }
}

impl Undated {
    fn add_name(&mut self, name: &str) {
        let words = words_of(name);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let varies = self.varying(&words, changing(&words));
        self.dated |= varies.contains(&true);
        self.numbered |= words.iter().any(|word| self.numbers.contains(unpadded(word)));
        self.put(&words, &varies);
    }

    fn add(&mut self, line: &str) {
        let words = words_of(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let alone = match words[..] {
            [word] if self.dated => word.parse().ok().filter(|number| *number <= LAST_WEEK),
            _ => None,
        };
        if let Some(number) = alone {
            self.alone.push(number);
        } else if !words.iter().all(|word| self.is_of_pager(word)) {
            let varies = if self.dated { self.changing(&words) } else { of_dates(&words) };
            self.put(&words, &self.varying(&words, varies));
        }
    }

    /// Returns for each word whether it is of a date, or a number of the URL where it counts or names a section or page.
    fn changing(&self, words: &[&str]) -> Vec<bool> {
        let (changing, of_dates) = (changing(words), of_dates(words));
        let each = words.iter().zip(changing).zip(of_dates);
        each.map(|((word, changes), dated)| dated || changes && self.is_of_url(word)).collect()
    }

    /// Adds the numbers that stood alone, unless they are the days of a calendar.
    fn end(&mut self) {
        if !are_days(&self.alone) {
            let numbers = std::mem::take(&mut self.alone);
            self.bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
    }

    fn is_of_url(&self, number: &str) -> bool {
        let number = unpadded(number);
        self.siblings.contains(number) || self.numbers.contains(number)
    }

    /// Returns whether a word is a number of this URL or its siblings, or a year and a month of two links without a space
    /// between them.
    fn is_of_pager(&self, word: &str) -> bool {
        let is_glued = || {
            let halves = [
                word.split_at_checked(YEAR_DIGITS),
                word.len().checked_sub(YEAR_DIGITS).and_then(|at| word.split_at_checked(at)),
            ];
            halves.into_iter().flatten().any(|(one, other)| self.date_of(one, other).is_some())
        };
        self.is_of_url(word)
            || (YEAR_DIGITS + 1..=YEAR_DIGITS + 2).contains(&word.len()) && is_glued()
    }

    /// Returns a year and a month of URLs, in any order.
    fn date_of(&self, one: &str, other: &str) -> Option<(u32, u32)> {
        let number = |word: &str| word.parse::<u32>().ok().filter(|_| self.is_of_url(word));
        let (one, other) = (number(one)?, number(other)?);
        let (month, year) = (one.min(other), one.max(other));
        ((1..=LAST_MONTH).contains(&month) && YEARS.contains(&year)).then_some((year, month))
    }

    /// Returns a URL of a dated page without names of months and the numbers of this URL and its siblings. If it has a year
    /// of those, also without numbers of days and weeks. Other numbers name a document.
    fn undated(&self, url: &Url) -> String {
        let text = percent_decoded(url.as_str());
        let mut has_year = false;
        for_each_piece(&text, |word| {
            has_year |= word.len() >= YEAR_DIGITS && is_number(word) && self.is_of_url(word);
        });
        let mut out = String::new();
        for_each_piece(&text, |word| {
            let is_small = || word.parse::<u32>().is_ok_and(|number| number <= LAST_WEEK);
            let varies = match is_number(word) {
                true => self.is_of_url(word) || has_year && is_small(),
                false => changing(&[word]).contains(&true),
            };
            if !varies {
                out.push_str(word);
                out.push(' ');
            }
        });
        out
    }

    /// Marks a month and a year of URLs beside each other as a date, as in 10/2026.
    fn varying(&self, words: &[&str], mut varies: Vec<bool>) -> Vec<bool> {
        for (at, pair) in words.windows(2).enumerate() {
            if let [one, other] = pair
                && self.date_of(one, other).is_some()
            {
                varies.iter_mut().skip(at).take(2).for_each(|varies| *varies = true);
            }
        }
        varies
    }

    /// Adds the words that do not vary.
    fn put(&mut self, words: &[&str], varies: &[bool]) {
        for (word, varies) in words.iter().zip(varies) {
            if !varies && (self.dated || !self.numbers.contains(unpadded(word))) {
                self.bytes.extend(word.bytes().chain([b' ']));
            }
        }
        self.bytes.push(b'\n');
    }
}

fn words_of(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for_each_piece(line, |word| words.push(word.to_owned()));
    words
}

/// Visits the words of a text, and the pieces of those that are dates.
fn for_each_piece(text: &str, mut visit: impl FnMut(&str)) {
    for_each_word(text, |word| pieces_of_date(word).into_iter().for_each(&mut visit));
}

/// Returns the words of a URL without numbers and names of months and days, and whether it had any.
fn undated(url: &Url) -> (String, bool) {
    let (mut out, mut dated) = (String::new(), false);
    for_each_word(&percent_decoded(url.as_str()), |word| {
        for piece in pieces_of_url(word) {
            if is_number(piece) || changing(&[piece]).contains(&true) {
                dated = true;
            } else {
                out.push_str(piece);
                out.push(' ');
            }
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
        hash_without_dates(&base, 0, &document)
    }

    /// The hash of a list's page.
    fn list(path: &str, page: &str) -> Option<u64> {
        let url = Url::parse("http://a.example/").unwrap().join(path).unwrap();
        let document = extract(&url, Some("text/html"), page.as_bytes(), &Limits::default());
        Dateless::of(&url, &document)?.text
    }

    #[test]
    fn pages_behind_the_end_of_a_list_have_equal_hashes() {
        let beyond = |number: u32, more: &str| {
            let near: String = (number - 2..number + 3)
                .map(|near| format!("<a href=/news/page/{near}>{near}</a> "))
                .collect();
            let page = format!(
                "<title>News, page {number}</title><h1>News, page {number}</h1><p>Page {number} of the list of news. \
                 Nothing was found here.</p><p>{near}</p>{more}"
            );
            list(&format!("/news/page/{number}"), &page)
        };
        assert!(beyond(40, "").is_some());
        assert_eq!(beyond(40, ""), beyond(417, ""));
        assert_ne!(beyond(40, ""), beyond(41, "<p>A headline of this page.</p>"));
        for more in ["<p>In all 93 reports.</p>", "<p>93</p>", "<a href=/files/41.html>File</a>"] {
            assert_ne!(beyond(40, ""), beyond(41, more), "{more}");
        }
        let file = |number: u32| beyond(number, &format!("<a href=/files/{number}.html>File</a>"));
        assert_ne!(file(40), file(41), "links to different documents");
        let link = "<a href=/files/93.html>File</a>";
        assert_ne!(beyond(40, link), beyond(40, &format!("{link}<p>93</p>")), "no pager");
        let share = |number: u32| format!("<a href=http://b.example/share?page={number}>Share</a>");
        assert_eq!(beyond(40, &share(40)), beyond(41, &share(41)));
        // Without a number in the names, one in the query suffices.
        let page = |more: &str| {
            format!("<title>Reports</title><h1>Reports</h1><p>There are no more reports.{more}</p>")
        };
        let short = list("/list?page=4", &page(""));
        assert!(short.is_some());
        assert_eq!(short, list("/list?page=5", &page("")));
        assert_eq!(list("/list/5", &page("")), None);
        assert_eq!(list("/list?page=4", &page(&" It rained.".repeat(MAX_UNNAMED / 11))), None);
    }

    #[test]
    fn quarters_and_weeks_beside_a_year_are_dates() {
        let period = |year: u32, number: u32, form: &dyn Fn(u32, u32) -> String, name: &str| {
            let (before, after) = (form(year, number - 1), form(year, number + 1));
            let page = format!(
                "<title>{name}{number} {year}</title><h1>{name}{number} {year}</h1><p>There are no events.</p>\
                 <a href=/c/{before}>before</a> <a href=/c/{after}>after</a>"
            );
            list(&format!("/c/{}", form(year, number)), &page)
        };
        for (name, form) in [
            ("Q", &(|year, number| format!("{year}Q{number}")) as &dyn Fn(u32, u32) -> String),
            ("Quarter ", &|year, number| format!("{year}-Q{number}")),
            ("Week ", &|year, number| format!("{year}-W{number:02}")),
            ("W", &|year, number| format!("{year}w{number}")),
        ] {
            let first = period(2031, 2, form, name);
            assert!(first.is_some(), "{name}");
            assert_eq!(first, period(1987, 3, form, name), "{name}");
        }
        let model = |name: &str| list("/c/2031Q2", &format!("<h1>Q2 2031</h1><p>{name}</p>"));
        for (one, other) in [("mp3", "mp4"), ("h264", "h265"), ("covid19", "covid20")] {
            assert_ne!(model(one), model(other));
        }
    }

    #[test]
    fn months_as_numbers_are_dates() {
        let month = |year: u32, month: u32, (space, padded): (&str, bool), more: &str| {
            let at = year * 12 + month - 1;
            let link = |at: u32| {
                let (year, month) = (at / 12, at % 12 + 1);
                format!("<a href=/calendar/{year}/{month:02}>{month:02}/{year}</a>")
            };
            let days: String = (1..=28 + month % 4).map(|day| format!("<td>{day}</td>")).collect();
            let name = if padded { format!("{month:02}") } else { month.to_string() };
            let page = format!(
                "<title>{name}/{year}</title>{}{space}{}<table><tr>{days}</table>{more}",
                link(at - 1),
                link(at + 1)
            );
            list(&format!("/calendar/{year}/{month:02}"), &page)
        };
        let spaces = ["", " ", "<br>"];
        for form in spaces.map(|space| (space, true)).into_iter().chain([(" ", false)]) {
            let october = month(2026, 10, form, "");
            assert!(october.is_some());
            for (year, number) in
                [(2026, 11), (2026, 9), (2025, 1), (2025, 12), (1999, 4), (1800, 5)]
            {
                assert_eq!(month(year, number, form, ""), october, "{number}/{year} {form:?}");
            }
            let document = |number: u32| format!("<a href=/minutes/{number}>Minutes</a>");
            let with = |number: u32, document: &str| month(2026, number, form, document);
            assert_ne!(with(10, &document(4711)), with(11, &document(4712)));
            for more in [
                "<p>The fair</p>",
                "<p>3 seats</p>",
                "<p>2048</p>",
                "<p>911</p>",
                "<a href=/fair>x</a>",
            ] {
                assert_ne!(month(2026, 11, form, more), october, "{more}");
            }
        }
    }

    #[test]
    fn urls_of_one_calendar_have_equal_hashes() {
        let hash = |path: &str| {
            url_without_dates(&Url::parse("http://a.example/").unwrap().join(path).unwrap())
        };
        let first = hash("/events/2031/07/?view=month");
        assert!(first.is_some());
        for same in [
            "/events/2031/07/03?view=month",
            "/events/july-2031?view=month",
            "/events/jul2031?view=month",
        ] {
            assert_eq!(hash(same), first, "{same}");
        }
        for (one, other) in [
            ("/q/2031Q3", "/q/2030Q4"),
            ("/q/2031-Q3", "/q/2030-Q4"),
            ("/w/2031-W07", "/w/2030-W52"),
            ("/c/y2031m07", "/c/y2030m11"),
            ("/c/next12", "/c/next2"),
        ] {
            assert!(hash(one).is_some() && hash(one) == hash(other), "{one} {other}");
        }
        assert_ne!(hash("/events/2031/07/?view=day-list"), first);
        assert_eq!(hash("/events?view=all"), None);
        assert_eq!(hash("/%D0%BF%D0%BE?x=%"), None, "the digits of an encoded letter");
        assert_eq!(hash("/m%C3%A4rz/x"), hash("/april/x"));
    }

    #[test]
    fn pages_that_differ_in_dates_only_have_equal_hashes() {
        let month = |name: &str, (path, link): (&str, &str), days: &[u32]| {
            let cells: String = days.iter().map(|day| format!("<td>{day}</td>")).collect();
            let page = format!(
                "<h1>{name}</h1><table><tr>{cells}</tr></table><p>There are no events for {name}.</p>\
                 <a href=/events/{link}>next</a><a href=/print/{path}>print</a>"
            );
            list(&format!("/events/{path}"), &page)
        };
        let days = |last: u32| (1..=last).collect::<Vec<u32>>();
        let july = month("July 2031", ("2031-07", "2031-08"), &days(31));
        assert!(july.is_some());
        for (days, why) in [
            (days(30), "a month"),
            ([vec![29, 30, 31], days(30), days(5)].concat(), "with days of others"),
            (
                (1..=28)
                    .flat_map(|day| [day].into_iter().chain((day % 7 == 0).then(|| 20 + day / 7)))
                    .collect(),
                "with weeks",
            ),
            (vec![28, 29, 30, 31, 1, 2, 3], "a week"),
            (days(31).repeat(12), "a year"),
        ] {
            assert_eq!(july, month("February 2019", ("2019-02", "2019-03"), &days), "{why}");
        }
        assert_eq!(july, month("June 2031", ("june-2031", "july-2031"), &days(30)));
        for (numbers, why) in [
            (vec![3, 9, 17, 22, 28, 31], "drawn"),
            (days(31).iter().flat_map(|day| [*day, day * 7 % 30]).collect(), "measured"),
            (vec![17], "counted"),
        ] {
            assert_ne!(july, month("February 2019", ("2019-02", "2019-03"), &numbers), "{why}");
        }
        let other = "<h1>July 2031</h1><p>There are no events for July 2031.</p>";
        for more in [
            "<p>The fair</p>",
            "<p>12 July 2031 Jazz night</p>",
            "<p>12.50 Euro</p>",
            "<p>4711 visitors</p>",
            "<a href=/fair>x</a>",
            "<a href=/minutes/93>x</a>",
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
