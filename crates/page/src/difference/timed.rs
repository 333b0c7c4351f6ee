//! Tells dates and times of day from durations: `3 hours ago` and `3 May`, but not `every 3 hours` or `3 may`.

use super::number::{GREATEST, is_number, is_year};
use super::vocabulary::is_time;

/// Units of duration, sorted. They form a date only with a word of relative time, such as `ago`.
const UNITS: &[&str] = &[
    "an",
    "anni",
    "ano",
    "anos",
    "ans",
    "ay",
    "año",
    "años",
    "bulan",
    "dagar",
    "dage",
    "dagen",
    "dager",
    "dags",
    "dakika",
    "day",
    "days",
    "dia",
    "dias",
    "dni",
    "dny",
    "dní",
    "días",
    "giorni",
    "giorno",
    "giờ",
    "godzin",
    "godziny",
    "godzinę",
    "gün",
    "hafta",
    "hari",
    "heure",
    "heures",
    "hodin",
    "hodinami",
    "hodinu",
    "hodiny",
    "hora",
    "horas",
    "hour",
    "hours",
    "hr",
    "hrs",
    "jaar",
    "jahr",
    "jahre",
    "jahren",
    "jam",
    "jour",
    "jours",
    "maand",
    "maanden",
    "menit",
    "mes",
    "meses",
    "mesi",
    "min",
    "minggu",
    "mins",
    "minut",
    "minute",
    "minuten",
    "minuter",
    "minutes",
    "minuti",
    "minuto",
    "minutos",
    "minutter",
    "minuut",
    "minuuttia",
    "mois",
    "monat",
    "monate",
    "monaten",
    "month",
    "months",
    "månad",
    "månader",
    "måneder",
    "ngày",
    "ora",
    "ore",
    "phút",
    "päivää",
    "saat",
    "sec",
    "seconden",
    "seconds",
    "semaine",
    "semaines",
    "semana",
    "semanas",
    "settimana",
    "settimane",
    "stunde",
    "stunden",
    "tag",
    "tage",
    "tagen",
    "tahun",
    "tháng",
    "timer",
    "timmar",
    "timme",
    "tuntia",
    "tuần",
    "uger",
    "uker",
    "uren",
    "uur",
    "vecka",
    "veckor",
    "week",
    "weeks",
    "weken",
    "woche",
    "wochen",
    "year",
    "years",
    "yıl",
    "zile",
    "år",
    "ημέρες",
    "ημερών",
    "λεπτά",
    "μέρες",
    "μήνες",
    "ώρα",
    "ώρες",
    "год",
    "года",
    "годин",
    "години",
    "день",
    "дней",
    "дни",
    "дня",
    "днів",
    "лет",
    "месяца",
    "месяцев",
    "минут",
    "минуту",
    "минуты",
    "недели",
    "недель",
    "неделю",
    "тижнів",
    "хвилин",
    "хора",
    "час",
    "часа",
    "часов",
    "דקות",
    "יום",
    "ימים",
    "שעות",
    "أيام",
    "دقائق",
    "دقيقة",
    "دقیقه",
    "ساعات",
    "ساعة",
    "ساعت",
    "ساعتين",
    "घंटा",
    "घंटे",
    "दिन",
    "मिनट",
    "个",
    "個",
    "分",
    "周",
    "天",
    "年",
    "日",
    "时",
    "時",
    "月",
    "週",
    "년",
    "시",
    "월",
    "일",
];

/// Words of relative time before a number, sorted: `vor 3 Tagen`. Some are common words, so a unit must follow.
const BEFORE: &[&str] = &[
    "acum",
    "för",
    "hace",
    "há",
    "il",
    "pirms",
    "pred",
    "prieš",
    "prije",
    "před",
    "vor",
    "πριν",
    "преди",
    "לפני",
    "قبل",
    "منذ",
];

/// Words of relative time behind a number, sorted: `3 days ago`.
const BEHIND: &[&str] = &[
    "ago",
    "atrás",
    "ezelőtt",
    "fa",
    "geleden",
    "lalu",
    "sedan",
    "siden",
    "sitten",
    "tagasi",
    "temu",
    "trước",
    "önce",
    "назад",
    "тому",
    "پیش",
    "पहले",
    "前",
    "전",
];

/// Words of [`is_time`] that are common in other sentences, sorted. They form no date.
const WEAK: &[&str] =
    &["an", "at", "avant", "dans", "est", "fa", "il", "last", "mag", "mer", "second"];

/// Names of months and days that are common words too, sorted: a number must be beside them.
const AMBIGUOUS: &[&str] =
    &["mai", "maj", "mar", "marca", "march", "may", "mon", "sat", "sep", "sun", "thu", "wed"];

/// Units that form a date where two of them are beside numbers, as in `11 月 27 日`.
const CALENDAR_UNITS: [&str; 8] = ["年", "日", "月", "년", "월", "일", "ngày", "tháng"];

/// Maximum number of words of a line in which a unit of duration is a time: `5 min`, `2 hours 5 minutes`.
const SHORT_LINE: usize = 6;
/// Maximum number of words between a number and a word of relative time, `il y a` included.
const RELATIVE: usize = 3;
const DAYS: u32 = 31;
const MONTHS: u32 = 12;
const HOURS: u32 = 24;
const MINUTES: u32 = 59;

fn is_in(list: &[&str], word: &str) -> bool {
    list.binary_search(&word).is_ok()
}

/// Returns whether a word names a day or a month, or a time of day: any word of time that is neither a unit nor a common
/// word.
fn is_plain(word: &str) -> bool {
    is_time(word) && ![UNITS, BEFORE, BEHIND, WEAK, AMBIGUOUS].iter().any(|list| is_in(list, word))
}

/// Returns whether words without a number are a time, such as `yesterday` or `monday`.
pub(super) fn is_time_alone<'w>(mut words: impl Iterator<Item = &'w str>) -> bool {
    words.any(|word| is_plain(word) || is_in(AMBIGUOUS, word) || word == "ago")
}

/// Returns whether words with numbers are a date, a time of day or a relative time. Words of a sentence must be cut to those
/// around the numbers.
///
/// # Complexity
/// Linear in the words.
pub(super) fn is_timed(words: &[&str]) -> bool {
    let number = |at: usize| words.get(at).is_some_and(|word| is_number(word));
    let beside = |at: usize| number(at + 1) || at.checked_sub(1).is_some_and(number);
    let mut units = 0;
    for (at, word) in words.iter().enumerate() {
        if CALENDAR_UNITS.contains(word) && beside(at) {
            let year = at.checked_sub(1).and_then(|before| words.get(before));
            if year.is_some_and(|word| is_year(word)) {
                return true;
            }
            units += 1;
        }
        let clock = number_with(word, &["am", "pm"])
            // "Ore 14:30".
            || is_in(UNITS, word) && is_time_of_day(words.get(at + 1..at + 3).unwrap_or_default());
        if clock || is_plain(word) || is_in(AMBIGUOUS, word) && beside(at) {
            return true;
        }
    }
    units > 1 || is_relative(words)
}

/// Returns whether a short line with a unit of duration is a time: the age of a comment, or the time of reading.
pub(super) fn is_short_duration<'w>(words: impl Iterator<Item = &'w str> + Clone) -> bool {
    words.clone().nth(SHORT_LINE).is_none() && words.clone().any(|word| is_in(UNITS, word))
}

/// Returns whether words have a relative time: `3 days ago`, `vor 3 Tagen`.
pub(super) fn is_relative(words: &[&str]) -> bool {
    let number = |word: &&str| is_number(word);
    words.iter().enumerate().any(|(at, word)| {
        let before = words.get(at.saturating_sub(RELATIVE)..at).unwrap_or_default();
        // A unit is between the number and the word.
        if is_in(BEHIND, word) && before.iter().any(number) && !before.last().is_some_and(number) {
            return true;
        }
        let behind = words.get(at + 1..).unwrap_or_default();
        let place = behind.iter().take(RELATIVE).position(number);
        let unit = place.and_then(|place| behind.get(place + 1));
        is_in(BEFORE, word)
            && (*word != "il" || behind.first() == Some(&"y"))
            && unit.is_some_and(|unit| is_in(UNITS, unit))
    })
}

/// Returns whether numbers alone look like a date with a year, or have one of its patterns: `3.5.25`, `3.5.25 14:30`, `14:30:05`,
/// `9:00-17:30`. Minutes, seconds and years without a century have two digits.
pub(super) fn is_date_of_numbers(numbers: &[&str]) -> bool {
    if numbers.iter().any(|word| is_year(word)) {
        return true;
    }
    let up_to = |word: &str, most: u32| word.parse::<u32>().is_ok_and(|value| value <= most);
    let day = |one: &str, other: &str| {
        let [one, other] = [one, other].map(|word| word.parse::<u32>().unwrap_or_default());
        one.min(other) > 0 && one.max(other) <= DAYS && one.min(other) <= MONTHS
    };
    let two = |word: &str, most: u32| word.len() == 2 && up_to(word, most);
    let is_date = |date: &[&str]| match date {
        [one, other, last] => {
            two(last, GREATEST) && day(one, other) || two(one, GREATEST) && day(other, last)
        }
        _ => false,
    };
    let is_clock = |time: &[&str]| match time {
        [hour, rest @ ..] => up_to(hour, HOURS) && rest.iter().all(|word| two(word, MINUTES)),
        [] => true,
    };
    match numbers.len() {
        3 => is_date(numbers) || is_clock(numbers),
        4 => numbers.chunks(2).all(is_clock),
        5 | 6 => is_date(&numbers[..3]) && is_clock(&numbers[3..]),
        _ => false,
    }
}

fn is_time_of_day(words: &[&str]) -> bool {
    match words {
        [hour, minute] => {
            minute.len() == 2
                && hour.parse::<u32>().is_ok_and(|hour| hour <= HOURS)
                && minute.parse::<u32>().is_ok_and(|minute| minute <= MINUTES)
        }
        _ => false,
    }
}

/// Returns whether a word is a number with one of these units, such as `3pm`.
fn number_with(word: &str, units: &[&str]) -> bool {
    units
        .iter()
        .any(|unit| word.strip_suffix(unit).is_some_and(|number| number.parse::<u32>().is_ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        for list in [UNITS, BEFORE, BEHIND, WEAK, AMBIGUOUS] {
            assert!(list.windows(2).all(|two| two[0] < two[1]), "{list:?}");
        }
    }

    #[test]
    fn dates_and_relative_times_are_timed_and_durations_are_not() {
        let timed = |text: &str| is_timed(&text.split(' ').collect::<Vec<_>>());
        for time in [
            "3 hours ago",
            "vor 3 tagen",
            "vor etwa 3 stunden",
            "il y a 3 heures",
            "3 ore fa",
            "hace 3 semanas",
            "há 3 dias",
            "för 3 timmar sedan",
            "3 часа назад",
            "3 saat önce",
            "3 小 时 前",
            "3 jam lalu",
            "3 may",
            "mar 3",
            "monday 9 30",
            "3pm",
            "12 40 uhr",
            "ore 14 30",
            "2026 年",
            "11 月 27 日",
            "posted 14 30",
        ] {
            assert!(timed(time), "{time}");
        }
        for other in [
            "every 4 hours",
            "7 days",
            "3 years and 18 months",
            "2 jahre",
            "培 训 3 年",
            "at 3",
            "the last 3 years",
            "you may take 3",
            "il mange 3 heures",
            "fa 3 ore",
            "an 3 tagen",
            "second 3",
        ] {
            assert!(!timed(other), "{other}");
        }
        assert!(is_time_alone(["yesterday"].into_iter()) && is_time_alone(["may"].into_iter()));
        assert!(!is_time_alone(["an", "hour"].into_iter()));
    }

    #[test]
    fn series_of_small_numbers_are_dates_only_with_a_pattern() {
        let dated = |text: &str| is_date_of_numbers(&text.split(' ').collect::<Vec<_>>());
        for date in [
            "2026 11 27",
            "27 11 2026 14 32",
            "3 5 25",
            "25 12 31",
            "3 5 25 14 30",
            "3 5 25 14 30 05",
            "14 30 05",
            "9 30 17 45",
        ] {
            assert!(dated(date), "{date}");
        }
        for other in
            ["7 9 19 33 40 47", "6 4 7 5 6 3", "6 4 6", "6 4 7 5", "40 41 42", "1 2 3 4 5 6 7"]
        {
            assert!(!dated(other), "{other}");
        }
    }
}
