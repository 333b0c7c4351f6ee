//! One object, written as a file is.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem;

use object_store::multipart::PartId;
use tokio::task::JoinHandle;

use super::client::SharedClient;
use super::limits::CHUNKS_AT_ONCE;
use crate::error::{Result, StoreFault};

/// A new object, which appears whole when it is [finished](Self::finish). If it is dropped before, nothing of it stays
/// in the store.
///
/// Memory: four chunks of 8 MiB. Errors of [`Write`] contain an [`Error`](crate::Error).
pub(crate) struct Upload {
    client: SharedClient,
    key: String,
    id: String,
    chunk: Vec<u8>,
    sending: VecDeque<JoinHandle<object_store::Result<PartId>>>,
    sent: Vec<PartId>,
    bytes: u64,
    is_open: bool,
}

impl std::fmt::Debug for Upload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upload").field("url", &self.client.url(&self.key)).finish_non_exhaustive()
    }
}

impl Upload {
    pub(crate) fn begin(client: &SharedClient, key: &str) -> Result<Self> {
        let id = client.begin(key)?;
        Ok(Self {
            client: SharedClient::clone(client),
            key: key.to_owned(),
            id,
            chunk: Vec::new(),
            sending: VecDeque::new(),
            sent: Vec::new(),
            bytes: 0,
            is_open: true,
        })
    }

    /// The store's name of the unfinished upload.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Sends the rest and makes the object appear. Returns its bytes.
    ///
    /// # Errors
    /// If the store refuses it or is lost. Then the object does not appear, or it is complete.
    pub(crate) fn finish(mut self) -> Result<u64> {
        if !self.chunk.is_empty() {
            self.send()?;
        }
        while !self.sending.is_empty() {
            self.receive()?;
        }
        self.client.complete(&self.key, &self.id, mem::take(&mut self.sent))?;
        self.is_open = false;
        Ok(self.bytes)
    }

    fn send(&mut self) -> Result<()> {
        let number = self.sent.len() + self.sending.len();
        if number >= self.client.pace.max_chunks {
            let most = self.client.pace.max_chunks as u64 * self.client.pace.chunk as u64;
            let problem = format!(
                "an object has at most {most} bytes. Use --format parquet, which writes several, or filters"
            );
            return Err(self.client.fault(&self.key, StoreFault::Setting, &problem));
        }
        if self.sending.len() >= CHUNKS_AT_ONCE {
            self.receive()?;
        }
        let chunk = mem::take(&mut self.chunk);
        self.bytes += chunk.len() as u64;
        self.sending.push_back(self.client.send(&self.key, &self.id, number, chunk)?);
        Ok(())
    }

    /// Waits for the first chunk that is being sent.
    fn receive(&mut self) -> Result<()> {
        if let Some(chunk) = self.sending.pop_front() {
            self.sent.push(self.client.sent(&self.key, chunk)?);
        }
        Ok(())
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.client.check_stop(&self.key).map_err(io::Error::other)?;
        let size = self.client.pace.chunk;
        if self.chunk.is_empty() {
            self.chunk.reserve_exact(size);
        }
        let fits = bytes.len().min(size.saturating_sub(self.chunk.len()));
        self.chunk.extend_from_slice(bytes.get(..fits).unwrap_or_default());
        if self.chunk.len() >= size {
            self.send().map_err(io::Error::other)?;
        }
        Ok(fits)
    }

    /// Does nothing: a chunk must be full.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.is_open {
            // The cause is reported already; an upload that stays has no name.
            let _ = self.client.abort(&self.key, &self.id, mem::take(&mut self.sending).into());
        }
    }
}
