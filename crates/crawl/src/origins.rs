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

pub(crate) type Cluster = (Arc<dyn Frontier>, Box<dyn Verdicts>);

pub(crate) struct Origins {
    pub(crate) frontier: Arc<dyn Frontier>,
    pub(crate) verdicts: Option<Box<dyn Verdicts>>,
    /// Answers that a killed run received.
    pub(crate) received: Option<Arc<Received>>,
    /// A recrawl is requested and is not the one that an earlier run began.
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
        // The same crawl continues the recrawl that it began.
        let begins_recrawl = recrawl && !is_looking(&disk.payload()?, &identity.to_text())?;
        // An unknown URL was found in the group that the kill undid.
        let received = received(&|url: &str| {
            let known = disk.knows(url).unwrap_or(true);
            !begins_recrawl && (!known || disk.is_queued(url).unwrap_or(false))
        });
        let received = Some(Arc::new(received));
        Ok(Self { frontier: Arc::new(disk), verdicts: None, received, begins_recrawl })
    }
}

/// Maximum number of attempts to open a frontier that another process has open, and the pause between them.
const LOOKS: u32 = 40;
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Opens the frontier. This process has locked the data directory, so another process reads the frontier for a moment
/// only (`explain`, `inspect`).
fn open_frontier(folder: &Path, options: &hapax_frontier::Options) -> Result<DiskFrontier> {
    for _ in 1..LOOKS {
        match DiskFrontier::open(folder, options.clone()) {
            Err(hapax_frontier::Error::Locked(_)) => std::thread::sleep(LOOK_AGAIN),
            opened => return Ok(opened?),
        }
    }
    Ok(DiskFrontier::open(folder, options.clone())?)
}
