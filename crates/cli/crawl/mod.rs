//! The main job: frontier -> fetch -> extract -> dedup -> index, and the files beside.

mod answer;
mod apply;
mod backoff;
mod begin;
mod commit;
mod dropped;
mod feeds;
mod fetch;
mod forget;
mod intact;
mod keep;
mod lanes;
mod metrics;
mod missing;
mod page;
mod patterns;
mod progress;
mod received;
mod recrawl;
mod redirects;
mod robots;
mod rules;
mod run;
mod seeds;
mod shared;
mod signals;
mod sitemaps;
mod stats;
mod summary;
mod survivor;
mod upgrade;
mod weight;
mod writer;

pub(crate) use commit::{Committer, Outcome, Parts};
pub(crate) use feeds::{CLAIM, TRUST, Trust, claim_note, claimed};
pub(crate) use intact::left_without_store;
pub(crate) use page::{PageWork, Unread, read_response};
pub(crate) use recrawl::host_pages;
pub(crate) use robots::remembered as remembered_robots;
pub(crate) use rules::{Rules, RunLimits, names_host};
pub(crate) use run::{Job, check_settings, crawl};
pub(crate) use seeds::read_seeds;
#[cfg(not(feature = "cluster"))]
pub(crate) use shared::WITHOUT;
#[cfg(feature = "cluster")]
pub(crate) use shared::connect;
pub(crate) use signals::{Signals, interrupted};
pub(crate) use stats::Stats;
pub(crate) use summary::{Stop, Summary, print as print_summary, print_hosts, way_on};
pub(crate) use upgrade::upgrade;
