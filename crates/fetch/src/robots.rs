//! Parses robots.txt (RFC 9309) and requests it.

mod token;

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use encoding_rs::{UTF_16BE, UTF_16LE};
use url::Url;

use crate::client::Fetcher;
use crate::error::Kind;

pub use self::token::robots_token;

/// Further rules are ignored.
const MAX_RULES: usize = 20_000;
/// Parameter names of all Clean-param lines; further ones are ignored.
const MAX_CLEAN: usize = 256;
/// Reservations per host; further ones are ignored.
const MAX_RESERVATIONS: usize = 16;
const MAX_SITEMAPS: usize = 100;
/// RFC 9309, 2.3.1.2: at least five consecutive redirects are followed.
pub const MAX_ROBOTS_REDIRECTS: u32 = 5;
/// Default pause before each redirect of a robots.txt.
pub const ROBOTS_PAUSE: Duration = Duration::from_secs(1);

/// Begin of a reservation by a licence.
const RSL: &str = "rsl: ";

/// The rules of one host for one robot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Robots {
    rules: Vec<Rule>,
    /// Minimum delay between requests that the host requires.
    pub crawl_delay: Option<Duration>,
    /// URLs of sitemaps, as written.
    pub sitemaps: Vec<String>,
    /// Rights that the group reserves (Content-Signal), or the host (RSL): `content-signal: ai-train=no`, `rsl: URL`
    /// with the URL as written.
    pub reservations: Vec<String>,
    /// Query parameters that do not change the page, and the path prefix where this holds (Clean-param).
    clean: Vec<(Vec<String>, String)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Rule {
    allow: bool,
    pattern: String,
    line: usize,
}

/// Outcome of the request for a host's robots.txt.
#[derive(Clone, Debug)]
pub enum RobotsAnswer {
    /// The file, for [`Robots::parse`]; empty if it is absent (any 4xx except 429).
    Text(Vec<u8>),
    /// A server error or no answer. RFC 9309, 2.3.1.4: assume that everything is disallowed.
    Unreachable(Unreachable),
    /// The guard refuses the host's address.
    Refused,
}

/// Why a robots.txt could not be read.
#[derive(Clone, Debug)]
pub struct Unreachable {
    /// The failure of the request; `None` for a status that forbids conclusions, such as 503.
    pub kind: Option<Kind>,
    /// A description for people.
    pub detail: String,
    /// The response's Retry-After.
    pub retry_after: Option<Duration>,
}

impl Unreachable {
    /// A request that got no response.
    pub fn failed(error: &crate::Error) -> Self {
        Self { kind: Some(error.kind()), detail: error.to_string(), retry_after: None }
    }
}

impl Robots {
    /// Returns the reservations with the absolute addresses of licences, for a page of the host.
    pub fn reservations_at(&self, page: &Url) -> Vec<String> {
        let file = page.join("/robots.txt").ok();
        let absolute = |reservation: &String| {
            let url = reservation.strip_prefix(RSL).and_then(|url| file.as_ref()?.join(url).ok());
            url.map_or_else(|| reservation.clone(), |url| format!("{RSL}{url}"))
        };
        let mut all = Vec::with_capacity(self.reservations.len());
        for reservation in self.reservations.iter().map(absolute) {
            if !reservation.starts_with(RSL) || !all.contains(&reservation) {
                all.push(reservation);
            }
        }
        all
    }

    /// Parses a robots.txt for the robot with the product token of `agent`.
    ///
    /// Merges all groups that name the agent; if no group does, those of `*` (RFC 9309, 2.2.1).
    pub fn parse(body: &[u8], agent: &str) -> Self {
        let text = text_of(body).replace("\r\n", "\n");
        let agent = product_token(agent);
        let mut own = Self::default();
        let mut any = Self::default();
        let mut own_named = false;
        let (mut sitemaps, mut clean, mut names_left) = (Vec::new(), Vec::new(), MAX_CLEAN);
        let mut licenses = Vec::new();
        let (mut in_own, mut in_any, mut reading_agents) = (false, false, false);
        for (number, line) in text.split(['\n', '\r']).enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = key_and_value(line) else { continue };
            match key {
                "user-agent" => {
                    if !reading_agents {
                        (in_own, in_any, reading_agents) = (false, false, true);
                    }
                    let name = product_token(value);
                    if names_all(value) {
                        in_any = true;
                    } else if name == agent && !agent.is_empty() {
                        in_own = true;
                        own_named = true;
                    }
                }
                "allow" | "disallow" => {
                    reading_agents = false;
                    let pattern = normal_pattern(value);
                    let rule = Rule { allow: key == "allow", pattern, line: number + 1 };
                    for (inside, group) in [(in_own, &mut own), (in_any, &mut any)] {
                        // An empty Disallow forbids nothing.
                        if inside && !value.is_empty() && group.rules.len() < MAX_RULES {
                            group.rules.push(rule.clone());
                        }
                    }
                }
                // Not a rule: user agents after it belong to the same group (RFC 9309, 2.2.4).
                "crawl-delay" => {
                    let delay = seconds(value);
                    for (inside, group) in [(in_own, &mut own), (in_any, &mut any)] {
                        if inside {
                            group.crawl_delay = delay.max(group.crawl_delay);
                        }
                    }
                }
                // contentsignals.org: `ai-train=no, search=yes`, with a path before it in some files.
                "content-signal" => {
                    for (inside, group) in [(in_own, &mut own), (in_any, &mut any)] {
                        if inside {
                            group.add_signals(value);
                        }
                    }
                }
                // RSL 1.0: the licence of the whole host.
                "license" if !value.is_empty() && licenses.len() < MAX_RESERVATIONS => {
                    licenses.push(format!("{RSL}{value}"));
                }
                "sitemap" if !value.is_empty() && sitemaps.len() < MAX_SITEMAPS => {
                    sitemaps.push(value.to_owned());
                }
                // Yandex, which defined it: it applies to all robots, in any group.
                "clean-param" => {
                    let (names, path) = clean_param(value, names_left);
                    names_left -= names.len();
                    if !names.is_empty() {
                        clean.push((names, path));
                    }
                }
                _ => {}
            }
        }
        let mut robots = if own_named { own } else { any };
        robots.sitemaps = sitemaps;
        robots.reservations.extend(licenses);
        robots.clean = clean;
        robots
    }

    /// Adds the signals of a Content-Signal line that say no.
    fn add_signals(&mut self, value: &str) {
        let value = value.to_ascii_lowercase();
        let value = value.split('=').map(str::trim).collect::<Vec<_>>().join("=");
        let signals = value.split(|c: char| c == ',' || c.is_whitespace());
        let refused = signals.filter(|signal| signal.ends_with("=no"));
        let room = MAX_RESERVATIONS.saturating_sub(self.reservations.len());
        self.reservations.extend(refused.take(room).map(|no| format!("content-signal: {no}")));
    }

    /// Returns the URL without the parameters that do not change the page; `None` if it has none of them.
    pub fn clean(&self, url: &Url) -> Option<Url> {
        let query = url.query()?;
        let applies = |path: &str| path == "/" || matches(path, url.path());
        let names =
            self.clean.iter().filter(|(_, path)| applies(path)).flat_map(|(names, _)| names);
        let names: Vec<&String> = names.collect();
        let kept: Vec<&str> = query
            .split('&')
            .filter(|pair| {
                let name = pair.split('=').next().unwrap_or_default();
                !names.iter().any(|clean| *clean == name)
            })
            .collect();
        let kept = kept.join("&");
        if kept == query {
            return None;
        }
        let mut url = url.clone();
        url.set_query((!kept.is_empty()).then_some(&kept));
        Some(url)
    }

    /// Returns whether a URL may be fetched, and the line of the rule that decides.
    ///
    /// The longest matching pattern decides; if lengths are equal, Allow (RFC 9309, 2.2.2).
    pub fn allows(&self, url: &Url) -> (bool, Option<usize>) {
        if url.path() == "/robots.txt" {
            return (true, None);
        }
        let path = subject(url);
        let best = self
            .rules
            .iter()
            .filter(|rule| matches(&rule.pattern, &path))
            .max_by_key(|rule| (rule.pattern.len(), rule.allow));
        best.map_or((true, None), |rule| (rule.allow, Some(rule.line)))
    }
}

/// Returns whether the value of a User-agent line names all robots. As in Google's parser, white space and any text
/// may follow the star.
fn names_all(value: &str) -> bool {
    let rest = value.strip_prefix('*');
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// Parses a Crawl-delay, at most a day: the number at its start, also quoted, with a decimal comma or before a unit.
fn seconds(value: &str) -> Option<Duration> {
    let is_before = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '+');
    let value = value.trim_start_matches(is_before);
    let mut points = 0;
    let end = value.find(|c: char| {
        let is_point = matches!(c, '.' | ',');
        points += u32::from(is_point);
        !(c.is_ascii_digit() || is_point && points == 1)
    });
    let number = value.get(..end.unwrap_or(value.len()))?.replace(',', ".");
    let seconds = number.parse::<f64>().ok().filter(|s| s.is_finite())?;
    Some(Duration::from_secs_f64(seconds.min(86_400.0)))
}

/// Parses a Clean-param line: at most `most` names, and the prefix of the paths.
fn clean_param(value: &str, most: usize) -> (Vec<String>, String) {
    let mut words = value.split_whitespace();
    let names = words.next().unwrap_or_default().split('&');
    let names = names.filter(|name| !name.is_empty()).take(most).map(str::to_owned).collect();
    (names, words.next().unwrap_or("/").trim_end_matches('*').to_owned())
}

/// Returns key and value of a line. Like Google's parser, accepts a missing colon between two words and common
/// misspellings of keys.
fn key_and_value(line: &str) -> Option<(&'static str, &str)> {
    let (key, value) = match line.split_once(':') {
        Some(both) => both,
        None => {
            let (key, value) = line.trim().split_once(char::is_whitespace)?;
            let value = value.trim();
            (!value.contains(char::is_whitespace)).then_some((key, value))?
        }
    };
    let key = key.trim().to_ascii_lowercase();
    let begins = KEYS.iter().find(|(start, _)| key.starts_with(start)).map(|(_, key)| *key);
    let known = begins.or(match key.as_str() {
        "crawl-delay" | "crawldelay" | "crawl delay" => Some("crawl-delay"),
        "content-signal" => Some("content-signal"),
        "license" => Some("license"),
        "clean-param" => Some("clean-param"),
        _ => None,
    });
    Some((known?, value.trim()))
}

/// Beginnings of keys and what they mean. Google's parser compares only the beginning: `Disallowed` forbids too.
const KEYS: [(&str, &str); 12] = [
    ("user-agent", "user-agent"),
    ("useragent", "user-agent"),
    ("user agent", "user-agent"),
    ("allow", "allow"),
    ("disallow", "disallow"),
    ("dissallow", "disallow"),
    ("dissalow", "disallow"),
    ("disalow", "disallow"),
    ("diasllow", "disallow"),
    ("disallaw", "disallow"),
    ("sitemap", "sitemap"),
    ("site-map", "sitemap"),
];

/// Returns the text of a file: UTF-16 with a byte order mark is decoded. Bytes that are not UTF-8 are percent-encoded,
/// as the URL of a link on a page in the same charset.
fn text_of(body: &[u8]) -> Cow<'_, str> {
    for encoding in [UTF_16LE, UTF_16BE] {
        let mark: &[u8] = if encoding == UTF_16LE { b"\xFF\xFE" } else { b"\xFE\xFF" };
        if let Some(text) = body.strip_prefix(mark) {
            return encoding.decode_without_bom_handling(text).0;
        }
    }
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    if let Ok(text) = std::str::from_utf8(body) {
        return text.into();
    }
    let mut text = String::with_capacity(body.len());
    for chunk in body.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("%{byte:02X}")));
    }
    text.into()
}

/// Fetches the robots.txt of a URL's host.
///
/// Sleeps for `pause` before each redirect, at most [`MAX_ROBOTS_REDIRECTS`] times: the next request may go to the
/// same host, or to any other. Use the delay between requests, or [`ROBOTS_PAUSE`].
pub async fn fetch_robots(fetcher: &Fetcher, url: &Url, pause: Duration) -> RobotsAnswer {
    let Ok(mut at) = url.join("/robots.txt") else {
        let detail = "no robots.txt address".into();
        return RobotsAnswer::Unreachable(Unreachable { kind: None, detail, retry_after: None });
    };
    for hop in 0..=MAX_ROBOTS_REDIRECTS {
        if hop > 0 {
            tokio::time::sleep(pause).await;
        }
        let response = match fetcher.get_robots(&at).await {
            Ok(response) => response,
            Err(error) if error.kind() == Kind::PrivateAddress => return RobotsAnswer::Refused,
            Err(error) => return RobotsAnswer::Unreachable(Unreachable::failed(&error)),
        };
        match (response.status, response.redirect()) {
            (200..=299, _) => {
                let text = whole_lines(&response.body, fetcher.limits().max_robots);
                return RobotsAnswer::Text(text.to_vec());
            }
            (300..=399, Some(next)) => at = next,
            // 429 says nothing about the rules: treat it as a server error.
            (status @ (429 | 500..), _) => {
                let retry_after = response.retry_after(SystemTime::now());
                let detail = format!("status {status}");
                return RobotsAnswer::Unreachable(Unreachable { kind: None, detail, retry_after });
            }
            _ => return RobotsAnswer::Text(Vec::new()),
        }
    }
    // RFC 9309, 2.3.1.2: after more than five redirects the file may count as unavailable, so everything is allowed.
    RobotsAnswer::Text(Vec::new())
}

/// Removes an incomplete last line if the file reaches `most` bytes: a truncated rule could match more than intended.
fn whole_lines(body: &[u8], most: usize) -> &[u8] {
    if body.len() < most {
        return body;
    }
    let text = body.get(..most).unwrap_or(body);
    let end = text.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(0);
    text.get(..end).unwrap_or(text)
}

/// Returns the product name before the version, in lower case: `foobot2` for `FooBot2/1.2`. Unlike RFC 9309, 2.2.1,
/// digits belong to the name: `FooBot2` and `FooBot` are two crawlers.
fn product_token(value: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let end = value.find(|c| !is_name(c)).unwrap_or(value.len());
    value.get(..end).unwrap_or_default().to_ascii_lowercase()
}

/// Returns the text of a URL that patterns are compared with: path and query, normalised.
pub(crate) fn subject(url: &Url) -> String {
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    normal_path(&format!("{}{query}", url.path()))
}

/// Normalises a path. A `*` or `$` in it is what a pattern writes as `%2A` or `%24` (RFC 9309, 2.2.3).
fn normal_path(path: &str) -> String {
    normal(path).replace('*', "%2A").replace('$', "%24")
}

/// Normalises a pattern: `$` is special only at its end.
pub(crate) fn normal_pattern(pattern: &str) -> String {
    let pattern = normal(pattern);
    match pattern.strip_suffix('$') {
        Some(rest) => rest.replace('$', "%24") + "$",
        None => pattern.replace('$', "%24"),
    }
}

/// Normalises percent-encoding: decodes unreserved characters, encodes all others in upper case (RFC 9309, 2.2.2).
fn normal(path: &str) -> String {
    let mut bytes = path.bytes().peekable();
    let mut out = String::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut ahead = bytes.clone();
            let hex = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16));
            if let (Some(high), Some(low)) = (hex(ahead.next()), hex(ahead.next())) {
                let value = (high * 16 + low) as u8;
                bytes = ahead;
                if value.is_ascii_alphanumeric() || b"-._~".contains(&value) {
                    out.push(char::from(value));
                } else {
                    out.push_str(&format!("%{value:02X}"));
                }
                continue;
            }
        }
        // The URL parser encodes these characters (WHATWG URL, path and query percent-encode sets); robots.txt often
        // has them unencoded.
        if byte.is_ascii_graphic() && !b"\"'<>\\^`{|}".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Returns whether a path matches a pattern: `*` matches any characters, a final `$` the end.
///
/// # Complexity
/// O(pattern x path): it never backtracks over an earlier star.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, anchored) = match pattern.strip_suffix('$') {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(previous) = last.replace(part) {
            let Some(at) = rest.find(previous) else { return false };
            rest = rest.get(at + previous.len()..).unwrap_or_default();
        }
    }
    match (last, anchored) {
        (None, true) => rest.is_empty(),
        (None, false) => true,
        (Some(part), true) => rest.ends_with(part),
        (Some(part), false) => rest.contains(part),
    }
}

#[cfg(test)]
mod tests;
