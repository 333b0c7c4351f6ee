use super::*;
use crate::client::{Fetcher, Options};
use crate::guard::AddressGuard;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use url::Url;

/// Starts a server whose bodies begin with `begin` bytes and continue with `piece` bytes, 50 times a second.
async fn dripping(begin: usize, piece: usize) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 1024]).await;
                let head = b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n".to_vec();
                let _ = stream.write_all(&[head, vec![b'x'; begin]].concat()).await;
                while stream.write_all(&vec![b'x'; piece]).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            });
        }
    });
    url
}

fn fetcher(url: &Url, limits: Limits) -> Fetcher {
    let mut guard = AddressGuard::default();
    guard.allow_seed(url);
    Fetcher::new(Options { guard, limits, ..Options::default() }).unwrap()
}

#[tokio::test]
async fn a_timeout_waiting_for_a_large_body_permit_is_our_own_error() {
    let limits =
        Limits { large_bodies: 1, total_timeout: Duration::from_millis(300), ..Limits::default() };
    let bodies = Bodies::new(limits);
    let held = bodies.permit().await.unwrap();
    let error = bodies.permit().await.unwrap_err();
    assert_eq!((error.kind(), error.reason()), (Kind::Busy, "busy"));
    assert!(error.is_ours() && error.is_transient());
    assert!(!Error::new(Kind::Timeout, "").is_ours());
    drop(held);
    assert!(bodies.permit().await.is_ok());
    assert_eq!(bodies.waiting.load(Relaxed), 0);
}

/// 5 kB a second is accepted while no other body waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_body_that_drips_is_left_only_when_others_wait_for_its_place() {
    let url = dripping(LARGE_BODY + 1, 100).await;
    // Less than two intervals: the first one must already be too slow.
    let limits = Limits {
        large_bodies: 1,
        slow_after: Duration::from_millis(1500),
        total_timeout: Duration::from_millis(2500),
        ..Limits::default()
    };
    assert_eq!((limits.large_rate, limits.min_rate), (16 << 10, 1024));
    let alone = fetcher(&url, limits.clone()).get(&url).await.unwrap_err();
    assert!(alone.to_string().contains("nothing came"), "{alone}");

    let fetcher = fetcher(&url, limits);
    let get = || {
        let (fetcher, url) = (fetcher.clone(), url.clone());
        tokio::spawn(async move { (fetcher.get(&url).await.unwrap_err(), Instant::now()) })
    };
    let two = [get(), get()];
    let mut ends = Vec::new();
    for one in two {
        let (error, at) = one.await.unwrap();
        assert_eq!(error.kind(), Kind::Timeout, "{error}");
        ends.push((at, error.to_string()));
    }
    ends.sort();
    assert!(ends[0].1.contains("too slow"), "{ends:?}");
}
