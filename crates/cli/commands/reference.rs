//! `crawl reference build`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hapax_crawl::{Config, ReferenceBuild};
use hapax_data::DataDir;
use hapax_data::inputs::root_of;
use serde_json::json;

use crate::exit::{BAD_INPUT, COMPLETE, STOPPED};
use crate::output::{self, counted, escape, number};
use crate::settings::Settings;
use crate::signals::interrupted;

pub(super) fn build(
    files: &[PathBuf],
    root: Option<&Path>,
    settings: &Settings,
    (json, quiet): (bool, bool),
    data: &Path,
) -> Result<u8> {
    let root = root.map(root_of).transpose()?;
    let config = Config { decision: settings.decision()?, ..Config::default() };
    let mut build = ReferenceBuild::open(DataDir::open(data)?, &config, root, interrupted()?)?;
    for file in files {
        build.add(file, &mut |what| output::error(&anyhow::anyhow!(escape(what))))?;
    }
    let counts = build.finish()?;
    let mut out = std::io::stdout().lock();
    if json {
        let row = json!({"added": counts.added, "known": counts.known, "bad": counts.bad, "complete": !counts.stopped});
        writeln!(out, "{}", output::json(&row))?;
    } else if !quiet {
        let added = counted(counts.added, "document");
        let (known, bad) = (number(counts.known), number(counts.bad));
        writeln!(out, "{added} added, {known} known before, {bad} bad inputs")?;
    }
    Ok(match (counts.stopped, counts.bad) {
        (true, _) => STOPPED,
        (false, 0) => COMPLETE,
        (false, _) => BAD_INPUT,
    })
}
