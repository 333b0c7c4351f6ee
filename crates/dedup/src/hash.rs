//! Stable feature hashes. Fingerprints are stored and published, so none of these may ever change:
//! the golden vectors below are part of the format.

/// A named hash from bytes to 64 bits, the same on every platform and in every version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FeatureHash {
    /// FNV-1a followed by the 64-bit finaliser of MurmurHash3, which mixes the high bits that plain
    /// FNV leaves biased on short words. The default.
    #[default]
    Fnv1aMix,
    /// FNV-1a, 64 bits (Fowler, Noll, Vo).
    Fnv1a,
    /// FNV-1, 64 bits: multiply first, then xor.
    Fnv1,
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

impl FeatureHash {
    /// The hash of `bytes`.
    ///
    /// # Complexity
    /// One multiplication a byte.
    pub fn hash(self, bytes: &[u8]) -> u64 {
        match self {
            Self::Fnv1aMix => mix64(fnv1a(bytes)),
            Self::Fnv1a => fnv1a(bytes),
            Self::Fnv1 => {
                bytes.iter().fold(OFFSET, |hash, &b| hash.wrapping_mul(PRIME) ^ u64::from(b))
            }
        }
    }

    /// The name under which fingerprints made with it are stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fnv1aMix => "fnv1a-mix",
            Self::Fnv1a => "fnv1a",
            Self::Fnv1 => "fnv1",
        }
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(OFFSET, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(PRIME))
}

/// The 64-bit finaliser of MurmurHash3: every input bit reaches every output bit.
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
    }
}
