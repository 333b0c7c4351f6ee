use std::io::Write;

pub(crate) use hapax_report::text::{bytes, counted, duration, escape, json, line, number};

/// Tolerates a closed pipe, such as that of `head`: the work is done and its exit code is valid.
///
/// # Errors
/// Any other error.
pub(crate) fn unless_closed<E: Into<anyhow::Error>>(printed: Result<(), E>) -> anyhow::Result<()> {
    match printed.map_err(Into::into) {
        Err(error) if crate::exit::is_closed_pipe(&error) => Ok(()),
        printed => printed,
    }
}

pub(crate) fn colour(terminal: bool) -> bool {
    terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Prints an error with its causes.
pub(crate) fn error(error: &anyhow::Error) {
    let mut message = String::new();
    for cause in error.chain() {
        let text = cause.to_string();
        // Libraries sometimes repeat the source's message in their own.
        if !message.ends_with(&text) {
            if !message.is_empty() {
                message.push_str(": ");
            }
            message.push_str(&text);
        }
    }
    let _ = writeln!(std::io::stderr(), "crawl: {}", escape(&message));
}

/// Says that a flag has a new name. The old one works for one more version.
pub(crate) fn renamed(old: &str, new: &str) {
    let _ =
        writeln!(std::io::stderr(), "crawl: {old} is now {new}; the next version refuses {old}");
}

/// The most bytes of an error about input, which may quote the input.
const MAX_COMPLAINT: usize = 600;

/// Cuts the middle of a long error message, because the problem is named at the end.
pub(crate) fn shortened(what: &str) -> std::borrow::Cow<'_, str> {
    if what.len() <= MAX_COMPLAINT {
        return what.into();
    }
    let start = what.floor_char_boundary(MAX_COMPLAINT / 2);
    let end = what.ceil_char_boundary(what.len() - MAX_COMPLAINT / 2);
    let part = |range: std::ops::Range<usize>| what.get(range).unwrap_or_default();
    format!("{} … {}", part(0..start), part(end..what.len())).into()
}
