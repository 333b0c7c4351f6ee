//! Which name was meant.

/// A guess is no further from what was written.
const MAX_EDITS: usize = 3;

/// The name that is nearly the one that was written.
pub(crate) fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let best = known.map(|name| (edit_distance(wrong, name), name)).min();
    best.filter(|(edits, _)| *edits <= MAX_EDITS && 2 * edits < wrong.len()).map(|(_, name)| name)
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (slot, y) in row.iter_mut().skip(1).zip(&b) {
            let substitute = diagonal + usize::from(x != *y);
            diagonal = *slot;
            left = substitute.min(left + 1).min(*slot + 1);
            *slot = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}
