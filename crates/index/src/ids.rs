//! Collects the numbers of matching pages without reading them.

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::fastfield::Column;
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};

/// A collector of the field `id`.
pub(crate) struct Ids;

pub(crate) struct SegmentIds {
    column: Column<u64>,
    found: Vec<u64>,
}

impl Collector for Ids {
    type Fruit = Vec<u64>;
    type Child = SegmentIds;

    fn for_segment(
        &self,
        _: SegmentOrdinal,
        segment: &SegmentReader,
    ) -> tantivy::Result<SegmentIds> {
        Ok(SegmentIds { column: segment.fast_fields().u64("id")?, found: Vec::new() })
    }

    fn requires_scoring(&self) -> bool {
        false
    }

    fn merge_fruits(&self, parts: Vec<Vec<u64>>) -> tantivy::Result<Vec<u64>> {
        Ok(parts.concat())
    }
}

impl SegmentCollector for SegmentIds {
    type Fruit = Vec<u64>;

    fn collect(&mut self, document: DocId, _: Score) {
        self.found.extend(self.column.first(document));
    }

    fn harvest(self) -> Vec<u64> {
        self.found
    }
}
