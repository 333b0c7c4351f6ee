//! Converts panics of the embedded database on a damaged file to errors.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) const ADVICE: &str =
    "restore it from a backup, or delete the folder to start again from the seeds";

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether a panic of this thread becomes an [`Error::Damaged`](crate::Error::Damaged), which a panic hook
/// need not report.
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Runs `work` and returns its panic message as an error. redb trusts its pages: it panics on some that are damaged.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let before = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    done.map_err(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        format!("it cannot be read ({said}): {ADVICE}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_the_panic_message() {
        assert_eq!(guarded(|| 7), Ok(7));
        assert!(
            guarded(|| assert!(!is_guarded(), "of this test"))
                .unwrap_err()
                .contains("of this test")
        );
        assert!(!is_guarded());
    }
}
