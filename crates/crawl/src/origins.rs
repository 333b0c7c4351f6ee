//! Where a crawl's URLs, verdicts and answers come from: its data directory, or a cluster.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hapax_data::{DataDir, is_looking};
use hapax_frontier::{DiskFrontier, Frontier};

use crate::config::Config;
use crate::error::Result;
use crate::identity::RulesIdentity;
use crate::received::Received;
use crate::verdicts::Verdicts;

/// A frontier and verdicts that other workers share.
pub(crate) type Cluster = (Arc<dyn Frontier>, Box<dyn Verdicts>);

/// Where URLs, verdicts and answers come from.
pub(crate) struct Origins {
    pub(crate) frontier: Arc<dyn Frontier>,
    /// Verdicts of all workers, where there are others.
    pub(crate) verdicts: Option<Box<dyn Verdicts>>,
    /// Answers that a killed run had received.
    pub(crate) received: Option<Arc<Received>>,
    /// A recrawl is asked for, and is not the one that an earlier run began.
    pub(crate) begins_recrawl: bool,
}

impl Origins {
    pub(crate) fn open(
        data: &DataDir,
        cluster: Option<Cluster>,
        config: &Config,
        client: &hapax_fetch::Options,
        identity: &RulesIdentity,
        recrawl: bool,
    ) -> Result<Self> {
        let received =
            |may_come: &dyn Fn(&str) -> bool| Received::open(data.received(), client, may_come);
        if let Some((frontier, verdicts)) = cluster {
            // After a kill its leases belong to other workers.
            drop(received(&|_| false));
            let verdicts = Some(verdicts);
            return Ok(Self { frontier, verdicts, received: None, begins_recrawl: recrawl });
        }
        let disk = open_frontier(&data.frontier(), &config.politeness)?;
        // The same crawl goes on with what it began.
        let begins_recrawl = recrawl && !is_looking(&disk.payload()?, &identity.to_text())?;
        // A URL that is not known yet was met in the group that the kill undid.
        let received = received(&|url: &str| {
            let known = disk.knows(url).unwrap_or(true);
            !begins_recrawl && (!known || disk.is_queued(url).unwrap_or(false))
        });
        let received = Some(Arc::new(received));
        Ok(Self { frontier: Arc::new(disk), verdicts: None, received, begins_recrawl })
    }
}

/// Looks at a frontier that somebody else has open, and how long the next one waits.
const LOOKS: u32 = 40;
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Opens the queues. This process holds the data directory: who has them open only looks at them, for a moment
/// (`explain`, `inspect`).
fn open_frontier(folder: &Path, options: &hapax_frontier::Options) -> Result<DiskFrontier> {
    for _ in 1..LOOKS {
        match DiskFrontier::open(folder, options.clone()) {
            Err(hapax_frontier::Error::Locked(_)) => std::thread::sleep(LOOK_AGAIN),
            opened => return Ok(opened?),
        }
    }
    Ok(DiskFrontier::open(folder, options.clone())?)
}
