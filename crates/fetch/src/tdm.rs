//! Parses tdmrep.json: which paths of a host reserve the rights of text and data mining.

use serde::Deserializer;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use url::Url;

use crate::robots::{matches, normal_pattern, subject};

/// Where the file is (TDM Reservation Protocol, "TDM File on the Origin Server").
pub const TDMREP_PATH: &str = "/.well-known/tdmrep.json";
/// Further rules are ignored.
const MAX_TDM_RULES: usize = 1_000;
/// Bytes of a location; a rule with a longer one is ignored, and so is a longer policy.
const MAX_TDM_TEXT: usize = 2_048;

/// The rules of a tdmrep.json.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TdmRules {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// A pattern of paths, as in robots.txt.
    pattern: String,
    is_reserved: bool,
    /// URL of the terms of a licence.
    policy: Option<String>,
}

impl TdmRules {
    /// Parses the file of the host of `base`. A file that is no JSON has no rules; of one that ends early or is damaged, the
    /// rules before hold.
    ///
    /// # References
    /// W3C TDM Reservation Protocol, Final Community Group Report, 10 May 2024.
    ///
    /// # Complexity
    /// Linear in the bytes, which the caller limits to [`MAX_TDMREP`](crate::MAX_TDMREP). JSON of more than 128 levels counts as damaged.
    pub fn parse(base: &Url, body: &[u8]) -> Self {
        let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
        let mut rules = Self::default();
        // An error ends the file.
        let _ = serde_json::Deserializer::from_slice(body)
            .deserialize_any(File { rules: &mut rules, base });
        rules
    }

    /// Returns a description of the rule that reserves a URL; `None` if it is not reserved. The first rule that matches
    /// decides.
    pub fn reservation(&self, url: &Url) -> Option<String> {
        let path = subject(url);
        let rule = self.rules.iter().find(|rule| matches(&rule.pattern, &path))?;
        rule.is_reserved.then(|| {
            let policy = rule.policy.as_ref().map(|policy| format!(", policy {policy}"));
            let policy = policy.unwrap_or_default();
            format!("tdmrep.json: tdm-reservation: 1, location {}{policy}", rule.pattern)
        })
    }

    /// Adds a rule, unless it lacks a value or is too long.
    fn add(&mut self, rule: &Map<String, Value>, base: &Url) {
        let Some(is_reserved) = rule.get("tdm-reservation").and_then(switch) else { return };
        let location = match rule.get("location") {
            Some(Value::String(location)) => location.trim(),
            // The protocol requires a location. Without one the owner means the whole host; only a reservation is read so.
            None if is_reserved => "/",
            _ => return,
        };
        let Some(path) = path_of(location, base).filter(|path| path.len() <= MAX_TDM_TEXT) else {
            return;
        };
        let policy = rule.get("tdm-policy").and_then(Value::as_str).map(str::trim);
        let policy = policy.filter(|policy| !policy.is_empty() && policy.len() <= MAX_TDM_TEXT);
        self.rules.push(Rule {
            pattern: normal_pattern(&path),
            is_reserved,
            policy: policy.map(str::to_owned),
        });
    }
}

/// Returns the pattern of a location: a path, or a URL of the same host. `None` for other hosts.
fn path_of(location: &str, base: &Url) -> Option<String> {
    if location.starts_with(['/', '*']) {
        return Some(location.to_owned());
    }
    if let Some((_, rest)) = location.split_once("://") {
        let url = Url::parse(location).ok()?;
        let at = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/");
        let host = |url: &Url| (url.host_str().map(str::to_owned), url.port());
        return (host(&url) == host(base)).then(|| at.to_owned());
    }
    (!location.is_empty()).then(|| format!("/{location}"))
}

/// Reads `tdm-reservation`: a number in the protocol, but often a text.
fn switch(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(is_on) => Some(*is_on),
        Value::String(text) if matches!(text.trim(), "1" | "true") => Some(true),
        Value::String(text) if matches!(text.trim(), "0" | "false") => Some(false),
        Value::Number(number) if number.as_f64() == Some(1.0) => Some(true),
        Value::Number(number) if number.as_f64() == Some(0.0) => Some(false),
        _ => None,
    }
}

/// Reads the rules of a file one by one, so that those before an error hold.
struct File<'a> {
    rules: &'a mut TdmRules,
    base: &'a Url,
}

impl<'de> Visitor<'de> for File<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of rules")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while self.rules.rules.len() < MAX_TDM_RULES
            && let Some(rule) = list.next_element::<Value>()?
        {
            if let Value::Object(rule) = rule {
                self.rules.add(&rule, self.base);
            }
        }
        Ok(())
    }

    /// Some files have one rule without the brackets.
    fn visit_map<A: MapAccess<'de>>(self, rule: A) -> Result<(), A::Error> {
        let rule = Map::deserialize(MapAccessDeserializer::new(rule))?;
        self.rules.add(&rule, self.base);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reserved(file: &str, path: &str) -> bool {
        let base = Url::parse("https://a.example/x").unwrap();
        let rules = TdmRules::parse(&base, file.as_bytes());
        rules.reservation(&base.join(path).unwrap()).is_some()
    }

    /// The protocol's examples, written with other names.
    #[test]
    fn the_first_rule_whose_location_matches_decides() {
        let file = r#"[{"location": "/papers/", "tdm-reservation": 1},
            {"location": "/news/open/*.html$", "tdm-reservation": 0},
            {"location": "/news/", "tdm-reservation": 1, "tdm-policy": "https://a.example/terms.json"},
            {"location": "/*.pdf$", "tdm-reservation": 1},
            {"location": "/%7Eann/a%24", "tdm-reservation": 1}]"#;
        for (path, expected) in [
            ("/papers/1", true),
            ("/papers", false),
            ("/Papers/1", false),
            ("/news/1", true),
            ("/news/open/1.html", false),
            ("/news/open/1.html?x=1", true),
            ("/x/y.pdf", true),
            ("/x/y.pdf?page=2", false),
            ("/~ann/a$b", true),
            ("/~ann/ab", false),
            ("/", false),
        ] {
            assert_eq!(reserved(file, path), expected, "{path}");
        }
        let base = Url::parse("https://a.example/news/1").unwrap();
        let detail = TdmRules::parse(&base, file.as_bytes()).reservation(&base).unwrap();
        let expected =
            "tdmrep.json: tdm-reservation: 1, location /news/, policy https://a.example/terms.json";
        assert_eq!(detail, expected);
    }

    #[test]
    fn common_deviations_are_read_as_reservations_and_other_values_are_ignored() {
        for file in [
            "[{\"location\": \"/\", \"tdm-reservation\": 1}]",
            "\u{feff}[{\"location\": \"/\", \"tdm-reservation\": \"1\"}]",
            "[{\"location\": \"*\", \"tdm-reservation\": true}]",
            "[{\"location\": \"/*\", \"tdm-reservation\": 1.0}]",
            "[{\"location\": \"p\", \"tdm-reservation\": 1}]",
            "[{\"location\": \"https://a.example/p*\", \"tdm-reservation\": 1}]",
            "[{\"location\": \"https://a.example\", \"tdm-reservation\": 1}]",
            "[{\"tdm-reservation\": 1}]",
            "{\"tdm-reservation\": 1, \"tdm-policy\": 7}",
            "[7, null, [], {\"location\": \"/\"}, {\"location\": \"/\", \"tdm-reservation\": 1}]",
            // It ends early.
            "[{\"location\": \"/\", \"tdm-reservation\": 1}, {\"location\": \"/x",
            "[{\"location\": \"/\", \"tdm-reservation\": 1} {\"location\"",
        ] {
            assert!(reserved(file, "/page"), "{file}");
        }
        for file in [
            "",
            "<!doctype html><title>Not found</title>",
            "null",
            "\"tdm-reservation: 1\"",
            "[{\"location\": \"/\", \"tdm-reservation\": 2}]",
            "[{\"location\": \"/\", \"tdm-reservation\": \"yes\"}]",
            "[{\"location\": \"\", \"tdm-reservation\": 1}]",
            "[{\"location\": 7, \"tdm-reservation\": 1}]",
            "[{\"location\": \"https://b.example/\", \"tdm-reservation\": 1}]",
            "[{\"location\": \"https://\", \"tdm-reservation\": 1}]",
            // A rule without a location does not lift the rules after it, and there are none.
            "[{\"tdm-reservation\": 0}]",
            "[{\"location\": \"/\", \"tdm-reservation\": 0}, {\"location\": \"/\", \"tdm-reservation\": 1}]",
        ] {
            assert!(!reserved(file, "/page"), "{file}");
        }
        let lifts_nothing =
            "[{\"tdm-reservation\": 0}, {\"location\": \"/\", \"tdm-reservation\": 1}]";
        assert!(reserved(lifts_nothing, "/page"));
    }

    #[test]
    fn rules_lengths_and_depths_of_a_hostile_file_are_limited() {
        let base = Url::parse("http://a.example/").unwrap();
        let rule =
            |location: &str| format!("{{\"location\": \"{location}\", \"tdm-reservation\": 1}}");
        let many: Vec<String> = (0..3 * MAX_TDM_RULES).map(|at| rule(&format!("/{at}/"))).collect();
        let rules = TdmRules::parse(&base, format!("[{}]", many.join(",")).as_bytes());
        assert_eq!(rules.rules.len(), MAX_TDM_RULES);
        let long = format!("[{}, {}]", rule(&format!("/{}", "x".repeat(MAX_TDM_TEXT))), rule("/y"));
        assert_eq!(TdmRules::parse(&base, long.as_bytes()).rules.len(), 1);
        let policy = "y".repeat(MAX_TDM_TEXT + 1);
        let long = format!(
            "[{{\"location\": \"/\", \"tdm-reservation\": 1, \"tdm-policy\": \"{policy}\"}}]"
        );
        assert_eq!(TdmRules::parse(&base, long.as_bytes()).rules[0].policy, None);
        // Deeply nested JSON ends the file.
        let deep = format!("[{}, {}{}]", rule("/a"), "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(TdmRules::parse(&base, deep.as_bytes()).rules.len(), 1);
        // Many stars cost no exponential time.
        let stars = format!("[{}]", rule(&"*a".repeat(900)));
        let url = base.join(&"a".repeat(2_000)).unwrap();
        assert!(TdmRules::parse(&base, stars.as_bytes()).reservation(&url).is_some());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_parsed(body: Vec<u8>, path in "/[a-z*$%/]{0,20}") {
            let base = Url::parse("http://a.example/").unwrap();
            let rules = TdmRules::parse(&base, &body);
            if let Ok(url) = base.join(&path) {
                let _ = rules.reservation(&url);
            }
        }
    }
}
