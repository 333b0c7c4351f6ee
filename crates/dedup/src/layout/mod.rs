//! How 64 bits become tables: which bits lead each one, and how far its lead may be probed.

mod complete;
mod schemes;

use std::fmt;

pub(crate) use self::schemes::cut;

use crate::Fingerprint;

/// The largest distance a layout can be made for.
pub const MAX_DISTANCE: u32 = 7;
/// The most tables a layout of one's own may have.
pub const MAX_OWN_TABLES: usize = 64;

/// One table of a [`Layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lead {
    /// The bits that lead the table.
    pub mask: u64,
    /// How many bits of the lead may differ: 0 asks for one lead, 1 also for each lead that differs
    /// in one bit.
    pub radius: u32,
}

impl Lead {
    /// How many bits lead the table.
    pub const fn bits(self) -> u32 {
        self.mask.count_ones()
    }

    /// How many leads are asked for: the sum of C(bits, i) for i up to the radius.
    pub fn probes(self) -> u64 {
        let bits = u64::from(self.bits());
        let of = |i: u32| choose(bits, u64::from(i));
        (0..=self.radius.min(self.bits())).fold(0, |sum: u64, i| sum.saturating_add(of(i)))
    }
}

/// The tables in which nothing within a Hamming distance is missed.
///
/// Two fingerprints are candidates of each other in a table if their leads differ in at most the
/// table's radius. A layout is complete for distance `k` if every way of placing `k` errors over 64
/// bits leaves some table such a lead; the constructors make complete layouts only.
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

/// Why a layout cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// A distance above [`MAX_DISTANCE`].
    Distance(u32),
    /// A number of blocks that the scheme does not take for this distance.
    Blocks {
        /// How many were asked for.
        asked: u32,
        /// From so many on.
        least: u32,
        /// Up to so many.
        most: u32,
    },
    /// The masks of the blocks do not sum to 64 bits, each bit in one of them.
    NotAPartition,
    /// No table, an empty lead, or more than [`MAX_OWN_TABLES`] tables.
    Tables(usize),
    /// A pair that differs in these bits would be missed.
    Incomplete(u64),
    /// The tables are cut so finely that completeness cannot be checked in reasonable time, or that there
    /// are more than any look-up could pay for.
    TooFine,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Distance(distance) => write!(f, "distance {distance} is above {MAX_DISTANCE}"),
            Self::Blocks { asked, least, most } => {
                write!(f, "{asked} blocks: from {least} to {most} are possible at this distance")
            }
            Self::NotAPartition => f.write_str("the masks do not cut 64 bits into blocks"),
            Self::Tables(tables) => {
                write!(f, "{tables} tables: from 1 to {MAX_OWN_TABLES}, none with an empty lead")
            }
            Self::Incomplete(bits) => {
                write!(f, "a pair that differs in the bits {bits:#018x} would be missed")
            }
            Self::TooFine => f.write_str("more than 24 different kinds of bits: use fewer tables"),
        }
    }
}

impl std::error::Error for LayoutError {}

impl Layout {
    /// Tables of one's own, each with its radius.
    ///
    /// # Errors
    /// [`LayoutError::Incomplete`] with an example if a pair within `distance` could be missed.
    ///
    /// # Complexity
    /// Bits that are in the same leads count as one kind; C(kinds + distance, distance) placements
    /// of errors are tried, at most about two million.
    pub fn from_leads(leads: Vec<Lead>, distance: u32) -> Result<Self, LayoutError> {
        if distance > MAX_DISTANCE {
            return Err(LayoutError::Distance(distance));
        }
        if leads.is_empty() || leads.len() > MAX_OWN_TABLES || leads.iter().any(|l| l.mask == 0) {
            return Err(LayoutError::Tables(leads.len()));
        }
        // A larger radius than the distance finds nothing more, and takes for ever.
        let leads: Vec<Lead> = leads
            .into_iter()
            .map(|lead| Lead { radius: lead.radius.min(distance), ..lead })
            .collect();
        complete::check(&leads, distance)?;
        Ok(Self { distance, leads })
    }

    /// Tables as a segment names them, which was written by a complete layout.
    pub(crate) const fn stored(leads: Vec<Lead>, distance: u32) -> Self {
        Self { distance, leads }
    }

    /// Whether another layout has the same tables, in whatever order.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.leads.len() == other.leads.len() && self.leads.iter().all(|l| other.leads.contains(l))
    }

    /// Up to which Hamming distance nothing is missed.
    pub const fn distance(&self) -> u32 {
        self.distance
    }

    /// The tables.
    pub fn leads(&self) -> &[Lead] {
        &self.leads
    }

    /// How many leads a query asks for, over all tables.
    pub fn probes(&self) -> u64 {
        self.leads.iter().fold(0, |sum: u64, lead| sum.saturating_add(lead.probes()))
    }

    /// The same tables for another distance: only the radii change, so what is stored by this
    /// layout need not be stored anew.
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
        // One more error at most lands in each lead, so this is complete; then what is not needed
        // is taken back, the table with the most probes first.
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

    /// The first table in which two fingerprints are candidates: the one that reports the pair, so
    /// that nothing is reported twice and no set is needed to see to it.
    #[inline]
    pub fn first_table(&self, a: Fingerprint, b: Fingerprint) -> Option<usize> {
        let differing = a.bits() ^ b.bits();
        self.leads.iter().position(|lead| (differing & lead.mask).count_ones() <= lead.radius)
    }
}

impl fmt::Display for Layout {
    /// Tables, lead bits, probes: `6 tables x 21-22 bits, 6 probes`.
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
