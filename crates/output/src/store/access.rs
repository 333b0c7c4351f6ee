//! Access to an object store, from variables `AWS_*` of the environment only.

use std::net::IpAddr;

use url::{Host, Url};

use super::limits::{DEFAULT_ATTEMPTS, MAX_ATTEMPTS, MAX_VARIABLE};
use crate::error::{Error, Result, StoreFault};

const KEY_ID: &str = "AWS_ACCESS_KEY_ID";
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
const TOKEN: &str = "AWS_SESSION_TOKEN";
const ATTEMPTS: &str = "AWS_MAX_ATTEMPTS";

/// Credentials, region and endpoint. It is never stored, and its `Debug` has no secret.
pub(crate) struct Access {
    pub(crate) key_id: String,
    pub(crate) secret: String,
    pub(crate) token: Option<String>,
    pub(crate) region: String,
    /// `None`: the region's endpoint of AWS.
    pub(crate) endpoint: Option<Endpoint>,
    /// Attempts of a request, the first one included.
    pub(crate) attempts: usize,
}

/// The address of a store that is not AWS.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// Without a slash at its end.
    pub(crate) url: String,
    /// Whether it is `http`, so on the loopback interface.
    pub(crate) is_plain: bool,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access")
            .field("region", &self.region)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

impl Access {
    /// # Errors
    /// If credentials are missing, or a variable is not valid. No message has a value.
    pub(crate) fn from_env() -> Result<Self> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    pub(crate) fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let get = |name: &str| match variable(name).filter(|value| !value.is_empty()) {
            Some(value) if is_printable(&value) => Ok(Some(value)),
            Some(_) => Err(invalid(&format!(
                "{name} has a space, a line end or another character that cannot be in it, or more than \
                 {MAX_VARIABLE} bytes. Set it again"
            ))),
            None => Ok(None),
        };
        let credential = |name: &str| {
            let missing = || {
                invalid(&format!(
                    "no credentials: {name} is not set. Set {KEY_ID} and {SECRET}, and {TOKEN} for temporary ones"
                ))
            };
            get(name)?.ok_or_else(missing)
        };
        let (key_id, secret) = (credential(KEY_ID)?, credential(SECRET)?);
        let first = |names: [&'static str; 2]| -> Result<Option<(&'static str, String)>> {
            for name in names {
                if let Some(value) = get(name)? {
                    return Ok(Some((name, value)));
                }
            }
            Ok(None)
        };
        let region = match first(["AWS_REGION", "AWS_DEFAULT_REGION"])? {
            Some((name, region)) => valid_region(name, region)?,
            None => "us-east-1".to_owned(),
        };
        let endpoint = first(["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"])?;
        let endpoint = endpoint.map(|(name, url)| Endpoint::parse(name, &url)).transpose()?;
        let attempts = match get(ATTEMPTS)?.map(|text| text.parse()) {
            None => DEFAULT_ATTEMPTS,
            Some(Ok(attempts)) if (1..=MAX_ATTEMPTS).contains(&attempts) => attempts,
            Some(_) => {
                return Err(invalid(&format!("{ATTEMPTS}: set a number from 1 to {MAX_ATTEMPTS}")));
            }
        };
        Ok(Self { key_id, secret, token: get(TOKEN)?, region, endpoint, attempts })
    }

    /// The texts that no message may have.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let all = [Some(&self.secret), self.token.as_ref(), Some(&self.key_id)];
        all.into_iter().flatten().cloned().collect()
    }
}

impl Endpoint {
    fn parse(name: &str, text: &str) -> Result<Self> {
        let problem = |why: &str| invalid(&format!("{name}: {why}"));
        let url = Url::parse(text).map_err(|error| problem(&format!("not a URL: {error}")))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(problem("credentials do not belong in a URL. Set AWS_ACCESS_KEY_ID"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(problem("omit `?` and `#`"));
        }
        let is_plain = match url.scheme() {
            "https" => false,
            "http" if is_loopback(&url) => true,
            "http" => {
                let rule = "http is for this machine only (localhost, 127.0.0.1). Use https";
                return Err(problem(rule));
            }
            _ => return Err(problem("use https")),
        };
        Ok(Self { url: url.as_str().trim_end_matches('/').to_owned(), is_plain })
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        // The client resolves this name to the loopback addresses itself.
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        None => false,
    }
}

/// A region becomes a part of a host name.
fn valid_region(name: &str, region: String) -> Result<String> {
    let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    match region.len() <= 64 && region.bytes().all(allowed) {
        true => Ok(region),
        false => Err(invalid(&format!("{name}: a region has only a-z, 0-9 and -: us-east-1"))),
    }
}

/// Values become parts of headers.
fn is_printable(value: &str) -> bool {
    value.len() <= MAX_VARIABLE && value.bytes().all(|byte| byte.is_ascii_graphic())
}

fn invalid(problem: &str) -> Error {
    Error::Store {
        url: "s3://".to_owned(),
        fault: StoreFault::Setting,
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: [(&str, &str); 3] =
        [(KEY_ID, "KEYID123"), (SECRET, "s3cr3t/value"), (TOKEN, "t0ken")];

    fn access(variables: &[(&str, &str)]) -> Result<Access> {
        let all: Vec<_> = variables.iter().chain(&WHOLE).collect();
        Access::from_variables(|name| {
            all.iter().find(|(found, _)| *found == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_endpoint_of_s3_and_the_region_of_the_run_come_first() {
        let found = access(&[
            ("AWS_ENDPOINT_URL", "https://other.example"),
            ("AWS_ENDPOINT_URL_S3", "https://s3.example/"),
            ("AWS_DEFAULT_REGION", "eu-west-1"),
            ("AWS_REGION", "eu-north-1"),
            (ATTEMPTS, "3"),
        ])
        .unwrap();
        let endpoint = found.endpoint.as_ref().unwrap();
        assert_eq!((endpoint.url.as_str(), endpoint.is_plain), ("https://s3.example", false));
        assert_eq!((found.region.as_str(), found.attempts), ("eu-north-1", 3));
        let plain = access(&[]).unwrap();
        assert_eq!((plain.region.as_str(), plain.attempts), ("us-east-1", DEFAULT_ATTEMPTS));
        let shown = format!("{found:?}");
        assert!(found.secrets().iter().all(|secret| !shown.contains(secret)), "{shown}");
    }

    #[test]
    fn http_is_for_loopback_only() {
        for url in
            ["http://127.0.0.1:9000", "http://127.9.9.9", "http://[::1]:1/", "http://localhost:80"]
        {
            assert!(access(&[("AWS_ENDPOINT_URL", url)]).unwrap().endpoint.unwrap().is_plain);
        }
        for url in [
            "http://s3.example",
            "http://127.0.0.1.s3.example",
            "http://localhost.s3.example",
            "http://10.0.0.1:9000",
            "ftp://127.0.0.1",
            "127.0.0.1:9000",
            "https://user:hunter2@s3.example",
            "https://s3.example/?x=hunter2",
        ] {
            let error = access(&[("AWS_ENDPOINT_URL", url)]).unwrap_err().to_string();
            assert!(error.contains("AWS_ENDPOINT_URL: ") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn missing_and_broken_variables_are_named_and_their_values_are_not() {
        let error = Access::from_variables(|_| None).unwrap_err().to_string();
        assert!(error.contains("AWS_ACCESS_KEY_ID is not set"), "{error}");
        let only = |name: &str| (name == KEY_ID).then(|| "KEYID123".to_owned());
        let error = Access::from_variables(only).unwrap_err().to_string();
        assert!(error.contains("AWS_SECRET_ACCESS_KEY is not set"), "{error}");
        let long = "x".repeat(MAX_VARIABLE + 1);
        for (name, value) in [
            (SECRET, "hunter2\n"),
            (TOKEN, "hunter2 x"),
            (KEY_ID, "h\u{fc}nter2"),
            (TOKEN, long.as_str()),
            ("AWS_REGION", "hunter2.attacker.example/"),
            (ATTEMPTS, "0"),
            (ATTEMPTS, "21"),
        ] {
            let error = access(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name) && !error.contains("nter2"), "{error}");
            assert!(error.len() < 300, "{error}");
        }
    }
}
