//! A list that grows by pages.

use super::simd::prefetch;

/// A list in pages of 2<sup>`BITS`</sup> items. Items never move, except in the first page, and unused capacity is at
/// most one page.
#[derive(Clone, Debug)]
pub(crate) struct Pages<T, const BITS: u32> {
    pages: Vec<Vec<T>>,
    len: usize,
}

impl<T, const BITS: u32> Default for Pages<T, BITS> {
    fn default() -> Self {
        Self { pages: Vec::new(), len: 0 }
    }
}

impl<T, const BITS: u32> Pages<T, BITS> {
    const ITEMS: usize = 1 << BITS;

    #[inline(always)]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        self.pages.get(at >> BITS)?.get(at % Self::ITEMS)
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.pages.get_mut(at >> BITS)?.get_mut(at % Self::ITEMS)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.pages.iter_mut().flatten()
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, at: usize) {
        if let Some(page) = self.pages.get(at >> BITS) {
            prefetch(page, at % Self::ITEMS);
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        if self.len.is_multiple_of(Self::ITEMS) {
            // The first page grows by itself, because most tables are small.
            let room = if self.len == 0 { 0 } else { Self::ITEMS };
            self.pages.push(Vec::with_capacity(room));
        }
        if let Some(page) = self.pages.last_mut() {
            page.push(item);
        }
        self.len += 1;
    }

    /// Returns the bytes, including the capacity of the last page.
    pub(crate) fn bytes(&self) -> usize {
        let last = self.pages.last().map_or(0, Vec::capacity);
        (self.pages.len().saturating_sub(1) * Self::ITEMS + last) * size_of::<T>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paged_items_keep_their_index_and_waste_at_most_one_page() {
        let mut pages = Pages::<u32, 4>::default();
        assert_eq!((pages.len(), pages.bytes(), pages.get(0)), (0, 0, None));
        for item in 0..100 {
            pages.push(item);
            let needed = pages.len() * 4;
            assert!((needed..=needed + 16 * 4).contains(&pages.bytes()), "{item}");
        }
        *pages.get_mut(17).unwrap() = 1700;
        assert_eq!(pages.get(17), Some(&1700));
        *pages.get_mut(17).unwrap() = 17;
        assert_eq!(pages.get(100), None);
        assert!(pages.iter_mut().map(|item| *item).eq(0..100));
    }
}
