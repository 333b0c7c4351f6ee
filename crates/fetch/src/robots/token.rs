//! The name that a robots.txt gives to the robot of a User-Agent.

/// Names of browsers, engines and platforms, which crawlers also send.
const BROWSERS: [&str; 64] = [
    "android",
    "applewebkit",
    "build",
    "chrome",
    "chromium",
    "compatible",
    "cpu",
    "cros",
    "crios",
    "debian",
    "edg",
    "edga",
    "edge",
    "edgios",
    "fedora",
    "firefox",
    "fxios",
    "gecko",
    "headlesschrome",
    "i386",
    "i586",
    "i686",
    "intel",
    "ios",
    "ipad",
    "iphone",
    "ipod",
    "khtml",
    "like",
    "linux",
    "mac",
    "macintosh",
    "mobile",
    "mozilla",
    "msie",
    "netscape",
    "nt",
    "opera",
    "opr",
    "os",
    "ppc",
    "presto",
    "rv",
    "safari",
    "samsungbrowser",
    "tablet",
    "trident",
    "u",
    "ubuntu",
    "version",
    "vivaldi",
    "webkit",
    "win32",
    "win64",
    "windows",
    "wow64",
    "wv",
    "x",
    "x11",
    "x64",
    "x86_64",
    "k",
    "mini",
    "mobi",
];

/// A product of a User-Agent (RFC 9110, section 10.1.5).
struct Product {
    name: String,
    has_version: bool,
    in_comment: bool,
}

/// Returns the robots.txt token of a User-Agent, in lower case: its last product name, comments included, that is not a
/// browser's. Example: `foobot` for `Mozilla/5.0 (compatible; FooBot/1.0; +http://a.example)`.
pub fn robots_token(user_agent: &str) -> String {
    let products = products(user_agent);
    // Prefer names with a version, then those outside comments: most words of a comment are no product.
    let found = products.iter().rfind(|product| product.has_version);
    let found = found.or_else(|| products.iter().find(|product| !product.in_comment));
    found.or_else(|| products.first()).map(|product| product.name.clone()).unwrap_or_default()
}

/// Returns the products that are not browsers, in their order.
fn products(user_agent: &str) -> Vec<Product> {
    let mut depth = 0usize;
    let mut products = Vec::new();
    for part in user_agent.split_inclusive(|c: char| c.is_whitespace() || "();,".contains(c)) {
        let word = part.trim_end_matches(|c: char| c.is_whitespace() || "();,".contains(c));
        products.extend(product(word, depth > 0));
        match part.chars().next_back() {
            Some('(') => depth += 1,
            Some(')') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    products
}

/// Returns the product that a word names; `None` for browsers, numbers, addresses and words of other characters.
fn product(word: &str, in_comment: bool) -> Option<Product> {
    if word.contains("://") || word.contains('@') {
        return None;
    }
    let (name, version) = match word.split_once('/') {
        Some((name, version)) => (name.to_ascii_lowercase(), Some(version)),
        None => (word.to_ascii_lowercase(), None),
    };
    let is_valid = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && name.bytes().any(|b| b.is_ascii_alphabetic());
    let is_address = name.starts_with("www.")
        || name.contains('.') && version.is_some_and(|version| !begins_with_number(version));
    let is_product = is_valid && !is_address && !BROWSERS.contains(&name.as_str());
    is_product.then_some(Product { name, has_version: version.is_some(), in_comment })
}

/// Returns whether this is a version (`1.0`, `v2`) and not a path.
fn begins_with_number(version: &str) -> bool {
    version.trim_start_matches(['v', 'V']).starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_of_an_agent_is_its_last_product_that_no_browser_uses() {
        for (agent, token) in [
            ("hapax/0.1.0 (+http://a.example)", "hapax"),
            ("FooBot", "foobot"),
            ("FooBot crawler", "foobot"),
            ("Mozilla/5.0 (compatible; FooBot/1.0; +http://a.example/bot)", "foobot"),
            ("Mozilla/5.0 (compatible; FooBot; +http://a.example/bot)", "foobot"),
            (
                "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Foo-Bot/2.1; +https://x.example) Chrome/120.0 Safari/537.36",
                "foo-bot",
            ),
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0 Safari/537.36 MyCrawler/3",
                "mycrawler",
            ),
            ("360Spider/1.0", "360spider"),
            ("node.js/18.2", "node.js"),
            ("Mozilla/5.0", ""),
            // Addresses are no products.
            ("FooBot/1.0 (example.org/bot)", "foobot"),
            ("FooBot/1.0 (www.example.org/bot.html; bot@example.org)", "foobot"),
            ("FooBot (example.org)", "foobot"),
            // Platforms are no products.
            ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) FooBot", "foobot"),
            (
                "Mozilla/5.0 (Linux; Android 6.0.1; Phone 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/41.0 Mobile Safari/537.36 (compatible; FooBot/2.1; +http://x.example)",
                "foobot",
            ),
            (
                "Mozilla/5.0 (compatible; FooBot/1.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/112.0 Mobile/15E148 Safari/537.36 Edg/112.0",
                "foobot",
            ),
            (
                "Mozilla/5.0 (FooBot/1.0) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/112.0 Safari/537.36 OPR/99.0",
                "foobot",
            ),
            ("Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0", ""),
            ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Safari/605.1", ""),
        ] {
            assert_eq!(robots_token(agent), token, "{agent}");
        }
    }
}
