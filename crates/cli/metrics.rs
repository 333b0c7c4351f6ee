//! `--metrics ADDRESS`: metrics of a running crawl in the format of Prometheus.

use std::net::SocketAddr;

use anyhow::Result;
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::get;
use hapax_crawl::LatestFigures;
use hapax_report::local_server::{may_read, serve as serve_app};

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
    runtime.spawn(serve_app(listener, app, std::future::pending()));
    Ok(())
}
