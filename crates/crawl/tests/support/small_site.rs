// A site on loopback with two texts and a copy, and a folder for a crawl.

#[allow(dead_code, clippy::unwrap_used, reason = "of the README's example")]
pub(crate) fn run<F, E>(crawl: impl FnOnce(url::Url, &'static std::path::Path) -> F)
where
    F: std::future::Future<Output = Result<(), E>>,
    E: std::fmt::Debug,
{
    let folder = Box::leak(Box::new(tempfile::tempdir().unwrap()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(crawl(serve(), folder.path())).unwrap();
    drop(runtime);
    std::fs::remove_dir_all(folder.path()).unwrap();
}

/// Returns a page. Pages of other subjects have other words.
#[allow(dead_code, reason = "each test uses a part")]
pub(crate) fn article(subject: &str) -> String {
    let lines = ["is long", "is old", "was built by hand", "has no end", "is known to all of them"];
    let text: String = lines
        .iter()
        .map(|line| {
            format!(
                "<p>What is said of the {subject} is that it {line}, and that those who have seen the \
                 {subject} in the winter of that year will not forget the {subject} again.</p>"
            )
        })
        .collect();
    format!("<html lang=en><title>{subject}</title><body>{text}")
}

/// Starts the site. Returns its URL.
#[allow(clippy::unwrap_used, reason = "a test may panic")]
pub(crate) fn serve() -> url::Url {
    use std::io::{BufRead, BufReader, Write};

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut line = String::new();
                let mut reader = BufReader::new(&stream);
                reader.read_line(&mut line).unwrap();
                let mut rest = String::new();
                while reader.read_line(&mut rest).is_ok_and(|count| count > 2) {
                    rest.clear();
                }
                let links = "<a href=/bridge>b</a> <a href=/print/bridge>p</a> <a href=/none>n</a>";
                let (status, body) = match line.split(' ').nth(1).unwrap_or_default() {
                    "/" => ("200 OK", article("river") + links),
                    "/bridge" | "/print/bridge" => ("200 OK", article("bridge")),
                    _ => ("404 Not Found", String::new()),
                };
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = (&stream).write_all((head + &body).as_bytes());
            });
        }
    });
    url::Url::parse(&format!("http://127.0.0.1:{port}/")).unwrap()
}
