use crate::error::Error;

/// Why a row of the log cannot be changed, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("the page is no longer stored")]
    Gone,
    #[error("one of the two pages is no longer stored")]
    OneGone,
    #[error("the kept page is no longer stored")]
    KeptGone,
    #[error("it was not restored")]
    NotRestored,
    #[error("it was restored before")]
    Restored,
    #[error("no row of discarded.jsonl has this id")]
    NoRow,
    #[error("it is discarded already")]
    Discarded,
    #[error("it represents the other page now")]
    StandsForOther,
    #[error("it is a redirect to {0}, not a page")]
    Redirect(String),
    #[error("a newer log line describes this page: give its URL in place of the id")]
    Renewed,
    #[error("it is the kept page now")]
    IsKept,
    #[error("the page was forgotten, or it changed when it was fetched again")]
    Ended,
    #[error("it is no longer discarded: it was forgotten or fetched again")]
    NotDiscarded,
    #[error("its text is not stored (--no-warc). Fetch the page again to restore it")]
    NoText,
}

/// Why a row was not changed.
pub(crate) enum Unchanged {
    /// This row cannot be changed. Other rows may be.
    Refused(Refused),
    Failed(Error),
}

/// The result of changing one row.
pub(crate) type Change<T> = Result<T, Unchanged>;

impl<E: Into<Error>> From<E> for Unchanged {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Returns why a change was not made; `None` if it was.
pub(crate) fn settled(change: Change<()>) -> Result<Option<Refused>, Error> {
    match change {
        Ok(()) => Ok(None),
        Err(Unchanged::Refused(why)) => Ok(Some(why)),
        Err(Unchanged::Failed(error)) => Err(error),
    }
}

/// Refuses a change for this reason.
pub(crate) const fn refused<T>(why: Refused) -> Change<T> {
    Err(Unchanged::Refused(why))
}
