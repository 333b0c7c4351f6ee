//! Filters and sort order of rows.

use std::cmp::Ordering;

use hapax_data::spelling::did_you_mean;
use hapax_data::{
    DuplicateKind, Error, Result, Row, RowFilter, Rows, WantedCause, parse_distances, parse_moment,
    parse_similarities,
};

/// Which rows are wanted.
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only this host
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Filter"))]
    pub host: Option<String>,
    /// Only this kind: exact, near, canonical, alias, part
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Filter"))]
    pub kind: Option<String>,
    /// Only this distance, or a range such as 2..3
    #[cfg_attr(feature = "clap", arg(long, value_name = "K", help_heading = "Filter"))]
    pub distance: Option<String>,
    /// Only this similarity, or a range such as 0.5..0.7, rounded as the list shows it; with three decimals exactly
    #[cfg_attr(feature = "clap", arg(long, value_name = "S", help_heading = "Filter"))]
    pub similarity: Option<String>,
    /// Only from this time on, such as 2026-11-20 or 2026-11-20T19:00:00Z
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", help_heading = "Filter"))]
    pub since: Option<String>,
    /// Only before this time
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", help_heading = "Filter"))]
    pub until: Option<String>,
    /// Only this language, such as zh
    #[cfg_attr(feature = "clap", arg(long, value_name = "CODE", help_heading = "Filter"))]
    pub language: Option<String>,
    /// Only rows with this text in URL or title
    #[cfg_attr(
        feature = "clap",
        arg(long = "match", value_name = "TEXT", help_heading = "Filter")
    )]
    pub text: Option<String>,
    /// Only this cause of the address, such as print or parameter:sort
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Filter"))]
    pub cause: Option<String>,
    /// Only what was restored
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Filter"))]
    pub restored: bool,
}

/// The order of rows.
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As they were discarded
    #[default]
    Time,
    /// By Hamming distance
    Distance,
    /// By similarity, the least alike first
    Similarity,
    /// By host
    Host,
    /// By size
    Bytes,
    /// By the page that was kept
    Of,
}

impl Order {
    /// The order with this name.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [
            ("time", Self::Time),
            ("distance", Self::Distance),
            ("similarity", Self::Similarity),
            ("host", Self::Host),
            ("bytes", Self::Bytes),
            ("of", Self::Of),
        ];
        all.into_iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, order)| order)
    }

    /// Returns a function to numbers in this order for the rows of one log.
    pub(crate) fn keys(self, rows: &Rows) -> impl Fn(&Row) -> u64 {
        let ranks = if self == Self::Host { rows.host_ranks() } else { Vec::new() };
        move |row| match self {
            Self::Time => row.offset,
            Self::Distance => row.distance.into(),
            Self::Similarity => row.similarity.into(),
            Self::Host => ranks.get(row.host as usize).copied().unwrap_or(u32::MAX).into(),
            Self::Bytes => row.bytes.into(),
            Self::Of => row.of,
        }
    }

    /// The order of two rows from two logs.
    pub fn compare_across(
        self,
        (a_rows, a): (&Rows, &Row),
        (b_rows, b): (&Rows, &Row),
    ) -> Ordering {
        match self {
            // Within one log, rows are in this order already.
            Self::Time => a.time.cmp(&b.time),
            Self::Distance => a.distance.cmp(&b.distance),
            Self::Similarity => a.similarity.cmp(&b.similarity),
            Self::Host => a_rows.host(a).cmp(b_rows.host(b)),
            Self::Bytes => a.bytes.cmp(&b.bytes),
            Self::Of => a.of.cmp(&b.of),
        }
    }
}

impl Filter {
    /// Parses the filter's texts.
    ///
    /// # Errors
    /// [`Error::Invalid`], which names the flag and what is allowed.
    pub fn test(&self, rows: &Rows) -> Result<RowFilter> {
        let kind = self.kind.as_ref().map(|kind| {
            DuplicateKind::parse(kind).ok_or_else(|| {
                let names = DuplicateKind::ALL.map(DuplicateKind::as_str);
                let guess = did_you_mean(kind, names.into_iter());
                Error::Invalid(format!(
                    "--kind {kind}: unknown kind. Kinds: {}{guess}",
                    names.join(", ")
                ))
            })
        });
        // The error's text begins with the flag's name.
        let flag = |error: hapax_data::Error| Error::Invalid(format!("--{error}"));
        let distance = self.distance.as_deref().map(|text| parse_distances(text).map_err(flag));
        let similarity =
            self.similarity.as_deref().map(|text| parse_similarities(text).map_err(flag));
        let time = |name: &str, text: &Option<String>, open: u64| match text {
            Some(text) => {
                parse_moment(text).map_err(|error| Error::Invalid(format!("--{name}: {error}")))
            }
            None => Ok(open),
        };
        let language = self.language.as_ref().map(|language| {
            <[u8; 2]>::try_from(language.as_bytes()).map_err(|_| {
                Error::Invalid(format!(
                    "--language {language}: not a language code. Use two letters, such as en or zh"
                ))
            })
        });
        let cause = self.cause.as_ref().map(|cause| {
            WantedCause::parse(cause).ok_or_else(|| {
                let guess = did_you_mean(cause, WantedCause::names());
                let names: Vec<&str> = WantedCause::names().collect();
                let names = names.join(", ");
                Error::Invalid(format!("--cause {cause}: unknown cause. Causes: {names}{guess}"))
            })
        });
        Ok(RowFilter {
            host: self.host.as_deref().map(|host| rows.host_numbers(host)),
            kind: kind.transpose()?,
            distance: distance.transpose()?,
            similarity: similarity.transpose()?,
            time: (time("since", &self.since, 0)?, time("until", &self.until, u64::MAX)?),
            language: language.transpose()?,
            text: self
                .text
                .as_ref()
                .filter(|text| !text.is_empty())
                .map(|text| text.to_lowercase()),
            cause: cause.transpose()?,
            restored: self.restored,
        })
    }
}
