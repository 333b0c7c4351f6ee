//! Commands, one file each.

mod calibrate;
mod causes;
pub(crate) mod change;
mod changes;
mod check;
mod closest;
pub(crate) mod clusters;
mod dedup;
mod demo;
mod demo_site;
pub(crate) mod duplicates;
mod explain;
mod explain_page;
mod explain_pair;
mod explain_stored;
mod explain_url;
mod explain_verdict;
pub(crate) mod export;
mod extract;
mod feed;
mod find;
pub(crate) mod forget;
mod inspect;
mod main_job;
mod man;
mod pages;
mod passages;
mod plan;
mod recheck;
mod reference;
mod search;
mod show;
mod sink;
pub(crate) mod stats;
mod status;
mod stream;
pub(crate) mod upgrade;
mod watch;
mod workers;

use std::io::Write;

use anyhow::Result;

use crate::args::{Args, Command, Common, Duplicates, LogFormat, Reference};
use crate::command_line::command;
use crate::exit;
use crate::settings::Settings;

/// Runs the command and returns the exit code.
pub(crate) fn run(args: Args) -> Result<u8> {
    let common = args.common;
    // Report an invalid settings file even for a command that does not use it.
    common.config.as_deref().map(Settings::read).transpose()?;
    match args.command {
        None if args.crawl.watch => main_job::run(&args.crawl, &common, watch::run),
        None => main_job::run(&args.crawl, &common, main_job::once),
        Some(Command::Demo { data }) => demo::run(data, &common),
        Some(Command::Pages { files, root, data, settings }) => {
            let settings = main_job::with_file(settings, &common)?;
            pages::run(&files, root.as_deref(), &data.data, settings, &common)
        }
        Some(Command::Search(args)) => search::run(&args),
        Some(Command::Duplicates(job)) => of_duplicates(job, &common),
        Some(Command::Inspect { listen, data }) => inspect::serve(listen, &data.dirs, common.quiet),
        Some(Command::Export(args)) => export::run(&args, &common),
        Some(Command::Stream(args)) => stream::run(&args),
        Some(Command::Changes(args)) => changes::run(&args),
        Some(Command::Forget(args)) => forget::run(&args, common.quiet),
        Some(Command::Status { json, cluster, cluster_name, data }) => {
            match cluster.filter(|address| !address.is_empty()) {
                Some(cluster) => workers::run(json, cluster, cluster_name),
                None => status::run(json, &data.dirs),
            }
        }
        Some(Command::Extract { files, markdown: true, .. }) => extract::markdown(&files),
        Some(Command::Extract { files, text, .. }) => extract::extract(&files, text),
        Some(Command::Fingerprint { files, settings }) => {
            extract::fingerprint(&files, main_job::with_file(settings, &common)?.recipe()?)
        }
        Some(Command::Dedup { root, data, all_matches, settings }) => {
            let settings = main_job::with_file(settings, &common)?;
            dedup::run(root.as_deref(), &data.data, all_matches, &settings)
        }
        Some(Command::Explain(args)) => {
            let settings = main_job::with_file(args.settings.clone(), &common)?;
            match (explain_url::url_of(&args)?, &args.second) {
                (Some(url), _) => explain_url::run(&url, settings, &args),
                (None, Some(second)) => explain_pair::run(&args, second, &settings),
                (None, None) => explain::run(&args, &settings),
            }
        }
        Some(Command::Calibrate(args)) => calibrate::run(&args),
        Some(Command::Check { json, data }) => check::run(json, &data.data),
        Some(Command::Upgrade { data }) => upgrade::run(&data.data, common.quiet),
        Some(Command::Plan(args)) => plan::run(&args),
        Some(Command::Reference(Reference::Build { files, root, recipe, json, data })) => {
            let mut settings = main_job::with_file(Settings::default(), &common)?;
            settings.duplicates.recipe = recipe.or(settings.duplicates.recipe);
            reference::build(&files, root.as_deref(), &settings, (json, common.quiet), &data.data)
        }
        Some(Command::FindAll(args)) => find::run(&args, find::What::Pairs, &common),
        Some(Command::FindClusters(args)) => find::run(&args, find::What::Clusters, &common),
        Some(Command::Completions { shell }) => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut command(), "crawl", &mut text);
            print(&text)
        }
        Some(Command::Man) => print(&man::page(&command())?),
    }
}

fn print(text: &[u8]) -> Result<u8> {
    std::io::stdout().write_all(text)?;
    Ok(exit::COMPLETE)
}

fn of_duplicates(job: Duplicates, common: &Common) -> Result<u8> {
    match job {
        Duplicates::List(args) => duplicates::list(&args),
        Duplicates::Show { page, json, data } => show::run(&page, json, &data.dirs),
        Duplicates::Clusters(args) => clusters::run(&args),
        Duplicates::Closest(args) => closest::run(&args),
        Duplicates::Passages(args) => passages::run(&args),
        Duplicates::Stats { json, data } => stats::run(json, &data.dirs),
        Duplicates::Causes { json, data } => causes::run(json, &data.data),
        Duplicates::Advise { audience, data } => causes::advise(audience, &data.data),
        Duplicates::Restore(args) => change::restore(&args, common.quiet),
        Duplicates::Keep { page, data } => change::keep(&page, &data.data, common.quiet),
        Duplicates::Recheck(args) => recheck::run(&args),
        Duplicates::Export { feed: Some(feed), data, .. } => {
            feed::export(&feed, &data.data, common.quiet)
        }
        Duplicates::Export { output, format, csv, data, .. } => {
            if csv {
                crate::output::renamed("--csv", "--format csv");
            }
            duplicates::export(output.as_deref(), csv || format == LogFormat::Csv, data)
        }
        Duplicates::Import { feed, data } => feed::import(&feed, &data.data, common.quiet),
        Duplicates::Report { file, pairs, data } => inspect::report(&file, pairs, &data.data),
    }
}
