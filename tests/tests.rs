//! The whole line against real servers on loopback: one file a theme.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may panic, and its name is its documentation"
)]

// A server of pages, and running the binary.
mod support;
// Which pages are kept, and what the logs say.
mod whole_line;
// Kill, Ctrl-C, limits, second runs.
mod resume;

mod compared;
// Flags, environment, settings file, and what takes them back.
mod settings;
// Missing, broken and hostile input.
mod bad_input;
// Files that input names, links, pipes, and who may read what was written.
#[cfg(unix)]
mod files;
// Archives of other crawlers.
mod archives;
// Pages whose payload lies in another record, and limits of stored pages.
mod stored_pages;
// What is missing or broken in a data directory: told, and never taken for the end of it.
mod damage;
// The commands beside the main job.
mod commands;
// What is said before anything is done: help, completions, man page.
mod help;
// Documents from a pipe, and a verdict for each.
mod dedup;
// What commands make of their arguments.
mod command_line;
// What would become of an address.
mod explain;
// The log of discarded pages: seen, understood, taken back.
mod duplicates;
// What was decided about it, and decided again.
mod decided;
// What is forgotten, and who stands in its place.
mod forgotten;
// Which page stands for another one now, and figures that agree.
mod figures;
mod standing;
// What another site cannot take.
mod takeover;

mod traps;

mod webzoo;
// What one crawl found, used by the next.
mod feed;
// The local web page, asked by hand and by a browser.
mod browser;
mod inspect;
// The same and --metrics, flooded and asked by pages of others.
mod local_server;
// Servers and addresses that mean harm.
mod behaviours;
mod helpers;
mod hostile;
// What the documents say.
mod documents;
// What is held for each of many hosts.
mod many_hosts;
// Sitemaps, robots.txt, politeness, conditional requests: what is asked of whom.
mod fetching;
// What sitemaps list and how they are come by.
mod sitemaps;
// Every reason of skipped.jsonl.
mod skipped;
// What costs a host's time, and what does not.
mod politeness;
// What one host, or all, may have waiting.
mod queue_limits;
mod refusals;
// A host's robots.txt, by the answer to the request for it.
mod robots;
// What a first answer does not decide for ever.
mod second_chance;
// Exit codes, and what a summary names as left.
mod ends;
// A second look at known pages.
mod recrawl;
// Data directories of earlier versions.
mod upgrade;
// Which pages are the same and which text is theirs, on pages made here.
mod quality;
// One crawl of many workers; in a build with that feature.
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "cluster")]
#[path = "../crates/cluster/tests/it/redis.rs"]
mod redis;
