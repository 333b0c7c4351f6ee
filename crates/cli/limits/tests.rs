use clap::{Args, Command, FromArgMatches};

use super::*;

fn given(words: &[&str]) -> Settings {
    let command = Settings::augment_args(Command::new("crawl")).no_binary_name(true);
    Settings::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap()
}

/// Every limit, one a line, as the component that enforces it receives it.
fn all(settings: &Settings) -> Result<Vec<String>> {
    let ports = settings.guard()?.ports;
    let text = [
        format!("{:#?}", settings.limits()?),
        format!("{:#?}", settings.sitemap_limits()?),
        format!("{:#?}", settings.page_limits()?),
        format!("{:#?}", settings.url_limits()?),
        format!("{:#?}", settings.politeness()?),
        format!("{:#?}", settings.patience()?),
        format!("{:#?}", settings.dust()?),
        format!("ports: {ports:?}"),
        format!("redirects: {},", settings.redirects()?),
    ];
    let lines = text.iter().flat_map(|text| text.lines());
    Ok(lines.map(|line| line.trim().to_owned()).collect())
}

/// Flag, value, the resulting limit, and values that are refused.
const FLAGS: [(&str, &str, &str, &[&str]); 43] = [
    ("max-body", "3MiB", "max_body: 3145728,", &["0", "2TiB"]),
    ("max-redirects", "50", "redirects: 50,", &["51", "255"]),
    ("max-ratio", "7", "max_ratio: 7,", &["0", "1000001"]),
    ("max-encodings", "3", "max_encodings: 3,", &["0", "17"]),
    ("max-robots", "600KiB", "max_robots: 614400,", &["0", "2TiB"]),
    ("max-unwanted", "1KiB", "max_unwanted: 1024,", &["2TiB"]),
    ("max-headers", "4KiB", "max_headers: 4096,", &["0", "2TiB"]),
    ("large-bodies", "9", "large_bodies: 9,", &["0", "65537"]),
    ("waiting-bodies", "0", "waiting_bodies: 0,", &["65537"]),
    ("max-idle-connections", "0", "max_idle_connections: 0,", &["1000001"]),
    ("dns-timeout", "3s", "dns_timeout: 3s,", &["0", "2d"]),
    ("connect-timeout", "4s", "connect_timeout: 4s,", &["0", "2d"]),
    ("read-timeout", "5s", "read_timeout: 5s,", &["0", "2d"]),
    ("request-timeout", "6s", "total_timeout: 6s,", &["0", "2d"]),
    ("min-rate", "2KiB", "min_rate: 2048,", &["2TiB"]),
    ("large-rate", "3KiB", "large_rate: 3072,", &["2TiB"]),
    ("slow-after", "7s", "slow_after: 7s,", &["0", "2d"]),
    ("max-sitemap", "1MiB", "max_bytes: 1048576,", &["0", "2GiB"]),
    ("max-sitemap-urls", "8", "max_urls: 8,", &["10000001"]),
    ("max-links", "0", "max_links: 0,", &["10000001"]),
    ("max-nesting", "99", "max_depth: 99,", &["0", "65537"]),
    ("max-nodes", "777", "max_nodes: 777,", &["0", "100000001"]),
    ("max-attributes", "9", "max_attributes: 9,", &["0", "65537"]),
    ("max-parse-time", "9s", "max_time: 9s,", &["0", "2h"]),
    ("max-url-length", "999", "max_url_bytes: 1998,", &["0", "32001"]),
    ("max-url-length", "998", "max_length: 998,", &["15"]),
    ("max-url-segments", "9", "max_segments: 9,", &["0", "65537"]),
    ("max-url-parameters", "0", "max_parameters: 0,", &["65537"]),
    ("max-repeated-segment", "9", "max_repeated_segment: 9,", &["0", "65537"]),
    ("url-years", "2001..2050", "years: 2001..=2050,", &["2001", "2050..2001", "1..10000", ""]),
    ("max-delay", "9s", "max_delay: 9s,", &["2d"]),
    ("address-delay", "0s", "address_delay: 0ns,", &["2d"]),
    ("breaker-after", "2", "breaker_after: 2,", &["0"]),
    ("breaker-wait", "2s", "breaker_wait: 2s,", &["2d"]),
    ("give-up-after", "3", "give_up_after: 3,", &["0"]),
    ("max-queued-per-host", "7", "max_queued_per_host: 7,", &["0"]),
    ("max-queue", "1MiB", "max_queue_bytes: 1048576,", &["0", "2TiB"]),
    ("max-crawl-delay", "9s", "max_crawl_delay: 9s,", &["2d"]),
    ("max-retry-after", "8s", "max_retry_after: 8s,", &["2d"]),
    ("aside-after", "8s", "aside_after: 8s,", &["0", "2d"]),
    ("aside-factor", "0", "aside_factor: 0,", &["1001"]),
    ("dust-pages", "30", "pages: 30,", &["0", "9"]),
    ("dust-share", "0.5", "share: 0.5,", &["0", "1.1"]),
];

#[test]
fn every_limit_comes_from_its_flag_to_where_it_acts_and_nonsense_is_refused() {
    let default = all(&Settings::default()).unwrap();
    for (flag, value, acts, nonsense) in FLAGS {
        assert!(!default.iter().any(|line| line == acts), "{flag}: {acts}");
        let flag = format!("--{flag}");
        let set = all(&given(&[&flag, value])).unwrap();
        assert!(set.iter().any(|line| line == acts), "{flag} {value}: {set:#?}");
        for value in nonsense {
            let error = all(&given(&[&flag, value])).unwrap_err().to_string();
            assert!(error.starts_with(&flag), "{flag} {value}: {error}");
        }
    }
    assert_eq!(given(&["--dust-pages", "none"]).dust().unwrap().pages, u64::MAX);
    let ports = all(&given(&["--ports", "443", "--ports", "8000-8999"])).unwrap();
    assert!(ports.contains(&"ports: [443..=443, 8000..=8999]".to_owned()), "{ports:?}");
    for wrong in ["0", "80-", "90-80", "http", "70000"] {
        let error = all(&given(&["--ports", wrong])).unwrap_err().to_string();
        assert!(error.starts_with("--ports"), "{wrong}: {error}");
    }
}

#[test]
fn every_defence_flag_is_tested_and_appears_only_in_the_long_help() {
    let mut command = Settings::augment_args(Command::new("crawl"));
    for arg in command.get_arguments() {
        let variable = format!("HAPAX_{}", arg.get_id().as_str().to_uppercase());
        assert_eq!(arg.get_env().and_then(|name| name.to_str()), Some(&*variable));
    }
    let defences = command.get_arguments().filter(|arg| arg.get_help_heading() == Some("Defences"));
    let flags: Vec<String> = defences.filter_map(clap::Arg::get_long).map(str::to_owned).collect();
    assert!(flags.len() > 30, "{flags:?}");
    let short = command.render_help().to_string();
    let long = command.render_long_help().to_string();
    for flag in flags {
        assert!(FLAGS.iter().any(|(name, ..)| *name == flag), "{flag}");
        let flag = format!("--{flag} <");
        assert!(!short.contains(&flag) && long.contains(&flag), "{flag}");
    }
}
