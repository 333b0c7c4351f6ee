//! Checks every byte of a segment against checksums, and the tables against the records.

use super::Segment;
use super::blocks::Checked;
use super::postings::Postings;
use crate::Fingerprint;
use crate::error::Result;
use crate::row::INDEXED;
use crate::store::keys::key_hash;
use crate::store::memtable::digest_key;

impl Segment {
    /// Checks all blocks, that the tables have exactly the indexed documents, and that the lists by key and digest
    /// are complete. The lists by band are checked by checksum only.
    ///
    /// # Complexity
    /// Reads the file once in order, and each list once, even if several documents share it.
    pub(crate) fn check(&self) -> Result<()> {
        self.data.verify()?;
        let wrong = |data: &Checked, what| Err(data.corrupt(0, what));
        let keyed = self.listed(&self.footer.by_key, |row| Ok(Some(key_hash(self.key(row)?))))?;
        let columns = self.columns_untouched();
        let digested = self.listed(&self.footer.by_digest, |row| {
            let indexed = columns.flags(row) & INDEXED != 0;
            Ok(columns.digest(row).filter(|_| indexed).map(digest_key))
        })?;
        let found = self.found()?;
        for row in 0..columns.rows {
            let document = self.row(row)?;
            if !keyed.contains(row) {
                return wrong(&self.data, "a document is missing in the table of keys");
            }
            if document.flags & INDEXED == 0 {
                continue;
            }
            if !found.contains(row) {
                return wrong(&self.data, "a document is missing in the list of its fingerprint");
            }
            if document.digest.is_some() && !digested.contains(row) {
                return wrong(&self.data, "a document is missing in the table of digests");
            }
        }
        // Every table has the fingerprints of the first, each in the bucket of its bits.
        let sum = |bits: u64| (1u64, crate::mix64(bits));
        let mut expected = None;
        for number in 0..self.layout().leads().len() {
            let Some(table) = self.tables.table(number) else { continue };
            let mut found = (0u64, 0u64);
            for (bucket, bits) in table.placed() {
                if table.shape.bucket_of(bits) != bucket {
                    return wrong(&self.data, "a fingerprint is in the wrong bucket of a table");
                }
                let (one, hash) = sum(bits);
                found = (found.0 + one, found.1.wrapping_add(hash));
            }
            if *expected.get_or_insert(found) != found {
                return wrong(&self.data, "two tables contain different fingerprints");
            }
        }
        Ok(())
    }

    /// Returns the rows in a set of lists, after comparing each row's key with the key of its list.
    fn listed(
        &self,
        lists: &Postings,
        key_of: impl Fn(usize) -> Result<Option<u32>>,
    ) -> Result<Rows> {
        let mut rows = Rows::new(self.footer.rows);
        let mut wrong = Ok(());
        lists.each(&self.data, |key, row| {
            let right = || Ok(rows.holds(row) && key_of(row as usize)? == Some(key));
            match right() {
                // A duplicate, or a row in the wrong list.
                Ok(right) if right && rows.add(row) => {}
                Ok(_) => wrong = Err(self.data.corrupt(lists.entries.start, OTHERS)),
                Err(error) => wrong = Err(error),
            }
        })?;
        wrong.map(|()| rows)
    }

    /// Returns the rows that the tables lead to, after comparing each row's fingerprint.
    fn found(&self) -> Result<Rows> {
        let mut rows = Rows::new(self.footer.rows);
        let columns = self.columns_untouched();
        let others = || Err(self.data.corrupt(0, OTHERS));
        let Some(table) = self.tables.table(0) else { return Ok(rows) };
        for (place, (_, bits)) in table.placed().enumerate() {
            let fingerprint = Fingerprint::from_bits(bits);
            if self.tables.rank_checked(fingerprint, |range| self.data.touch(range))? != Some(place)
            {
                return others();
            }
            let mut right = true;
            for row in self.documents_at(place)? {
                let row = row?;
                let number = row as usize;
                right &= rows.holds(row)
                    && columns.flags(number) & INDEXED != 0
                    && columns.fingerprint(number) == fingerprint
                    && rows.add(row);
            }
            if !right {
                return others();
            }
        }
        Ok(rows)
    }
}

const OTHERS: &str = "the lists name other documents than the columns";

struct Rows {
    words: Vec<u64>,
    end: u64,
}

impl Rows {
    fn new(end: u64) -> Self {
        Self { words: vec![0; end.div_ceil(64) as usize], end }
    }

    fn holds(&self, row: u32) -> bool {
        u64::from(row) < self.end
    }

    fn contains(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Adds a row. Returns `false` if it is already in the set.
    fn add(&mut self, row: u32) -> bool {
        let bit = 1 << (row % 64);
        let Some(word) = self.words.get_mut(row as usize / 64) else { return false };
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }
}
