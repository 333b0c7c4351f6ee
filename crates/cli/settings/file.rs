//! A settings file.

use std::io::Read;

use anyhow::{Context, Result};

use super::Settings;
use crate::exit::{USAGE, coded};
use crate::spelling::guessed;

/// A settings file is read to this length.
const MAX_SETTINGS: u64 = 4 << 20;

impl Settings {
    /// Reads a settings file.
    pub(crate) fn read(path: &std::path::Path) -> Result<Self> {
        let (mut bytes, name) = (Vec::new(), path.display().to_string());
        std::fs::File::open(path)
            .and_then(|file| file.take(MAX_SETTINGS + 1).read_to_end(&mut bytes))
            .with_context(|| format!("cannot read the settings in {name}"))?;
        if bytes.len() as u64 > MAX_SETTINGS {
            return Err(coded(USAGE, format!("{name}: over 4 MiB, which no settings file is")));
        }
        let text = str::from_utf8(&bytes);
        Self::parse(text.map_err(|_| coded(USAGE, format!("{name}: not UTF-8")))?, &name)
    }

    /// Reads the text of a settings file of that `name`.
    pub(crate) fn parse(text: &str, name: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| {
            let said = error.to_string();
            coded(USAGE, format!("{name}: {}", guessed(said.trim_end())))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let cut_within_a_character = "é".repeat(MAX_SETTINGS as usize).into_bytes();
        for (bytes, said) in [(cut_within_a_character, "over 4"), (vec![0xff], "not UTF-8")] {
            std::fs::write(file.path(), bytes).unwrap();
            assert!(Settings::read(file.path()).unwrap_err().to_string().contains(said));
        }
    }
}
