//! Layouts cut 64 bits into tables: the lead bits of each table, and its probing radius.

mod complete;
mod schemes;

use std::fmt;

pub(crate) use self::schemes::cut;

use crate::Fingerprint;

/// The largest distance of a layout.
pub const MAX_DISTANCE: u32 = 7;
/// The most tables of a custom layout.
pub const MAX_OWN_TABLES: usize = 64;

/// One table of a [`Layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lead {
    /// The lead bits.
    pub mask: u64,
    /// The number of lead bits that may differ: 0 probes one lead, 1 also each lead that differs in one bit.
    pub radius: u32,
}

impl Lead {
    /// Returns the number of lead bits.
    pub const fn bits(self) -> u32 {
        self.mask.count_ones()
    }

    /// Returns the number of probes: the sum of C(bits, i) for i up to the radius.
    pub fn probes(self) -> u64 {
        let bits = u64::from(self.bits());
        let of = |i: u32| choose(bits, u64::from(i));
        (0..=self.radius.min(self.bits())).fold(0, |sum: u64, i| sum.saturating_add(of(i)))
    }
}

/// The tables that find everything within a Hamming distance.
///
/// Two fingerprints are candidates in a table if their leads differ in at most the table's radius. A layout is
/// complete for distance `k` if, for every placement of `k` errors in 64 bits, some table makes the pair candidates.
/// The constructors make complete layouts only.
///
/// | scheme | constructor | tables for distance 3 |
/// |---|---|---|
/// | blocks, all combinations | [`Layout::new`] | 4 x 16, 10 x 25, 20 x 32 bits |
/// | two levels of blocks | [`Layout::two_level`] | 16 x 28 bits |
/// | halves | [`Layout::halves`] | 6 x 21, 8 x 24 bits |
/// | few blocks, probed | [`Layout::probing`] | 3 tables with 24 probes, 2 with 66 |
/// | own blocks | [`Layout::from_blocks`] | |
/// | own tables | [`Layout::from_leads`] | |
///
/// # References
/// Manku, Jain, Das Sarma, *Detecting near-duplicates for web crawling*, WWW 2007, section 3.1 and
/// table 1; Norouzi, Punjani, Fleet, *Fast search in Hamming space with multi-index hashing*, CVPR
/// 2012 (probing); Qin et al., *GPH: similarity search in Hamming space*, ICDE 2018 (the general
/// pigeonhole principle: radii whose sum of `radius + 1` exceeds the distance).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    distance: u32,
    leads: Vec<Lead>,
}

/// The reason why a layout cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// A distance above [`MAX_DISTANCE`].
    Distance(u32),
    /// The scheme does not support this number of blocks at this distance.
    Blocks {
        /// The requested number.
        asked: u32,
        /// The smallest supported number.
        least: u32,
        /// The largest supported number.
        most: u32,
    },
    /// The masks do not partition the 64 bits.
    NotAPartition,
    /// No table, an empty lead, or more than [`MAX_OWN_TABLES`] tables.
    Tables(usize),
    /// A pair that differs in these bits would be missed.
    Incomplete(u64),
    /// The layout has too many kinds of bits to check completeness, or too many tables for a look-up.
    TooFine,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Distance(distance) => write!(f, "distance {distance} is above {MAX_DISTANCE}"),
            Self::Blocks { asked, least, most } => {
                write!(
                    f,
                    "{asked} blocks: out of range. At this distance {least} to {most} blocks are possible"
                )
            }
            Self::NotAPartition => f.write_str("the masks do not cut 64 bits into blocks"),
            Self::Tables(tables) => {
                write!(f, "{tables} tables: from 1 to {MAX_OWN_TABLES}, none with an empty lead")
            }
            Self::Incomplete(bits) => {
                write!(f, "the layout would miss pairs that differ in the bits {bits:#018x}")
            }
            Self::TooFine => f.write_str("more than 24 different kinds of bits: use fewer tables"),
        }
    }
}

impl std::error::Error for LayoutError {}

impl Layout {
    /// Makes a layout of custom tables, each with its radius.
    ///
    /// # Errors
    /// [`LayoutError::Incomplete`] with an example if the layout could miss a pair within `distance`.
    ///
    /// # Complexity
    /// Bits in the same leads count as one kind; the check tries C(kinds + distance, distance) placements of errors,
    /// at most about two million.
    pub fn from_leads(leads: Vec<Lead>, distance: u32) -> Result<Self, LayoutError> {
        if distance > MAX_DISTANCE {
            return Err(LayoutError::Distance(distance));
        }
        if leads.is_empty() || leads.len() > MAX_OWN_TABLES || leads.iter().any(|l| l.mask == 0) {
            return Err(LayoutError::Tables(leads.len()));
        }
        // A radius above the distance finds nothing more and costs far more probes.
        let leads: Vec<Lead> = leads
            .into_iter()
            .map(|lead| Lead { radius: lead.radius.min(distance), ..lead })
            .collect();
        complete::check(&leads, distance)?;
        Ok(Self { distance, leads })
    }

    /// Returns the tables named in a segment, which a complete layout wrote.
    pub(crate) const fn stored(leads: Vec<Lead>, distance: u32) -> Self {
        Self { distance, leads }
    }

    /// Returns whether another layout has the same tables in any order.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.leads.len() == other.leads.len() && self.leads.iter().all(|l| other.leads.contains(l))
    }

    /// Returns the largest Hamming distance at which the layout is complete.
    pub const fn distance(&self) -> u32 {
        self.distance
    }

    /// Returns the tables.
    pub fn leads(&self) -> &[Lead] {
        &self.leads
    }

    /// Returns the number of probes of a query over all tables.
    pub fn probes(&self) -> u64 {
        self.leads.iter().fold(0, |sum: u64, lead| sum.saturating_add(lead.probes()))
    }

    /// Returns the same tables for another distance. Only the radii change, so stored tables stay valid.
    ///
    /// # Errors
    /// [`LayoutError::Distance`].
    pub fn with_distance(&self, distance: u32) -> Result<Self, LayoutError> {
        if distance > MAX_DISTANCE {
            return Err(LayoutError::Distance(distance));
        }
        if distance <= self.distance {
            return Ok(Self { distance, leads: self.leads.clone() });
        }
        let mut leads = self.leads.clone();
        // Each lead gets the additional errors at most, so this is complete. Then unneeded radius is removed,
        // beginning with the table that has the most probes.
        for lead in &mut leads {
            lead.radius = (lead.radius + distance - self.distance).min(lead.bits());
        }
        let mut open: Vec<usize> = (0..leads.len()).collect();
        if leads.len() > MAX_OWN_TABLES {
            open.clear();
        }
        while let Some(&index) =
            open.iter().max_by_key(|&&i| (leads.get(i).map_or(0, |lead| lead.probes()), i))
        {
            let mut fewer = leads.clone();
            match fewer.get_mut(index) {
                Some(lead) if lead.radius > 0 => lead.radius -= 1,
                _ => fewer.clear(),
            }
            if !fewer.is_empty() && complete::check(&fewer, distance).is_ok() {
                leads = fewer;
            } else {
                open.retain(|&other| other != index);
            }
        }
        Ok(Self { distance, leads })
    }

    /// Returns the first table in which two fingerprints are candidates. Only this table reports the pair, so no set
    /// is needed to avoid repeated reports.
    #[inline]
    pub fn first_table(&self, a: Fingerprint, b: Fingerprint) -> Option<usize> {
        let differing = a.bits() ^ b.bits();
        self.leads.iter().position(|lead| (differing & lead.mask).count_ones() <= lead.radius)
    }
}

impl fmt::Display for Layout {
    /// Writes tables, lead bits and probes: `6 tables x 21-22 bits, 6 probes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = || self.leads.iter().map(|lead| lead.bits());
        let (least, most) = (bits().min().unwrap_or(0), bits().max().unwrap_or(0));
        let tables = self.leads.len();
        write!(f, "{tables} table{} x {least}", if tables == 1 { "" } else { "s" })?;
        if most > least {
            write!(f, "-{most}")?;
        }
        write!(f, " bits, {} probe{}", self.probes(), if self.probes() == 1 { "" } else { "s" })
    }
}

pub(crate) fn choose(n: u64, k: u64) -> u64 {
    let product =
        |product: u128, i: u64| product * u128::from(n.saturating_sub(i)) / u128::from(i + 1);
    u64::try_from((0..k).fold(1, product)).unwrap_or(u64::MAX)
}
