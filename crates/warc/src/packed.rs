use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use hapax_fetch::Response;

use crate::head::{Head, beside_fields, known_fields};
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
    pub(crate) request: Option<Beside>,
    pub(crate) metadata: Option<Beside>,
}

/// The block of a record beside the response, and the fields of its head that are known before it is written.
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    pub(crate) fields: Part,
    pub(crate) block: Part,
}

impl Beside {
    fn of(
        deflater: &mut Deflater,
        content_type: &str,
        (response, time): (&Response, SystemTime),
        bytes: &[u8],
    ) -> io::Result<Self> {
        let fields = beside_fields(content_type, response, time, &payload_digest(bytes));
        let fields = deflater.part(&[&fields.before(bytes.len())])?;
        Ok(Self { fields, block: deflater.part(&[bytes])? })
    }

    fn size(&self) -> usize {
        self.fields.size() + self.block.size()
    }
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
        metadata: &[(&str, String)],
    ) -> io::Result<Self> {
        let mut block = response.head();
        let head = Block::of(deflater, &block)?;
        block.extend_from_slice(&response.raw);
        let whole = Block::of(deflater, &block)?;
        let request = match response.request.as_slice() {
            [] => None,
            request => {
                let content_type = "application/http;msgtype=request";
                Some(Beside::of(deflater, content_type, (response, time), request)?)
            }
        };
        let mut lines = Head::default();
        metadata.iter().for_each(|(name, value)| lines.field(name, value));
        let metadata = match lines.0.as_slice() {
            [] => None,
            lines => {
                let content_type = "application/warc-fields";
                Some(Beside::of(deflater, content_type, (response, time), lines)?)
            }
        };
        let payload_digest = payload_digest(&response.raw);
        let fields = known_fields(response, time, &whole.digest, Some(&payload_digest));
        let fields = deflater.part(&[&fields.before(whole.part.length())])?;
        Ok(Self { fields, whole, head, payload_digest, request, metadata })
    }

    /// Returns its memory in bytes.
    pub fn size(&self) -> usize {
        let beside = [&self.request, &self.metadata].into_iter().flatten().map(Beside::size);
        let response = self.fields.size() + self.whole.part.size() + self.head.part.size();
        response + beside.sum::<usize>()
    }
}

impl Packer {
    /// A packer with a deflate level, see [`WarcOptions::level`](crate::WarcOptions::level).
    pub fn new(level: u32) -> Self {
        Self { level, idle: Mutex::default() }
    }

    /// Compresses a response that was fetched at `time`, its request, and `metadata` (name and value) about it.
    ///
    /// # Errors
    /// If deflate fails, which does not happen on bytes in memory.
    pub fn pack(
        &self,
        response: &Response,
        time: SystemTime,
        metadata: &[(&str, String)],
    ) -> io::Result<Packed> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle().pop();
        let mut deflater = waiting.unwrap_or_else(|| Deflater::new(self.level));
        let packed = Packed::of(&mut deflater, response, time, metadata);
        idle().push(deflater);
        packed
    }
}
