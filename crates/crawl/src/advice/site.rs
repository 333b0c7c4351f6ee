//! Advice for the owners of sites.

use std::collections::BTreeMap;

use url::Url;

use super::outcome::Advice;

/// Canonical lines of each host.
const CANONICAL: usize = 50;

/// The lines of one host.
#[derive(Debug, Default)]
struct Site {
    redirects: Vec<String>,
    robots: Vec<String>,
    canonical: Vec<String>,
}

/// Returns the lines, by host. Rules that lose no page become redirects and lines of robots.txt. A rule that the crawl
/// cannot follow without a loss disallows no pages: those pages should name their canonical address.
pub(super) fn lines(advice: &Advice) -> String {
    let mut sites: BTreeMap<String, Site> = BTreeMap::new();
    for advised in &advice.rules {
        let Some((host, line)) = line_of(&advised.rule) else { continue };
        let site = sites.entry(host).or_default();
        let why = format!("# {}: {} pages of this crawl", plain(&advised.cause), advised.pages);
        let list = match line {
            Line::Redirect(_) => &mut site.redirects,
            Line::Robots(_) => &mut site.robots,
        };
        let (Line::Redirect(text) | Line::Robots(text)) = line;
        list.extend([why, text]);
        site.canonical.extend(canonical(&advised.example));
    }
    for refused in &advice.refused {
        if let Some((host, _)) = line_of(&refused.rule) {
            sites.entry(host).or_default().canonical.extend(canonical(&refused.example));
        }
    }
    let mut out = String::new();
    if let Some(why) = &advice.unverified {
        out += &format!("# Redirects and lines of robots.txt are not advised: {why}.\n");
    }
    for (host, mut site) in sites {
        let mut seen = std::collections::HashSet::new();
        site.canonical.retain(|line| seen.insert(line.clone()));
        site.canonical.truncate(CANONICAL);
        out += &format!("\n# {host}\n");
        if !site.redirects.is_empty() {
            out += "\n# Redirect permanently (301), with the same path:\n";
            site.redirects.iter().for_each(|line| out += &format!("{line}\n"));
        }
        if !site.robots.is_empty() {
            out += "\n# robots.txt (Clean-param is read by Yandex and Hapax; for others use canonical addresses):\n";
            out += "User-agent: *\n";
            site.robots.iter().for_each(|line| out += &format!("{line}\n"));
        }
        if !site.canonical.is_empty() {
            out += "\n# Pages that should name their canonical address, and others like them:\n";
            site.canonical.iter().for_each(|line| out += &format!("{line}\n"));
        }
    }
    if out.is_empty() {
        out.push_str("# No address of this crawl had duplicates that a rule explains.\n");
    }
    out
}

enum Line {
    Redirect(String),
    Robots(String),
}

/// Returns the host of a rule and its line for that host.
fn line_of(rule: &str) -> Option<(String, Line)> {
    let mut words = rule.split(' ');
    match (words.next()?, words.next()?, words.next()) {
        ("host-alias", from, Some(to)) => {
            let host = from.rsplit_once("//").map_or(from, |(_, host)| host);
            Some((host.to_owned(), Line::Redirect(format!("redirect {from}/* {to}/*"))))
        }
        ("drop-parameter", name, place) => {
            let (host, path) = place?.split_at(place?.find('/')?);
            let path = if path == "/" { String::new() } else { format!(" {path}") };
            let line = match name.starts_with(';') {
                // Clean-param is about queries only.
                true => format!("Disallow: /*{name}="),
                false => format!("Clean-param: {name}{path}"),
            };
            Some((host.to_owned(), Line::Robots(line)))
        }
        ("skip", pattern, None) => {
            let (host, path) = pattern.split_at(pattern.find('/')?);
            Some((host.to_owned(), Line::Robots(format!("Disallow: {path}"))))
        }
        _ => None,
    }
}

/// Returns the canonical line of a discarded page. URLs have no quotes and no brackets.
fn canonical((url, of): &(String, String)) -> Option<String> {
    let (url, of) = (Url::parse(url).ok()?, Url::parse(of).ok()?);
    (url != of).then(|| {
        format!("{}: <link rel=\"canonical\" href=\"{}\">", plain(url.as_str()), escaped(&of))
    })
}

fn escaped(url: &Url) -> String {
    plain(url.as_str()).replace('&', "&amp;").replace('"', "%22").replace('<', "%3C")
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::outcome::{AdvisedRule, RefusedRule};

    #[test]
    fn rules_become_redirects_lines_of_robots_txt_and_canonical_addresses() {
        let example =
            |url: &str| (format!("http://a.example{url}"), "http://a.example/7?a=1&b=2".into());
        let rule = |rule: &str, url: &str| AdvisedRule {
            rule: rule.into(),
            cause: "print".into(),
            pages: 80,
            bytes: 1,
            example: example(url),
        };
        let advice = Advice {
            rules: vec![
                rule("host-alias http://a.example https://a.example", "/7"),
                rule("drop-parameter sort a.example/shop/", "/7?sort=up"),
                rule("drop-parameter sid a.example/", "/7?sid=1"),
                rule("skip a.example/*/print$", "/7/print"),
            ],
            refused: vec![RefusedRule {
                rule: "skip a.example/de/".into(),
                cause: "language".into(),
                duplicates: 9,
                why: "it would lose 1 unique page".into(),
                example: example("/de/7"),
            }],
            ..Advice::default()
        };
        let text = lines(&advice);
        for line in [
            "redirect http://a.example/* https://a.example/*",
            "Clean-param: sort /shop/",
            "Clean-param: sid",
            "Disallow: /*/print$",
            "http://a.example/de/7: <link rel=\"canonical\" href=\"http://a.example/7?a=1&amp;b=2\">",
            "# print: 80 pages of this crawl",
        ] {
            assert!(text.lines().any(|own| own == line), "{line}: {text}");
        }
        assert!(!text.contains("Disallow: /de/"), "{text}");
        assert!(lines(&Advice::default()).starts_with("# No address"));
    }
}
