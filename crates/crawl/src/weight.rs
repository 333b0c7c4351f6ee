//! Estimates the memory that a page or sitemap takes while it waits for the commit thread, in bytes.

use hapax_extract::{Document, Link};
use hapax_fetch::{Response, Sitemap, SitemapPage};
use hapax_warc::Packed;
use url::Url;

use super::page::PageWork;

/// Maximum KiB of pages and sitemaps that may wait for the commit thread, so that extraction continues during a commit.
pub(super) const ROOM_KIB: u32 = 16 << 10;

pub(super) fn of_page(page: &PageWork) -> usize {
    let packed = page.packed.as_ref().map_or(0, Packed::size);
    of_response(&page.response)
        + of_document(&page.document)
        + page.text.len()
        + page.meta.len()
        + packed
}

fn of_response(response: &Response) -> usize {
    let (raw, body) = (&response.raw, &response.body);
    let headers = response.headers.iter().map(|(name, value)| name.len() + value.len());
    // If the body is not compressed, `raw` and `body` share memory.
    let both = match raw.as_ptr() == body.as_ptr() {
        true => raw.len().max(body.len()),
        false => raw.len() + body.len(),
    };
    both + headers.sum::<usize>()
}

/// Counts text, links and images: a short page may have ten thousand links of thousands of bytes each.
fn of_document(document: &Document) -> usize {
    let links = document.links.iter().map(|link| size_of::<Link>() + link.url.as_str().len());
    let images = document.images.iter().map(|image| of_url(&image.url) + image.alt.len());
    let texts = [&document.title, &document.heading, &document.text];
    let blocks = document.blocks.iter().map(|block| block.text.len());
    links.chain(images).chain(blocks).sum::<usize>() + texts.map(String::len).iter().sum::<usize>()
}

pub(super) fn of_sitemap(sitemap: &Sitemap) -> usize {
    let changed = |page: &SitemapPage| page.changed.as_ref().map_or(0, String::len);
    let page =
        |page: &SitemapPage| size_of::<SitemapPage>() + page.url.as_str().len() + changed(page);
    let pages = sitemap.pages.iter().map(page);
    pages.chain(sitemap.maps.iter().map(of_url)).sum()
}

fn of_url(url: &Url) -> usize {
    size_of::<Url>() + url.as_str().len()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use hapax_extract::Limits;
    use hapax_fetch::SitemapLimits;

    use super::*;

    #[test]
    fn a_page_weighs_its_links_however_long_their_base() {
        let read = |base: &str| {
            let links: String = (0..5000).map(|n| format!("<a href={n}>{n}</a>")).collect();
            let html = format!("<base href=http://a.example/{base}/><p>A text.</p>{links}");
            let url = Url::parse("http://a.example/").unwrap();
            let headers = vec![("content-type".to_owned(), b"text/html".to_vec())];
            let response = Response::stored(url.clone(), 200, headers, html.into());
            let time = SystemTime::UNIX_EPOCH;
            let limits = Limits { max_links_bytes: usize::MAX, ..Limits::default() };
            PageWork::read(None, url, response, time, Default::default(), &limits, true).unwrap()
        };
        let (short, long) = (read("x"), read(&"x".repeat(1001)));
        assert_eq!(short.document.links.len(), 5000);
        let (light, heavy) = (of_page(&short), of_page(&long));
        assert!(light > short.response.body.len() + 5000 * 100, "{light}");
        // The body counts its base once, each link again.
        assert_eq!(heavy - light, 5001 * 1000);
    }

    #[test]
    fn a_body_in_two_forms_weighs_both() {
        let url = Url::parse("http://a.example/").unwrap();
        let mut response = Response::stored(url, 200, Vec::new(), vec![b'x'; 1000].into());
        assert_eq!(of_response(&response), 1000);
        response.body = vec![b'x'; 5000].into();
        assert_eq!(of_response(&response), 6000);
    }

    #[test]
    fn a_sitemap_weighs_its_addresses() {
        let base = Url::parse("http://a.example/map.xml").unwrap();
        let read = |name: &str| {
            let entry = format!("<url><loc>/{name}</loc><lastmod>2024-01-01</lastmod></url>");
            let map = format!("<urlset>{}</urlset>", entry.repeat(100));
            Sitemap::parse(&base, map.as_bytes(), &SitemapLimits::default())
        };
        let (short, long) = (read("x"), read(&"x".repeat(1001)));
        assert_eq!(of_sitemap(&long) - of_sitemap(&short), 1000 * long.pages.len());
        assert!(of_sitemap(&short) > short.pages.len() * (size_of::<SitemapPage>() + 10));
    }
}
