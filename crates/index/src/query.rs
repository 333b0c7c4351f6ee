//! Limits of a query, checked before tantivy parses it. The parser recurses on groups and `NOT`, and takes quadratic
//! time in the number of operators.

/// Most bytes of a query.
pub const MAX_QUERY_BYTES: usize = 4096;
/// Most opening brackets of a query: `(`, `[` and `{` anywhere.
pub const MAX_QUERY_GROUPS: usize = 32;
/// Most operators of a query: `AND`, `OR`, `NOT`, `IN`, `TO`, and the signs `+`, `-`, `^`, `~`, `*`, `:`, `<`, `>`.
pub const MAX_QUERY_OPERATORS: usize = 128;
/// Most ranges and prefixes of a query: `<`, `>`, `TO`, `*`. Each may visit all terms.
pub const MAX_QUERY_RANGES: usize = 4;
/// Most words of a query. In scripts without spaces between words each character counts as one.
pub const MAX_QUERY_TERMS: usize = 256;

/// Checks the limits; the error names the one that is exceeded.
pub(crate) fn check(query: &str) -> Result<(), String> {
    if query.len() > MAX_QUERY_BYTES {
        return Err(over("bytes", query.len(), MAX_QUERY_BYTES));
    }
    let groups = query.chars().filter(|c| matches!(c, '(' | '[' | '{')).count();
    let signs = query
        .chars()
        .filter(|c| matches!(c, '+' | '-' | '^' | '~' | '*' | ':' | '<' | '>'))
        .count();
    let names = ["AND", "OR", "NOT", "IN", "TO"];
    let operators = signs
        + query.split(|c: char| !c.is_alphanumeric()).filter(|word| names.contains(word)).count();
    let ranges = query.chars().filter(|c| matches!(c, '<' | '>' | '*')).count()
        + query.split(|c: char| !c.is_alphanumeric()).filter(|word| *word == "TO").count();
    for (what, count, most) in [
        ("groups", groups, MAX_QUERY_GROUPS),
        ("operators", operators, MAX_QUERY_OPERATORS),
        ("ranges", ranges, MAX_QUERY_RANGES),
        ("words", terms(query), MAX_QUERY_TERMS),
    ] {
        if count > most {
            return Err(over(what, count, most));
        }
    }
    Ok(())
}

/// Words of a query that name a host, site or URL.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// The query without hosts; the values of sites and URLs are in quotation marks, because they have colons.
    pub(crate) rest: String,
    /// Hosts, and whether a page must not be there.
    pub(crate) hosts: Vec<(String, bool)>,
}

/// Separates `host:NAME`, which means all ports as the filter does, and quotes the values of `site:` and `url:`. Hosts
/// within a formula stay as they are.
pub(crate) fn places(query: &str) -> Places {
    let mut places = Places::default();
    let is_formula = query.contains(['(', '[', '{'])
        || query.split_whitespace().any(|word| matches!(word, "AND" | "OR" | "NOT"));
    let mut in_phrase = false;
    for word in query.split_inclusive(char::is_whitespace) {
        let outside = !in_phrase;
        in_phrase ^= word.matches('"').count() % 2 == 1;
        let name = word.trim();
        let bare = name.trim_start_matches(['+', '-', '(']);
        let field = bare.split_once(':').filter(|(field, value)| {
            outside && matches!(*field, "host" | "site" | "url") && !value.is_empty()
        });
        match field {
            Some(("host", value)) if !is_formula => {
                let value = value.trim_matches('"').to_ascii_lowercase();
                places.hosts.push((value, name.starts_with('-')));
            }
            Some((field, value)) if !value.starts_with(['"', '[', '{', '>', '<', '*']) => {
                let signs = name.get(..name.len() - bare.len()).unwrap_or_default();
                let end = value.trim_end_matches(')');
                let closing = value.get(end.len()..).unwrap_or_default();
                places.rest.push_str(&format!("{signs}{field}:\"{end}\"{closing} "));
            }
            _ => places.rest.push_str(word),
        }
    }
    if places.rest.trim().is_empty() && !places.hosts.is_empty() {
        places.rest = "*".to_owned();
    }
    places
}

fn over(what: &str, count: usize, most: usize) -> String {
    format!("the query has {count} {what}, at most {most} are allowed. Shorten it")
}

/// The first character of scripts in which a single character may be a word.
const UNSEPARATED: char = '\u{E00}';

fn terms(query: &str) -> usize {
    let mut count = 0;
    let mut inside = false;
    for c in query.chars() {
        let word = c.is_alphanumeric();
        count += usize::from(word && (!inside || c >= UNSEPARATED));
        inside = word;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_of_people_are_within_the_limits() {
        for query in [
            "river boats",
            "title:\"the long river\" -boat OR (ferry AND NOT bridge)",
            "it's a-b: [x] C++ <p>",
            "山谷的桥 长城",
            &"word ".repeat(MAX_QUERY_TERMS),
        ] {
            assert_eq!(check(query), Ok(()), "{query}");
        }
    }

    #[test]
    fn hosts_are_separated_and_sites_and_urls_are_quoted() {
        let of = |query| {
            let Places { rest, hosts } = places(query);
            let hosts: Vec<String> = hosts
                .into_iter()
                .map(|(host, not)| format!("{}{host}", if not { "-" } else { "" }))
                .collect();
            (rest, hosts.join(" "))
        };
        for (query, rest, hosts) in [
            ("river boats", "river boats", ""),
            ("host:A.example river", "river", "a.example"),
            ("host:127.0.0.1:80", "*", "127.0.0.1:80"),
            ("river -host:\"a.example\"", "river ", "-a.example"),
            ("url:http://a.example/o river", "url:\"http://a.example/o\" river", ""),
            ("+site:a.example:81", "+site:\"a.example:81\" ", ""),
            ("(host:a.example:81 OR site:b)", "(host:\"a.example:81\" OR site:\"b\") ", ""),
            ("\"see host:a.example now\"", "\"see host:a.example now\"", ""),
            ("url:* title:x", "url:* title:x", ""),
            ("host: x", "host: x", ""),
        ] {
            assert_eq!(of(query), (rest.to_owned(), hosts.to_owned()), "{query}");
        }
    }

    #[test]
    fn an_oversized_query_is_refused() {
        for (piece, times, what) in [
            ("(", 33, "groups"),
            ("(a ", 33, "groups"),
            ("\"(\" ", 33, "groups"),
            ("[", 33, "groups"),
            ("NOT ", 129, "operators"),
            ("NOT(", 33, "groups"),
            ("- ", 129, "operators"),
            ("+", 129, "operators"),
            ("a:", 129, "operators"),
            ("a OR ", 129, "operators"),
            ("title:>a ", 5, "ranges"),
            ("[a TO z] ", 5, "ranges"),
            ("\"a b\"* ", 5, "ranges"),
            ("a ", 257, "words"),
            ("桥", 257, "words"),
            ("ก", 257, "words"),
            ("a", 4097, "bytes"),
            (" ", 4097, "bytes"),
        ] {
            let error = check(&piece.repeat(times)).unwrap_err();
            assert!(error.contains(what), "{piece:?} x {times}: {error}");
            assert_eq!(check(&piece.repeat(times - 1)), Ok(()), "{piece:?} x {}", times - 1);
        }
    }
}
