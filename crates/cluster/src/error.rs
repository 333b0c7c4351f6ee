/// The longest name of a crawl or worker: with its life behind it, a worker's must fit the one byte
/// that says how long it is.
pub(crate) const MAX_NAME: usize = 200;

/// Why a cluster could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It did not answer, or refused to work, for longer than is waited for.
    #[error("the cluster at {address} could not be used for {seconds} s: {why}")]
    Unavailable {
        /// The nodes that were given.
        address: String,
        /// For how long it was tried.
        seconds: u64,
        /// What it said last.
        why: String,
    },
    /// The addresses are none.
    #[error("{address}: {why}; a cluster is given as redis://HOST:PORT[,HOST:PORT...]")]
    Address {
        /// What was given.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// A name that would break the keys or values it stands in.
    #[error(
        "the {what} {name:?} cannot be used: 1 to {MAX_NAME} bytes without braces and control \
         characters"
    )]
    Name {
        /// Whose name it is.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// It refused a command for good.
    #[error("the cluster at {address} refused: {why}")]
    Refused {
        /// The nodes that were given.
        address: String,
        /// What it said.
        why: String,
    },
    /// The crawl of that name was made with other settings.
    #[error(
        "the crawl {name:?} at {address} was made with {what} {stored}, this worker has {asked}: \
         use the same, or another name"
    )]
    Differs {
        /// The crawl's name.
        name: String,
        /// The nodes that were given.
        address: String,
        /// Which setting.
        what: &'static str,
        /// What the crawl has.
        stored: String,
        /// What was asked for.
        asked: String,
    },
    /// What the cluster holds is not what this version writes there.
    #[error("the cluster at {address} holds something else under {key}")]
    Foreign {
        /// The nodes that were given.
        address: String,
        /// The key.
        key: String,
    },
    /// Tables of a cluster look no further.
    #[error("a cluster looks within distance {0} at most: give a smaller --distance")]
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
