//! A crawl in another program: `cargo run -p hapax-crawl --example embed -- URL [FOLDER]`.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use hapax_crawl::{Config, Crawl, Event, Summary};
use url::Url;

/// Crawls from `start` for at most a minute, and prints what happens to each page.
pub(crate) async fn crawl(
    start: Url,
    folder: &Path,
    config: Config,
) -> Result<Summary, hapax_crawl::Error> {
    let crawl = Crawl::builder(folder)
        .seed(start)
        .config(Config { max_pages: Some(10_000), ..config })
        .contact("https://example.org/about")
        .observer(|event: &Event<'_>| match event {
            Event::Kept { page, .. } => println!("kept     {}", page.url()),
            Event::Discarded { line, .. } => println!("discards {} for {}", line.url, line.of.url),
            Event::Skipped { line } => println!("skips    {}: {}", line.url, line.reason),
            _ => {}
        })
        .build()?;
    crawl.run_until(tokio::time::sleep(Duration::from_secs(60))).await
}

#[allow(dead_code, reason = "the test of the examples calls the function above")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let start = args.next().ok_or("embed URL [FOLDER]")?.parse()?;
    let folder = args.next().unwrap_or_else(|| "crawl-data".to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(crawl(start, folder.as_ref(), Config::default()))?;
    println!("{} pages, complete: {}", report.pages.fetched, report.complete);
    Ok(())
}
