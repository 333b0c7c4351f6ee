//! How much of the logs is committed: a crash leaves lines behind it, which the next run takes back and may
//! decide otherwise.

use std::path::Path;
use std::time::SystemTime;

use hapax_dedup::Policy;
use hapax_extract::Recipe;
use serde_json::{Value, json};

use crate::commands::tables::read_only;
use crate::data::is_locked;

/// To where the logs of a data directory are read.
#[derive(Clone, Debug)]
pub(crate) struct Committed {
    pub(crate) discarded: u64,
    pub(crate) decisions: u64,
    /// Length and time of the logs then; none while somebody is at work, who commits within a second what
    /// is there, or cuts off what a crash left.
    stamps: Option<[Stamp; 2]>,
}

type Stamp = Option<(u64, SystemTime)>;

impl Committed {
    /// By the store's last commit; all that is there while somebody is at work. A store that is lost or
    /// damaged says nothing of the logs.
    pub(crate) fn of(data: &Path) -> Self {
        let mut all = Self { discarded: u64::MAX, decisions: u64::MAX, stamps: None };
        if is_locked(data).unwrap_or(true) {
            return all;
        }
        all.stamps = Some(stamps(data));
        let store = read_only(data, Policy::default(), Recipe::default().name());
        let position = match store {
            // No commit yet: the next run keeps nothing of what is there.
            Ok(Some((store, _))) if store.payload().is_empty() => json!({}),
            Ok(Some((store, _))) => serde_json::from_slice(&store.payload()).unwrap_or_default(),
            _ => Value::Null,
        };
        if let Some(position) = position.as_object() {
            let length = |name: &str| position.get(name).and_then(Value::as_u64).unwrap_or(0);
            (all.discarded, all.decisions) = (length("discarded"), length("decisions"));
        }
        all
    }

    /// Whether that is so still: nobody is at work, and nobody was.
    pub(crate) fn is_current(&self, data: &Path) -> bool {
        self.stamps.is_some_and(|then| then == stamps(data)) && !is_locked(data).unwrap_or(true)
    }

    /// What is true by now.
    pub(crate) fn renew(&mut self, data: &Path) {
        if !self.is_current(data) {
            *self = Self::of(data);
        }
    }
}

fn stamps(data: &Path) -> [Stamp; 2] {
    ["discarded.jsonl", "decisions.jsonl"].map(|name| {
        let meta = std::fs::metadata(data.join(name)).ok()?;
        Some((meta.len(), meta.modified().ok()?))
    })
}
