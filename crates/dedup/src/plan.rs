//! A cost model that chooses the layout for a number of fingerprints.

use crate::tables::Simd;
use crate::tables::table::Shape;
use crate::{Layout, LayoutError, MAX_DISTANCE};

/// The cost of one layout.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scheme's name (`blocks`, `halves`, `probing`, `two-level`) and its parameters.
    pub name: String,
    /// The tables.
    pub layout: Layout,
    /// Whether entries omit the bits that their bucket implies.
    pub packed: bool,
    /// Expected candidates that a query compares in full, over all probes, for uniform fingerprints.
    pub candidates: f64,
    /// Bytes per fingerprint over all tables, without the list of documents.
    pub bytes_per_fingerprint: f64,
    /// Bytes of all tables.
    pub bytes: f64,
    /// Expected nanoseconds of a single query: the terms times the model's constants.
    pub nanoseconds: f64,
    /// The model's terms: 1, tables, probes, nanoseconds of first lines, nanoseconds of later lines, candidates.
    /// `cargo bench -p hapax-dedup --bench cost` fits the constants to measured queries.
    pub terms: [f64; 6],
    /// Whether it fits into the given memory.
    pub fits: bool,
}

/// Nanoseconds to read one cache line at a random place, by bytes of the tables, with sixteen reads in flight.
/// Measured by `cargo bench -p hapax-dedup --bench cost`; the last entry is extrapolated.
const LINE_COST: [(f64, f64); 6] =
    [(0.5e6, 2.4), (4e6, 3.9), (32e6, 12.3), (256e6, 22.6), (2e9, 24.4), (16e9, 30.0)];
/// Nanoseconds for each of [`Plan::terms`], and the factor for packed tables. The same bench fitted them to all
/// schemes at 10^5 to 10^7 fingerprints on 2026-11-24.
const COSTS: [f64; 6] = [111.52, 4.66, 5.02, 1.02, 0.23, 0.35];
const PACKED_FACTOR: f64 = 1.12;
/// A smaller layout may take up to this factor of the fastest layout's time.
const WORTH: f64 = 1.15;
/// Below this number of fingerprints size does not matter, and the fastest layout is chosen.
const WORTH_FROM: u64 = 4096;

/// Returns the cost of every scheme for this distance and number of pages. The first is the recommended one: the
/// smallest that fits into `memory` bytes and is nearly as fast as the fastest. The others follow by time; those that
/// do not fit are last.
///
/// # Errors
/// `None` for a distance above 7.
///
/// # Complexity
/// About twenty schemes, each a sum over its tables. It builds nothing.
///
/// # References
/// G. Manku, A. Jain, A. Das Sarma, *Detecting near-duplicates for web crawling*, WWW 2007, section 3.
pub fn plans(pages: u64, distance: u32, memory: Option<f64>) -> Option<Vec<Plan>> {
    if distance > MAX_DISTANCE {
        return None;
    }
    let mut plans = Vec::new();
    for (name, layout) in schemes(distance) {
        for packed in [false, true] {
            plans.push(cost(&name, &layout, packed, pages, memory));
        }
    }
    plans.sort_by(|a, b| b.fits.cmp(&a.fits).then(a.nanoseconds.total_cmp(&b.nanoseconds)));
    let chosen = choice(&plans, pages);
    if let Some(first) = plans.get_mut(..=chosen) {
        first.rotate_right(1);
    }
    Some(plans)
}

fn choice(plans: &[Plan], pages: u64) -> usize {
    let worth = if pages < WORTH_FROM { 1.0 } else { WORTH };
    let fitting = || plans.iter().enumerate().filter(|(_, plan)| plan.fits);
    let fastest = fitting().map(|(_, plan)| plan.nanoseconds).fold(f64::INFINITY, f64::min);
    let good = fitting().filter(|(_, plan)| plan.nanoseconds <= worth * fastest);
    let by_size = |a: &(usize, &Plan), b: &(usize, &Plan)| {
        a.1.bytes.total_cmp(&b.1.bytes).then(a.1.nanoseconds.total_cmp(&b.1.nanoseconds))
    };
    let best = good.min_by(by_size).or_else(|| plans.iter().enumerate().min_by(by_size));
    best.map_or(0, |(at, _)| at)
}

pub(crate) fn for_segment(rows: u64, distance: u32, bytes: f64) -> (Layout, bool) {
    let rows = rows.max(1);
    let memory = bytes * rows as f64;
    let mut plans: Vec<Plan> = schemes(distance)
        .iter()
        .flat_map(|(name, layout)| {
            [false, true].map(|packed| cost(name, layout, packed, rows, Some(memory)))
        })
        .collect();
    let chosen = choice(&plans, rows);
    match plans.drain(..).nth(chosen) {
        Some(plan) => (plan.layout, plan.packed),
        None => (Layout::stored(Vec::new(), distance), false),
    }
}

/// Nanoseconds in a batch: for a value in a table until its bucket is known, then for each other value of the bucket,
/// with AVX-512, with AVX2 and without vector instructions. The bench `cost` fitted them to all pairs among 10^6 and
/// 10^7; AVX2 was measured on another machine and scaled by the portable value.
const BATCH_COSTS: [f64; 4] = [11.86, 0.03, 0.13, 0.32];

impl Layout {
    /// Returns the cheapest layout to find all pairs of `count` fingerprints, for [`find_each`](crate::find_each). A
    /// small set gets fewer tables with short leads, so that it is sorted less; a large set gets more tables with
    /// long leads, so that fewer pairs are compared.
    ///
    /// # Errors
    /// [`LayoutError::Distance`] above [`MAX_DISTANCE`].
    pub fn for_batch(count: u64, distance: u32) -> Result<Self, LayoutError> {
        Self::for_batch_by(count, distance, Simd::detect())
    }

    fn for_batch_by(count: u64, distance: u32, simd: Simd) -> Result<Self, LayoutError> {
        let [table, avx512, avx2, plain] = BATCH_COSTS;
        let other = match simd {
            Simd::Avx512 => avx512,
            Simd::Avx2 => avx2,
            Simd::Portable => plain,
        };
        let time = |layout: &Self| {
            let [tables, others] = layout.batch_terms(count);
            tables * table + others * other
        };
        let plain = |layout: &Self| layout.leads().iter().all(|lead| lead.radius == 0);
        let layouts = schemes(distance.min(MAX_DISTANCE)).into_iter().map(|(_, layout)| layout);
        let best = layouts.filter(plain).min_by(|a, b| f64::total_cmp(&time(a), &time(b)));
        best.filter(|layout| layout.distance() == distance).ok_or(LayoutError::Distance(distance))
    }

    /// Returns the model's terms for one value in a batch: tables, and the values that share its buckets.
    pub fn batch_terms(&self, count: u64) -> [f64; 2] {
        let bucket = |lead| {
            let shape = Shape::new(lead, count, false);
            count as f64 / 2f64.powi(shape.directory_bits as i32)
        };
        [self.leads().len() as f64, self.leads().iter().map(|lead| bucket(*lead)).sum()]
    }
}

/// Returns the paper's four designs for distance 3: name, layout, and candidates per probe among `pages`
/// fingerprints, counted by the shortest lead as in the paper.
pub fn published_designs(pages: u64) -> Vec<(&'static str, Layout, f64)> {
    let designs = [
        ("6 blocks, 3 lead", Layout::new(6, 3)),
        ("4 blocks, 1 leads, then 4 of the rest, 1 leads", Layout::two_level(4, 4, 3)),
        ("5 blocks, 2 lead", Layout::new(5, 3)),
        ("4 blocks, 1 leads", Layout::new(4, 3)),
    ];
    let mut all = Vec::new();
    for (name, layout) in designs {
        let Ok(layout) = layout else { continue };
        let shortest = layout.leads().iter().map(|lead| lead.bits()).min().unwrap_or(0);
        let candidates = pages as f64 / 2f64.powi(shortest as i32);
        all.push((name, layout, candidates));
    }
    all
}

fn schemes(distance: u32) -> Vec<(String, Layout)> {
    let mut all = Vec::new();
    let mut add = |name: String, layout: Result<Layout, _>| {
        let known = |layout: &Layout| all.iter().any(|(_, other): &(_, Layout)| other.same(layout));
        if let Ok(layout) = layout
            && !known(&layout)
        {
            all.push((name, layout));
        }
    };
    for extra in 1..=3 {
        let blocks = distance + extra;
        add(format!("blocks {blocks}"), Layout::new(blocks, distance));
    }
    for parts in distance / 2 + 1..=distance / 2 + 3 {
        add(format!("halves {parts}"), Layout::halves(parts, distance));
    }
    for blocks in 2..=distance {
        add(format!("probing {blocks}"), Layout::probing(blocks, distance));
    }
    if distance > 0 && distance <= 3 {
        let blocks = distance + 1;
        add(format!("two-level {blocks}"), Layout::two_level(blocks, blocks, distance));
    }
    all
}

fn cost(name: &str, layout: &Layout, packed: bool, pages: u64, memory: Option<f64>) -> Plan {
    let count = pages.max(1) as f64;
    let (mut candidates, mut bytes, mut directories, mut probes) = (0.0, 0.0, 0.0, 0.0);
    for &lead in layout.leads() {
        let shape = Shape::new(lead, pages, packed);
        // Only the bits of the directory are probed.
        let bits = u64::from(shape.directory_bits);
        let asked: f64 =
            (0..=u64::from(lead.radius)).map(|r| crate::layout::choose(bits, r) as f64).sum();
        let bucket = count / 2f64.powi(shape.directory_bits as i32);
        candidates += asked * bucket;
        probes += asked;
        directories += shape.directory_bytes() as f64;
        bytes += count * shape.width as f64 + shape.directory_bytes() as f64;
    }
    let bucket_bytes = candidates / probes.max(1.0) * 8.0;
    // A query waits for the first line of a bucket; the hardware prefetches the next ones.
    let line = line_cost(bytes - directories);
    let terms = [
        1.0,
        layout.leads().len() as f64,
        probes,
        probes * (line_cost(directories) + line),
        probes * (bucket_bytes / 64.0).min(64.0) * line,
        candidates,
    ];
    let mut nanoseconds = terms.iter().zip(COSTS).map(|(term, cost)| term * cost).sum();
    if packed {
        nanoseconds *= PACKED_FACTOR;
    }
    Plan {
        name: name.to_owned(),
        layout: layout.clone(),
        packed,
        candidates,
        bytes_per_fingerprint: bytes / count,
        bytes,
        nanoseconds,
        terms,
        fits: memory.is_none_or(|memory| bytes <= memory),
    }
}

/// Interpolates between the measured sizes, by the logarithm of the size.
fn line_cost(bytes: f64) -> f64 {
    let mut before = LINE_COST[0];
    for point in LINE_COST {
        if bytes <= point.0 {
            if point.0 <= before.0 {
                return point.1;
            }
            let share = (bytes / before.0).ln() / (point.0 / before.0).ln();
            return before.1 + share * (point.1 - before.1);
        }
        before = point;
    }
    before.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_designs_have_the_published_candidates() {
        let designs = published_designs(1 << 34);
        let counts =
            designs.iter().map(|(_, layout, candidates)| (layout.leads().len(), *candidates));
        let expected = [(20, 8.0), (16, 64.0), (10, 512.0), (4, 262_144.0)];
        assert_eq!(counts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_segment_gets_other_tables_as_it_grows() {
        let chosen = |rows, bytes| {
            let (layout, packed) = for_segment(rows, 3, bytes);
            (layout.leads().len(), packed)
        };
        let sizes = [100, 65_536, 1_000_000, 10_000_000, 100_000_000];
        assert_eq!(
            sizes.map(|rows| chosen(rows, 75.0)),
            [(4, false), (4, true), (4, true), (6, true), (8, true)]
        );
        assert_eq!(
            sizes.map(|rows| chosen(rows, 26.0)),
            [(2, false), (3, true), (4, true), (4, true), (3, true)]
        );
    }

    #[test]
    fn a_batch_gets_longer_leads_as_it_grows() {
        let tables = |count, distance| Layout::for_batch(count, distance).unwrap().leads().len();
        let by = |simd| {
            [1_000_000, 2_000_000, 10_000_000, 100_000_000, 4_000_000_000]
                .map(|count| Layout::for_batch_by(count, 3, simd).unwrap().leads().len())
        };
        assert_eq!(by(Simd::Avx512), [4, 4, 4, 6, 10]);
        assert_eq!(by(Simd::Avx2), [4, 4, 6, 8, 16]);
        assert_eq!(by(Simd::Portable), [4, 6, 6, 8, 16]);
        assert!([4, 6].contains(&tables(10_000_000, 3)));
        for distance in 0..=MAX_DISTANCE {
            for count in [0, 1, 1 << 20, 1 << 32, u64::MAX] {
                let layout = Layout::for_batch(count, distance).unwrap();
                assert_eq!(layout.distance(), distance);
                assert!(layout.leads().iter().all(|lead| lead.radius == 0), "{layout}");
            }
        }
        assert_eq!(Layout::for_batch(9, 8), Err(LayoutError::Distance(8)));
    }
}
