use std::path::Path;

use anyhow::Result;
use hapax_extract::jieba;
use hapax_index::{Error, Searcher};

use crate::data::saved;
use crate::exit::{USAGE, coded};
use hapax_data::must_exist;
use hapax_report::{advised, shell_path};

/// Opens the index. If the settings disable it, the error says how to build one.
pub(crate) fn open(data: &Path) -> Result<Searcher> {
    must_exist(data)?;
    let folder = data.join("index");
    if !folder.join("meta.json").exists()
        && let Some(saved) = saved(data)?
        && !saved.settings.index()
    {
        let flag = match saved.settings.output.links_only {
            Some(true) => "--links-only",
            _ => "--no-index",
        };
        let pages = data.join("pages");
        let what = match pages.is_dir() {
            true => format!(
                "create a data directory with an index: `crawl pages {} --data NEW`",
                shell_path(&pages)
            ),
            false => "the responses were not archived. Crawl again with --fresh".to_owned(),
        };
        return Err(coded(
            USAGE,
            format!("{} was made with {flag} and has no index: {what}", data.display()),
        ));
    }
    Searcher::open(&folder, jieba).map_err(|error| advised(data, error).into())
}

/// Fails if the index is damaged, for commands that could run without it and would hide the damage.
pub(crate) fn verify(data: &Path) -> Result<()> {
    match Searcher::open(&data.join("index"), jieba) {
        Err(error @ Error::Damaged { .. }) => Err(advised(data, error).into()),
        _ => Ok(()),
    }
}

/// Whether the index finds text outside the main text: one of an earlier version does not. A directory without an
/// index needs no upgrade.
pub(crate) fn is_current(data: &Path) -> bool {
    Searcher::open(&data.join("index"), jieba).map_or(true, |index| index.is_current())
}
