//! Sinks: outputs for kept pages, beside the index.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{BoxError, Error, Result};
use crate::event::{Page, told_by_panic};

/// An output for kept pages, beside the index: a database, a queue, files. The commit thread calls it.
///
/// After a crash, pages since the last [`commit`](Self::commit) may be passed again, under the same number or another
/// one. A sink that stores by URL holds each page once.
pub trait Sink: Send + Debug {
    /// Takes a kept page. `id` is its number in the store.
    ///
    /// # Errors
    /// An error of the sink stops the crawl, which can be resumed.
    fn keep(&mut self, page: &Page<'_>, id: u64) -> std::result::Result<(), BoxError>;

    /// Removes a page that was kept: a better page replaced it, it has changed, or a person forgot it.
    ///
    /// # Errors
    /// As [`keep`](Self::keep).
    fn remove(&mut self, url: &str, id: u64) -> std::result::Result<(), BoxError>;

    /// Makes all earlier calls durable. The crawl does not repeat them after this.
    ///
    /// # Errors
    /// As [`keep`](Self::keep).
    fn commit(&mut self) -> std::result::Result<(), BoxError>;
}

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
