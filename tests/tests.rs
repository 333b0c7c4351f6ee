//! The pipeline against real servers on loopback, one file a topic.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may panic, and its name is its documentation"
)]

// A page server, and running the binary.
mod support;
// Servers with TLS and HTTP/2, which the tests of crates/fetch use too.
#[path = "../crates/fetch/tests/serve/mod.rs"]
mod serve;
// Kept pages, and the log lines of the others.
mod whole_line;
// Kills, Ctrl-C, limits, further runs.
mod resume;

mod compared;
// Pages that other data directories have.
mod against;
// Flags, environment, settings file, and how to reset them.
mod settings;
// Missing, broken and hostile input.
mod bad_input;
// Files named by input, links, pipes, and permissions of written files.
#[cfg(unix)]
mod files;
// Archives of other crawlers.
mod archives;
// Payloads in another record, and limits of stored pages.
mod stored_pages;
// Missing or damaged parts of a data directory: reported, and never taken for its end.
mod damage;
// Commands other than the main job.
mod commands;
// Help, completions, man page.
mod help;
// Documents from a pipe, with a verdict for each.
mod dedup;
// How commands treat their arguments.
mod command_line;
// What a crawl would do with an address.
mod explain;
// The log of discarded pages: listing, explaining, restoring.
mod duplicates;
// Causes of addresses, and advice from them.
mod causes;
// The first pages that lead to a URL.
mod inlinks;
// Declared canonical addresses, beside the kept pages.
mod canonical;
// Fields and counts of an export.
mod exported;
// Kept pages as a folder of Markdown.
mod markdown;
// Changed decisions.
mod decided;
// Forgotten pages and their successors.
mod forgotten;
// The current representative of a page, and figures that agree.
mod figures;
mod standing;
// Pages that another site cannot replace.
mod takeover;

mod endless_templates;
mod traps;
mod traps_beside_pages;
mod traps_by_redirects;
// Sites whose pages repeat under new URLs of any form.
mod repetitive_sites;
// Endless sites whose pages have other words at each request.
mod noisy_sites;

mod webzoo;
// tdmrep.json of a host.
mod reservations;
// Feeds from crawl to crawl.
mod feed;
mod feed_dates;
// The local web page, by hand and in a browser.
mod browser;
mod inspect;
mod inspect_speed;
mod inspect_views;
// Local servers, also `--metrics`, under floods and requests from other sites' pages.
mod local_server;
// Hostile servers and addresses.
mod behaviours;
mod helpers;
mod hostile;
// Names and commands in the documents.
mod documents;
mod guide;
// Limits for each of many hosts.
mod many_hosts;
// Certificates, HTTP/2 in the archive, and ends without close_notify.
mod tls;
// Seeds whose redirects end in a failure.
mod moved_seeds;
// Sitemaps, robots.txt, politeness, conditional requests.
mod fetching;
// Pages that need a cookie or a script.
mod blank_pages;
mod cookie_walls;
// How sitemaps are found and read.
mod sitemaps;
// Every reason of skipped.jsonl.
mod skipped;
// Hosts that do not answer.
mod parts;
mod passages;
mod politeness;
// Queue limits of one host and of all.
mod queue_limits;
mod refusals;
// robots.txt by the response to its request.
mod robots;
// First responses that must not be permanent.
mod search;
mod second_chance;
// Exit codes, and unfinished URLs in the summary.
mod ends;
// Recrawls of known pages.
mod recrawl;
// Commands beside a crawl that is killed.
mod readers;
// Due pages, watches, and what runs changed.
mod watch;
// Changes of pages, for other programs.
mod stream;
mod stream_joined;
mod stream_sinks;
// The archive as one file for replay.
mod wacz;
// Data directories of earlier versions.
mod upgrade;
// Lines that a site repeats, in the words of a comparison.
mod sites;
// Same and different pages and their texts, on generated pages.
mod purged;
mod quality;
// One crawl of many workers, with the feature `cluster`.
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "cluster")]
#[path = "../crates/cluster/tests/it/redis.rs"]
mod redis;
