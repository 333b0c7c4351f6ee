//! The web server of [`Inspect`](crate::Inspect) and of `crawl --metrics`. Limits of connections and times keep file descriptors free for other
//! parts of the process, and let it end at a signal despite open connections.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Connections at a time; further ones wait in the kernel's queue.
const MAX_CONNECTIONS: u32 = 256;
/// Time for a request's head to arrive.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// Time until a connection, which serves one request, is closed.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(60);
/// Time for requests in progress once the server shuts down.
const GRACE: Duration = Duration::from_millis(500);
/// Pause after a failed accept, such as one without a free file descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers requests until `shutdown` resolves, then gives earlier requests `GRACE` to end.
pub async fn serve(listener: TcpListener, app: axum::Router, shutdown: impl Future<Output = ()>) {
    let free = Arc::new(Semaphore::new(MAX_CONNECTIONS as usize));
    tokio::pin!(shutdown);
    loop {
        let accepted = async {
            let permit = Arc::clone(&free).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            () = &mut shutdown => break,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let app = app.clone();
                tokio::spawn(async move {
                    answer(stream, app).await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
    drop(listener);
    let all = free.acquire_many(MAX_CONNECTIONS);
    let _ = tokio::time::timeout(GRACE, all).await;
}

async fn answer(stream: TcpStream, app: axum::Router) {
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let app = app.clone();
        async move {
            let mut app = app;
            let request = request.map(Body::new);
            let answered: Result<_, Infallible> =
                tower_service::Service::call(&mut app, request).await;
            answered
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).keep_alive(false);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    // Client errors: it disconnected or sent invalid HTTP.
    let _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection).await;
}

/// Returns whether a request names this machine, or the server does not listen on a loopback address. There any other name
/// comes from a browser under DNS rebinding.
pub fn may_read(address: SocketAddr, headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    !address.ip().is_loopback()
        || bare.parse::<IpAddr>().is_ok()
        || bare.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_host_name_cannot_read_the_metrics() {
        let asked = |address: &str, host: &str| {
            let headers = [(header::HOST, host.parse().unwrap())].into_iter().collect();
            may_read(address.parse().unwrap(), &headers)
        };
        for host in ["127.0.0.1:9100", "localhost:9100", "LOCALHOST", "[::1]:9100", "[::1]"] {
            assert!(asked("127.0.0.1:9100", host), "{host}");
        }
        for host in ["evil.example:9100", "evil.example", "", "127.0.0.1.evil.example:9100"] {
            assert!(!asked("127.0.0.1:9100", host) && asked("10.0.0.1:9100", host), "{host}");
        }
    }
}
