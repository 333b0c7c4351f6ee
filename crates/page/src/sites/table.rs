//! The lines of one site, with the number of pages that contain each.

/// Maximum size of a table: 128 KiB.
const MAX_SLOTS: usize = 16_384;
const MIN_SLOTS: usize = 64;
/// Maximum number of lines: with half of its slots free, a look-up in a full table reads about 50 slots at most.
const MAX_LINES: usize = MAX_SLOTS / 2;
/// Number of lines that remain when a full table drops some. With more, tables of large sites are rebuilt more often:
/// at three quarters of the lines, rebuilding took 4 us a page.
const REMAINING: usize = MAX_LINES / 2;
/// Maximum number of slots that a look-up reads. Lines whose hashes were chosen to collide are not counted.
const MAX_PROBES: usize = 128;
/// The count in a slot.
const COUNT: u64 = 0xffff;

/// An open-addressed table. A slot has 48 bits of a line's hash, then 16 bits of its count; 0 is a free slot.
///
/// A full table drops the lines with the smallest counts. So counts may be too small, never too large.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineTable {
    slots: Vec<u64>,
    /// Slots that are not free. Those of count 0 become free when the table is rebuilt.
    used: usize,
}

/// Returns the part of a line's hash that a slot contains.
pub(crate) const fn key_of(line: u64) -> u64 {
    let key = line & !COUNT;
    if key == 0 { COUNT + 1 } else { key }
}

impl LineTable {
    /// Creates a table from slots. Slots beyond its limit are ignored.
    pub(crate) fn from_slots(slots: &[u64]) -> Self {
        let slots = slots.get(..MAX_LINES).unwrap_or(slots);
        let size = (slots.len() * 4).next_power_of_two().clamp(MIN_SLOTS, MAX_SLOTS);
        Self::rebuilt(size, slots.iter().copied())
    }

    /// Returns its lines as slots.
    pub(crate) fn counted(&self) -> impl Iterator<Item = u64> + '_ {
        self.slots.iter().copied().filter(|slot| slot & COUNT > 0)
    }

    /// Returns its size in slots of eight bytes.
    pub(crate) const fn size(&self) -> usize {
        self.slots.len()
    }

    /// Returns the number of counted pages with a line.
    pub(crate) fn count(&self, line: u64) -> u64 {
        let slot = self.place(key_of(line)).and_then(|at| self.slots.get(at));
        slot.map_or(0, |slot| slot & COUNT)
    }

    /// Counts a page with this line.
    pub(crate) fn add(&mut self, line: u64) {
        let key = key_of(line);
        let has_room = (self.used + 1) * 2 <= self.slots.len();
        let place = self.place(key);
        match place.and_then(|at| self.slots.get_mut(at)) {
            Some(slot) if *slot > 0 => *slot += u64::from(*slot & COUNT < COUNT),
            Some(slot) if has_room => {
                *slot = key | 1;
                self.used += 1;
            }
            // Too many lines begin at this slot.
            None if has_room => {}
            _ => {
                self.make_room();
                self.insert(key | 1);
            }
        }
    }

    /// Removes a page with this line.
    pub(crate) fn remove(&mut self, line: u64) {
        let place = self.place(key_of(line));
        if let Some(slot) = place.and_then(|at| self.slots.get_mut(at)) {
            *slot -= u64::from(*slot & COUNT > 0);
        }
    }

    /// Returns the index of the slot with this key, or of the free slot that it would get.
    fn place(&self, key: u64) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = (key >> 48) as usize & mask;
        for _ in 0..MAX_PROBES.min(self.slots.len()) {
            let slot = *self.slots.get(at)?;
            if slot == 0 || slot & !COUNT == key {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
        None
    }

    fn insert(&mut self, slot: u64) {
        let place = self.place(slot & !COUNT);
        if let Some(free) = place.and_then(|at| self.slots.get_mut(at)) {
            self.used += usize::from(*free == 0);
            *free = slot;
        }
    }

    /// Doubles the table, or frees slots: first those without pages, then those with the fewest.
    fn make_room(&mut self) {
        let mut slots: Vec<u64> = self.counted().collect();
        let mut size = self.slots.len().max(MIN_SLOTS);
        if slots.len() * 4 > size {
            size = (size * 2).min(MAX_SLOTS);
        }
        if slots.len() > REMAINING {
            // Counts first: the slot has its count in the lowest bits.
            let order = |slot: &u64| slot.rotate_right(COUNT.count_ones());
            let mut ordered: Vec<u64> = slots.iter().map(order).collect();
            let least = slots.len() - REMAINING;
            let (.., least, _) = ordered.select_nth_unstable(least);
            let least = *least;
            slots.retain(|slot| order(slot) >= least);
        }
        *self = Self::rebuilt(size, slots.into_iter());
    }

    fn rebuilt(size: usize, slots: impl Iterator<Item = u64>) -> Self {
        let mut table = Self { slots: vec![0; size], used: 0 };
        slots.for_each(|slot| table.insert(slot));
        table
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hapax_dedup::mix64;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_equal_those_of_a_map(steps in prop::collection::vec((0u64..400, any::<bool>()), 0..2000)) {
            let (mut table, mut map) = (LineTable::default(), BTreeMap::<u64, u64>::new());
            for (line, adds) in steps {
                let count = map.entry(line).or_default();
                if adds {
                    table.add(mix64(line));
                    *count += 1;
                } else {
                    table.remove(mix64(line));
                    *count = count.saturating_sub(1);
                }
            }
            let slots: Vec<u64> = table.counted().collect();
            for table in [&table, &LineTable::from_slots(&slots)] {
                for line in 0..400 {
                    prop_assert_eq!(table.count(mix64(line)), map.get(&line).copied().unwrap_or(0));
                }
            }
        }
    }

    #[test]
    fn a_full_table_stays_at_its_limit_and_drops_the_rarest_lines() {
        let mut table = LineTable::default();
        for _ in 0..5 {
            (0..40).for_each(|line| table.add(mix64(line)));
        }
        for line in 1_000..200_000 {
            table.add(mix64(line));
            assert!(table.size() <= MAX_SLOTS);
        }
        for line in 0..40 {
            assert_eq!(table.count(mix64(line)), 5, "{line}");
        }
        assert!(table.counted().count() >= REMAINING);
        assert!((1_000..200_000).all(|line| table.count(mix64(line)) <= 1));
    }

    #[test]
    fn chosen_hashes_cost_a_bounded_number_of_probes() {
        let mut table = LineTable::default();
        // All of these begin at one slot.
        let lines = (1..=5_000u64).map(|line| line << 16);
        lines.clone().for_each(|line| table.add(line));
        assert_eq!(lines.filter(|line| table.count(*line) > 0).count(), MAX_PROBES);
    }

    #[test]
    fn a_count_ends_at_its_limit() {
        let mut table = LineTable::default();
        (0..70_000).for_each(|_| table.add(7));
        assert_eq!(table.count(7), COUNT);
        assert_eq!(table.counted().count(), 1);
    }
}
