//! The stream of events as server-sent events: `/stream`.

use std::convert::Infallible;
use std::fmt::Write;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::{Bytes, Frame};
use serde::Deserialize;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use hapax_data::{Cursor, FOLLOW_INTERVAL, Fields, Result, Stream, StreamFormat, Streamed};

/// Streams at a time: each one has a thread and a reader of the index.
pub(super) const MAX_STREAMS: usize = 8;
/// Time until a stream ends. The client connects again with its last cursor; the server closes each connection after
/// a minute.
const MAX_TIME: Duration = Duration::from_secs(50);
/// Time without an event after which a comment is sent. It shows whether the client is still connected.
const IDLE: Duration = Duration::from_secs(10);
/// Events in memory for a slow client.
const MAX_WAITING: usize = 16;

/// The query of `/stream`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct StreamQuery {
    /// The cursor, if the client sends no `Last-Event-ID`.
    #[serde(default)]
    from: String,
    /// Names of fields, separated by commas.
    fields: Option<String>,
}

impl StreamQuery {
    /// Returns the position and the fields. A client that connects again sends the last cursor in a header.
    fn parse(&self, headers: &HeaderMap) -> Result<(Option<Cursor>, Fields)> {
        let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
        let from = last.unwrap_or(&self.from);
        let from = (!from.is_empty()).then(|| from.parse()).transpose()?;
        Ok((from, self.fields.as_deref().map(Fields::parse).transpose()?.unwrap_or_default()))
    }
}

/// Answers with the events after the client's position, and with further ones as they become durable.
pub(super) async fn stream(
    dirs: Vec<PathBuf>,
    streams: std::sync::Arc<Semaphore>,
    query: &StreamQuery,
    headers: &HeaderMap,
) -> Response {
    // A browser does not connect again after an error.
    let refused =
        |error: hapax_data::Error| (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response();
    let Ok(permit) = streams.try_acquire_owned() else {
        let what =
            format!("This server serves {MAX_STREAMS} streams at a time. Try again later.\n");
        return (StatusCode::SERVICE_UNAVAILABLE, what).into_response();
    };
    let (from, fields) = match query.parse(headers) {
        Ok(parsed) => parsed,
        Err(error) => return refused(error),
    };
    let opened = tokio::task::spawn_blocking(move || {
        let stream = Stream::open_all(&dirs, from.as_ref())?;
        hapax_data::Result::Ok((stream.with_fields(&fields), fields))
    });
    let (stream, fields) = match opened.await {
        Ok(Ok(opened)) => opened,
        Ok(Err(error)) => return refused(error),
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    let (sender, receiver) = channel(MAX_WAITING);
    tokio::task::spawn_blocking(move || send(stream, &fields, &sender, permit));
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::new(Events(receiver))).into_response()
}

/// Sends events until the client disconnects, the time is over, or an error, which it sends as an event.
fn send(
    mut stream: Stream,
    fields: &Fields,
    sender: &Sender<Bytes>,
    _permit: OwnedSemaphorePermit,
) {
    let end = Instant::now() + MAX_TIME;
    let mut sent = Instant::now();
    let mut next = || -> Result<Option<String>> {
        if let Some(event) = stream.next_event()? {
            return Ok(Some(message(&event, fields)?));
        }
        if !stream.refresh()? {
            std::thread::sleep(FOLLOW_INTERVAL);
        }
        Ok(None)
    };
    while Instant::now() < end && !sender.is_closed() {
        let (text, is_last) = match next() {
            Ok(Some(text)) => (text, false),
            Ok(None) if sent.elapsed() < IDLE => continue,
            Ok(None) => (":\n\n".to_owned(), false),
            Err(error) => {
                let what = serde_json::json!({"error": error.to_string()});
                (format!("event: failed\ndata: {}\n\n", crate::text::json(&what)), true)
            }
        };
        if sender.blocking_send(text.into()).is_err() || is_last {
            return;
        }
        sent = Instant::now();
    }
}

/// Returns an event as a message: JSON has no line breaks.
fn message(event: &Streamed, fields: &Fields) -> Result<String> {
    let mut text = format!("id: {}\nevent: {}\n", event.cursor, event.event.event.as_str());
    for line in event.lines(StreamFormat::Jsonl, fields)? {
        let _ = writeln!(text, "data: {}", crate::text::json(&line));
    }
    text.push('\n');
    Ok(text)
}

/// The body of the response.
struct Events(Receiver<Bytes>);

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
