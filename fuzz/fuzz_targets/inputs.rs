//! Arbitrary bytes as input of a user: seeds, settings, a document as JSON, a feed. Each is parsed or refused with an
//! error, and parsed input is valid.
#![no_main]
#![allow(dead_code, unreachable_pub)]

#[path = "../../crates/cli/settings.rs"]
mod settings;
#[path = "../../crates/cli/limits.rs"]
mod limits;
#[path = "../../crates/cli/spelling.rs"]
mod spelling;

use libfuzzer_sys::fuzz_target;

/// The parts of the program's module that settings need.
mod exit {
    pub(crate) const USAGE: u8 = 1;

    pub(crate) fn coded(code: u8, message: impl Into<String>) -> anyhow::Error {
        anyhow::anyhow!("{code}: {}", message.into())
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((which, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    match which % 4 {
        0 => {
            let limits = hapax_url::UrlLimits::default();
            if let Ok(list) = hapax_data::inputs::parse_seeds(&text, "seeds", &limits) {
                assert!(!list.is_empty());
                assert!(list.iter().all(|url| matches!(url.scheme(), "http" | "https")));
                // Printed and parsed again, the result is the same.
                let again: String = list.iter().map(|url| format!("{url}\n")).collect();
                assert_eq!(hapax_data::inputs::parse_seeds(&again, "again", &limits).ok(), Some(list));
            }
        }
        1 => {
            if let Ok(read) = settings::Settings::parse(&text, "file") {
                let _ = (read.policy(), read.recipe(), read.guard());
                let _ = read.requests();
                let written = toml::to_string(&read).unwrap();
                let again = settings::Settings::parse(&written, "again");
                assert_eq!(again.ok().and_then(|again| toml::to_string(&again).ok()), Some(written));
            }
        }
        2 => {
            if let Ok(item) = hapax_data::inputs::Item::parse(rest) {
                let _ = item.body(|_| Err("files are not read here".into()));
            }
        }
        _ => {
            let mut claims = 0;
            let read = hapax_data::read_feed::<hapax_data::Error>(rest, "feed", |_, _| {
                claims += 1;
                Ok(())
            });
            assert!(read.is_err() || read.is_ok_and(|whole| whole.entries == claims));
        }
    }
});
