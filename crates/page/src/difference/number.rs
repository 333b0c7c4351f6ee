//! Numbers and years as words of a text.

/// Number of digits of a year.
const YEAR: usize = 4;
/// Maximum of the numbers in a date except years: days, hours, minutes.
pub(super) const GREATEST: u32 = 60;

pub(crate) fn is_number(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
}

pub(super) fn is_year(word: &str) -> bool {
    let digits = word.len() == YEAR && word.bytes().all(|byte| byte.is_ascii_digit());
    digits && (word.starts_with("19") || word.starts_with("20"))
}
