//! Changes to a data directory: applied by the running crawl, or by this process if none runs.

use std::path::Path;

use anyhow::Result;
use hapax_crawl::Amend;
use hapax_data::{Answer, Request, submit};

use crate::exit::{LOCKED, code_of};
use crate::settings::Settings;

/// Opens the stores of a data directory; `None` if another process has locked it.
pub(crate) fn alone(data: &Path) -> Result<Option<(Amend, Settings)>> {
    let folder = match crate::data::open(data) {
        Ok(folder) => folder,
        Err(error) if code_of(&error) == LOCKED => return Ok(None),
        Err(error) => return Err(error),
    };
    let saved = crate::data::saved(data)?.unwrap_or_default();
    let amend = Amend::open(folder, saved.settings.decision()?, !saved.seeds.is_empty())?;
    Ok(Some((amend, saved.settings)))
}

/// Has the running crawl or this process carry out a request.
pub(crate) fn change(data: &Path, request: &Request) -> Result<Answer> {
    submit(data, request, || {
        let Some((mut amend, _)) = alone(data)? else { return Ok(false) };
        amend.apply_spool()?;
        amend.finish()?;
        Ok(true)
    })
}
