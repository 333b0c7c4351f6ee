//! The values of one column until their row group is written.

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::SerializedColumnWriter;

use crate::cell::{Cell, Column, ColumnType};

/// Bytes of a value in memory besides its text.
const VALUE: usize = 40;

#[derive(Debug)]
pub(crate) struct Buffer {
    values: Values,
    /// 1 for a value, 0 for null; empty for a required column.
    levels: Vec<i16>,
    required: bool,
}

#[derive(Debug)]
enum Values {
    Text(Vec<ByteArray>),
    Integer(Vec<i64>),
    Float(Vec<f64>),
}

impl Buffer {
    pub(crate) const fn new(column: &Column) -> Self {
        let values = match column.kind {
            ColumnType::Text => Values::Text(Vec::new()),
            ColumnType::Integer => Values::Integer(Vec::new()),
            ColumnType::Float => Values::Float(Vec::new()),
        };
        Self { values, levels: Vec::new(), required: column.required }
    }

    /// Returns whether the column can have this value.
    pub(crate) const fn accepts(&self, cell: &Cell) -> bool {
        match (&self.values, cell) {
            (_, Cell::Null) => !self.required,
            (Values::Text(_), Cell::Text(_))
            | (Values::Integer(_), Cell::Integer(_))
            | (Values::Float(_), Cell::Float(_)) => true,
            _ => false,
        }
    }

    /// Adds a value that the column [accepts](Self::accepts). Returns its bytes.
    pub(crate) fn push(&mut self, cell: Cell) -> usize {
        let mut bytes = VALUE;
        let present = match (&mut self.values, cell) {
            (Values::Text(all), Cell::Text(text)) => {
                bytes += text.len();
                all.push(ByteArray::from(text.into_bytes()));
                1
            }
            (Values::Integer(all), Cell::Integer(value)) => {
                all.push(value);
                1
            }
            (Values::Float(all), Cell::Float(value)) => {
                all.push(value);
                1
            }
            _ => 0,
        };
        if !self.required {
            self.levels.push(present);
        }
        bytes
    }

    /// Writes and removes all values.
    pub(crate) fn write(&mut self, column: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let levels = (!self.required).then_some(&*self.levels);
        match &mut self.values {
            Values::Text(all) => {
                column.typed::<ByteArrayType>().write_batch(all, levels, None)?;
                all.clear();
            }
            Values::Integer(all) => {
                column.typed::<Int64Type>().write_batch(all, levels, None)?;
                all.clear();
            }
            Values::Float(all) => {
                column.typed::<DoubleType>().write_batch(all, levels, None)?;
                all.clear();
            }
        }
        self.levels.clear();
        Ok(())
    }
}
