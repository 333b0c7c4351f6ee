//! `crawl calibrate`: suggests distance and similarity from the user's own pages.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hapax_data::{
    ALIKE, CALIBRATION_STEPS, Calibration, CalibrationPage, must_exist, sample_archive,
};
use hapax_dedup::{MAX_DISTANCE, Policy, plans};
use hapax_extract::Recipe;
use hapax_page::{Evidence, Kind};
use serde_json::json;
use url::Url;

use super::plan::{leads, number as parse_number};
use super::print;
use crate::args::CalibrateArgs;
use crate::exit::{BAD_INPUT, USAGE, coded};
use crate::output::{bytes, counted, number};
use crate::spelling::recipe_named;
use hapax_data::inputs::read;

const BAR: usize = 40;
const MAX_DEPTH: usize = 32;

#[derive(Default)]
struct Measured {
    pairs: Calibration,
    /// Ignored pages: no text, or thin.
    without: usize,
    unreadable: usize,
}

pub(super) fn run(args: &CalibrateArgs) -> Result<u8> {
    let mut measured = Measured::default();
    let recipe = args.recipe.as_deref().map_or(Ok(Recipe::default()), recipe_named)?;
    let pages = match &args.data {
        Some(data) => open_archive(data, args.sample, recipe, &mut measured)?,
        None => open_all(&files(args)?, recipe, &mut measured),
    };
    if pages.len() < 2 {
        let what = "nothing to compare. Give at least two pages with content";
        return Err(coded(BAD_INPUT, what.to_owned()));
    }
    measured.pairs = Calibration::of(&pages);
    let corpus = args.pages.as_deref().map(parse_number).transpose()?;
    let corpus = corpus.unwrap_or(pages.len() as u64);
    let text =
        if args.json { format!("{}\n", measured.json(corpus)) } else { measured.text(corpus) };
    print(text.as_bytes())
}

fn files(args: &CalibrateArgs) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for file in &args.files {
        if file.join("crawl.toml").exists() || file.join("dedup").is_dir() {
            let name = file.display();
            let what = format!("{name} is a data directory. Use `crawl calibrate --data {name}`");
            return Err(coded(USAGE, what));
        }
        collect(file, 0, args.sample, &mut files);
    }
    files.truncate(args.sample);
    Ok(files)
}

/// Pages of a data directory's archive.
fn open_archive(
    data: &Path,
    limit: usize,
    recipe: Recipe,
    measured: &mut Measured,
) -> Result<Vec<CalibrationPage>> {
    must_exist(data)?;
    let folder = data.join("pages");
    if !folder.is_dir() {
        let what =
            format!("{}: no pages are archived here (--no-warc, or `crawl dedup`)", data.display());
        return Err(coded(USAGE, what));
    }
    let sample = sample_archive(&folder, limit, recipe)?;
    for error in &sample.unreadable {
        crate::output::error(&anyhow::anyhow!("{error}"));
    }
    (measured.without, measured.unreadable) = (sample.without, sample.unreadable.len());
    Ok(sample.pages)
}

/// The files below a path, in the order of their names.
fn collect(path: &Path, depth: usize, limit: usize, out: &mut Vec<PathBuf>) {
    if out.len() >= limit || depth > MAX_DEPTH {
        return;
    }
    let Ok(entries) = std::fs::read_dir(path) else {
        out.push(path.to_owned());
        return;
    };
    let mut names: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    names.sort();
    // Links may lead elsewhere or in a circle, and pipes may never end.
    names.retain(|name| name.symlink_metadata().is_ok_and(|meta| meta.is_file() || meta.is_dir()));
    names.iter().for_each(|name| collect(name, depth + 1, limit, out));
}

fn open_all(files: &[PathBuf], recipe: Recipe, measured: &mut Measured) -> Vec<CalibrationPage> {
    let mut pages = Vec::new();
    for path in files {
        let bytes = match read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                crate::output::error(&anyhow::anyhow!("{}: {error}", path.display()));
                measured.unreadable += 1;
                continue;
            }
        };
        let page = Kind::of(None, &bytes).and_then(|kind| {
            let document = kind.read(&Url::parse("http://localhost/").ok()?, None, &bytes);
            CalibrationPage::of(&Evidence::of(&document, recipe))
        });
        match page {
            Some(page) => pages.push(page),
            None => measured.without += 1,
        }
    }
    pages
}

impl Measured {
    fn text(&self, corpus: u64) -> String {
        let mut out = String::new();
        let (alike, other) = self.pairs.total();
        let _ = writeln!(
            out,
            "{} pages compared ({} thin, {} unreadable): {} alike pairs, {} others",
            number(self.pairs.pages as u64),
            number(self.without as u64),
            number(self.unreadable as u64),
            number(alike),
            number(other)
        );
        let _ = writeln!(
            out,
            "alike: at least {ALIKE} of their shingles in common\n\ndistance      alike     others"
        );
        histogram(&mut out, &self.pairs.alike, &self.pairs.other, |row| {
            if row + 1 == self.pairs.alike.len() { format!("{row} on") } else { row.to_string() }
        });
        let _ = writeln!(out, "\nsimilarity    alike     others");
        histogram(
            &mut out,
            &self.pairs.alike_by_similarity,
            &self.pairs.other_by_similarity,
            |row| format!("{:.2}", row as f64 / CALIBRATION_STEPS as f64),
        );
        let _ =
            writeln!(out, "\n k   recall   with bands   precision   in {} pages", number(corpus));
        for k in 0..=MAX_DISTANCE as usize {
            let (precision, later) = self.pairs.precision(k, corpus);
            let either = self.pairs.by_either.get(k).copied().unwrap_or(0);
            let _ = writeln!(
                out,
                "{k:>2}   {:>6.3}   {:>10.3}   {precision:>9.3}   {later:>8.3}",
                self.pairs.recall(Calibration::within(&self.pairs.alike, k)),
                self.pairs.recall(either)
            );
        }
        out.push('\n');
        let advised = self.pairs.is_enough();
        if advised {
            self.advise(&mut out, corpus);
        } else {
            let _ = writeln!(
                out,
                "only {}: too few for a recommendation. Give more pages, or pages of one site",
                counted(alike, "alike pair")
            );
        }
        let k = self
            .pairs
            .distance(corpus)
            .filter(|_| advised)
            .map_or(Policy::default().distance, |k| {
                (k as u32).clamp(1, Policy::default().distance)
            });
        if let Some(plan) = plans(corpus, k, None).and_then(|plans| plans.into_iter().next()) {
            let _ = writeln!(
                out,
                "tables for {} pages at distance {k}: {}, {} tables of {} bits, {:.1} B a page, {} (`crawl plan --pages {corpus} --distance {k}`)",
                number(corpus),
                plan.name,
                plan.layout.leads().len(),
                leads(&plan),
                plan.bytes_per_fingerprint,
                bytes(plan.bytes as u64)
            );
        }
        out
    }

    fn advise(&self, out: &mut String, corpus: u64) {
        let _ = match self.pairs.distance(corpus) {
            Some(k) => {
                writeln!(out, "--policy simhash: --distance {k} (99 in 100 right or better)")
            }
            None => writeln!(
                out,
                "--policy simhash: do not use it for these pages; even pages with equal fingerprints often differ"
            ),
        };
        let _ = writeln!(
            out,
            "default policy: --similarity {:.2} sorts most pairs right; the default is {}",
            self.pairs.similarity(),
            Policy::default().similarity
        );
    }

    fn json(&self, corpus: u64) -> serde_json::Value {
        let (alike, other) = self.pairs.total();
        let rows: Vec<serde_json::Value> = (0..=MAX_DISTANCE as usize)
            .map(|k| {
                let (precision, later) = self.pairs.precision(k, corpus);
                json!({
                    "distance": k, "recall": self.pairs.recall(Calibration::within(&self.pairs.alike, k)), "precision": precision,
                    "precision_in_corpus": later, "recall_with_bands": self.pairs.recall(self.pairs.by_either.get(k).copied().unwrap_or(0)),
                })
            })
            .collect();
        json!({
            "pages": self.pairs.pages, "without_text": self.without, "unreadable": self.unreadable, "corpus": corpus,
            "alike_pairs": alike, "other_pairs": other, "alike_by_distance": self.pairs.alike, "others_by_distance": self.pairs.other,
            "alike_by_similarity": self.pairs.alike_by_similarity, "others_by_similarity": self.pairs.other_by_similarity,
            "alike_by_band": self.pairs.by_band, "by_distance": rows,
            "advice": (self.pairs.is_enough()).then(|| {
                json!({"distance": self.pairs.distance(corpus), "similarity": self.pairs.similarity()})
            }),
        })
    }
}

/// Rows of two counts, with bars in proportion to the first kind's largest.
fn histogram(out: &mut String, alike: &[u64], other: &[u64], name: impl Fn(usize) -> String) {
    let most = alike.iter().copied().max().unwrap_or(0).max(1);
    for (row, (alike, other)) in alike.iter().zip(other).enumerate() {
        if *alike == 0 && *other == 0 {
            continue;
        }
        let bar = "#".repeat((*alike as usize * BAR).div_ceil(most as usize));
        let _ = writeln!(out, "{:>8} {alike:>10} {other:>10}  {bar}", name(row));
    }
}
