//! A difference in words for a person.

use super::{Difference, Part, PartKind, Words};

/// Parts of one kind that are quoted.
const QUOTED: usize = 3;
/// Words of a part that are quoted.
const MAX_QUOTED: usize = 8;

/// Returns what differs, a line for each kind; most telling first. `names` are those of the two texts in a sentence.
pub fn phrases(
    difference: &Difference,
    [first, second]: [&Words; 2],
    names: [&str; 2],
) -> Vec<String> {
    if difference.parts.is_empty() {
        let cut = if difference.cut { ", as far as it is read" } else { "" };
        return vec![format!("the same text{cut}")];
    }
    let mut lines = Vec::new();
    let substitutions = difference.substitutions(first, second);
    for one in substitutions.iter().take(QUOTED) {
        lines.push(format!("\"{}\" -> \"{}\" in {} places", one.first, one.second, one.times));
    }
    for (kind, what) in [
        (PartKind::Number, "other numbers".to_owned()),
        (PartKind::Words, "other words".to_owned()),
        (PartKind::Added, format!("only in {}", names[1])),
        (PartKind::Removed, format!("only in {}", names[0])),
        (PartKind::Moved, "moved".to_owned()),
        (PartKind::Reference, "other numbers of sections".to_owned()),
        (PartKind::Counter, "other counters".to_owned()),
        (PartKind::Date, "other dates or times".to_owned()),
    ] {
        let parts: Vec<&Part> = difference.parts.iter().filter(|part| part.kind == kind).collect();
        if parts.is_empty() {
            continue;
        }
        let words: usize = parts.iter().map(|part| part.first.len().max(part.second.len())).sum();
        let quoted: Vec<String> =
            parts.iter().take(QUOTED).map(|part| quote(part, first, second)).collect();
        let more = if parts.len() > QUOTED { ", ..." } else { "" };
        let words = if words == 1 { "1 word".to_owned() } else { format!("{words} words") };
        lines.push(format!("{what}, {words}: {}{more}", quoted.join(", ")));
    }
    if difference.cut {
        lines.push("the texts are longer than is compared".to_owned());
    }
    lines
}

fn quote(part: &Part, first: &Words, second: &Words) -> String {
    let side = |words: &Words, range: &std::ops::Range<usize>| {
        let end = range.end.min(range.start + MAX_QUOTED);
        let more = if end < range.end { " ..." } else { "" };
        format!("\"{}{more}\"", words.phrase(range.start..end))
    };
    match (part.first.is_empty(), part.second.is_empty()) {
        (false, true) => side(first, &part.first),
        (true, _) => side(second, &part.second),
        (false, false) => format!("{} -> {}", side(first, &part.first), side(second, &part.second)),
    }
}
