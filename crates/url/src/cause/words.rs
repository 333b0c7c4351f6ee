//! Words that mark a version of a page in its address.

/// Labels before the domain, and folders, of versions for phones.
pub(super) const MOBILE: [&str; 8] =
    ["m", "mobile", "mobil", "movil", "touch", "wap", "smartphone", "handheld"];
pub(super) const AMP: [&str; 4] = ["amp", "amphtml", "amp.html", "amp.htm"];
pub(super) const PRINT: [&str; 16] = [
    "print",
    "printable",
    "printer",
    "printer-friendly",
    "printerfriendly",
    "print-version",
    "print_version",
    "printversion",
    "printview",
    "print-view",
    "print_view",
    "printpage",
    "printfriendly",
    "imprimir",
    "imprimer",
    "druckversion",
];
/// Folders of lists of pages, in the languages of widespread content systems.
const ARCHIVE: [&str; 35] = [
    "tag",
    "tags",
    "tagged",
    "category",
    "categories",
    "author",
    "authors",
    "archive",
    "archives",
    "topic",
    "topics",
    "label",
    "labels",
    "keyword",
    "keywords",
    "thema",
    "themen",
    "schlagwort",
    "schlagworte",
    "kategorie",
    "kategorien",
    "autor",
    "autoren",
    "archiv",
    "categorie",
    "auteur",
    "etiqueta",
    "etiquetas",
    "categoria",
    "categorias",
    "autores",
    "etiquette",
    "mot-cle",
    "archivo",
    "tegi",
];
/// Folders before the number of a page.
const PAGE: [&str; 12] = [
    "page",
    "paged",
    "pg",
    "pageno",
    "seite",
    "pagina",
    "página",
    "strona",
    "sida",
    "comment-page",
    "oldal",
    "sivu",
];
/// Parameters that contain the number of a page.
const PAGE_PARAMETER: [&str; 22] = [
    "page",
    "paged",
    "pg",
    "pageno",
    "page_no",
    "pagenum",
    "page_num",
    "pagenumber",
    "page_number",
    "currentpage",
    "current_page",
    "cpage",
    "pageindex",
    "page_id_no",
    "seite",
    "pagina",
    "start",
    "offset",
    "startrow",
    "pagestart",
    "strona",
    "from_page",
];
const ARCHIVE_PARAMETER: [&str; 6] = ["tag", "tags", "author", "label", "archive", "monthnum"];
/// Parameters of filters too: a list only if the rest of the address differs.
const LIST_PARAMETER: [&str; 6] = ["cat", "category", "category_name", "topic", "year", "month"];
const LANGUAGE_PARAMETER: [&str; 14] = [
    "lang", "language", "hl", "locale", "lng", "setlang", "uselang", "sprache", "langue", "idioma",
    "lingua", "langid", "lang_id", "culture",
];
const SESSION_PARAMETER: [&str; 12] = [
    "sid",
    "sess",
    "sessid",
    "session",
    "sesskey",
    "sessionid",
    "session_id",
    "session-id",
    "phpsession",
    "s_id",
    "visitid",
    "visit_id",
];
const MOBILE_PARAMETER: [&str; 6] =
    ["mobile", "mobileaction", "wptouch_switch", "nomobile", "is_mobile", "mobile_view"];
/// ISO 639-1, without codes that are common folders of other meaning.
const LANGUAGES: &str = "aa ab af am ar az be bg bn bo br bs ca cs cy da de el en eo es et eu fa fi fr ga gl gu he hi \
    hr hu hy ja ka kk km kn ko ku ky la lb lo lt lv mk ml mn mr ms mt nb ne nl nn pa pl ps pt ro ru si sk sl sq sr sv \
    sw ta te tg th tk tl tr uk ur uz vi yi zh zu";
/// The others: two sides must have one, or the page must be in this language.
const AMBIGUOUS: &str = "co id ie in is it mi my no om or se sh so st tn to ts tt tv us ve wo";

pub(super) fn has(list: &[&str], word: &str) -> bool {
    list.iter().any(|own| own.eq_ignore_ascii_case(word))
}

pub(super) fn is_archive(segment: &str) -> bool {
    has(&ARCHIVE, segment)
}

pub(super) fn is_page(segment: &str) -> bool {
    has(&PAGE, segment)
}

/// Whether a word is the code of a language, with a country or without: `de`, `pt-BR`, `zh_Hans`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    No,
    /// Another meaning is as frequent.
    Maybe,
    Yes,
}

pub(super) fn language_code(word: &str) -> Code {
    let (code, rest) = word.split_once(['-', '_']).unwrap_or((word, ""));
    let is_region =
        |rest: &str| matches!(rest.len(), 2 | 4) && rest.bytes().all(|b| b.is_ascii_alphabetic());
    if code.len() != 2 || word.len() > 2 && !is_region(rest) {
        return Code::No;
    }
    let among = |list: &str| list.split(' ').any(|own| own.eq_ignore_ascii_case(code));
    match (among(LANGUAGES), among(AMBIGUOUS)) {
        (true, _) => Code::Yes,
        (_, true) if !rest.is_empty() => Code::Yes,
        (_, true) => Code::Maybe,
        _ => Code::No,
    }
}

/// The meaning of a parameter, by its name and value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) session: bool,
    pub(super) print: bool,
    pub(super) amp: bool,
    pub(super) mobile: bool,
    pub(super) language: bool,
    pub(super) page: bool,
    pub(super) archive: bool,
    /// A list of pages if the paths differ, and a filter otherwise.
    pub(super) list: bool,
    /// The number of a page if the paths are the same: `?p=7` may be the number of an article.
    pub(super) number: bool,
}

impl Meaning {
    pub(super) fn of(name: &str, value: &str) -> Self {
        let name = name.trim_start_matches(';');
        let digits =
            (1..=8).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit());
        let lower = name.to_ascii_lowercase();
        Self {
            session: has(&SESSION_PARAMETER, name)
                || lower.ends_with("sessid")
                || lower.ends_with("sessionid")
                || crate::listed::SESSIONS.has(&format!("{name}={value}")),
            print: has(&PRINT, name) || has(&PRINT, value) || lower == "pf" && value.len() <= 1,
            amp: has(&AMP, name) || value.eq_ignore_ascii_case("amp"),
            mobile: has(&MOBILE_PARAMETER, name)
                || value.len() > 1 && has(&MOBILE, value)
                || lower == "m" && matches!(value, "0" | "1"),
            language: has(&LANGUAGE_PARAMETER, name)
                || lower == "l" && language_code(value) != Code::No,
            page: has(&PAGE_PARAMETER, name) && digits,
            archive: has(&ARCHIVE_PARAMETER, name) || lower == "m" && digits && value.len() >= 4,
            list: has(&LIST_PARAMETER, name),
            number: lower == "p" && digits,
        }
    }
}
