//! Names of months in the languages of the Web.

use std::sync::LazyLock;

/// Beginnings of the names of each month, with and without accents. The longest beginning of a word decides.
const MONTHS: [(u8, &str); 12] = [
    (1, "jan ian ene gen янв січ ιαν stycz led tammi oca"),
    (2, "feb fev fév фев лют φεβ lut úno uno helmi şub sub"),
    (3, "mar mär már mrt maer març мар бер μαρ μάρ bře bre maal"),
    (4, "apr avr abr ápr апр кві απρ kwi dub huht nis"),
    (5, "may mai maj mei máj mag мая май тра μαι μαΐ μάι kvě kve touk"),
    (6, "jun juin jún iun giu июн чер ιουν ιούν cze červn červen kes haz"),
    (7, "jul juil júl iul lug июл лип ιουλ ιούλ lip červenc červec hein tem"),
    (8, "aug aoû aou ago agu авг сер αυγ αύγ sie srp elo ağu"),
    (9, "sep set szep сен вер σεπ wrz zář zar syys eyl"),
    (10, "oct okt out ott окт жов οκτ όκτ paź paz říj rij loka eki"),
    (11, "nov noi noe ноя лис νοε νοέ lis marras kas"),
    (12, "dec dez dic des déc дек гру δεκ gru pro joul ara"),
];

/// The beginning of the name of a month.
struct Beginning {
    text: &'static str,
    letters: usize,
    month: u8,
}

static BEGINNINGS: LazyLock<Vec<Beginning>> = LazyLock::new(|| {
    let of_month = |(month, names): &(u8, &'static str)| {
        let month = *month;
        let beginning =
            move |text: &'static str| Beginning { text, letters: text.chars().count(), month };
        names.split(' ').map(beginning)
    };
    MONTHS.iter().flat_map(of_month).collect()
});

/// Maximum number of letters after the beginning of a name: `helmi|kuussa`.
const MAX_ENDING: usize = 9;

/// Returns the month that a word in lower case names.
///
/// # Complexity
/// Linear in the table.
pub(crate) fn month(word: &str) -> Option<u8> {
    let fits = |beginning: &&Beginning| {
        word.starts_with(beginning.text) && word.chars().count() <= beginning.letters + MAX_ENDING
    };
    let found = BEGINNINGS.iter().filter(fits).max_by_key(|beginning| beginning.letters)?;
    Some(found.month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_known_in_many_languages() {
        for (names, expected) in [
            ("january januar janvier enero gennaio stycznia января ιανουαρίου leden tammikuuta", 1),
            ("february février febrero lutego февраля února helmikuussa şubat", 2),
            ("march märz mars marzo марта μαρτίου března maaliskuuta", 3),
            ("june juin juni giugno июня czerwca červen kesäkuuta", 6),
            ("july juillet julio luglio lipca července heinäkuuta temmuz", 7),
            ("august août agosto sierpnia srpna elokuuta ağustos", 8),
            ("oct october oktober octubre ottobre outubro października října lokakuuta", 10),
            ("november noviembre listopada ноября marraskuuta kasım", 11),
            ("december dezember diciembre décembre grudnia prosince joulukuuta aralık", 12),
        ] {
            for name in names.split(' ') {
                assert_eq!(month(name), Some(expected), "{name}");
            }
        }
        for word in ["the", "x", "", "marketingabteilungsleiter", "page"] {
            assert_eq!(month(word), None, "{word}");
        }
    }
}
