//! Addresses of object stores: `s3://BUCKET/KEY`.

use std::path::Path;

use super::limits::MAX_MESSAGE;
use crate::error::{Error, Result, StoreFault};

const SCHEME: &str = "s3://";
/// Most bytes of a key. S3 allows 1,024; a name of a part is added.
const MAX_KEY: usize = 900;

/// A bucket, and a key or a prefix of keys in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) bucket: String,
    /// Without a slash at its beginning and end. It may be empty.
    pub(crate) key: String,
}

impl Address {
    /// Returns the text of an address of a store, and `None` for a path of the file system.
    pub(crate) fn of_path(path: &Path) -> Option<&str> {
        path.to_str().filter(|text| text.starts_with(SCHEME))
    }

    /// # Errors
    /// If the bucket or the key is not valid. The message has no part of the address that could be a password.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let invalid = |problem: &str| Error::Store {
            // A text with `@` may have a password.
            url: match text.contains('@') {
                true => SCHEME.to_owned(),
                false => text.chars().take(MAX_MESSAGE).collect(),
            },
            fault: StoreFault::Setting,
            problem: problem.to_owned(),
        };
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| invalid("write s3://BUCKET/PREFIX"))?;
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.contains(['@', ':']) {
            return Err(invalid(
                "credentials and ports do not belong here. Set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and \
                 AWS_ENDPOINT_URL",
            ));
        }
        if !is_bucket(bucket) {
            let rule = "a bucket has 3 to 63 of the characters a-z, 0-9, - and ., and begins and ends with a letter \
                        or digit. Write s3://BUCKET/PREFIX";
            return Err(invalid(rule));
        }
        let key = key.strip_suffix('/').unwrap_or(key);
        let is_segment = |part: &str| !matches!(part, "" | "." | "..");
        let is_plain = key.split('/').all(is_segment) && !key.contains(|c: char| c.is_control());
        if !key.is_empty() && !is_plain || key.len() > MAX_KEY || key.contains(['?', '#']) {
            let rule = format!(
                "a prefix has at most {MAX_KEY} bytes, no empty part, no `.` or `..`, and none of `?` and `#`"
            );
            return Err(invalid(&rule));
        }
        Ok(Self { bucket: bucket.to_owned(), key: key.to_owned() })
    }
}

fn is_bucket(name: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    let allowed = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    (3..=63).contains(&bytes.len())
        && bytes.iter().all(allowed)
        && is_end(bytes.first())
        && is_end(bytes.last())
        && !name.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_bucket_and_a_key_without_slashes_around_it() {
        for (text, bucket, key) in [
            ("s3://corpus", "corpus", ""),
            ("s3://corpus/", "corpus", ""),
            ("s3://corpus.v1-x/a b/c/", "corpus.v1-x", "a b/c"),
            ("s3://abc/pages.jsonl", "abc", "pages.jsonl"),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!((address.bucket.as_str(), address.key.as_str()), (bucket, key), "{text}");
            assert_eq!(Address::of_path(Path::new(text)), Some(text));
        }
        assert_eq!(Address::of_path(Path::new("parts/s3://x")), None);
    }

    #[test]
    fn a_bad_address_is_refused_and_a_password_in_it_is_not_repeated() {
        for text in [
            "s3://",
            "s3:///key",
            "s3://ab/x",
            "s3://Corpus/x",
            "s3://-corpus",
            "s3://corpus/../x",
            "s3://corpus//x",
            "s3://corpus/a\nb",
            "s3://corpus/a?acl",
            "s3://KEY:hunter2@corpus/x",
        ] {
            let error = Address::parse(text).unwrap_err();
            assert!(matches!(error, Error::Store { fault: StoreFault::Setting, .. }), "{text}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
        let long = format!("s3://corpus/{}", "k".repeat(MAX_KEY + 1));
        assert!(Address::parse(&long).unwrap_err().to_string().contains("at most 900 bytes"));
        assert!(Address::parse(&long[..long.len() - 1]).is_ok());
    }
}
