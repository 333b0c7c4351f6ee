//! Pages that `crawl forget` removes or removed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use hapax_dedup::Store;
use hapax_url::host_key;
use url::Url;

use crate::decisions::{Action, Decision, Forgotten};
use crate::error::{Context, Error, Result};

/// Maximum bytes of a line of decisions.jsonl that is read here. Two URLs and a few numbers are far below it.
const MAX_LINE: u64 = 1 << 20;

/// Stored pages that are removed if a page or host is forgotten, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgettable {
    /// The kept pages.
    pub kept: Vec<String>,
    /// The discarded pages and redirects.
    pub discarded: Vec<String>,
}

impl Forgettable {
    /// Finds the stored pages of a URL or host.
    ///
    /// # Errors
    /// If the store cannot be read.
    ///
    /// # Complexity
    /// One look-up for a URL, O(documents) for a host.
    pub fn of(store: &Store, url_or_host: &str) -> Result<Self> {
        let mut found = Self::default();
        let mut add = |key: &[u8], is_kept: bool| {
            let list = if is_kept { &mut found.kept } else { &mut found.discarded };
            list.push(String::from_utf8_lossy(key).into_owned());
        };
        if url_or_host.contains("://") {
            if let Some(id) = store.id_of(url_or_host.as_bytes())?
                && let Some(record) = store.record(id)?
            {
                add(&record.key, record.of.is_none() && record.tokens > 0);
            }
            return Ok(found);
        }
        let forgotten = Forgotten::of(url_or_host);
        for record in store.snapshot().records() {
            let record = record?;
            let url = std::str::from_utf8(&record.key).ok().and_then(|key| Url::parse(key).ok());
            if url.is_some_and(|url| forgotten.holds("", &host_key(&url))) {
                add(&record.key, record.of.is_none() && record.tokens > 0);
            }
        }
        Ok(found)
    }

    /// Returns the number of pages.
    pub const fn len(&self) -> usize {
        self.kept.len() + self.discarded.len()
    }

    /// Returns whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A page or host that is forgotten, with the pages that were removed for it, in the order of removal.
#[derive(Clone, Debug, Default)]
pub struct Removal {
    /// The page or host.
    pub url_or_host: String,
    /// The lines of the removed pages. Earlier versions wrote none.
    pub pages: Vec<Decision>,
    /// When the records of the pages were purged from the archive.
    pub purged: Option<String>,
}

/// Returns the removal of a forgotten page or host; without a name, the last one that was not undone.
///
/// # Errors
/// If decisions.jsonl cannot be read or parsed.
///
/// # Complexity
/// Reads the file once, and holds the lines of pages that are removed and not brought back.
pub fn removal(data: &Path, url_or_host: Option<&str>) -> Result<Option<Removal>> {
    let path = data.join("decisions.jsonl");
    let mut file = match File::open(&path) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let mut removals: HashMap<String, (usize, Removal)> = HashMap::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut limited = (&mut file).take(MAX_LINE);
        limited.read_until(b'\n', &mut line).with_context(|| path.display().to_string())?;
        if !line.ends_with(b"\n") {
            break;
        }
        let decision: Decision = serde_json::from_slice(&line).map_err(|error| {
            Error::Damaged(format!("{}, line {number}: {error}", path.display()))
        })?;
        match (decision.action, &decision.of) {
            (Action::Forget | Action::ForgetHost, _) => {
                removals.entry(decision.url).or_default().0 = number;
            }
            (Action::Purge, _) => {
                if let Some((_, removal)) = removals.get_mut(&decision.url) {
                    removal.purged = Some(decision.time);
                }
            }
            (Action::Unforget, _) => {
                removals.remove(&decision.url);
            }
            (Action::Removed, Some(of)) => {
                if let Some((_, removal)) = removals.get_mut(of) {
                    removal.pages.push(decision);
                }
            }
            _ => {}
        }
    }
    let found = match url_or_host {
        Some(name) => removals.remove_entry(name),
        None => removals.into_iter().max_by_key(|(_, (number, _))| *number),
    };
    Ok(found.map(|(url_or_host, (_, removal))| Removal { url_or_host, ..removal }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::DecidedBy;

    fn line(action: Action, url: &str, of: Option<&str>) -> String {
        let decision = Decision {
            of: of.map(str::to_owned),
            ..Decision::new("2026-11-28T00:00:00Z".into(), action, url.into(), DecidedBy::Person)
        };
        serde_json::to_string(&decision).unwrap() + "\n"
    }

    #[test]
    fn the_last_removal_that_was_not_undone_is_found_with_its_pages() {
        let folder = tempfile::tempdir().unwrap();
        let host = Some("a.example:80");
        let lines = [
            line(Action::ForgetHost, "a.example:80", None),
            line(Action::Removed, "http://a.example/1", host),
            line(Action::Removed, "http://a.example/2", host),
            line(Action::Forget, "http://b.example/", None),
        ];
        let path = folder.path().join("decisions.jsonl");
        std::fs::write(&path, lines.concat()).unwrap();
        let found = removal(folder.path(), None).unwrap().unwrap();
        assert_eq!((&*found.url_or_host, found.pages.len()), ("http://b.example/", 0));
        assert_eq!(removal(folder.path(), host).unwrap().unwrap().pages.len(), 2);
        let undone = line(Action::Unforget, "http://b.example/", None);
        std::fs::write(&path, lines.concat() + &undone + "half a li").unwrap();
        let found = removal(folder.path(), None).unwrap().unwrap();
        assert_eq!((&*found.url_or_host, found.pages.len()), ("a.example:80", 2));
        assert!(removal(folder.path(), Some("c.example")).unwrap().is_none());
    }
}
