#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod addresses;
mod again;
mod archive_sample;
mod archived;
mod calibration;
mod candidates;
mod canonical_state;
mod cause;
mod cause_report;
mod changes;
mod closest;
mod cluster_index;
mod clusters;
mod committed;
mod comparison;
mod corpus;
mod counts;
mod current_tables;
mod decisions;
mod declared;
mod diff;
mod digests;
mod dir;
mod error;
mod export;
mod export_filter;
mod feed;
pub mod files;
mod filter;
mod forgotten;
mod found;
pub mod inputs;
mod kind;
mod last_visits;
mod limit;
mod lines;
mod log;
mod log_stats;
mod markdown;
mod page_counts;
mod page_meta;
mod page_name;
mod page_texts;
mod passages;
mod positions;
mod purge;
mod reason;
mod references;
mod rows;
mod runs;
mod sightings;
mod site_counts;
mod site_lines;
pub mod spelling;
mod spool;
mod standing;
mod stream;
mod tables;
mod texts;
pub mod units;
mod wacz;

pub use addresses::Addresses;
pub use again::Again;
pub use archive_sample::{ArchiveSample, sample_archive};
pub use archived::{
    MAX_RECORD, TextCache, has_body, page_of_record, stored_page, stored_text, structured_page,
};
pub use calibration::{ALIKE, CALIBRATION_STEPS, Calibration, CalibrationPage};
pub use canonical_state::{
    CanonicalState, DeclaredCluster, DeclaredMember, Relation, canonical_of, canonical_of_row,
    declared_in,
};
pub use cause::{CauseSet, WantedCause, causes_of};
pub use cause_report::{
    CauseCount, CauseExample, CausePattern, CausePlace, CauseReport, DroppedUrls,
};
pub use changes::{ChangeKind, Changes, DiffPiece, PageChange, Since};
pub use closest::{
    ClosestPage, KeptPage, NEAR_MISSES, NearMiss, NearMissOptions, NearMissTotals, NearMisses,
    SameValue, closest_kept,
};
pub use cluster_index::ClusterIndex;
pub use clusters::{Cluster, clusters};
pub use committed::skipped_lines;
pub use comparison::{Comparison, Finding, Findings, compared_texts, proposal_in_words, round};
pub use corpus::{Corpus, CorpusDir};
pub use counts::LogCounts;
pub use current_tables::CurrentTables;
pub use decisions::{Action, Decision, Decisions, Forgotten};
pub use diff::{Piece, diff, diff_deadline};
pub use digests::{Digests, Extent, is_of_text, matches, matches_of_record};
pub use dir::{DataDir, is_held, is_locked, must_exist, must_hold_pages, replace};
pub use error::{Context, Error, Result, unreadable, unwritable};
pub use export::{CSV_COLUMNS, Export, ExportedPage, StoredFeatures, copies, warc_place};
pub use export_filter::PageFilter;
pub use feed::{FeedWriter, UrlFilter, WholeFeed, read_feed};
pub use filter::{RowFilter, parse_distances, parse_moment, parse_similarities};
pub use forgotten::{Forgettable, Removal, removal};
pub use found::{Found, search};
pub use hapax_page::sites::SiteStore;
pub use hapax_page::texts::{PackedText, TextStore};
pub use kind::{DecidedBy, DuplicateKind};
pub use limit::{Limit, SkipCause};
pub use lines::{
    Claim, ComparedTexts, DifferenceItem, Differences, Discarded, DiscardedOf, Evidence, PageLinks,
    PartEvidence, SitemapPart, Skipped,
};
pub use log::{Committed, Log};
pub use log_stats::{HostStats, LogStats, SIMILARITY_CLASSES};
pub use markdown::{MarkdownCounts, write_markdown};
pub use page_counts::PageCounts;
pub use page_meta::PageMeta;
pub use page_texts::TextSources;
pub use passages::{
    FoundPart, PassageKind, PassageLine, PassageList, PassageOptions, PassagePlace, PassageTotals,
    Passages, find_parts,
};
pub use positions::{
    PagePosition, SkipPosition, digests_of, is_looking, moved_seeds, read_position, skipped_of,
};
pub use purge::{PurgePlan, Purged};
pub use reason::SkipReason;
pub use references::{InReference, Reference, References, Wanted};
pub use rows::{NONE, Row, Rows, is_of_host};
pub use runs::{Run, Runs};
pub use sightings::{Sighted, Sightings};
pub use site_counts::{SiteReader, differs, read_sites, site_of_key};
pub use site_lines::{Cleaned, MIN_PAGES, SiteLines, SiteLinesBuilder, repeated_runs};
pub use spool::{Answer, Request, Spool, submit};
pub use standing::{Heads, Shown, Standing, tables};
pub use stream::{
    Cursor, EventKind, EventLog, EventOf, FOLLOW_INTERVAL, Fields, PageEvent, Stream, StreamFormat,
    Streamed, TextChange, is_without_events,
};
pub use tables::{ELSEWHERE, is_reference_key, locked, read_only, reference_key, url_of_key};
pub use texts::Texts;
pub use wacz::{
    ArchiveFile, WaczCounts, count_cdxj, files_to, is_replayed, remove_cdxj, write_cdxj, write_wacz,
};
