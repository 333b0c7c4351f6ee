//! The versions that a path states, and the path without them.

use super::words::{self, Code, has};

const INDEX_STEMS: [&str; 3] = ["index", "default", "welcome"];
const INDEX_SUFFIXES: [&str; 14] = [
    "html", "htm", "xhtml", "shtml", "php", "php3", "php5", "phtml", "asp", "aspx", "jsp", "jsf",
    "cgi", "cfm",
];
/// Languages and versions for phones are among the first segments.
const FIRST: usize = 3;
/// Longest number of a page.
const MAX_PAGE_DIGITS: usize = 6;
/// Segments behind the word of an archive: `/tag/rivers`, `/category/news/local`.
const MAX_BEHIND: usize = 2;
const YEARS: std::ops::RangeInclusive<u32> = 1900..=2099;

/// A path without the segments that state a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PathParts {
    /// The remaining segments, as they are written.
    pub(super) rest: Vec<String>,
    pub(super) slash: bool,
    /// The name of the index file.
    pub(super) index: Option<String>,
    pub(super) print: bool,
    pub(super) amp: bool,
    pub(super) mobile: bool,
    /// Session id of ASP.NET: `/(S(lit3py55t21z5v55vlm25s55))/`.
    pub(super) session: Option<String>,
    pub(super) language: Option<(String, Code)>,
    pub(super) page: Option<String>,
    /// Parameters of segments, `;name` and value.
    pub(super) parameters: Vec<(String, String)>,
}

impl PathParts {
    /// Splits a path. Words that may be a language or something else are languages if `is_language` returns true.
    pub(super) fn of(path: &str, is_language: impl Fn(&str, Code) -> bool) -> Self {
        let mut parts = Self::default();
        let mut segments = Vec::new();
        for segment in path.split('/').skip(1) {
            let (name, parameters) = segment.split_once(';').unwrap_or((segment, ""));
            for pair in parameters.split(';').filter(|pair| !pair.is_empty()) {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                parts.parameters.push((format!(";{name}"), value.to_owned()));
            }
            segments.push(name);
        }
        if segments.last().is_some_and(|last| last.is_empty()) {
            segments.pop();
            parts.slash = true;
        }
        let count = segments.len();
        let mut at = 0;
        while let Some(&segment) = segments.get(at) {
            let next = segments.get(at + 1).copied();
            at += 1;
            if parts.takes_page(segment, next) {
                // The number behind the word.
                at += usize::from(words::is_page(segment));
            } else if !parts.takes(segment, (at - 1, count), &is_language) {
                let kept = match at == count {
                    true => parts.without_suffixes(segment, &is_language),
                    false => segment.to_owned(),
                };
                parts.rest.push(kept);
            }
        }
        parts
    }

    fn takes_page(&mut self, segment: &str, next: Option<&str>) -> bool {
        let number = match next {
            Some(next) if words::is_page(segment) => is_number(next).then(|| next.to_owned()),
            _ => numbered(stem(segment)),
        };
        let takes = number.is_some() && self.page.is_none();
        if takes {
            self.page = number;
        }
        takes
    }

    /// Takes a segment that states a version as a whole.
    fn takes(
        &mut self,
        segment: &str,
        (at, count): (usize, usize),
        is_language: &impl Fn(&str, Code) -> bool,
    ) -> bool {
        let is_last = at + 1 == count;
        if is_index(segment) && self.index.is_none() {
            self.index = Some(segment.to_owned());
        } else if let Some(id) = session_segment(segment) {
            self.session = Some(id.to_owned());
        } else if has(&words::PRINT, segment) || is_last && has(&words::PRINT, stem(segment)) {
            self.print = true;
        } else if has(&words::AMP, segment) || is_last && has(&words::AMP, stem(segment)) {
            self.amp = true;
        } else if has(&words::MOBILE, segment) && (at < FIRST || is_last) {
            self.mobile = true;
        } else if at < FIRST && self.language.is_none() {
            let code = words::language_code(segment);
            if code == Code::No || !is_language(segment, code) {
                return false;
            }
            self.language = Some((segment.to_owned(), code));
        } else {
            return false;
        }
        true
    }

    /// Returns the last segment without suffixes such as `.amp`, `-print` and `.de`.
    fn without_suffixes(
        &mut self,
        segment: &str,
        is_language: &impl Fn(&str, Code) -> bool,
    ) -> String {
        let stem = stem(segment);
        let suffix = segment.get(stem.len()..).unwrap_or_default();
        let has_stem = |end: &str| stem.len() > end.len() && ends_with(stem, end);
        let mut cut = 0;
        if ends_with(segment, ".amp") && segment.len() > 4 {
            self.amp = true;
            return segment.get(..segment.len() - 4).unwrap_or_default().to_owned();
        }
        for (end, is_print) in
            [(".amp", false), ("-amp", false), (".print", true), ("-print", true), ("_print", true)]
        {
            if cut == 0 && has_stem(end) {
                *(if is_print { &mut self.print } else { &mut self.amp }) = true;
                cut = end.len();
            }
        }
        let stem = stem.get(..stem.len() - cut).unwrap_or_default();
        if let Some((before, code)) = stem.rsplit_once(['.', '_'])
            && !suffix.is_empty()
            && self.language.is_none()
            && words::language_code(code) == Code::Yes
            && is_language(code, Code::Yes)
        {
            self.language = Some((code.to_owned(), Code::Yes));
            let whole = format!("{before}{suffix}");
            if is_index(&whole) {
                self.index = Some(whole.clone());
            }
            return whole;
        }
        match stem.strip_prefix("print_").or_else(|| stem.strip_prefix("print-")) {
            Some(rest) if is_number(rest) => {
                self.print = true;
                format!("{rest}{suffix}")
            }
            _ => format!("{stem}{suffix}"),
        }
    }

    /// Returns the list of pages that the path states: the tag, category, author or date at its end.
    pub(super) fn archive(&self) -> Option<String> {
        let is_word = |segment: &String| words::is_archive(segment);
        if let Some(at) = self.rest.iter().position(is_word)
            && self.rest.len() - at <= MAX_BEHIND + 1
        {
            return self.rest.get(at..).map(|list| list.join("/"));
        }
        let dated = self.rest.iter().rev().take_while(|segment| is_number(segment)).count();
        let date = self.rest.get(self.rest.len() - dated..).unwrap_or_default();
        let number = |at: usize| date.get(at).and_then(|part| part.parse::<u32>().ok());
        let is_date = (1..=3).contains(&date.len())
            && number(0).is_some_and(|year| YEARS.contains(&year))
            && number(1).is_none_or(|month| (1..=12).contains(&month))
            && number(2).is_none_or(|day| (1..=31).contains(&day));
        is_date.then(|| date.join("/"))
    }
}

fn is_number(text: &str) -> bool {
    (1..=MAX_PAGE_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn ends_with(text: &str, end: &str) -> bool {
    text.len()
        .checked_sub(end.len())
        .and_then(|at| text.get(at..))
        .is_some_and(|own| own.eq_ignore_ascii_case(end))
}

/// Returns a file's name without the suffix of its type.
fn stem(segment: &str) -> &str {
    match segment.rsplit_once('.') {
        Some((stem, suffix)) if !stem.is_empty() && has(&INDEX_SUFFIXES, suffix) => stem,
        _ => segment,
    }
}

fn is_index(segment: &str) -> bool {
    match segment.rsplit_once('.') {
        Some((stem, suffix)) => has(&INDEX_STEMS, stem) && has(&INDEX_SUFFIXES, suffix),
        None => segment.eq_ignore_ascii_case("index"),
    }
}

/// Returns the number of `page-2`, `seite2` or `index_2`.
fn numbered(stem: &str) -> Option<String> {
    let digits = stem.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (word, number) = stem.split_at_checked(stem.len() - digits)?;
    let word = word.trim_end_matches(['-', '_', '.']);
    let is_word = words::is_page(word) || word.eq_ignore_ascii_case("index");
    (is_word && is_number(number)).then(|| number.to_owned())
}

fn session_segment(segment: &str) -> Option<&str> {
    let inner = segment.strip_prefix("(S(").or_else(|| segment.strip_prefix("(s("))?;
    inner.strip_suffix("))")
}
