//! From words and environment to [`Args`]: what clap does not see.

use std::ffi::{OsStr, OsString};

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};

use crate::args::Args;
use crate::spelling::nearest;

/// What every variable of ours begins with.
const OURS: &str = "HAPAX_";

/// What was given, and what of the environment is no setting.
///
/// # Errors
/// clap's, which name the flag; `--help` and `--version` are such.
pub(crate) fn parse(
    words: impl IntoIterator<Item = OsString>,
    environment: &[(OsString, OsString)],
) -> Result<(Args, Vec<String>), clap::Error> {
    let empty: Vec<&OsStr> = environment
        .iter()
        .filter(|(_, value)| value.is_empty())
        .map(|(name, _)| name.as_os_str())
        .collect();
    let unknown = unknown(&Args::command(), environment);
    let mut command = without(Args::command(), &empty);
    let words: Vec<OsString> = words.into_iter().collect();
    let matches = command
        .try_get_matches_from_mut(&words)
        .map_err(|error| with_tip(error, &words, &Args::command()))?;
    if let Some((name, _)) = matches.subcommand()
        && let Some(flag) = misplaced(&command, &matches)
    {
        let what =
            format!("--{flag} belongs to a crawl; write it after `{name}` if it is meant for that");
        return Err(command.error(ErrorKind::ArgumentConflict, what));
    }
    Ok((Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?, unknown))
}

/// A variable that is empty is one that is not set, but where that takes something back: a list, or the
/// address of a cluster.
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

/// A flag of the main job in front of another one.
fn misplaced<'a>(command: &'a Command, matches: &ArgMatches) -> Option<&'a str> {
    let given = command.get_arguments().filter(|arg| {
        !arg.is_global_set()
            && matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
    });
    given.filter_map(clap::Arg::get_long).next()
}

/// `crawl https://a.example/` and `crawl seeds.txt` are what many programs would take.
fn with_tip(mut error: clap::Error, words: &[OsString], command: &Command) -> clap::Error {
    let first = words.iter().skip(1).find(|word| !word.to_string_lossy().starts_with('-'));
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && word.contains(['.', ':', '/'])
        && first.is_none_or(|first| command.find_subcommand(first).is_none())
    {
        let tip = "seeds stand in a file, or on stdin: crawl --seeds FILE, or crawl --seeds - and a URL a line";
        let tips = vec![tip.to_owned().into()];
        let _ = error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// Variables of ours that are no setting: nobody sees a slip there otherwise.
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
    use super::*;
    use crate::args;

    fn given(words: &[&str], environment: &[(&str, &str)]) -> Result<(Args, Vec<String>), String> {
        let words = std::iter::once("crawl").chain(words.iter().copied()).map(OsString::from);
        let environment: Vec<_> =
            environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        parse(words, &environment).map_err(|error| error.to_string())
    }

    #[test]
    fn a_flag_of_every_command_may_stand_before_it_and_one_of_a_crawl_may_not() {
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
    fn a_url_in_the_place_of_a_command_gets_a_tip() {
        for words in [&["https://a.example/"][..], &["-q", "seeds.txt"]] {
            let error = given(words, &[]).unwrap_err();
            assert!(error.contains("crawl --seeds FILE"), "{error}");
        }
        let error = given(&["duplicates", "https://a.example/"], &[]).unwrap_err();
        assert!(!error.contains("--seeds"), "{error}");
        let error = given(&["serach"], &[]).unwrap_err();
        assert!(error.contains("'search'") && !error.contains("--seeds -"), "{error}");
    }

    #[test]
    fn names_in_the_environment_that_are_none_are_told() {
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
    fn an_empty_variable_is_none_but_for_a_list() {
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
            "ALLOW_PRIVATE",
            "CLUSTER",
            "EXCLUDE",
            "HEADER",
            "IGNORE_ROBOTS",
            "INCLUDE",
            "INSECURE",
        ];
        assert_eq!(kept, lists.map(|name| format!("{OURS}{name}")));
    }
}
