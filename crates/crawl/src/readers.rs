//! Reads stored pages ahead, on worker threads.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::SystemTime;

use hapax_data::SkipReason;
use hapax_extract::{Limits, Recipe};
use hapax_fetch::Response;
use hapax_warc::Packer;
use url::Url;

use crate::ahead::Ahead;
use crate::page::{PageWork, Unread, read_response};

/// Maximum number of pages that workers read ahead.
const AHEAD: usize = 256;
/// Maximum bytes of their bodies, stored and decoded together; one more page may exceed it.
const AHEAD_BYTES: usize = 64 << 20;
/// Pages with more bytes are parsed one at a time: a tree takes about ten times the memory of its page.
const LARGE_PAGE: usize = 1 << 20;

/// A page that another program fetched.
#[derive(Clone, Debug)]
pub struct StoredPage {
    /// The URL.
    pub url: Url,
    /// The stored response.
    pub response: Response,
    /// When it was fetched.
    pub time: SystemTime,
    /// A title from the input, which replaces the title of the page.
    pub title: Option<String>,
}

#[derive(Debug)]
enum Job {
    Read(Box<StoredPage>, Sender<ReadPage>),
    /// Frees a page: its thousands of links take longer than some verdicts.
    Free(Box<PageWork>),
}

/// A page that a worker reads: URL, bytes, and the channel of the result.
#[derive(Debug)]
struct Waiting {
    url: Url,
    bytes: usize,
    result: Receiver<ReadPage>,
    /// The result, if it was received before its turn.
    received: Option<ReadPage>,
}

pub(crate) type ReadPage = Result<Box<PageWork>, Unread>;

/// Worker threads that read pages ahead. Results are taken in the order of the pages.
#[derive(Debug)]
pub(crate) struct Readers {
    jobs: Option<Sender<Job>>,
    waiting: VecDeque<Waiting>,
    bytes: usize,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(crate) fn start(
        limits: Limits,
        recipe: Recipe,
        packer: Option<Packer>,
        ahead: Option<Ahead>,
    ) -> Self {
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let large = Arc::new(Mutex::new(()));
        let (limits, packer) = (Arc::new(limits), Arc::new(packer));
        let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let threads = (0..workers).filter_map(|number| {
            let (queue, large) = (Arc::clone(&queue), Arc::clone(&large));
            let (limits, packer) = (Arc::clone(&limits), Arc::clone(&packer));
            let ahead = ahead.clone();
            let work = move || {
                let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok(job) = next() {
                    let (page, result) = match job {
                        Job::Read(page, result) => (*page, result),
                        Job::Free(page) => {
                            drop(page);
                            continue;
                        }
                    };
                    let mut read = read(page, &limits, recipe, &large).map(Box::new);
                    if let Ok(page) = &mut read {
                        page.pack(Option::as_ref(&packer));
                        if let Some(ahead) = &ahead {
                            ahead.compare(page);
                        }
                    }
                    let _ = result.send(read);
                }
            };
            std::thread::Builder::new().name(format!("read-{number}")).spawn(work).ok()
        });
        Self { threads: threads.collect(), jobs: Some(jobs), waiting: VecDeque::new(), bytes: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn add(&mut self, page: StoredPage) {
        let bytes = page.response.body.len() + page.response.raw.len();
        let (result, receiver) = channel();
        let url = page.url.clone();
        self.waiting.push_back(Waiting { url, bytes, result: receiver, received: None });
        self.bytes += bytes;
        if let Some(jobs) = &self.jobs {
            // Without a thread the result never comes, and the page counts as unreadable.
            let _ = jobs.send(Job::Read(Box::new(page), result));
        }
    }

    pub(crate) fn free(&self, page: Box<PageWork>) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(Job::Free(page));
        }
    }

    /// Returns the result of the first waiting page. Waits for it if `all` is set or a limit is exceeded; otherwise
    /// returns `None` if it is not ready.
    pub(crate) fn next(&mut self, all: bool) -> Option<(Url, ReadPage)> {
        let too_much = self.waiting.len() > AHEAD || self.bytes > AHEAD_BYTES;
        if !self.waiting.front_mut()?.is_ready() {
            if !all && !too_much {
                return None;
            }
            self.wait();
        }
        let Waiting { url, bytes, received, .. } = self.waiting.pop_front()?;
        self.bytes -= bytes;
        Some((url, received.unwrap_or_else(|| Err(defect()))))
    }

    /// Waits for the first page and for the quarter of the queue after it: a wait for many pages costs this thread less
    /// than a wait for each page. Meanwhile, the workers read the rest.
    fn wait(&mut self) {
        let last = self.waiting.len() / 4;
        // By the time that the last page is ready, the pages before it mostly are.
        for place in [last, 0] {
            if let Some(page) = self.waiting.get_mut(place).filter(|page| page.received.is_none()) {
                page.received = page.result.recv().ok();
            }
        }
    }
}

impl Waiting {
    /// Returns whether the result is known. Without a worker there never is one.
    fn is_ready(&mut self) -> bool {
        if self.received.is_none() {
            match self.result.try_recv() {
                Ok(result) => self.received = Some(result),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => {}
            }
        }
        true
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn defect() -> Unread {
    Unread {
        reason: SkipReason::Extraction,
        detail: "this page crashes the parser. This is a bug: please report it".into(),
    }
}

fn read(
    page: StoredPage,
    limits: &Limits,
    recipe: Recipe,
    large: &Mutex<()>,
) -> Result<PageWork, Unread> {
    let _alone = (page.response.body.len() > LARGE_PAGE)
        .then(|| large.lock().unwrap_or_else(PoisonError::into_inner));
    let read = || {
        let StoredPage { url, response, time, title } = page;
        let mut document = read_response(&url, &response, limits, true)?;
        if let Some(title) = title {
            document.title = title;
        }
        Ok(PageWork::from_document(None, url, response, document, time, recipe))
    };
    // The failure of one page must not end the job.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_or_else(|_| Err(defect()))
}
