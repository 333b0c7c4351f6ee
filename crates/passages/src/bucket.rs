//! Places with the same anchor, sorted by the words from the anchor on.

use crate::error::Result;
use crate::words::Words;

/// Words that are in memory at once for one step of the sort, if each place needs few: 16 MiB.
const STEP_WORDS: usize = 2 << 20;
const FEWEST_WORDS: usize = 8;
const MOST_WORDS: usize = 1024;
const FIRST_WORDS: usize = 64;
/// Words that are read for the places of one anchor: 64 MiB, and 8 KiB for each place. Only texts that repeat
/// themselves in long cycles need more.
const MAX_READ: usize = 8 << 20;
const MAX_READ_EACH: usize = 1024;

/// A place of an anchor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) document: u32,
    pub(crate) start: u32,
    /// It is the choice of the windows that begin from `near` to `far` words before it.
    pub(crate) near: u32,
    pub(crate) far: u32,
}

/// Sorted members with what the search for repeats reads.
#[derive(Debug)]
pub(crate) struct Bucket {
    pub(crate) members: Vec<Member>,
    /// For each member, its number of equal words with the member before.
    pub(crate) common: Vec<u32>,
    /// The words before each member's anchor, the nearest first; `width` for each, fewer are `None`.
    before: Vec<Option<u64>>,
    width: usize,
    /// Runs of members that have more words in common than were read.
    pub(crate) cut: u64,
}

impl Bucket {
    /// Sorts members, and reads the `width` words before each.
    ///
    /// # Complexity
    /// Reads the words that each member shares with its neighbours once, and up to 1,024 more. At most 16 MiB, or eight
    /// words a member, are in memory.
    pub(crate) fn new(words: &Words, mut members: Vec<Member>, width: usize) -> Result<Self> {
        let mut common = vec![0; members.len()];
        let mut buffers = Buffers::default();
        let mut open = vec![(0, members.len(), 0)];
        let (mut budget, mut cut) = (MAX_READ + MAX_READ_EACH * members.len(), 0);
        while let Some((from, to, depth)) = open.pop() {
            let Some(range) = members.get_mut(from..to).filter(|range| range.len() > 1) else {
                continue;
            };
            if budget == 0 {
                cut += 1;
                let rest = common.get_mut(from + 1..to).unwrap_or_default();
                rest.fill(u32::try_from(depth).unwrap_or(u32::MAX));
                continue;
            }
            let most = if depth == 0 { FIRST_WORDS } else { MOST_WORDS };
            let step = (STEP_WORDS / range.len()).clamp(FEWEST_WORDS, most);
            let chunks = buffers.chunks(words, range, depth, step)?;
            budget = budget.saturating_sub(chunks.0.words.len());
            let mut order: Vec<usize> = (0..range.len()).collect();
            // Stable: equal ones stay in the order of documents.
            order.sort_by(|a, b| chunks.of(*a).cmp(chunks.of(*b)));
            let sorted: Vec<Member> =
                order.iter().filter_map(|at| range.get(*at).copied()).collect();
            range.copy_from_slice(&sorted);
            let mut equal_from = from;
            for (at, two) in (from + 1..).zip(order.windows(2)) {
                let &[one, other] = two else { continue };
                let (one, other) = (chunks.of(one), chunks.of(other));
                let equal = one.iter().zip(other).take_while(|(a, b)| a == b).count();
                if let Some(common) = common.get_mut(at) {
                    *common = u32::try_from(depth + equal).unwrap_or(u32::MAX);
                }
                if equal < step {
                    open.push((equal_from, at, depth + step));
                    equal_from = at;
                }
            }
            open.push((equal_from, to, depth + step));
            // Only members with a whole chunk in common are read further.
            open.retain(|(from, to, _)| to - from > 1);
        }
        let before = buffers.before(words, &members, width)?;
        Ok(Self { members, common, before, width, cut })
    }

    /// Returns the word at `distance` words before the anchor, from 1; `None` before the document's first.
    pub(crate) fn before(&self, member: usize, distance: usize) -> Option<u64> {
        self.before.get(member * self.width + distance.checked_sub(1)?).copied().flatten()
    }
}

#[derive(Debug, Default)]
struct Buffers {
    bytes: Vec<u8>,
    words: Vec<u64>,
    ends: Vec<usize>,
}

struct Chunks<'b>(&'b Buffers);

impl Chunks<'_> {
    fn of(&self, at: usize) -> &[u64] {
        let start = at.checked_sub(1).and_then(|before| self.0.ends.get(before)).copied();
        let end = self.0.ends.get(at).copied().unwrap_or(0);
        self.0.words.get(start.unwrap_or(0)..end).unwrap_or_default()
    }
}

impl Buffers {
    fn chunks(
        &mut self,
        words: &Words,
        members: &[Member],
        depth: usize,
        step: usize,
    ) -> Result<Chunks<'_>> {
        self.words.clear();
        self.ends.clear();
        for member in members {
            let from = member.start as usize + depth;
            words.read(member.document, from, from + step, &mut self.bytes, &mut self.words)?;
            self.ends.push(self.words.len());
        }
        Ok(Chunks(self))
    }

    fn before(
        &mut self,
        words: &Words,
        members: &[Member],
        width: usize,
    ) -> Result<Vec<Option<u64>>> {
        let mut before = Vec::with_capacity(members.len() * width);
        for (row, member) in (1..).zip(members) {
            // No repeat of this anchor begins further before it.
            let wanted = width.min(member.far as usize + 1);
            let start = member.start as usize;
            self.words.clear();
            let from = start.saturating_sub(wanted);
            words.read(member.document, from, start, &mut self.bytes, &mut self.words)?;
            before.extend(self.words.iter().rev().map(|word| Some(*word)));
            before.resize(row * width, None);
        }
        Ok(before)
    }
}
