//! The fields of an index.

use tantivy::TantivyDocument;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing,
    TextOptions, Value,
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
    /// `None` in an index of version 1.
    pub(crate) meta: Option<Field>,
    /// `None` in an index of versions 1 and 2.
    pub(crate) added: Option<Added>,
}

/// The fields that version 3 added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Added {
    pub(crate) other: Field,
    pub(crate) host: Field,
    pub(crate) site: Field,
    pub(crate) time: Field,
}

/// The versions of the schema, the current one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    One,
    WithMeta,
    WithOther,
}

/// Returns the current schema and the earlier ones.
pub(crate) fn schemas() -> [(Schema, Fields); 3] {
    [Version::WithOther, Version::WithMeta, Version::One].map(schema)
}

pub(crate) fn fields_of(index: &tantivy::Index) -> Option<Fields> {
    let stored = index.schema();
    schemas().into_iter().find_map(|(schema, fields)| (schema == stored).then_some(fields))
}

fn schema(version: Version) -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let text = TextOptions::default().set_indexing_options(indexing).set_stored();
    let fields = Fields {
        id: builder.add_u64_field("id", INDEXED | FAST | STORED),
        url: builder.add_text_field("url", STRING | STORED),
        title: builder.add_text_field("title", text.clone()),
        text: builder.add_text_field("text", text.clone()),
        language: builder.add_text_field("language", STRING | STORED),
        fetched: builder.add_text_field("fetched", STORED),
        stored_at: builder.add_text_field("stored_at", STORED),
        bytes: builder.add_u64_field("bytes", STORED),
        canonical: builder.add_u64_field("canonical", STORED),
        meta: (version >= Version::WithMeta).then(|| builder.add_text_field("meta", STORED)),
        added: (version >= Version::WithOther).then(|| Added {
            other: builder.add_text_field("other", text),
            host: builder.add_text_field("host", STRING),
            site: builder.add_text_field("site", STRING),
            time: builder.add_u64_field("time", INDEXED | FAST),
        }),
    };
    (builder.build(), fields)
}

/// Returns the first stored text of a field.
pub(crate) fn text_of(document: &TantivyDocument, field: Field) -> String {
    let value = document.get_first(field).and_then(|value| value.as_str().map(str::to_owned));
    value.unwrap_or_default()
}
