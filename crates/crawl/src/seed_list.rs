//! Seeds that list pages: a sitemap, a feed, a text of URLs, or a robots.txt with sitemaps.

use hapax_fetch::{Response, Robots, Sitemap, SitemapLimits};
use hapax_frontier::Entry;
use url::Url;

/// Returns whether the end of a seed's URL suggests a sitemap, so that its size limit applies.
pub(super) fn may_be(entry: &Entry) -> bool {
    let path = entry.url.path().to_ascii_lowercase();
    entry.depth == 0 && [".xml", ".xml.gz", ".txt", ".txt.gz"].iter().any(|end| path.ends_with(end))
}

/// Reads the response of a seed as a list of pages; `None` if it is not a list.
pub(super) fn read(url: &Url, response: &Response, limits: &SitemapLimits) -> Option<Sitemap> {
    if url.path() == "/robots.txt" {
        let rules = Robots::parse(&response.body, "");
        let maps = rules.sitemaps.iter().filter_map(|text| url.join(text).ok());
        let maps = maps.take(limits.max_urls).collect();
        return Some(Sitemap { maps, is_list: true, ..Sitemap::default() });
    }
    let is_text = response.content_type().is_none_or(|kind| kind.starts_with("text/plain"));
    let is_list =
        Sitemap::is_list(&response.body, limits) || is_text && is_list_of_urls(&response.body);
    is_list.then(|| Sitemap::of_response(url, response, limits))
}

/// Returns whether each line that is neither empty nor a comment begins like a web URL.
fn is_list_of_urls(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let lines = body.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).peekable();
    let begins = |line: &[u8], scheme: &[u8]| {
        line.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    lines.peek().is_some()
        && lines.all(|line| begins(line, b"http://") || begins(line, b"https://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(path: &str, content_type: &str, body: &str) -> Option<Vec<String>> {
        let url = Url::parse("http://a.example").unwrap().join(path).unwrap();
        let headers = vec![("content-type".to_owned(), content_type.as_bytes().to_vec())];
        let response = Response::stored(url.clone(), 200, headers, body.to_owned().into());
        let found = read(&url, &response, &SitemapLimits::default())?;
        let pages = found.pages.iter().map(|page| page.url.path().to_owned());
        Some(pages.chain(found.maps.iter().map(|map| map.path().to_owned())).collect())
    }

    #[test]
    fn url_lists_are_distinguished_from_pages_by_content() {
        let some = |paths: &[&str]| Some(paths.iter().map(|path| (*path).to_owned()).collect());
        let map = "<urlset><url><loc>http://a.example/1</loc></url></urlset>";
        assert_eq!(listed("/map", "text/html", map), some(&["/1"]));
        let feed = "<rss><channel><item><link>http://a.example/2</link></item></channel></rss>";
        assert_eq!(listed("/feed", "application/rss+xml", feed), some(&["/2"]));
        let robots = "User-agent: *\nDisallow: /x\nSitemap: /map.xml\nSitemap:\n";
        assert_eq!(listed("/robots.txt", "text/plain", robots), some(&["/map.xml"]));
        let lines = "http://a.example/3\r\n\r\nhttps://a.example/4\n";
        assert_eq!(listed("/list.txt", "text/plain", lines), some(&["/3", "/4"]));
        let lines = "# pages\nHTTP://a.example/5\n  # more\nHttps://a.example/6";
        assert_eq!(listed("/list.txt", "text/plain", lines), some(&["/5", "/6"]));
        for (path, content_type, body) in [
            ("/a.txt", "text/plain", "# a comment"),
            ("/", "text/html", "<html><p>http://a.example/"),
            ("/a.txt", "text/plain", "See http://a.example/"),
            ("/a.txt", "text/plain", "http://a.example/\nand more text"),
            ("/a.txt", "text/plain", " \n"),
            ("/x", "application/xhtml+xml", "<html xmlns='http://www.w3.org/1999/xhtml'/>"),
        ] {
            assert_eq!(listed(path, content_type, body), None, "{body}");
        }
    }
}
