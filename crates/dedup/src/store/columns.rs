//! Documents stored by columns. Memtable and segment use the same columns, so flush and merge copy bytes.

use crate::record::DocId;
use crate::row::{HAS_DIGEST, HAS_SKETCH, Row, STRONG};
use crate::{Fingerprint, Numbers, SKETCH_SIZE, Sketch};

/// In the column `Of`: the document is not a duplicate.
const NONE: u64 = u64::MAX;

/// The attributes of fixed width, in file order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    Fingerprint = 0,
    Flags = 1,
    Tokens = 2,
    Of = 3,
    Site = 4,
    Names = 5,
    Time = 6,
    Digest = 7,
    Sketch = 8,
    KeyEnd = 9,
    /// The document's number minus the segment's first; omitted if the numbers have no gaps.
    Id = 10,
    /// Since format 3.
    Numbers = 11,
}

pub(crate) const COLUMNS_OF_2: usize = 11;

pub(crate) const COLUMNS: [Column; 12] = [
    Column::Fingerprint,
    Column::Flags,
    Column::Tokens,
    Column::Of,
    Column::Site,
    Column::Names,
    Column::Time,
    Column::Digest,
    Column::Sketch,
    Column::KeyEnd,
    Column::Id,
    Column::Numbers,
];

impl Column {
    pub(crate) const fn width(self) -> usize {
        match self {
            Self::Flags => 1,
            Self::Tokens | Self::Id => 4,
            Self::Fingerprint | Self::Of | Self::Site | Self::Time | Self::KeyEnd => 8,
            Self::Names | Self::Digest | Self::Numbers => 16,
            Self::Sketch => SKETCH_SIZE,
        }
    }

    /// Returns the byte that fills a row of an omitted column.
    pub(crate) const fn filler(self) -> u8 {
        match self {
            Self::Tokens | Self::Of => 0xff,
            _ => 0,
        }
    }
}

/// Appends, and grows the buffer by a quarter instead of doubling it, so that a memtable takes little more than its
/// documents.
fn extend(out: &mut Vec<u8>, bytes: &[u8]) {
    if out.capacity() - out.len() < bytes.len() {
        out.reserve_exact((out.len() / 4).max(bytes.len()));
    }
    out.extend_from_slice(bytes);
}

/// The bytes of all columns of some documents. An omitted column is empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'a> {
    pub(crate) rows: usize,
    pub(crate) bytes: [&'a [u8]; COLUMNS.len()],
    pub(crate) keys: &'a [u8],
}

impl<'a> Columns<'a> {
    pub(crate) fn bytes(&self, column: Column) -> &'a [u8] {
        self.bytes.get(column as usize).copied().unwrap_or_default()
    }

    #[inline]
    fn field<const N: usize>(&self, column: Column, row: usize) -> [u8; N] {
        let fields = self.bytes(column).as_chunks::<N>().0;
        fields.get(row).copied().unwrap_or([column.filler(); N])
    }

    #[inline]
    pub(crate) fn fingerprint(&self, row: usize) -> Fingerprint {
        Fingerprint::from_bits(u64::from_le_bytes(self.field(Column::Fingerprint, row)))
    }

    #[inline]
    pub(crate) fn flags(&self, row: usize) -> u8 {
        let [flags] = self.field(Column::Flags, row);
        flags
    }

    pub(crate) fn time(&self, row: usize) -> u64 {
        u64::from_le_bytes(self.field(Column::Time, row))
    }

    pub(crate) fn digest(&self, row: usize) -> Option<[u8; 16]> {
        (self.flags(row) & HAS_DIGEST != 0).then(|| self.field(Column::Digest, row))
    }

    pub(crate) fn digest_of_kind(&self, row: usize, strong: bool) -> Option<[u8; 16]> {
        self.digest(row).filter(|_| (self.flags(row) & STRONG != 0) == strong)
    }

    pub(crate) fn sketch(&self, row: usize) -> Option<Sketch> {
        let has = self.flags(row) & HAS_SKETCH != 0;
        has.then(|| Sketch::from_bytes(self.field(Column::Sketch, row)))
    }

    pub(crate) fn names(&self, row: usize) -> [u64; 2] {
        let names = self.field::<16>(Column::Names, row);
        let (names, _) = names.as_chunks::<8>();
        [0, 1].map(|at| names.get(at).map_or(0, |name| u64::from_le_bytes(*name)))
    }

    pub(crate) fn of(&self, row: usize) -> Option<DocId> {
        let of = u64::from_le_bytes(self.field(Column::Of, row));
        (of != NONE).then_some(of)
    }

    pub(crate) fn key_range(&self, row: usize) -> std::ops::Range<usize> {
        let end = |row| u64::from_le_bytes(self.field(Column::KeyEnd, row)) as usize;
        let start = if row == 0 { 0 } else { end(row - 1) };
        start..end(row)
    }

    pub(crate) fn key(&self, row: usize) -> &'a [u8] {
        self.keys.get(self.key_range(row)).unwrap_or_default()
    }

    pub(crate) fn row(&self, row: usize) -> Row<'a> {
        Row {
            fingerprint: self.fingerprint(row),
            flags: self.flags(row),
            tokens: u32::from_le_bytes(self.field(Column::Tokens, row)),
            of: self.of(row),
            site: u64::from_le_bytes(self.field(Column::Site, row)),
            names: self.names(row),
            numbers: Numbers::from_bytes(self.field(Column::Numbers, row)),
            time: self.time(row),
            digest: self.digest(row),
            sketch: self.sketch(row),
            key: self.key(row),
        }
    }

    /// Returns the number of a row's document minus the segment's first.
    pub(crate) fn relative_id(&self, row: usize) -> u32 {
        if self.bytes(Column::Id).is_empty() {
            row as u32
        } else {
            u32::from_le_bytes(self.field(Column::Id, row))
        }
    }
}
impl Row<'_> {
    /// Appends the row as row number `rows`. A column stays empty while every row has its filler.
    pub(crate) fn push(
        &self,
        rows: usize,
        columns: &mut [Vec<u8>; COLUMNS.len()],
        keys: &mut Vec<u8>,
    ) {
        extend(keys, self.key);
        let mut put = |column: Column, bytes: &[u8]| {
            let Some(out) = columns.get_mut(column as usize) else { return };
            let filler = column.filler();
            if out.is_empty() && bytes.iter().all(|byte| *byte == filler) {
                return;
            }
            if out.is_empty() {
                out.resize(rows * column.width(), filler);
            }
            extend(out, bytes);
        };
        put(Column::Fingerprint, &self.fingerprint.bits().to_le_bytes());
        put(Column::Flags, &[self.flags]);
        put(Column::Tokens, &self.tokens.to_le_bytes());
        put(Column::Of, &self.of.unwrap_or(NONE).to_le_bytes());
        put(Column::Site, &self.site.to_le_bytes());
        let [first, second] = self.names.map(u64::to_le_bytes);
        put(Column::Names, [first, second].as_flattened());
        put(Column::Numbers, &self.numbers.to_bytes());
        put(Column::Time, &self.time.to_le_bytes());
        put(Column::Digest, &self.digest.unwrap_or_default());
        match &self.sketch {
            Some(sketch) => put(Column::Sketch, sketch.as_bytes()),
            None => put(Column::Sketch, &[0; SKETCH_SIZE]),
        }
        put(Column::KeyEnd, &(keys.len() as u64).to_le_bytes());
    }
}
