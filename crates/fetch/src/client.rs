use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderValue, USER_AGENT};
use url::Url;

use crate::decode::decode;
use crate::error::{Error, Kind};
use crate::guard::{AddressGuard, is_localhost};
use crate::limits::Limits;

/// How a [`Fetcher`] is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// The User-Agent header.
    pub user_agent: String,
    /// Limits of each request.
    pub limits: Limits,
    /// Which addresses may be dialled.
    pub guard: AddressGuard,
}

/// Makes requests, one hop each: a redirect is a response like any other.
///
/// HTTP/1.1 only, no cookies, no Referer, no proxy from the environment; certificates are verified
/// against Mozilla's roots.
#[derive(Clone, Debug)]
pub struct Fetcher {
    client: reqwest::Client,
    limits: Limits,
    guard: Arc<AddressGuard>,
}

/// One response.
#[derive(Clone, Debug)]
pub struct Response {
    /// What was asked for.
    pub url: Url,
    /// Status code.
    pub status: u16,
    /// Headers in order, names in lower case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body as it came, without chunking.
    pub raw: Bytes,
    /// The body without Content-Encoding.
    pub body: Bytes,
    /// Who answered.
    pub peer: Option<SocketAddr>,
    /// Time until the body was in.
    pub took: Duration,
}

impl Response {
    /// The first header of this name (lower case), as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(header, _)| header == name)?;
        std::str::from_utf8(value).ok()
    }

    /// Where a redirect leads; `None` for any other response.
    pub fn redirect(&self) -> Option<Url> {
        let redirect = matches!(self.status, 301 | 302 | 303 | 307 | 308);
        self.url.join(self.header("location").filter(|_| redirect)?).ok()
    }

    /// The status line and headers as they are written to a WARC.
    pub fn head(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {}\r\n", self.status).into_bytes();
        for (name, value) in self.headers.iter().filter(|(name, _)| name != "transfer-encoding") {
            head.extend(name.as_bytes());
            head.extend(b": ");
            head.extend(value);
            head.extend(b"\r\n");
        }
        head.extend(b"\r\n");
        head
    }
}

impl Fetcher {
    /// A fetcher with these options.
    ///
    /// # Errors
    /// A user agent that is no header value, or a TLS set-up that fails.
    pub fn new(options: Options) -> Result<Self, Error> {
        let setup = |error: String| Error::new(Kind::Protocol, error);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| setup(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut headers = HeaderMap::new();
        let agent = HeaderValue::from_str(&options.user_agent);
        headers.insert(USER_AGENT, agent.map_err(|e| setup(format!("user agent: {e}")))?);
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5"),
        );
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate, br"));
        let guard = Arc::new(options.guard);
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(GuardedResolver(Arc::clone(&guard)))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .http1_only()
            .default_headers(headers)
            .connect_timeout(options.limits.connect_timeout)
            .read_timeout(options.limits.read_timeout)
            .timeout(options.limits.total_timeout)
            .pool_max_idle_per_host(16)
            .build()
            .map_err(|error| setup(error.to_string()))?;
        Ok(Self { client, limits: options.limits, guard })
    }

    /// The guard.
    pub fn guard(&self) -> &AddressGuard {
        &self.guard
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Fetches one URL, one hop.
    ///
    /// # Errors
    /// [`Error`] when no usable response came within the limits.
    pub async fn get(&self, url: &Url) -> Result<Response, Error> {
        self.get_up_to(url, self.limits.max_body, false).await
    }

    /// Fetches robots.txt: what lies beyond its limit is ignored.
    pub(crate) async fn get_robots(&self, url: &Url) -> Result<Response, Error> {
        self.get_up_to(url, self.limits.max_robots, true).await
    }

    async fn get_up_to(&self, url: &Url, max: usize, cut: bool) -> Result<Response, Error> {
        if !self.guard.permits_url(url) {
            return Err(private(url));
        }
        let started = Instant::now();
        let mut response = self.client.get(url.clone()).send().await.map_err(|e| translate(&e))?;
        let peer = response.remote_addr();
        if peer.is_some_and(|peer| !self.may_talk_to(url, peer.ip())) {
            return Err(private(url));
        }
        if !cut && response.content_length().is_some_and(|length| length > max as u64) {
            return Err(Error::new(Kind::TooLarge, format!("over {max} bytes announced")));
        }
        let mut raw = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|e| translate(&e))? {
            raw.extend_from_slice(&piece);
            if raw.len() > max {
                if cut {
                    raw.truncate(max);
                    break;
                }
                return Err(Error::new(Kind::TooLarge, format!("over {max} bytes")));
            }
        }
        let headers: Vec<(String, Vec<u8>)> = response
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
            .collect();
        let raw = Bytes::from(raw);
        let encoding = headers.iter().find(|(name, _)| name == "content-encoding");
        let encoding = encoding.map(|(_, value)| String::from_utf8_lossy(value).into_owned());
        let body = match encoding {
            Some(encoding) if !raw.is_empty() => {
                Bytes::from(decode(&raw, &encoding, &self.limits)?)
            }
            _ => raw.clone(),
        };
        Ok(Response {
            url: url.clone(),
            status: response.status().as_u16(),
            headers,
            raw,
            body,
            peer,
            took: started.elapsed(),
        })
    }

    fn may_talk_to(&self, url: &Url, ip: IpAddr) -> bool {
        self.guard.is_exact(url) || self.guard.permits(ip)
    }
}

fn private(url: &Url) -> Error {
    let host = url.host_str().unwrap_or_default();
    Error::new(Kind::PrivateAddress, format!("{host} is not a public address"))
}

/// Resolves by the system and keeps only the addresses that may be dialled: those are the ones
/// that are dialled, so that a name cannot change its mind in between.
struct GuardedResolver(Arc<AddressGuard>);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = Arc::clone(&self.0);
        Box::pin(async move {
            let name = name.as_str().to_owned();
            let found = tokio::net::lookup_host((name.as_str(), 0)).await.map_err(|error| {
                io::Error::new(io::ErrorKind::NotFound, format!("{DNS_FAILED}{name}: {error}"))
            })?;
            let local = is_localhost(&name) && guard.knows_localhost();
            let allowed: Vec<SocketAddr> =
                found.filter(|address| local || guard.permits(address.ip())).collect();
            if allowed.is_empty() {
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    format!("{REFUSED}{name}"),
                )
                .into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

const DNS_FAILED: &str = "cannot resolve ";
const REFUSED: &str = "no public address for ";

fn translate(error: &reqwest::Error) -> Error {
    let mut chain: Vec<String> = Vec::new();
    let mut next: Option<&dyn std::error::Error> = Some(error);
    while let Some(cause) = next {
        chain.push(cause.to_string());
        next = cause.source();
    }
    let all = chain.join(": ");
    let has = |words: &[&str]| words.iter().any(|word| all.contains(word));
    let kind = if has(&[REFUSED]) {
        Kind::PrivateAddress
    } else if has(&[DNS_FAILED]) {
        Kind::Dns
    } else if error.is_timeout() || has(&["timed out"]) {
        Kind::Timeout
    } else if has(&["certificate", "tls handshake", "received fatal alert", "invalid peer"]) {
        Kind::Tls
    } else if error.is_connect() {
        Kind::Connect
    } else {
        Kind::Protocol
    };
    let detail = chain.last().cloned().unwrap_or_default();
    Error::new(kind, detail)
}
