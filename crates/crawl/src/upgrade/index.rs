//! Renews an index of an earlier version, which lacks text outside the main text, hosts, sites and times.
//!
//! The new index is written beside the old one and exchanged with it in one step. A killed upgrade begins it again.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use hapax_data::{DataDir, PageMeta, files, parse_moment, stored_page, unwritable};
use hapax_extract::{Date, jieba};
use hapax_index::{Index, Page, Searcher, StoredPage};
use hapax_url::{host_key, registrable_site};
use url::Url;

use crate::error::Result;

/// Folder of the new index until it is complete; afterwards that of the old one until it is removed.
const FOLDER: &str = "index-new";

/// Renews the index if an earlier version made it. Returns the number of its pages, or 0 if there is nothing to do.
pub(super) fn renew(data: &DataDir) -> Result<u64> {
    let folder = data.root().join(FOLDER);
    files::end_exchange(&data.index()).map_err(|error| unwritable(&data.index(), &error))?;
    remove(&folder)?;
    let searcher = match Searcher::open(&data.index(), jieba) {
        Ok(searcher) if searcher.is_current() => return Ok(0),
        Ok(searcher) => searcher,
        Err(hapax_index::Error::Missing(_)) => return Ok(0),
        Err(error) => return Err(error.into()),
    };
    let mut ids = Vec::new();
    searcher.pages(|page| {
        ids.push(page.id);
        true
    })?;
    // Numbers of documents ascend within an index.
    ids.sort_unstable();
    let mut index = Index::open(&folder, jieba)?;
    for id in &ids {
        if let Some(page) = searcher.page(*id)? {
            add(&mut index, page, &data.pages())?;
        }
    }
    index.commit()?;
    index.close()?;
    drop(searcher);
    files::exchange(&folder, &data.index()).map_err(|error| unwritable(&data.index(), &error))?;
    remove(&folder)?;
    Ok(ids.len() as u64)
}

fn add(index: &mut Index, page: StoredPage, archive: &Path) -> Result<()> {
    let url = Url::parse(&page.url).ok();
    let archived = url.as_ref().and_then(|url| stored_page(archive, &page.stored_at, url));
    // Without its archived body the page keeps what the old index has.
    let (mut other, mut meta) = (page.other, page.meta);
    if let Some((document, text)) = archived {
        other = document.other_text(text.thin);
        let mut found = PageMeta::of(&document, Date::of_text(&page.fetched));
        // Those of robots.txt and of headers are not in the archived body.
        let before = PageMeta::from_json(&meta);
        if !before.reservations.is_empty() {
            found.reservations = before.reservations;
        }
        found.from = before.from;
        meta = found.to_json();
    }
    Ok(index.add(&Page {
        id: page.id,
        url: &page.url,
        title: &page.title,
        text: &page.text,
        other: &other,
        site_lines: &[],
        host: &url.as_ref().map(host_key).unwrap_or_default(),
        site: &url.as_ref().map(registrable_site).unwrap_or_default(),
        time: parse_moment(&page.fetched).unwrap_or_default(),
        language: &page.language,
        fetched: &page.fetched,
        stored_at: &page.stored_at,
        bytes: page.bytes,
        canonical: page.canonical,
        meta: &meta,
    })?)
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(unwritable(folder, &error).into()),
        _ => Ok(()),
    }
}
