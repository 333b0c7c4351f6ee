//! What else happens to kept pages.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{BoxError, Error, Result};
use crate::event::{Page, told_by_panic};

/// Takes kept pages, beside the index: a database, a queue, files. It is called on the commit thread.
///
/// After a crash, what was kept since the last [`commit`](Self::commit) may be kept once more, under the same number
/// or another one: whoever stores by URL sees each page once.
pub trait Sink: Send + Debug {
    /// A page is kept under this number.
    ///
    /// # Errors
    /// The sink's own: the crawl stops, and can go on later.
    fn keep(&mut self, page: &Page<'_>, id: u64) -> std::result::Result<(), BoxError>;

    /// A page that was kept under this number is not any more: a better one stands for it, it has changed, or
    /// somebody wants it to be forgotten.
    ///
    /// # Errors
    /// As [`keep`](Self::keep).
    fn remove(&mut self, url: &str, id: u64) -> std::result::Result<(), BoxError>;

    /// Everything so far is to be durable: the crawl forgets what came before.
    ///
    /// # Errors
    /// As [`keep`](Self::keep).
    fn commit(&mut self) -> std::result::Result<(), BoxError>;
}

/// The sinks of a crawl.
#[derive(Debug, Default)]
pub(crate) struct Sinks(Vec<Box<dyn Sink>>);

impl Sinks {
    pub(crate) fn add(&mut self, sink: Box<dyn Sink>) {
        self.0.push(sink);
    }

    pub(crate) fn keep(&mut self, page: &Page<'_>, id: u64) -> Result<()> {
        self.each(|sink| sink.keep(page, id))
    }

    pub(crate) fn remove(&mut self, url: &str, id: u64) -> Result<()> {
        self.each(|sink| sink.remove(url, id))
    }

    pub(crate) fn commit(&mut self) -> Result<()> {
        self.each(|sink| sink.commit())
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn each(
        &mut self,
        mut call: impl FnMut(&mut dyn Sink) -> std::result::Result<(), BoxError>,
    ) -> Result<()> {
        for sink in &mut self.0 {
            match catch_unwind(AssertUnwindSafe(|| call(&mut **sink))) {
                Ok(done) => done.map_err(Error::Observer)?,
                Err(panic) => return Err(Error::ObserverPanicked(told_by_panic(&*panic))),
            }
        }
        Ok(())
    }
}
