#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod addresses;
mod block_evidence;
mod blocks;
mod box_names;
mod boxes;
mod buttons;
mod charset;
mod class_words;
mod classes;
mod code_rows;
mod comment_names;
mod common_names;
mod content;
mod context;
mod declared;
mod dictionary;
mod document;
mod elements;
mod fold;
mod folded;
mod followers;
mod foreign;
mod frequency;
mod gaps;
mod headings;
mod kinds;
mod labels;
mod lang;
mod limits;
mod line_numbers;
mod markdown;
mod measure;
mod metadata;
mod model;
mod near_heading;
mod numbers;
mod others;
mod page_type;
mod parse;
mod plain_markup;
mod read;
mod recipe;
mod recipe_version;
mod refresh;
mod scan;
mod skip;
mod stop_lists;
mod styles;
mod supply;
mod tables;
mod templates;
mod title;
mod tokens;
mod trace;
mod traditional;
mod trees;
mod version;
mod votes;
mod words;
mod wrap;

pub use addresses::utf8_query;
pub use charset::CharsetSource;
pub use declared::{is_reservation, robots_words};
pub use dictionary::jieba;
pub use document::{
    Block, ComparisonText, Document, Image, Link, MAX_OTHER_TEXT, MIN_CONTENT_WORDS, RobotsMeta,
};
pub use fold::caseless;
pub use lang::{is_cjk, is_unspaced};
pub use limits::Limits;
pub use markdown::{BlockShape, MarkdownLimits, MarkdownText, Structured, markdown_line};
pub use metadata::{Date, Metadata, MetadataSource, Moment};
pub use numbers::{is_counting, is_referring};
pub use page_type::PageType;
pub use parse::{ParseLimits, Truncation};
pub use read::{Evidence, evidence, extract, extract_plain, extract_structured, kept_by, links};
pub use recipe::{Recipe, Tie};
pub use refresh::Refresh;
pub use title::plain_name;
pub use tokens::{
    Features, RECIPE, features, for_each_token, for_each_word, is_mark, weighted_words,
};
pub use votes::Reason;
