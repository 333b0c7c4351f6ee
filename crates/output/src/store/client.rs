//! A bucket: single requests, each of which waits for its answer.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};

use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, BackoffConfig, Error as S3Error, GetOptions, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, RetryConfig,
};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::access::Access;
use super::address::Address;
use super::fault::explain;
use super::http::Connector;
use super::limits::{ABORT_TIME, MAX_LIST_PAGES, Pace, RETRY_TIME, STOP_CHECK};
use crate::error::{Error, Result, StoreFault};

/// Marks the objects that an export wrote.
const MARK: (&str, &str) = ("created-by", "hapax");

/// A bucket. Requests run on a thread of this client, so that they also work inside of a runtime of the caller.
pub(crate) struct Client {
    s3: AmazonS3,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    /// `s3://BUCKET`.
    bucket: String,
    /// ` at https://...`, if the endpoint is not that of AWS.
    at: String,
    secrets: Vec<String>,
    attempts: usize,
    pub(crate) pace: Pace,
    stop: Stop,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("bucket", &self.bucket).finish_non_exhaustive()
    }
}

/// A dropped client waits for no request.
impl Drop for Client {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Client {
    /// Makes no request. Uploads fail when `stop` is true.
    pub(crate) fn new(address: &Address, access: &Access, pace: Pace, stop: Stop) -> Result<Self> {
        let bucket = format!("s3://{}", address.bucket);
        let invalid = |problem: String| Error::Store {
            url: bucket.clone(),
            fault: StoreFault::Setting,
            problem,
        };
        let is_plain = access.endpoint.as_ref().is_some_and(|endpoint| endpoint.is_plain);
        let retry = RetryConfig {
            backoff: BackoffConfig {
                init_backoff: pace.pauses.0,
                max_backoff: pace.pauses.1,
                base: 2.0,
            },
            max_retries: access.attempts.saturating_sub(1),
            retry_timeout: RETRY_TIME,
        };
        let connector = Connector::new(is_plain, pace.request_time).map_err(invalid)?;
        // With static credentials no metadata service is asked for any.
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&address.bucket)
            .with_region(&access.region)
            .with_access_key_id(&access.key_id)
            .with_secret_access_key(&access.secret)
            .with_allow_http(is_plain)
            .with_http_connector(connector)
            // Not every store has the request for many objects.
            .with_config(AmazonS3ConfigKey::DisableBulkDelete, "true")
            .with_retry(retry);
        if let Some(token) = &access.token {
            builder = builder.with_token(token);
        }
        builder = match &access.endpoint {
            Some(endpoint) => builder.with_endpoint(&endpoint.url),
            // A dot in the host name would not match the certificate.
            None => builder.with_virtual_hosted_style_request(!address.bucket.contains('.')),
        };
        let s3 =
            builder.build().map_err(|error| invalid(explain(&error, 1, &access.secrets()).1))?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime =
            runtime.map_err(|error| invalid(format!("cannot start a thread: {error}")))?;
        Ok(Self {
            s3,
            runtime: Some(runtime),
            at: access.endpoint.as_ref().map(|end| format!(" at {}", end.url)).unwrap_or_default(),
            secrets: access.secrets(),
            attempts: access.attempts,
            bucket,
            pace,
            stop,
        })
    }

    /// Fails if the caller wants uploads to end.
    pub(crate) fn check_stop(&self, key: &str) -> Result<()> {
        let problem = "the export was stopped. Run the same command again";
        match self.stop.load(Relaxed) {
            true => Err(self.fault(key, StoreFault::Stopped, problem)),
            false => Ok(()),
        }
    }

    /// Returns the URL of an object, for messages.
    pub(crate) fn url(&self, key: &str) -> String {
        format!("{}/{key}", self.bucket)
    }

    pub(crate) fn error(&self, key: &str, error: &S3Error) -> Error {
        let (fault, problem) = explain(error, self.attempts, &self.secrets);
        self.fault(key, fault, &problem)
    }

    pub(crate) fn fault(&self, key: &str, fault: StoreFault, problem: &str) -> Error {
        // The bucket is at fault, not the object.
        let url = if fault == StoreFault::Bucket { self.bucket.clone() } else { self.url(key) };
        Error::Store { url: format!("{url}{}", self.at), fault, problem: problem.to_owned() }
    }

    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<JoinHandle<T>> {
        self.runtime.as_ref().map(|runtime| runtime.spawn(future))
    }

    /// Waits for a request, or until the export is stopped.
    fn wait<T: Send + 'static>(
        &self,
        key: &str,
        future: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> Result<std::result::Result<T, S3Error>> {
        self.wait_while(key, future, || self.check_stop(key))
    }

    fn wait_while<T: Send + 'static>(
        &self,
        key: &str,
        future: impl Future<Output = object_store::Result<T>> + Send + 'static,
        check: impl Fn() -> Result<()>,
    ) -> Result<std::result::Result<T, S3Error>> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let task = self.spawn(async move {
            let _ = sender.send(future.await);
        });
        while task.is_some() {
            match receiver.recv_timeout(STOP_CHECK) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => check()?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Err(self.fault(key, StoreFault::Lost, "the request ended without an answer"))
    }

    fn done<T: Send + 'static>(
        &self,
        key: &str,
        future: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.wait(key, future)?.map_err(|error| self.error(key, &error))
    }

    /// Lists the objects whose keys begin so, without those below a further slash: key and bytes.
    pub(crate) fn list(&self, begin: &str) -> Result<Vec<(String, u64)>> {
        let (mut found, mut token) = (Vec::new(), None);
        let folder = begin.rsplit_once('/').map_or("", |(folder, _)| folder);
        for _ in 0..MAX_LIST_PAGES {
            let options = PaginatedListOptions {
                delimiter: Some("/".into()),
                page_token: token,
                ..PaginatedListOptions::default()
            };
            let (s3, start) = (self.s3.clone(), begin.to_owned());
            let page =
                self.done(folder, async move { s3.list_paginated(Some(&start), options).await })?;
            let objects = page.result.objects.into_iter();
            found.extend(objects.map(|object| (object.location.to_string(), object.size)));
            token = page.page_token;
            if found.len() > self.pace.max_parts {
                break;
            }
            if token.is_none() {
                return Ok(found);
            }
        }
        let problem =
            format!("more than {} objects begin so. Choose another prefix", self.pace.max_parts);
        Err(self.fault(begin, StoreFault::Setting, &problem))
    }

    /// Returns the content of an object that an export wrote, or `None` if there is no object.
    pub(crate) fn get(&self, key: &str, most: u64) -> Result<Option<Bytes>> {
        let Some(found) = self.look(key, GetOptions::default())? else { return Ok(None) };
        if found.meta.size > most {
            let problem = format!("it has more than {most} bytes. Choose another prefix");
            return Err(self.fault(key, StoreFault::Setting, &problem));
        }
        self.done(key, found.bytes()).map(Some)
    }

    /// Fails if another program wrote this object. Returns whether there is one.
    pub(crate) fn claim(&self, key: &str) -> Result<bool> {
        Ok(self.look(key, GetOptions { head: true, ..GetOptions::default() })?.is_some())
    }

    fn look(&self, key: &str, options: GetOptions) -> Result<Option<object_store::GetResult>> {
        let (s3, path) = (self.s3.clone(), self.path(key)?);
        let found = match self.wait(key, async move { s3.get_opts(&path, options).await })? {
            Ok(found) => found,
            Err(error) => {
                let explained = self.error(key, &error);
                let is_bucket = matches!(explained, Error::Store { fault: StoreFault::Bucket, .. });
                let is_missing = matches!(error, S3Error::NotFound { .. }) && !is_bucket;
                return if is_missing { Ok(None) } else { Err(explained) };
            }
        };
        let mark = found.attributes.get(&Attribute::Metadata(MARK.0.into()));
        if mark.map(|value| &**value) != Some(MARK.1) {
            let problem = "another program wrote this object. Choose another prefix, or remove it";
            return Err(self.fault(key, StoreFault::Setting, problem));
        }
        Ok(Some(found))
    }

    pub(crate) fn put(&self, key: &str, content: Vec<u8>) -> Result<()> {
        let (s3, path) = (self.s3.clone(), self.path(key)?);
        let options = PutOptions { attributes: mark(), ..PutOptions::default() };
        self.done(key, async move { s3.put_opts(&path, content.into(), options).await.map(drop) })
    }

    /// Removes an object, if it is there.
    pub(crate) fn remove(&self, key: &str) -> Result<()> {
        let (s3, path) = (self.s3.clone(), self.path(key)?);
        match self.wait(key, async move { s3.delete(&path).await })? {
            Ok(()) | Err(S3Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.error(key, &error)),
        }
    }

    /// Begins an upload. Returns its id.
    pub(crate) fn begin(&self, key: &str) -> Result<String> {
        let (s3, path) = (self.s3.clone(), self.path(key)?);
        let options = PutMultipartOptions { attributes: mark(), ..PutMultipartOptions::default() };
        self.done(key, async move { s3.create_multipart_opts(&path, options).await })
    }

    /// Sends a chunk in the background.
    pub(crate) fn send(
        &self,
        key: &str,
        id: &str,
        number: usize,
        chunk: Vec<u8>,
    ) -> Result<JoinHandle<object_store::Result<PartId>>> {
        let (s3, path, id) = (self.s3.clone(), self.path(key)?, id.to_owned());
        let task = self.spawn(async move { s3.put_part(&path, &id, number, chunk.into()).await });
        task.ok_or_else(|| self.fault(key, StoreFault::Lost, "the client has ended"))
    }

    /// Waits for a chunk.
    pub(crate) fn sent(
        &self,
        key: &str,
        chunk: JoinHandle<object_store::Result<PartId>>,
    ) -> Result<PartId> {
        let sending = chunk.abort_handle();
        let sent = self.done(key, async move { chunk.await? });
        if sent.is_err() {
            // After a stop it may still be sent.
            sending.abort();
        }
        sent
    }

    /// Makes the object of an upload appear.
    pub(crate) fn complete(&self, key: &str, id: &str, chunks: Vec<PartId>) -> Result<()> {
        let (s3, path, id) = (self.s3.clone(), self.path(key)?, id.to_owned());
        self.done(key, async move { s3.complete_multipart(&path, &id, chunks).await.map(drop) })
    }

    /// Removes the chunks of an upload from the store, if there are any, after those that are being sent ended.
    pub(crate) fn abort(
        &self,
        key: &str,
        id: &str,
        sending: Vec<JoinHandle<object_store::Result<PartId>>>,
    ) -> Result<()> {
        let (s3, path, id) = (self.s3.clone(), self.path(key)?, id.to_owned());
        let abort = async move {
            for chunk in sending {
                chunk.abort();
                let _ = chunk.await;
            }
            s3.abort_multipart(&path, &id).await
        };
        self.at_end(key, abort)
    }

    /// Removes an object, even after a stop.
    pub(crate) fn remove_at_end(&self, key: &str) -> Result<()> {
        let (s3, path) = (self.s3.clone(), self.path(key)?);
        self.at_end(key, async move { s3.delete(&path).await })
    }

    /// Waits for a request that removes something. It is limited by its time, and a stop must not prevent it.
    fn at_end(
        &self,
        key: &str,
        request: impl Future<Output = object_store::Result<()>> + Send + 'static,
    ) -> Result<()> {
        let limited = async {
            let late = |_| S3Error::Generic { store: "S3", source: "no answer in time".into() };
            tokio::time::timeout(ABORT_TIME, request).await.map_err(late)?
        };
        match self.wait_while(key, limited, || Ok(()))? {
            Ok(()) | Err(S3Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.error(key, &error)),
        }
    }

    /// Returns whether the store still has an unfinished upload with so many chunks. It sends a byte as the next chunk,
    /// which the true one replaces.
    pub(crate) fn has_upload(&self, key: &str, id: &str, chunks: usize) -> bool {
        let sent = self.send(key, id, chunks, vec![0]);
        sent.and_then(|chunk| self.sent(key, chunk)).is_ok()
    }

    fn path(&self, key: &str) -> Result<Path> {
        Path::parse(key).map_err(|error| self.fault(key, StoreFault::Setting, &error.to_string()))
    }
}

fn mark() -> Attributes {
    Attributes::from_iter([(Attribute::Metadata(MARK.0.into()), MARK.1)])
}

/// True when uploads must end.
pub(crate) type Stop = Arc<AtomicBool>;

/// Shared by the uploads of an export.
pub(crate) type SharedClient = Arc<Client>;
