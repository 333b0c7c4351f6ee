//! Rules that the causes of duplicates suggest.

use std::collections::HashMap;

use hapax_data::{Row, Rows};
use hapax_url::Cause;
use url::Url;

use crate::error::Result;

/// Required number of duplicates that a rule explains.
const MIN_DUPLICATES: u64 = 4;
/// Maximum number of rules that are counted, and of those that are tried: those with the most duplicates.
const MAX_COUNTED: usize = 50_000;
const MAX_TRIED: usize = 200;
/// Rules about values of parameters that are counted: random values must not displace the other rules.
const MAX_VALUES: usize = MAX_COUNTED / 2;
/// Longest value of a parameter in a rule, in bytes. Longer ones are seldom repeated.
const MAX_VALUE: usize = 64;
/// A pattern names literal folders up to this one.
const FOLDERS: usize = 2;

/// A rule, and the duplicates that suggest it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) rule: String,
    pub(super) cause: String,
    pub(super) duplicates: u64,
    pub(super) bytes: u64,
    /// Addresses of a discarded and a kept page.
    pub(super) example: (String, String),
}

/// Returns the rules with the most duplicates. Wider rules come before narrower ones with as many.
pub(super) fn candidates(rows: &Rows) -> Result<Vec<Candidate>> {
    let mut found: HashMap<String, Candidate> = HashMap::new();
    for row in rows.discarded() {
        count(rows, row, &mut found)?;
    }
    let mut all: Vec<Candidate> =
        found.into_values().filter(|candidate| candidate.duplicates >= MIN_DUPLICATES).collect();
    all.sort_by(|a, b| {
        let order =
            |c: &Candidate| (std::cmp::Reverse(c.duplicates), order_of(&c.rule), c.rule.len());
        order(a).cmp(&order(b)).then_with(|| a.rule.cmp(&b.rule))
    });
    all.truncate(MAX_TRIED);
    Ok(all)
}

/// A rule that requests another address says more than one that skips addresses.
fn order_of(rule: &str) -> u8 {
    match rule.split(' ').next() {
        Some("host-alias") => 0,
        Some("drop-parameter") => 1,
        _ => 2,
    }
}

fn count(rows: &Rows, row: &Row, found: &mut HashMap<String, Candidate>) -> Result<()> {
    let entry = rows.entry(row)?;
    let (Ok(url), Ok(of)) = (Url::parse(&entry.url), Url::parse(&entry.of.url)) else {
        return Ok(());
    };
    for (rule, cause) in suggested(&url, &of, &entry.cause) {
        let most = if is_about_value(&rule, &cause) { MAX_VALUES } else { MAX_COUNTED };
        if found.len() >= most && !found.contains_key(&rule) {
            continue;
        }
        let candidate = found.entry(rule.clone()).or_insert_with(|| Candidate {
            rule,
            cause,
            example: (entry.url.clone(), entry.of.url.clone()),
            ..Candidate::default()
        });
        candidate.duplicates += 1;
        candidate.bytes += entry.bytes;
    }
    Ok(())
}

/// Returns the rules that would not have requested an address, each with its cause.
fn suggested(url: &Url, of: &Url, causes: &[String]) -> Vec<(String, String)> {
    let host = authority(url);
    let mut rules = Vec::new();
    let mut in_path = None;
    for name in causes {
        match Cause::parse(name) {
            Some(Cause::Parameter(parameter)) if is_one_word(&parameter) => {
                rules.push((format!("drop-parameter {parameter} {host}/"), name.clone()));
                if let Some(folder) = first_folder(url) {
                    rules
                        .push((format!("drop-parameter {parameter} {host}{folder}"), name.clone()));
                }
                rules.extend(
                    other_values(url, of, &parameter)
                        .into_iter()
                        .map(|pattern| (format!("skip {host}{pattern}"), name.clone())),
                );
            }
            Some(Cause::Scheme | Cause::Www | Cause::Mirror) => {
                let origin = |url: &Url| format!("{}://{}", url.scheme(), authority(url));
                rules.push((format!("host-alias {} {}", origin(url), origin(of)), name.clone()));
            }
            Some(Cause::Mobile | Cause::Amp | Cause::Print | Cause::Language)
                if host != authority(of) && url.path() == of.path() =>
            {
                let origin = |url: &Url| format!("{}://{}", url.scheme(), authority(url));
                rules.push((format!("host-alias {} {}", origin(url), origin(of)), name.clone()));
            }
            Some(Cause::Parameter(_) | Cause::SessionId) | None => {}
            Some(Cause::TrailingSlash) => {
                if let Some(folder) = first_folder(url).filter(|_| url.path().ends_with('/')) {
                    rules.push((format!("skip {host}{folder}*/$"), name.clone()));
                }
            }
            Some(_) => {
                in_path.get_or_insert(name.clone());
            }
        }
    }
    if let Some(cause) = in_path {
        rules.extend(
            patterns(url, of).into_iter().map(|rule| (format!("skip {host}{rule}"), cause.clone())),
        );
    }
    // An alias needs two hosts.
    rules.retain(|(rule, _)| {
        let mut words = rule.split(' ');
        words.next() != Some("host-alias") || words.next() != words.next()
    });
    rules
}

/// Returns whether a rule skips a value of a parameter.
pub(super) fn is_about_value(rule: &str, cause: &str) -> bool {
    rule.starts_with("skip ") && cause.starts_with("parameter:")
}

/// Returns patterns of the value of a parameter if the kept page has another value. A crawl by them requests the kept
/// address; the address without the parameter may not exist.
fn other_values(url: &Url, of: &Url, parameter: &str) -> Vec<String> {
    let pairs = |url: &Url| -> Vec<String> {
        url.query().unwrap_or_default().split('&').map(str::to_owned).collect()
    };
    let is_own = |pair: &String| pair.split('=').next() == Some(parameter);
    let (own, other) = (pairs(url), pairs(of));
    let Some(at) = own.iter().position(is_own) else { return Vec::new() };
    let Some(pair) = own.get(at) else { return Vec::new() };
    let clean = pair.len() <= parameter.len() + 1 + MAX_VALUE
        && pair.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'*' | b'$' | b'%'));
    let is_once = own.iter().filter(|pair| is_own(pair)).count() == 1;
    if !clean || !is_once || !other.iter().any(is_own) || other.contains(pair) {
        return Vec::new();
    }
    let before = if at == 0 { '?' } else { '&' };
    let after = if at + 1 == own.len() { '$' } else { '&' };
    let folders = std::iter::once("/".to_owned()).chain(first_folder(url));
    folders.map(|folder| format!("{folder}*{before}{pair}{after}")).collect()
}

/// Returns patterns of the path that the kept page's address does not match.
fn patterns(url: &Url, of: &Url) -> Vec<String> {
    let segments =
        |url: &Url| -> Vec<String> { url.path().split('/').skip(1).map(str::to_owned).collect() };
    let (own, other) = (segments(url), segments(of));
    // The first segment in which the addresses differ, and the last one.
    let at = own.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let mut found = Vec::new();
    let clean = |text: &str| !text.is_empty() && !text.contains(['*', '$', ' ', '%']);
    let is_last =
        at + 1 >= own.len() || at + 2 == own.len() && own.last().is_some_and(String::is_empty);
    if let Some(segment) = own.get(at).filter(|segment| clean(segment)) {
        let folder = own.get(..at).unwrap_or_default();
        let before: String = folder.iter().map(|name| format!("/{name}")).collect();
        if !is_last {
            if at <= FOLDERS {
                found.push(format!("{before}/{segment}/"));
            }
            if at > 0 {
                found.push(format!("/*/{segment}/"));
                let first = own.first().filter(|name| clean(name));
                found
                    .extend(first.filter(|_| at > 1).map(|first| format!("/{first}/*/{segment}/")));
            }
        }
    }
    if let Some(last) = own.last().filter(|last| clean(last) && other.last() != Some(last)) {
        if own.len() > 1 {
            found.push(format!("/*/{last}$"));
        }
        // A suffix: `7.amp.html`, `7-print.html`.
        for suffix in
            [".amp.html", ".amp", "-amp.html", "-print.html", "_print.html", ".print.html"]
        {
            if last.len() > suffix.len() && last.ends_with(suffix) {
                found.push(format!("/*{suffix}$"));
            }
        }
    }
    found
}

/// Returns host and port as addresses have them.
fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn first_folder(url: &Url) -> Option<String> {
    let first = url.path().split('/').nth(1).filter(|first| is_one_word(first))?;
    (url.path().len() > first.len() + 1 && !first.contains(['*', '$']))
        .then(|| format!("/{first}/"))
}

/// Returns whether a text is one word of a rule.
fn is_one_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace) && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_a_parameter_is_skipped_if_the_kept_page_has_another_one() {
        let found = |url: &str, of: &str| -> Vec<String> {
            let causes = hapax_data::causes_of(url, of, "");
            let [url, of] = [url, of].map(|url| Url::parse(url).unwrap());
            let rules: Vec<String> = suggested(&url, &of, &causes)
                .into_iter()
                .filter(|(rule, cause)| is_about_value(rule, cause))
                .map(|(rule, _)| rule)
                .collect();
            for rule in &rules {
                let rules = hapax_url::GivenRules::parse(rule).unwrap();
                assert!(matches!(rules.apply(&url), hapax_url::Applied::Skipped { .. }), "{rule}");
                assert_eq!(rules.apply(&of), hapax_url::Applied::Unchanged, "{rule} {of}");
            }
            rules
        };
        assert_eq!(
            found("http://a.example/shop/1?sort=b", "http://a.example/shop/1?sort=a"),
            ["skip a.example/*?sort=b$", "skip a.example/shop/*?sort=b$"]
        );
        assert_eq!(
            found("http://a.example/1?x=1&sort=b&y=2", "http://a.example/1?x=1&sort=a&y=2"),
            ["skip a.example/*&sort=b&"]
        );
        assert_eq!(
            found("http://a.example/1?sort=b&y=2", "http://a.example/1?sort=bb&y=2"),
            ["skip a.example/*?sort=b&"]
        );
        let long = format!("http://a.example/1?sort={}", "b".repeat(MAX_VALUE + 1));
        for (url, of) in [
            ("http://a.example/1?sort=b", "http://a.example/1"),
            ("http://a.example/1?sort=b*", "http://a.example/1?sort=a"),
            ("http://a.example/1?sort=%20", "http://a.example/1?sort=a"),
            ("http://a.example/1?sort=b&sort=c", "http://a.example/1?sort=a"),
            (long.as_str(), "http://a.example/1?sort=a"),
        ] {
            assert_eq!(found(url, of), Vec::<String>::new(), "{url}");
        }
    }

    #[test]
    fn causes_suggest_rules_that_exclude_the_discarded_address_only() {
        for (url, of, expected) in [
            (
                "http://a.example/shop/1?sort=up",
                "http://a.example/shop/1",
                &["drop-parameter sort a.example/", "drop-parameter sort a.example/shop/"][..],
            ),
            ("http://a.example/print/7", "http://a.example/7", &["skip a.example/print/"]),
            ("http://a.example/x/7/print", "http://a.example/x/7", &["skip a.example/*/print$"]),
            ("http://a.example/de/x", "http://a.example/en/x", &["skip a.example/de/"]),
            (
                "http://a.example/docs/1.0/x",
                "http://a.example/docs/2.0/x",
                &["skip a.example/docs/1.0/", "skip a.example/*/1.0/"],
            ),
            (
                "http://a.example/7.amp.html",
                "http://a.example/7.html",
                &["skip a.example/*.amp.html$"],
            ),
            (
                "http://a.example/x",
                "https://a.example/x",
                &["host-alias http://a.example https://a.example"],
            ),
            (
                "http://m.a.example/x",
                "http://a.example/x",
                &["host-alias http://m.a.example http://a.example"],
            ),
            (
                "http://b.example/x",
                "http://a.example/x",
                &["host-alias http://b.example http://a.example"],
            ),
            ("http://a.example/x/", "http://a.example/x", &["skip a.example/x/*/$"]),
        ] {
            let causes = hapax_data::causes_of(url, of, "");
            let [url, of] = [url, of].map(|url| Url::parse(url).unwrap());
            let found: Vec<_> =
                suggested(&url, &of, &causes).into_iter().map(|(rule, _)| rule).collect();
            for rule in expected {
                assert!(found.contains(&(*rule).to_owned()), "{url}: {found:?}");
            }
            for rule in &found {
                let rules = hapax_url::GivenRules::parse(rule).unwrap();
                assert_eq!(rules.apply(&of), hapax_url::Applied::Unchanged, "{rule} {of}");
            }
        }
    }
}
