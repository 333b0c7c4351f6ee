//! The parts of a table below a prefix of a bucket.

use std::sync::Arc;

use super::access::Access;
use super::address::Address;
use super::client::{Client, SharedClient, Stop};
use super::limits::Pace;
use super::upload::Upload;
use crate::error::Result;

/// A prefix, which is like a folder.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    client: SharedClient,
    /// Empty, or with a slash at its end.
    prefix: String,
}

impl Prefix {
    /// Makes no request. Uploads fail when `stop` is true.
    pub(crate) fn open(address: &Address, access: &Access, pace: Pace, stop: Stop) -> Result<Self> {
        let client = Arc::new(Client::new(address, access, pace, stop)?);
        let prefix =
            if address.key.is_empty() { String::new() } else { format!("{}/", address.key) };
        Ok(Self { client, prefix })
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    pub(crate) fn url(&self, name: &str) -> String {
        self.client.url(&self.key(name))
    }

    /// Returns names and bytes of the objects directly below the prefix whose names begin so.
    pub(crate) fn list(&self, begin: &str) -> Result<Vec<(String, u64)>> {
        let found = self.client.list(&self.key(begin))?.into_iter();
        let name =
            |(key, bytes): (String, u64)| Some((key.strip_prefix(&self.prefix)?.to_owned(), bytes));
        Ok(found.filter_map(name).collect())
    }

    pub(crate) fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>> {
        Ok(self.client.get(&self.key(name), most)?.map(Into::into))
    }

    /// Fails if another program wrote this object.
    pub(crate) fn claim(&self, name: &str) -> Result<bool> {
        self.client.claim(&self.key(name))
    }

    pub(crate) fn write(&self, name: &str, content: Vec<u8>) -> Result<()> {
        self.client.put(&self.key(name), content)
    }

    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        self.client.remove(&self.key(name))
    }

    pub(crate) fn upload(&self, name: &str) -> Result<Upload> {
        Upload::begin(&self.client, &self.key(name))
    }

    /// Removes what an interrupted upload sent.
    pub(crate) fn abort(&self, name: &str, id: &str) -> Result<()> {
        self.client.abort(&self.key(name), id, Vec::new())
    }
}
