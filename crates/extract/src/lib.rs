/*!
The bytes of a web page to a document, and a document to features. Pure: no I/O, never fails.

# Brief overview

- [`extract`] finds the charset, parses within limits, and keeps the blocks that are the page's own
  text; every [`Block`] says why it was kept or dropped.
- [`extract_plain`] does the same for plain text.
- [`features`] cuts the text into tokens (jieba for Chinese, Snowball stems) and hashes them for
  fingerprint and sketch.

```
use hapax_extract::{Limits, extract};
use url::Url;

let base = Url::parse("http://a.example/dir/").unwrap();
let html = b"<title>T</title><p>This is the text of a page that has <a href=x>one link</a> in it.";
let document = extract(&base, None, html, &Limits::default());
assert_eq!(document.title, "T");
assert_eq!(document.links[0].url.as_str(), "http://a.example/dir/x");
```
*/
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod block_evidence;
mod blocks;
mod charset;
mod class_words;
mod content;
mod context;
mod declared;
mod dictionary;
mod document;
mod elements;
mod fold;
mod foreign;
mod frequency;
mod lang;
mod leap;
mod measure;
mod model;
mod parse;
mod plain_markup;
mod recipe;
mod scan;
mod supply;
mod title;
mod tokens;
mod traditional;
mod trees;
mod version;
mod words;
mod wrap;

pub use charset::CharsetSource;
pub use content::Reason;
pub use dictionary::jieba;
pub use document::{
    Basis, Block, Document, Evidence, Image, Limits, Link, RobotsMeta, evidence, extract,
    extract_plain, links,
};
pub use parse::{ParseLimits, Truncation};
pub use recipe::{Recipe, Tie};
pub use tokens::{Features, RECIPE, features, for_each_token, weighted_words};
