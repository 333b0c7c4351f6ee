//! The help of `crawl` itself: one screen for `-h`, all flags but the limits for `--help`, the limits for `--help-limits`.

use std::ffi::OsString;

use clap::Command;

/// Heading of the limits against hostile servers and pages.
const DEFENCES: &str = "Defences";

/// `crawl -h`: at most 60 lines of 80 columns.
const SHORT: &str = "\
Hapax, the crawler that keeps each page once

Usage: crawl --seeds FILE [FLAGS]      crawl URL... [FLAGS]      crawl COMMAND

Crawl
  crawl demo                           see what it does, without a network
  crawl https://example.org/           crawl one site
  crawl --seeds seeds.txt              crawl these sites, one URL a line
  crawl --seeds seeds.txt              again: continue where it stopped
  crawl search WORDS                   search what was kept
  crawl status                         what the data directory holds

Look at duplicates
  crawl duplicates list                the log of discarded pages
  crawl duplicates show ID             why a page was discarded
  crawl duplicates restore ID          take it back
  crawl inspect                        the same in a browser
  crawl explain URL                    each decision about one page

Use one stage
  crawl pages FILES                    stored pages: WARC, ARC, HTML, JSONL
  crawl extract FILES                  pages in, text and metadata out
  crawl dedup                          documents on stdin, verdicts on stdout
  crawl export                         the kept pages as JSONL, CSV, Markdown

Flags that matter most
  --seeds FILE          seed URLs, one a line; - reads stdin
  --data DIR            data directory [default: crawl-data]
  --max-pages N         stop after N fetched pages
  --max-depth N         follow links up to N steps from a seed
  --scope SCOPE         host, domain, prefix or any [default: host]
  --delay TIME          pause between requests to a host [default: 1s]
  --user-agent TEXT     the User-Agent header; --contact puts an address there
  --include, --exclude  URLs to follow or to leave out, by regular expression
  --recrawl, --watch    request known pages again: once, or when they are due
  --config FILE         settings file (TOML)

More
  crawl --help          all commands and flags
  crawl --help-limits   limits against hostile servers and pages
  crawl COMMAND --help  one command, with examples
";

/// Which help was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Short,
    Long,
    Limits,
}

/// Returns the help that these words request of `crawl` itself, as clap's error. Help of commands is left to clap.
pub(crate) fn of(words: &[OsString], command: Command) -> Option<clap::Error> {
    let mut command = match asked(words, &command)? {
        Asked::Short => command.override_help(SHORT),
        Asked::Long => {
            let limits = command.get_arguments().filter(|arg| is_defence(arg)).count();
            let more = format!(
                "{DEFENCES}:\n  {limits} limits against hostile servers and pages: crawl --help-limits\n\n"
            );
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            command
                .mut_args(|arg| if is_defence(&arg) { arg.hide(true) } else { arg })
                .after_long_help(more + &after)
        }
        Asked::Limits => command
            .mut_args(|arg| if is_defence(&arg) { arg } else { arg.hide(true) })
            .help_template("Limits against hostile servers and pages. A crawl and `crawl pages` have them.\n\n{options}\n"),
    };
    command.try_get_matches_from_mut(["crawl", "--help"]).err()
}

fn is_defence(arg: &clap::Arg) -> bool {
    arg.get_help_heading() == Some(DEFENCES)
}

fn asked(words: &[OsString], command: &Command) -> Option<Asked> {
    if words.len() < 2 {
        return Some(Asked::Short);
    }
    for word in words.iter().skip(1).map(|word| word.to_string_lossy()) {
        match &*word {
            "-h" => return Some(Asked::Short),
            "--help" => return Some(Asked::Long),
            "--help-limits" => return Some(Asked::Limits),
            "--" => return None,
            word if command.find_subcommand(word).is_some() || word == "help" => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::command;

    fn help(words: &[&str]) -> Option<String> {
        let words: Vec<OsString> = ["crawl"].iter().chain(words).map(OsString::from).collect();
        of(&words, command()).map(|error| error.to_string())
    }

    #[test]
    fn the_short_help_fits_on_a_screen_and_names_what_exists() {
        let short = help(&["-h"]).unwrap();
        assert_eq!(help(&[]), Some(short.clone()));
        assert!(short.lines().count() <= 60, "{}", short.lines().count());
        assert!(short.lines().all(|line| line.chars().count() <= 80), "{short}");
        let command = command();
        let flags: Vec<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
        for word in short.split([' ', ',', '\n']) {
            if let Some(flag) = word.strip_prefix("--") {
                let own = ["help", "help-limits"].contains(&flag);
                assert!(own || flags.contains(&flag), "--{flag}");
            }
        }
        for line in short.lines().filter_map(|line| line.strip_prefix("  crawl ")) {
            let word = line.split(' ').next().unwrap();
            let own = word.starts_with('-') || word.starts_with("http") || word == "COMMAND";
            assert!(own || command.find_subcommand(word).is_some(), "{word}");
        }
    }

    #[test]
    fn each_flag_is_in_one_of_the_long_helps() {
        let (long, limits) = (help(&["--help"]).unwrap(), help(&["--help-limits"]).unwrap());
        assert!(long.contains("crawl --help-limits") && long.contains("Exit codes:"), "{long}");
        for arg in command().get_arguments().filter(|arg| !arg.is_hide_set()) {
            let Some(flag) = arg.get_long().map(|flag| format!("--{flag}")) else { continue };
            let names = |line: &str| {
                let line = line.trim_start();
                let line = line.get(4..).filter(|_| line.get(2..4) == Some(", ")).unwrap_or(line);
                line.split(['[', '=', ' ', '.']).next() == Some(&flag)
            };
            let has = |text: &str| text.lines().any(names);
            assert_eq!((has(&long), has(&limits)), (!is_defence(arg), is_defence(arg)), "{flag}");
        }
        for words in [&["pages", "-h"][..], &["help"], &["--", "-h"], &["--data", "d"]] {
            assert_eq!(help(words), None, "{words:?}");
        }
        assert!(help(&["--data", "d", "-h"]).is_some());
    }
}
