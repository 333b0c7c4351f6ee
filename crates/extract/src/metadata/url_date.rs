//! The date in a URL: `/2026/03/01/boats`, `/20260301-boats`, `/2026-03-01`.

use url::Url;

use super::date::Date;

/// Returns the first date in the path.
///
/// # Complexity
/// Linear in the path.
pub(crate) fn date(url: &Url) -> Option<Date> {
    let path = url.path();
    let numbers: Vec<(usize, &str)> = numbers(path);
    for (at, group) in numbers.iter().enumerate() {
        let (start, digits) = *group;
        if digits.len() == 8 {
            let found = civil(digits.get(..4)?, digits.get(4..6)?, digits.get(6..)?);
            if found.is_some() {
                return found;
            }
        }
        // `/201203/15/` and `/2012-03/15/`.
        if digits.len() == 6
            && let Some((day_at, day)) = numbers.get(at + 1)
            && path.get(start + 6..*day_at) == Some("/")
            && let Some(found) = civil(digits.get(..4)?, digits.get(4..)?, day)
        {
            return Some(found);
        }
        if digits.len() != 4 {
            continue;
        }
        let (Some((month_at, month)), Some((day_at, day))) =
            (numbers.get(at + 1), numbers.get(at + 2))
        else {
            continue;
        };
        let between =
            |from: usize, to: usize| matches!(path.get(from..to), Some("/" | "-" | "_" | "."));
        if between(start + 4, *month_at)
            && between(month_at + month.len(), *day_at)
            && let Some(found) = civil(digits, month, day)
        {
            return Some(found);
        }
    }
    None
}

/// Maximum number of numbers in a path that are read.
const MAX_NUMBERS: usize = 32;

fn numbers(path: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while found.len() < MAX_NUMBERS {
        let rest = path.get(at..).unwrap_or_default();
        let Some(start) = rest.find(|c: char| c.is_ascii_digit()) else { break };
        let digits = rest.get(start..).unwrap_or_default();
        let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        found.push((at + start, digits.get(..length).unwrap_or_default()));
        at += start + length;
    }
    found
}

fn civil(year: &str, month: &str, day: &str) -> Option<Date> {
    let short = |text: &str| (text.len() <= 2).then(|| text.parse().ok())?;
    Date::new(year.parse().ok()?, short(month)?, short(day)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_paths_are_found() {
        for (path, expected) in [
            ("/2026/03/01/boats", Some("2026-03-01")),
            ("/2026/3/1/", Some("2026-03-01")),
            ("/news/2026-03-01-boats.html", Some("2026-03-01")),
            ("/n/20260301/1", Some("2026-03-01")),
            ("/202603/01/t123.htm", Some("2026-03-01")),
            ("/17/2026/03/01", Some("2026-03-01")),
            ("/2026/03/", None),
            ("/12345678/", None),
            ("/20261301", None),
            ("/item/2026/boats/03/01", None),
            ("/2026/03/0100", None),
            ("/", None),
        ] {
            let url = Url::parse("http://a.example").unwrap().join(path).unwrap();
            assert_eq!(date(&url).map(|date| date.to_string()).as_deref(), expected, "{path}");
        }
        let many = format!("http://a.example/{}2026/03/01", "1/".repeat(MAX_NUMBERS));
        assert_eq!(date(&Url::parse(&many).unwrap()), None);
    }
}
