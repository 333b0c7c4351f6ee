//! Object stores that speak S3's protocol.

mod access;
mod address;
mod client;
mod fault;
mod http;
mod limits;
mod prefix;
mod upload;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hapax_data::files::Destination;

use crate::error::{Error, Result, StoreFault};
use access::Access;
use address::Address;
use client::{Client, Stop};
use limits::Pace;

pub(crate) use prefix::Prefix;
pub(crate) use upload::Upload;

/// Returns whether a path is the address of an object store: `s3://BUCKET/KEY`.
pub fn is_store(path: &Path) -> bool {
    Address::of_path(path).is_some()
}

/// Begins a new object, `s3://BUCKET/KEY`, which replaces the one of this key. Credentials, region and endpoint come
/// from the variables `AWS_*` of the environment. When `stop` becomes true, the next write fails.
///
/// # Errors
/// If the address or a variable is not valid, credentials are missing, or the store does not accept an upload.
pub fn object(address: &Path, stop: Arc<AtomicBool>) -> hapax_data::Result<Box<dyn Destination>> {
    let address = Address::parse(&address.to_string_lossy())?;
    let upload = upload_with(&address, &Access::from_env()?, Pace::default(), stop)?;
    Ok(Box::new(Object(upload)))
}

/// An upload whose errors are those of hapax-data.
struct Object(Upload);

impl Write for Object {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|error| match error.downcast::<Error>() {
            Ok(error) => io::Error::other(hapax_data::Error::from(error)),
            Err(error) => error,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Destination for Object {
    fn finish(self: Box<Self>) -> hapax_data::Result<()> {
        Ok(self.0.finish().map(drop)?)
    }
}

fn upload_with(address: &Address, access: &Access, pace: Pace, stop: Stop) -> Result<Upload> {
    let client = Arc::new(Client::new(address, access, pace, stop)?);
    if address.key.is_empty() {
        let problem = "this format writes one object. Name it: s3://BUCKET/pages.jsonl";
        return Err(client.fault("", StoreFault::Setting, problem));
    }
    Upload::begin(&client, &address.key)
}

/// Opens a prefix without a request, by the variables of the environment.
pub(crate) fn prefix(address: &str, stop: Stop) -> Result<Prefix> {
    Prefix::open(&Address::parse(address)?, &Access::from_env()?, Pace::default(), stop)
}

/// Returns the address if the path is one of a store.
pub(crate) fn address(path: &Path) -> Option<&str> {
    Address::of_path(path)
}

#[cfg(test)]
pub(crate) mod tests;
