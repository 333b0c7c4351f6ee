//! `crawl upgrade`: converts a data directory of an earlier version.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use hapax_extract::Recipe;

use crate::exit::{COMPLETE, DAMAGED, coded};
use crate::output::{counted, escape};
use hapax_crawl::upgrade;
use hapax_data::{must_hold_pages, read_only};

pub(super) fn run(root: &Path, quiet: bool) -> Result<u8> {
    must_hold_pages(root)?;
    let settings = crate::data::saved(root)?.unwrap_or_default().settings;
    let (asked, policy) = (settings.recipe()?, settings.policy()?);
    // A folder of `crawl dedup` has no settings.
    let stored = read_only(root, policy, asked.name())?.map(|(_, recipe)| recipe);
    let recipe = stored.as_deref().and_then(Recipe::parse).unwrap_or(asked);
    let data = crate::data::open(root)?;
    let done = upgrade(&data, recipe, policy)?;
    if let Some(damaged) = &done.damaged {
        let kept = counted(done.without_text, "kept page");
        let what = format!(
            "{damaged}. {kept} could not be upgraded and are compared as before. Run `crawl check` for \
             details, and `crawl --recrawl` to fetch them again"
        );
        return Err(coded(DAMAGED, what));
    }
    if quiet {
        return Ok(COMPLETE);
    }
    let mut out = std::io::stdout().lock();
    let name = escape(&root.display().to_string());
    if done.was_current {
        writeln!(out, "{name} is up to date.")?;
        return Ok(COMPLETE);
    }
    if done.indexed > 0 {
        let pages = counted(done.indexed, "page");
        writeln!(out, "{name}: the index was renewed with all visible text of {pages}.")?;
    }
    if done.texts > 0 {
        let texts = counted(done.texts, "kept page");
        writeln!(
            out,
            "{name}: the texts of {texts} were added; later pages are compared with them."
        )?;
    }
    if done.sites > 0 {
        let pages = counted(done.sites, "kept page");
        writeln!(out, "{name}: the lines of {pages} were counted for their sites.")?;
    }
    if done.inlinks > 0 {
        let urls = counted(done.inlinks, "URL");
        writeln!(out, "{name}: the first inlinks of {urls} were found in the archive.")?;
    }
    let others = done.texts + done.sites + done.indexed + done.inlinks;
    if done.documents > 0 || others == 0 {
        let documents = counted(done.documents, "document");
        writeln!(out, "{name}: converted {documents} to the digest of this version.")?;
    }
    if done.without_text > 0 {
        writeln!(
            out,
            "Not upgraded: {} without a stored text (--no-warc or `crawl dedup`). Equal texts are still found.",
            counted(done.without_text, "document")
        )?;
    }
    if done.copies > 0 {
        let copies = counted(done.copies, "discarded duplicate");
        writeln!(
            out,
            "{copies} without a stored text were not converted. No page is compared with them."
        )?;
    }
    Ok(COMPLETE)
}
