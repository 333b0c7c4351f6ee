//! Connections that survive the loss of a master: rebuilt on any failure, tried again until
//! patience ends. What [`Link::pipe`] sends may be done twice, and must be harmless then: all but counts,
//! which are about right. What is not, such as a try to lease, is sent with [`Link::pipe_once`].

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use redis::cluster::{ClusterClient, ClusterConnection, ClusterPipeline};
use redis::{ErrorKind, RedisError, ServerErrorKind, Value};

use crate::error::{Error, Result};

/// One answer is waited for so long; a failover of three masters takes 3 to 5 s.
const ANSWER: Duration = Duration::from_secs(2);
/// Who begins is told sooner that nobody answers.
const START: Duration = Duration::from_secs(4);
/// Who leaves waits no longer: what is not told by then expires by itself.
pub(crate) const LEAVE: Duration = Duration::from_secs(2);
/// Between two tries.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Shared by all that speak to the cluster.
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
    /// Connects to a cluster given as `redis://HOST:PORT,HOST:PORT,...`, a user and a password before the
    /// first of them.
    pub(crate) fn open(address: &str, patience: Duration) -> Result<Self> {
        let wrong = |why: String| Error::Address { address: without_password(address), why };
        let nodes = nodes(address).ok_or_else(|| wrong("no address of a cluster".into()))?;
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
        // A write: who can only read is of no use.
        hello.cmd("SET").arg("hapax:hello").arg(1).arg("EX").arg(60);
        link.pipe_within(&hello, patience.min(START))?;
        Ok(link)
    }

    /// Sends all commands at once and returns their answers in order.
    pub(crate) fn pipe(&self, commands: &ClusterPipeline) -> Result<Vec<Value>> {
        self.pipe_within(commands, self.patience)
    }

    /// The same for who leaves: tried for a moment only.
    pub(crate) fn pipe_leaving(&self, commands: &ClusterPipeline) -> Result<Vec<Value>> {
        self.pipe_within(commands, self.patience.min(LEAVE))
    }

    /// Sends all commands once; nothing where that failed in passing, and what was done of them is not
    /// known.
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
            // All others point to the same nodes.
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

/// Whether it may pass by itself: a node that is away, moves, loads, or is being replaced.
fn passes(error: &RedisError) -> bool {
    match error.clone().into_server_errors() {
        // Of a pipeline, whose errors have no code of their own.
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
            // A script says so of itself; the node behind it is what fails.
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
        // What a server says that is no cluster.
        text if text.contains("cluster support disabled") => {
            format!("{first} (it is a single server: start it with cluster-enabled yes)")
        }
        _ => first.to_owned(),
    }
}

/// The address of each node. One user and password are those of the whole cluster: who names them once
/// need not repeat them, and nodes without them would be refused beside one with them.
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
    fn what_is_no_address_is_said_and_a_password_is_not() {
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
        // Taken for an address, of which nobody answers.
        let moment = Duration::from_millis(1);
        let error = Link::open("redis://:p@127.0.0.1:1,127.0.0.1:2", moment).unwrap_err();
        assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    }
}
