//! Extracts bits of a fingerprint by a mask and puts them back.

/// Gathers the set bits of `mask` like the instruction PEXT, by runs of adjacent bits.
#[derive(Clone, Debug)]
pub(crate) struct Compress {
    mask: u64,
    runs: Vec<Run>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    mask: u64,
    shift: u32,
}

impl Compress {
    pub(crate) fn new(mask: u64) -> Self {
        let mut runs = Vec::new();
        let (mut rest, mut below) = (mask, 0);
        while rest != 0 {
            let start = rest.trailing_zeros();
            let length = (rest >> start).trailing_ones();
            let ones = if length == 64 { u64::MAX } else { (1 << length) - 1 };
            let run = ones << start;
            runs.push(Run { mask: run, shift: start - below });
            below += length;
            rest &= !run;
        }
        Self { mask, runs }
    }

    pub(crate) const fn mask(&self) -> u64 {
        self.mask
    }

    /// # Complexity
    /// One shift per run of the mask.
    #[inline(always)]
    pub(crate) fn extract(&self, bits: u64) -> u64 {
        self.runs.iter().fold(0, |all, run| all | (bits & run.mask) >> run.shift)
    }

    /// Spreads the lowest bits over the mask: the inverse of [`extract`](Self::extract).
    #[inline(always)]
    pub(crate) fn deposit(&self, packed: u64) -> u64 {
        self.runs.iter().fold(0, |all, run| all | (packed << run.shift) & run.mask)
    }
}

pub(crate) fn highest(mask: u64, count: u32) -> u64 {
    let mut kept = mask;
    while kept.count_ones() > count {
        kept &= kept - 1;
    }
    kept
}

/// Iterates over the numbers of `bits` bits with at most `radius` set bits, fewest first.
///
/// An iterator instead of a closure, because code for one instruction set must be inlined completely, and closures
/// are not always inlined.
#[derive(Clone, Debug)]
pub(crate) struct Flips {
    next: Option<u64>,
    weight: u32,
    radius: u32,
    end: u64,
}

impl Flips {
    #[inline(always)]
    pub(crate) fn new(bits: u32, radius: u32) -> Self {
        let end = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        Self { next: Some(0), weight: 0, radius: radius.min(bits), end }
    }
}

impl Iterator for Flips {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        let flip = self.next?;
        // Gosper's hack: the next number with the same number of set bits.
        let low = flip & flip.wrapping_neg();
        let (ripple, overflow) = flip.overflowing_add(low);
        let next =
            if flip == 0 { 0 } else { ripple | (flip ^ ripple) >> 2 >> low.trailing_zeros() };
        self.next = if flip != 0 && !overflow && next <= self.end {
            Some(next)
        } else if self.weight < self.radius {
            self.weight += 1;
            Some(if self.weight == 64 { u64::MAX } else { (1 << self.weight) - 1 })
        } else {
            None
        };
        Some(flip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn extract_and_deposit_are_pext_and_pdep(bits: u64, mask: u64) {
            let compress = Compress::new(mask);
            let mut expected = 0u64;
            for (to, from) in (0..64).filter(|i| mask >> i & 1 == 1).enumerate() {
                expected |= (bits >> from & 1) << to;
            }
            prop_assert_eq!(compress.extract(bits), expected);
            prop_assert_eq!(compress.deposit(expected), bits & mask);
        }
    }

    #[test]
    fn flips_are_all_of_at_most_the_radius() {
        for (bits, radius, count) in
            [(5, 0, 1), (5, 2, 16), (22, 1, 23), (3, 7, 8), (64, 1, 65), (1, 1, 2)]
        {
            let mut flips: Vec<u64> = Flips::new(bits, radius).collect();
            assert_eq!(flips.len(), count);
            assert!(
                flips.iter().all(|f| f.count_ones() <= radius && (bits == 64 || f >> bits == 0))
            );
            flips.sort_unstable();
            flips.dedup();
            assert_eq!(flips.len(), count);
        }
    }

    #[test]
    fn the_highest_bits_are_kept() {
        assert_eq!(highest(0b1011_0100, 2), 0b1010_0000);
        assert_eq!(highest(0b1011_0100, 9), 0b1011_0100);
    }
}
