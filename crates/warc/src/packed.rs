use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use hapax_fetch::Response;

use crate::head::known_fields;
use crate::member::{Deflater, Part};
use crate::payload_digest;

/// Compresses responses on any number of threads.
///
/// # Complexity
/// Memory: about 300 KiB for each concurrent call.
#[derive(Debug)]
pub struct Packer {
    level: u32,
    idle: Mutex<Vec<Deflater>>,
}

/// A response, compressed and digested, for [`Writer::append_packed`](crate::Writer::append_packed).
#[derive(Clone, Debug)]
pub struct Packed {
    /// The fields of a response record that are known before it is written: see [`known_fields`].
    pub(crate) fields: Part,
    /// Head and body.
    pub(crate) whole: Block,
    pub(crate) head: Block,
    pub(crate) payload_digest: String,
    pub(crate) request: Option<Block>,
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) part: Part,
    pub(crate) digest: String,
}

impl Block {
    pub(crate) fn of(deflater: &mut Deflater, bytes: &[u8]) -> io::Result<Self> {
        Ok(Self { part: deflater.part(&[bytes])?, digest: payload_digest(bytes) })
    }
}

impl Packed {
    pub(crate) fn of(
        deflater: &mut Deflater,
        response: &Response,
        time: SystemTime,
    ) -> io::Result<Self> {
        let mut block = response.head();
        let head = Block::of(deflater, &block)?;
        block.extend_from_slice(&response.raw);
        let whole = Block::of(deflater, &block)?;
        let request = match response.request.as_slice() {
            [] => None,
            request => Some(Block::of(deflater, request)?),
        };
        let payload_digest = payload_digest(&response.raw);
        let fields = known_fields(response, time, &whole.digest, Some(&payload_digest));
        let fields = deflater.part(&[&fields.before(whole.part.length())])?;
        Ok(Self { fields, whole, head, payload_digest, request })
    }

    /// Returns its memory in bytes.
    pub fn size(&self) -> usize {
        let request = self.request.as_ref().map_or(0, |block| block.part.size());
        self.fields.size() + self.whole.part.size() + self.head.part.size() + request
    }
}

impl Packer {
    /// A packer with a deflate level, see [`WarcOptions::level`](crate::WarcOptions::level).
    pub fn new(level: u32) -> Self {
        Self { level, idle: Mutex::default() }
    }

    /// Compresses a response that was fetched at `time`.
    ///
    /// # Errors
    /// If deflate fails, which does not happen on bytes in memory.
    pub fn pack(&self, response: &Response, time: SystemTime) -> io::Result<Packed> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle().pop();
        let mut deflater = waiting.unwrap_or_else(|| Deflater::new(self.level));
        let packed = Packed::of(&mut deflater, response, time);
        idle().push(deflater);
        packed
    }
}
