//! An in-memory index: an offered fingerprint is looked up and added under a number if none is near.

use super::Near;
use super::growing::GrowingTables;
use super::simd::{Kernel, Scan};
use crate::error::{Error, Result};
use crate::{Fingerprint, Layout, LayoutError};

/// The most fingerprints in tables, at 60 GB and more.
const MAX_FINGERPRINTS: usize = super::growing::MAX_FINGERPRINTS;

const BATCH: usize = 16;

/// The answer of a [`MemoryIndex`] to an offered fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// No stored fingerprint is near. It was added under this number.
    New(u32),
    /// The nearest stored fingerprint, with its number; among several the smallest value. The offered one was not
    /// added.
    Near(u32, Near),
}

/// Fingerprints in memory, numbered in order of insertion, without documents, keys or durability. Use it for a stream
/// that fits into memory and need not outlive the process; otherwise use a [`Store`](crate::Store).
///
/// # Complexity
/// As [`GrowingTables`], plus a number per fingerprint. At distance 3 a fingerprint takes about 37 bytes at 10^6
/// (four tables), 65 from 1.4 million on (six), and 100 during the change.
///
/// ```
/// use hapax_dedup::{Fingerprint, MemoryIndex, Offered};
/// let mut index = MemoryIndex::for_distance(3)?;
/// assert_eq!(index.offer(Fingerprint::from_bits(0xff))?, Offered::New(0));
/// assert_eq!(index.offer(Fingerprint::from_bits(0xff00))?, Offered::New(1));
/// let again = index.offer(Fingerprint::from_bits(0xff01))?;
/// assert!(matches!(again, Offered::Near(1, near) if near.distance == 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemoryIndex {
    tables: GrowingTables,
}

impl MemoryIndex {
    /// Creates an empty index with a fixed layout.
    pub fn new(layout: Layout) -> Self {
        Self { tables: GrowingTables::with_numbers(layout, true) }
    }

    /// Creates an empty index for a distance; its layout changes as it grows ([`GrowingTables::for_distance`]).
    ///
    /// # Errors
    /// A distance above 7.
    pub fn for_distance(distance: u32) -> std::result::Result<Self, LayoutError> {
        Ok(Self { tables: GrowingTables::with_room(distance, 0, true)? })
    }

    /// Returns the present layout.
    pub const fn layout(&self) -> &Layout {
        self.tables.layout()
    }

    /// Returns the number of stored fingerprints.
    pub const fn len(&self) -> usize {
        self.tables.len()
    }

    /// Returns whether the index is empty.
    pub const fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Returns the bytes of the index.
    pub fn bytes(&self) -> usize {
        self.tables.bytes()
    }

    /// Looks a fingerprint up, and adds it if none is within the layout's distance.
    ///
    /// # Errors
    /// [`Error::TooMany`] above 2^30 fingerprints.
    ///
    /// # Complexity
    /// One [`GrowingTables::near`] and one insertion into each table.
    pub fn offer(&mut self, fingerprint: Fingerprint) -> Result<Offered> {
        let mut answer = Vec::with_capacity(1);
        let offers =
            Offers { tables: &mut self.tables, fingerprints: &[fingerprint], answers: &mut answer };
        offers.tables.simd.run(offers)?;
        answer.pop().ok_or(Error::TooMany(0))
    }

    /// Offers fingerprints in order. The answers are those of single [`offer`](Self::offer)s, but faster.
    ///
    /// # Errors
    /// As [`offer`](Self::offer); fingerprints before the failed one were added.
    pub fn offer_many(&mut self, fingerprints: &[Fingerprint]) -> Result<Vec<Offered>> {
        let mut answers = Vec::with_capacity(fingerprints.len());
        let offers = Offers { tables: &mut self.tables, fingerprints, answers: &mut answers };
        offers.tables.simd.run(offers)?;
        Ok(answers)
    }

    /// Returns the number of a stored fingerprint.
    pub fn number(&self, fingerprint: Fingerprint) -> Option<u32> {
        self.tables.number(fingerprint)
    }

    /// Returns the fingerprints within the layout's distance, nearest first, then by value.
    pub fn near(&self, query: Fingerprint) -> Vec<(u32, Near)> {
        let near = self.tables.near(query).into_iter();
        near.filter_map(|near| Some((self.number(near.fingerprint)?, near))).collect()
    }
}

struct Offers<'a> {
    tables: &'a mut GrowingTables,
    fingerprints: &'a [Fingerprint],
    answers: &'a mut Vec<Offered>,
}

impl Kernel for Offers<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<S: Scan>(self, scan: S) -> Result<()> {
        for fingerprints in self.fingerprints.chunks(BATCH) {
            if fingerprints.len() > 1 {
                self.tables.prefetch_by(scan, fingerprints);
            }
            for &fingerprint in fingerprints {
                let mut best: Option<Near> = None;
                self.tables.near_by(scan, fingerprint, &mut |near| {
                    let rank = |near: &Near| (near.distance, near.fingerprint);
                    if best.as_ref().is_none_or(|best| rank(&near) < rank(best)) {
                        best = Some(near);
                    }
                });
                self.answers.push(match best {
                    Some(near) => Offered::Near(
                        self.tables.number(near.fingerprint).unwrap_or(u32::MAX),
                        near,
                    ),
                    None => {
                        let number = self.tables.len();
                        if number >= MAX_FINGERPRINTS {
                            return Err(Error::TooMany(number as u64));
                        }
                        self.tables.insert_by(scan, fingerprint);
                        Offered::New(number as u32)
                    }
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lead, mix64};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn each_offer_is_answered_as_by_a_scan_of_all_before(
            // Centers and flips are from small ranges, so most values are near others.
            values in prop::collection::vec((0u64..40, 0u64..1 << 12), 1..400),
            distance in 0u32..=7,
            piece in 1usize..70,
            until in 1usize..60,
        ) {
            let values: Vec<Fingerprint> = values
                .iter()
                .map(|(center, flips)| Fingerprint::from_bits(mix64(*center) ^ (flips & flips >> 3)))
                .collect();
            let layout = Layout::for_distance(distance).unwrap();
            // One index changes its layout during the test.
            let then = Layout::halves(distance / 2 + 2, distance).unwrap();
            let mut one =
                MemoryIndex { tables: GrowingTables::in_turn(layout.clone(), until, then, true) };
            let mut many = MemoryIndex::new(layout);
            let mut answers = Vec::new();
            for values in values.chunks(piece) {
                answers.extend(many.offer_many(values).unwrap());
            }
            let mut held: Vec<Fingerprint> = Vec::new();
            for (&value, answer) in values.iter().zip(answers) {
                let same = match one.offer(value).unwrap() {
                    Offered::Near(of, near) if matches!(answer, Offered::Near(..)) => {
                        let table = one.layout().first_table(value, near.fingerprint);
                        prop_assert_eq!(table, Some(near.table));
                        let Offered::Near(_, other) = answer else { unreachable!() };
                        Offered::Near(of, Near { table: other.table, ..near })
                    }
                    other => other,
                };
                prop_assert_eq!(same, answer);
                let near = (0..).zip(&held).map(|(number, &held)| (value.distance(held), held, number));
                match (near.filter(|near| near.0 <= distance).min(), answer) {
                    (None, Offered::New(number)) => {
                        prop_assert_eq!(number as usize, held.len());
                        held.push(value);
                    }
                    (Some((distance, fingerprint, number)), Offered::Near(of, near)) => {
                        prop_assert_eq!((of, near.distance), (number, distance));
                        prop_assert_eq!(near.fingerprint, fingerprint);
                    }
                    (expected, answer) => prop_assert!(false, "{expected:?}, {answer:?}"),
                }
            }
            prop_assert_eq!((one.len(), one.is_empty()), (held.len(), false));
            for (number, &value) in (0..).zip(&held) {
                prop_assert_eq!(one.number(value), Some(number));
                let near = one.near(value);
                prop_assert_eq!(near.first().map(|(of, near)| (*of, near.distance)), Some((number, 0)));
                let expected = held.iter().filter(|held| value.distance(**held) <= distance).count();
                prop_assert_eq!(near.len(), expected);
                prop_assert!(one.number(Fingerprint::from_bits(!value.bits())).is_none());
            }
        }
    }

    #[test]
    fn each_of_one_bucket_of_very_many_keeps_its_number() {
        // A parity bit makes any two differ in two bits at least. All agree in one half, by which one of the two
        // tables is ordered.
        let short = [0x7fff << 49, 0x7fff].map(|mask| Lead { mask, radius: 0 });
        let short = Layout::from_leads(short.to_vec(), 1).unwrap();
        let usual = Layout::for_distance(1).unwrap();
        let moved = |until, first: &Layout| {
            let then = Layout::halves(2, 1).unwrap();
            MemoryIndex { tables: GrowingTables::in_turn(first.clone(), until, then, true) }
        };
        for (mut index, varied, common) in [
            (MemoryIndex::new(usual.clone()), 0, 60),
            (MemoryIndex::new(usual.clone()), 32, 4),
            // During and after a layout change.
            (moved(7_000, &usual), 0, 60),
            (moved(19_900, &usual), 32, 4),
            (moved(19_900, &usual), 0, 60),
            // Leads too short for lines: these tables keep their buckets.
            (moved(100, &short), 0, 60),
            (MemoryIndex::new(short.clone()), 0, 60),
            (MemoryIndex::new(short), 32, 4),
        ] {
            let parity = |number: u64| u64::from(number.count_ones() % 2);
            let value = |number: u64| ((number << 1) | parity(number)) << varied;
            for number in 0..20_000 {
                let answer = index.offer(Fingerprint::from_bits(value(number))).unwrap();
                assert_eq!(answer, Offered::New(number as u32));
            }
            for number in 0..20_000 {
                let near = Fingerprint::from_bits(value(number) ^ (1 << common));
                let Offered::Near(of, near) = index.offer(near).unwrap() else {
                    panic!("{number}")
                };
                assert_eq!((u64::from(of), near.distance), (number, 1));
            }
            // Half is unused capacity; the directories, and buckets of one value each.
            assert!(index.bytes() < 20_000 * 90 + (8 << 16), "{}", index.bytes());
        }
    }
}
