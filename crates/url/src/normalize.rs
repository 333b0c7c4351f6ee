//! The URL normal form: two spellings of one address become one string.

use std::time::{SystemTime, UNIX_EPOCH};
use std::{borrow::Cow, ops::RangeInclusive};

use url::Url;

use crate::listed::{SESSIONS, TRACKING};

/// Limits on URLs from the web. A URL that exceeds one is a trap or an attack, and is logged as such.
#[derive(Clone, Debug)]
pub struct UrlLimits {
    /// Bytes of the whole URL. Default 2,048.
    pub max_length: usize,
    /// Segments of the path. Default 32.
    pub max_segments: usize,
    /// Parameters of the query. Default 16; eight times as many if removed ones are counted.
    pub max_parameters: usize,
    /// Occurrences of one segment in the path. Default 3.
    pub max_repeated_segment: usize,
    /// Years of dates in URLs. Later dates are traps, because calendars have no end. Earlier dates are accepted,
    /// because archives reach back. Default 1990 to 2035, later to five years from now.
    pub years: RangeInclusive<u32>,
    /// Whether to sort the parameters of a query, which not all servers accept. Default off.
    pub sort_query: bool,
}

impl Default for UrlLimits {
    fn default() -> Self {
        Self {
            max_length: 2048,
            max_segments: 32,
            max_parameters: 16,
            max_repeated_segment: 3,
            years: 1990..=2035.max(this_year() + 5),
            sort_query: false,
        }
    }
}

fn this_year() -> u32 {
    const SECONDS_A_YEAR: u64 = 31_556_952;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // A wrong clock must not allow all dates.
    1970 + (since.as_secs() / SECONDS_A_YEAR).min(200) as u32
}

/// Why a URL is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// It is not http or https, or has no host.
    Scheme,
    /// It exceeds a limit of [`UrlLimits`].
    Trap(Trap),
}

/// The limit of [`UrlLimits`] that a URL exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trap {
    /// Its length.
    Length,
    /// The number of its segments.
    Segments,
    /// The number of its parameters.
    Parameters,
    /// How often a segment is repeated.
    RepeatedSegment,
    /// The year of a date.
    Calendar,
}

impl Trap {
    /// Returns the name of the limit in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Length => "url-length",
            Self::Segments => "path-segments",
            Self::Parameters => "query-parameters",
            Self::RepeatedSegment => "repeated-segment",
            Self::Calendar => "calendar",
        }
    }
}

impl std::fmt::Display for Trap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Factor on [`UrlLimits::max_parameters`] if removed parameters are counted.
const WITH_IDLE: usize = 8;

/// Returns the normal form of an absolute URL: the WHATWG serialization without fragment, user info, tracking
/// parameters, session ids, and an empty `?`.
///
/// # Errors
/// [`Rejected`] if a crawler should not follow the URL.
///
/// # References
/// WHATWG URL standard; RFC 3986, section 6.2.
pub fn normalize(url: &Url, limits: &UrlLimits) -> Result<Url, Rejected> {
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(Rejected::Scheme);
    }
    if url.as_str().len() > limits.max_length {
        return Err(Rejected::Trap(Trap::Length));
    }
    let mut url = url.clone();
    url.set_fragment(None);
    if !url.username().is_empty() || url.password().is_some() {
        // Fails only for URLs without a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
    }
    if let Some(host) = url.host_str().filter(|host| host.ends_with('.')) {
        let host = host.trim_end_matches('.').to_owned();
        if url.set_host(Some(&host)).is_err() {
            return Err(Rejected::Scheme);
        }
    }
    if url.as_str().contains('%') {
        if let Some(path) = plainly_encoded(url.path()) {
            url.set_path(&path);
        }
        if let Some(query) = url.query().and_then(plainly_encoded) {
            url.set_query(Some(&query));
        }
    }
    if let Some(query) = url.query() {
        let most = limits.max_parameters;
        // Counted before any is inspected: a page may have millions of them.
        if query.split('&').count() > most.max(1).saturating_mul(WITH_IDLE) {
            return Err(Rejected::Trap(Trap::Parameters));
        }
        let idle = |pair: &&str| pair.is_empty() || TRACKING.has(pair) || SESSIONS.has(pair);
        let kept = query.split('&').filter(|pair| !idle(pair));
        let mut kept: Vec<&str> = kept.take(most.saturating_add(1)).collect();
        if kept.len() > most {
            return Err(Rejected::Trap(Trap::Parameters));
        }
        if limits.sort_query {
            kept.sort_unstable();
        }
        let kept = kept.join("&");
        url.set_query((!kept.is_empty()).then_some(&kept));
    }
    if url.path().contains(';') {
        let path = without_sessions(url.path());
        url.set_path(&path);
    }
    if has_far_date(&url, &limits.years) {
        return Err(Rejected::Trap(Trap::Calendar));
    }
    let segments: Vec<&str> = url.path_segments().into_iter().flatten().collect();
    if segments.len() > limits.max_segments {
        return Err(Rejected::Trap(Trap::Segments));
    }
    let repeated = |segment: &str| segments.iter().filter(|other| **other == segment).count();
    if segments
        .iter()
        .any(|segment| !segment.is_empty() && repeated(segment) > limits.max_repeated_segment)
    {
        return Err(Rejected::Trap(Trap::RepeatedSegment));
    }
    // The host may have become longer: `1..` is the address 0.0.0.1.
    if url.as_str().len() > limits.max_length {
        return Err(Rejected::Trap(Trap::Length));
    }
    Ok(url)
}

/// Returns the parameters of an address that [`normalize`] removes: those of [`UrlLimits::max_parameters`] times eight
/// pairs at most, and those of path segments. The text may have any case: `PHPSESSID`.
pub fn removed_parameters<'u>(url: &'u Url, limits: &UrlLimits) -> Vec<&'u str> {
    let name = |pair: &'u str| pair.split_once('=').map_or(pair, |(name, _)| name);
    let pairs = url.query().into_iter().flat_map(|query| query.split('&'));
    let pairs = pairs.take(limits.max_parameters.saturating_mul(WITH_IDLE));
    let in_path = url.path().split('/').flat_map(|segment| segment.split(';').skip(1));
    let in_path = in_path.take(limits.max_segments).filter(|pair| SESSIONS.has(pair));
    let removed = pairs.filter(|pair| TRACKING.has(pair) || SESSIONS.has(pair));
    removed.chain(in_path).map(name).filter(|name| !name.is_empty()).collect()
}

/// Removes session ids that servlets append to segments: `/shop;jsessionid=1A2B/cart`.
fn without_sessions(path: &str) -> String {
    let bare = |segment: &str| {
        let mut parts = segment.split(';');
        let name = parts.next().unwrap_or_default();
        let kept = parts.filter(|pair| !SESSIONS.has(pair));
        std::iter::once(name).chain(kept).collect::<Vec<_>>().join(";")
    };
    path.split('/').map(bare).collect::<Vec<_>>().join("/")
}

/// Decodes percent-encoded unreserved characters, and uppercases other digits (RFC 3986, 6.2.2). `None` if nothing
/// changes. Each part of a path or query is decoded independently, so that removing one never affects another.
fn plainly_encoded(text: &str) -> Option<String> {
    let out: String = text
        .split_inclusive(['/', ';', '&'])
        .map(|part| plain_part(part).map_or(Cow::Borrowed(part), Cow::Owned))
        .collect();
    (out != text).then_some(out)
}

/// Decodes one part. Returns `None` if a `%` is invalid, because decoding could complete it.
fn plain_part(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let (before, encoded) = rest.split_at(at);
        out.push_str(before);
        let digits = encoded.get(1..3).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        let byte = u8::from_str_radix(digits, 16).map_or('%', char::from);
        // A dot is not decoded: it might create a `..` segment.
        if byte.is_ascii_alphanumeric() || matches!(byte, '-' | '_' | '~') {
            out.push(byte);
        } else {
            out.push('%');
            out.push_str(&digits.to_ascii_uppercase());
        }
        rest = encoded.get(3..).unwrap_or_default();
    }
    out.push_str(rest);
    Some(out)
}

const CALENDAR: [&str; 20] = [
    "agenda",
    "archive",
    "archives",
    "cal",
    "calendar",
    "calendario",
    "calendars",
    "calendrier",
    "day",
    "days",
    "event",
    "events",
    "kalendar",
    "kalender",
    "month",
    "months",
    "schedule",
    "schedules",
    "termine",
    "week",
];
/// Numbers of four digits from here on are not years.
const NO_YEAR: u32 = 3000;

/// Returns whether a date in the URL (`/calendar/2041/7/`, `2041-07-01`, `year=2041&month=7`) is after the last year.
/// Two numbers alone are not a date: `/thread/4711/2` is the second page of a thread.
fn has_far_date(url: &Url, years: &RangeInclusive<u32>) -> bool {
    let number = |text: &str, max: usize| {
        let digits = (1..=max).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| digits)
    };
    let segments: Vec<&str> = url.path_segments().into_iter().flatten().collect();
    let is_calendar =
        |segment: &&str| CALENDAR.iter().any(|word| segment.eq_ignore_ascii_case(word));
    let has_calendar = segments.iter().any(is_calendar);
    let far = |year: u32| year < NO_YEAR && year > *years.end();
    let year = |text: &&str| text.len() == 4 && number(text, 4).is_some_and(far);
    let below = |text: &&str, most: u32| number(text, 2).is_some_and(|n| (1..=most).contains(&n));
    let dated = |parts: &[&str]| {
        let whole = parts
            .windows(3)
            .any(|p| matches!(p, [y, m, d] if year(y) && below(m, 12) && below(d, 31)));
        let begun = || parts.windows(2).any(|p| matches!(p, [y, m] if year(y) && below(m, 12)));
        whole || has_calendar && begun()
    };
    let (mut far_year, mut has_month) = (false, false);
    for (name, value) in
        url.query().unwrap_or_default().split('&').filter_map(|p| p.split_once('='))
    {
        let name = name.to_ascii_lowercase();
        far_year |= matches!(name.as_str(), "year" | "y" | "yr")
            && number(value, 9).is_some_and(|year| year > *years.end());
        has_month |= matches!(name.as_str(), "month" | "m" | "mon" | "week" | "day");
        if dated(&value.split(['-', '/', '.']).collect::<Vec<_>>()) {
            return true;
        }
    }
    far_year && has_month
        || has_calendar && dated(&segments)
        || segments.iter().any(|segment| dated(&segment.split(['-', '.']).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normal(url: &str) -> Result<String, Rejected> {
        normalize(&Url::parse(url).unwrap(), &UrlLimits::default()).map(String::from)
    }

    #[test]
    fn spellings_of_one_address_become_one() {
        for (url, expected) in [
            ("HTTP://A.Example:80/x/../y#top", "http://a.example/y"),
            ("http://user:pw@a.example/", "http://a.example/"),
            ("http://a.example./?", "http://a.example/"),
            ("http:0l0../", "http://0l0/"),
            ("http://a.example/x;jsessionid=1A2B?y=1", "http://a.example/x?y=1"),
            ("http://a.example/shop;jsessionid=1/cart", "http://a.example/shop/cart"),
            ("http://a.example/x;v=1;JSESSIONID=1;w=2/y;cfid=3", "http://a.example/x;v=1;w=2/y"),
            ("http://a.example/x;jsessionid=1/y;b=c", "http://a.example/x/y;b=c"),
            ("http://a.example/x?PHPSESSID=1a2b&y=1", "http://a.example/x?y=1"),
            ("http://a.example/a;b=c", "http://a.example/a;b=c"),
            ("http://a.example/?utm_source=x&id=7&fbclid=q", "http://a.example/?id=7"),
            ("http://a.example/?UTM_Medium=x", "http://a.example/"),
            ("http://a.example/?b=2&a=1", "http://a.example/?b=2&a=1"),
            ("https://a.example:443/ü", "https://a.example/%C3%BC"),
            ("http://a.example/%7euser/%c3%bc?q=%7E%2f", "http://a.example/~user/%C3%BC?q=~%2F"),
            ("http://a.example/%2e%2E/%zz/%", "http://a.example/%zz/%"),
            ("http://a.example/?utm_s=%&q=%c3%bc", "http://a.example/?q=%C3%BC"),
            ("http://a.example/x;jsessionid=%/%c3%bc", "http://a.example/x/%C3%BC"),
            ("http://a.example/talk?session_id=5", "http://a.example/talk?session_id=5"),
            ("http://a.example/?session_id=0123456789abcdef", "http://a.example/"),
            ("http://a.example/src?scm=git", "http://a.example/src?scm=git"),
        ] {
            assert_eq!(normal(url).as_deref(), Ok(expected), "{url}");
        }
    }

    #[test]
    fn traps_and_other_schemes_are_named() {
        assert_eq!(normal("mailto:a@b.example"), Err(Rejected::Scheme));
        assert_eq!(normal("file:///etc/passwd"), Err(Rejected::Scheme));
        let long = format!("http://a.example/{}", "x".repeat(3000));
        assert_eq!(normal(&long), Err(Rejected::Trap(Trap::Length)));
        let grows = format!("http://1../{}", "x".repeat(2037));
        assert_eq!((grows.len(), normal(&grows)), (2048, Err(Rejected::Trap(Trap::Length))));
        assert_eq!(normal("http://1../x").as_deref(), Ok("http://0.0.0.1/x"));
        assert_eq!(
            normal("http://a.example/a/b/a/b/a/b/a/b"),
            Err(Rejected::Trap(Trap::RepeatedSegment))
        );
        let deep =
            format!("http://a.example/{}", (0..40).map(|i| format!("{i}/")).collect::<String>());
        assert_eq!(normal(&deep), Err(Rejected::Trap(Trap::Segments)));
        let query: String = (0..20).map(|i| format!("p{i}=1&")).collect();
        assert_eq!(
            normal(&format!("http://a.example/?{query}")),
            Err(Rejected::Trap(Trap::Parameters))
        );
    }

    #[test]
    fn removed_query_parameters_are_limited_too() {
        let with = |idle: usize, kept: usize| {
            let pairs = (0..idle).map(|_| "utm_s=1".to_owned());
            let pairs: Vec<String> = pairs.chain((0..kept).map(|i| format!("p{i}"))).collect();
            normal(&format!("http://a.example/?{}", pairs.join("&")))
        };
        let limit = UrlLimits::default().max_parameters;
        let most = limit * WITH_IDLE;
        assert_eq!(with(most, 0).as_deref(), Ok("http://a.example/"));
        assert!(with(most - limit, limit).unwrap().ends_with("&p15"));
        let refused = Err(Rejected::Trap(Trap::Parameters));
        assert_eq!(with(most + 1, 0), refused);
        assert_eq!(with(most - limit - 1, limit + 1), refused);
        assert_eq!(normal(&format!("http://a.example/?{}", "&".repeat(most))), refused);
        let free = UrlLimits { max_parameters: usize::MAX, ..UrlLimits::default() };
        let many = Url::parse(&format!("http://a.example/?{}", ["a"; 900].join("&"))).unwrap();
        assert_eq!(normalize(&many, &free).as_ref(), Ok(&many));
        let none = UrlLimits { max_parameters: 0, ..UrlLimits::default() };
        let bare = Url::parse("http://a.example/?").unwrap();
        assert_eq!(normalize(&bare, &none).unwrap().as_str(), "http://a.example/");
    }

    #[test]
    fn calendars_end_and_other_numbers_do_not_matter() {
        for url in [
            "http://a.example/Calendar/2147/7/",
            "http://a.example/events/2050-01-02",
            "http://a.example/cal?month=3&year=2147",
            "http://a.example/cal?date=2050-1-1",
        ] {
            assert_eq!(normal(url), Err(Rejected::Trap(Trap::Calendar)), "{url}");
        }
        for url in [
            "http://a.example/archives/1865/4/15/",
            "http://a.example/monthly/1985/07/",
            "http://a.example/monthly/2085/07/",
            "http://a.example/determinations/1985/03/12/",
            "http://a.example/calendar/1985/07/",
            "http://a.example/cal?month=3&year=1754",
            "http://a.example/news?date=1945-05-08",
            "http://a.example/photos/1945-05-08-berlin",
            "http://a.example/driver-9000.1.2",
            "http://a.example/docs/8000.1.1/",
            "http://a.example/2026/11/21/news",
            "http://a.example/item/4711/2",
            "http://a.example/cal?month=3&year=2026",
            "http://a.example/painting?year=1642",
            "http://a.example/v2050-99",
            "http://a.example/rfc/9309",
        ] {
            assert_eq!(normal(url).as_deref(), Ok(url));
        }
    }

    #[test]
    fn a_query_is_sorted_only_when_asked() {
        let url = Url::parse("http://a.example/?b=2&a=1").unwrap();
        let sorting = UrlLimits { sort_query: true, ..UrlLimits::default() };
        assert_eq!(normalize(&url, &sorting).unwrap().as_str(), "http://a.example/?a=1&b=2");
        assert_eq!(normalize(&url, &UrlLimits::default()).unwrap(), url);
    }

    #[test]
    fn parameters_that_the_normal_form_lacks_are_named() {
        let removed = |url: &str| {
            let url = Url::parse(&format!("http://a.example{url}")).unwrap();
            removed_parameters(&url, &UrlLimits::default()).join(" ")
        };
        assert_eq!(removed("/x?a=1&utm_source=y&PHPSESSID=7"), "utm_source PHPSESSID");
        assert_eq!(removed("/x;jsessionid=1A?a=1"), "jsessionid");
        assert_eq!(removed("/x;v=1?a=1&session_id=5&="), "");
        let many = format!("/x?{}utm_source=1", "a=1&".repeat(16 * WITH_IDLE));
        assert_eq!(removed(&many), "", "beyond the limit of parameters");
    }

    const PIECES: [&str; 15] = [
        "/",
        ";",
        "jsessionid",
        "=1",
        "a",
        "%",
        "..",
        "%2e",
        "?",
        "&",
        "utm%5fx",
        "37E",
        "utm_s%",
        "%c3",
        "%%37e",
    ];

    proptest! {
        #[test]
        fn session_ids_are_gone_after_one_pass(
            pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..24),
        ) {
            let url = Url::parse(&format!("http://a.example/{}", pieces.concat())).unwrap();
            if let Ok(once) = normalize(&url, &UrlLimits::default()) {
                let listed = |pair: &str| SESSIONS.has(pair);
                let mut segments = once.path().split('/');
                prop_assert!(!segments.any(|segment| segment.split(';').skip(1).any(listed)));
                let twice = normalize(&Url::parse(once.as_str()).unwrap(), &UrlLimits::default());
                prop_assert_eq!(Ok(once), twice);
            }
        }

        #[test]
        fn the_normal_form_is_its_own_normal_form(path in "[a-z/.%?&=#;:@ é中-]{0,60}") {
            if let Ok(url) = Url::parse(&format!("http://a.example/{path}"))
                && let Ok(once) = normalize(&url, &UrlLimits::default()) {
                let twice = normalize(&Url::parse(once.as_str()).unwrap(), &UrlLimits::default());
                prop_assert_eq!(Ok(once), twice);
            }
        }
    }
}
