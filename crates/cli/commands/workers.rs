//! `crawl status --cluster`: workers and queues of a shared crawl.

use anyhow::Result;

#[cfg(not(feature = "cluster"))]
pub(super) fn run(_: bool, _: String, _: Option<String>) -> Result<u8> {
    Err(crate::exit::coded(crate::exit::USAGE, crate::cluster::WITHOUT))
}

#[cfg(feature = "cluster")]
pub(super) fn run(json: bool, cluster: String, cluster_name: Option<String>) -> Result<u8> {
    use std::io::Write;

    use serde_json::json;

    use crate::exit::{COMPLETE, USAGE, coded};
    use crate::output::{self, counted, duration, line, number};

    let mut settings = crate::settings::Settings::default();
    settings.cluster.cluster = Some(cluster);
    settings.cluster.cluster_name = cluster_name;
    let failed = |error: hapax_cluster::Error| coded(USAGE, error.to_string());
    let Some(cluster) = crate::cluster::connect(&settings, "")? else { return Ok(COMPLETE) };
    let (workers, counts) = (cluster.workers().map_err(failed)?, cluster.counts().map_err(failed)?);
    let documents = cluster.documents().map_err(failed)?;
    let rate = |worker: &hapax_cluster::WorkerState| {
        worker.pages as f64 / worker.running.as_secs_f64().max(0.001)
    };
    let mut out = std::io::stdout().lock();
    if json {
        let workers: Vec<_> = workers
            .iter()
            .map(|worker| {
                json!({"name": worker.name, "alive": worker.alive, "pages": worker.pages,
                    "silent_ms": worker.silent.as_millis() as u64, "pages_per_second": rate(worker)})
            })
            .collect();
        let row = json!({"workers": workers, "known_urls": counts.known, "queued_urls": counts.queued,
            "deferred_urls": counts.deferred, "documents": documents});
        writeln!(out, "{}", output::json(&row))?;
        return Ok(COMPLETE);
    }
    for worker in &workers {
        let state = match worker.alive {
            true => format!("{:>6.0} pages/s", rate(worker)),
            false => format!("silent for {}", duration(worker.silent)),
        };
        writeln!(
            out,
            "  {:<30} {:>10} pages  {state}",
            line(&worker.name, 30),
            number(worker.pages)
        )?;
    }
    if workers.is_empty() {
        writeln!(out, "No worker is running.")?;
    }
    writeln!(
        out,
        "{} known, {} queued ({} of them are retried in the next run); {} in the tables.",
        counted(counts.known, "URL"),
        number(counts.queued),
        number(counts.deferred),
        counted(documents, "page")
    )?;
    Ok(COMPLETE)
}
