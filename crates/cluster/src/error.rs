/// Longest name of a crawl or worker. A worker's name plus the suffix for its process must fit the length byte.
pub(crate) const MAX_NAME: usize = 200;

/// Why a cluster could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It was not usable for longer than the patience.
    #[error(
        "the cluster at {address} could not be used for {seconds} s: {why}. Check that its servers run"
    )]
    Unavailable {
        /// The configured nodes.
        address: String,
        /// Duration of the attempts.
        seconds: u64,
        /// Its last error.
        why: String,
    },
    /// The address is invalid.
    #[error("{address}: {why}. Write a cluster like redis://HOST:PORT[,HOST:PORT...]")]
    Address {
        /// The given address.
        address: String,
        /// The reason.
        why: String,
    },
    /// The name would break keys or values.
    #[error(
        "invalid {what} {name:?}. Use 1 to {MAX_NAME} bytes without braces and control characters"
    )]
    Name {
        /// The kind of name.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// It permanently refused a command.
    #[error("the cluster at {address} refused a command: {why}")]
    Refused {
        /// The configured nodes.
        address: String,
        /// Its error.
        why: String,
    },
    /// The crawl with this name has other settings.
    #[error(
        "the crawl {name:?} at {address} uses {what} {stored}, but this worker has {asked}. Use the same \
         value, or another --cluster-name"
    )]
    Differs {
        /// The crawl's name.
        name: String,
        /// The configured nodes.
        address: String,
        /// The setting.
        what: &'static str,
        /// The crawl's value.
        stored: String,
        /// The requested value.
        asked: String,
    },
    /// A key has a value that this version does not write.
    #[error(
        "the cluster at {address} has a key {key} that is not a crawl's. Use another --cluster-name"
    )]
    Foreign {
        /// The configured nodes.
        address: String,
        /// The key.
        key: String,
    },
    /// The distance exceeds [`MAX_DISTANCE`](crate::MAX_DISTANCE).
    #[error("the largest --distance with a cluster is {0}. Give a smaller one")]
    Distance(u32),
}

/// The result of this crate's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;

impl From<Error> for hapax_dedup::Error {
    fn from(error: Error) -> Self {
        Self::Elsewhere(Box::new(error))
    }
}

impl From<Error> for hapax_frontier::Error {
    fn from(error: Error) -> Self {
        Self::Elsewhere(Box::new(error))
    }
}
