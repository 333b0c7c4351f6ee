//! Object stores that speak S3's protocol.

mod access;
mod address;
mod client;
mod fault;
mod http;
mod limits;
mod object;
mod prefix;
mod upload;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hapax_data::files::Destination;

use crate::error::{Result, StoreFault};
use access::Access;
use address::Address;
use client::{Client, Stop};
use limits::Pace;
use object::Object;

pub(crate) use prefix::Prefix;
pub(crate) use upload::Upload;

/// Returns whether a path is the address of an object store: `s3://BUCKET/KEY`.
pub fn is_store(path: &Path) -> bool {
    Address::of_path(path).is_some()
}

/// Begins a new object, `s3://BUCKET/KEY`, which replaces the one of this key, or continues the one that an interrupted
/// export with the same `state` began. Credentials, region and endpoint come from the variables `AWS_*` of the
/// environment. When `stop` becomes true, the next write fails.
///
/// # Errors
/// If the address or a variable is not valid, credentials are missing, or the store does not accept an upload.
pub fn object(
    address: &Path,
    state: Option<&str>,
    stop: Arc<AtomicBool>,
) -> hapax_data::Result<Box<dyn Destination>> {
    let address = Address::parse(&address.to_string_lossy())?;
    Ok(Box::new(object_with(&address, &Access::from_env()?, Pace::default(), (state, stop))?))
}

fn object_with(
    address: &Address,
    access: &Access,
    pace: Pace,
    (state, stop): (Option<&str>, Stop),
) -> Result<Object> {
    let client = Arc::new(Client::new(address, access, pace, stop)?);
    if address.key.is_empty() {
        let problem = "this format writes one object. Name it: s3://BUCKET/pages.jsonl";
        return Err(client.fault("", StoreFault::Setting, problem));
    }
    Object::open(&client, &address.key, state)
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
