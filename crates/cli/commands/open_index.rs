//! The index of a data directory, for reading.

use std::path::Path;

use anyhow::Result;
use hapax_extract::jieba;
use hapax_index::Searcher;

use crate::data::{must_exist, saved};
use crate::exit::{USAGE, coded};
use crate::output::shell_path;

/// Opens the index; where there is none because none was wanted, that is said, and what can be done.
pub(super) fn open(data: &Path) -> Result<Searcher> {
    must_exist(data)?;
    let folder = data.join("index");
    if !folder.join("meta.json").exists()
        && let Some(saved) = saved(data)?
        && !saved.settings.index()
    {
        let flag = match saved.settings.links_only {
            Some(true) => "--links-only",
            _ => "--no-index",
        };
        let pages = data.join("pages");
        let what = match pages.is_dir() {
            true => format!(
                "`crawl pages {} --data NEW` makes a data directory with one of what was fetched",
                shell_path(&pages)
            ),
            false => "what was fetched was not kept, so that it has to be fetched again".to_owned(),
        };
        return Err(coded(
            USAGE,
            format!("{} was made with {flag} and has no index: {what}", data.display()),
        ));
    }
    Ok(Searcher::open(&folder, jieba)?)
}
