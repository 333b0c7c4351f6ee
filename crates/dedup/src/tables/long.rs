//! A bucket in one block of memory.

use super::line::Form;

/// Whole values in one block: values that share a lead by accident or attack.
#[derive(Clone, Debug, Default)]
pub(super) struct Long {
    values: Vec<u64>,
    /// Empty without numbers.
    numbers: Vec<u32>,
}

impl Long {
    pub(super) fn push(&mut self, form: Form, value: u64, number: u32) {
        if self.values.len() == self.values.capacity() {
            // Doubling would leave a quarter unused on average.
            let more = (self.values.len() / 4).max(32);
            self.values.reserve_exact(more);
            self.numbers.reserve_exact(if form.is_numbered() { more } else { 0 });
        }
        self.values.push(value);
        if form.is_numbered() {
            self.numbers.push(number);
        }
    }

    pub(super) fn find(&self, value: u64) -> Option<u32> {
        let at = self.values.iter().position(|stored| *stored == value)?;
        Some(self.numbers.get(at).copied().unwrap_or(0))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.from(0)
    }

    /// Iterates from a place on, without a search.
    pub(super) fn from(&self, place: usize) -> impl Iterator<Item = (u64, u32)> + '_ {
        let numbers = self.numbers.get(place..).unwrap_or_default();
        let numbers = numbers.iter().copied().chain(std::iter::repeat(0));
        self.values.get(place..).unwrap_or_default().iter().copied().zip(numbers)
    }

    pub(super) const fn bytes(&self) -> usize {
        size_of::<Self>() + 8 * self.values.capacity() + 4 * self.numbers.capacity()
    }

    pub(super) const fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn values(&self) -> &[u64] {
        &self.values
    }
}
