//! Fetches pages and follows links by the crate spider, for `scripts/line-bench --spider`.
#[tokio::main]
async fn main() {
    let Some(url) = std::env::args().nth(1) else { return };
    let mut website = spider::website::Website::new(&url);
    website.with_respect_robots_txt(true);
    website.crawl().await;
    println!("{} pages", website.get_links().len());
}
