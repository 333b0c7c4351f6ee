use crate::error::{Error, Result};
use crate::limits::MAX_RECIPE;
use crate::policy::Policy;
use crate::store::segment::build::MAX_ROWS;

/// A memtable takes no more before a commit. The next open reads what several journals hold into one, and makes
/// a segment of that before anything is added if it is as much.
pub(crate) const MAX_MEMTABLE: usize = (MAX_ROWS / 2) as usize;

/// How a [`Store`](crate::Store) is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Thresholds of the decision. The distance may be another one than last time: the tables stay,
    /// only how far they are probed changes.
    pub policy: Policy,
    /// The name of what made the fingerprints: normalisation, features, weights, hash. Stored, and
    /// checked at each open, for fingerprints of two recipes never compare. Default `"custom"`.
    pub recipe: String,
    /// Mark the digests of inserted documents as made by a method without known collisions, such as a
    /// cryptographic hash. A digest with the mark never equals one without it: a store whose digests
    /// change their method sets this, and compares the records of before with
    /// [`Store::equal_by_former_digest`](crate::Store::equal_by_former_digest). Default off.
    pub strong_digests: bool,
    /// Put duplicates into the tables too, so that later documents can match them. Default off.
    pub keep_duplicates: bool,
    /// From so many documents on, what is in memory becomes a segment at the next commit; at most
    /// 67,108,863. So it does when the journal has reached 64 MiB, some 10^6 bare fingerprints with short keys or 3 x 10^5
    /// documents with sketches. Default 262,144.
    pub memtable_documents: usize,
    /// The same by bytes. Default 64 MiB.
    pub memtable_bytes: usize,
    /// Bytes of memory that a merge may take: with less it goes through its documents more often. It
    /// takes more only where one bucket of a table has more, and up to 1/256 of a table. Default
    /// 256 MiB.
    pub merge_bytes: usize,
    /// Bytes a fingerprint that the Hamming tables may take, which decides on their arrangement.
    /// Default: at most 75, and the smallest of those that are nearly the fastest for their number.
    pub bytes_per_fingerprint: f64,
    /// As long as they fit into so many bytes, about 70 a document at distance 3 (45 below 1.3
    /// million, some 110 while they go over to other tables there), all fingerprints are in memory as well: offers are up to twice as fast, and look-ups read no segment but for
    /// what they find. 0 for never; at most 16 GiB. Looked at when memory becomes a segment, so it
    /// may be passed by two memtables; a snapshot keeps what it began with. A store that is opened
    /// with segments reads them when it next writes one, if they need about half of it or less. With
    /// distances above 4 only small stores gain. Default 512 MiB.
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
    /// [`memtable_documents`](Self::memtable_documents), at most so many that twice as many still fit: then who
    /// commits waits for the merge under way.
    pub(crate) fn full_at(&self) -> usize {
        self.memtable_documents.min(MAX_MEMTABLE / 2)
    }

    /// [`resident_bytes`](Self::resident_bytes), at most.
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
        assert_eq!(error, "similarity_short = 65: a similarity lies between 0 and 1");
    }

    #[test]
    fn what_the_journals_hold_fits_into_one_segment() {
        let options = Options { memtable_documents: usize::MAX, ..Options::default() };
        assert_eq!(options.full_at(), 67_108_863, "as the documentation says");
        // An open leaves less than the largest memtable in memory, and as much may be added before the next one.
        assert!(2 * options.full_at() <= MAX_MEMTABLE && 2 * MAX_MEMTABLE as u64 <= MAX_ROWS);
    }
}
