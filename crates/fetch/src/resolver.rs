//! Resolves names to permitted addresses.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::guard::{AddressGuard, is_localhost};

pub(crate) const DNS_FAILED: &str = "cannot resolve ";
pub(crate) const REFUSED: &str = "no public address for ";

/// Cache: lifetime of an answer, number of names, addresses per name.
const KEPT_FOR: Duration = Duration::from_secs(300);
const MAX_KEPT: usize = 10_000;
const MAX_ADDRESSES: usize = 16;

/// Resolves with the system's resolver and drops addresses that the guard refuses. The caller dials exactly the
/// returned addresses, which prevents DNS rebinding.
#[derive(Clone, Debug)]
pub(crate) struct GuardedResolver {
    pub(crate) guard: Arc<AddressGuard>,
    /// The proxy's name may resolve to a private address: the user chose it.
    pub(crate) proxy: Option<String>,
    /// Limit on the system's resolver, which has none that we control.
    timeout: Duration,
    kept: Arc<Mutex<Kept>>,
    /// In tests, the answers of the system, last one first; `None` never answers.
    #[cfg(test)]
    pub(crate) script: Arc<Mutex<Vec<Option<Vec<SocketAddr>>>>>,
}

/// Answers by name, and when they were resolved.
type Kept = HashMap<String, (Instant, Vec<SocketAddr>)>;

impl GuardedResolver {
    pub(crate) fn new(guard: Arc<AddressGuard>, proxy: Option<String>, timeout: Duration) -> Self {
        Self {
            guard,
            proxy,
            timeout,
            kept: Arc::default(),
            #[cfg(test)]
            script: Arc::default(),
        }
    }

    /// Returns the permitted addresses of a name, at least one.
    pub(crate) async fn addresses(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        if let Some((since, found)) = self.lock().get(name)
            && since.elapsed() < KEPT_FOR
        {
            return Ok(found.clone());
        }
        let failed = |why: String| {
            io::Error::new(io::ErrorKind::NotFound, format!("{DNS_FAILED}{name}: {why}"))
        };
        let found = match tokio::time::timeout(self.timeout, self.look_up(name)).await {
            Ok(found) => found.map_err(|error| failed(error.to_string()))?,
            Err(_) => {
                let within = self.timeout.as_secs_f64();
                return Err(failed(format!("no name server answered within {within:.1} s")));
            }
        };
        let chosen = self.proxy.as_deref() == Some(name)
            || is_localhost(name) && self.guard.knows_localhost();
        let permitted = |address: &SocketAddr| chosen || self.guard.permits(address.ip());
        let allowed: Vec<SocketAddr> =
            found.into_iter().filter(permitted).take(MAX_ADDRESSES).collect();
        if allowed.is_empty() {
            let kind = io::ErrorKind::PermissionDenied;
            return Err(io::Error::new(kind, format!("{REFUSED}{name}")));
        }
        let mut kept = self.lock();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(name.to_owned(), (Instant::now(), allowed.clone()));
        Ok(allowed)
    }

    async fn look_up(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        #[cfg(test)]
        {
            let answer = self.script.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match answer {
                Some(Some(answer)) => return Ok(answer),
                Some(None) => std::future::pending::<()>().await,
                None => {}
            }
        }
        Ok(tokio::net::lookup_host((name, 0)).await?.collect())
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let allowed = resolver.addresses(name.as_str()).await?;
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_rebound_host_name_never_resolves_to_a_private_address() {
        let day = Duration::from_secs(86_400);
        let resolver = GuardedResolver::new(Arc::new(AddressGuard::default()), None, day);
        let (outside, inside) = ("93.184.215.14:0", "127.0.0.1:0");
        let parse = |list: &[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
        // Taken from the end: first both addresses, then only the private one.
        *resolver.script.lock().unwrap() =
            vec![Some(parse(&[inside])), Some(parse(&[inside, outside]))];
        let first = resolver.addresses("rebind.example").await.unwrap();
        assert_eq!(first, parse(&[outside]));
        // The answer is cached.
        assert_eq!(resolver.addresses("rebind.example").await.unwrap(), first);
        resolver.lock().clear();
        let second = resolver.addresses("rebind.example").await.unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::PermissionDenied);
    }
}
