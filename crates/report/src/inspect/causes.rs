//! The page of causes and advice.

use std::path::{Path, PathBuf};

use hapax_crawl::Advice;
use hapax_data::{CauseReport, Rows, tables};
use maud::{Markup, html};

use super::advice::{advice, causes as described, legend};
use super::computed::{Computed, Got, PATIENCE};
use crate::text::escape;

/// Returns the advice for a data directory, or the reason why it has no advice.
pub type Advise = dyn Fn(&Path) -> Result<Advice, String> + Send + Sync;

/// Causes and advice of a directory.
#[derive(Debug)]
pub(super) struct Found {
    data: PathBuf,
    causes: CauseReport,
    advice: Result<Advice, String>,
}

/// Starts the computation for all directories, or returns its result.
pub(super) fn found(
    computed: &Computed<Vec<Found>>,
    dirs: &[PathBuf],
    advise: &std::sync::Arc<Advise>,
) -> Got<Vec<Found>> {
    let (own, advise) = (dirs.to_vec(), std::sync::Arc::clone(advise));
    computed.get("causes", dirs, PATIENCE, move || {
        own.iter().map(|data| of(data, &*advise).map_err(|error| error.to_string())).collect()
    })
}

fn of(data: &Path, advise: &Advise) -> hapax_data::Result<Found> {
    let rows = Rows::open(data)?;
    let causes = CauseReport::of(data, &rows, tables(data).as_ref())?;
    Ok(Found { data: data.to_owned(), causes, advice: advise(data) })
}

/// The page.
pub(super) fn causes(found: Got<Vec<Found>>, dirs: &[PathBuf]) -> hapax_data::Result<Markup> {
    found.page(("Causes and advice", "/causes"), dirs, |all| {
        Ok(html! {
            h1 { "Causes and advice" }
            @for found in all {
                @if all.len() > 1 { h2.dir { (escape(&found.data.display().to_string())) } }
                (described(&found.causes, true))
                @match &found.advice {
                    Ok(found) => (advice(found)),
                    Err(why) => p { "No advice: " (escape(why)) },
                }
            }
            (legend())
        })
    })
}
