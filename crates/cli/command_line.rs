//! Parses arguments and environment to [`Args`], with checks that clap cannot make.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};

use crate::args::Args;
use crate::settings::Settings;
use hapax_data::spelling::nearest;

/// The prefix of our environment variables.
const OURS: &str = "HAPAX_";

/// Parses arguments and environment. Also returns warnings, such as one for an unknown variable.
///
/// # Errors
/// clap's errors, including those for `--help` and `--version`.
pub(crate) fn parse(
    words: impl IntoIterator<Item = OsString>,
    environment: &[(OsString, OsString)],
) -> Result<(Args, Vec<String>), clap::Error> {
    let empty: Vec<&OsStr> = environment
        .iter()
        .filter(|(_, value)| value.is_empty())
        .map(|(name, _)| name.as_os_str())
        .collect();
    let mut slips = unknown(&command(), environment);
    let mut command = without(self::command(), &empty);
    let mut words: Vec<OsString> = words.into_iter().collect();
    if let Some(help) = crate::help::of(&words, self::command()) {
        return Err(help);
    }
    words = with_seeds(words, &command);
    let mut tried = command.try_get_matches_from_mut(&words);
    if let Some(joined) = tried.as_ref().err().and_then(|error| with_value(error, &words)) {
        words = joined;
        tried = command.try_get_matches_from_mut(&words);
    }
    let mut matches = tried.map_err(|error| with_tip(error, &words, &self::command()))?;
    let file = matches.get_one::<PathBuf>("config");
    // The command reports an unreadable file later.
    if let Some(file) = file.and_then(|path| Settings::read(path).ok()) {
        command = without(placed(self::command(), &file), &empty);
        matches = command.try_get_matches_from_mut(&words)?;
    }
    if let Some((name, _)) = matches.subcommand()
        && let Some(flag) = misplaced(&command, &matches)
    {
        let what =
            format!("--{flag} belongs to a crawl; write it after `{name}` if it is meant for that");
        return Err(command.error(ErrorKind::ArgumentConflict, what));
    }
    if let Some((name, given)) = matches.subcommand()
        && let Some((_, taken)) = TAKEN.iter().find(|(command, _)| *command == name)
        && let Some(command) = command.find_subcommand(name)
    {
        slips.extend(without_effect(command, given, taken).map(|flag| {
            format!("--{flag} belongs to a crawl and changes nothing: `{name}` works without it")
        }));
    }
    Ok((Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?, slips))
}

/// Ignores empty variables, except those where an empty value resets a setting: a list, or the address of a cluster.
fn without(command: Command, empty: &[&OsStr]) -> Command {
    let command = command.mut_args(|arg| {
        let kept = arg.get_value_delimiter().is_some() || arg.get_id() == "cluster";
        match arg.get_env() {
            Some(name) if !kept && empty.contains(&name) => {
                arg.env(Resettable::<clap::builder::OsStr>::Reset)
            }
            _ => arg,
        }
    });
    command.mut_subcommands(|command| without(command, empty))
}

/// Applies the settings file to flags of every command: below flag and environment, above the default. Commands with
/// a separate data directory, such as the demo, ignore the file's.
fn placed(command: Command, file: &Settings) -> Command {
    let of = |name: &str| match name {
        "HAPAX_DATA" => file.common.data.clone().map(PathBuf::into_os_string),
        "HAPAX_LOG_FILE" => file.common.log_file.clone().map(PathBuf::into_os_string),
        "HAPAX_METRICS" => file.common.metrics.map(|address| address.to_string().into()),
        _ => None,
    };
    let command =
        command.mut_args(|arg| match arg.get_env().and_then(OsStr::to_str).and_then(of) {
            Some(value) => arg.default_value(value),
            None => arg,
        });
    command.mut_subcommands(|command| placed(command, file))
}

/// A flag of the main job before a command that does not have it.
fn misplaced<'a>(command: &'a Command, matches: &ArgMatches) -> Option<&'a str> {
    let given = command.get_arguments().filter(|arg| {
        !arg.is_global_set()
            && matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
    });
    given.filter_map(clap::Arg::get_long).next()
}

/// The settings that apply to stored pages. The rest concerns fetching.
pub(crate) const OF_STORED_PAGES: [&str; 26] = [
    "max_pages",
    "max_bytes",
    "time_limit",
    "min_free_disk",
    "include",
    "exclude",
    // It decides which pages have a noindex for this crawler.
    "user_agent",
    "max_body",
    "max_ratio",
    "max_encodings",
    "max_links",
    "max_nesting",
    "max_nodes",
    "max_attributes",
    "max_parse_time",
    "max_url_length",
    "distance",
    "similarity",
    "similarity_same_host",
    "policy",
    "recipe",
    "parts",
    "against",
    "against_mark",
    "no_warc",
    "no_index",
];

/// The settings that apply to decisions about texts.
const OF_TEXTS: [&str; 8] = [
    "distance",
    "similarity",
    "similarity_same_host",
    "policy",
    "recipe",
    "parts",
    "against",
    "against_mark",
];

/// Commands that accept all settings, so that file and environment apply to them too, with the settings that take
/// effect.
const TAKEN: [(&str, &[&str]); 3] =
    [("pages", &OF_STORED_PAGES), ("dedup", &OF_TEXTS), ("fingerprint", &["recipe"])];

/// Whether a flag of such a command has no effect there.
fn is_without_effect(arg: &clap::Arg, taken: &[&str]) -> bool {
    let is_setting = arg.get_help_heading().is_some();
    is_setting && !arg.is_global_set() && !taken.contains(&arg.get_id().as_str())
}

/// The flags given to such a command that have no effect there. They cause a warning, not an error, because users may
/// pass the same flags to all commands.
fn without_effect<'a>(
    command: &'a Command,
    matches: &ArgMatches,
    taken: &[&str],
) -> impl Iterator<Item = &'a str> {
    let given = command.get_arguments().filter(|arg| {
        is_without_effect(arg, taken)
            && matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
    });
    given.filter_map(clap::Arg::get_long)
}

/// All commands and flags. Settings without effect on a command are accepted but hidden from its help.
pub(crate) fn command() -> Command {
    let mut command = Args::command();
    for (name, taken) in TAKEN {
        command = command.mut_subcommand(name, |command| {
            command.mut_args(|arg| {
                let hidden = is_without_effect(&arg, taken);
                if hidden { arg.hide(true) } else { arg }
            })
        });
    }
    command.mut_subcommand("pages", |pages| {
        pages
            .mut_arg("include", |arg| {
                arg.help("Take only pages whose URLs match (repeatable)").long_help(None::<&str>)
            })
            .mut_arg("exclude", |arg| {
                arg.help("Leave out pages whose URLs match (repeatable)").long_help(None::<&str>)
            })
    })
}

/// Joins a flag and a negative number, as in `--delay=-1s`, so that clap reports a wrong value instead of an unknown
/// flag. `None` if the error is another one.
fn with_value(error: &clap::Error, words: &[OsString]) -> Option<Vec<OsString>> {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_number = |word: &str| {
        word.strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    };
    if error.kind() != ErrorKind::UnknownArgument || !is_number(wrong) {
        return None;
    }
    let mut joined: Vec<OsString> = Vec::new();
    let mut found = false;
    for word in words {
        // clap names only the first letter, `-1` of `-1s`.
        let value =
            word.to_str().is_some_and(|word| is_number(word) && word.starts_with(wrong.as_str()));
        let flag = joined.last_mut().filter(|flag| {
            flag.to_str()
                .is_some_and(|flag| flag.starts_with("--") && flag.len() > 2 && !flag.contains('='))
        });
        match flag.filter(|_| value) {
            Some(flag) => {
                flag.push("=");
                flag.push(word);
                found = true;
            }
            None => joined.push(word.clone()),
        }
    }
    found.then_some(joined)
}

/// Turns the URLs of `crawl URL...` into seeds. Words after a command stay, and so does the value of a flag.
fn with_seeds(words: Vec<OsString>, command: &Command) -> Vec<OsString> {
    let takes_value = |word: &str| {
        let flag = word.strip_prefix("--").filter(|flag| !flag.contains('='));
        let named = |flag: &str| command.get_arguments().find(|arg| arg.get_long() == Some(flag));
        flag.and_then(named).is_some_and(|arg| {
            arg.get_action().takes_values()
                && arg.get_num_args().is_none_or(|range| range.min_values() > 0)
        })
    };
    let mut out: Vec<OsString> = Vec::with_capacity(words.len());
    let (mut is_value, mut in_command) = (true, false);
    for word in words {
        let text = word.to_string_lossy().into_owned();
        if !is_value && !in_command {
            if text.starts_with("http://") || text.starts_with("https://") {
                out.push("--seed-url".into());
            } else {
                in_command = command.find_subcommand(&text).is_some();
            }
        }
        is_value = takes_value(&text);
        out.push(word);
    }
    out
}

/// Adds advice for `crawl seeds.txt`, which other programs accept.
fn with_tip(mut error: clap::Error, words: &[OsString], command: &Command) -> clap::Error {
    let first = words.iter().skip(1).find(|word| !word.to_string_lossy().starts_with('-'));
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && word.contains(['.', ':', '/'])
        && first.is_none_or(|first| command.find_subcommand(first).is_none())
    {
        let tip = "to crawl, give seeds: crawl --seeds FILE, crawl URL, or crawl --seeds - with one URL a line";
        let tips = vec![tip.to_owned().into()];
        let _ = error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// Variables with our prefix that are not settings, probably misspelt.
fn unknown(command: &Command, environment: &[(OsString, OsString)]) -> Vec<String> {
    let mut known = Vec::new();
    names(command, &mut known);
    let slips = environment
        .iter()
        .filter_map(|(name, _)| name.to_str())
        .filter(|name| name.starts_with(OURS) && !known.iter().any(|known| known == name));
    slips
        .map(|name| {
            let best = nearest(name, known.iter().map(String::as_str));
            let guess = best.map_or_else(String::new, |best| format!("; did you mean {best}?"));
            format!("{name} in the environment is no setting{guess}")
        })
        .collect()
}

fn names(command: &Command, out: &mut Vec<String>) {
    let here = command.get_arguments().filter_map(|arg| arg.get_env()?.to_str());
    out.extend(here.map(str::to_owned));
    command.get_subcommands().for_each(|command| names(command, out));
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;
    use crate::args;

    fn given(words: &[&str], environment: &[(&str, &str)]) -> Result<(Args, Vec<String>), String> {
        let words = std::iter::once("crawl").chain(words.iter().copied()).map(OsString::from);
        let environment: Vec<_> =
            environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        parse(words, &environment).map_err(|error| error.to_string())
    }

    #[test]
    fn common_flags_may_precede_the_command_and_crawl_flags_may_not() {
        let (args, _) = given(&["--config", "c.toml", "-q", "status"], &[]).unwrap();
        assert!(args.common.quiet && args.common.config.is_some());
        assert!(matches!(args.command, Some(args::Command::Status { .. })));
        for flag in [&["--fresh"][..], &["--max-pages", "5"], &["--data", "d"]] {
            let error = given(&[flag, &["status"][..]].concat(), &[]).unwrap_err();
            assert!(error.contains(flag[0]) && error.contains("`status`"), "{error}");
        }
        assert!(given(&["status", "--data", "d"], &[]).is_ok());
    }

    #[test]
    fn stored_pages_are_read_without_the_flags_of_fetching() {
        let settings = Settings::augment_args(Command::new("crawl"));
        let (mut taken, mut told) = (0, 0);
        for arg in settings.get_arguments() {
            let (name, flag) = (arg.get_id().as_str(), arg.get_long().unwrap());
            assert!(arg.get_help_heading().is_some(), "--{flag}: by it a setting is known");
            let choice = arg.get_possible_values().first().map(|value| value.get_name().to_owned());
            // Try a number, a size, a time and a word.
            let fits =
                |value: &&str| given(&[&format!("--{flag}={value}"), "--seeds", "s"], &[]).is_ok();
            let value = choice.or_else(|| {
                ["1", "1s", "true", "2000..2030"].into_iter().find(fits).map(Into::into)
            });
            let words = ["pages", "x", &format!("--{flag}={}", value.unwrap())];
            let (_, slips) = given(&words, &[]).unwrap();
            if OF_STORED_PAGES.contains(&name) {
                assert!(slips.is_empty(), "{slips:?}");
                taken += 1;
            } else {
                assert_eq!(slips.len(), 1, "--{flag}");
                assert!(slips[0].contains(flag) && slips[0].contains("changes nothing"));
                told += 1;
            }
        }
        assert_eq!(taken, OF_STORED_PAGES.len());
        assert!(told > 20, "{told}");
        let (_, slips) = given(&["pages", "x"], &[("HAPAX_DELAY", "2s")]).unwrap();
        assert!(slips.is_empty(), "it is for crawls");
        let mut command = command();
        let pages = command.find_subcommand_mut("pages").unwrap();
        let help = pages.render_long_help().to_string();
        assert!(help.contains("--max-pages") && !help.contains("--delay"), "{help}");
        assert!(help.contains("Take only pages"), "{help}");
        for (words, taken) in [
            (&["dedup", "--policy", "simhash", "--delay", "9s"][..], "--policy"),
            (&["fingerprint", "x", "--recipe", "plain", "--policy", "simhash"], "--recipe"),
        ] {
            let (_, slips) = given(words, &[]).unwrap();
            assert!(slips.len() == 1 && !slips[0].contains(taken), "{slips:?}");
            let help = command.find_subcommand_mut(words[0]).unwrap().render_long_help();
            let help = help.to_string();
            assert!(help.contains(taken) && !help.contains("--delay"), "{help}");
        }
    }

    #[test]
    fn a_url_in_the_place_of_a_command_gets_a_tip() {
        let error = given(&["-q", "seeds.txt"], &[]).unwrap_err();
        assert!(error.contains("crawl --seeds FILE"), "{error}");
        let words = ["-q", "https://a.example/", "--data", "http://d", "http://b.example/"];
        let (args, _) = given(&words, &[]).unwrap();
        assert_eq!(args.crawl.seed_url, ["https://a.example/", "http://b.example/"]);
        assert_eq!(args.crawl.data.data, PathBuf::from("http://d"));
        let error = given(&["duplicates", "https://a.example/"], &[]).unwrap_err();
        assert!(!error.contains("--seeds"), "{error}");
        let error = given(&["serach"], &[]).unwrap_err();
        assert!(error.contains("'search'") && !error.contains("--seeds -"), "{error}");
    }

    #[test]
    fn a_negative_value_is_reported_as_an_invalid_value() {
        for (words, said) in [
            (&["--delay", "-1s"][..], "is not a duration"),
            (&["--max-pages", "-1"], "whole number below 2^64"),
            (&["--seeds", "s.txt", "--max-bytes", "-5MiB"], "is not a size"),
            (&["pages", "x", "--max-links", "-1"], "--max-links"),
            (&["--concurrency", "-1"], "is not a whole number from 1"),
            (&["find-all", "--distance", "-1"], "--distance"),
            (&["status", "--json", "-1"], "unexpected"),
            (&["status", "-1"], "unexpected argument '-1'"),
        ] {
            let error = given(words, &[]).unwrap_err();
            assert!(error.contains(said), "{words:?}: {error}");
            assert!(said.starts_with("unexp") || !error.contains("unexpected"), "{error}");
        }
        let (args, _) = given(&["plan", "--pages", "-5"], &[]).unwrap();
        assert!(matches!(args.command, Some(args::Command::Plan(plan)) if plan.pages == "-5"));
    }

    #[test]
    fn a_file_says_where_data_log_and_figures_go_unless_flag_or_environment_do() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            "data = \"from-file\"\nlog-file = \"a.log\"\nmetrics = \"127.0.0.1:9090\"\ndelay = \"2s\"",
        )
        .unwrap();
        let path = file.path().to_str().unwrap();
        let main = |words: &[&str]| {
            let args =
                given(&[words, &["--seeds", "s", "--config", path]].concat(), &[]).unwrap().0;
            let data = args.crawl.data.data.display().to_string();
            (data, args.common.log_file, args.crawl.metrics.map(|address| address.port()))
        };
        let log = || Some(PathBuf::from("a.log"));
        assert_eq!(main(&[]), ("from-file".into(), log(), Some(9090)));
        let flags = ["--data", "flag", "--metrics", "127.0.0.1:1"];
        assert_eq!(main(&flags), ("flag".into(), log(), Some(1)));
        for words in [&["search", "x"][..], &["status"]] {
            let args = given(&[words, &["--config", path]].concat(), &[]).unwrap().0;
            let dirs = match args.command {
                Some(args::Command::Search(search)) => search.data.dirs,
                Some(args::Command::Status { data, .. }) => data.dirs,
                _ => Vec::new(),
            };
            assert_eq!(dirs, [PathBuf::from("from-file")]);
        }
        let args = given(&["demo", "--config", path], &[]).unwrap().0;
        assert!(matches!(args.command, Some(args::Command::Demo { data: None })));
        let (args, _) = given(&["--seeds", "s", "--config", "no-such-file"], &[]).unwrap();
        assert_eq!(args.crawl.data.data, PathBuf::from("crawl-data"));
    }

    #[test]
    fn unknown_hapax_environment_variables_are_reported() {
        let environment = [("HAPAX_MAX_PAGE", "5"), ("HAPAX_DELAY", "1s"), ("HOME", "/")];
        let (_, unknown) = given(&["status"], &environment).unwrap();
        let said =
            ["HAPAX_MAX_PAGE in the environment is no setting; did you mean HAPAX_MAX_PAGES?"];
        assert_eq!(unknown, said);
        let environment = [("HAPAX_GOLDEN", ""), ("HAPAX_MAX_BYTES", ""), ("HAPAX_DATA", "")];
        let (_, unknown) = given(&["status"], &environment).unwrap();
        assert_eq!(unknown, ["HAPAX_GOLDEN in the environment is no setting"]);
    }

    #[test]
    fn an_empty_environment_variable_counts_as_unset_except_for_a_list() {
        let mut kept = Vec::new();
        let mut let_go = Vec::new();
        let mut all = Vec::new();
        names(&Args::command(), &mut all);
        let empty: Vec<&OsStr> = all.iter().map(OsStr::new).collect();
        names(&without(Args::command(), &empty), &mut kept);
        for name in &all {
            if !kept.contains(name) {
                let_go.push(name.as_str());
            }
        }
        assert!(let_go.contains(&"HAPAX_MAX_PAGES") && let_go.contains(&"HAPAX_DATA"));
        kept.sort();
        kept.dedup();
        let lists = [
            "AGAINST",
            "ALLOW_PRIVATE",
            "CA",
            "CLUSTER",
            "EXCLUDE",
            "HEADER",
            "IGNORE_ROBOTS",
            "INCLUDE",
            "INSECURE",
            "PORTS",
        ];
        assert_eq!(kept, lists.map(|name| format!("{OURS}{name}")));
    }
}
