//! Words in a page's name that mark it as a version for printers or phones.

/// In lower case.
const VERSIONS: [&str; 46] = [
    "print",
    "printable",
    "print version",
    "printable version",
    "print view",
    "print page",
    "printer friendly",
    "printer-friendly",
    "printer friendly version",
    "printer-friendly version",
    "for printing",
    "mobile",
    "mobile version",
    "amp",
    "text only",
    "text version",
    "druck",
    "druckversion",
    "druckansicht",
    "druckfassung",
    "zum drucken",
    "imprimer",
    "version imprimable",
    "imprimir",
    "version para imprimir",
    "versión para imprimir",
    "versión imprimible",
    "versão para impressão",
    "stampa",
    "versione stampabile",
    "afdrukversie",
    "wersja do druku",
    "для печати",
    "версия для печати",
    "打印",
    "打印版",
    "打印版本",
    "打印页",
    "列印",
    "列印版",
    "友善列印",
    "印刷",
    "印刷用",
    "印刷版",
    "印刷用ページ",
    "인쇄용",
];

/// Separators between a name and such words. Those from the fifth on also separate leading words.
const MARKS: [&str; 11] = ["(", "[", "（", "【", " - ", " | ", " – ", " — ", " · ", " :: ", ": "];
const CLOSING: [char; 4] = [')', ']', '）', '】'];

/// Maximum length of such words in bytes.
const MAX_WORDS: usize = 64;

fn is_version(words: &str) -> bool {
    let words = words.trim().trim_end_matches(CLOSING).trim();
    words.len() <= MAX_WORDS && VERSIONS.contains(&words.to_lowercase().as_str())
}

/// Returns whether a name begins or ends with words of a version. This costs less than the search for all separators.
fn may_be_version(name: &str) -> bool {
    let lower = name.trim_end_matches(CLOSING).trim().to_lowercase();
    let ends = [lower.bytes().next(), lower.bytes().next_back()];
    VERSIONS.iter().any(|words| {
        words.bytes().next() == ends[0] && lower.starts_with(words)
            || words.bytes().next_back() == ends[1] && lower.ends_with(words)
    })
}

/// Returns a name without the words of a version: `The river rose (print)`, `Print version: The river rose`. A name
/// of nothing else stays whole, and so does one that begins with a single word: `Mobile: a town`.
pub(crate) fn without_version(name: &str) -> &str {
    let name = name.trim();
    // Most names have none of the separators, or none of the words at an end.
    let is_mark = |byte| matches!(byte, b'(' | b'[' | b'-' | b'|' | b':') || !byte.is_ascii();
    if !name.bytes().any(is_mark) || !may_be_version(name) {
        return name;
    }
    let last = MARKS.iter().filter_map(|mark| Some((name.rfind(mark)?, mark.len())));
    if let Some((at, length)) = last.max()
        && let (Some(rest), Some(words)) = (name.get(..at), name.get(at + length..))
        && is_version(words)
        && !rest.trim().is_empty()
    {
        return rest.trim_end();
    }
    let first = MARKS.iter().skip(4).filter_map(|mark| Some((name.find(mark)?, mark.len())));
    if let Some((at, length)) = first.min()
        && let (Some(words), Some(rest)) = (name.get(..at), name.get(at + length..))
        && is_version(words)
        && words.trim().contains(' ')
        && !rest.trim().is_empty()
    {
        return rest.trim_start();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_no_part_of_a_name() {
        for name in [
            "The river rose (print)",
            "The river rose [Printer-friendly version]",
            "The river rose - Druckansicht",
            "The river rose: Version imprimable ",
            "Print version: The river rose",
            "The river rose",
        ] {
            assert_eq!(without_version(name), "The river rose", "{name}");
        }
        assert_eq!(without_version("大河涨水（打印版）"), "大河涨水");
        assert_eq!(without_version("大河涨水 【印刷用】"), "大河涨水");
    }

    #[test]
    fn other_names_stay_whole() {
        for name in [
            "A history of print",
            "Print",
            "(print)",
            "Mobile: a town in Alabama",
            "The river rose (part 2)",
            "The river (print) rose",
            "a:b",
            "",
            ": ",
            "(",
            "（",
        ] {
            assert_eq!(without_version(name), name.trim(), "{name}");
        }
        assert!(VERSIONS.iter().all(|words| words.len() <= MAX_WORDS && is_version(words)));
    }
}
