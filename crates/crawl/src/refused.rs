use crate::error::Error;

/// Why a row of the log cannot be changed, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("it is gone")]
    Gone,
    #[error("one of the two pages is gone")]
    OneGone,
    #[error("the page that was kept is gone")]
    KeptGone,
    #[error("it was not restored")]
    NotRestored,
    #[error("it was restored before")]
    Restored,
    #[error("no row of discarded.jsonl has this id")]
    NoRow,
    #[error("it is discarded already")]
    Discarded,
    #[error("it stands for the other page now")]
    StandsForOther,
    #[error("it only leads to {0}: there is no page")]
    Redirect(String),
    #[error("a newer line is about this page: name it by its URL")]
    Renewed,
    #[error("it is the page that is kept now")]
    IsKept,
    #[error("the page was forgotten, or fetched again since and is another one now")]
    Ended,
    #[error("it is not discarded any more: forgotten, or fetched again since")]
    NotDiscarded,
    #[error("its text was not kept (--no-warc): only fetching it again would bring it back")]
    NoText,
}

/// Why a row was not changed.
pub(crate) enum Unchanged {
    /// This row cannot be changed; others may be.
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
