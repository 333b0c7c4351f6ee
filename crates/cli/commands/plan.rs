//! `crawl plan`: table layouts for N pages, and which one is chosen.

use std::fmt::Write;

use anyhow::Result;
use hapax_data::units::parse_size;
use hapax_dedup::{MAX_DISTANCE, Plan, plans, published_designs};
use serde_json::json;

use super::print;
use crate::args::PlanArgs;
use crate::exit::{USAGE, coded};
use crate::output::{bytes, number as grouped};

/// The paper's "8B" pages.
const PAPER: u64 = 1 << 34;
/// Bytes a page of the sketch and the directories of its 16 bands and two names, apart from the Hamming tables.
const SKETCH_BYTES: u64 = 64 + 18 * 9;

pub(super) fn run(args: &PlanArgs) -> Result<u8> {
    let pages = number(&args.pages)?;
    let memory = args.memory.as_deref().map(parse_size).transpose()?;
    let plans = plans(pages, args.distance, memory.map(|bytes| bytes as f64)).ok_or_else(|| {
        coded(
            USAGE,
            format!("--distance {}: out of range. Allowed: 0 to {MAX_DISTANCE}", args.distance),
        )
    })?;
    let text = if args.json {
        format!("{}\n", to_json(pages, args.distance, &plans))
    } else {
        to_table(pages, args.distance, memory, &plans)
    };
    print(text.as_bytes())
}

/// Parses `1000000`, `1e9`, `2^34`.
pub(super) fn number(text: &str) -> Result<u64> {
    let plain = text.replace('_', "");
    let value = match plain.split_once('^') {
        Some((base, power)) => base
            .parse::<u64>()
            .ok()
            .zip(power.parse().ok())
            .and_then(|(base, power)| base.checked_pow(power)),
        None => plain.parse().ok().or_else(|| {
            let value: f64 = plain.parse().ok()?;
            ((0.0..1e18).contains(&value) && value.fract() == 0.0).then_some(value as u64)
        }),
    };
    value.filter(|value| *value > 0).ok_or_else(|| {
        coded(USAGE, format!("--pages {text}: not a number. Write it like 1000000, 1e9 or 2^34"))
    })
}

pub(super) fn leads(plan: &Plan) -> String {
    let bits = || plan.layout.leads().iter().map(|lead| lead.bits());
    let (least, most) = (bits().min().unwrap_or(0), bits().max().unwrap_or(0));
    if least == most { least.to_string() } else { format!("{least}-{most}") }
}

fn to_table(pages: u64, distance: u32, memory: Option<u64>, plans: &[Plan]) -> String {
    let mut out = String::new();
    let limit =
        memory.map_or(String::new(), |limit| format!(", at most {} of tables", bytes(limit)));
    let _ = writeln!(out, "{} pages, distance {distance}{limit}\n", grouped(pages));
    let _ = writeln!(
        out,
        "   {:<12} {:>6} {:>7} {:>7} {:>11} {:>8} {:>10} {:>9}",
        "scheme", "tables", "lead", "probes", "candidates", "B/page", "tables", "a query"
    );
    for (number, plan) in plans.iter().enumerate() {
        let mark = if !plan.fits {
            " -"
        } else if number == 0 {
            "->"
        } else {
            "  "
        };
        let name = format!("{}{}", plan.name, if plan.packed { " p" } else { "" });
        let _ = writeln!(
            out,
            "{mark} {name:<12} {:>6} {:>7} {:>7} {:>11} {:>8.1} {:>10} {:>9}",
            plan.layout.leads().len(),
            leads(plan),
            plan.layout.probes(),
            short(plan.candidates),
            plan.bytes_per_fingerprint,
            bytes(plan.bytes as u64),
            time(plan.nanoseconds),
        );
    }
    if let Some(limit) = memory.filter(|_| plans.iter().all(|plan| !plan.fits)) {
        let least = plans.iter().map(|plan| plan.bytes).fold(f64::INFINITY, f64::min);
        let _ = writeln!(
            out,
            "\nNo layout fits into {}: the smallest needs {}. Raise --memory",
            bytes(limit),
            bytes(least as u64)
        );
    }
    let _ = writeln!(
        out,
        "\n->: chosen: the smallest that fits and is nearly as fast as the fastest.  -: does not fit.\n\
         p: packed: entries omit the bits that their bucket implies.\n\
         candidates: expected fingerprints compared in a query, for uniform fingerprints. a query:\n\
         expected time of a single query, from the measured cost of a cache line. In addition, each\n\
         page needs 4 bytes for its number, and {SKETCH_BYTES} bytes with sketches: {} in all.",
        bytes(pages.saturating_mul(SKETCH_BYTES))
    );
    if distance == 3 {
        let _ = writeln!(
            out,
            "\nThe four designs of Manku, Jain, Das Sarma (2007) for 2^34 fingerprints:"
        );
        for (name, layout, candidates) in published_designs(PAPER) {
            let _ = writeln!(
                out,
                "   {:>2} tables  {:>7} candidates a probe  ({name})",
                layout.leads().len(),
                short(candidates)
            );
        }
    }
    out
}

fn to_json(pages: u64, distance: u32, plans: &[Plan]) -> serde_json::Value {
    let one = |plan: &Plan| {
        json!({
            "scheme": plan.name, "packed": plan.packed, "tables": plan.layout.leads().len(),
            "lead_bits": plan.layout.leads().iter().map(|lead| lead.bits()).collect::<Vec<_>>(),
            "probes": plan.layout.probes(), "candidates": plan.candidates,
            "bytes_per_fingerprint": plan.bytes_per_fingerprint, "bytes": plan.bytes,
            "nanoseconds": plan.nanoseconds, "fits": plan.fits,
        })
    };
    let published: Vec<_> = published_designs(PAPER)
        .into_iter()
        .map(|(name, layout, candidates)| {
            json!({"name": name, "tables": layout.leads().len(), "candidates_per_probe": candidates})
        })
        .collect();
    json!({
        "pages": pages, "distance": distance,
        "chosen": plans.first().filter(|plan| plan.fits).map(one),
        "plans": plans.iter().map(one).collect::<Vec<_>>(),
        "published_for_2^34": published,
    })
}

fn short(value: f64) -> String {
    if value < 10.0 && value.fract() > 0.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.1} us", n / 1e3),
        n => format!("{:.1} ms", n / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_three_ways() {
        for (text, value) in
            [("1000", 1000), ("1e9", 1_000_000_000), ("2^34", 1 << 34), ("1_000", 1000)]
        {
            assert_eq!(number(text).unwrap(), value);
        }
        for text in ["", "x", "-1", "0", "1.5", "2^99", "nan"] {
            assert!(number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_plan_without_a_fitting_layout_reports_the_smallest_size() {
        let table = |memory: Option<u64>| {
            let found = plans(1_000_000_000, 3, memory.map(|bytes| bytes as f64)).unwrap();
            to_table(1_000_000_000, 3, memory, &found)
        };
        let none = table(Some(1024));
        assert!(none.starts_with("1,000,000,000 pages"), "{none}");
        assert!(
            none.contains("No layout fits into 1.0 KiB: the smallest needs ")
                && !none.contains("-> ")
        );
        for memory in [None, Some(1 << 50)] {
            assert!(!table(memory).contains("No layout fits"));
        }
    }

    #[test]
    fn the_four_published_designs_are_shown_with_their_candidates() {
        let found = plans(1_000_000, 3, None).unwrap();
        let table = to_table(1_000_000, 3, None, &found);
        for (tables, candidates) in [(20, "8"), (16, "64"), (10, "512"), (4, "262,144")] {
            let row = format!("   {tables:>2} tables  {candidates:>7} candidates a probe");
            assert!(table.contains(&row), "{row} is not in {table}");
        }
    }

    #[test]
    fn numbers_have_thousands_separators() {
        assert_eq!(
            [short(262_144.0), short(8.0), short(0.25), short(1e6)],
            ["262,144", "8", "0.2", "1,000,000"]
        );
    }
}
