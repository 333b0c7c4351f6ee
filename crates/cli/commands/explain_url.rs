//! `crawl explain URL` and `--dry-run`: what would become of an address. Nothing is fetched but
//! robots.txt, where the data directory remembers none.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Result;
use hapax_data::{Decisions, SkipReason, Skipped, moved_seeds, read_only, skipped_lines};
use hapax_dedup::Record;
use hapax_extract::Recipe;
use hapax_fetch::{Fetcher, Kind, ROBOTS_PAUSE, Robots, RobotsAnswer, fetch_robots};
use hapax_frontier::{DiskFrontier, Entry, Frontier};
use hapax_url::host_key;
use hapax_warc::format_time;
use serde_json::{Value, json};
use url::Url;

use super::explain::shown;
use super::explain_stored::{Stored, find};
use crate::args::ExplainArgs;
use crate::data::saved;
use crate::exit::{COMPLETE, NO_SEED, USAGE, coded};
use crate::output::{self, duration, escape};
use crate::settings::Settings;
use hapax_crawl::{
    Judge as RulesJudge, Judgement, claimed, host_pages, leads_to_failure, names_host,
    remembered_reservation, remembered_robots,
};

/// The address that is to be explained, unless it is a file or one of two pages to compare.
pub(super) fn url_of(args: &ExplainArgs) -> Result<Option<Url>> {
    let url = is_url(&args.first).filter(|_| args.second.is_none());
    if url.is_some() && !args.url.is_empty() {
        return Err(coded(USAGE, "--url gives the URL of a file. Omit it if you explain a URL"));
    }
    Ok(url)
}

/// Whether an argument is an address rather than a file.
pub(super) fn is_url(text: &Path) -> Option<Url> {
    let text = text.to_str().filter(|_| !text.exists())?;
    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

/// What is known of a page that was taken out.
const FORGOTTEN: &str = "removed by `crawl forget` (see decisions.jsonl for the time)";

/// The end of a sentence about a refusal.
fn allowed_by(flag: &str) -> String {
    let is_refusal = matches!(flag, "--exclude" | "--obey-reservations");
    if is_refusal { format!("; {flag} refuses it") } else { format!("; allow it with {flag}") }
}

/// What judges an address: the settings and seeds of a crawl, and what it remembers.
struct Judge {
    rules: RulesJudge,
    fetcher: Fetcher,
    agent: String,
    ignore_robots: Vec<String>,
    patience: hapax_crawl::Patience,
    frontier: Option<DiskFrontier>,
    /// And the recipe that made it.
    store: Option<(hapax_dedup::Store, String)>,
    decisions: Decisions,
    data: Option<PathBuf>,
    max_pages_per_host: u64,
    /// Known pages are asked for again.
    recrawl: bool,
    runtime: tokio::runtime::Runtime,
}

/// What was found out about an address, in order; and why it would not be fetched.
#[derive(Default)]
struct Report {
    rows: Vec<(&'static str, String)>,
    refused: Option<(&'static str, String)>,
    /// It was fetched before.
    again: bool,
    /// The first pages that led to it.
    from: Vec<String>,
}

impl Report {
    fn say(&mut self, name: &'static str, text: impl Into<String>) {
        self.rows.push((name, text.into()));
    }

    fn refuse(&mut self, reason: &'static str, detail: impl Into<String>) {
        self.refused.get_or_insert((reason, detail.into()));
    }

    fn verdict(&self) -> String {
        match &self.refused {
            None if self.again => "would be requested again".to_owned(),
            None => "would be fetched".to_owned(),
            Some((reason, detail)) if detail.is_empty() => format!("skipped: {reason}"),
            Some((reason, detail)) => format!("skipped: {reason}, {detail}"),
        }
    }

    fn json(&self) -> Value {
        let mut row: serde_json::Map<String, Value> =
            self.rows.iter().map(|(name, text)| (name.replace(' ', "_"), json!(text))).collect();
        row.insert("from".into(), json!(self.from));
        row.insert("fetched".into(), self.refused.is_none().into());
        row.insert("reason".into(), self.refused.as_ref().map(|(reason, _)| *reason).into());
        row.insert("verdict".into(), self.verdict().into());
        row.into()
    }
}

pub(super) fn run(url: &Url, settings: Settings, args: &ExplainArgs) -> Result<u8> {
    let data = &args.data.data;
    let saved = saved(data)?.unwrap_or_default();
    let mut seeds: Vec<Url> = saved.seeds.iter().filter_map(|seed| Url::parse(seed).ok()).collect();
    if seeds.is_empty() {
        seeds.push(url.clone());
    }
    let settings = settings.over(saved.settings)?;
    let policy = settings.policy()?;
    let judge = Judge::new(settings, &seeds, Some(data))?;
    let stored = judge.stored(url, data)?;
    let report = judge.judge(url, stored.as_ref());
    let mut out = std::io::stdout().lock();
    if args.json {
        let mut row = report.json();
        if let Some(object) = row.as_object_mut() {
            object.insert("stored".into(), stored.map(|stored| stored.json(&policy)).into());
        }
        writeln!(out, "{}", output::json(&row))?;
        return Ok(COMPLETE);
    }
    for (name, text) in &report.rows {
        writeln!(out, "{name:<12} {}", escape(text))?;
    }
    for from in &report.from {
        writeln!(out, "{:<12} {}", "linked from", escape(from))?;
    }
    writeln!(out, "{:<12} {}", "verdict", escape(&report.verdict()))?;
    if let Some(stored) = stored {
        write!(out, "\n{}", stored.text(&policy, shown(args)))?;
    }
    Ok(COMPLETE)
}

/// One line a seed, as the crawl of these flags would treat it: without a directory none is known, and
/// a second look asks for those that are.
pub(super) fn dry_run(
    seeds: &[Url],
    settings: Settings,
    data: Option<&Path>,
    recrawl: bool,
) -> Result<u8> {
    let data = data.filter(|data| data.join("crawl.toml").exists());
    let mut judge = Judge::new(settings, seeds, data)?;
    judge.recrawl = recrawl;
    let mut out = std::io::stdout().lock();
    let mut any = false;
    for seed in seeds {
        let report = judge.judge(seed, None);
        any |= report.refused.is_none();
        writeln!(out, "{}  {}", escape(seed.as_str()), escape(&report.verdict()))?;
    }
    Ok(if any { COMPLETE } else { NO_SEED })
}

impl Judge {
    fn new(settings: Settings, seeds: &[Url], data: Option<&Path>) -> Result<Self> {
        let fetcher = Fetcher::new(settings.config()?.requests.client(seeds))
            .map_err(|error| coded(USAGE, error.to_string()))?;
        // A crawl at work holds it; then only what needs no queue is said.
        let frontier = data
            .filter(|data| DiskFrontier::is_there(&data.join("frontier")))
            .and_then(|data| DiskFrontier::open(&data.join("frontier"), Default::default()).ok());
        let recipe = settings.recipe()?.name();
        let policy = settings.policy()?;
        let store = data.map(|data| read_only(data, policy, recipe)).transpose()?;
        let config = settings.config()?;
        let rules = RulesJudge::new(&config.scope, seeds)?;
        if let Some(frontier) = &frontier {
            moved_seeds(frontier)?.iter().for_each(|to| rules.seed_moved(to));
        }
        Ok(Self {
            rules,
            fetcher,
            agent: settings.product_token(),
            ignore_robots: settings.ignore_robots(),
            patience: settings.patience()?,
            frontier,
            store: store.flatten(),
            data: data.map(Path::to_owned),
            recrawl: false,
            max_pages_per_host: config.max_pages_per_host.unwrap_or(u64::MAX),
            decisions: data.map_or_else(|| Ok(Decisions::default()), Decisions::committed)?,
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
        })
    }

    /// `stored` is what became of it, if it was fetched.
    fn judge(&self, url: &Url, stored: Option<&Stored>) -> Report {
        let mut report = Report::default();
        report.say("url", url.as_str());
        // How far from a seed it was met, the queue says, or the log of what was refused for it.
        let normal = self.rules.normal(url);
        let entry = self.frontier.as_ref().zip(normal.as_ref());
        let entry = entry.and_then(|(frontier, url)| frontier.queued(url).ok()?);
        // A trap has no normal form: its line has the URL as it was found.
        let logged = self.last_skipped(normal.as_ref().unwrap_or(url));
        let depth = match (&entry, &logged) {
            (Some((_, entry)), _) => entry.depth,
            (None, Some(line)) => line.depth.unwrap_or(0),
            (None, None) => 0,
        };
        let url = match self.rules.admit(url, depth) {
            Judgement::NoWebAddress => {
                report.refuse("scheme", "not http or https");
                return report;
            }
            Judgement::Taken(normal) => {
                report.say("normal form", normal.as_str());
                report.say("scope", "inside");
                normal
            }
            Judgement::Refused { url, cause, detail } => {
                report.say("normal form", url.as_str());
                let outside = cause.reason == SkipReason::Scope;
                report.say("scope", if outside { "outside" } else { "inside" });
                let flag = cause.limit.map_or(String::new(), |limit| allowed_by(limit.flag()));
                report.refuse(cause.reason.as_str(), format!("{detail}{flag}"));
                url
            }
        };
        if self.decisions.forgotten(url.as_str(), &host_key(&url)) {
            report.refuse("forgotten", "`crawl forget` took it out");
        }
        match self.runtime.block_on(self.fetcher.address(&url)) {
            Ok(Some(ip)) => report.say("address", ip.to_string()),
            Ok(None) => report.say("address", "the proxy resolves it"),
            Err(error) => {
                report.say("address", error.to_string());
                report.refuse(SkipReason::from(error.kind()).as_str(), error.to_string());
                return report;
            }
        }
        self.robots(&url, &mut report);
        let logged = logged.as_ref();
        let queued = entry.as_ref().map(|(_, entry)| entry);
        self.inlinks(&url, queued, logged, stored, &mut report);
        self.known(&url, entry, logged, stored.map(|stored| &*stored.fate), &mut report);
        report
    }

    fn robots(&self, url: &Url, report: &mut Report) {
        let host = host_key(url);
        if names_host(&self.ignore_robots, url) {
            return report.say("robots.txt", "ignored (--ignore-robots)");
        }
        let kept = self
            .frontier
            .as_ref()
            .and_then(|frontier| remembered_robots(frontier, &host).ok().flatten());
        let (from, text) = match kept {
            Some((age, text)) => (format!("as of {} ago", duration(age)), text),
            None => match self.runtime.block_on(fetch_robots(&self.fetcher, url, ROBOTS_PAUSE)) {
                RobotsAnswer::Text(text) => ("fetched now".to_owned(), text),
                RobotsAnswer::Unreachable(why) => {
                    report.say("robots.txt", format!("unreachable: {}", why.detail));
                    if why.kind == Some(Kind::Tls) {
                        return report.refuse("tls", "--insecure or --ca accept its certificate");
                    }
                    return report.refuse("robots-unreachable", "tried again at the next run");
                }
                RobotsAnswer::Refused => {
                    return report.refuse("private-address", "not a public address");
                }
            },
        };
        let rules = Robots::parse(&text, &self.agent);
        let (allowed, line) = rules.allows(url);
        let shown = line.and_then(|line| {
            let text = String::from_utf8_lossy(&text).replace("\r\n", "\n");
            let rule = text.split(['\n', '\r']).nth(line - 1)?.trim().to_owned();
            Some(format!(", line {line}: {rule}"))
        });
        let says = if allowed { "allows it" } else { "forbids it" };
        report.say("robots.txt", format!("{says}{} ({from})", shown.unwrap_or_default()));
        if let Some(delay) = rules.crawl_delay {
            report.say("crawl-delay", duration(delay));
            let most = self.patience.max_crawl_delay;
            if delay > most && self.patience.skip_slow_hosts {
                report.refuse(
                    "crawl-delay",
                    format!("longer than --max-crawl-delay ({})", duration(most)),
                );
            }
        }
        if !allowed {
            report
                .refuse("robots", line.map_or(String::new(), |l| format!("robots.txt, line {l}")));
        }
        if let Some(clean) = rules.clean(url) {
            report.refuse("clean-param", format!("the same as {clean}"));
        }
        if self.patience.obey_reservations
            && let Some(frontier) = &self.frontier
            && let Some(why) = remembered_reservation(frontier, url).ok().flatten()
        {
            report.refuse("reserved", why);
        }
    }

    /// The pages that led to an address, as queue, logs and index have them, or an upgrade found them.
    fn inlinks(
        &self,
        url: &Url,
        entry: Option<&Entry>,
        logged: Option<&Skipped>,
        stored: Option<&Stored>,
        report: &mut Report,
    ) {
        let queued = entry.and_then(|entry| entry.from.as_ref()).map(|from| vec![from.to_string()]);
        let logged = logged.map(|line| line.from.clone()).filter(|from| !from.is_empty());
        let stored = stored.map(|stored| stored.from.clone()).filter(|from| !from.is_empty());
        report.from = queued.or(logged).or(stored).unwrap_or_default();
        let Some(frontier) = self.frontier.as_ref().filter(|_| report.from.is_empty()) else {
            return;
        };
        report.from = frontier.found_inlinks(url.as_str()).unwrap_or_default();
        if !frontier.has_all_inlinks().unwrap_or(true) {
            let hint =
                "an earlier version did not keep them; `crawl upgrade` finds them in the archive";
            report.say("inlinks", hint);
        }
    }

    /// The last line about a URL in skipped.jsonl.
    fn last_skipped(&self, url: &Url) -> Option<Skipped> {
        let quoted = serde_json::to_string(url.as_str()).ok()?;
        let mut found = None;
        skipped_lines(self.data.as_deref()?, self.frontier.as_ref(), |line| {
            if line.contains(&quoted)
                && let Ok(skipped) = Skipped::parse(line)
                && skipped.url == url.as_str()
            {
                found = Some(skipped);
            }
        });
        found
    }

    /// Pages of its host that count for the budget.
    fn budget(&self, url: &Url, report: &mut Report) {
        let Some(frontier) = &self.frontier else { return };
        let pages = host_pages(frontier, &host_key(url)).unwrap_or(0);
        if pages >= self.max_pages_per_host {
            report.refuse("budget", format!("{pages} pages of this host were fetched"));
        }
    }

    fn known(
        &self,
        url: &Url,
        entry: Option<(u64, Entry)>,
        logged: Option<&Skipped>,
        fate: Option<&str>,
        report: &mut Report,
    ) {
        let record = self.record(url);
        if let Some(line) = logged {
            let (time, reason, detail) = (&line.time, line.reason, &line.detail);
            let cured = record.as_ref().is_some_and(|record| is_cured(line, record));
            let before = if cured { "; fetched since then" } else { "" };
            report.say("logged", format!("{time} {reason}, {detail}{before}"));
            let flag = line.flag.as_deref().map_or(String::new(), allowed_by);
            if !cured {
                report.say("next request", format!("{}{flag}", line.describe_again()));
            }
        }
        let forgotten = self.decisions.forgotten(url.as_str(), &host_key(url));
        let Some(frontier) = &self.frontier else {
            return match record {
                Some(record) => self.fetched(url, &record, fate, report),
                None if forgotten => report.say("known", FORGOTTEN),
                None => report.say("known", "unknown: no queue yet, or a crawl is running"),
            };
        };
        if let Some(host) = frontier.host(&host_key(url)) {
            report.say("host", format!("{} URLs queued", host.queued));
        }
        if let Some((before, entry)) = entry {
            report.say("depth", entry.depth.to_string());
            self.budget(url, report);
            return report.say("known", format!("queued behind {before} URLs of its host"));
        }
        if let Some(record) = record {
            return self.fetched(url, &record, fate, report);
        }
        if frontier.knows(url.as_str()).unwrap_or(false) {
            // What was fetched and taken out again has no line among what was not used.
            if forgotten {
                return report.say("known", format!("seen before: {FORGOTTEN}"));
            }
            if logged.is_none() {
                report.say("known", "seen before, but not stored");
                return report.refuse("known", "seen before");
            }
            report.say("known", "seen before and skipped; see skipped.jsonl for the reason");
            return report.refuse("known", "see skipped.jsonl");
        }
        report.say("known", if logged.is_some() { "refused" } else { "never seen" });
        self.budget(url, report);
        if let Ok(Some((feed, of))) = claimed(frontier, url) {
            report.say("feed", format!("{feed} says that it is a duplicate of {of}"));
            report.refuse("feed", "skipped, except for samples");
        }
    }

    /// What the tables hold of a URL in its normal form.
    fn record(&self, url: &Url) -> Option<Record> {
        let (store, _) = self.store.as_ref()?;
        store.id_of(url.as_str().as_bytes()).ok()?.and_then(|id| store.record(id).ok()?)
    }

    fn fetched(&self, url: &Url, record: &Record, fate: Option<&str>, report: &mut Report) {
        let fate = fate.unwrap_or("known");
        report.say("known", format!("page {}: fetched, {fate}", record.id));
        // A seed whose redirects ended in a failure.
        let store = self.store.as_ref().map(|(store, _)| store);
        let failed = self.frontier.as_ref().zip(store).map(|(f, s)| leads_to_failure(f, s, url));
        report.again = self.recrawl || matches!(failed, Some(Ok(true)));
        let time = UNIX_EPOCH.checked_add(Duration::from_secs(record.time));
        report.say("last request", time.map(format_time).unwrap_or_default());
        if !report.again {
            report.say("next request", "by --recrawl");
            report.refuse("known", "fetched before");
        }
    }

    /// What is stored of a page that was fetched.
    fn stored(&self, url: &Url, data: &Path) -> Result<Option<Stored>> {
        let Some(url) = self.rules.normal(url) else { return Ok(None) };
        let (Some(record), Some((store, made))) = (self.record(&url), &self.store) else {
            return Ok(None);
        };
        let recipe = Recipe::parse(made).unwrap_or_default();
        find(data, &url, record, store, recipe).map(Some)
    }
}

/// Returns whether a page was fetched after a line that says why it was not, or in the same second.
fn is_cured(line: &Skipped, record: &Record) -> bool {
    let fetched = UNIX_EPOCH.checked_add(Duration::from_secs(record.time));
    !line.reason.uses_the_page() && fetched.is_some_and(|time| line.time <= format_time(time))
}
