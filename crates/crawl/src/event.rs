//! Events that a crawl reports to its observer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::SystemTime;

use hapax_data::{Discarded, PageCounts, Skipped};
use hapax_extract::Document;
use hapax_fetch::Response;
use serde::{Serialize, Serializer};
use url::Url;

use crate::error::{BoxError, Error, Result};
use crate::page::PageWork;

/// A page that was decided about.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    work: &'a PageWork,
}

impl<'a> Page<'a> {
    pub(crate) const fn of(work: &'a PageWork) -> Self {
        Self { work }
    }

    /// The URL in normal form.
    pub const fn url(&self) -> &'a Url {
        &self.work.url
    }

    /// The URL of the response, which may be another spelling.
    pub const fn final_url(&self) -> &'a Url {
        &self.work.response.url
    }

    /// Number of links from a seed to this page; 0 for stored pages.
    pub fn depth(&self) -> u16 {
        self.work.depth.unwrap_or(0)
    }

    /// Status, headers and body.
    pub const fn response(&self) -> &'a Response {
        &self.work.response
    }

    /// Title, language, links and metadata. The text is [`text`](Self::text).
    pub const fn document(&self) -> &'a Document {
        &self.work.document
    }

    /// The comparison text: without boilerplate, title first.
    pub fn text(&self) -> &'a str {
        &self.work.text
    }

    /// When it was fetched.
    pub const fn time(&self) -> SystemTime {
        self.work.time
    }

    /// The 64-bit fingerprint of the comparison text.
    pub const fn fingerprint(&self) -> hapax_dedup::Fingerprint {
        self.work.evidence.fingerprint
    }
}

/// The serialised form of a page: without body and text.
#[derive(Serialize)]
struct Head<'a> {
    url: &'a str,
    final_url: &'a str,
    depth: u16,
    status: u16,
    title: &'a str,
    language: &'a str,
    fingerprint: String,
    fetched: String,
}

impl Serialize for Page<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let document = self.document();
        Head {
            url: self.url().as_str(),
            final_url: self.final_url().as_str(),
            depth: self.depth(),
            status: self.response().status,
            title: &document.title,
            language: document.language,
            fingerprint: self.fingerprint().to_string(),
            fetched: hapax_warc::format_time(self.time()),
        }
        .serialize(serializer)
    }
}

/// The version of the serialised events.
pub const EVENT_VERSION: u32 = 1;

/// An event of a crawl. The commit thread reports it after the decision and before the decision is durable: after
/// a crash, events since the last [`Committed`](Self::Committed) are reported again.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event<'a> {
    /// The stores are open. No request was made yet.
    Begun,
    /// A page is kept.
    Kept {
        /// The page.
        page: Page<'a>,
        /// The number of the page in the store.
        id: u64,
    },
    /// A page is a duplicate.
    Discarded {
        /// The page.
        page: Page<'a>,
        /// The line in discarded.jsonl, with the evidence.
        line: &'a Discarded,
    },
    /// A kept page was replaced by a better one, which was reported before.
    Replaced {
        /// The line in discarded.jsonl.
        line: &'a Discarded,
    },
    /// A URL was not fetched, or its page was not used.
    Skipped {
        /// The line in skipped.jsonl.
        line: &'a Skipped,
    },
    /// All earlier events are durable.
    Committed {
        /// Counts of pages, earlier runs included.
        pages: &'a PageCounts,
    },
}

/// The return type of an observer: `()` or a `Result`. An error stops the crawl.
pub trait Observed {
    /// Converts it to a result.
    ///
    /// # Errors
    /// The observer's own.
    fn into_result(self) -> std::result::Result<(), BoxError>;
}

impl Observed for () {
    fn into_result(self) -> std::result::Result<(), BoxError> {
        Ok(())
    }
}

impl<E: Into<BoxError>> Observed for std::result::Result<(), E> {
    fn into_result(self) -> std::result::Result<(), BoxError> {
        self.map_err(Into::into)
    }
}

type SharedVerdict = dyn FnMut(&Event<'_>) -> std::result::Result<(), BoxError> + Send;

#[derive(Default)]
pub(crate) struct Observer(Option<Box<SharedVerdict>>);

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Observer").field(&self.0.is_some()).finish()
    }
}

impl Observer {
    pub(crate) fn new<O: Observed>(mut told: impl FnMut(&Event<'_>) -> O + Send + 'static) -> Self {
        Self(Some(Box::new(move |event| told(event).into_result())))
    }

    pub(crate) fn tell(&mut self, event: &Event<'_>) -> Result<()> {
        let Some(told) = &mut self.0 else { return Ok(()) };
        match catch_unwind(AssertUnwindSafe(|| told(event))) {
            Ok(told) => told.map_err(Error::Observer),
            Err(panic) => {
                // Its state may be inconsistent: do not call it again.
                self.0 = None;
                Err(Error::ObserverPanicked(told_by_panic(&*panic)))
            }
        }
    }
}

pub(crate) fn told_by_panic(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}
