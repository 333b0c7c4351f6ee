//! `crawl demo`: crawls a small web site on loopback.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use url::Url;

use super::demo_site::{HOSTS, answer};
use super::main_job::{Run, resume};
use crate::args::Common;
use crate::exit::{USAGE, coded};
use crate::settings::Settings;
use crate::summary::{code_of, print_summary};
use hapax_data::DataDir;
use hapax_data::units::Limit;
use hapax_report::shell_path;

/// The most bytes of a request's head.
const MAX_REQUEST: usize = 16 * 1024;

/// The marker file in a folder that a demo wrote and may overwrite. Its content is checked, because users may have a
/// file of the same name.
const MARK: &str = "hapax-demo";
const MARKED: &[u8] = b"What `crawl demo` wrote into this folder, it may write anew.\n";

pub(super) fn run(data: Option<PathBuf>, common: &Common) -> Result<u8> {
    let folder = data
        .unwrap_or_else(|| std::env::temp_dir().join(format!("hapax-demo-{}", std::process::id())));
    let data = DataDir::open(&folder)?;
    let marked = std::fs::read(data.root().join(MARK)).is_ok_and(|text| text == MARKED);
    if !data.is_empty()? && !marked {
        let folder = folder.display();
        return Err(coded(
            USAGE,
            format!("{folder} is not empty. Give the demo a new or empty folder"),
        ));
    }
    data.clear()?;
    data.replace(MARK, MARKED)?;
    let mut listeners = Vec::new();
    for _ in HOSTS {
        listeners.push(
            TcpListener::bind(("127.0.0.1", 0))
                .context("no free port on the loopback interface")?,
        );
    }
    let mut ports = Vec::new();
    for listener in &listeners {
        ports.push(listener.local_addr()?.port());
    }
    let seeds: Vec<Url> = ports
        .iter()
        .map(|port| Url::parse(&format!("http://127.0.0.1:{port}/")))
        .collect::<Result<_, _>>()?;
    for (host, listener) in listeners.into_iter().enumerate() {
        let ports = ports.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let ports = ports.clone();
                std::thread::spawn(move || {
                    let _ = serve(stream, host, &ports);
                });
            }
        });
    }
    let mut out = std::io::stdout();
    if !common.quiet {
        writeln!(
            out,
            "A small web on this machine: a magazine, a mirror of it in another template, and a Chinese site."
        )?;
        for (host, seed) in HOSTS.iter().zip(&seeds) {
            writeln!(out, "  {seed:<26} {host}")?;
        }
        writeln!(
            out,
            "Its pages come with advertisements, session ids, print versions, a calendar without end and a\nforbidden folder. Each text should be kept once."
        )?;
    }
    let mut settings = Settings::default();
    settings.politeness.delay = Some("10ms".parse()?);
    settings.limits.max_depth = Some(Limit(Some(8)));
    let summary = resume(data, seeds, settings, Run::default(), common)?;
    if !common.quiet {
        print_summary(&summary, false)?;
        let data = shell_path(&folder);
        // With `cargo run` the program is not installed.
        let crawl = std::env::args().next().unwrap_or_else(|| "crawl".to_owned());
        let crawl = shell_path(Path::new(&crawl));
        writeln!(out, "\nTry next:")?;
        writeln!(out, "  {crawl} search lighthouse --data {data}")?;
        writeln!(out, "  {crawl} search 北京 --data {data}")?;
        writeln!(out, "  {crawl} duplicates list --data {data}")?;
        writeln!(out, "  {crawl} inspect --data {data}       the same in a browser")?;
        writeln!(out, "  {crawl} --seeds seeds.txt          your own seeds, one URL a line")?;
    }
    Ok(code_of(&summary))
}

fn serve(mut stream: TcpStream, host: usize, ports: &[u16]) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let count = stream.read(&mut piece)?;
        if count == 0 || head.len() > MAX_REQUEST {
            return Ok(());
        }
        head.extend_from_slice(piece.get(..count).unwrap_or_default());
        if head.windows(4).any(|window| window == b"\r\n\r\n") {
            break;
        }
    }
    let head = String::from_utf8_lossy(&head);
    let path = head.split(' ').nth(1).unwrap_or("/");
    let (status, content_type, extra, body) = answer(host, path, ports);
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n{extra}Connection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)?;
    stream.flush()
}
