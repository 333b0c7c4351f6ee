//! Counts links with parameters that the normal form of an address lacks, such as `utm_source`.

use std::collections::BTreeMap;

use hapax_url::{UrlLimits, removed_parameters};
use url::Url;

use crate::patterns::LeftOut;

/// Maximum number of names. `utm_*` has no end, so further names are counted as `*`.
const MAX_NAMES: usize = 500;
/// Longest name, in bytes; a longer one is cut.
const MAX_NAME: usize = 64;
const OTHERS: &str = "*";

#[derive(Debug, Default)]
pub(crate) struct RemovedParameters {
    names: BTreeMap<String, (u64, Url)>,
}

impl RemovedParameters {
    /// Counts a link.
    pub(crate) fn saw(&mut self, url: &Url, limits: &UrlLimits) {
        if url.query().is_none() && !url.path().contains(';') {
            return;
        }
        for name in removed_parameters(url, limits) {
            let name = name.get(..name.floor_char_boundary(MAX_NAME)).unwrap_or_default();
            let is_full = self.names.len() >= MAX_NAMES && !self.names.contains_key(name);
            let name = if is_full { OTHERS } else { name };
            match self.names.get_mut(name) {
                Some((count, _)) => *count += 1,
                None => {
                    self.names.insert(name.to_owned(), (1, url.clone()));
                }
            }
        }
    }

    /// Returns the links of this run, by parameter.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = LeftOut> + '_ {
        self.names.iter().map(|(name, (count, example))| LeftOut {
            example: example.clone(),
            count: *count,
            rule: format!("drop-parameter {name}"),
            detail: format!(
                "{count} links had the parameter {name}, which never changes a page: requested without it"
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_counted_by_removed_parameter_within_a_limit() {
        let mut removed = RemovedParameters::default();
        let mut saw = |url: String| removed.saw(&Url::parse(&url).unwrap(), &UrlLimits::default());
        (0..3).for_each(|i| saw(format!("http://a.example/{i}?utm_source=x&PHPSESSID=1&a=2")));
        saw("http://a.example/;jsessionid=1".into());
        saw("http://a.example/?a=1".into());
        (0..2 * MAX_NAMES).for_each(|i| saw(format!("http://a.example/?utm_{i}=x")));
        let found: Vec<_> = removed.left_out().map(|line| (line.rule, line.count)).collect();
        assert_eq!(found.len(), MAX_NAMES + 1);
        for (rule, count) in [("utm_source", 3), ("PHPSESSID", 3), ("jsessionid", 1)] {
            assert!(found.contains(&(format!("drop-parameter {rule}"), count)), "{rule}");
        }
        let others = found.iter().find(|(rule, _)| rule.ends_with(" *")).unwrap();
        assert_eq!(others.1, 2 * MAX_NAMES as u64 - (MAX_NAMES as u64 - 3));
    }
}
