//! Keys of URLs in the indexes of web archives (SURT: sort-friendly URI reordering transform), as the Python package
//! `surt` writes them: archives are looked up by these keys.

use std::net::Ipv6Addr;

/// Session ids in a query: the name before `=`, and the length of the value.
const SESSION_NAMES: [&[u8]; 3] = [b"jsessionid=", b"phpsessid=", b"sid="];
const SESSION_LENGTH: usize = 32;
/// Letters after ASPSESSIONID, and letters of its value.
const ASP_NAME: usize = 8;
const ASP_VALUE: usize = 24;

/// Returns the key of an absolute URL: `http://www.a.example:8080/B/?y&x` gives `example,a:8080)/b?x&y`.
#[must_use]
pub fn surt(url: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut key = host_key(authority, scheme);
    key.push(')');
    key += &path_key(path);
    let query = query_key(query);
    if !query.is_empty() {
        key.push('?');
        key += &query;
    }
    key
}

fn host_key(authority: &str, scheme: &str) -> String {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        _ => (host, ""),
    };
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = match inner.and_then(|host| host.parse::<Ipv6Addr>().ok()) {
        Some(address) => address.to_string(),
        None => host.to_ascii_lowercase(),
    };
    let host = host.replace("..", ".");
    let host = host.trim_matches('.');
    let digits = host.strip_prefix("www").unwrap_or_default();
    let digits = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let host = match digits.strip_prefix('.') {
        Some(rest) => rest,
        None => host,
    };
    let mut key = host.rsplit('.').collect::<Vec<_>>().join(",");
    let default = if scheme.eq_ignore_ascii_case("https") { "443" } else { "80" };
    if !port.is_empty() && port != default {
        key.push(':');
        key += port;
    }
    key
}

fn path_key(path: &str) -> String {
    let path = unescaped(path.as_bytes());
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in path.split(|&byte| byte == b'/').skip(1) {
        match part {
            b"." => {}
            b".." if !kept.is_empty() => drop(kept.pop()),
            part => kept.push(part),
        }
    }
    let last = kept.pop().unwrap_or_default();
    kept.retain(|part| !part.is_empty());
    kept.push(last);
    let mut key = format!("/{}", escaped(&kept.join(&b'/'))).to_lowercase();
    strip_path_session(&mut key);
    if key.len() > 1 && key.ends_with('/') {
        key.pop();
    }
    key
}

/// Removes the last session id of ASP.NET: `/(a(24 characters))/` or `/(24 characters)/` before a path with `.aspx`.
fn strip_path_session(path: &mut String) {
    let is_id = |text: &str| {
        text.len() == ASP_VALUE && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let is_session = |part: &str| {
        let Some(inner) = part.strip_prefix('(').and_then(|part| part.strip_suffix(')')) else {
            return false;
        };
        let labelled = |part: &str| {
            let (letter, id) = part.split_at_checked(1)?;
            let letter = letter.bytes().all(|byte| byte.is_ascii_alphabetic());
            (letter && is_id(id.strip_prefix('(')?)).then_some(())
        };
        let mut parts = inner.strip_suffix(')').unwrap_or_default().split(')');
        is_id(inner) || parts.all(|part| labelled(part).is_some())
    };
    let mut found = None;
    for (slash, _) in path.match_indices('/') {
        let rest = path.get(slash + 1..).unwrap_or_default();
        if let Some((part, after)) = rest.split_once('/')
            && is_session(part)
            && after.find(".aspx").is_some_and(|at| at > 0 || after.matches(".aspx").count() > 1)
            && !after.split(".aspx").next().unwrap_or_default().contains('?')
        {
            found = Some(slash + 1..slash + 1 + part.len() + 1);
        }
    }
    if let Some(range) = found {
        path.replace_range(range, "");
    }
}

fn query_key(query: &str) -> String {
    let query = escaped(&unescaped(query.as_bytes()));
    let query = strip_sessions(query.into_bytes()).to_ascii_lowercase();
    if query.len() <= 1 {
        return String::from_utf8_lossy(&query).into_owned();
    }
    let mut arguments: Vec<(&[u8], Option<&[u8]>)> = query
        .split(|&byte| byte == b'&')
        .map(|argument| match argument.iter().position(|&byte| byte == b'=') {
            Some(at) => (argument.get(..at).unwrap_or_default(), argument.get(at + 1..)),
            None => (argument, None),
        })
        .collect();
    arguments.sort_unstable();
    let arguments = arguments.into_iter().map(|(name, value)| match value {
        Some(value) => [name, b"=", value].concat(),
        None => name.to_vec(),
    });
    String::from_utf8_lossy(&arguments.collect::<Vec<_>>().join(&b'&')).into_owned()
}

/// Removes the last session id of each kind from a query.
fn strip_sessions(mut query: Vec<u8>) -> Vec<u8> {
    for name in SESSION_NAMES {
        strip_last(&mut query, |rest| {
            let value = rest.get(name.len()..)?;
            let is_id = value.get(..SESSION_LENGTH)?.iter().all(u8::is_ascii_alphanumeric);
            let named = rest.get(..name.len())?.eq_ignore_ascii_case(name);
            (named && is_id).then_some(name.len() + SESSION_LENGTH)
        });
    }
    strip_last(&mut query, |rest| {
        let name = b"aspsessionid";
        let letters = rest.get(name.len()..name.len() + ASP_NAME)?;
        let value = rest.get(name.len() + ASP_NAME + 1..)?.get(..ASP_VALUE)?;
        let is_right = rest.get(..name.len())?.eq_ignore_ascii_case(name)
            && rest.get(name.len() + ASP_NAME) == Some(&b'=')
            && letters.iter().chain(value).all(u8::is_ascii_alphabetic);
        is_right.then_some(name.len() + ASP_NAME + 1 + ASP_VALUE)
    });
    strip_last(&mut query, |rest| {
        let value_end = |rest: &[u8]| rest.iter().position(|&byte| byte == b'&');
        let starts = |rest: &[u8], name: &[u8]| {
            rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        let (first, second) = (b"cfid=", b"cftoken=");
        let end = first.len() + value_end(rest.get(first.len()..)?)?;
        let token = rest.get(end + 1..)?;
        let value = token.get(second.len()..)?;
        let length = value_end(value).unwrap_or(value.len());
        let is_right = starts(rest, first) && starts(token, second) && length > 0;
        (is_right && end > first.len()).then_some(end + 1 + second.len() + length)
    });
    query
}

/// Removes the last match that ends the query or is followed by `&`, and that `&`. `length` returns the length of a match
/// at the start of its argument.
fn strip_last(query: &mut Vec<u8>, length: impl Fn(&[u8]) -> Option<usize>) {
    for at in (0..query.len()).rev() {
        let Some(end) = length(query.get(at..).unwrap_or_default()).map(|length| at + length)
        else {
            continue;
        };
        match query.get(end) {
            None => query.truncate(at),
            Some(b'&') => drop(query.drain(at..=end)),
            Some(_) => continue,
        }
        return;
    }
}

/// Replaces percent escapes until there are none.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    loop {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text.as_slice();
        while let Some((&byte, after)) = rest.split_first() {
            let digit = |at: usize| (*after.get(at)? as char).to_digit(16);
            let escaped = (byte == b'%').then(|| Some(digit(0)? * 16 + digit(1)?)).flatten();
            match escaped.and_then(|value| u8::try_from(value).ok()) {
                Some(value) => {
                    out.push(value);
                    rest = after.get(2..).unwrap_or_default();
                }
                None => {
                    out.push(byte);
                    rest = after;
                }
            }
        }
        // Each cycle shortens the text, so there are at most half as many cycles as bytes.
        if out == text {
            return out;
        }
        text = out;
    }
}

/// Escapes everything that is not a visible ASCII character, and `#` and `%`.
fn escaped(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for &byte in text {
        if byte.is_ascii_graphic() && !matches!(byte, b'#' | b'%') {
            out.push(char::from(byte));
        } else {
            out += &format!("%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys are the output of the Python package surt 0.3.1.
    #[test]
    fn keys_are_those_of_the_python_package() {
        assert_eq!(include_str!("surt/cases.tsv").lines().count(), 448);
        for line in include_str!("surt/cases.tsv").lines() {
            let (url, key) = line.split_once('\t').unwrap();
            assert_eq!(surt(url), key, "{url}");
        }
    }
}
