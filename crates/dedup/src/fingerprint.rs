use std::fmt;
use std::str::FromStr;

/// A 64-bit simhash. Similar feature sets have fingerprints that differ in few bits.
///
/// 64 bits are the published choice (Manku, Jain, Das Sarma, WWW 2007). On labelled pairs 128 bits tell a
/// little more (F1 .927 against .878, docs/benchmarks.md), for twice the memory; 32 collide by chance from
/// about 10^5 pages on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint with these bits.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The 64 bits.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Hamming distance: in how many of 64 bits the two differ.
    pub const fn distance(self, other: Self) -> u32 {
        (self.0 ^ other.0).count_ones()
    }
}

impl fmt::Display for Fingerprint {
    /// Sixteen lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = std::num::ParseIntError;

    /// Reads what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Fingerprint {
    /// As sixteen hexadecimal digits: JSON's numbers end at 2^53.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Fingerprint {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_differing_bits() {
        let a = Fingerprint::from_bits(0xDEAD_BEEF);
        assert_eq!(a.distance(Fingerprint::from_bits(0xDEAD_BEAD)), 2);
        assert_eq!(a.distance(a), 0);
        assert_eq!(Fingerprint::from_bits(0).distance(Fingerprint::from_bits(u64::MAX)), 64);
    }

    #[test]
    fn hex_round_trips() {
        let a = Fingerprint::from_bits(0x00ab);
        assert_eq!(a.to_string(), "00000000000000ab");
        assert_eq!(a.to_string().parse(), Ok(a));
    }
}
