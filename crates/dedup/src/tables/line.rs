//! A cache line with a few values and the index of the next line.

/// The encoding of values in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Seven whole values.
    Whole,
    /// Five whole values with their numbers.
    WholeNumbered,
    /// Ten values without the bits that the line implies: the lower 32 bits of each, then the upper 16.
    Short,
    /// Six short values, with their numbers in between.
    ShortNumbered,
}

impl Form {
    pub(super) const fn slots(self) -> usize {
        match self {
            Self::Whole => 7,
            Self::WholeNumbered => 5,
            Self::Short => 10,
            Self::ShortNumbered => 6,
        }
    }

    pub(super) const fn is_short(self) -> bool {
        matches!(self, Self::Short | Self::ShortNumbered)
    }

    pub(super) const fn is_numbered(self) -> bool {
        matches!(self, Self::WholeNumbered | Self::ShortNumbered)
    }

    pub(super) const fn short(self) -> Self {
        if self.is_numbered() { Self::ShortNumbered } else { Self::Short }
    }

    /// Returns the index of the first 16-bit half word with upper bits of short values.
    pub(super) const fn upper(self) -> usize {
        30 - self.slots()
    }
}

/// Values; the last word has their number (4 bits) and the index of the next line in the pool. A number of 15, more
/// than any line has, marks a bucket that is stored elsewhere, whose index is in the first word.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Line(pub(super) [u32; 16]);

impl Line {
    const LAST: usize = 15;
    const ELSEWHERE: u32 = 15;

    /// Returns the mark of a bucket that is stored elsewhere at this index.
    pub(super) fn elsewhere(number: usize) -> Self {
        let mut line = Self::default();
        line.put(0, number as u32);
        line.put(Self::LAST, Self::ELSEWHERE);
        line
    }

    #[inline(always)]
    pub(super) fn place_elsewhere(&self) -> Option<usize> {
        (self.word(Self::LAST) == Self::ELSEWHERE).then(|| self.word(0) as usize)
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u32 {
        self.0.get(at).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn put(&mut self, at: usize, word: u32) {
        if let Some(slot) = self.0.get_mut(at) {
            *slot = word;
        }
    }

    #[inline(always)]
    pub(super) fn len(&self, form: Form) -> usize {
        let len = (self.word(Self::LAST) & 15) as usize;
        if len > form.slots() { 0 } else { len }
    }

    #[inline(always)]
    pub(super) fn next(&self) -> Option<usize> {
        ((self.word(Self::LAST) >> 4) as usize).checked_sub(1)
    }

    #[inline(always)]
    pub(super) fn follow(&mut self, next: Option<usize>) {
        let next = next.map_or(0, |next| next as u32 + 1);
        self.put(Self::LAST, self.word(Self::LAST) & 15 | next << 4);
    }

    #[inline(always)]
    pub(super) fn value(&self, form: Form, slot: usize) -> u64 {
        if form.is_short() {
            let half = form.upper() + slot;
            let upper = self.word(half / 2) >> (16 * (half % 2)) & 0xffff;
            u64::from(self.word(slot)) | u64::from(upper) << 32
        } else {
            u64::from(self.word(2 * slot)) | u64::from(self.word(2 * slot + 1)) << 32
        }
    }

    #[inline(always)]
    pub(super) fn number(&self, form: Form, slot: usize) -> u32 {
        match form {
            Form::WholeNumbered => self.word(10 + slot),
            Form::ShortNumbered => self.word(6 + slot),
            Form::Whole | Form::Short => 0,
        }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, form: Form, value: u64, number: u32) {
        let slot = self.len(form);
        let (low, high) = (value as u32, (value >> 32) as u32);
        if form.is_short() {
            let half = form.upper() + slot;
            self.put(slot, low);
            self.put(half / 2, self.word(half / 2) | high << (16 * (half % 2)));
        } else {
            self.put(2 * slot, low);
            self.put(2 * slot + 1, high);
        }
        match form {
            Form::WholeNumbered => self.put(10 + slot, number),
            Form::ShortNumbered => self.put(6 + slot, number),
            Form::Whole | Form::Short => {}
        }
        self.put(Self::LAST, self.word(Self::LAST) + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix64;
    use crate::tables::simd::{Kernel, Scan, Simd};
    use proptest::prelude::*;

    const FORMS: [Form; 4] = [Form::Whole, Form::WholeNumbered, Form::Short, Form::ShortNumbered];

    struct NearInLine<'a>(&'a Line, Form, u64, u32);

    impl Kernel for NearInLine<'_> {
        type Output = Vec<u64>;
        fn run<S: Scan>(self, scan: S) -> Vec<u64> {
            let mut found = Vec::new();
            scan.scan_line(self.0, self.1, self.2, self.3, &mut |value| found.push(value));
            found
        }
    }

    const LEVELS: [Simd; 3] = [Simd::Portable, Simd::Avx2, Simd::Avx512];

    proptest! {
        #[test]
        fn a_line_keeps_values_and_numbers_and_every_level_scans_it(
            seed: u64, count in 0usize..=10, follows in prop::option::of(0usize..1 << 27),
            limit in 0u32..=7,
        ) {
            for form in FORMS {
                let (count, bits) = (count.min(form.slots()), if form.is_short() { 48 } else { 64 });
                let mut line = Line::default();
                line.follow(follows);
                let few = |slot: u64| mix64(seed ^ slot) & mix64(slot) & 0x0101_8001_0001_8011;
                let values: Vec<u64> = (0..count as u64)
                    .map(|slot| (seed ^ few(slot)) & (u64::MAX >> (64 - bits))).collect();
                let number = |slot: usize| mix64(slot as u64) as u32;
                for (slot, &value) in values.iter().enumerate() {
                    line.push(form, value, number(slot));
                }
                prop_assert_eq!((line.len(form), line.next()), (count, follows));
                prop_assert!(line.place_elsewhere().is_none());
                let elsewhere = Line::elsewhere(follows.unwrap_or(0));
                prop_assert_eq!(elsewhere.place_elsewhere(), Some(follows.unwrap_or(0)));
                prop_assert_eq!((elsewhere.len(form), elsewhere.next()), (0, None));
                for (slot, &value) in values.iter().enumerate() {
                    prop_assert_eq!(line.value(form, slot), value);
                    let expected = if form.is_numbered() { number(slot) } else { 0 };
                    prop_assert_eq!(line.number(form, slot), expected);
                }
                let query = seed & (u64::MAX >> (64 - bits));
                let near = |value: &u64| (value ^ query).count_ones() <= limit;
                let expected: Vec<u64> = values.iter().copied().filter(near).collect();
                for level in LEVELS {
                    let found = level.run(NearInLine(&line, form, query, limit));
                    prop_assert_eq!(&found, &expected, "{:?} {:?}", form, level);
                }
            }
        }
    }
}
