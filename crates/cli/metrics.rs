//! `--metrics ADDRESS`: metrics of a running crawl in the format of Prometheus.

use std::net::{IpAddr, SocketAddr};

use anyhow::Result;
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::get;
use hapax_crawl::LatestFigures;

use crate::exit::{USAGE, coded};

/// Answers `/metrics` until the runtime ends.
pub(crate) fn serve(
    runtime: &tokio::runtime::Runtime,
    address: SocketAddr,
    figures: LatestFigures,
) -> Result<()> {
    let listener = runtime.block_on(tokio::net::TcpListener::bind(address));
    let listener = listener
        .map_err(|error| coded(USAGE, format!("--metrics: cannot listen on {address}: {error}")))?;
    let answer = move |headers: HeaderMap| {
        let answered = may_read(address, &headers).then(|| {
            let text = figures.to_prometheus();
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
        });
        async move {
            answered.ok_or((StatusCode::FORBIDDEN, "use the IP address and port in the URL\n"))
        }
    };
    let app = axum::Router::new().route("/metrics", get(answer));
    runtime.spawn(hapax_report::local_server::serve(listener, app, std::future::pending()));
    Ok(())
}

/// Whether a request names this machine. On a loopback address any other name comes from a browser under DNS
/// rebinding.
fn may_read(address: SocketAddr, headers: &HeaderMap) -> bool {
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
