//! Growing buckets, each in one block of memory: a look-up touches a minimum of pages and lines, and the hardware
//! prefetches within a bucket.

use super::simd::{Scan, prefetch};

const FIRST: usize = 4;
/// Below this number of values the capacity doubles; above, it grows by a quarter, because doubling leaves a quarter
/// of it unused on average.
const DOUBLED: usize = 8;
const LINE: usize = 8;
/// The lines that are prefetched by software; the hardware prefetches the rest.
const AHEAD: usize = 24;

#[derive(Clone, Debug, Default)]
struct Bucket {
    /// Capacity for values, then for their numbers (two per word) if they have numbers.
    words: Vec<u64>,
    len: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Buckets {
    numbered: bool,
    /// The index of each bucket in `used` plus 1; 0 for an empty bucket.
    heads: Vec<u32>,
    used: Vec<Bucket>,
    words: usize,
}

impl Buckets {
    /// Creates empty buckets, with or without a number for each value.
    pub(super) fn new(bits: u32, numbered: bool) -> Self {
        Self { numbered, heads: vec![0; 1 << bits], used: Vec::new(), words: 0 }
    }

    #[inline(always)]
    fn number_of(&self, bucket: u64) -> Option<usize> {
        (*self.heads.get(bucket as usize)? as usize).checked_sub(1)
    }

    #[inline(always)]
    fn get(&self, bucket: u64) -> Option<&Bucket> {
        self.used.get(self.number_of(bucket)?)
    }

    #[inline(always)]
    fn values(&self, bucket: u64) -> &[u64] {
        self.get(bucket).and_then(|bucket| bucket.words.get(..bucket.len)).unwrap_or_default()
    }

    /// Returns the capacity of this number of words, in values.
    const fn room(&self, words: usize) -> usize {
        if self.numbered { words / 3 * 2 } else { words }
    }

    pub(super) fn push(&mut self, bucket: u64, value: u64, number: u32) {
        let used = self.number_of(bucket).unwrap_or_else(|| {
            self.used.push(Bucket::default());
            if let Some(head) = self.heads.get_mut(bucket as usize) {
                *head = self.used.len() as u32;
            }
            self.used.len() - 1
        });
        let (numbered, room) = (self.numbered, self.room(self.words_of(used)));
        let Some(bucket) = self.used.get_mut(used) else { return };
        let mut room = room;
        if bucket.len == room {
            let more = if room < DOUBLED { room.max(FIRST) } else { room / 4 };
            let grown = (room + more).next_multiple_of(FIRST);
            let all = if numbered { grown / 2 * 3 } else { grown };
            let mut words = Vec::with_capacity(all);
            let (values, numbers) = bucket.words.split_at_checked(room).unwrap_or_default();
            words.extend_from_slice(values);
            words.resize(grown, 0);
            words.extend_from_slice(numbers);
            words.resize(all, 0);
            self.words += words.len() - bucket.words.len();
            bucket.words = words;
            room = grown;
        }
        let at = bucket.len;
        if let Some(slot) = bucket.words.get_mut(at) {
            *slot = value;
        }
        if let Some(two) = bucket.words.get_mut(room + at / 2).filter(|_| numbered) {
            *two |= u64::from(number) << (32 * (at % 2));
        }
        bucket.len += 1;
    }

    fn words_of(&self, used: usize) -> usize {
        self.used.get(used).map_or(0, |bucket| bucket.words.len())
    }

    /// Returns the number of a value in a bucket; 0 without numbers.
    pub(super) fn find(&self, bucket: u64, value: u64) -> Option<u32> {
        let at = self.values(bucket).iter().position(|stored| *stored == value)?;
        let words = &self.get(bucket)?.words;
        let two = words.get(self.room(words.len()) + at / 2).copied().unwrap_or(0);
        Some((two >> (32 * (at % 2))) as u32)
    }

    pub(super) fn len(&self, bucket: u64) -> usize {
        self.get(bucket).map_or(0, |bucket| bucket.len)
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Bucket>() * self.used.len() + 4 * self.heads.len() + 8 * self.words
    }

    /// Calls `visit` with each value of a bucket within `limit` bits of the query.
    #[inline(always)]
    pub(super) fn scan<S: Scan>(
        &self,
        scan: S,
        bucket: u64,
        query: u64,
        limit: u32,
        visit: &mut impl FnMut(u64),
    ) {
        scan.scan_words(self.values(bucket), query, limit, &mut |_, value| visit(value));
    }

    /// Prefetches the head (step 0), the bucket's pointer (step 1), then its values. Each step needs the data of the
    /// previous one.
    #[inline(always)]
    pub(super) fn prefetch(&self, bucket: u64, step: u32) {
        match step {
            0 => prefetch(&self.heads, bucket as usize),
            1 => prefetch(&self.used, self.number_of(bucket).unwrap_or(usize::MAX)),
            _ => {
                let values = self.values(bucket);
                let lines = (0..values.len()).step_by(LINE).take(AHEAD);
                lines.for_each(|at| prefetch(values, at));
                // The values may not start at a line, so this prefetches the last one too.
                prefetch(values, values.len().wrapping_sub(1));
                if self.numbered {
                    let words = self.get(bucket).map_or(&[][..], |bucket| &bucket.words);
                    prefetch(words, self.room(words.len()) + values.len() / 2);
                }
            }
        }
    }
}
