mod beyond;
mod whole;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, TRANSFER_ENCODING, USER_AGENT,
};
use tokio::sync::OwnedSemaphorePermit;
use url::{Host, Url};

use self::beyond::Beyond;
use crate::body::{Bodies, Came, Clock, Held};
use crate::content_type::content_type;
use crate::cookies::Jar;
use crate::error::{Error, Kind, translate};
use crate::guard::AddressGuard;
use crate::idle::{IDLE, IdleConnections};
use crate::limits::{LARGE_BODY, Limits, MAX_TDMREP};
use crate::resolver::GuardedResolver;
use crate::response::{Response, in_one, kept_headers};
use crate::tls::{self, Trust};

const ACCEPTED: &str = "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5";
const MAX_HEADER_FIELDS: usize = 1_000;
const ENCODINGS: &str = "gzip, deflate, br, zstd";
/// HTTP/2 flow control (RFC 9113): bytes in flight, per stream and per connection.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 2 << 20;
/// HTTP/2: decompressed bytes of a response's header fields.
const MAX_HEADER_LIST: u32 = 256 << 10;
/// HTTP/2: a connection that is silent this long gets a PING, and is closed if no answer comes within the same time.
const PING: Duration = Duration::from_secs(10);

/// Options of a [`Fetcher`].
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// User-Agent header.
    pub user_agent: String,
    /// Limits of each request.
    pub limits: Limits,
    /// Addresses and ports that may be dialled.
    pub guard: AddressGuard,
    /// Proxy of all requests, `http://host:port`. It resolves names, so the guard checks only address literals.
    pub proxy: Option<Url>,
    /// Hosts whose certificates are not verified: `a.example` for all ports, or `a.example:8443`.
    pub insecure: Vec<String>,
    /// PEM files of certificates that are trusted in addition to those of Mozilla and the system.
    pub roots: Vec<PathBuf>,
    /// Additional headers. Values may be secret: they are sent only to `header_origins` and never archived.
    pub headers: Vec<(String, String)>,
    /// Origins that receive `headers`, as [`origin`] writes them. Another host, port or scheme never receives them.
    pub header_origins: Vec<String>,
    /// Keep cookies in memory and send them only to the host that set them, whatever their `Domain`. At most 50
    /// cookies of 4 KiB per host, the last 10,000 hosts and 64 MiB.
    pub cookies: bool,
}

/// Makes requests, one hop each: a redirect is a response.
///
/// Uses HTTP/2 if the server offers it in the TLS handshake (ALPN), else HTTP/1.1. Sends no Referer and ignores
/// proxies of the environment. Unless [`Options`] differ, it verifies certificates against the roots of Mozilla and
/// the system, and keeps no cookies.
#[derive(Clone, Debug)]
pub struct Fetcher {
    verified: Clients,
    agent: String,
    /// For hosts whose certificates are not verified.
    insecure: Option<(Clients, Arc<[String]>)>,
    limits: Limits,
    guard: Arc<AddressGuard>,
    proxied: bool,
    resolver: GuardedResolver,
    headers: Arc<HeaderMap>,
    header_origins: Arc<[String]>,
    jar: Option<Arc<Jar>>,
    /// Requests carry cookies or additional headers: Set-Cookie may identify a person, so it is not archived.
    personal: bool,
    bodies: Bodies,
    idle: Arc<IdleConnections>,
}

/// The HTTP clients for one kind of certificate verification.
#[derive(Clone, Debug)]
struct Clients {
    any: reqwest::Client,
    /// HTTP/1.1 only: for connections that serve one request, and for servers that require it.
    http1: reqwest::Client,
}

/// Validators of a stored copy, for a conditional request (RFC 9110, section 13).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// ETag, as received.
    pub etag: Option<String>,
    /// Last-Modified, as received.
    pub last_modified: Option<String>,
}

impl Fetcher {
    /// Builds a fetcher.
    ///
    /// # Errors
    /// If the user agent, a header or the proxy is invalid, or if TLS cannot be set up.
    pub fn new(options: Options) -> Result<Self, Error> {
        let guard = Arc::new(options.guard.clone());
        let proxy = options.proxy.as_ref().and_then(Url::host_str).map(str::to_owned);
        let dns_timeout = options.limits.dns_timeout;
        let resolver = GuardedResolver::new(Arc::clone(&guard), proxy, dns_timeout);
        let jar = options.cookies.then(Arc::<Jar>::default);
        let clients = |trust: Option<&Trust>| -> Result<Clients, Error> {
            let client = |http2| client(&options, &resolver, jar.as_ref(), trust, http2);
            Ok(Clients { any: client(true)?, http1: client(false)? })
        };
        let verified = clients(Some(&Trust::new(&options.roots)?))?;
        let insecure = match options.insecure.is_empty() {
            true => None,
            false => Some((clients(None)?, options.insecure.into())),
        };
        let mut headers = HeaderMap::new();
        for (name, value) in &options.headers {
            let wrong = |what: &str| setup(format!("header {name:?}: {what}"));
            let name = name.parse::<HeaderName>().map_err(|_| wrong("no header name"))?;
            headers.append(name, value.parse().map_err(|_| wrong("no header value"))?);
        }
        Ok(Self {
            verified,
            agent: options.user_agent,
            insecure,
            personal: options.cookies || !options.headers.is_empty(),
            bodies: Bodies::new(options.limits.clone()),
            idle: Arc::new(IdleConnections::new(options.limits.max_idle_connections)),
            limits: options.limits,
            guard,
            proxied: options.proxy.is_some(),
            resolver,
            headers: Arc::new(headers),
            jar,
            header_origins: options.header_origins.into(),
        })
    }

    /// Returns the limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the address that a request for this URL dials first; `None` behind a proxy.
    ///
    /// # Errors
    /// [`Kind::Dns`], [`Kind::PrivateAddress`] or [`Kind::BadPort`].
    pub async fn address(&self, url: &Url) -> Result<Option<IpAddr>, Error> {
        self.judge(url)?;
        match url.host() {
            _ if self.proxied => Ok(None),
            Some(Host::Ipv4(ip)) => Ok(Some(ip.into())),
            Some(Host::Ipv6(ip)) => Ok(Some(ip.into())),
            Some(Host::Domain(name)) => {
                let found = self.resolver.addresses(name).await.map_err(|error| {
                    let private = error.kind() == std::io::ErrorKind::PermissionDenied;
                    let kind = if private { Kind::PrivateAddress } else { Kind::Dns };
                    Error::new(kind, error.to_string())
                })?;
                Ok(found.first().map(std::net::SocketAddr::ip))
            }
            None => Ok(None),
        }
    }

    fn judge(&self, url: &Url) -> Result<(), Error> {
        if !self.guard.permits_port(url) {
            let port = url.port().unwrap_or_default();
            return Err(Error::new(Kind::BadPort, format!("port {port} is not one of the web")));
        }
        if self.guard.permits_url(url) { Ok(()) } else { Err(private(url)) }
    }

    /// Fetches one URL, one hop.
    ///
    /// # Errors
    /// Returns an [`Error`] if no usable response arrives within the limits.
    pub async fn get(&self, url: &Url) -> Result<Response, Error> {
        self.get_if_changed(url, &Validators::default()).await
    }

    /// Fetches one URL; the status is 304 if it is unchanged since the stored copy with these validators.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_if_changed(&self, url: &Url, known: &Validators) -> Result<Response, Error> {
        self.get_up_to(url, self.limits.max_body, Beyond::Fails, known, &|_| true).await
    }

    /// Like [`get_if_changed`](Self::get_if_changed), but reads only wanted bodies: those of status 200 or 203 with a
    /// content type for which `wanted` returns true. [`Response::body`] of others is empty; they are read up to
    /// [`Limits::max_unwanted`].
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_wanted(
        &self,
        url: &Url,
        known: &Validators,
        wanted: impl Fn(&str) -> bool + Send + Sync,
    ) -> Result<Response, Error> {
        self.get_up_to(url, self.limits.max_body, Beyond::Fails, known, &wanted).await
    }

    /// Fetches a sitemap; bytes beyond [`Limits::max_sitemap`] are cut. An encoded body is not decoded, and a plain one
    /// beyond 1 MiB is compressed while it arrives, so that [`Sitemap::of_response`](crate::Sitemap::of_response)
    /// decodes it as a stream: `body` is empty, and of a compressed one `raw` too.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_sitemap(&self, url: &Url, known: &Validators) -> Result<Response, Error> {
        let max = self.limits.max_sitemap.saturating_add(1);
        self.get_up_to(url, max, Beyond::IsCut { decode: false }, known, &|_| true).await
    }

    /// Like [`get_sitemap`](Self::get_sitemap), but decodes the body, because it may be a page. The decoded body is
    /// cut at the same limit.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_list(&self, url: &Url, known: &Validators) -> Result<Response, Error> {
        // One byte beyond the limit shows that the list is longer.
        let max = self.limits.max_sitemap.saturating_add(1);
        self.get_up_to(url, max, Beyond::IsCut { decode: true }, known, &|_| true).await
    }

    /// Fetches robots.txt; bytes beyond [`Limits::max_robots`] are ignored.
    pub(crate) async fn get_robots(&self, url: &Url) -> Result<Response, Error> {
        let known = Validators::default();
        self.get_up_to(url, self.limits.max_robots, Beyond::IsIgnored, &known, &|_| true).await
    }

    /// Fetches tdmrep.json; bytes beyond [`MAX_TDMREP`] are ignored.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_tdmrep(&self, url: &Url, known: &Validators) -> Result<Response, Error> {
        self.get_up_to(url, MAX_TDMREP, Beyond::IsIgnored, known, &|_| true).await
    }

    async fn get_up_to(
        &self,
        url: &Url,
        max: usize,
        beyond: Beyond,
        known: &Validators,
        wanted: &(dyn Fn(&str) -> bool + Send + Sync),
    ) -> Result<Response, Error> {
        let url = &bare(url);
        self.judge(url)?;
        let started = Instant::now();
        let mut clock = Clock::new(started);
        let cookies = self.cookies_of(url);
        let under_way = self.idle.begin(host_and_port(url), started);
        let (mut response, sent) =
            self.exchange(url, known, under_way.stays_open(), &clock).await?;
        let peer = response.remote_addr();
        if peer.is_some_and(|peer| !self.may_talk_to(url, peer.ip())) {
            return Err(private(url));
        }
        let kinds = response.headers().get_all(CONTENT_TYPE).iter().map(HeaderValue::as_bytes);
        let kind = content_type(kinds);
        let wanted = matches!(response.status().as_u16(), 200 | 203)
            && kind.as_deref().is_none_or(wanted)
            || beyond == Beyond::IsIgnored;
        let length = response.content_length();
        if wanted && beyond == Beyond::Fails && length.is_some_and(|length| length > max as u64) {
            return Err(Error::new(Kind::TooLarge, format!("over {max} bytes announced")));
        }
        let short = self.limits.max_unwanted.min(max);
        let mut broken = false;
        let pack = beyond.pack_beyond(response.headers());
        let limit = (max, beyond != Beyond::Fails);
        let Came { raw, packed, permit, ended_early } = match wanted {
            true => self.bodies.read(&mut response, limit, pack, &mut clock).await?,
            false if length.is_some_and(|length| length > short as u64) => Came::default(),
            // The status is known, so errors in an unwanted body are ignored, except a timeout: the host is slow.
            false => match self.bodies.read(&mut response, (short, true), pack, &mut clock).await {
                Err(error) if error.kind() == Kind::Timeout => return Err(error),
                Ok(came) if !came.ended_early => came,
                _ => {
                    broken = true;
                    Came::default()
                }
            },
        };
        drop(under_way);
        let took = clock.took();
        let headers = kept_headers(response.headers(), self.limits.max_headers, self.personal);
        let (body, permit) = match wanted {
            true => self.decoded(&response, &raw, permit, (max, beyond)).await?,
            false => (Bytes::new(), permit),
        };
        // An incomplete robots.txt lacks rules if it has a length or is chunked. Without either it may be complete, and with a
        // gzip trailer it is.
        let http2 = response.version() == reqwest::Version::HTTP_2;
        let framed =
            http2 || length.is_some() || response.headers().contains_key(TRANSFER_ENCODING);
        let lacks = || beyond.lacks_content(framed, kind.as_deref(), &raw, &body);
        if ended_early && wanted && lacks() {
            let what = format!("the body ended early, after {} bytes", raw.len());
            return Err(Error::new(Kind::Protocol, what));
        }
        let received = packed.as_ref().map_or(raw.len(), |packed| packed.received);
        Ok(Response {
            ended_early: ended_early && wanted,
            cookies_changed: cookies != self.cookies_of(url),
            http2,
            url: url.clone(),
            status: response.status().as_u16(),
            headers,
            bodiless: !broken && received == 0 && length.is_none_or(|length| length == 0),
            raw,
            packed,
            body,
            peer: peer.filter(|_| !self.proxied),
            took,
            request: sent,
            _permit: permit.map(Arc::new),
        })
    }

    async fn decoded(
        &self,
        response: &reqwest::Response,
        raw: &Bytes,
        permit: Option<OwnedSemaphorePermit>,
        (max, beyond): (usize, Beyond),
    ) -> Result<Held, Error> {
        // From the response itself: the kept headers may lack it.
        let encodings = response.headers().get_all(CONTENT_ENCODING).iter();
        let encoding = in_one(encodings.map(HeaderValue::as_bytes));
        match beyond {
            Beyond::IsCut { decode } => {
                self.bodies.decode_list(raw, encoding, permit, decode.then_some(max)).await
            }
            Beyond::Fails => self.bodies.decode(raw, encoding, permit, max).await,
            // The rest of a robots.txt is ignored after decoding.
            Beyond::IsIgnored => {
                self.bodies.decode(raw, encoding, permit, self.limits.max_body).await
            }
        }
    }

    /// Sends a request and receives the head of the response; also returns the request as it is archived.
    async fn exchange(
        &self,
        url: &Url,
        known: &Validators,
        stays_open: bool,
        clock: &Clock,
    ) -> Result<(reqwest::Response, Vec<u8>), Error> {
        let mut request = self.request(url, known)?;
        let clients = self.clients_for(url);
        let mut client = &clients.any;
        if !stays_open {
            request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            client = &clients.http1;
        }
        let sent = self.request_head(&request);
        let first = self.limits.first_wait();
        let again = request.try_clone();
        let mut answer = clock.within(&self.limits, first, client.execute(request)).await;
        // RFC 9113, section 7: HTTP_1_1_REQUIRED.
        if let (Err(error), Some(again)) = (&answer, again)
            && error.wants_http1()
        {
            answer = clock.within(&self.limits, first, clients.http1.execute(again)).await;
        }
        Ok((answer?, sent))
    }

    /// Decodes a response that was kept on disk. `read` returns the response and whether its body is wanted. `bytes`
    /// is its approximate size: a large one waits for a permit. Returns `None` if the body has more than `most` bytes.
    ///
    /// # Errors
    /// As [`get`](Self::get), for the body only.
    pub async fn restore(
        &self,
        bytes: usize,
        most: usize,
        read: impl Future<Output = Option<(Response, bool)>>,
    ) -> Result<Option<Response>, Error> {
        let permit = match bytes > LARGE_BODY {
            true => Some(self.bodies.permit().await?),
            false => None,
        };
        let Some((mut response, wanted)) = read.await else { return Ok(None) };
        if wanted && response.raw.len() > most {
            return Ok(None);
        }
        let (body, permit) = match wanted {
            true => {
                let encoding = response.encoding();
                self.bodies.decode(&response.raw, encoding, permit, most).await?
            }
            false => (Bytes::new(), permit),
        };
        (response.body, response._permit) = (body, permit.map(Arc::new));
        Ok(Some(response))
    }

    fn request(&self, url: &Url, known: &Validators) -> Result<reqwest::Request, Error> {
        let mut request = self.clients_for(url).any.get(bare(url));
        if self.header_origins.contains(&origin(url)) {
            request = request.headers(HeaderMap::clone(&self.headers));
        }
        for (name, value) in
            [("if-none-match", &known.etag), ("if-modified-since", &known.last_modified)]
        {
            if let Some(value) = value.as_ref().and_then(|v| HeaderValue::from_str(v).ok()) {
                request = request.header(name, value);
            }
        }
        request.build().map_err(translate)
    }

    /// Returns the request as a WARC stores it: without [`Options::headers`] and cookies, which may be secret.
    fn request_head(&self, request: &reqwest::Request) -> Vec<u8> {
        let url = request.url();
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let host = url.host_str().unwrap_or_default();
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let mut head = format!(
            "GET {}{query} HTTP/1.1\r\nhost: {host}{port}\r\nuser-agent: {}\r\naccept: {ACCEPTED}\r\n\
             accept-encoding: {ENCODINGS}\r\n",
            url.path(),
            self.agent
        )
        .into_bytes();
        for (name, value) in request.headers() {
            if !self.headers.contains_key(name) {
                head.extend(name.as_str().as_bytes());
                head.extend(b": ");
                head.extend(value.as_bytes());
                head.extend(b"\r\n");
            }
        }
        head.extend(b"\r\n");
        head
    }

    fn clients_for(&self, url: &Url) -> &Clients {
        let (host, place) = (url.host_str(), host_and_port(url));
        let named = |hosts: &[String]| {
            hosts.iter().any(|named| Some(named.as_str()) == host || *named == place)
        };
        match &self.insecure {
            Some((clients, hosts)) if named(hosts) => clients,
            _ => &self.verified,
        }
    }

    fn cookies_of(&self, url: &Url) -> Option<String> {
        self.jar.as_ref()?.of(url, std::time::SystemTime::now())
    }

    fn may_talk_to(&self, url: &Url, ip: IpAddr) -> bool {
        self.proxied || self.guard.is_exact(url) || self.guard.permits(ip)
    }
}

/// Returns the URL without fragment, user and password: a link's author must not make us send credentials.
fn bare(url: &Url) -> Url {
    let mut url = url.clone();
    // Errors mean that the URL has no host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    url
}

/// Returns scheme, host and port, as [`Options::header_origins`] uses them: `https://a.example`. A default port is
/// omitted.
pub fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Returns the host with its port: `a.example:80`.
pub fn host_and_port(url: &Url) -> String {
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}:{port}", url.host_str().unwrap_or_default())
}

fn setup(error: String) -> Error {
    Error::new(Kind::Protocol, error)
}

fn client(
    options: &Options,
    resolver: &GuardedResolver,
    jar: Option<&Arc<Jar>>,
    trust: Option<&Trust>,
    http2: bool,
) -> Result<reqwest::Client, Error> {
    let mut headers = HeaderMap::new();
    let agent = HeaderValue::from_str(&options.user_agent);
    headers.insert(USER_AGENT, agent.map_err(|e| setup(format!("user agent: {e}")))?);
    headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(ENCODINGS));
    let proxy = options.proxy.as_ref();
    let protocols: &[&str] = if http2 { &["h2", "http/1.1"] } else { &["http/1.1"] };
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls::config(trust, protocols)?)
        .dns_resolver(resolver.clone())
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .http2_max_header_list_size(MAX_HEADER_LIST)
        .http2_keep_alive_interval(PING)
        .http2_keep_alive_timeout(PING)
        .http1_max_headers(MAX_HEADER_FIELDS)
        // Old servers fold long headers and write invalid ones (RFC 9112, section 5.2).
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_ignore_invalid_headers_in_responses(true)
        .default_headers(headers)
        .connect_timeout(options.limits.connect_timeout)
        .pool_max_idle_per_host(16)
        .pool_idle_timeout(IDLE);
    if let Some(jar) = jar {
        builder = builder.cookie_provider(Arc::clone(jar));
    }
    if let Some(proxy) = proxy {
        let proxy = reqwest::Proxy::all(proxy.as_str());
        builder = builder.proxy(proxy.map_err(|error| setup(format!("proxy: {error}")))?);
    }
    builder.build().map_err(|error| setup(error.to_string()))
}

fn private(url: &Url) -> Error {
    let host = url.host_str().unwrap_or_default();
    Error::new(Kind::PrivateAddress, format!("{host} is not a public address"))
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod hops_tests;

#[cfg(test)]
mod http2_tests;

#[cfg(test)]
mod robots_tests;
