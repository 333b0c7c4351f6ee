//! Learns the lines of all pages of a corpus: one thread reads pages, another one hashes and counts their lines.

use std::sync::mpsc::{SyncSender, sync_channel};

use super::{SiteLines, SiteLinesBuilder};
use crate::corpus::Corpus;
use crate::error::{Error, Result};

/// Bytes of text that are handed over at once.
const BATCH_BYTES: usize = 1 << 20;
/// Maximum number of batches that wait.
const MAX_BATCHES: usize = 2;

#[derive(Debug)]
struct Page {
    url: String,
    language: String,
    text: String,
}

/// Reads all pages.
///
/// # Errors
/// If the index cannot be read, or a temporary file cannot be written.
pub(crate) fn learn(corpus: &Corpus<'_>) -> Result<SiteLines> {
    let (send, batches) = sync_channel::<Vec<Page>>(MAX_BATCHES);
    std::thread::scope(|scope| {
        let counter = scope.spawn(move || {
            let mut builder = SiteLinesBuilder::default();
            for Page { url, language, text } in batches.into_iter().flatten() {
                builder.add(&url, &language, &text)?;
            }
            builder.build()
        });
        let read = read(corpus, &send);
        drop(send);
        // A panic of the counter is one of this function. If it failed, reading has failed with it.
        let counted = counter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        read.map(|()| counted)
    })
}

fn read(corpus: &Corpus<'_>, send: &SyncSender<Vec<Page>>) -> Result<()> {
    let stopped = |_| Error::Invalid("the counter of lines has stopped".into());
    let (mut batch, mut bytes) = (Vec::new(), 0);
    corpus.pages(|_, page| -> Result<()> {
        bytes += page.text.len();
        batch.push(Page { url: page.url, language: page.language, text: page.text });
        if bytes < BATCH_BYTES {
            return Ok(());
        }
        bytes = 0;
        send.send(std::mem::take(&mut batch)).map_err(stopped)
    })?;
    send.send(batch).map_err(stopped)
}
