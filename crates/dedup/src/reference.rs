//! Reference implementations of the search within a distance, for tests of the tables.

use crate::Fingerprint;

/// The largest distance for [`near_by_probing`] and [`ExpandedSet`]: a fingerprint has 43,745 variants at 3, and
/// 679,121 at 4.
pub const MAX_VARIANT_DISTANCE: u32 = 3;

/// Scans `stored` exhaustively. Returns the distinct fingerprints within `distance` of `query`, nearest first, then
/// by value.
///
/// # Complexity
/// One comparison per stored fingerprint.
pub fn near_by_scan(stored: &[Fingerprint], query: Fingerprint, distance: u32) -> Vec<Fingerprint> {
    let near = stored.iter().copied().filter(|&other| query.distance(other) <= distance);
    in_order(near.collect(), query)
}

/// Returns the same for a sorted list: looks up every variant of the query with up to `distance` flipped bits. `None`
/// above [`MAX_VARIANT_DISTANCE`].
///
/// # Complexity
/// A binary search for each of the sum of C(64, i) variants.
///
/// # References
/// Manku, Jain, Das Sarma, WWW 2007, section 3 (the first of the two extremes).
pub fn near_by_probing(
    sorted: &[Fingerprint],
    query: Fingerprint,
    distance: u32,
) -> Option<Vec<Fingerprint>> {
    if distance > MAX_VARIANT_DISTANCE {
        return None;
    }
    let mut found = Vec::new();
    variants(query, distance, |variant| {
        if sorted.binary_search(&variant).is_ok() {
            found.push(variant);
        }
    });
    Some(in_order(found, query))
}

/// All variants of the stored fingerprints, sorted, so that a query is one search: the paper's second extreme,
/// fastest and 43,745 times as large.
///
/// # References
/// As [`near_by_probing`].
#[derive(Clone, Debug)]
pub struct ExpandedSet {
    variants: Vec<(Fingerprint, Fingerprint)>,
}

impl ExpandedSet {
    /// Builds the set for one distance; `None` above [`MAX_VARIANT_DISTANCE`].
    pub fn new(stored: &[Fingerprint], distance: u32) -> Option<Self> {
        if distance > MAX_VARIANT_DISTANCE {
            return None;
        }
        let mut all = Vec::new();
        for &original in stored {
            variants(original, distance, |variant| all.push((variant, original)));
        }
        all.sort_unstable();
        all.dedup();
        Some(Self { variants: all })
    }

    /// Returns the result of [`near_by_scan`].
    ///
    /// # Complexity
    /// One binary search.
    pub fn near(&self, query: Fingerprint) -> Vec<Fingerprint> {
        let from = self.variants.partition_point(|(variant, _)| *variant < query);
        let group = self.variants.get(from..).unwrap_or_default().iter();
        let near =
            group.take_while(|(variant, _)| *variant == query).map(|(_, original)| *original);
        in_order(near.collect(), query)
    }
}

fn in_order(mut found: Vec<Fingerprint>, query: Fingerprint) -> Vec<Fingerprint> {
    found.sort_unstable_by_key(|other| (query.distance(*other), *other));
    found.dedup();
    found
}

fn variants(original: Fingerprint, distance: u32, mut visit: impl FnMut(Fingerprint)) {
    for flip in crate::tables::bits::Flips::new(64, distance) {
        visit(Fingerprint::from_bits(original.bits() ^ flip));
    }
}
