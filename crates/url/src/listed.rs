//! Parameters that do not identify a page: `tracking.txt` and `sessions.txt` list them.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Parameters that track the origin of a visitor and never change a page. A final `*` matches any suffix.
pub(crate) static TRACKING: LazyLock<Listed> =
    LazyLock::new(|| Listed::read(include_str!("tracking.txt")));

/// Parameters and path suffixes that identify a session, in the same format. A number after a name is the minimum
/// length of the value: `session_id=5` is a talk at a conference.
pub(crate) static SESSIONS: LazyLock<Listed> =
    LazyLock::new(|| Listed::read(include_str!("sessions.txt")));

/// Longest name in a list, in bytes. Names are lowercased into an array of this size: a page may have millions of
/// them, and each would cost an allocation.
const MAX_NAME: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// Names in lower case, with the minimum length of their values.
    whole: HashMap<&'static [u8], usize>,
    /// Prefixes of names, likewise.
    starts: Vec<(&'static [u8], usize)>,
}

impl Listed {
    fn read(list: &'static str) -> Self {
        let mut listed = Self::default();
        for line in list.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, length) = line.split_once(' ').unwrap_or((line, "0"));
            let length = length.parse().unwrap_or(0);
            match name.strip_suffix('*') {
                Some(start) => listed.starts.push((start.as_bytes(), length)),
                None => {
                    listed.whole.insert(name.as_bytes(), length);
                }
            }
        }
        listed
    }

    /// Returns whether the list contains `name=value`, or a name alone.
    pub(crate) fn has(&self, pair: &str) -> bool {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = name.as_bytes();
        let begins = |start: &[u8]| {
            name.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start))
        };
        self.starts.iter().any(|(start, length)| value.len() >= *length && begins(start))
            || self.length_of(name).is_some_and(|length| value.len() >= length)
    }

    fn length_of(&self, name: &[u8]) -> Option<usize> {
        let mut lowered = [0; MAX_NAME];
        let lowered = lowered.get_mut(..name.len())?;
        lowered.copy_from_slice(name);
        lowered.make_ascii_lowercase();
        self.whole.get(&*lowered).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LISTS: [&str; 2] = [include_str!("tracking.txt"), include_str!("sessions.txt")];

    /// The reference: interprets the list line by line.
    fn slowly(list: &str, pair: &str) -> bool {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = name.to_ascii_lowercase();
        let rules = list.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
        rules.map(|rule| rule.split_once(' ').unwrap_or((rule, "0"))).any(|(rule, length)| {
            let named = match rule.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == rule,
            };
            named && value.len() >= length.parse().unwrap_or(0)
        })
    }

    #[test]
    fn every_listed_parameter_name_is_short_lower_case_and_unique() {
        for (list, listed) in LISTS.into_iter().zip([&TRACKING, &SESSIONS]) {
            let rules = list.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
            assert_eq!(listed.whole.len() + listed.starts.len(), rules.count());
            let names = listed.whole.keys().chain(listed.starts.iter().map(|(name, _)| name));
            for name in names {
                assert!(!name.is_empty() && name.len() <= MAX_NAME);
                assert_eq!(name.to_ascii_lowercase(), *name);
            }
        }
    }

    proptest! {
        #[test]
        fn listed_parameters_match_a_linear_scan_of_the_list(
            at in any::<prop::sample::Index>(), cut in 0..3usize, upper in any::<bool>(),
            behind in "[a-z=*.]{0,2}", value in "(=[a-z0-9=]{0,20})?",
        ) {
            let rules: Vec<&str> = LISTS.iter().flat_map(|list| list.lines()).collect();
            let rule = rules[at.index(rules.len())].split(' ').next().unwrap_or_default();
            let name = rule.trim_end_matches('*');
            let name = &name[..name.len().saturating_sub(cut)];
            let name = if upper { name.to_ascii_uppercase() } else { name.to_owned() };
            let pair = format!("{name}{behind}{value}");
            prop_assert_eq!(TRACKING.has(&pair), slowly(LISTS[0], &pair), "{}", pair);
            prop_assert_eq!(SESSIONS.has(&pair), slowly(LISTS[1], &pair), "{}", pair);
        }

        #[test]
        fn any_text_matches_as_in_a_linear_scan_of_the_list(pair in ".{0,40}") {
            prop_assert_eq!(TRACKING.has(&pair), slowly(LISTS[0], &pair));
            prop_assert_eq!(SESSIONS.has(&pair), slowly(LISTS[1], &pair));
        }
    }
}
