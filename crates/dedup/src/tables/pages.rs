//! Lines that grow by pages.

use super::line::Line;
use super::simd::prefetch;

/// Lines in pages: but for the first page none moves, and what there is room for is not touched before it is used.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    pages: Vec<Vec<Line>>,
    pub(super) len: usize,
}

impl Pages {
    /// Lines of a page, as a power of two: one MiB.
    const BITS: u32 = 14;
    const LINES: usize = 1 << Self::BITS;

    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> Option<&Line> {
        self.pages.get(at >> Self::BITS)?.get(at % Self::LINES)
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Line> {
        self.pages.get_mut(at >> Self::BITS)?.get_mut(at % Self::LINES)
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, at: usize) {
        if let Some(page) = self.pages.get(at >> Self::BITS) {
            prefetch(page, at % Self::LINES);
        }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, line: Line) {
        if self.len.is_multiple_of(Self::LINES) {
            // The first one grows by itself: most tables are small.
            let room = if self.len == 0 { 0 } else { Self::LINES };
            self.pages.push(Vec::with_capacity(room));
        }
        if let Some(page) = self.pages.last_mut() {
            page.push(line);
        }
        self.len += 1;
    }
}
