//! Crawls as an embedder runs them.

use std::collections::BTreeMap;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hapax_crawl::{BoxError, Config, Crawl, Error, Event, Page, Sink, Summary};
use hapax_data::Stream;
use url::Url;

use crate::own_parts::{Table, Web};
use crate::small_site::{article, serve};
use crate::{embed, own_parts, resume};

fn quick() -> Config {
    let mut config = Config::default();
    config.politeness.delay = Duration::ZERO;
    config
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(Duration::from_secs(5));
    done
}

/// A web of `pages` pages, each of which links to the next one.
fn chain(pages: usize) -> Web {
    let subjects = ["river", "bridge", "lamp", "orchard", "clock", "map", "ferry", "well"];
    let page = |at: usize| {
        let subject = format!("{} number{at} of{}", subjects[at % 8], at / 8);
        let next = if at + 1 < pages { at + 1 } else { 0 };
        let link = format!("<a href=/{next}>x</a>");
        (format!("http://a.example/{at}"), article(&subject) + &link)
    };
    Web(Arc::new((0..pages).map(page).collect::<BTreeMap<_, _>>()))
}

fn start() -> Url {
    Url::parse("http://a.example/0").unwrap()
}

#[test]
fn the_example_of_the_readme_keeps_each_text_once() {
    let folder = tempfile::tempdir().unwrap();
    let report = block_on(embed::crawl(serve(), folder.path(), quick())).unwrap();
    assert_eq!((report.pages.indexed, report.pages.exact, report.complete), (2, 1, true));
}

#[test]
fn pages_come_from_a_map_and_go_to_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::default();
    let report =
        block_on(own_parts::crawl(chain(5), start(), folder.path(), table.clone())).unwrap();
    let held = table.0.lock().unwrap();
    let kept: Vec<&str> = held.1.iter().map(|url| &url["http://a.example".len()..]).collect();
    assert_eq!((report.pages.indexed, kept.len(), held.0.len()), (5, 5, 0), "{kept:?}");
    assert_eq!(kept, ["/0", "/1", "/2", "/3", "/4"], "committed in their order");
}

/// Before each commit of the store, counts the events that a reader sees.
#[derive(Debug)]
struct EventReader {
    data: PathBuf,
    kept: u64,
    committed: u64,
    /// Of each commit: the events of earlier commits, and those that a reader sees.
    counts: Arc<Mutex<Vec<(u64, u64)>>>,
}

impl Sink for EventReader {
    fn keep(&mut self, _: &Page<'_>, _: u64) -> Result<(), BoxError> {
        self.kept += 1;
        Ok(())
    }

    fn remove(&mut self, _: &str, _: u64) -> Result<(), BoxError> {
        Ok(())
    }

    fn commit(&mut self) -> Result<(), BoxError> {
        let (mut stream, mut seen) = (Stream::open(&self.data, None)?, 0);
        while stream.next_event()?.is_some() {
            seen += 1;
        }
        self.counts.lock().unwrap().push((self.committed, seen));
        self.committed = self.kept;
        Ok(())
    }
}

#[test]
fn events_are_shown_after_the_commit_that_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let counts = Arc::default();
    let (data, own) = (folder.path().to_owned(), Arc::clone(&counts));
    let reader = EventReader { data, kept: 0, committed: 0, counts: own };
    let builder = Crawl::builder(folder.path()).seed(start()).config(quick()).fetch(chain(6));
    block_on(builder.sink(reader).build().unwrap().run_until(pending())).unwrap();
    let counts = counts.lock().unwrap();
    assert!(counts.iter().all(|(committed, seen)| committed == seen), "{counts:?}");
    let mut stream = Stream::open(folder.path(), None).unwrap();
    let mut seen = 0;
    while stream.next_event().unwrap().is_some() {
        seen += 1;
    }
    assert_eq!(seen, 6, "a page of the crawl is missing after its end");
}

#[test]
fn a_crawl_that_was_stopped_goes_on_and_fetches_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let first = block_on(resume::crawl(serve(), folder.path(), quick(), 1)).unwrap();
    assert!(!first.complete && first.pages.fetched >= 1, "{first:?}");
    // Another address of the server would be another site, so the pages come from a map.
    let folder = tempfile::tempdir().unwrap();
    let web = chain(30);
    let mut told = Vec::new();
    for _ in 0..30 {
        let (report, events) = crawl_some(&web, folder.path(), 4);
        told.extend(events);
        if report.complete {
            break;
        }
    }
    let all = told.len();
    told.sort();
    told.dedup();
    assert_eq!((all, told.len()), (30, 30), "{told:?}");
}

/// Crawls until this number of pages is kept, and returns their URLs.
fn crawl_some(web: &Web, folder: &Path, pages: usize) -> (Summary, Vec<String>) {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let telling = Arc::clone(&told);
    let report = block_on(async {
        let mut config = quick();
        config.sitemaps = None;
        let builder = Crawl::builder(folder).seed(start()).config(config).fetch(web.clone());
        let (sender, mut enough) = tokio::sync::watch::channel(false);
        let crawl = builder
            .observer(move |event: &Event<'_>| {
                if let Event::Kept { page, .. } = event {
                    let mut told = telling.lock().unwrap();
                    told.push(page.url().to_string());
                    sender.send_replace(told.len() >= pages);
                }
            })
            .build()
            .unwrap();
        let handle = crawl.stop_handle();
        let stop = tokio::spawn(async move {
            let _ = enough.wait_for(|enough| *enough).await;
            handle.stop();
        });
        let report = crawl.run_until(pending()).await.unwrap();
        stop.abort();
        report
    });
    let told = told.lock().unwrap().clone();
    (report, told)
}

#[test]
fn a_failing_or_panicking_observer_stops_the_crawl_which_can_resume() {
    let folder = tempfile::tempdir().unwrap();
    let web = chain(12);
    let run = |panics: Option<bool>| {
        block_on(async {
            let mut config = quick();
            config.sitemaps = None;
            let mut kept = 0;
            let crawl = Crawl::builder(folder.path())
                .seed(start())
                .config(config)
                .fetch(web.clone())
                .observer(move |event: &Event<'_>| {
                    kept += u32::from(matches!(event, Event::Kept { .. }));
                    match panics {
                        Some(true) if kept == 3 => panic!("a bug of the embedder"),
                        Some(false) if kept == 3 => Err("no room in the database"),
                        _ => Ok(()),
                    }
                })
                .build()?;
            crawl.run_until(pending()).await
        })
    };
    let failed = run(Some(false)).unwrap_err();
    assert!(matches!(&failed, Error::Observer(why) if why.to_string().contains("database")));
    let panicked = run(Some(true)).unwrap_err();
    assert!(matches!(&panicked, Error::ObserverPanicked(why) if why.contains("embedder")));
    let report = run(None).unwrap();
    assert_eq!((report.pages.indexed, report.complete), (12, true));
}

#[test]
fn an_invalid_value_names_its_field_and_a_locked_directory_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let build = |config: Config| Crawl::builder(folder.path()).seed(start()).config(config).build();
    let mut wrong = quick();
    wrong.decision.policy.similarity = 7.0;
    let error = build(wrong).unwrap_err();
    assert!(matches!(error, Error::Config { field: "decision.policy.similarity", .. }), "{error}");
    let held = build(quick()).unwrap();
    let error = build(quick()).unwrap_err();
    assert!(matches!(error, Error::Data(hapax_data::Error::Locked(_))), "{error}");
    drop(held);
    std::fs::write(folder.path().join("dedup/MANIFEST"), "of another world").unwrap();
    let error = build(quick()).unwrap_err();
    assert!(matches!(error, Error::Data(hapax_data::Error::Store(_))), "{error}");
}

#[test]
fn events_are_serialised_with_what_a_stream_needs() {
    let folder = tempfile::tempdir().unwrap();
    let lines: Arc<Mutex<Vec<serde_json::Value>>> = Arc::default();
    let told = Arc::clone(&lines);
    let report = block_on(async {
        let crawl = Crawl::builder(folder.path())
            .seed(serve())
            .config(quick())
            .observer(move |event: &Event<'_>| {
                told.lock().unwrap().push(serde_json::to_value(event)?);
                Ok::<(), serde_json::Error>(())
            })
            .build()
            .unwrap();
        crawl.run_until(pending()).await.unwrap()
    });
    assert!(report.complete);
    let lines = lines.lock().unwrap();
    let of = |kind: &str| lines.iter().filter(|line| line["event"] == kind).collect::<Vec<_>>();
    assert_eq!(
        (of("begun").len(), of("kept").len(), of("discarded").len()),
        (1, 2, 1),
        "{lines:?}"
    );
    assert_eq!(of("kept")[0]["page"]["title"], "river");
    assert_eq!(of("discarded")[0]["line"]["kind"], "exact");
    assert_eq!(of("skipped")[0]["line"]["reason"], "http-4xx");
    assert!(!of("committed").is_empty());
}
