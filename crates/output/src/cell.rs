/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// UTF-8.
    Text,
    /// 64 bits, signed.
    Integer,
    /// 64 bits.
    Float,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ColumnType,
    /// Whether every row has a value.
    pub required: bool,
}

impl Column {
    pub(crate) const fn required(name: &'static str, kind: ColumnType) -> Self {
        Self { name, kind, required: true }
    }

    pub(crate) const fn optional(name: &'static str, kind: ColumnType) -> Self {
        Self { name, kind, required: false }
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// No value.
    Null,
    /// Of a text column.
    Text(String),
    /// Of an integer column.
    Integer(i64),
    /// Of a float column.
    Float(f64),
}

impl Cell {
    /// Returns the bytes of the value.
    pub(crate) const fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Null | Self::Integer(_) | Self::Float(_) => size_of::<Self>(),
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Cell {
    /// Counts above 2^63 become 2^63 - 1.
    fn from(count: u64) -> Self {
        Self::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
