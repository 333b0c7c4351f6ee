//! The field `cause` of a line, and sets of causes in two bytes for the rows.

use hapax_url::{Cause, CauseHints, causes};
use url::Url;

/// Returns the causes of an address as the log has them; empty if one of the two is not a URL, as in the tables of
/// `crawl dedup`. `language` is that of the discarded page.
pub fn causes_of(url: &str, of_url: &str, language: &str) -> Vec<String> {
    let (Ok(url), Ok(of)) = (Url::parse(url), Url::parse(of_url)) else { return Vec::new() };
    if url == of || !url.has_host() || !of.has_host() {
        return Vec::new();
    }
    let hints = CauseHints { language, ..CauseHints::default() };
    causes(&url, &of, hints).iter().map(Cause::to_string).collect()
}

/// A set of causes; all parameters are one bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseSet(pub(crate) u16);

impl CauseSet {
    const PARAMETER: u16 = 1 << 15;

    /// Returns the set of the values of the field `cause`. Unknown values count as `other`.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let bits = values.into_iter().map(|value| {
            let cause = Cause::parse(value).unwrap_or(Cause::Other);
            let at = Cause::PLAIN.iter().position(|own| *own == cause);
            at.map_or(Self::PARAMETER, |at| 1 << at)
        });
        Self(bits.fold(0, |all, bit| all | bit))
    }

    /// Returns whether the sets have a cause in common.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the names of the causes; all parameters are `parameter`.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let has = move |bit: u16| self.0 & bit != 0;
        let plain = Cause::PLAIN.iter().enumerate();
        let plain = plain.filter(move |(at, _)| has(1 << at)).map(|(_, cause)| cause.name());
        plain.chain(has(Self::PARAMETER).then_some("parameter"))
    }
}

/// A cause that rows must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedCause {
    pub(crate) set: CauseSet,
    /// The whole value, if it names a parameter.
    pub(crate) value: Option<String>,
}

impl WantedCause {
    /// Parses a value of the field, or `parameter` for all parameters; `None` for an unknown one.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "parameter" {
            return Some(Self { set: CauseSet(CauseSet::PARAMETER), value: None });
        }
        let cause = Cause::parse(text)?;
        let value = matches!(cause, Cause::Parameter(_)).then(|| cause.to_string());
        Some(Self { set: CauseSet::of([text]), value })
    }

    /// All values without the name of a parameter, for an error's text.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Cause::PLAIN.iter().map(Cause::name).chain(["parameter", "parameter:NAME"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_causes_that_were_put_in() {
        let set = CauseSet::of(["print", "parameter:sort", "scheme"]);
        assert_eq!(set.names().collect::<Vec<_>>(), ["scheme", "print", "parameter"]);
        for (cause, meets) in
            [("print", true), ("parameter", true), ("parameter:x", true), ("amp", false)]
        {
            assert_eq!(WantedCause::parse(cause).unwrap().set.meets(set), meets, "{cause}");
        }
        assert_eq!(CauseSet::of(["of-a-later-version"]).names().collect::<Vec<_>>(), ["other"]);
        assert_eq!(CauseSet::of([]).names().count(), 0);
        assert_eq!(WantedCause::parse("prints"), None);
    }

    #[test]
    fn keys_that_are_not_urls_have_no_cause() {
        assert_eq!(causes_of("http://a.example/print/7", "http://a.example/7", ""), ["print"]);
        for (one, other) in [
            ("7", "8"),
            ("http://a.example/", "8"),
            ("urn:x:7", "urn:x:8"),
            ("http://a.example/", "http://a.example"),
        ] {
            assert!(causes_of(one, other, "").is_empty(), "{one}");
        }
    }
}
