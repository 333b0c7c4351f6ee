//! Every byte of a segment against its checksum, and its tables against its records.

use super::Segment;
use super::blocks::Checked;
use crate::error::Result;
use crate::store::columns::INDEXED;

impl Segment {
    /// Checks all blocks, that the tables hold exactly the documents they should, and that the
    /// lists by key and digest lack none. What the lists by band hold is not looked at.
    ///
    /// # Complexity
    /// Reads the file once in order, and looks each document up.
    pub(crate) fn check(&self) -> Result<()> {
        self.data.verify()?;
        let wrong = |data: &Checked, what| Err(data.corrupt(0, what));
        let mut indexed = 0u64;
        for row in 0..self.footer.rows as usize {
            let document = self.row(row)?;
            if !self.rows_of_key(document.key)?.contains(&(row as u32)) {
                return wrong(&self.data, "a document is missing in the table of keys");
            }
            if document.flags & INDEXED == 0 {
                continue;
            }
            indexed += 1;
            let place = self.tables.rank_checked(document.fingerprint, &self.data)?;
            let mut listed = false;
            if let Some(place) = place {
                self.documents_at(place, |other| listed |= other == row as u32)?;
            }
            if !listed {
                return wrong(&self.data, "a document is missing in the list of its fingerprint");
            }
            if let Some(digest) = document.digest
                && !self.rows_of_digest(digest)?.contains(&(row as u32))
            {
                return wrong(&self.data, "a document is missing in the table of digests");
            }
        }
        let mut listed = 0u64;
        for place in 0..self.tables.len() {
            self.documents_at(place, |_| listed += 1)?;
        }
        if listed != indexed {
            return wrong(&self.data, "the lists name other documents than the columns");
        }
        // Every table holds the fingerprints of the first, each in the bucket of its own bits.
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
                return wrong(&self.data, "two tables hold different fingerprints");
            }
        }
        Ok(())
    }
}
