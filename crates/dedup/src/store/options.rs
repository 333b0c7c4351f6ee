use crate::error::{Error, Result};
use crate::limits::MAX_RECIPE;
use crate::policy::Policy;
use crate::store::segment::build::MAX_ROWS;

/// The most documents of a memtable before a commit. An open reads several journals into one memtable. If they hold
/// this many documents, it writes a segment before it accepts more.
pub(crate) const MAX_MEMTABLE: usize = (MAX_ROWS / 2) as usize;

/// Options to open a [`Store`](crate::Store).
#[derive(Clone, Debug)]
pub struct Options {
    /// Thresholds of the decision. The distance may change between opens: tables stay, only the probing radius
    /// changes.
    pub policy: Policy,
    /// The name of the method that made the fingerprints: normalisation, features, weights, hash. It is stored and
    /// checked at each open, because fingerprints of two recipes cannot be compared. Default `"custom"`.
    pub recipe: String,
    /// Mark digests of inserted documents as strong: made by a method without known collisions, such as a
    /// cryptographic hash. A strong digest never equals one without the mark. Set it when the digest method changes,
    /// and compare older records with [`Store::equal_by_former_digest`](crate::Store::equal_by_former_digest).
    /// Default off.
    pub strong_digests: bool,
    /// Add duplicates to the tables too, so that later documents can match them. Default off.
    pub keep_duplicates: bool,
    /// At this number of documents the next commit writes memory into a segment; at most 59,652,323. A journal of 64
    /// MiB does the same: about 10^6 bare fingerprints with short keys, or 3 x 10^5 documents with sketches. Default
    /// 262,144.
    pub memtable_documents: usize,
    /// The same limit in bytes of memory. Default 64 MiB.
    pub memtable_bytes: usize,
    /// Bytes of memory for a merge. With less, it passes over its documents more times. It exceeds the limit only for
    /// a single larger bucket, or by up to 1/256 of a table. Default 256 MiB.
    pub merge_bytes: usize,
    /// Bytes per fingerprint that the Hamming tables may take; this selects their layout. Default 75, within which
    /// the smallest layout that is nearly as fast as the fastest is chosen.
    pub bytes_per_fingerprint: f64,
    /// Bytes up to which all fingerprints are also kept in memory. Offers are then up to twice as fast, and look-ups
    /// read segments only for results. 0 disables it; at most 16 GiB. Default 512 MiB.
    ///
    /// At distance 3 a document needs about 70 bytes: 45 below 1.3 million documents, and about 110 while the tables
    /// are converted there. The limit is checked when memory becomes a segment, so two memtables may exceed it; a
    /// snapshot keeps its resident set. A store opened with segments loads them when it next writes one, if they need
    /// at most about half. At distances above 4 only small stores gain.
    pub resident_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            recipe: "custom".to_owned(),
            strong_digests: false,
            keep_duplicates: false,
            memtable_documents: 1 << 18,
            memtable_bytes: 64 << 20,
            merge_bytes: 256 << 20,
            bytes_per_fingerprint: 75.0,
            resident_bytes: 512 << 20,
        }
    }
}

impl Options {
    /// Returns [`memtable_documents`](Self::memtable_documents), limited so that twice that number fits; above that,
    /// a commit waits for the running merge.
    pub(crate) fn full_at(&self) -> usize {
        self.memtable_documents.min(MAX_MEMTABLE / 2)
    }

    pub(crate) fn resident_limit(&self) -> u64 {
        self.resident_bytes.min(16 << 30) as u64
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.policy.distance > crate::MAX_DISTANCE {
            return Err(Error::Distance(self.policy.distance));
        }
        self.policy.check()?;
        if self.recipe.len() > MAX_RECIPE || self.recipe.contains(['\n', '\r']) {
            return Err(Error::RecipeName);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::segment::build::MAX_ROWS;

    #[test]
    fn thresholds_are_similarities() {
        let check = |change: fn(&mut Policy, f64), value| {
            let mut options = Options::default();
            change(&mut options.policy, value);
            options.check().is_ok()
        };
        let same_site: fn(&mut Policy, f64) = |policy, value| policy.similarity_same_site = value;
        let name: fn(&mut Policy, f64) = |policy, value| policy.similarity_name = value;
        for value in [f64::NAN, f64::INFINITY, -0.1, 55.0] {
            assert!(!check(same_site, value) && !check(name, value), "{value}");
        }
        assert!(check(same_site, 0.0) && check(same_site, 1.0) && !check(same_site, 1.1));
        assert!(check(name, 2.0), "only equal text");
        let mut options = Options::default();
        options.policy.similarity_short = 65.0;
        let error = options.check().unwrap_err().to_string();
        assert_eq!(error, "similarity_short = 65: out of range. A similarity is from 0 to 1");
    }

    #[test]
    fn the_documents_of_all_journals_fit_into_one_segment() {
        let options = Options { memtable_documents: usize::MAX, ..Options::default() };
        assert_eq!(options.full_at(), 59_652_323, "as the documentation says");
        // An open leaves less than the largest memtable in memory, and the same number may be added before the next
        // open.
        assert!(2 * options.full_at() <= MAX_MEMTABLE && 2 * MAX_MEMTABLE as u64 <= MAX_ROWS);
    }
}
