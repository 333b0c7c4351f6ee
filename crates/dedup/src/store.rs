use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::idmap::IdMap;
use crate::journal::{Journal, Kind};
use crate::manifest;
use crate::policy::{Level, Neighbour, Policy, Side, Verdict};
use crate::record::{DocId, Document, Record};
use crate::sketch::{BANDS, Sketch};
use crate::tables::GrowingTables;
use crate::tables::growing::MixMap;
use crate::{Fingerprint, Layout};

/// A band's bucket holds at most this many documents: a template that every page of a site shares
/// would otherwise make each look-up slow. Hamming tables are never capped.
pub const MAX_BAND_BUCKET: usize = 512;

/// How a [`Store`] is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Thresholds of the decision.
    pub policy: Policy,
    /// The name of what made the fingerprints: normalisation, features, weights, hash. Stored, and
    /// checked at each open, for fingerprints of two recipes never compare. Default `"custom"`.
    pub recipe: String,
    /// Put duplicates into the tables too, so that later documents can match them. Default off.
    pub keep_duplicates: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { policy: Policy::default(), recipe: "custom".to_owned(), keep_duplicates: false }
    }
}

/// What the decision needs of one document, in memory.
#[derive(Clone, Debug)]
struct Slot {
    fingerprint: Fingerprint,
    sketch: Option<Box<Sketch>>,
    tokens: u32,
    of: Option<DocId>,
    site: u64,
    names: [u64; 2],
    /// Where its record lies in the journal; unused by a store in memory.
    offset: u64,
}

/// Documents, looked up by fingerprint and sketch, each stored once.
///
/// On disk every commit is durable when it returns, and what was not committed is gone after a
/// crash, whole. One process holds a folder at a time.
#[derive(Debug)]
pub struct Store {
    options: Options,
    folder: Option<PathBuf>,
    _lock: Option<File>,
    journal: Option<Journal>,
    ids: IdMap,
    slots: Vec<Slot>,
    /// The keys of a store without a journal.
    keys: Vec<Vec<u8>>,
    tables: GrowingTables,
    documents_of: MixMap<Vec<DocId>>,
    by_digest: std::collections::HashMap<[u8; 16], DocId>,
    bands: MixMap<Vec<u32>>,
    payload: Vec<u8>,
    duplicates: u64,
    capped: u64,
}

impl Store {
    /// A store in memory.
    ///
    /// # Errors
    /// A distance above 7.
    pub fn in_memory(options: Options) -> Result<Self> {
        let layout = layout(&options)?;
        Ok(Self {
            options,
            folder: None,
            _lock: None,
            journal: None,
            ids: IdMap::open(None, 0).0,
            slots: Vec::new(),
            keys: Vec::new(),
            tables: GrowingTables::new(layout),
            documents_of: MixMap::default(),
            by_digest: std::collections::HashMap::new(),
            bands: MixMap::default(),
            payload: Vec::new(),
            duplicates: 0,
            capped: 0,
        })
    }

    /// Opens or creates the store in `folder`.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process holds it, [`Error::Corrupt`], [`Error::Version`] and
    /// [`Error::Recipe`] for what lies there, [`Error::Io`] from the file system.
    ///
    /// # Complexity
    /// Reads the journal once: linear in the documents stored.
    pub fn open(folder: impl AsRef<Path>, options: Options) -> Result<Self> {
        let folder = folder.as_ref();
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let lock = lock(folder)?;
        manifest::check_or_create(folder, &options.recipe)?;
        let mut store = Self::in_memory(options)?;
        store.folder = Some(folder.to_owned());

        let mut records: Vec<(Vec<u8>, DocId)> = Vec::new();
        let journal = Journal::open(&folder.join("journal"), |frame| match frame.kind {
            Kind::Commit => {
                store.payload = frame.payload.to_vec();
                true
            }
            Kind::Record => match Record::decode(frame.payload) {
                Some(record) if record.id == store.slots.len() as u64 => {
                    store.remember(&record, frame.offset);
                    records.push((record.key, record.id));
                    true
                }
                _ => false,
            },
        })?;
        let (ids, known) = IdMap::open(Some(&folder.join("ids")), store.len());
        store.ids = ids;
        for (key, id) in records.into_iter().filter(|(_, id)| *id >= known) {
            store.ids.insert(key, id);
        }
        store.ids.commit()?;
        store.journal = Some(journal);
        store._lock = Some(lock);
        Ok(store)
    }

    /// How many documents are stored, duplicates among them.
    pub fn len(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Whether none is stored.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many of the documents are duplicates.
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// How often a document was left out of a band because its bucket was full.
    pub const fn capped_bands(&self) -> u64 {
        self.capped
    }

    /// What the last commit carried, see [`commit`](Self::commit).
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The document offered under `key`.
    pub fn id_of(&self, key: &[u8]) -> Option<DocId> {
        self.ids.get(key)
    }

    /// The document that `id` was discarded for, if it was.
    pub fn duplicate_of(&self, id: DocId) -> Option<DocId> {
        self.slots.get(usize::try_from(id).ok()?)?.of
    }

    /// The whole record of a document, read from the journal.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Io`] from the journal. An unknown `id` is `None`.
    pub fn record(&mut self, id: DocId) -> Result<Option<Record>> {
        let Some(slot) = usize::try_from(id).ok().and_then(|i| self.slots.get(i)) else {
            return Ok(None);
        };
        let Some(journal) = &mut self.journal else {
            return Ok(Some(Record {
                id,
                of: slot.of,
                fingerprint: slot.fingerprint,
                digest: None,
                sketch: slot.sketch.as_deref().copied(),
                tokens: slot.tokens,
                site: slot.site,
                names: slot.names,
                key: self.keys.get(id as usize).cloned().unwrap_or_default(),
            }));
        };
        let offset = slot.offset;
        let payload = journal.read(offset)?;
        let path = self.folder.clone().unwrap_or_default().join("journal");
        let record = Record::decode(&payload);
        record.map(Some).ok_or(Error::Corrupt { path, offset, what: "no record where one was" })
    }

    /// All stored documents that `document` duplicates by the policy, best first: equal text, then
    /// by similarity, distance and age.
    pub fn matches(&self, document: &Document<'_>) -> Vec<Neighbour> {
        if document.tokens == 0 {
            return Vec::new();
        }
        let mut found: Vec<Neighbour> = Vec::new();
        let side = Side {
            sketch: document.sketch.as_ref(),
            tokens: document.tokens,
            site: document.site,
            names: document.names,
        };
        let mut propose = |id: DocId, level: Level, table: Option<usize>| {
            let Some(slot) = self.slots.get(id as usize) else { return };
            if found.iter().any(|other| other.id == id) {
                return;
            }
            let other = Side {
                sketch: slot.sketch.as_deref(),
                tokens: slot.tokens,
                site: slot.site,
                names: slot.names,
            };
            let confirmed = self.options.policy.confirm(level, side, other);
            if let Some((similarity, similarity_threshold)) = confirmed {
                found.push(Neighbour {
                    id,
                    fingerprint: slot.fingerprint,
                    distance: document.fingerprint.distance(slot.fingerprint),
                    similarity,
                    similarity_threshold,
                    level,
                    table,
                });
            }
        };
        if let Some(&id) = document.digest.and_then(|digest| self.by_digest.get(&digest)) {
            propose(id, Level::Text, None);
        }
        for near in self.tables.near(document.fingerprint) {
            for &id in self.documents_of.get(&near.fingerprint.bits()).into_iter().flatten() {
                propose(id, Level::Hamming, Some(near.table));
            }
        }
        if let Some(sketch) = document.sketch.filter(|_| !self.options.policy.hamming_only) {
            for (band, key) in sketch.bands().iter().enumerate() {
                for &id in self.bands.get(key).into_iter().flatten() {
                    propose(u64::from(id), Level::Sketch, Some(band));
                }
            }
        }
        found.sort_by(|a, b| {
            (b.level == Level::Text)
                .cmp(&(a.level == Level::Text))
                .then(b.similarity.unwrap_or(0.0).total_cmp(&a.similarity.unwrap_or(0.0)))
                .then(a.distance.cmp(&b.distance))
                .then(a.id.cmp(&b.id))
        });
        found
    }

    /// Looks a document up and inserts it, in one step: of two near-duplicates exactly one is new.
    /// The same key again is [`Verdict::Known`] and changes nothing.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`]; [`Error::Poisoned`] never: writing happens in [`commit`](Self::commit).
    pub fn offer(&mut self, document: &Document<'_>) -> Result<Verdict> {
        if let Some(id) = self.id_of(document.key) {
            return Ok(Verdict::Known(id));
        }
        let best = self.matches(document).into_iter().next();
        let id = self.insert(document, best.map(|best| best.id))?;
        Ok(match best {
            Some(of) => Verdict::Duplicate { id, of },
            None => Verdict::New(id),
        })
    }

    /// Stores a document under a verdict that the caller has reached, as a duplicate of `of` or as
    /// new. A key that is known keeps its first record, and its number is returned.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`] for a key above 65,535 bytes.
    pub fn insert(&mut self, document: &Document<'_>, of: Option<DocId>) -> Result<DocId> {
        if document.key.len() > usize::from(u16::MAX) {
            return Err(Error::KeyTooLong(document.key.len()));
        }
        if let Some(id) = self.id_of(document.key) {
            return Ok(id);
        }
        let record = Record {
            id: self.len(),
            of,
            fingerprint: document.fingerprint,
            digest: document.digest,
            sketch: document.sketch,
            tokens: document.tokens,
            site: document.site,
            names: document.names,
            key: document.key.to_vec(),
        };
        let offset = match &mut self.journal {
            Some(journal) => journal.append(Kind::Record, |out| record.encode(out)),
            None => {
                self.keys.push(record.key.clone());
                0
            }
        };
        self.remember(&record, offset);
        self.ids.insert(record.key, record.id);
        Ok(record.id)
    }

    /// Makes everything offered before durable. `payload` comes back from
    /// [`payload`](Self::payload) after the next open: a place for the caller's own positions,
    /// moved forward in the same atomic step.
    ///
    /// # Errors
    /// [`Error::Io`]; then the store is poisoned until it is opened again.
    pub fn commit(&mut self, payload: &[u8]) -> Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.commit(payload)?;
        }
        self.payload = payload.to_vec();
        self.ids.commit()
    }

    /// Bytes of the store's journal.
    pub fn bytes(&self) -> u64 {
        self.journal.as_ref().map_or(0, Journal::len)
    }

    fn remember(&mut self, record: &Record, offset: u64) {
        let id = record.id;
        self.slots.push(Slot {
            fingerprint: record.fingerprint,
            sketch: record.sketch.map(Box::new),
            tokens: record.tokens,
            of: record.of,
            site: record.site,
            names: record.names,
            offset,
        });
        if record.of.is_some() {
            self.duplicates += 1;
        }
        if record.tokens == 0 || (record.of.is_some() && !self.options.keep_duplicates) {
            return;
        }
        if let Some(digest) = record.digest {
            self.by_digest.entry(digest).or_insert(id);
        }
        self.tables.insert(record.fingerprint);
        self.documents_of.entry(record.fingerprint.bits()).or_default().push(id);
        let Ok(small) = u32::try_from(id) else { return };
        let keys = record.sketch.map_or([u64::MAX; BANDS], |sketch| sketch.bands());
        for key in keys.into_iter().filter(|key| *key != u64::MAX) {
            let bucket = self.bands.entry(key).or_default();
            if bucket.len() < MAX_BAND_BUCKET {
                bucket.push(small);
            } else {
                self.capped += 1;
            }
        }
    }
}

fn layout(options: &Options) -> Result<Layout> {
    let distance = options.policy.distance;
    Layout::for_distance(distance).map_err(|_| Error::Distance(distance))
}

fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("LOCK");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(Error::io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked { path }),
        Err(TryLockError::Error(source)) => Err(Error::Io { path, source }),
    }
}
