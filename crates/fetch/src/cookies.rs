//! Cookies in memory, sent back only to the host that set them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use reqwest::cookie::CookieStore;
use reqwest::header::HeaderValue;
use url::Url;

use time::{Date, Month, OffsetDateTime, Time};

/// Cookies per host; the oldest is removed first.
const MAX_COOKIES: usize = 50;
/// Bytes of a cookie's name, value and path; a larger cookie is ignored.
const MAX_COOKIE: usize = 4096;
/// Hosts; the one that was added first is removed first.
const MAX_HOSTS: usize = 10_000;
/// Bytes of all cookies; hosts are removed as above.
const MAX_BYTES: usize = 64 << 20;
/// Maximum lifetime of a cookie (RFC 6265bis, section 5.6.2).
const MAX_AGE: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// Cookies by RFC 6265, except that Domain is ignored: a cookie is sent back only to the host that set it, so no
/// public suffix list is needed.
#[derive(Debug)]
pub(crate) struct Jar {
    max_hosts: usize,
    max_bytes: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    hosts: HashMap<String, Host>,
    /// Hosts in the order in which they were added.
    order: BTreeMap<u64, String>,
    next: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Host {
    number: u64,
    /// Oldest first.
    cookies: Vec<Cookie>,
}

#[derive(Debug)]
struct Cookie {
    name: String,
    value: String,
    path: String,
    secure: bool,
    /// Expiry; `None`: lives as long as the crawl.
    until: Option<SystemTime>,
}

impl Default for Jar {
    fn default() -> Self {
        Self { max_hosts: MAX_HOSTS, max_bytes: MAX_BYTES, held: Mutex::default() }
    }
}

impl CookieStore for Jar {
    fn set_cookies(&self, headers: &mut dyn Iterator<Item = &HeaderValue>, url: &Url) {
        for header in headers.filter_map(|header| std::str::from_utf8(header.as_bytes()).ok()) {
            self.set(header, url, SystemTime::now());
        }
    }

    fn cookies(&self, url: &Url) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.of(url, SystemTime::now())?).ok()
    }
}

impl Jar {
    fn set(&self, header: &str, url: &Url, now: SystemTime) {
        let Some(host) = url.host_str() else { return };
        let Some(cookie) = Cookie::parse(header, url, now) else { return };
        let safe = url.scheme() == "https";
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.set(host, cookie, safe, now);
        while held.hosts.len() > self.max_hosts || held.bytes > self.max_bytes {
            held.forget_oldest();
        }
    }

    /// Returns the Cookie header of a request.
    pub(crate) fn of(&self, url: &Url, now: SystemTime) -> Option<String> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let host = held.hosts.get(url.host_str()?)?;
        let safe = url.scheme() == "https";
        let goes = |cookie: &&Cookie| {
            (safe || !cookie.secure)
                && cookie.is_alive(now)
                && path_matches(url.path(), &cookie.path)
        };
        let mut chosen: Vec<&Cookie> = host.cookies.iter().filter(goes).collect();
        // RFC 6265, section 5.4: longer paths first; the sort is stable.
        chosen.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<String> =
            chosen.iter().map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

impl Held {
    fn set(&mut self, host: &str, mut cookie: Cookie, safe: bool, now: SystemTime) {
        let Self { hosts, order, next, bytes } = self;
        let same = |old: &Cookie| old.name == cookie.name && old.path == cookie.path;
        let known = hosts.get(host).map(|host| host.cookies.as_slice()).unwrap_or_default();
        // RFC 6265bis, section 5.7: an attacker on an insecure connection cannot replace a secure cookie.
        let hides = |old: &Cookie| {
            old.secure && old.name == cookie.name && path_matches(&cookie.path, &old.path)
        };
        if !safe && (cookie.secure || known.iter().any(hides)) {
            return;
        }
        if !cookie.is_alive(now) && !known.iter().any(same) {
            return;
        }
        let entry = hosts.entry(host.to_owned()).or_insert_with(|| {
            *next += 1;
            order.insert(*next, host.to_owned());
            Host { number: *next, cookies: Vec::new() }
        });
        let at = entry.cookies.iter().position(same);
        if let Some(old) = at.and_then(|at| entry.cookies.get_mut(at)) {
            std::mem::swap(old, &mut cookie);
            *bytes = *bytes + old.size() - cookie.size();
        } else {
            *bytes += cookie.size();
            entry.cookies.push(cookie);
        }
        let gone = |cookie: &Cookie| !cookie.is_alive(now);
        *bytes -=
            entry.cookies.iter().filter(|cookie| gone(cookie)).map(Cookie::size).sum::<usize>();
        entry.cookies.retain(|cookie| !gone(cookie));
        if entry.cookies.len() > MAX_COOKIES {
            *bytes -= entry.cookies.remove(0).size();
        }
        if entry.cookies.is_empty() {
            order.remove(&entry.number);
            hosts.remove(host);
        }
    }

    fn forget_oldest(&mut self) {
        let Some((_, name)) = self.order.pop_first() else { return };
        if let Some(host) = self.hosts.remove(&name) {
            self.bytes -= host.cookies.iter().map(Cookie::size).sum::<usize>();
        }
    }
}

impl Cookie {
    /// Parses Set-Cookie (RFC 6265, section 5.2). Returns `None` if it is invalid or too large.
    fn parse(header: &str, url: &Url, now: SystemTime) -> Option<Self> {
        let mut parts = header.split(';');
        let (name, value) = parts.next()?.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let (mut path, mut secure) = (default_path(url), false);
        let (mut expires, mut max_age) = (None, None);
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.trim();
            match key.trim().to_ascii_lowercase().as_str() {
                "path" if value.starts_with('/') => path = value.to_owned(),
                "path" => path = default_path(url),
                "secure" => secure = true,
                "max-age" => max_age = seconds(value).or(max_age),
                "expires" => expires = date(value).or(expires),
                _ => {}
            }
        }
        let until = max_age.map(|age| now + age).or(expires);
        let until = until.map(|until| until.min(now + MAX_AGE));
        let cookie = Self { name: name.to_owned(), value: value.to_owned(), path, secure, until };
        let fits = !name.is_empty() && cookie.size() <= MAX_COOKIE;
        fits.then_some(cookie)
    }

    fn size(&self) -> usize {
        self.name.len() + self.value.len() + self.path.len()
    }

    fn is_alive(&self, now: SystemTime) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// Parses a Max-Age: a negative one is zero, a long one is capped.
fn seconds(value: &str) -> Option<Duration> {
    let (negative, digits) = value.strip_prefix('-').map_or((false, value), |rest| (true, rest));
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let seconds = if negative { 0 } else { digits.parse().unwrap_or(u64::MAX) };
    Some(Duration::from_secs(seconds).min(MAX_AGE))
}

/// Returns the folder of the URL (RFC 6265, section 5.1.4).
fn default_path(url: &Url) -> String {
    let end = url.path().rfind('/').unwrap_or(0).max(1);
    url.path().get(..end).unwrap_or("/").to_owned()
}

/// Returns whether the path of a URL is within that of a cookie (RFC 6265, section 5.1.4).
fn path_matches(path: &str, of: &str) -> bool {
    path.strip_prefix(of)
        .is_some_and(|rest| rest.is_empty() || of.ends_with('/') || rest.starts_with('/'))
}

/// Parses a date with its parts in any order and with any separators (RFC 6265, section 5.1.1).
fn date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == ':'));
    for part in parts.filter(|part| !part.is_empty()) {
        let number = part.parse::<u64>().ok().filter(|_| part.len() <= 4);
        let named = part.get(..3).map(str::to_ascii_lowercase);
        let named = named.and_then(|name| MONTHS.iter().position(|month| *month == name));
        if time.is_none() && part.contains(':') {
            let mut fields = part.split(':').map(|field| field.parse::<u64>().ok());
            let fields = (fields.next()??, fields.next()??, fields.next()??);
            time = Some(fields);
        } else if day.is_none() && part.len() <= 2 && number.is_some() {
            day = number;
        } else if month.is_none() && named.is_some() {
            month = named;
        } else if year.is_none() && number.is_some() {
            year = number;
        }
    }
    let ((hour, minute, second), day, month) = (time?, day?, month? + 1);
    let year = match year? {
        year @ 0..=69 => year + 2000,
        year @ 70..=99 => year + 1900,
        year => year,
    };
    let small = |number: u64| u8::try_from(number).ok();
    let month = Month::try_from(small(month as u64)?).ok()?;
    let year = i32::try_from(year).ok().filter(|year| *year >= 1970)?;
    let date = Date::from_calendar_date(year, month, small(day)?).ok()?;
    let time = Time::from_hms(small(hour)?, small(minute)?, small(second)?).ok()?;
    Some(OffsetDateTime::new_utc(date, time).into())
}

#[cfg(test)]
mod tests;
