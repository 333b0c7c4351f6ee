//! Minima of ranges.

const BLOCK: usize = 32;

/// Answers minima of ranges of a list in O(1) blocks, after O(n) preparation.
#[derive(Debug, Default)]
pub(crate) struct RangeMin {
    values: Vec<u32>,
    /// At level k, the minimum of the 2^k blocks from each one.
    levels: Vec<Vec<u32>>,
}

impl RangeMin {
    pub(crate) fn new(values: Vec<u32>) -> Self {
        let mut levels = Vec::new();
        if values.len() > 2 * BLOCK {
            let least = |block: &[u32]| block.iter().copied().min().unwrap_or(u32::MAX);
            let mut level: Vec<u32> = values.chunks(BLOCK).map(least).collect();
            let mut step = 1;
            while level.len() > step {
                let next =
                    level.iter().zip(level.iter().skip(step)).map(|(a, b)| *a.min(b)).collect();
                levels.push(std::mem::replace(&mut level, next));
                step *= 2;
            }
            levels.push(level);
        }
        Self { values, levels }
    }

    /// Returns the minimum of the values from `from` up to, not including, `to`; `u32::MAX` for an empty range.
    pub(crate) fn min(&self, from: usize, to: usize) -> u32 {
        let scan = |from: usize, to: usize| {
            let range = self.values.get(from..to).unwrap_or_default();
            range.iter().copied().min().unwrap_or(u32::MAX)
        };
        let (first, last) = (from.div_ceil(BLOCK), to / BLOCK);
        if self.levels.is_empty() || first >= last {
            return scan(from, to);
        }
        let level = (last - first).ilog2() as usize;
        let of = |block: usize| self.levels.get(level).and_then(|level| level.get(block)).copied();
        let blocks = of(first).into_iter().chain(of(last - (1 << level))).min().unwrap_or(u32::MAX);
        blocks.min(scan(from, first * BLOCK)).min(scan(last * BLOCK, to))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn minima_are_those_of_the_range(
            values in prop::collection::vec(0u32..1000, 0..700), from in 0usize..700, length in 0usize..700,
        ) {
            let from = from.min(values.len());
            let to = (from + length).min(values.len());
            let expected = values[from..to].iter().copied().min().unwrap_or(u32::MAX);
            prop_assert_eq!(RangeMin::new(values).min(from, to), expected);
        }
    }
}
