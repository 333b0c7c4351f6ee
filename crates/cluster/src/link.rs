//! Connections that survive the loss of a master: rebuilt after any failure, and retried until the patience ends.
//! [`Link::pipe`] may send commands twice, so these must be idempotent; only counts are approximate. Other commands,
//! such as leasing, use [`Link::pipe_once`].

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use redis::cluster::{ClusterClient, ClusterConnection, ClusterPipeline};
use redis::{ErrorKind, RedisError, ServerErrorKind, Value};

use crate::error::{Error, Result};

/// Longest wait for one answer. A failover of three masters takes 3 to 5 s.
const ANSWER: Duration = Duration::from_secs(2);
/// Shorter patience for the first connection.
const START: Duration = Duration::from_secs(4);
/// Shorter patience at exit: everything that is not sent by then expires.
pub(crate) const LEAVE: Duration = Duration::from_secs(2);
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Connections to the cluster, shared by all its users.
pub(crate) struct Link {
    client: ClusterClient,
    idle: Mutex<Vec<ClusterConnection>>,
    pub(crate) address: String,
    patience: Duration,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Link {
    /// Connects to `redis://HOST:PORT,HOST:PORT,...`, with an optional user and password before the first node.
    pub(crate) fn open(address: &str, patience: Duration) -> Result<Self> {
        let wrong = |why: String| Error::Address { address: without_password(address), why };
        let nodes = nodes(address).ok_or_else(|| wrong("not the address of a cluster".into()))?;
        let client = ClusterClient::builder(nodes)
            .connection_timeout(ANSWER)
            .response_timeout(ANSWER)
            .retries(1)
            .min_retry_wait(10)
            .max_retry_wait(50)
            .build()
            .map_err(|error| wrong(error.to_string()))?;
        let link =
            Self { client, idle: Mutex::default(), address: without_password(address), patience };
        let mut hello = ClusterPipeline::new();
        // A write: read-only access is not enough.
        hello.cmd("SET").arg("hapax:hello").arg(1).arg("EX").arg(60);
        link.pipe_within(&hello, patience.min(START))?;
        Ok(link)
    }

    /// Sends all commands in one pipeline and returns their answers in order.
    pub(crate) fn pipe(&self, commands: &ClusterPipeline) -> Result<Vec<Value>> {
        self.pipe_within(commands, self.patience)
    }

    /// Does the same at exit, with a shorter patience.
    pub(crate) fn pipe_leaving(&self, commands: &ClusterPipeline) -> Result<Vec<Value>> {
        self.pipe_within(commands, self.patience.min(LEAVE))
    }

    /// Sends all commands once. Returns `None` after a temporary failure: then some of them may have been executed.
    pub(crate) fn pipe_once(&self, commands: &ClusterPipeline) -> Result<Option<Vec<Value>>> {
        match self.once(commands) {
            Ok(values) => Ok(Some(values)),
            Err(error) if passes(&error) => {
                self.idle().clear();
                Ok(None)
            }
            Err(error) => Err(Error::Refused { address: self.address.clone(), why: told(&error) }),
        }
    }

    fn pipe_within(&self, commands: &ClusterPipeline, patience: Duration) -> Result<Vec<Value>> {
        let began = Instant::now();
        let mut pause = SHORTEST_PAUSE;
        loop {
            let error = match self.once(commands) {
                Ok(values) => return Ok(values),
                Err(error) => error,
            };
            let why = told(&error);
            if !passes(&error) {
                return Err(Error::Refused { address: self.address.clone(), why });
            }
            if began.elapsed() >= patience {
                let seconds = patience.as_secs();
                return Err(Error::Unavailable { address: self.address.clone(), seconds, why });
            }
            // The other connections have the same outdated map of nodes.
            self.idle().clear();
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn once(&self, commands: &ClusterPipeline) -> std::result::Result<Vec<Value>, RedisError> {
        let kept = self.idle().pop();
        let mut connection = match kept {
            Some(connection) => connection,
            None => self.client.get_connection()?,
        };
        let values = commands.query::<Vec<Value>>(&mut connection)?;
        self.idle().push(connection);
        Ok(values)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<ClusterConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether the error is temporary: a node is unreachable, moving, loading or being replaced.
fn passes(error: &RedisError) -> bool {
    match error.clone().into_server_errors() {
        // Errors in a pipeline, which have no kind.
        Some(errors) => errors.iter().all(|(_, error)| match error.kind() {
            Some(kind) => kind_passes(ErrorKind::Server(kind), error),
            None => !matches!(error.code(), "NOAUTH" | "WRONGPASS" | "NOPERM" | "WRONGTYPE"),
        }),
        None => kind_passes(error.kind(), error),
    }
}

fn kind_passes(kind: ErrorKind, error: &impl ToString) -> bool {
    match kind {
        ErrorKind::AuthenticationFailed
        | ErrorKind::InvalidClientConfig
        | ErrorKind::UnexpectedReturnType
        | ErrorKind::Server(ServerErrorKind::NoPerm) => false,
        ErrorKind::Server(ServerErrorKind::ResponseError) => {
            // Scripts report errors of their node as their own.
            let text = error.to_string();
            ["READONLY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "OOM", "NOREPLICAS"]
                .iter()
                .any(|code| text.contains(code))
        }
        _ => true,
    }
}

fn told(error: &RedisError) -> String {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    match first.to_ascii_lowercase() {
        // The error of a single server.
        text if text.contains("cluster support disabled") => {
            format!("{first} (it is a single server: start it with cluster-enabled yes)")
        }
        _ => first.to_owned(),
    }
}

/// Returns the address of each node. One user and password apply to all nodes, so they are written once; the client
/// requires them on every node.
fn nodes(address: &str) -> Option<Vec<String>> {
    let (scheme, rest) = address.split_once("://")?;
    let user = rest.split(',').find_map(|node| node.rsplit_once('@')).map(|(user, _)| user);
    let node = |node: &str| match user {
        Some(user) if !node.contains('@') => format!("{scheme}://{user}@{node}"),
        _ => format!("{scheme}://{node}"),
    };
    Some(rest.split(',').map(node).collect())
}

fn without_password(address: &str) -> String {
    match (address.split_once("://"), address.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, nodes))) => format!("{scheme}://{nodes}"),
        (None, Some((_, nodes))) => nodes.to_owned(),
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_cluster_address_is_reported_without_its_password() {
        for bad in ["127.0.0.1:7000", "http://a:1", "redis://a:x"] {
            let error = Link::open(bad, Duration::ZERO).unwrap_err();
            assert!(matches!(error, Error::Address { .. }), "{bad}: {error}");
        }
        for bad in ["u:secret@a:1", "redis://u:secret@a:x", "http://u:secret@a:1"] {
            let error = Link::open(bad, Duration::ZERO).unwrap_err().to_string();
            assert!(error.contains("a:") && !error.contains("secret"), "{error}");
        }
        assert_eq!(without_password("redis://u:p@a:1,b:2"), "redis://a:1,b:2");
        let error = Link::open("redis://127.0.0.1:1", Duration::from_millis(1)).unwrap_err();
        assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
    }
    #[test]
    fn a_password_that_is_named_once_is_that_of_all_nodes() {
        let all = |address: &str| nodes(address).unwrap().join(" ");
        assert_eq!(all("redis://a:1,b:2"), "redis://a:1 redis://b:2");
        let both = "rediss://u:p@a:1 rediss://u:p@b:2";
        for address in ["rediss://u:p@a:1,b:2", "rediss://u:p@a:1,u:p@b:2", "rediss://a:1,u:p@b:2"]
        {
            assert_eq!(all(address), both, "{address}");
        }
        // A valid address without a server.
        let moment = Duration::from_millis(1);
        let error = Link::open("redis://:p@127.0.0.1:1,127.0.0.1:2", moment).unwrap_err();
        assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    }
}
