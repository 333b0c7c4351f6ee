//! `crawl find-all` and `crawl find-clusters`, in the format of the simhash-cpp tools.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use hapax_dedup::{Fingerprint, Layout, MAX_DISTANCE, find_all, find_clusters};

use crate::args::FindArgs;
use crate::exit::{COMPLETE, USAGE, coded};

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Pairs,
    Clusters,
}

/// From so many fingerprints on, longer leads pay for the further tables.
const MANY: usize = 2_000_000;

pub(super) fn run(args: &FindArgs, what: What) -> Result<u8> {
    if args.distance > MAX_DISTANCE {
        return Err(coded(
            USAGE,
            format!("--distance {}: 0 to {MAX_DISTANCE} are possible", args.distance),
        ));
    }
    let fingerprints = read(&args.input)?;
    let extra = if fingerprints.len() >= MANY { 2 } else { 1 };
    let blocks = args.blocks.unwrap_or(args.distance + extra);
    let layout = Layout::new(blocks, args.distance).map_err(|error| {
        coded(USAGE, format!("--blocks {blocks} with --distance {}: {error}", args.distance))
    })?;
    let mut out: Box<dyn Write> = if args.output == Path::new("-") {
        Box::new(BufWriter::new(io::stdout().lock()))
    } else {
        let file = File::create(&args.output);
        Box::new(BufWriter::new(file.with_context(|| args.output.display().to_string())?))
    };
    match what {
        What::Pairs => {
            for pair in find_all(&fingerprints, &layout) {
                writeln!(out, "[{}, {}]", pair.a.bits(), pair.b.bits())?;
            }
        }
        What::Clusters => {
            for cluster in find_clusters(&fingerprints, &layout) {
                let members: Vec<String> = cluster.iter().map(|f| f.bits().to_string()).collect();
                writeln!(out, "[{}]", members.join(", "))?;
            }
        }
    }
    out.flush()?;
    Ok(COMPLETE)
}

fn read(path: &Path) -> Result<Vec<Fingerprint>> {
    let (name, input): (String, Box<dyn BufRead>) = if path == Path::new("-") {
        ("stdin".to_owned(), Box::new(io::stdin().lock()))
    } else {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| coded(USAGE, format!("{name}: {error}")))?;
        (name, Box::new(BufReader::new(file)))
    };
    let mut fingerprints = Vec::new();
    for (number, line) in input.lines().enumerate() {
        let line = line.with_context(|| name.clone())?;
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let bits = line.parse().map_err(|_| {
            coded(USAGE, format!("{name}, line {}: {line:?} is no number below 2^64", number + 1))
        })?;
        fingerprints.push(Fingerprint::from_bits(bits));
    }
    Ok(fingerprints)
}
