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
        Ok(Self::resume(client, key, &client.begin(key)?, &[]))
    }

    /// Continues an upload after its first chunks.
    pub(crate) fn resume(client: &SharedClient, key: &str, id: &str, chunks: &[String]) -> Self {
        let chunk = |name: &String| PartId { content_id: name.clone() };
        Self {
            client: SharedClient::clone(client),
            key: key.to_owned(),
            id: id.to_owned(),
            chunk: Vec::new(),
            sending: VecDeque::new(),
            sent: chunks.iter().map(chunk).collect(),
            bytes: chunks.len() as u64 * client.pace.chunk as u64,
            is_open: true,
        }
    }

    /// The store's name of the unfinished upload.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes + self.chunk.len() as u64
    }

    /// Whether all bytes are in full chunks.
    pub(crate) fn is_between_chunks(&self) -> bool {
        self.chunk.is_empty()
    }

    /// Number of chunks, with those that are being sent.
    pub(crate) fn chunks(&self) -> usize {
        self.sent.len() + self.sending.len()
    }

    /// The first chunks, which the store has confirmed.
    pub(crate) fn sent(&self) -> &[PartId] {
        &self.sent
    }

    /// Leaves what was sent in the store, for a later export.
    pub(crate) const fn leave(&mut self) {
        self.is_open = false;
    }

    /// Removes what was sent from the store.
    pub(crate) fn abandon(&mut self) -> Result<()> {
        if !mem::take(&mut self.is_open) {
            return Ok(());
        }
        self.client.abort(&self.key, &self.id, mem::take(&mut self.sending).into())
    }

    /// Sends the rest and makes the object appear. Returns its bytes.
    ///
    /// # Errors
    /// If the store refuses it or is lost. Then the object does not appear, or it is complete.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.complete()
    }

    /// Does the same.
    pub(crate) fn complete(&mut self) -> Result<u64> {
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
        let number = self.chunks();
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
        // The cause is reported already; an upload that stays has no name.
        let _ = self.abandon();
    }
}
