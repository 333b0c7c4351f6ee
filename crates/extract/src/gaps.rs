//! Lists within a text, such as the ingredients of a recipe. Their entries have no sentences, so each by itself is unlike
//! the text; but text is before and after them.

/// Minimum mean chance of the blocks of a gap, 0 to 1.
const LEAST_CHANCE: f64 = 0.35;
/// Numbers of blocks of a gap. A single one is often a caption.
const BLOCKS: std::ops::RangeInclusive<usize> = 2..=60;

/// What a block is to the gap around it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InGap {
    /// Not shown, so the gap goes on behind it.
    Hidden,
    /// Dropped because it is unlike text, with its chance to be text, and whether it is an entry of a list, a cell or a heading.
    Unlike { chance: f64, is_entry: bool },
    /// Dropped for its links, its names, or its place.
    Other,
}

/// Keeps the dropped blocks between two kept ones if each of them is unlike text, their chance is large enough on average,
/// and at least half of them are entries. Bylines and labels between paragraphs are no entries.
///
/// # Complexity
/// Linear.
pub(crate) fn keep_gaps(in_gap: impl Fn(usize) -> InGap, keep: &mut [bool]) {
    let mut before = None;
    for at in 0..keep.len() {
        if keep.get(at) != Some(&true) {
            continue;
        }
        let gap = before.map_or(at, |before| before + 1)..at;
        if before.is_some()
            && let Some(blocks) = list_in(gap, &in_gap)
        {
            for at in blocks {
                keep.get_mut(at).into_iter().for_each(|keep| *keep = true);
            }
        }
        before = Some(at);
    }
}

/// Returns the shown blocks of a gap if they are a list within a text.
fn list_in(gap: std::ops::Range<usize>, in_gap: impl Fn(usize) -> InGap) -> Option<Vec<usize>> {
    let (mut blocks, mut chances, mut entries) = (Vec::new(), 0.0, 0);
    for at in gap {
        match in_gap(at) {
            InGap::Hidden => {}
            InGap::Unlike { chance, is_entry } => {
                blocks.push(at);
                chances += chance;
                entries += usize::from(is_entry);
            }
            InGap::Other => return None,
        }
    }
    let enough = BLOCKS.contains(&blocks.len())
        && chances >= LEAST_CHANCE * blocks.len() as f64
        && 2 * entries >= blocks.len();
    enough.then_some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_kept_between_kept_blocks_only() {
        for (chances, kinds, expected) in [
            ("9449", "kuuk", "1111"),
            ("9349", "kuuk", "1111"),
            ("9339", "kuuk", "1001"),
            ("9449", "kuok", "1001"),
            ("949", "kuk", "101"),
            ("449", "uuk", "001"),
            ("944", "kuu", "100"),
            ("944944", "kuukuu", "111100"),
            ("94949", "kuhuk", "11011"),
            ("949", "khk", "101"),
            ("9449", "kpuk", "1111"),
            ("94449", "kppuk", "10001"),
        ] {
            let at = |text: &str, at: usize| *text.as_bytes().get(at).unwrap();
            let mut keep: Vec<bool> = kinds.bytes().map(|kind| kind == b'k').collect();
            let in_gap = |block: usize| match at(kinds, block) {
                b'u' | b'p' => InGap::Unlike {
                    chance: f64::from(at(chances, block) - b'0') / 10.0,
                    is_entry: at(kinds, block) == b'u',
                },
                b'h' => InGap::Hidden,
                _ => InGap::Other,
            };
            keep_gaps(in_gap, &mut keep);
            let kept: String = keep.iter().map(|keep| if *keep { '1' } else { '0' }).collect();
            assert_eq!(kept, expected, "{chances}");
        }
        let mut long = vec![false; *BLOCKS.end() + 3];
        *long.first_mut().unwrap() = true;
        *long.last_mut().unwrap() = true;
        keep_gaps(|_| InGap::Unlike { chance: 1.0, is_entry: true }, &mut long);
        assert_eq!(long.iter().filter(|keep| **keep).count(), 2);
    }
}
