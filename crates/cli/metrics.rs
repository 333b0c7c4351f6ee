//! `--metrics ADDRESS`: metrics of a running crawl in the format of Prometheus.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use anyhow::Result;
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::get;
use hapax_crawl::Figures;

use crate::exit::{USAGE, coded};

/// Answers `/metrics` until the runtime ends.
pub(crate) fn serve(
    runtime: &tokio::runtime::Runtime,
    address: SocketAddr,
    figures: Figures,
) -> Result<()> {
    let listener = runtime.block_on(tokio::net::TcpListener::bind(address));
    let listener = listener
        .map_err(|error| coded(USAGE, format!("--metrics: cannot listen on {address}: {error}")))?;
    let answer = move |headers: HeaderMap| {
        let answered = may_read(address, &headers).then(|| {
            let text = render(&figures);
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
        });
        async move { answered.ok_or((StatusCode::FORBIDDEN, "ask by the address itself\n")) }
    };
    let app = axum::Router::new().route("/metrics", get(answer));
    runtime.spawn(crate::local_server::serve(listener, app, std::future::pending()));
    Ok(())
}

/// Whether a request names this machine: on a loopback address nobody else has a name for it, but a page in
/// a browser whose host's name leads here (DNS rebinding).
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

/// The text format of Prometheus, version 0.0.4.
fn render(figures: &Figures) -> String {
    let (pages, counts) = (figures.pages(), figures.urls());
    let mut text = String::new();
    let mut one = |name: &str, kind: &str, help: &str, value: u64| {
        let _ = writeln!(
            text,
            "# HELP hapax_{name} {help}\n# TYPE hapax_{name} {kind}\nhapax_{name} {value}"
        );
    };
    one(
        "pages_fetched_total",
        "counter",
        "Responses with a body, earlier runs included.",
        pages.fetched,
    );
    one("pages_indexed", "gauge", "Pages that are kept.", pages.indexed);
    one("bytes_fetched_total", "counter", "Bytes of bodies on the wire.", pages.bytes);
    one("responses_total", "counter", "Responses of this run, of any status.", figures.responses());
    one("requests_in_flight", "gauge", "Requests under way.", figures.in_flight());
    one("urls_known", "gauge", "URLs ever seen.", counts.known);
    one("urls_queued", "gauge", "URLs that wait, those in flight among them.", counts.queued);
    one("urls_deferred", "gauge", "URLs given up for this run.", counts.deferred);
    let kinds = [
        ("exact", pages.exact),
        ("near", pages.near),
        ("canonical", pages.canonical),
        ("alias", pages.alias),
    ];
    let _ = writeln!(
        text,
        "# HELP hapax_discarded Pages discarded as duplicates.\n# TYPE hapax_discarded gauge"
    );
    for (kind, count) in kinds {
        let _ = writeln!(text, "hapax_discarded{{kind=\"{kind}\"}} {count}");
    }
    let _ = writeln!(
        text,
        "# HELP hapax_skipped_total URLs not fetched or not used.\n# TYPE hapax_skipped_total counter"
    );
    for (reason, count) in figures.skipped() {
        // Reasons are a closed list of plain words.
        let _ = writeln!(text, "hapax_skipped_total{{reason=\"{reason}\"}} {count}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_somebody_lets_point_here_reads_nothing() {
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
