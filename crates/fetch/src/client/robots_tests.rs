use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use url::Url;

use super::tests::fetcher;
use crate::client::Options;
use crate::robots::{RobotsAnswer, fetch_robots};

/// Starts a server that answers each request with these bytes and closes the connection.
fn answering(bytes: Vec<u8>) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/page", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let (mut head, mut piece) = (Vec::new(), [0; 2048]);
            while !head.ends_with(b"\r\n\r\n")
                && let Ok(count @ 1..) = stream.read(&mut piece)
            {
                head.extend(piece.iter().take(count));
            }
            let _ = stream.write_all(&bytes);
            let _ = stream.shutdown(Shutdown::Write);
        }
    });
    Url::parse(&url).unwrap()
}

/// RFC 9309, section 2.3.1.4: a file that could not be fetched allows nothing. RFC 9112, section 8: a response that is
/// shorter than its framing says is incomplete.
#[tokio::test]
async fn an_incomplete_robots_txt_is_used_only_if_it_lacks_no_line() {
    const RULES: &str = "User-agent: *\nDisallow: /no\n";
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(RULES.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let half = gzip.get(..gzip.len() - 4).unwrap().to_vec();
    let zipped = "Content-Encoding: gzip\r\n";
    for (what, headers, body, is_used) in [
        ("a whole file", "Content-Length: 28\r\n", RULES.into(), true),
        ("no length", "", RULES.into(), true),
        ("nothing", "Content-Length: 60\r\n", Vec::new(), false),
        ("a missing line", "Content-Length: 60\r\n", RULES.into(), false),
        ("half a line", "Content-Length: 60\r\n", RULES.trim_end().into(), false),
        (
            "no last chunk",
            "Transfer-Encoding: chunked\r\n",
            format!("1c\r\n{RULES}\r\n").into_bytes(),
            false,
        ),
        ("a whole gzip", "Content-Length: 900\r\nContent-Encoding: gzip\r\n", gzip, true),
        ("half a gzip", "Content-Length: 900\r\nContent-Encoding: gzip\r\n", half.clone(), false),
        ("half a gzip without a length", zipped, half, true),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{headers}\r\n");
        let url = answering([head.into_bytes(), body].concat());
        let fetcher = fetcher(&url, Options::default());
        match fetch_robots(&fetcher, &url, Duration::ZERO).await {
            RobotsAnswer::Text(text) => {
                assert!(is_used, "{what}");
                assert_eq!(String::from_utf8_lossy(&text), RULES, "{what}");
            }
            RobotsAnswer::Unreachable(why) => assert!(!is_used, "{what}: {}", why.detail),
            RobotsAnswer::Refused => panic!("{what}"),
        }
    }
}
