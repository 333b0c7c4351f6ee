//! Seeds files: a URL on each line, and comments.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use hapax_url::{Rejected, UrlLimits, normalize};
use url::Url;

use crate::error::{Error, Result};
use crate::limit::Limit;

const MAX_BYTES: u64 = 1 << 30;
const SHOWN: usize = 100;

/// Reads all seeds; a single bad line is an error.
///
/// # Errors
/// [`Error::Invalid`] with file and line.
pub fn read_seeds(path: &Path, limits: &UrlLimits) -> Result<Vec<Url>> {
    let name = if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() };
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().take(MAX_BYTES + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| Error::Invalid(format!("cannot read the seeds in {name}: {error}")))?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        let mut unpacked = flate2::read::MultiGzDecoder::new(bytes.as_slice()).take(MAX_BYTES + 1);
        unpacked
            .read_to_end(&mut plain)
            .map_err(|error| Error::Invalid(format!("{name} cannot be unpacked: {error}")))?;
        bytes = plain;
    }
    if bytes.len() as u64 > MAX_BYTES {
        let limit = MAX_BYTES >> 20;
        return Err(Error::Invalid(format!("{name} is larger than {limit} MiB: split it")));
    }
    let text = String::from_utf8_lossy(&bytes);
    parse_seeds(text.strip_prefix('\u{FEFF}').unwrap_or(&text), &name, limits)
}

/// Parses seeds, each once, in order. `name` is the file's name.
///
/// # Errors
/// [`Error::Invalid`] with `name` and line.
pub fn parse_seeds(text: &str, name: &str, limits: &UrlLimits) -> Result<Vec<Url>> {
    let mut seeds: Vec<Url> = Vec::new();
    let mut known = HashSet::new();
    for (number, line) in text.lines().enumerate() {
        // A comment begins the line or follows white space. A URL has neither form.
        let comment = line.match_indices('#').find(|(at, _)| {
            line.get(..*at).is_some_and(|before| before.trim_end().len() < *at || before.is_empty())
        });
        let line = comment.map_or(line, |(at, _)| line.get(..at).unwrap_or(line)).trim();
        if line.is_empty() {
            continue;
        }
        let more = if line.chars().nth(SHOWN).is_some() { "…" } else { "" };
        let shown: String = line.chars().take(SHOWN).chain(more.chars()).collect();
        let bad =
            |why: &str| Error::Invalid(format!("{name}, line {}: \"{shown}\" {why}", number + 1));
        let url = Url::parse(line).map_err(|error| {
            bad(&format!("is no URL ({error}); write it like https://example.org/"))
        })?;
        if !url.username().is_empty() || url.password().is_some() {
            // The line is not shown: it has a password.
            return Err(Error::Invalid(format!(
                "{name}, line {}: a user name and a password in a URL are not sent; leave them out and use --header \
                 \"Authorization: Basic ...\", which goes to the seeds' hosts alone",
                number + 1
            )));
        }
        let url = normalize(&url, limits).map_err(|why| match why {
            Rejected::Scheme => bad("is no http or https URL that can be crawled"),
            Rejected::Trap(why) => {
                let flag = Limit::from(why).flag();
                bad(&format!("would be left out as a trap ({why}): raise {flag}, or leave it out"))
            }
        })?;
        if known.insert(url.as_str().to_owned()) {
            seeds.push(url);
        }
    }
    if seeds.is_empty() {
        return Err(Error::Invalid(format!(
            "{name} holds no URL: write one a line, like https://example.org/"
        )));
    }
    Ok(seeds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blanks_and_repetitions_are_skipped_and_bad_lines_named() {
        let limits = UrlLimits::default();
        let seeds = parse_seeds(
            "# list\n\n http://a.example \r\nhttp://a.example/\nhttps://b.example/#x  # why\n\t# more\n",
            "f",
            &limits,
        )
        .unwrap();
        assert_eq!(
            seeds.iter().map(Url::as_str).collect::<Vec<_>>(),
            ["http://a.example/", "https://b.example/"]
        );
        for (text, expected) in [
            ("http://a.example\nnonsense", "f, line 2: \"nonsense\" is no URL"),
            ("ftp://a.example", "f, line 1: \"ftp://a.example\" is no http"),
            ("# only\n", "f holds no URL"),
            (&"é".repeat(101), &format!("f, line 1: \"{}…\" is no URL", "é".repeat(100))),
        ] {
            let error = parse_seeds(text, "f", &limits).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let long = format!("http://a.example/?q={}", "a".repeat(3000));
        let error = parse_seeds(&long, "f", &limits).unwrap_err().to_string();
        assert!(error.contains("a trap (url-length): raise --max-url-length,"), "{error}");
        let far = parse_seeds("http://a.example/calendar/2147/7/", "f", &limits).unwrap_err();
        assert!(far.to_string().contains("(calendar): raise --url-years,"), "{far}");
        let limits = UrlLimits { max_length: 4000, sort_query: true, ..limits };
        assert_eq!(parse_seeds(&long, "f", &limits).unwrap().len(), 1);
        let sorted = parse_seeds("http://a.example/?b=1&a=2", "f", &limits).unwrap();
        assert_eq!(sorted.first().unwrap().as_str(), "http://a.example/?a=2&b=1");
    }
}
