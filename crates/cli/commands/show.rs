//! `crawl duplicates show`: a discarded page and the one that was kept, line by line.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::Result;
use hapax_extract::jieba;
use hapax_index::Searcher;
use url::Url;

use super::duplicates::read_log;
use crate::crawl::{Discarded, stored_text};
use crate::data::must_exist;
use crate::exit::{COMPLETE, USAGE, coded};
use crate::output::{colour, line};

pub(super) fn run(page: &str, data: &Path) -> Result<u8> {
    must_exist(data)?;
    let id = page.parse::<u64>().ok();
    let mut found = None;
    for entry in read_log(data)? {
        let entry = entry?;
        if Some(entry.id) == id || entry.url == page {
            found = Some(entry);
            break;
        }
    }
    let Some(entry) = found else {
        return Err(coded(
            USAGE,
            format!("{page} is no discarded page: crawl duplicates list shows their ids and URLs"),
        ));
    };
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "discarded  {}  (id {}, {})",
        line(&entry.url, 150),
        entry.id,
        line(&entry.time, 30)
    )?;
    writeln!(out, "kept       {}", line(&entry.of.url, 150))?;
    writeln!(out, "why        {}", reason(&entry))?;
    if !entry.title.is_empty() {
        writeln!(out, "title      {}", line(&entry.title, 150))?;
    }
    for (name, list) in [("shared", &entry.shared), ("different", &entry.different)] {
        if !list.is_empty() {
            let list: Vec<String> = list.iter().map(|s| format!("\"{}\"", line(s, 60))).collect();
            writeln!(out, "{name:<10} {}", list.join(", "))?;
        }
    }
    if entry.level.as_deref() == Some("text") {
        // The archive keeps the head of an equal page only: there is nothing to compare.
        writeln!(out, "\nThe two texts are equal.")?;
        return Ok(COMPLETE);
    }
    let (Some(own), Some(other)) = (own_text(&entry, data), kept_text(&entry, data)) else {
        if entry.kind != "alias" {
            writeln!(out, "\nThe texts were not kept (--no-warc).")?;
        }
        return Ok(COMPLETE);
    };
    let ansi = colour(std::io::stdout().is_terminal());
    writeln!(out, "\n- only in the page that was kept, + only in the discarded one:\n")?;
    print_lines(&mut out, &other, &own, ansi)?;
    Ok(COMPLETE)
}

fn reason(entry: &Discarded) -> String {
    let similarity = entry.similarity.map_or(String::new(), |similarity| {
        let asked = entry
            .similarity_threshold
            .map_or(String::new(), |t| format!(" (at least {t} was asked for)"));
        format!(", similarity {similarity:.2}{asked}")
    });
    match (entry.kind.as_str(), entry.level.as_deref()) {
        ("alias", _) => "it only leads to the other page".to_owned(),
        ("canonical", _) => format!("it names the other page as its canonical address{similarity}"),
        (_, Some("text")) => "its text is equal".to_owned(),
        (_, Some("sketch")) => format!(
            "proposed by sketch band {}{similarity}; the fingerprints differ in {} bits",
            entry.table.unwrap_or(0),
            entry.distance.unwrap_or(0),
        ),
        _ => format!(
            "proposed by Hamming table {}, distance {} of at most {}{similarity}",
            entry.table.unwrap_or(0),
            entry.distance.unwrap_or(0),
            entry.threshold.unwrap_or(0),
        ),
    }
}

fn own_text(entry: &Discarded, data: &Path) -> Option<String> {
    stored_text(&data.join("pages"), entry.warc.as_deref()?, &Url::parse(&entry.url).ok()?)
}

fn kept_text(entry: &Discarded, data: &Path) -> Option<String> {
    let url = Url::parse(&entry.of.url).ok()?;
    let from_log = || entry.of.warc.clone();
    let from_index = || {
        let searcher = Searcher::open(&data.join("index"), jieba).ok()?;
        searcher.page(entry.of.id?).ok()?.map(|hit| hit.stored_at)
    };
    let place = from_log().or_else(from_index)?;
    stored_text(&data.join("pages"), &place, &url)
}

/// Lines of context around a change.
const CONTEXT: usize = 1;

/// A diff by lines: what is common is cut short, what differs is shown whole.
fn print_lines(out: &mut impl Write, old: &str, new: &str, ansi: bool) -> std::io::Result<()> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let pairs = common_lines(&old, &new);
    let (red, green, dim, reset) =
        if ansi { ("\x1b[31m", "\x1b[32m", "\x1b[2m", "\x1b[0m") } else { ("", "", "", "") };
    let (mut i, mut j) = (0, 0);
    let mut common: Vec<&str> = Vec::new();
    let mut changed = false;
    for (a, b) in pairs.into_iter().chain([(old.len(), new.len())]) {
        if i < a || j < b {
            print_common(out, &common, changed, true, dim, reset)?;
            common.clear();
            changed = true;
            for text in old.get(i..a).unwrap_or_default() {
                writeln!(out, "{red}- {}{reset}", line(text, 400))?;
            }
            for text in new.get(j..b).unwrap_or_default() {
                writeln!(out, "{green}+ {}{reset}", line(text, 400))?;
            }
        }
        if let Some(text) = old.get(a) {
            common.push(text);
        }
        (i, j) = (a + 1, b + 1);
    }
    print_common(out, &common, changed, false, dim, reset)
}

fn print_common(
    out: &mut impl Write,
    lines: &[&str],
    after_change: bool,
    before_change: bool,
    dim: &str,
    reset: &str,
) -> std::io::Result<()> {
    let head = if after_change { CONTEXT.min(lines.len()) } else { 0 };
    let tail = if before_change { CONTEXT.min(lines.len() - head) } else { 0 };
    let hidden = lines.len() - head - tail;
    for text in lines.get(..head).unwrap_or_default() {
        writeln!(out, "  {}", line(text, 110))?;
    }
    if hidden > 0 {
        writeln!(out, "{dim}  ... {hidden} equal lines{reset}")?;
    }
    for text in lines.get(lines.len() - tail..).unwrap_or_default() {
        writeln!(out, "  {}", line(text, 110))?;
    }
    Ok(())
}

/// Pairs of equal lines in order: lines that stand once on both sides, the longest ascending run of
/// them (patience diff).
fn common_lines(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let mut places: HashMap<&str, (usize, usize, usize, usize)> = HashMap::new();
    for (index, text) in old.iter().enumerate() {
        let entry = places.entry(text).or_default();
        *entry = (entry.0 + 1, index, entry.2, entry.3);
    }
    for (index, text) in new.iter().enumerate() {
        if let Some(entry) = places.get_mut(text) {
            *entry = (entry.0, entry.1, entry.2 + 1, index);
        }
    }
    let mut unique: Vec<(usize, usize)> =
        places.values().filter(|p| p.0 == 1 && p.2 == 1).map(|p| (p.1, p.3)).collect();
    unique.sort_unstable();
    longest_ascending(&unique)
}

fn longest_ascending(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut tails: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; pairs.len()];
    let second = |index: usize| pairs.get(index).map_or(0, |pair| pair.1);
    for index in 0..pairs.len() {
        let at = tails.partition_point(|&tail| second(tail) < second(index));
        if let Some(slot) = before.get_mut(index) {
            *slot = at.checked_sub(1).and_then(|previous| tails.get(previous).copied());
        }
        tails.truncate(tails.len().max(at));
        match tails.get_mut(at) {
            Some(slot) => *slot = index,
            None => tails.push(index),
        }
    }
    let mut chain = Vec::new();
    let mut next = tails.last().copied();
    while let Some(index) = next {
        chain.extend(pairs.get(index));
        next = before.get(index).copied().flatten();
    }
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_diff_shows_what_differs_and_counts_what_does_not() {
        let old = "a\nb\nc\nd\ne\nf\ng";
        let new = "a\nb\nc\nX\ne\nf\ng";
        let mut out = Vec::new();
        print_lines(&mut out, old, new, false).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "  ... 2 equal lines\n  c\n- d\n+ X\n  e\n  ... 2 equal lines\n");
    }
}
