//! Opens the stores, and brings them back in step after a crash.

use std::collections::{BTreeMap, HashSet};
use std::hash::BuildHasher;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use hapax_data::{
    Committed, DataDir, Decisions, EventLog, Log, PagePosition, SiteStore, SkipPosition, TextCache,
    TextStore, digests_of, read_position, remove_cdxj,
};
use hapax_dedup::{Options, Store};
use hapax_extract::{Recipe, jieba};
use hapax_frontier::Frontier;
use hapax_index::{Index, Searcher};
use hapax_warc::{WarcOptions, Writer};

use super::state::{CacheNotice, Group, Logs, Run, Search, SecondLook, Warc};
use super::{Committer, HOST_PAGES, Parts};
use crate::archive_index::ArchiveIndex;
use crate::error::{Error, Result};
use crate::event::Observer;
use crate::intact;
use crate::seeds::Seeds;
use crate::sink::Sinks;
use crate::stats::Stats;

/// Bytes of the dedup store in memory before it writes a segment.
const DEDUP_MEMORY: usize = 32 << 20;

impl Committer {
    pub(crate) fn open(
        data: &DataDir,
        parts: &Parts,
        frontier: Option<Arc<dyn Frontier>>,
        stats: Arc<Stats>,
    ) -> Result<Self> {
        intact::has_store(data)?;
        if !data.dedup().join("MANIFEST").exists() {
            // Before a store is created.
            parts.against.must_fit(parts.recipe, &data.dedup())?;
        }
        let (store, recipe) = open_store(data, parts)?;
        parts.against.must_fit(recipe, &data.dedup())?;
        let pages: PagePosition = read_position(&store.payload())?;
        let digests = digests_of(&store.payload())?;
        let skips: SkipPosition = match &frontier {
            Some(frontier) => SkipPosition::read(&frontier.payload()?)?,
            None => SkipPosition::default(),
        };
        let search = open_search(data, parts, &pages, store.next_id())?;
        let warc = open_warc(data, parts, &pages)?;
        let is_new = store.payload().is_empty();
        let knows_skipped =
            intact::knows_skipped(data, frontier.as_deref(), is_new, parts.has_seeds)?;
        let logs = open_logs(data, parts, &pages, knows_skipped.then_some(&skips))?;
        let look = SecondLook::of(&skips);
        stats.restore(pages.counts, skips.counts);
        stats.set_baseline(skips.baseline.filter(|_| skips.recrawl));
        stats.needs_upgrade.store(digests.needs_upgrade(), Relaxed);
        let compared = TextStore::open(&data.texts());
        compared.keep_below(store.next_id());
        let mut committer = Self {
            observer: Observer::default(),
            sinks: Sinks::default(),
            store: Arc::new(store),
            search,
            warc,
            logs,
            shared: None,
            root: data.root().to_owned(),
            frontier,
            received: None,
            stats,
            texts: TextCache::default(),
            compared: Arc::new(compared),
            sites: open_sites(data, parts, pages.sites, is_new),
            references: Arc::clone(&parts.against),
            named: BTreeMap::new(),
            look,
            run: Run {
                moved_seeds: skips.moved_seeds,
                seed_fetched: skips.seed_fetched,
                utf8_queries: skips.utf8_queries != Some(false),
                rules: skips.rules,
                finished: skips.finished,
                before: Duration::from_millis(skips.elapsed_ms),
                started: Instant::now(),
            },
            seeds: Seeds::default(),
            hosts: pages.hosts,
            digests,
            policy: parts.policy,
            recipe,
            keeps_duplicates: parts.keep_duplicates,
            leased: Default::default(),
            group: Group::new(),
            cache: CacheNotice::default(),
        };
        committer.restore_hosts(parts)?;
        committer.begin_events()?;
        Ok(committer)
    }

    /// Restores the number of fetched pages of each host: from the frontier, and from the store's last commit, which
    /// may be newer than the frontier's.
    fn restore_hosts(&self, parts: &Parts) -> Result<()> {
        let Some(frontier) = self.frontier.as_ref().filter(|_| !parts.shared) else {
            return Ok(());
        };
        frontier.notes(HOST_PAGES, &mut |host, pages| self.stats.restore_host(host, pages))?;
        for (host, fetched) in &self.hosts {
            self.stats.at_least(host, *fetched);
        }
        Ok(())
    }
}

/// Opens the counts of lines. Without texts, and in a crawl that workers share, nothing is counted.
fn open_sites(data: &DataDir, parts: &Parts, commit: u64, is_new: bool) -> SiteStore {
    if parts.sites && !parts.shared && !parts.policy.hamming_only {
        SiteStore::open(&data.sites(), commit, is_new)
    } else {
        SiteStore::off(commit)
    }
}

/// Opens the store with the requested recipe, or else with the version before it. Returns the recipe that it has.
fn open_store(data: &DataDir, parts: &Parts) -> Result<(Store, Recipe)> {
    let made = |recipe: Recipe| move |store| (store, recipe);
    match open_store_by(data, parts, parts.recipe) {
        Err(hapax_dedup::Error::Recipe { stored, asked }) => {
            let former = parts.recipe.former_named(&stored);
            if let Some(former) = former {
                return Ok(open_store_by(data, parts, former).map(made(former))?);
            }
            // Users cannot request a recipe of another version.
            let way = match Recipe::parse(&stored) {
                Some(_) => format!("give --recipe {stored}, or another --data"),
                None => "use the version that created it, another --data, or --fresh".to_owned(),
            };
            let made = format!("this data directory uses recipe {stored}, not {asked}");
            Err(Error::invalid(format!("{made}: {way}")))
        }
        store => Ok(store.map(made(parts.recipe))?),
    }
}

fn open_store_by(data: &DataDir, parts: &Parts, recipe: Recipe) -> hapax_dedup::Result<Store> {
    let options = Options {
        policy: parts.policy,
        recipe: recipe.name().to_owned(),
        keep_duplicates: parts.keep_duplicates,
        memtable_bytes: DEDUP_MEMORY,
        merge_bytes: DEDUP_MEMORY,
        // A crawl offers about 1,000 pages a second: tables in memory are not worth their size.
        resident_bytes: 0,
        strong_digests: true,
        ..Options::default()
    };
    Store::open(data.dedup(), options)
}

/// Opens the index and removes documents that are newer than the dedup store's commit: they would be indexed twice.
fn open_search(
    data: &DataDir,
    parts: &Parts,
    pages: &PagePosition,
    documents: u64,
) -> Result<Search> {
    let there = data.index().join("meta.json").exists();
    if parts.index && !there {
        intact::has_index(data, pages.counts.indexed, pages.counts.fetched)?;
    }
    let mut index = None;
    if parts.index || there {
        let mut opened = Index::open(&data.index(), jieba)?;
        opened.delete_from(documents)?;
        for &id in &pages.leaves_index {
            opened.delete(id);
        }
        opened.commit()?;
        index = Some(opened);
    }
    Ok(Search {
        index,
        adds: parts.index,
        leaving: Vec::new(),
        added: HashSet::new(),
        recent: BTreeMap::new(),
        earlier: Searcher::open(&data.index(), jieba).ok(),
        folder: data.index(),
    })
}

fn open_warc(data: &DataDir, parts: &Parts, pages: &PagePosition) -> Result<Warc> {
    let name = match pages.archive {
        // Each `RandomState` has random keys.
        0 => std::hash::RandomState::new().hash_one(pages.warc_length),
        archive => archive,
    };
    let (mut writer, mut index) = (None, None);
    if parts.warc {
        let (file, length) = (pages.warc_file.max(1), pages.warc_length);
        let software = concat!("hapax/", env!("CARGO_PKG_VERSION")).to_owned();
        let archive = format!("{name:016x}");
        let options = WarcOptions { software, archive, ..WarcOptions::default() };
        let what = |error: std::io::Error| match error.kind() {
            // Less is stored than was committed.
            ErrorKind::NotFound | ErrorKind::UnexpectedEof | ErrorKind::InvalidData => {
                Error::damaged(format!("{}: {error}", data.pages().display()))
            }
            _ => {
                let context = data.pages().display().to_string();
                hapax_data::Error::Io { context, source: error }.into()
            }
        };
        writer = Some(Writer::open(&data.pages(), file, length, options).map_err(what)?);
        remove_cdxj(&data.pages(), file)?;
        let mut own = ArchiveIndex::of(data.pages());
        own.committed(file);
        index = Some(own);
    }
    Ok(Warc {
        writer,
        end: (pages.warc_file, pages.warc_length),
        name,
        folder: data.pages(),
        index,
        places: BTreeMap::new(),
    })
}

/// Opens the logs and cuts them back to what is committed. If that is not known for skipped.jsonl (`skips` is
/// `None`), this log stays as it is.
fn open_logs(
    data: &DataDir,
    parts: &Parts,
    pages: &PagePosition,
    skips: Option<&SkipPosition>,
) -> Result<Logs> {
    let elsewhere = Committed { length: pages.skipped, sum: pages.skipped_sum };
    let skipped = skips.map(|skips| {
        Committed { length: skips.skipped, sum: skips.skipped_sum }.or_longer(elsewhere)
    });
    let discarded = Committed { length: pages.discarded, sum: pages.discarded_sum };
    let decisions = Committed { length: pages.decisions, sum: pages.decisions_sum };
    Ok(Logs {
        discarded: Log::open(&data.discarded(), Some(discarded))?,
        skipped: Log::open(&data.skipped(), skipped)?,
        decided: Log::open(&data.root().join("decisions.jsonl"), Some(decisions))?,
        events: EventLog::open(data.root(), pages)?,
        // Read after the log was cut back.
        decisions: Decisions::read(data.root())?,
        skips: parts.skips,
        elsewhere,
    })
}
