//! The fields of an index.

use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};

pub(crate) const TOKENIZER: &str = "mixed";

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub(crate) id: Field,
    pub(crate) url: Field,
    pub(crate) title: Field,
    pub(crate) text: Field,
    pub(crate) language: Field,
    pub(crate) fetched: Field,
    pub(crate) stored_at: Field,
    pub(crate) bytes: Field,
    pub(crate) canonical: Field,
    /// `None` in an index of an earlier version.
    pub(crate) meta: Option<Field>,
}

/// Returns the current schema and the previous one.
pub(crate) fn schemas() -> [(Schema, Fields); 2] {
    [true, false].map(schema)
}

pub(crate) fn fields_of(index: &tantivy::Index) -> Option<Fields> {
    let stored = index.schema();
    schemas().into_iter().find_map(|(schema, fields)| (schema == stored).then_some(fields))
}

fn schema(with_meta: bool) -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let text = TextOptions::default().set_indexing_options(indexing).set_stored();
    let fields = Fields {
        id: builder.add_u64_field("id", INDEXED | FAST | STORED),
        url: builder.add_text_field("url", STRING | STORED),
        title: builder.add_text_field("title", text.clone()),
        text: builder.add_text_field("text", text),
        language: builder.add_text_field("language", STRING | STORED),
        fetched: builder.add_text_field("fetched", STORED),
        stored_at: builder.add_text_field("stored_at", STORED),
        bytes: builder.add_u64_field("bytes", STORED),
        canonical: builder.add_u64_field("canonical", STORED),
        meta: with_meta.then(|| builder.add_text_field("meta", STORED)),
    };
    (builder.build(), fields)
}
