//! Reads and decodes bodies within limits, with a limit on large bodies in memory.

mod packed;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::decode::{decode_beginning, decode_body_within, decode_up_to, is_plain};
use crate::error::{Error, Kind, translate};
use crate::limits::{LARGE_BODY, Limits};

use self::packed::Buffer;
pub(crate) use self::packed::Packed;

/// Maximum number of bytes to reserve for the length that a server declares; the buffer grows as bytes arrive.
const ANNOUNCED: u64 = 64 << 10;

/// A body, and the permit of a large one.
pub(crate) type Held = (Bytes, Option<OwnedSemaphorePermit>);

/// A body as received.
#[derive(Debug, Default)]
pub(crate) struct Came {
    /// Empty if the body was compressed.
    pub(crate) raw: Bytes,
    pub(crate) packed: Option<Packed>,
    pub(crate) permit: Option<OwnedSemaphorePermit>,
    pub(crate) ended_early: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Bodies {
    limits: Limits,
    large: Arc<Semaphore>,
    /// Bodies that wait for a permit.
    waiting: Arc<AtomicUsize>,
}

/// Counts one waiting body until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Time of a request, without the wait for a permit.
#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    waited: Duration,
}

impl Clock {
    pub(crate) const fn new(started: Instant) -> Self {
        Self { started, waited: Duration::ZERO }
    }

    pub(crate) fn took(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.waited)
    }

    /// Awaits the server's next step for at most `most` and the rest of the total timeout. The client's own timeouts
    /// would also count the wait for a permit.
    pub(crate) async fn within<T>(
        &self,
        limits: &Limits,
        most: Duration,
        next: impl Future<Output = Result<T, reqwest::Error>>,
    ) -> Result<T, Error> {
        let left = limits.total_timeout.saturating_sub(self.took()).min(most);
        match tokio::time::timeout(left, next).await {
            Ok(next) => next.map_err(translate),
            Err(_) => {
                let what = format!("nothing came within {:.1} s", left.as_secs_f64());
                Err(Error::new(Kind::Timeout, what))
            }
        }
    }
}

impl Bodies {
    pub(crate) fn new(limits: Limits) -> Self {
        let large = Arc::new(Semaphore::new(limits.large_bodies.max(1)));
        Self { large, limits, waiting: Arc::default() }
    }

    /// Reads at most `max` bytes. A longer body is cut if `cut`, else an error. A body beyond `pack_beyond` bytes is
    /// compressed.
    pub(crate) async fn read(
        &self,
        response: &mut reqwest::Response,
        (max, cut): (usize, bool),
        pack_beyond: usize,
        clock: &mut Clock,
    ) -> Result<Came, Error> {
        // Start of the rate measurement: time and bytes.
        let mut from = (clock.took(), 0);
        let whole = response.content_length();
        let announced = whole.unwrap_or(0).min(ANNOUNCED) as usize;
        let mut raw = Buffer::new(announced.min(max), pack_beyond);
        let failed = |error: std::io::Error| Error::new(Kind::Encoding, error.to_string());
        let mut permit = None;
        let mut ended_early = false;
        loop {
            let next = clock.within(&self.limits, self.limits.read_timeout, response.chunk()).await;
            let piece = match next {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                // The caller checks whether the content is complete.
                Err(error) if error.kind() != Kind::Timeout && raw.len() > 0 => {
                    ended_early = true;
                    break;
                }
                Err(error) => return Err(error),
            };
            let room = max.saturating_sub(raw.len());
            raw.push(piece.get(..room).unwrap_or(&piece)).map_err(failed)?;
            if piece.len() > room {
                if cut {
                    break;
                }
                return Err(Error::new(Kind::TooLarge, format!("over {max} bytes")));
            }
            if raw.len() > LARGE_BODY && permit.is_none() {
                let since = Instant::now();
                permit = Some(self.permit().await?);
                clock.waited += since.elapsed();
                // The speed before the permit does not predict how long the body will hold it.
                from = (clock.took(), raw.len());
            }
            // Measure each interval separately: a server that begins fast and then drips would keep the permit.
            let took = clock.took().saturating_sub(from.0);
            if took > self.limits.slow_after && whole != Some(raw.len() as u64) {
                let came = raw.len() - from.1;
                let rate = self.least_rate(permit.is_some());
                if (came as f64) < rate as f64 * took.as_secs_f64() {
                    let what = format!("{came} bytes in {} s: too slow", took.as_secs());
                    return Err(Error::new(Kind::Timeout, what));
                }
                from = (clock.took(), raw.len());
            }
        }
        let (raw, packed) = raw.end().map_err(failed)?;
        Ok(Came { raw, packed, permit, ended_early })
    }

    /// Returns the minimum bytes per second. It is higher for a body with a permit while others wait, so that a
    /// dripping body does not keep the permit until the total timeout.
    fn least_rate(&self, has_permit: bool) -> usize {
        let Limits { min_rate, large_rate, .. } = self.limits;
        let is_wanted = has_permit && self.waiting.load(Relaxed) > 0;
        if is_wanted { min_rate.max(large_rate) } else { min_rate }
    }

    /// Decodes the Content-Encoding, if any. A body that becomes large waits for a permit first: otherwise a few
    /// bytes from each of several hosts could expand to gigabytes at once.
    pub(crate) async fn decode(
        &self,
        raw: &Bytes,
        encoding: Option<String>,
        permit: Option<OwnedSemaphorePermit>,
        max: usize,
    ) -> Result<Held, Error> {
        let Some(encoding) = encoding.filter(|_| !raw.is_empty()) else {
            return Ok((raw.clone(), permit));
        };
        if is_plain(&encoding) {
            return Ok((raw.clone(), permit));
        }
        let limits = Limits { max_body: max, ..self.limits.clone() };
        let permit = match permit {
            Some(permit) => permit,
            None => match decode_up_to(raw, &encoding, &limits, LARGE_BODY)? {
                Some(body) => return Ok((body.into(), None)),
                None => self.permit().await?,
            },
        };
        let raw = raw.clone();
        // Move the permit: the blocking task continues if this future is dropped.
        let decoded = tokio::task::spawn_blocking(move || {
            let body = decode_body_within(&raw, &encoding, &limits)?;
            Ok((Bytes::from(body), Some(permit)))
        });
        decoded.await.map_err(|error| Error::new(Kind::Encoding, error.to_string()))?
    }

    /// Decodes at most `max` bytes of a list; the rest is cut. Without `max` only a body without encoding is returned:
    /// the caller decodes an encoded one as a stream.
    pub(crate) async fn decode_list(
        &self,
        raw: &Bytes,
        encoding: Option<String>,
        permit: Option<OwnedSemaphorePermit>,
        max: Option<usize>,
    ) -> Result<Held, Error> {
        let Some(encoding) = encoding.filter(|encoding| !is_plain(encoding)) else {
            return Ok((raw.clone(), permit));
        };
        let Some(max) = max else { return Ok((Bytes::new(), permit)) };
        let layers = self.limits.max_encodings;
        let body = decode_beginning(raw, &encoding, layers, max.min(LARGE_BODY));
        if body.len() < max.min(LARGE_BODY) {
            return Ok((body.into(), permit));
        }
        let permit = match permit {
            Some(permit) => permit,
            None => self.permit().await?,
        };
        let raw = raw.clone();
        // Move the permit: the blocking task continues if this future is dropped.
        let decoded = tokio::task::spawn_blocking(move || {
            (Bytes::from(decode_beginning(&raw, &encoding, layers, max)), Some(permit))
        });
        decoded.await.map_err(|error| Error::new(Kind::Encoding, error.to_string()))
    }

    /// Acquires the permit that a large body keeps while it is in memory. A failure is never the host's fault.
    pub(crate) async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        if let Ok(permit) = Arc::clone(&self.large).try_acquire_owned() {
            return Ok(permit);
        }
        let before = self.waiting.fetch_add(1, Relaxed);
        let _waiting = Waiting(&self.waiting);
        if before >= self.limits.waiting_bodies {
            return Err(Error::new(Kind::Busy, "too many large bodies wait"));
        }
        let permit = Arc::clone(&self.large).acquire_owned();
        match tokio::time::timeout(self.limits.total_timeout, permit).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Error::new(Kind::Busy, "too many large bodies at a time")),
        }
    }
}

#[cfg(test)]
mod tests;
