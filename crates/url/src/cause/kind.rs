//! The values of the field `cause`.

use std::fmt::{Display, Formatter};

/// Why a page has a second address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// http beside https.
    Scheme,
    /// The host with and without `www.`.
    Www,
    /// The path with and without a final slash.
    TrailingSlash,
    /// A directory and the file that the server sends for it: `/docs/index.html`.
    IndexFile,
    /// Capital letters, or another spelling of the percent-encoding.
    Case,
    /// A parameter of the query, or `;name` of a path: added, missing, moved or with another value.
    Parameter(String),
    /// A number of the visit, in a parameter or in the path.
    SessionId,
    /// A version for printers.
    Print,
    /// A version in Accelerated Mobile Pages.
    Amp,
    /// A version for phones.
    Mobile,
    /// The same text under the address of another language.
    Language,
    /// A page of a series, such as `/page/2`.
    Pagination,
    /// A list of pages by tag, category, author or date.
    Archive,
    /// The same path on another host.
    Mirror,
    /// The text on another site, under another path.
    Syndication,
    /// None of these.
    Other,
}

/// Longest name of a parameter, in bytes. Longer names are cut: they come from the web.
const MAX_NAME: usize = 64;
const PARAMETER: &str = "parameter:";

impl Cause {
    /// All causes without a name.
    pub const PLAIN: [Self; 15] = [
        Self::Scheme,
        Self::Www,
        Self::TrailingSlash,
        Self::IndexFile,
        Self::Case,
        Self::SessionId,
        Self::Print,
        Self::Amp,
        Self::Mobile,
        Self::Language,
        Self::Pagination,
        Self::Archive,
        Self::Mirror,
        Self::Syndication,
        Self::Other,
    ];

    /// Returns the cause of a parameter. The name is cut at 64 bytes.
    pub fn parameter(name: &str) -> Self {
        let end = name.floor_char_boundary(MAX_NAME);
        Self::Parameter(name.get(..end).unwrap_or_default().to_owned())
    }

    /// Returns the value of the field `cause`, without the name of a parameter.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Scheme => "scheme",
            Self::Www => "www",
            Self::TrailingSlash => "trailing-slash",
            Self::IndexFile => "index-file",
            Self::Case => "case",
            Self::Parameter(_) => "parameter",
            Self::SessionId => "session-id",
            Self::Print => "print",
            Self::Amp => "amp",
            Self::Mobile => "mobile",
            Self::Language => "language",
            Self::Pagination => "pagination",
            Self::Archive => "archive",
            Self::Mirror => "mirror",
            Self::Syndication => "syndication",
            Self::Other => "other",
        }
    }

    /// Parses a value of the field; `None` for an unknown one.
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix(PARAMETER) {
            Some(name) if !name.is_empty() => Some(Self::parameter(name)),
            _ => Self::PLAIN.into_iter().find(|cause| cause.name() == text),
        }
    }
}

impl Display for Cause {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Parameter(name) => write!(f, "{PARAMETER}{name}"),
            other => f.write_str(other.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_read_as_it_is_written() {
        for cause in Cause::PLAIN.into_iter().chain([Cause::parameter("sort")]) {
            assert_eq!(Cause::parse(&cause.to_string()), Some(cause));
        }
        for wrong in ["", "parameter", "parameter:", "Print", "none"] {
            assert_eq!(Cause::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_long_name_of_a_parameter_is_cut_at_a_character() {
        let cause = Cause::parameter(&"ü".repeat(200));
        assert_eq!(cause.to_string().len(), "parameter:".len() + 64);
        assert_eq!(Cause::parse(&cause.to_string()), Some(cause));
    }
}
