//! `crawl.toml`, the binary's file in a data directory.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use hapax_data::{DataDir, unreadable, unwritable};
use serde::{Deserialize, Serialize};

use crate::exit::{DAMAGED, coded};
use crate::settings::Settings;

const VERSION: u32 = 2;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Saved {
    version: u32,
    /// The normalised seeds.
    #[serde(default)]
    pub(crate) seeds: Vec<String>,
    #[serde(default)]
    pub(crate) settings: Settings,
}

impl Saved {
    /// Returns the seeds.
    pub(crate) fn seed_urls(&self) -> Vec<url::Url> {
        self.seeds.iter().filter_map(|seed| url::Url::parse(seed).ok()).collect()
    }
}

/// Opens or creates a data directory and takes its lock. Private permissions are preserved.
pub(crate) fn open(root: &Path) -> Result<DataDir> {
    let data = DataDir::open(root)?;
    if let Ok(Some(saved)) = saved(root) {
        protect(&data, &saved.settings)?;
    }
    Ok(data)
}

/// Restricts the files to their owner if requests carry credentials, because pages may then be private.
pub(crate) fn protect(data: &DataDir, settings: &Settings) -> Result<()> {
    if settings.is_personal() {
        data.protect()?;
    }
    Ok(())
}

/// Writes the settings atomically.
pub(crate) fn save(root: &Path, seeds: Vec<String>, settings: &Settings) -> Result<()> {
    let saved = Saved { version: VERSION, seeds, settings: settings.clone() };
    let own = toml::to_string(&saved).context("crawl.toml")?;
    let text = format!(
        "# The settings of the last run here; flags given to the next one win.\n{own}\n\
         # Beside them these held, the defaults:\n{}",
        defaults_beside(&own)
    );
    Ok(hapax_data::replace(root, "crawl.toml", text.as_bytes())?)
}

pub(crate) fn forget_settings(root: &Path) -> Result<()> {
    let path = root.join("crawl.toml");
    Ok(fs::remove_file(&path).map_err(|error| unwritable(&path, &error))?)
}

/// The error for a crawl's data directory whose crawl.toml is missing.
pub(crate) fn without_settings(data: &Path) -> Option<anyhow::Error> {
    let part = ["frontier", "pages", "index"].into_iter().find(|part| data.join(part).exists())?;
    let what = format!("crawl.toml is missing, and {part}/ is there: name seeds and flags again");
    Some(coded(DAMAGED, what))
}

/// The defaults of all settings that are not in a text, as comments.
fn defaults_beside(own: &str) -> String {
    let is_set = |name: &str| {
        // The file is in that directory.
        name == "data"
            || own
                .lines()
                .any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(" =")))
    };
    include_str!("../../config/default.toml")
        .lines()
        .filter_map(|line| line.strip_prefix("#: "))
        // Settings without a default.
        .filter(|line| !line.contains("# an example"))
        .filter(|line| line.split_once(" =").is_some_and(|(name, _)| !is_set(name)))
        .map(|line| format!("# {line}\n"))
        .collect()
}

/// Reads the settings in `root`, without the lock.
pub(crate) fn saved(root: &Path) -> Result<Option<Saved>> {
    let path = root.join("crawl.toml");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(&path, &error).into()),
    };
    let saved: Saved = toml::from_str(&text)
        .map_err(|error| coded(DAMAGED, format!("{}: {}", path.display(), error.message())))?;
    if saved.version != VERSION {
        return Err(coded(
            DAMAGED,
            format!(
                "{} is of version {}, this program reads version {VERSION}: \
                 use the program that wrote it, or another --data",
                root.display(),
                saved.version
            ),
        ));
    }
    Ok(Some(saved))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::{USAGE, code_of};

    #[test]
    fn a_reader_finds_what_was_set_and_the_defaults_of_all_else() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let mut settings = Settings::default();
        settings.politeness.delay = Some("3s".parse().unwrap());
        save(data.root(), vec!["http://a.example/".to_owned()], &settings).unwrap();
        let text = fs::read_to_string(folder.path().join("crawl.toml")).unwrap();
        let of = |name: &str| -> Vec<&str> {
            text.lines().filter(|line| line.trim_start_matches("# ").starts_with(name)).collect()
        };
        assert_eq!(of("delay = "), ["delay = \"3s\""]);
        assert_eq!(of("scope = "), ["# scope = \"host\""]);
        assert!(of("max-pages = ").is_empty(), "it has none");
        assert_eq!(
            saved(data.root()).unwrap().unwrap().settings.politeness.delay,
            settings.politeness.delay
        );
        let file = folder.path().join("crawl.toml");
        assert_eq!(code_of(&open(&file).unwrap_err()), USAGE);
    }
}
