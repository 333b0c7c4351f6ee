//! A crawl that its embedder stops and resumes: `cargo run -p hapax-crawl --example resume -- URL`.

use std::error::Error;
use std::path::Path;

use hapax_crawl::{Config, Crawl, Event, Summary};
use url::Url;

/// Crawls until this number of pages is kept.
pub(crate) async fn crawl(
    start: Url,
    folder: &Path,
    config: Config,
    pages: u64,
) -> Result<Summary, hapax_crawl::Error> {
    let (enough, mut reached) = tokio::sync::watch::channel(false);
    let mut kept = 0;
    let crawl = Crawl::builder(folder)
        .seed(start)
        .config(config)
        .observer(move |event: &Event<'_>| {
            kept += u64::from(matches!(event, Event::Kept { .. }));
            enough.send_replace(kept >= pages);
        })
        .build()?;
    crawl
        .run_until(async move {
            // The observer ends with the crawl.
            let _ = reached.wait_for(|reached| *reached).await;
        })
        .await
}

#[allow(dead_code, reason = "the test of the examples calls the function above")]
fn main() -> Result<(), Box<dyn Error>> {
    let start: Url = std::env::args().nth(1).ok_or("resume URL")?.parse()?;
    let folder = std::env::temp_dir().join(format!("resume-{}", std::process::id()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    for _ in 0..3 {
        let report = runtime.block_on(crawl(start.clone(), &folder, Config::default(), 5))?;
        println!("{} pages, complete: {}", report.pages.fetched, report.complete);
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
