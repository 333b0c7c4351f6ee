//! `crawl forget`: removes a page or host, and brings it back.

use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use anyhow::Result;
use hapax_data::{Forgettable, Request, read_only};
use hapax_dedup::{Policy, Store};
use hapax_extract::Recipe;
use hapax_report::{purge_done, shell_path, would_purge};
use hapax_url::{UrlLimits, normalize};
use url::Url;

use super::change::{holds_pages, told};
use crate::args::ForgetArgs;
use crate::change::change;
use crate::data::saved;
use crate::exit::{COMPLETE, USAGE, coded};
use crate::output::{counted, line, number};

pub(super) fn run(args: &ForgetArgs, quiet: bool) -> Result<u8> {
    let data = &args.data.data;
    holds_pages(data)?;
    let store =
        read_only(data, Policy::default(), Recipe::default().name())?.map(|(store, _)| store);
    let names = args.url_or_host.as_deref().map(|what| names(what, data, store.as_ref()));
    let names = names.transpose()?.unwrap_or_default();
    if args.undo {
        return undo(names, data, quiet);
    }
    let (mut name, mut found) =
        (names.first().cloned().unwrap_or_default(), Forgettable::default());
    if let Some(store) = &store {
        for other in names {
            found = Forgettable::of(store, &other)?;
            if !found.is_empty() {
                name = other;
                break;
            }
        }
    }
    let pages = counted(found.len() as u64, "page");
    let parts = format!(
        "{} kept, {} discarded",
        number(found.kept.len() as u64),
        number(found.discarded.len() as u64)
    );
    if args.dry_run {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        for (mark, list) in [("kept     ", &found.kept), ("discarded", &found.discarded)] {
            for url in list {
                writeln!(out, "{mark}  {}", line(url, 150))?;
            }
        }
        if args.purge {
            writeln!(out, "{}", would_purge(data, &name)?)?;
        }
        writeln!(out, "{pages} would be removed ({parts}); nothing was changed.")?;
        out.flush()?;
        return Ok(COMPLETE);
    }
    if !args.yes {
        let mut err = std::io::stderr();
        if std::io::stdin().is_terminal() {
            let end = if args.purge { ", also from the archive, forever" } else { "" };
            write!(err, "Remove {pages} of {} ({parts}){end}? [y/N] ", line(&name, 150))?;
            let mut answer = String::new();
            std::io::stdin().lock().read_line(&mut answer)?;
            if !["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
                writeln!(err, "Nothing was changed.")?;
                return Ok(COMPLETE);
            }
        } else if args.purge {
            return Err(coded(USAGE, "--purge cannot be undone. Without a terminal, give --yes"));
        } else if !quiet {
            writeln!(err, "crawl: the next version requires --yes if there is no terminal")?;
        }
    }
    let back = shell_path(Path::new(&line(&name, 150)));
    let answer = change(data, &Request::Forget { url_or_host: name, purge: args.purge })?;
    if let Some(done) = purge_done(&answer) {
        return told(&answer, &done, quiet);
    }
    let done = match answer.done {
        0 => "no stored page; the crawl will not fetch it from now on".to_owned(),
        done => format!(
            "removed {} from the index and the tables; never fetched again. The archive in pages/ still \
             contains the responses",
            counted(done, "page")
        ),
    };
    let done = format!("{done}. To undo: crawl forget --undo {back} --data {}", shell_path(data));
    told(&answer, &done, quiet)
}

fn undo(names: Vec<String>, data: &Path, quiet: bool) -> Result<u8> {
    let mut name = names.first().cloned();
    for other in names {
        if hapax_data::removal(data, Some(&other))?.is_some() {
            name = Some(other);
            break;
        }
    }
    let answer = change(data, &Request::Unforget { url_or_host: name })?;
    let done =
        format!("brought back {}; the crawl may fetch them again", counted(answer.done, "page"));
    told(&answer, &done, quiet)
}

/// Returns the names by which the data directory may know a URL or host, the most likely one first.
fn names(what: &str, data: &Path, store: Option<&Store>) -> Result<Vec<String>> {
    let Some(url) = Url::parse(what).ok().filter(|_| what.contains("://")) else {
        let host = host(what)?;
        // A forgotten host has no page, although its other ports may have some.
        if hapax_data::removal(data, Some(&host))?.is_none() {
            has_no_other_port(store, &host)?;
        }
        return Ok(vec![host]);
    };
    // Crawls have only these schemes; documents of `dedup` may have any name.
    if !matches!(url.scheme(), "http" | "https" | "file") {
        let known = store.map(|store| store.id_of(url.as_str().as_bytes())).transpose()?;
        if known.flatten().is_none() {
            let what = format!(
                "{what}: no page or document with this URL or id. `crawl search` finds URLs"
            );
            return Err(coded(USAGE, what));
        }
    }
    let limits = saved(data)?.unwrap_or_default().settings.url_limits()?;
    let normal =
        |limits: &UrlLimits| String::from(normalize(&url, limits).unwrap_or_else(|_| url.clone()));
    // As the crawl normalises it now, and as before it had --sort-query. Without --sort-query another order of
    // parameters is another page.
    let typed = UrlLimits { sort_query: false, ..limits.clone() };
    let mut names = vec![normal(&limits)];
    if limits.sort_query {
        names.push(normal(&typed));
    }
    Ok(names)
}

/// # Errors
/// The host has no pages, but other ports of it do.
fn has_no_other_port(store: Option<&Store>, host: &str) -> Result<()> {
    let name = |url: &Url| url.host_str().map(str::to_owned);
    let wanted = Url::parse(&format!("http://{host}/")).ok().and_then(|url| name(&url));
    let Some(store) = store else { return Ok(()) };
    let mut others: BTreeMap<String, u64> = BTreeMap::new();
    for record in store.snapshot().records() {
        let key = record?.key;
        let Some(url) = std::str::from_utf8(&key).ok().and_then(|key| Url::parse(key).ok()) else {
            continue;
        };
        let found = hapax_url::host_key(&url);
        // Without a port, both http and https are meant.
        if found.strip_suffix(":443").unwrap_or(&found) == host || found == host {
            return Ok(());
        }
        if name(&url) == wanted {
            *others.entry(found).or_default() += 1;
        }
    }
    if others.is_empty() {
        return Ok(());
    }
    let others: Vec<String> = others
        .iter()
        .map(|(host, pages)| format!("{host} ({})", counted(*pages, "page")))
        .collect();
    let what = format!(
        "the data directory has no page of {host}, but pages of {}. Give one of these hosts",
        others.join(", ")
    );
    Err(coded(USAGE, what))
}

/// A host as the logs write it, with its port.
fn host(text: &str) -> Result<String> {
    let url = Url::parse(&format!("http://{text}/")).ok().filter(|url| url.path() == "/");
    let Some(url) = url else {
        return Err(coded(
            USAGE,
            format!(
                "{text:?} is neither a URL nor a host: write https://a.example/page or a.example"
            ),
        ));
    };
    Ok(hapax_url::host_key(&url))
}
