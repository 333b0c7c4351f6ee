//! Parameters of two addresses.

use std::collections::BTreeMap;

use url::{Url, form_urlencoded};

/// Returns the parameters of a query in order, decoded. Empty ones are left out.
pub(super) fn pairs(url: &Url) -> Vec<(String, String)> {
    let query = url.query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes())
        .filter(|(name, value)| !name.is_empty() || !value.is_empty())
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

/// Decodes the percent-encoding of a path; invalid UTF-8 is replaced.
pub(super) fn decoded(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok())
        {
            Some(code) => {
                out.push(code);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

type Pair = (String, String);

/// Returns the parameters in which two addresses differ: by name, with the values that only one address has. If only
/// the order differs, those that have another position, with their values.
pub(super) fn differing(one: &[Pair], other: &[Pair]) -> BTreeMap<String, Vec<String>> {
    let mut by_name: BTreeMap<&str, [Vec<&str>; 2]> = BTreeMap::new();
    for (side, pairs) in [one, other].into_iter().enumerate() {
        for (name, value) in pairs {
            if let Some(values) = by_name.entry(name).or_default().get_mut(side) {
                values.push(value);
            }
        }
    }
    let mut found = BTreeMap::new();
    for (name, [mut a, mut b]) in by_name {
        a.sort_unstable();
        b.sort_unstable();
        if a != b {
            let only = a.iter().filter(|value| !b.contains(value));
            let only = only.chain(b.iter().filter(|value| !a.contains(value)));
            found.insert(name.to_owned(), only.map(|&value| value.to_owned()).collect());
        }
    }
    if found.is_empty() {
        for (a, b) in one.iter().zip(other).filter(|(a, b)| a != b) {
            for (name, value) in [a, b] {
                found.insert(name.clone(), vec![value.clone()]);
            }
        }
    }
    found
}
