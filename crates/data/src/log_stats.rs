use std::collections::BTreeMap;

use serde::Serialize;

use crate::canonical_state::canonical_of_row;
use crate::error::Result;
use crate::standing::Heads;

/// Classes of similarity, each a twentieth wide.
pub const SIMILARITY_CLASSES: usize = 20;

/// Statistics of one host.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HostStats {
    /// The host.
    pub host: String,
    /// Its discarded pages.
    pub discarded: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

/// Statistics of the log, at present.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LogStats {
    /// Rows of the log, restored ones included.
    pub rows: u64,
    /// Discarded pages, without redirects.
    pub discarded: u64,
    /// URLs that redirect to another page.
    pub aliases: u64,
    /// Restored rows.
    pub restored: u64,
    /// Bytes of the bodies of discarded pages.
    pub bytes: u64,
    /// Number of each kind.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Number of each cause of an address, redirects included; a page may have several.
    pub causes: BTreeMap<&'static str, u64>,
    /// Number of each canonical state, without redirects.
    pub canonical: BTreeMap<&'static str, u64>,
    /// Number at each Hamming distance; the last one counts all distances above.
    pub distances: Vec<u64>,
    /// Number in each class of similarity.
    pub similarities: Vec<u64>,
    /// Number per day.
    pub days: BTreeMap<String, u64>,
    /// Number per language.
    pub languages: BTreeMap<String, u64>,
    /// Hosts, those with the most discarded pages first.
    pub hosts: Vec<HostStats>,
}

const DISTANCES: usize = 17;

impl LogStats {
    /// Counts the rows of a log.
    ///
    /// # Errors
    /// If log or tables cannot be read.
    pub fn of(heads: &Heads<'_>) -> Result<Self> {
        let rows = heads.rows;
        let mut stats = Self {
            rows: rows.all().len() as u64,
            distances: vec![0; DISTANCES],
            similarities: vec![0; SIMILARITY_CLASSES],
            ..Self::default()
        };
        let mut hosts: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let mut days: BTreeMap<u64, u64> = BTreeMap::new();
        stats.restored =
            rows.all().iter().filter(|row| rows.decisions.restored(row.id).is_some()).count()
                as u64;
        for row in rows.discarded() {
            *stats.kinds.entry(row.kind.as_str()).or_default() += 1;
            for cause in rows.causes(row).unwrap_or_default().names() {
                *stats.causes.entry(cause).or_default() += 1;
            }
            *days.entry(row.time / 86_400).or_default() += 1;
            if row.is_alias() {
                stats.aliases += 1;
                continue;
            }
            stats.discarded += 1;
            *stats.canonical.entry(canonical_of_row(row, heads)?.as_str()).or_default() += 1;
            stats.bytes += u64::from(row.bytes);
            if row.distance < u8::MAX
                && let Some(slot) =
                    stats.distances.get_mut(usize::from(row.distance).min(DISTANCES - 1))
            {
                *slot += 1;
            }
            if row.similarity < u16::MAX
                && let Some(slot) = stats.similarities.get_mut(
                    (usize::from(row.similarity) * SIMILARITY_CLASSES / 1000)
                        .min(SIMILARITY_CLASSES - 1),
                )
            {
                *slot += 1;
            }
            let language = String::from_utf8_lossy(&row.language).trim_matches('\0').to_owned();
            let language = if language.is_empty() { "?".to_owned() } else { language };
            *stats.languages.entry(language).or_default() += 1;
            let host = hosts.entry(row.host).or_default();
            *host = (host.0 + 1, host.1 + u64::from(row.bytes));
        }
        stats.days = days
            .into_iter()
            .map(|(day, count)| {
                let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(day * 86_400);
                let text = hapax_warc::format_time(time);
                (text.get(..10).unwrap_or_default().to_owned(), count)
            })
            .collect();
        let name = |number| rows.host_name(number).to_owned();
        stats.hosts = hosts
            .into_iter()
            .map(|(host, (discarded, bytes))| HostStats { host: name(host), discarded, bytes })
            .collect();
        stats.sort();
        Ok(stats)
    }

    fn sort(&mut self) {
        self.hosts.sort_by(|a, b| b.discarded.cmp(&a.discarded).then_with(|| a.host.cmp(&b.host)));
    }

    /// Adds the statistics of another log.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.rows += other.rows;
        self.discarded += other.discarded;
        self.aliases += other.aliases;
        self.restored += other.restored;
        self.bytes += other.bytes;
        self.distances.iter_mut().zip(other.distances).for_each(|(a, b)| *a += b);
        self.similarities.iter_mut().zip(other.similarities).for_each(|(a, b)| *a += b);
        other.kinds.into_iter().for_each(|(kind, n)| *self.kinds.entry(kind).or_default() += n);
        other.causes.into_iter().for_each(|(cause, n)| *self.causes.entry(cause).or_default() += n);
        let canonical = other.canonical.into_iter();
        canonical.for_each(|(state, n)| *self.canonical.entry(state).or_default() += n);
        other.days.into_iter().for_each(|(day, n)| *self.days.entry(day).or_default() += n);
        let languages = other.languages.into_iter();
        languages.for_each(|(language, n)| *self.languages.entry(language).or_default() += n);
        let mut hosts: BTreeMap<String, HostStats> = BTreeMap::new();
        for host in std::mem::take(&mut self.hosts).into_iter().chain(other.hosts) {
            let sum = hosts.entry(host.host.clone()).or_default();
            sum.discarded += host.discarded;
            sum.bytes += host.bytes;
            sum.host = host.host;
        }
        self.hosts = hosts.into_values().collect();
        self.sort();
        self
    }
}
