//! Imports the claims of a feed into a data directory: the next crawl skips what they cover, except samples.

use std::path::Path;
use std::sync::Arc;

use hapax_data::DataDir;
use hapax_frontier::{DiskFrontier, Frontier};
use hapax_url::normalize;
use url::Url;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::feeds::{CLAIM, TRUST, Trust, claim_note};
use crate::run_limits::RunLimits;
use crate::stats::Stats;

const GROUP: u64 = 50_000;

/// Imports the claims of one feed.
#[derive(Debug)]
pub struct FeedImport {
    data: DataDir,
    frontier: DiskFrontier,
    payload: Vec<u8>,
    config: Config,
    ends: RunLimits,
    name: String,
    import: String,
    taken: u64,
}

impl FeedImport {
    /// Starts an import. `name` is the name of the feed; `import` is a number that identifies this reading of it.
    ///
    /// # Errors
    /// [`Error::Data`].
    pub fn begin(data: DataDir, config: Config, name: &str, import: &str) -> Result<Self> {
        let frontier = DiskFrontier::open(&data.frontier(), hapax_frontier::Options::default())?;
        let name = name.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
        Ok(Self {
            payload: frontier.payload()?,
            ends: RunLimits::new(&config, data.root(), &Arc::new(Stats::default()), None),
            data,
            frontier,
            config,
            name,
            import: import.to_owned(),
            taken: 0,
        })
    }

    /// Imports one claim: a page is the same as another. A claim that is not about two http(s) URLs is ignored.
    ///
    /// # Errors
    /// [`Error::Data`], also if less of the disk is free than the configuration requires.
    pub fn claim(&mut self, url: &str, of: &str) -> Result<()> {
        let normal = |text: &str| {
            let url = Url::parse(text).ok()?;
            normalize(&url, &self.config.scope.urls).ok()
        };
        let (Some(url), Some(of)) = (normal(url), normal(of)) else { return Ok(()) };
        if url == of {
            return Ok(());
        }
        if self.taken.is_multiple_of(GROUP) {
            if self.ends.disk_is_full() {
                let what = format!(
                    "{}: not imported: less disk than --min-free-disk is free",
                    self.root().display()
                );
                return Err(Error::Data(hapax_data::Error::Write(what)));
            }
            self.frontier.commit(&self.payload)?;
        }
        self.frontier.note(url.as_str(), CLAIM, claim_note(&self.name, &of, &self.import));
        self.taken += 1;
        Ok(())
    }

    fn root(&self) -> &Path {
        self.data.root()
    }

    /// Activates the claims, after two equal readings of the feed. Returns their number.
    ///
    /// # Errors
    /// [`Error::Data`].
    pub fn finish(self) -> Result<u64> {
        let known = self.frontier.note_of(&self.name, TRUST)?;
        let mut trust: Trust =
            known.and_then(|note| serde_json::from_slice(&note).ok()).unwrap_or_default();
        trust.take_in(&self.import);
        self.frontier.note(&self.name, TRUST, serde_json::to_vec(&trust)?);
        self.frontier.commit(&self.payload)?;
        Ok(self.taken)
    }
}
