//! Prints the metadata of pages, one JSON object a line. Reads lines of `URL TAB PATH`; files may be gzipped and are
//! UTF-8, whatever they declare. `scripts/compare-dates` uses it.

use std::io::{Read, Write};

use flate2::read::MultiGzDecoder;
use hapax_extract::{Limits, extract};
use serde_json::json;
use url::Url;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lines() {
        let line = line?;
        let (url, path) = line.split_once('\t').ok_or("a line is URL TAB PATH")?;
        let mut body = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
        if body.starts_with(&[0x1f, 0x8b]) {
            let mut plain = Vec::new();
            MultiGzDecoder::new(&*body).read_to_end(&mut plain)?;
            body = plain;
        }
        let url = Url::parse(url)?;
        let page = extract(&url, Some("text/html; charset=utf-8"), &body, &Limits::default());
        let found = &page.metadata;
        let date = |found: Option<(hapax_extract::Moment, hapax_extract::MetadataSource)>| {
            found.map(|(moment, source)| json!([moment.to_string(), source.as_str()]))
        };
        let row = json!({
            "path": path,
            "language": page.language,
            "published": date(found.published(None)),
            "modified": date(found.modified(None)),
            "author": found.author,
            "author_from": found.sources.get("author").map(|source| source.as_str()),
            "description": found.description,
            "site_name": found.site_name,
            "licence": found.licence,
            "picture": found.picture,
            "type": found.declared_type,
        });
        writeln!(out, "{row}")?;
    }
    Ok(out.flush()?)
}
