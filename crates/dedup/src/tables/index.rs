//! An index in memory: what is offered is looked up and, if nothing is near, added under a number.

use super::Near;
use super::growing::GrowingTables;
use super::simd::{Kernel, Scan};
use crate::error::{Error, Result};
use crate::{Fingerprint, Layout};

/// What tables hold at most, in 60 GB and more.
const MAX_FINGERPRINTS: usize = super::growing::MAX_FINGERPRINTS;

/// Offers whose look-ups are asked for together.
const AT_ONCE: usize = 16;

/// What a [`MemoryIndex`] says of a fingerprint that it was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// Nothing is near: it was added, under this number.
    New(u32),
    /// The nearest one, by its number; of several the one of the least value. It was not added.
    Near(u32, Near),
}

/// Fingerprints in memory alone, each under the number of those that were added before it: no
/// documents, no keys, nothing durable. For a stream that fits into memory and need not outlive its
/// process; a [`Store`](crate::Store) does the rest.
///
/// # Complexity
/// As [`GrowingTables`], whose tables it holds; 5 to 7 bytes more for the number. At distance 3 it takes
/// 65 bytes a fingerprint from 10^6 on with [`Layout::for_growing`], 47 to 58 with the four tables of
/// [`Layout::for_distance`], which are half as fast at 10^7.
///
/// ```
/// use hapax_dedup::{Fingerprint, Layout, MemoryIndex, Offered};
/// let mut index = MemoryIndex::new(Layout::for_growing(3)?);
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
    /// One that holds nothing.
    pub fn new(layout: Layout) -> Self {
        Self { tables: GrowingTables::with_numbers(layout, true) }
    }

    /// The layout.
    pub const fn layout(&self) -> &Layout {
        self.tables.layout()
    }

    /// How many fingerprints were added.
    pub const fn len(&self) -> usize {
        self.tables.len()
    }

    /// Whether none was added.
    pub const fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.tables.bytes()
    }

    /// Looks for what is within the layout's distance, and adds the fingerprint if nothing is.
    ///
    /// # Errors
    /// [`Error::TooMany`] beyond 2^30 fingerprints.
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

    /// Offers one after the other: the same answers, sooner than by as many [`offer`](Self::offer)s.
    ///
    /// # Errors
    /// As [`offer`](Self::offer); those before the one that fails were added.
    pub fn offer_many(&mut self, fingerprints: &[Fingerprint]) -> Result<Vec<Offered>> {
        let mut answers = Vec::with_capacity(fingerprints.len());
        let offers = Offers { tables: &mut self.tables, fingerprints, answers: &mut answers };
        offers.tables.simd.run(offers)?;
        Ok(answers)
    }

    /// The number of a fingerprint that was added.
    pub fn number(&self, fingerprint: Fingerprint) -> Option<u32> {
        self.tables.number(fingerprint)
    }

    /// Those within the layout's distance, nearest first, then by value.
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
        for fingerprints in self.fingerprints.chunks(AT_ONCE) {
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
                    // What the tables hold has a number.
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
            // So few centers and flips that many are near each other.
            values in prop::collection::vec((0u64..40, 0u64..1 << 12), 1..400),
            distance in 0u32..=7,
            piece in 1usize..70,
        ) {
            let values: Vec<Fingerprint> = values
                .iter()
                .map(|(center, flips)| Fingerprint::from_bits(mix64(*center) ^ (flips & flips >> 3)))
                .collect();
            let layout = Layout::for_distance(distance).unwrap();
            let (mut one, mut many) = (MemoryIndex::new(layout.clone()), MemoryIndex::new(layout));
            let mut answers = Vec::new();
            for values in values.chunks(piece) {
                answers.extend(many.offer_many(values).unwrap());
            }
            let mut held: Vec<Fingerprint> = Vec::new();
            for (&value, answer) in values.iter().zip(answers) {
                prop_assert_eq!(one.offer(value).unwrap(), answer);
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
        // With a bit of parity any two differ in two bits at least; all agree in one half, by which one
        // of the two tables is ordered.
        let short = [0xffff << 48, 0xffff].map(|mask| Lead { mask, radius: 0 });
        let short = Layout::from_leads(short.to_vec(), 1).unwrap();
        for (layout, varied, common) in [
            (Layout::for_distance(1).unwrap(), 0, 60),
            (Layout::for_distance(1).unwrap(), 32, 4),
            // In buckets and not in lines.
            (short.clone(), 0, 60),
            (short, 32, 4),
        ] {
            let mut index = MemoryIndex::new(layout);
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
            // Half of it is room to grow; the directories, and buckets of one value each.
            assert!(index.bytes() < 20_000 * 90 + (8 << 16), "{}", index.bytes());
        }
    }
}
