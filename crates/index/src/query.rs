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
