//! Writes an archive of small files with every kind of record, half of it after a crash that left a torn tail.
//! `scripts/check-warcs` reads it with other WARC readers.
//!
//! `cargo run --release -p hapax-warc --example archive -- DIR`

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use hapax_fetch::Response;
use hapax_warc::{RecordKind, RefersTo, WarcOptions, Writer, format_time};
use url::Url;

/// Small, so that there are several files.
const FILE_BYTES: u64 = 16 << 10;
const PAGES: u64 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("archive DIR")?;
    let folder = Path::new(&folder);
    let options = WarcOptions { max_file_bytes: FILE_BYTES, ..WarcOptions::default() };
    let mut writer = Writer::open(folder, 1, 0, options.clone())?;
    write(&mut writer, 0..PAGES / 2)?;
    let (number, length) = writer.sync()?;
    // A crash leaves records that were never acknowledged, and half of one.
    write(&mut writer, PAGES / 2..PAGES / 2 + 3)?;
    let (last, end) = writer.sync()?;
    drop(writer);
    let torn = folder.join(format!("pages-{last:05}.warc.gz"));
    let file = std::fs::OpenOptions::new().write(true).open(&torn)?;
    file.set_len(end - 7)?;
    let later = folder.join(format!("pages-{:05}.warc.gz", last + 1));
    std::fs::File::create(later)?.write_all(b"\x1f\x8b torn")?;
    let mut writer = Writer::open(folder, number, length, options)?;
    write(&mut writer, PAGES / 2..PAGES)?;
    writer.sync()?;
    Ok(())
}

/// Writes each page, then the same page as each kind of duplicate.
fn write(writer: &mut Writer, pages: std::ops::Range<u64>) -> Result<(), Box<dyn Error>> {
    let told = [("language", "en".to_owned())];
    for page in pages {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + page);
        let (url, id) = (format!("http://a.example/{page}"), format!("urn:hapax:page:{page}"));
        let words: String =
            (0..100).map(|word| format!("{} ", page * 7919 + word * word)).collect();
        let found = response(&url, 200, &words)?;
        let place = writer.append(&RecordKind::Response, &found, time, &id, &told)?;
        let refers = || RefersTo {
            record: id.clone(),
            url: url.clone(),
            date: Some(format_time(time)),
            evidence: "similarity=0.98".to_owned(),
        };
        let again = [
            ("same", 200, words.clone(), RecordKind::SameText(refers(), place)),
            ("near", 200, words.replace('7', "8"), RecordKind::NearDuplicate(refers())),
            ("unchanged", 304, String::new(), RecordKind::Unchanged(refers())),
        ];
        for (name, status, body, kind) in again {
            let at = response(&format!("{url}/{name}"), status, &body)?;
            writer.append(&kind, &at, time, &format!("{id}:{name}"), &told)?;
        }
    }
    Ok(())
}

fn response(url: &str, status: u16, body: &str) -> Result<Response, url::ParseError> {
    let headers = vec![("content-type".to_owned(), b"text/plain".to_vec())];
    Ok(Response::stored(Url::parse(url)?, status, headers, body.as_bytes().to_vec().into()))
}
