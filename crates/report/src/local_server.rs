//! The web server of [`Inspect`](crate::Inspect) and of `crawl --metrics`. Limits of connections and times keep file descriptors free for other
//! parts of the process, and let it end at a signal despite open connections.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
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
