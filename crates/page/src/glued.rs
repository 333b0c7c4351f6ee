//! Words of dates that have letters and digits without a space between them: `2026q3`, `w30`, `jul2026`, `y2026m07`.

use crate::difference::changing;

/// Letters beside the number of a quarter, week, year, month or day, and before a time of day.
const MARKS: [&str; 8] = ["q", "w", "kw", "cw", "y", "m", "d", "t"];
/// Those that need no year in the same word.
const ALONE: [&str; 4] = ["q", "w", "kw", "cw"];
/// Maximum number of pieces of a word: those of `y2026m07d12`.
const MAX_PIECES: usize = 6;
/// Numbers beside a mark: the greatest week, which is also greater than any day.
const GREATEST: u32 = 53;
const YEAR_DIGITS: usize = 4;
const YEARS: std::ops::RangeInclusive<u32> = 1000..=2999;

fn is_year(piece: &str) -> bool {
    piece.len() == YEAR_DIGITS && piece.parse().is_ok_and(|year| YEARS.contains(&year))
}

/// Splits a word at the borders between letters and digits if it is a date. Other words are returned whole.
///
/// # Complexity
/// Linear in the word.
pub(crate) fn pieces_of_date(word: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        if pieces.len() == MAX_PIECES {
            return vec![word];
        }
        let digit = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digit).unwrap_or(rest.len());
        let (piece, later) = rest.split_at_checked(end).unwrap_or((rest, ""));
        pieces.push(piece);
        rest = later;
    }
    let is_number = |piece: &&str| piece.starts_with(|c: char| c.is_ascii_digit());
    let (numbers, letters): (Vec<&str>, Vec<&str>) = pieces.iter().copied().partition(is_number);
    let has_year = numbers.iter().any(|number| is_year(number));
    let fits = numbers
        .iter()
        .all(|number| is_year(number) || number.parse::<u32>().is_ok_and(|n| n <= GREATEST));
    let marks = |letters: &&str| {
        changing(&[*letters]).contains(&true)
            || if has_year { MARKS.contains(letters) } else { ALONE.contains(letters) }
    };
    // `12h` and `05t08` are times, which are known as whole words.
    let is_time = word.starts_with(|c: char| c.is_ascii_digit()) && !has_year;
    let is_date = pieces.len() > 1 && fits && !is_time && letters.iter().all(marks);
    if is_date { pieces } else { vec![word] }
}

/// Splits a word of a URL, also one with a counter: `next12`.
pub(crate) fn pieces_of_url(word: &str) -> Vec<&str> {
    let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let has_counter = name.len() < word.len() && !name.is_empty();
    match pieces_of_date(word) {
        whole
            if whole.len() == 1 && has_counter && !name.contains(|c: char| c.is_ascii_digit()) =>
        {
            let (name, number) = word.split_at_checked(name.len()).unwrap_or((word, ""));
            vec![name, number]
        }
        pieces => pieces,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_split_and_other_words_are_not() {
        for (word, pieces) in [
            ("2026q3", "2026 q 3"),
            ("q3", "q 3"),
            ("w30", "w 30"),
            ("kw30", "kw 30"),
            ("2026w30", "2026 w 30"),
            ("jul2026", "jul 2026"),
            ("2026jul", "2026 jul"),
            ("y2026m07", "y 2026 m 07"),
            ("y2026m07d12", "y 2026 m 07 d 12"),
            ("mp3", "mp3"),
            ("h264", "h264"),
            ("v2", "v2"),
            ("covid19", "covid19"),
            ("m6", "m6"),
            ("w600", "w600"),
            ("12h", "12h"),
            ("05t08", "05t08"),
            ("81f3c00a", "81f3c00a"),
            ("1q2w3q4w5", "1q2w3q4w5"),
            ("2026", "2026"),
            ("july", "july"),
            ("", ""),
        ] {
            let whole = pieces_of_date(word);
            assert_eq!(whole.join(" "), pieces, "{word}");
        }
        for (word, pieces) in
            [("next12", "next 12"), ("q3", "q 3"), ("81f3c00a", "81f3c00a"), ("x1y2", "x1y2")]
        {
            assert_eq!(pieces_of_url(word).join(" "), pieces, "{word}");
        }
    }
}
