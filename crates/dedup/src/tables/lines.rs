//! Buckets of one cache line each, which split one at a time as the table fills: linear hashing (Litwin, *Linear
//! hashing*, VLDB 1980) by the bits of a lead. A look-up waits for one line per table, and an insertion moves at most
//! one bucket.

use super::bits::{Compress, highest};
use super::line::{Form, Line};
use super::long::Long;
use super::simd::{Portable, Scan};
use crate::tables::pages::Pages;

/// The lead bits that a line's place implies after this number of doublings; values then omit them.
const IMPLIED: u32 = 16;
/// Lines per page, as a power of two: one MiB.
const PAGE_BITS: u32 = 14;
/// At most 2^28 lines, and the same number in the pool: the limit of a line's index.
const MAX_LEVEL: u32 = 28;
/// The fill factor at which a line splits: values to slots.
const FULL: (usize, usize) = (4, 5);
/// The distances, in lines, at which lines to be split and their pool lines are prefetched.
const AHEAD: (usize, usize) = (8, 4);
/// A bucket of more lines moves to one block of memory, because a look-up waits for each line of a chain.
const LONG: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// The encoding at first, and the one after the split that implies the last of those bits.
    form: Form,
    short: Form,
    /// The lead bits that places imply in short form, all other bits, and the lead bits among the latter.
    implied: Compress,
    rest: Compress,
    more: Compress,
    /// There are `2^level + split` lines: the first `split` lines have split.
    level: u32,
    max_level: u32,
    split: usize,
    /// The bit of a value by which lines split at this level.
    bit: u64,
    lines: Pages<Line, PAGE_BITS>,
    /// Overflow lines. The first overflow line of a bucket has free slots; the others are full.
    pool: Pages<Line, PAGE_BITS>,
    /// The first unused line of the pool, from which the other unused lines are linked.
    free: Option<usize>,
    /// Buckets in one block, and the indexes of unused ones.
    long: Vec<Long>,
    free_long: Vec<usize>,
    len: usize,
}

impl Lines {
    /// The approximate number of values that a look-up compares.
    pub(super) const MEAN: u64 = 8;

    /// Returns whether a lead has enough bits to number lines.
    pub(super) const fn suit(bits: u32) -> bool {
        bits >= IMPLIED
    }

    /// Creates a table for a lead that [suits](Self::suit), with or without a number per value.
    pub(super) fn new(lead: u64, numbered: bool) -> Self {
        let implied = highest(lead, IMPLIED);
        let form = if numbered { Form::WholeNumbered } else { Form::Whole };
        let mut lines = Self {
            form,
            short: form.short(),
            implied: Compress::new(implied),
            rest: Compress::new(!implied),
            more: Compress::new(lead & !implied),
            level: 0,
            max_level: lead.count_ones().min(MAX_LEVEL),
            split: 0,
            bit: 0,
            lines: Pages::default(),
            pool: Pages::default(),
            free: None,
            long: Vec::new(),
            free_long: Vec::new(),
            len: 0,
        };
        lines.lines.push(Line::default());
        lines.bit = lines.bit_of_level();
        lines
    }

    fn bit_of_level(&self) -> u64 {
        match self.level.checked_sub(IMPLIED) {
            None => self.implied.deposit(1 << self.level),
            // Not an implied bit, so it is the same bit in a short value.
            Some(level) => self.more.deposit(1 << level),
        }
    }

    #[inline(always)]
    fn place<S: Scan>(&self, scan: S, bits: u64) -> usize {
        let all = scan.extract(&self.implied, bits) | scan.extract(&self.more, bits) << IMPLIED;
        let place = all & ((1 << self.level) - 1);
        if (place as usize) < self.split {
            (all & ((2 << self.level) - 1)) as usize
        } else {
            place as usize
        }
    }

    #[inline(always)]
    fn form_at(&self, place: usize) -> Form {
        // In the level before it is general: split lines and the lines they have split into.
        let last = self.level + 1 == IMPLIED && (place < self.split || place >= 1 << self.level);
        if self.level >= IMPLIED || last { self.short } else { self.form }
    }

    #[inline(always)]
    fn stored<S: Scan>(&self, scan: S, form: Form, bits: u64) -> u64 {
        if form.is_short() { scan.extract(&self.rest, bits) } else { bits }
    }

    #[inline(always)]
    fn chain(&self, place: usize) -> Chain<'_> {
        Chain { next: self.lines.get(place), pool: &self.pool }
    }

    #[inline(always)]
    pub(super) fn push<S: Scan>(&mut self, scan: S, bits: u64, number: u32) {
        let place = self.place(scan, bits);
        let form = self.form_at(place);
        let value = self.stored(scan, form, bits);
        if let Some(line) = self.lines.get_mut(place) {
            if let Some(long) = line.place_elsewhere() {
                self.push_elsewhere(long, bits, number);
            } else if Self::put(line, &mut self.pool, &mut self.free, form, value, number) {
                self.lengthen(place, bits);
            }
        }
        self.len += 1;
        let form = if self.level >= IMPLIED { self.short } else { self.form };
        let room = self.lines.len() * form.slots();
        if self.len * FULL.1 > room * FULL.0 && self.level < self.max_level {
            self.split();
        }
    }

    #[cold]
    fn push_elsewhere(&mut self, long: usize, bits: u64, number: u32) {
        if let Some(long) = self.long.get_mut(long) {
            long.push(self.form, bits, number);
        }
    }

    /// Moves the bucket of a fingerprint into one block if it has too many lines.
    #[cold]
    fn lengthen(&mut self, place: usize, bits: u64) {
        let Some(&first) = self.lines.get(place) else { return };
        if (Chain { next: Some(&first), pool: &self.pool }).nth(LONG).is_none() {
            return;
        }
        let (form, mut line) = (self.form_at(place), first);
        let mut long = Long::default();
        loop {
            for slot in 0..line.len(form) {
                let value = self.whole(form, line.value(form, slot), bits);
                long.push(form, value, line.number(form, slot));
            }
            let Some(next) = line.next() else { break };
            let Some(slot) = self.pool.get_mut(next) else { break };
            line = *slot;
            slot.follow(self.free);
            self.free = Some(next);
        }
        self.put_long(place, long);
    }

    fn put_long(&mut self, place: usize, long: Long) {
        let number = self.free_long.pop().unwrap_or(self.long.len());
        match self.long.get_mut(number) {
            Some(slot) => *slot = long,
            None => self.long.push(long),
        }
        if let Some(line) = self.lines.get_mut(place) {
            *line = Line::elsewhere(number);
        }
    }

    /// Adds a value to a line or its overflow lines. Returns `true` if that was full and the chain has three lines or
    /// more.
    #[inline(always)]
    fn put(
        line: &mut Line,
        pool: &mut Pages<Line, PAGE_BITS>,
        free: &mut Option<usize>,
        form: Form,
        value: u64,
        number: u32,
    ) -> bool {
        let full = form.slots();
        if line.len(form) < full {
            line.push(form, value, number);
            return false;
        }
        let next = line.next();
        if let Some(second) = next.and_then(|next| pool.get_mut(next))
            && second.len(form) < full
        {
            second.push(form, value, number);
            return false;
        }
        let mut fresh = Line::default();
        fresh.follow(next);
        fresh.push(form, value, number);
        let at = free.unwrap_or(pool.len());
        line.follow(Some(at));
        match pool.get_mut(at) {
            Some(slot) => {
                *free = slot.next();
                *slot = fresh;
            }
            None => pool.push(fresh),
        }
        next.is_some()
    }

    fn split(&mut self) {
        let ahead = self.lines.get(self.split + AHEAD.1).and_then(Line::next);
        self.lines.prefetch(self.split + AHEAD.0);
        self.pool.prefetch(ahead.unwrap_or(usize::MAX));
        if self.lines.get(self.split).is_some_and(|line| line.place_elsewhere().is_some()) {
            self.split_long();
        } else {
            // Dispatches on the form once, outside the loop.
            let short = self.level + 1 >= IMPLIED;
            match self.form_at(self.split) {
                Form::Whole if short => self.split_by(Form::Whole, Form::Short),
                Form::Whole => self.split_by(Form::Whole, Form::Whole),
                Form::WholeNumbered if short => {
                    self.split_by(Form::WholeNumbered, Form::ShortNumbered);
                }
                Form::WholeNumbered => self.split_by(Form::WholeNumbered, Form::WholeNumbered),
                Form::Short => self.split_by(Form::Short, Form::Short),
                Form::ShortNumbered => self.split_by(Form::ShortNumbered, Form::ShortNumbered),
            }
        }
        self.split += 1;
        if self.split == 1 << self.level {
            (self.split, self.level) = (0, self.level + 1);
            self.bit = self.bit_of_level();
        }
    }

    /// Splits a line between its place and a new line.
    #[inline(always)]
    fn split_by(&mut self, form: Form, to: Form) {
        let Some(line) = self.lines.get_mut(self.split) else { return };
        let mut line = std::mem::take(line);
        let mut halves = [Line::default(); 2];
        loop {
            for slot in 0..line.len(form) {
                let (value, number) = (line.value(form, slot), line.number(form, slot));
                // Without a branch, which would be mispredicted half of the time.
                if let Some(half) = halves.get_mut(usize::from(value & self.bit != 0)) {
                    let value = if form == to { value } else { self.rest.extract(value) };
                    Self::put(half, &mut self.pool, &mut self.free, to, value, number);
                }
            }
            // Read the line before freeing its slot.
            let Some(next) = line.next() else { break };
            let Some(slot) = self.pool.get_mut(next) else { break };
            line = *slot;
            slot.follow(self.free);
            self.free = Some(next);
        }
        let [near, far] = halves;
        if let Some(line) = self.lines.get_mut(self.split) {
            *line = near;
        }
        self.lines.push(far);
    }

    #[cold]
    fn split_long(&mut self) {
        self.lines.push(Line::default());
        let halves = [self.split, self.lines.len() - 1];
        let place = self.lines.get(self.split).and_then(Line::place_elsewhere);
        let Some((place, long)) = place.and_then(|at| Some((at, self.long.get_mut(at)?))) else {
            return;
        };
        let long = std::mem::take(long);
        self.free_long.push(place);
        let form = if self.level + 1 >= IMPLIED { self.short } else { self.form };
        for (half, place) in halves.into_iter().enumerate() {
            let belongs = |value: u64| usize::from(value & self.bit != 0) == half;
            let mut rest = Long::default();
            for (value, number) in long.iter().filter(|(value, _)| belongs(*value)) {
                rest.push(self.form, value, number);
            }
            if let Some(line) = self.lines.get_mut(place) {
                *line = Line::default();
            }
            if rest.len() > LONG * form.slots() {
                self.put_long(place, rest);
                continue;
            }
            for (value, number) in rest.iter() {
                let value = self.stored(Portable, form, value);
                if let Some(line) = self.lines.get_mut(place) {
                    Self::put(line, &mut self.pool, &mut self.free, form, value, number);
                }
            }
        }
    }

    /// Returns the fingerprint of a stored value; its line implies the bits that it shares with `bits`.
    #[inline(always)]
    fn whole(&self, form: Form, value: u64, bits: u64) -> u64 {
        if form.is_short() { self.rest.deposit(value) | bits & self.implied.mask() } else { value }
    }

    /// Returns the number of a fingerprint; 0 without numbers.
    pub(super) fn find<S: Scan>(&self, scan: S, bits: u64) -> Option<u32> {
        let place = self.place(scan, bits);
        if let Some(long) = self.elsewhere(place) {
            return long.find(bits);
        }
        let form = self.form_at(place);
        let value = self.stored(scan, form, bits);
        self.chain(place).find_map(|line| {
            let slot = (0..line.len(form)).find(|slot| line.value(form, *slot) == value)?;
            Some(line.number(form, slot))
        })
    }

    #[inline(always)]
    fn elsewhere(&self, place: usize) -> Option<&Long> {
        self.long.get(self.lines.get(place)?.place_elsewhere()?)
    }

    fn len_at(&self, place: usize) -> usize {
        let form = self.form_at(place);
        let long = self.elsewhere(place).map_or(0, Long::len);
        long + self.chain(place).map(|line| line.len(form)).sum::<usize>()
    }

    pub(super) fn len<S: Scan>(&self, scan: S, bits: u64) -> usize {
        self.len_at(self.place(scan, bits))
    }

    pub(super) fn bytes(&self) -> usize {
        let long: usize = self.long.iter().map(Long::bytes).sum();
        size_of::<Line>() * (self.lines.len() + self.pool.len()) + long
    }

    pub(super) const fn buckets(&self) -> usize {
        self.lines.len()
    }

    /// Appends up to `count` fingerprints of a bucket, from the `skip`th on, with their numbers.
    pub(super) fn take(&self, bucket: usize, skip: usize, count: usize, out: &mut Vec<(u64, u32)>) {
        if let Some(long) = self.elsewhere(bucket) {
            return out.extend(long.from(skip).take(count));
        }
        let form = self.form_at(bucket);
        let implied = self.implied.deposit(bucket as u64 & ((1 << IMPLIED) - 1));
        let values = self.chain(bucket).flat_map(|line| {
            let of = move |slot| {
                (self.whole(form, line.value(form, slot), implied), line.number(form, slot))
            };
            (0..line.len(form)).map(of)
        });
        out.extend(values.skip(skip).take(count));
    }

    /// Calls `visit` with each fingerprint of the query's bucket within `limit` bits of it.
    #[inline(always)]
    pub(super) fn scan<S: Scan>(
        &self,
        scan: S,
        query: u64,
        limit: u32,
        visit: &mut impl FnMut(u64),
    ) {
        let place = self.place(scan, query);
        let chain = self.chain(place);
        if let Some(long) = chain.next.and_then(Line::place_elsewhere) {
            let values = self.long.get(long).map_or(&[][..], Long::values);
            return scan.scan_words(values, query, limit, &mut |_, near| visit(near));
        }
        let form = self.form_at(place);
        let value = self.stored(scan, form, query);
        for line in chain {
            let visit = &mut |near| visit(self.whole(form, near, query));
            scan.scan_line(line, form, value, limit, visit);
        }
    }

    /// Prefetches the line of a fingerprint (step 0), then its overflow line.
    #[inline(always)]
    pub(super) fn prefetch<S: Scan>(&self, scan: S, bits: u64, step: u32) {
        let place = self.place(scan, bits);
        match step {
            0 => self.lines.prefetch(place),
            1 => {
                let next = self.lines.get(place).and_then(Line::next);
                self.pool.prefetch(next.unwrap_or(usize::MAX));
            }
            _ => {}
        }
    }
}

struct Chain<'a> {
    next: Option<&'a Line>,
    pool: &'a Pages<Line, PAGE_BITS>,
}

impl<'a> Iterator for Chain<'a> {
    type Item = &'a Line;

    #[inline(always)]
    fn next(&mut self) -> Option<&'a Line> {
        let line = self.next?;
        self.next = line.next().and_then(|next| self.pool.get(next));
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix64;
    use crate::tables::simd::{Kernel, Portable, Simd};
    use proptest::prelude::*;

    struct Near<'a>(&'a Lines, u64, u32);

    impl Kernel for Near<'_> {
        type Output = Vec<u64>;
        fn run<S: Scan>(self, scan: S) -> Vec<u64> {
            let mut found = Vec::new();
            self.0.scan(scan, self.1, self.2, &mut |bits| found.push(bits));
            found.sort_unstable();
            found
        }
    }

    struct Push<'a>(&'a mut Lines, u64, u32);

    impl Kernel for Push<'_> {
        type Output = ();
        fn run<S: Scan>(self, scan: S) {
            self.0.push(scan, self.1, self.2);
        }
    }

    const LEVELS: [Simd; 3] = [Simd::Portable, Simd::Avx2, Simd::Avx512];

    proptest! {
        #[test]
        fn values_are_found_among_those_of_their_bucket(
            values in prop::collection::hash_set((0u64..1 << 9).prop_map(|low| {
                // From few bits, so that leads collide; some of them in the lead, some outside.
                (low & 7) << 61 | (low >> 3 & 7) << 46 | (low >> 6)
            }), 1..300),
            lead in prop::sample::select(vec![
                0xffff_8000_0000_0000, 0xffff_f800_0000_0000, 0x7fff_ff80_0000_0000, u64::MAX,
            ]),
            numbered: bool, level in prop::sample::select(LEVELS.to_vec()),
        ) {
            let mut lines = Lines::new(lead, numbered);
            for (number, &value) in (0..).zip(&values) {
                level.run(Push(&mut lines, value, number));
            }
            for (number, &value) in (0..).zip(&values) {
                prop_assert_eq!(lines.find(Portable, value), Some(if numbered { number } else { 0 }));
                let near = value ^ 1 << 20;
                prop_assert_eq!(lines.find(Portable, near), None);
                // Finds at least those of the same lead; anything else found must be stored and near.
                let found = level.run(Near(&lines, near, 3));
                let distance = |other: u64| (other ^ near).count_ones();
                let all = |other: &&u64| distance(**other) <= 3 && (**other ^ near) & lead == 0;
                prop_assert!(values.iter().filter(all).all(|other| found.contains(other)));
                prop_assert!(found.iter().all(|other| values.contains(other) && distance(*other) <= 3));
            }
        }
    }

    /// Compares the lines with the inserted values; `beside` are bits outside the lead.
    fn check(lines: &Lines, count: u64, value: impl Fn(u64) -> u64, beside: [u32; 3]) {
        let numbered = lines.form.is_numbered();
        let all: usize = (0..lines.lines.len()).map(|place| lines.len_at(place)).sum();
        assert_eq!(all as u64, count);
        // Values of one lead stay in one block; values that lines can separate do not.
        let long = (0..lines.lines.len()).filter_map(|place| lines.elsewhere(place));
        let long: Vec<usize> = long.map(Long::len).collect();
        assert_eq!(long.len(), lines.long.len() - lines.free_long.len());
        assert!(long.len() > 100 && long.iter().all(|len| *len > LONG * 5), "{}", long.len());
        for number in 0..count {
            let expected = if numbered { number as u32 } else { 0 };
            assert_eq!(lines.find(Portable, value(number)), Some(expected), "{number}");
        }
        // Whole values with their numbers, piece by piece.
        let mut taken = Vec::new();
        for bucket in 0..lines.buckets() {
            for skip in (0..lines.len_at(bucket)).step_by(7) {
                lines.take(bucket, skip, 7, &mut taken);
            }
        }
        let number = |number: u64| if numbered { number as u32 } else { 0 };
        let mut all: Vec<_> = (0..count).map(|n| (value(n), number(n))).collect();
        all.sort_unstable();
        taken.sort_unstable();
        assert!(taken == all);
        for number in (0..count).step_by(997) {
            let query = value(number) ^ 1 << beside[number as usize % 3];
            let found = LEVELS.map(|level| level.run(Near(lines, query, 1)));
            let once = found[0].iter().filter(|other| **other == value(number)).count();
            assert!(once == 1 && found.iter().all(|other| other == &found[0]));
        }
    }

    #[test]
    fn nothing_is_lost_while_lines_split_and_values_become_short() {
        const COUNT: u64 = 1_200_000;
        // Leads of scattered bits and of the minimum number of bits; the lead bits by which lines split first; bits
        // outside the lead.
        let leads = [
            (0x0ff0_3fff_c000_0003, 0x0000_3fc0_0000_0000, [20, 48, 62]),
            (0xffff_8000_0000_0000, 0x00ff_0000_0000_0000, [20, 40, 3]),
            (0x0000_ffff_0000_0000, 0x0000_00ff_0000_0000, [20, 60, 3]),
        ];
        for ((lead, first, beside), numbered) in [
            (leads[0], false),
            (leads[0], true),
            (leads[1], false),
            (leads[2], false),
            (leads[2], true),
        ] {
            let mut lines = Lines::new(lead, numbered);
            // One in nine shares a lead with 999 others.
            let value = |number: u64| {
                let bits = mix64(number);
                match number % 9 {
                    4 => bits & !lead | mix64(number / 9000) & lead,
                    // One in nine shares the bits that number the first few lines.
                    7 => bits & !first,
                    _ => bits,
                }
            };
            let (mut sizes, mut checked) = (Vec::new(), 0);
            for number in 0..COUNT {
                let level = if number % 2 == 0 { Simd::Portable } else { Simd::Avx512 };
                level.run(Push(&mut lines, value(number), number as u32));
                if number.is_power_of_two() {
                    sizes.push(lines.bytes() as u64 / number);
                }
                // While some values are short and others are not.
                if lines.level + 1 == IMPLIED && lines.split > 9_000 * (checked + 1) {
                    check(&lines, number + 1, value, beside);
                    checked += 1;
                }
            }
            assert_eq!(checked, 3);
            assert!(lines.level >= IMPLIED && lines.lines.len() <= 1 << lead.count_ones());
            assert_eq!(lines.level == lines.max_level, lead.count_ones() <= 17);
            // The minimum number of lines, a second one for some, and unused capacity of long buckets.
            let bytes = lines.bytes() as u64 / COUNT;
            assert!(bytes <= if numbered { 19 } else { 13 }, "{bytes}");
            assert!(sizes.iter().skip(7).all(|bytes| *bytes <= 24), "{sizes:?}");
            check(&lines, COUNT, value, beside);
        }
    }
}
