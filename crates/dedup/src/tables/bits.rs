//! Picking bits out of a fingerprint and putting them back, by any mask.

/// The set bits of `mask`, moved together: what the instruction PEXT does, by runs of adjacent bits.
#[derive(Clone, Debug)]
pub(crate) struct Compress {
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
        Self { runs }
    }

    /// # Complexity
    /// One shift a run of the mask.
    #[inline(always)]
    pub(crate) fn extract(&self, bits: u64) -> u64 {
        self.runs.iter().fold(0, |all, run| all | (bits & run.mask) >> run.shift)
    }

    /// The inverse: spreads the lowest bits over the mask.
    #[inline(always)]
    pub(crate) fn deposit(&self, packed: u64) -> u64 {
        self.runs.iter().fold(0, |all, run| all | (packed << run.shift) & run.mask)
    }
}

/// The `count` highest set bits of `mask`.
pub(crate) fn highest(mask: u64, count: u32) -> u64 {
    let mut kept = mask;
    while kept.count_ones() > count {
        kept &= kept - 1;
    }
    kept
}

/// Calls `visit` with every number of `bits` bits that has at most `radius` of them set, fewest
/// first.
#[inline(always)]
pub(crate) fn for_each_flip(bits: u32, radius: u32, mut visit: impl FnMut(u64)) {
    visit(0);
    for weight in 1..=radius.min(bits) {
        let end = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        let mut flip = if weight == 64 { u64::MAX } else { (1u64 << weight) - 1 };
        loop {
            visit(flip);
            // Gosper's hack: the next number with as many bits set.
            let low = flip & flip.wrapping_neg();
            let (ripple, overflow) = flip.overflowing_add(low);
            if overflow {
                break;
            }
            flip = ripple | ((flip ^ ripple) >> 2) / low;
            if flip > end {
                break;
            }
        }
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
        for (bits, radius, count) in [(5, 0, 1), (5, 2, 16), (22, 1, 23), (3, 7, 8), (64, 1, 65), (1, 1, 2)] {
            let mut flips = Vec::new();
            for_each_flip(bits, radius, |flip| flips.push(flip));
            assert_eq!(flips.len(), count);
            assert!(flips.iter().all(|f| f.count_ones() <= radius && (bits == 64 || f >> bits == 0)));
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
