//! A custom `Fetch` and a custom `Sink`: pages come from a map, and kept pages go to a list.
//!
//! Run `cargo run -p hapax-crawl --example own_parts`.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hapax_crawl::{BoxError, Config, Crawl, Fetch, Page, Pending, Sink, Wanted};
use hapax_fetch::{Kind, Response, RobotsAnswer, Validators};
use url::Url;

/// A web in memory: bodies by URL.
#[derive(Clone, Debug)]
pub(crate) struct Web(pub(crate) Arc<BTreeMap<String, String>>);

impl Fetch for Web {
    fn address<'a>(
        &'a self,
        _: &'a Url,
    ) -> Pending<'a, Result<Option<IpAddr>, hapax_fetch::Error>> {
        Box::pin(async { Ok(None) })
    }

    fn get<'a>(
        &'a self,
        url: &'a Url,
        _: &'a Validators,
        _: &'a Wanted,
    ) -> Pending<'a, Result<Response, hapax_fetch::Error>> {
        Box::pin(async move {
            let body = self.0.get(url.as_str()).ok_or_else(|| {
                hapax_fetch::Error::new(Kind::Protocol, "no such page in this web")
            })?;
            let headers = vec![("content-type".to_owned(), b"text/html".to_vec())];
            Ok(Response::stored(url.clone(), 200, headers, body.clone().into_bytes().into()))
        })
    }

    fn robots<'a>(&'a self, _: &'a Url, _: Duration) -> Pending<'a, RobotsAnswer> {
        Box::pin(async { RobotsAnswer::Text(Vec::new()) })
    }
}

/// URLs of kept pages: uncommitted ones, and committed ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(pub(crate) Arc<Mutex<(Vec<String>, Vec<String>)>>);

impl Sink for Table {
    fn keep(&mut self, page: &Page<'_>, _: u64) -> Result<(), BoxError> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.0.push(page.url().to_string());
        Ok(())
    }

    fn remove(&mut self, url: &str, _: u64) -> Result<(), BoxError> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (new, durable) = &mut *table;
        new.retain(|kept| kept != url);
        durable.retain(|kept| kept != url);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), BoxError> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (new, durable) = &mut *table;
        durable.append(new);
        Ok(())
    }
}

/// Crawls a web in memory into a table in memory.
pub(crate) async fn crawl(
    web: Web,
    start: Url,
    folder: &Path,
    table: Table,
) -> Result<hapax_crawl::Summary, hapax_crawl::Error> {
    let mut config = Config::default();
    config.politeness.delay = Duration::ZERO;
    config.sitemaps = None;
    let crawl = Crawl::builder(folder).seed(start).config(config).fetch(web).sink(table).build()?;
    crawl.run_until(std::future::pending()).await
}

#[allow(dead_code, reason = "the test of the examples calls the function above")]
fn main() -> Result<(), Box<dyn Error>> {
    let page = |text: &str, link: &str| {
        format!(
            "<html lang=en><p>This is the page of the {text}, and there is another one.</p><a href={link}>x</a>"
        )
    };
    let web = Web(Arc::new(BTreeMap::from([
        ("http://a.example/".to_owned(), page("river", "/bridge")),
        ("http://a.example/bridge".to_owned(), page("bridge", "/")),
    ])));
    let folder = std::env::temp_dir().join(format!("own-parts-{}", std::process::id()));
    let table = Table::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(crawl(web, "http://a.example/".parse()?, &folder, table.clone()))?;
    let kept = &table.0.lock().unwrap_or_else(PoisonError::into_inner).1;
    println!("{kept:#?}");
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
