//! Finds keys that are certainly new with a blocked Bloom filter: one cache line per key and layer, layers added as
//! it grows (Putze, Sanders and Singler, "Cache-, hash- and space-efficient Bloom filters", 2007).

use crate::hash::mix64;
use crate::tables::simd::prefetch;

/// Bits per key. A key sets one bit in every word of its block; 1 of 200 unknown keys passes.
const BITS: usize = 12;
/// Keys of the first layer; each further layer has four times as many.
const FIRST: usize = 1 << 18;
const GROWTH: usize = 4;
/// Odd multipliers that choose the bit in each word of a block.
const SALTS: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Block([u64; 8]);

#[derive(Clone, Debug)]
struct Layer {
    blocks: Vec<Block>,
    room: usize,
}

impl Layer {
    fn new(keys: usize) -> Self {
        Self { blocks: vec![Block::default(); (keys * BITS).div_ceil(512)], room: keys }
    }

    #[inline(always)]
    fn place(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.blocks.len() as u128) >> 64) as usize
    }
}

#[inline(always)]
fn mask(hash: u64) -> [u64; 8] {
    SALTS.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 26))
}

/// Keys by 32 bits of their hash. Keys cannot be removed.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyFilter {
    layers: Vec<Layer>,
}

impl KeyFilter {
    /// Inserts a key, unless it already passes.
    pub(crate) fn insert(&mut self, key: u32) {
        if !self.may_hold(key) {
            self.insert_new(key);
        }
    }

    /// Inserts a key that a look-up has just not found.
    pub(crate) fn insert_new(&mut self, key: u32) {
        if self.layers.last().is_none_or(|layer| layer.room == 0) {
            let keys = FIRST * GROWTH.pow(self.layers.len().min(8) as u32);
            self.layers.push(Layer::new(keys));
        }
        let Some(layer) = self.layers.last_mut() else { return };
        let hash = mix64(u64::from(key));
        let place = layer.place(hash);
        if let Some(Block(words)) = layer.blocks.get_mut(place) {
            words.iter_mut().zip(mask(hash)).for_each(|(word, bit)| *word |= bit);
        }
        layer.room -= 1;
    }

    /// Returns `false` if no key of this hash was inserted.
    #[inline]
    pub(crate) fn may_hold(&self, key: u32) -> bool {
        let hash = mix64(u64::from(key));
        let mask = mask(hash);
        self.layers.iter().any(|layer| {
            layer.blocks.get(layer.place(hash)).is_some_and(|Block(words)| {
                words.iter().zip(mask).fold(0, |missing, (word, bit)| missing | (!word & bit)) == 0
            })
        })
    }

    pub(crate) fn prefetch(&self, key: u32) {
        let hash = mix64(u64::from(key));
        self.layers.iter().for_each(|layer| prefetch(&layer.blocks, layer.place(hash)));
    }

    pub(crate) fn bytes(&self) -> usize {
        self.layers.iter().map(|layer| layer.blocks.len() * size_of::<Block>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_filter_finds_inserted_keys_in_all_layers_with_few_false_positives() {
        let mut filter = KeyFilter::default();
        assert!(!filter.may_hold(7));
        let key = |number: u32| number.wrapping_mul(0x9e37_79b1);
        let count = 600_000;
        for _ in 0..2 {
            (0..count).for_each(|number| filter.insert(key(number)));
        }
        assert_eq!(filter.layers.len(), 2);
        assert!((0..count).all(|number| filter.may_hold(key(number))));
        let strangers = (count..2 * count).filter(|number| filter.may_hold(key(*number))).count();
        assert!(strangers < count as usize / 100, "{strangers}");
        assert_eq!(filter.bytes(), 5 * FIRST * BITS / 8);
    }
}
