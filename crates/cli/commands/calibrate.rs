//! `crawl calibrate`: from one's own pages to a fitting distance and similarity.
//!
//! Pairs whose whole sets of shingles overlap by half or more are taken for alike, so the truth does
//! not come from what is calibrated: neither from fingerprints nor from sketches.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hapax_dedup::{Fingerprint, MAX_DISTANCE, Policy, Sketch, plans};
use hapax_extract::Recipe;
use hapax_page::{Evidence, Kind};
use serde_json::json;
use url::Url;

use super::input::read;
use super::plan::{leads, number as parse_number};
use super::print;
use crate::args::CalibrateArgs;
use crate::exit::{BAD_INPUT, coded};
use crate::output::{bytes, counted, number};
use crate::spelling::recipe_named;

/// Two pages are alike from this Jaccard similarity of their shingles on.
const ALIKE: f64 = 0.5;
/// Distances of a histogram: the last row holds all above.
const ROWS: usize = 33;
/// Similarities of a histogram, in steps of a twentieth.
const STEPS: usize = 20;
const BAR: usize = 40;
/// From fewer alike pairs nothing is advised.
const FEWEST: u64 = 30;
/// A folder is read to this depth.
const MAX_DEPTH: usize = 32;

struct Page {
    fingerprint: Fingerprint,
    sketch: Sketch,
    shingles: HashSet<u64>,
}

#[derive(Default)]
struct Measured {
    pages: usize,
    /// Left out: no text, or little of its own.
    without: usize,
    unreadable: usize,
    /// By distance.
    alike: Vec<u64>,
    other: Vec<u64>,
    /// By estimated similarity.
    alike_by_similarity: Vec<u64>,
    other_by_similarity: Vec<u64>,
    /// Alike pairs that share a band, and that share a band or lie within each distance.
    by_band: u64,
    by_either: Vec<u64>,
}

pub(super) fn run(args: &CalibrateArgs) -> Result<u8> {
    let mut files = Vec::new();
    for file in &args.files {
        collect(file, 0, args.sample, &mut files);
    }
    files.truncate(args.sample);
    let mut measured = Measured::default();
    let recipe = args.recipe.as_deref().map_or(Ok(Recipe::default()), recipe_named)?;
    let pages = open_all(&files, recipe, &mut measured);
    if pages.len() < 2 {
        let what = "nothing to compare: at least two pages with some text of their own are needed";
        return Err(coded(BAD_INPUT, what.to_owned()));
    }
    measured.compare(&pages);
    let corpus = args.pages.as_deref().map(parse_number).transpose()?;
    let corpus = corpus.unwrap_or(pages.len() as u64);
    let text =
        if args.json { format!("{}\n", measured.json(corpus)) } else { measured.text(corpus) };
    print(text.as_bytes())
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
    // A link leads elsewhere or in a circle, and a pipe would be read without end.
    names.retain(|name| name.symlink_metadata().is_ok_and(|meta| meta.is_file() || meta.is_dir()));
    names.iter().for_each(|name| collect(name, depth + 1, limit, out));
}

fn open_all(files: &[PathBuf], recipe: Recipe, measured: &mut Measured) -> Vec<Page> {
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
            let evidence = Evidence::of(&document, recipe);
            let sketch = evidence.sketch.filter(|_| !evidence.basis.little)?;
            let shingles = evidence.basis.features.shingles.iter().copied().collect();
            Some(Page { fingerprint: evidence.fingerprint, sketch, shingles })
        });
        match page {
            Some(page) => pages.push(page),
            None => measured.without += 1,
        }
    }
    measured.pages = pages.len();
    pages
}

fn jaccard(a: &HashSet<u64>, b: &HashSet<u64>) -> f64 {
    let (small, large) = if a.len() < b.len() { (a, b) } else { (b, a) };
    // Sets of sizes that are too different need not be intersected.
    if (small.len() as f64) < ALIKE * large.len() as f64 {
        return 0.0;
    }
    let shared = small.iter().filter(|shingle| large.contains(shingle)).count();
    shared as f64 / (a.len() + b.len() - shared).max(1) as f64
}

fn count(list: &mut [u64], at: usize) {
    if let Some(slot) = list.get_mut(at) {
        *slot += 1;
    }
}

impl Measured {
    /// # Complexity
    /// Quadratic in the pages; sets are intersected only for pairs whose sketches or fingerprints
    /// say that it could matter.
    fn compare(&mut self, pages: &[Page]) {
        self.alike = vec![0; ROWS];
        self.other = vec![0; ROWS];
        self.alike_by_similarity = vec![0; STEPS + 1];
        self.other_by_similarity = vec![0; STEPS + 1];
        self.by_either = vec![0; MAX_DISTANCE as usize + 1];
        for (at, a) in pages.iter().enumerate() {
            for b in pages.iter().skip(at + 1) {
                let distance = a.fingerprint.distance(b.fingerprint) as usize;
                let similarity = a.sketch.similarity(&b.sketch);
                let step = (similarity * STEPS as f64).floor() as usize;
                // The estimate's standard error is a sixteenth: below .2 the truth is below .5.
                let near = similarity >= 0.2 || distance <= MAX_DISTANCE as usize;
                if near && jaccard(&a.shingles, &b.shingles) >= ALIKE {
                    count(&mut self.alike, distance.min(ROWS - 1));
                    count(&mut self.alike_by_similarity, step);
                    let band = a.sketch.bands().iter().zip(b.sketch.bands()).any(|(a, b)| *a == b);
                    self.by_band += u64::from(band);
                    for (k, slot) in self.by_either.iter_mut().enumerate() {
                        *slot += u64::from(band || distance <= k);
                    }
                } else {
                    count(&mut self.other, distance.min(ROWS - 1));
                    count(&mut self.other_by_similarity, step);
                }
            }
        }
    }

    fn total(&self) -> (u64, u64) {
        (self.alike.iter().sum(), self.other.iter().sum())
    }

    fn within(list: &[u64], k: usize) -> u64 {
        list.iter().take(k + 1).sum()
    }

    /// Of pairs within the distance the share that is alike: as sampled, and in a corpus of so many
    /// pages in which a page has as many copies as in the sample, and others in proportion.
    fn precision(&self, k: usize, corpus: u64) -> (f64, f64) {
        let right = Self::within(&self.alike, k) as f64;
        let wrong = Self::within(&self.other, k) as f64;
        let share = |wrong: f64| if right + wrong == 0.0 { 1.0 } else { right / (right + wrong) };
        let growth = corpus.saturating_sub(1) as f64 / (self.pages.max(2) - 1) as f64;
        (share(wrong), share(wrong * growth))
    }

    fn recall(&self, found: u64) -> f64 {
        let (alike, _) = self.total();
        if alike == 0 { 1.0 } else { found as f64 / alike as f64 }
    }

    /// The largest distance at which the plain fingerprint is right 99 times in 100 in the corpus.
    fn distance(&self, corpus: u64) -> Option<usize> {
        (0..=MAX_DISTANCE as usize).rev().find(|k| self.precision(*k, corpus).1 >= 0.99)
    }

    /// The similarity at which most pairs are sorted right, others counted as in the sample.
    fn similarity(&self) -> f64 {
        let errors = |step: usize| {
            let missed: u64 = self.alike_by_similarity.iter().take(step).sum();
            let wrong: u64 = self.other_by_similarity.iter().skip(step).sum();
            missed + wrong
        };
        let least = (4..STEPS).map(errors).min().unwrap_or(0);
        // In the middle of the best: the gap between the two kinds.
        let best: Vec<usize> = (4..STEPS).filter(|step| errors(*step) == least).collect();
        best.get(best.len() / 2)
            .map_or(Policy::default().similarity, |step| *step as f64 / STEPS as f64)
    }

    fn text(&self, corpus: u64) -> String {
        let mut out = String::new();
        let (alike, other) = self.total();
        let _ = writeln!(
            out,
            "{} pages compared ({} without text of their own, {} unreadable): {} alike pairs, {} others",
            number(self.pages as u64),
            number(self.without as u64),
            number(self.unreadable as u64),
            number(alike),
            number(other)
        );
        let _ = writeln!(
            out,
            "alike: at least {ALIKE} of their shingles in common\n\ndistance      alike     others"
        );
        histogram(&mut out, &self.alike, &self.other, |row| {
            if row == ROWS - 1 { format!("{row} on") } else { row.to_string() }
        });
        let _ = writeln!(out, "\nsimilarity    alike     others");
        histogram(&mut out, &self.alike_by_similarity, &self.other_by_similarity, |row| {
            format!("{:.2}", row as f64 / STEPS as f64)
        });
        let _ =
            writeln!(out, "\n k   recall   with bands   precision   in {} pages", number(corpus));
        for k in 0..=MAX_DISTANCE as usize {
            let (precision, later) = self.precision(k, corpus);
            let either = self.by_either.get(k).copied().unwrap_or(0);
            let _ = writeln!(
                out,
                "{k:>2}   {:>6.3}   {:>10.3}   {precision:>9.3}   {later:>8.3}",
                self.recall(Self::within(&self.alike, k)),
                self.recall(either)
            );
        }
        out.push('\n');
        let advised = alike >= FEWEST;
        if advised {
            self.advise(&mut out, corpus);
        } else {
            let _ = writeln!(
                out,
                "only {}: too few to advise by; give more pages, or pages of one site",
                counted(alike, "alike pair")
            );
        }
        let k = self.distance(corpus).filter(|_| advised).map_or(Policy::default().distance, |k| {
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
        let _ = match self.distance(corpus) {
            Some(k) => {
                writeln!(out, "--policy simhash: --distance {k} (99 in 100 right or better)")
            }
            None => writeln!(
                out,
                "--policy simhash: not for these pages, even equal fingerprints are often others"
            ),
        };
        let _ = writeln!(
            out,
            "default policy: --similarity {:.2} sorts most pairs right; the default is {}",
            self.similarity(),
            Policy::default().similarity
        );
    }

    fn json(&self, corpus: u64) -> serde_json::Value {
        let (alike, other) = self.total();
        let rows: Vec<serde_json::Value> = (0..=MAX_DISTANCE as usize)
            .map(|k| {
                let (precision, later) = self.precision(k, corpus);
                json!({
                    "distance": k, "recall": self.recall(Self::within(&self.alike, k)), "precision": precision,
                    "precision_in_corpus": later, "recall_with_bands": self.recall(self.by_either.get(k).copied().unwrap_or(0)),
                })
            })
            .collect();
        json!({
            "pages": self.pages, "without_text": self.without, "unreadable": self.unreadable, "corpus": corpus,
            "alike_pairs": alike, "other_pairs": other, "alike_by_distance": self.alike, "others_by_distance": self.other,
            "alike_by_similarity": self.alike_by_similarity, "others_by_similarity": self.other_by_similarity,
            "alike_by_band": self.by_band, "by_distance": rows,
            "advice": (alike >= FEWEST).then(|| {
                json!({"distance": self.distance(corpus), "similarity": self.similarity()})
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

#[cfg(test)]
mod tests {
    use super::*;

    fn page(range: std::ops::Range<u64>, bits: u64) -> Page {
        let shingles: HashSet<u64> = range.map(hapax_dedup::mix64).collect();
        let sketch = Sketch::from_hashes(shingles.iter().copied()).unwrap();
        Page { fingerprint: Fingerprint::from_bits(bits), sketch, shingles }
    }

    #[test]
    fn recall_precision_and_advice_are_those_of_the_pairs() {
        // Two alike at distance 2, two alike at 5, all others far away.
        let mut pages = vec![
            page(0..100, 0),
            page(5..105, 0b11),
            page(1000..1100, u64::MAX),
            page(1005..1105, u64::MAX ^ 0b11111),
        ];
        let mut measured = Measured { pages: 4, ..Measured::default() };
        measured.compare(&pages);
        assert_eq!(measured.total(), (2, 4));
        let recall = |k| measured.recall(Measured::within(&measured.alike, k));
        assert_eq!([recall(1), recall(2), recall(5)], [0.0, 0.5, 1.0]);
        assert_eq!(measured.distance(4), Some(7));
        // One more page, another text by its shingles, with a fingerprint at distance 4.
        pages.push(page(5000..5100, 0b1111));
        let mut measured = Measured { pages: 5, ..Measured::default() };
        measured.compare(&pages);
        assert_eq!(measured.precision(4, 5), (1.0 / 3.0, 1.0 / 3.0));
        assert!(measured.precision(4, 500).1 < 0.01);
        assert_eq!(measured.distance(5), Some(1), "at 2 the new page is as near as the copy");
        assert!((0.3..0.9).contains(&measured.similarity()));
    }
}
