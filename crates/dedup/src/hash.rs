//! Stable feature hashes. Fingerprints are stored and published, so the hashes must never change: the golden vectors
//! below are part of the format.

/// A named hash from bytes to 64 bits, the same on every platform and in every version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FeatureHash {
    /// FNV-1a, then the 64-bit finaliser of MurmurHash3, because the high bits of plain FNV are biased for short
    /// words. The default.
    #[default]
    Fnv1aMix,
    /// FNV-1a, 64 bits (Fowler, Noll, Vo).
    Fnv1a,
    /// FNV-1, 64 bits: multiply first, then xor.
    Fnv1,
    /// Jenkins' lookup3: `hashlittle2` with both seeds 0, the better mixed half on top, as in early simhash-cpp.
    Jenkins,
    /// rapidhash version 1 with its default seed (N. De Carli, after Wang Yi's wyhash), 8 bytes a step. All its bits
    /// pass the usual hash tests.
    Rapid,
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

impl FeatureHash {
    /// Returns the hash of `bytes`.
    ///
    /// # Complexity
    /// One multiplication per byte for FNV, one per 16 bytes for rapidhash.
    #[inline]
    pub fn hash(self, bytes: &[u8]) -> u64 {
        match self {
            Self::Fnv1aMix => mix64(fnv1a(bytes)),
            Self::Fnv1a => fnv1a(bytes),
            Self::Fnv1 => {
                bytes.iter().fold(OFFSET, |hash, &b| hash.wrapping_mul(PRIME) ^ u64::from(b))
            }
            Self::Jenkins => jenkins(bytes),
            Self::Rapid => rapid(bytes),
        }
    }

    /// All hashes.
    pub const ALL: [Self; 5] =
        [Self::Fnv1aMix, Self::Fnv1a, Self::Fnv1, Self::Jenkins, Self::Rapid];

    /// Returns the name under which fingerprints of this hash are stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fnv1aMix => "fnv1a-mix",
            Self::Fnv1a => "fnv1a",
            Self::Fnv1 => "fnv1",
            Self::Jenkins => "jenkins-lookup3-cpp",
            Self::Rapid => "rapidhash-1",
        }
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(OFFSET, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(PRIME))
}

/// B. Jenkins, lookup3.c, May 2006 (public domain). Reads byte by byte, so it is the same on every platform.
fn jenkins(bytes: &[u8]) -> u64 {
    let word = |four: &[u8; 4]| u32::from_le_bytes(*four);
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let mut rest = bytes;
    while rest.len() > 12
        && let Some((twelve, after)) = rest.split_first_chunk::<12>()
    {
        if let [x, y, z] = twelve.as_chunks::<4>().0 {
            a = a.wrapping_add(word(x));
            b = b.wrapping_add(word(y));
            c = c.wrapping_add(word(z));
        }
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
        rest = after;
    }
    if !rest.is_empty() {
        let mut last = [0; 12];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        if let [x, y, z] = last.as_chunks::<4>().0 {
            a = a.wrapping_add(word(x));
            b = b.wrapping_add(word(y));
            c = c.wrapping_add(word(z));
        }
        c = (c ^ b).wrapping_sub(b.rotate_left(14));
        a = (a ^ c).wrapping_sub(c.rotate_left(11));
        b = (b ^ a).wrapping_sub(a.rotate_left(25));
        c = (c ^ b).wrapping_sub(b.rotate_left(16));
        a = (a ^ c).wrapping_sub(c.rotate_left(4));
        b = (b ^ a).wrapping_sub(a.rotate_left(14));
        c = (c ^ b).wrapping_sub(b.rotate_left(24));
    }
    u64::from(c) << 32 | u64::from(b)
}

const RAPID_SEED: u64 = 0xbdd8_9aa9_8270_4029;
const RAPID: [u64; 3] = [0x2d35_8dcc_aa6c_78a5, 0x8bb8_4b93_962e_acc9, 0x4b33_a62e_d433_d4a3];

/// Returns the low and the high half of the product.
#[inline(always)]
fn wide(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    (product as u64, (product >> 64) as u64)
}

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let (low, high) = wide(a, b);
    low ^ high
}

/// rapidhash v1, <https://github.com/Nicoshev/rapidhash>.
#[inline]
fn rapid(bytes: &[u8]) -> u64 {
    let eight = |at: usize| {
        let chunk = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
        u64::from_le_bytes(chunk.copied().unwrap_or_default())
    };
    let four = |at: usize| {
        let chunk = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
        u64::from(u32::from_le_bytes(chunk.copied().unwrap_or_default()))
    };
    let length = bytes.len();
    let mut seed = RAPID_SEED ^ fold(RAPID_SEED ^ RAPID[0], RAPID[1]) ^ length as u64;
    let (mut a, mut b);
    if length <= 16 {
        if length >= 4 {
            let last = length - 4;
            let delta = (length & 24) >> (length >> 3);
            a = four(0) << 32 | four(last);
            b = four(delta) << 32 | four(last - delta);
        } else {
            let byte = |at: usize| bytes.get(at).copied().map_or(0, u64::from);
            let last = length.saturating_sub(1);
            a = byte(0) << 56 | byte(length >> 1) << 32 | byte(last);
            b = 0;
        }
    } else {
        let (mut at, mut left) = (0, length);
        if left > 48 {
            let (mut one, mut two) = (seed, seed);
            while left >= 48 {
                seed = fold(eight(at) ^ RAPID[0], eight(at + 8) ^ seed);
                one = fold(eight(at + 16) ^ RAPID[1], eight(at + 24) ^ one);
                two = fold(eight(at + 32) ^ RAPID[2], eight(at + 40) ^ two);
                at += 48;
                left -= 48;
            }
            seed ^= one ^ two;
        }
        if left > 16 {
            seed = fold(eight(at) ^ RAPID[2], eight(at + 8) ^ seed ^ RAPID[1]);
            if left > 32 {
                seed = fold(eight(at + 16) ^ RAPID[2], eight(at + 24) ^ seed);
            }
        }
        a = eight(length - 16);
        b = eight(length - 8);
    }
    a ^= RAPID[1];
    b ^= seed;
    (a, b) = wide(a, b);
    fold(a ^ RAPID[0] ^ length as u64, b ^ RAPID[1])
}

/// The 64-bit finaliser of MurmurHash3: every input bit affects every output bit.
pub const fn mix64(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_vectors_hold_for_ever() {
        assert_eq!(FeatureHash::Fnv1a.hash(b""), OFFSET);
        assert_eq!(FeatureHash::Fnv1a.hash(b"test string"), 10_983_430_520_173_899_754);
        assert_eq!(FeatureHash::Fnv1a.hash(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(FeatureHash::Fnv1.hash(b"foobar"), 0x340d_8765_a4dd_a9c2);
        assert_eq!(mix64(1), 0xb456_bcfc_34c2_cb2c);
        assert_eq!(
            FeatureHash::Fnv1aMix.hash(b"foobar"),
            mix64(FeatureHash::Fnv1a.hash(b"foobar"))
        );
        // The vectors at the end of lookup3.c, with the halves in the order of simhash-cpp.
        assert_eq!(FeatureHash::Jenkins.hash(b""), 0xdead_beef_dead_beef);
        let gettysburg = b"Four score and seven years ago";
        assert_eq!(FeatureHash::Jenkins.hash(gettysburg), 0x1777_0551_ce72_26e6);
        assert_eq!(FeatureHash::Jenkins.hash(b"test string"), 0x2090_59a2_eead_309c);
        assert_eq!(FeatureHash::Rapid.hash(b""), 6_516_417_773_221_693_515);
        assert_eq!(FeatureHash::Rapid.hash(b"foobar"), 7_473_700_493_202_023_269);
        assert_eq!(FeatureHash::Rapid.hash(gettysburg), 1_413_407_796_347_665_014);
    }

    #[test]
    fn rapidhash_equals_the_rapidhash_crate() {
        let bytes: Vec<u8> = (0..400u64).map(|i| mix64(i) as u8).collect();
        for length in 0..bytes.len() {
            let expected = rapidhash::v1::rapidhash_v1(&bytes[..length]);
            assert_eq!(FeatureHash::Rapid.hash(&bytes[..length]), expected, "{length}");
        }
    }
}
