use std::io::Read;

use anyhow::{Context, Result};

use super::Settings;
use super::all::SECRET;
use crate::exit::{USAGE, coded};
use hapax_data::spelling::guessed;

/// The most bytes of a settings file.
const MAX_SETTINGS: u64 = 4 << 20;

impl Settings {
    pub(crate) fn read(path: &std::path::Path) -> Result<Self> {
        let (mut bytes, name) = (Vec::new(), path.display().to_string());
        std::fs::File::open(path)
            .and_then(|file| file.take(MAX_SETTINGS + 1).read_to_end(&mut bytes))
            .with_context(|| format!("cannot read the settings in {name}"))?;
        if bytes.len() as u64 > MAX_SETTINGS {
            return Err(coded(
                USAGE,
                format!("{name}: larger than 4 MiB. Give --config a TOML settings file"),
            ));
        }
        let text = str::from_utf8(&bytes);
        Self::parse(
            text.map_err(|_| {
                coded(USAGE, format!("{name}: not a text file in UTF-8. Save it as UTF-8"))
            })?,
            &name,
        )
    }

    /// Parses the text of the settings file `name`.
    pub(crate) fn parse(text: &str, name: &str) -> Result<Self> {
        Self::from_toml(text).map_err(|error| {
            let said = match secret_at(text, &error) {
                Some((line, key)) => {
                    format!(
                        "line {line}: the value of `{key}` is invalid (hidden because it may contain a password). \
                         See config/default.toml for its format"
                    )
                }
                None => guessed(error.to_string().trim_end()),
            };
            coded(USAGE, format!("{name}: {said}"))
        })
    }
}

/// The line and name of a setting with an error, if its value may contain a password. The error message then quotes
/// neither the line nor the expected value.
fn secret_at<'t>(text: &'t str, error: &toml::de::Error) -> Option<(usize, &'t str)> {
    // An error without a position concerns the whole file.
    let end = error.span().map_or(text.len(), |span| span.end.max(span.start + 1));
    let before = text.get(..end).unwrap_or(text);
    let mut secret = None;
    let mut lines = before.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let key = line.split_once('=').map(|(key, value)| {
            (key.trim().trim_matches(['"', '\'']), value.trim_start().starts_with('['))
        });
        match (secret, key) {
            (_, Some((key, is_list))) if SECRET.contains(&key) => {
                secret = Some((at + 1, key, is_list))
            }
            // A list continues until its bracket closes.
            (Some((_, _, true)), _) => {}
            _ => secret = None,
        }
        if lines.peek().is_some() && line.trim_end().ends_with(']') {
            secret = None;
        }
    }
    secret.map(|(line, key, _)| (line, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_about_a_secret_does_not_show_it() {
        for text in [
            "proxy = 'http://me:hunter2@h' x",
            "header = 'Authorization: hunter2'",
            "delay = '1s'\nheader = [\n'a: b',\n  hunter2]\n",
            "header = ['X: hunter2', 5]",
            "\"proxy\" = ['hunter2']",
            "proxy = 'hunter2",
        ] {
            let said = Settings::parse(text, "x.toml").unwrap_err().to_string();
            assert!(!said.contains("hunter2") && said.contains("line "), "{text}: {said}");
        }
        let said = Settings::parse("header = ['a: b']\ndelay = 5 x", "x.toml").unwrap_err();
        assert!(said.to_string().contains("delay = 5 x"), "{said}");
    }

    #[test]
    fn a_file_without_end_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let cut_within_a_character = "é".repeat(MAX_SETTINGS as usize).into_bytes();
        for (bytes, said) in [(cut_within_a_character, "larger than 4"), (vec![0xff], "in UTF-8")] {
            std::fs::write(file.path(), bytes).unwrap();
            assert!(Settings::read(file.path()).unwrap_err().to_string().contains(said));
        }
    }
}
