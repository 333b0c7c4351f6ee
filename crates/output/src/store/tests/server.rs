//! A small store that speaks the part of S3's protocol that an export needs, with faults on demand.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use url::form_urlencoded;

pub(crate) const BUCKET: &str = "corpus";
/// Objects of a page of a list.
const PAGE: usize = 3;

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) query: BTreeMap<String, String>,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    fn mark(&self) -> Option<String> {
        self.headers.get("x-amz-meta-created-by").cloned()
    }

    fn has(&self, name: &str) -> bool {
        self.query.contains_key(name)
    }
}

/// An answer in place of the store's.
pub(crate) enum Fault {
    Answer(u16, String),
    /// Closes the connection.
    Close,
    /// Answers late.
    Hang,
}

type Object = (Vec<u8>, Option<String>);
type Unfinished = (String, Option<String>, BTreeMap<usize, Vec<u8>>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) objects: BTreeMap<String, Object>,
    /// Key, mark and chunks of unfinished uploads.
    pub(crate) uploads: BTreeMap<String, Unfinished>,
    /// Method and target.
    pub(crate) log: Vec<String>,
    #[expect(clippy::type_complexity, reason = "used here only")]
    pub(crate) fault: Option<Box<dyn FnMut(&Request) -> Option<Fault> + Send>>,
    next: usize,
}

pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { address: listener.local_addr().unwrap(), state: Arc::default() };
        let state = Arc::clone(&server.state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let state = Arc::clone(&state);
                thread::spawn(move || drop(serve(stream.unwrap(), &state)));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn fail(&self, fault: impl FnMut(&Request) -> Option<Fault> + Send + 'static) {
        self.state().fault = Some(Box::new(fault));
    }

    pub(crate) fn heal(&self) {
        self.state().fault = None;
    }

    /// Names below a prefix.
    pub(crate) fn names(&self, prefix: &str) -> Vec<String> {
        let state = self.state();
        state.objects.keys().filter_map(|key| key.strip_prefix(prefix)).map(str::to_owned).collect()
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut output = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    while let Some(request) = read(&mut input)? {
        let mut state = state.lock().unwrap();
        state.log.push(format!("{} {} {:?}", request.method, request.key, request.query));
        let fault = state.fault.as_mut().and_then(|fault| fault(&request));
        let (status, headers, body) = match fault {
            Some(Fault::Close) => return Ok(()),
            Some(Fault::Hang) => {
                drop(state);
                thread::sleep(Duration::from_secs(5));
                return Ok(());
            }
            Some(Fault::Answer(status, body)) => (status, String::new(), body.into_bytes()),
            None => state.answer(&request),
        };
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n{headers}\r\n");
        let mut answer = head.into_bytes();
        if request.method != "HEAD" {
            answer.extend(body);
        }
        // In one packet: a second one would wait for the client's delayed acknowledgement.
        output.write_all(&answer)?;
    }
    Ok(())
}

fn read(input: &mut impl BufRead) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (method, target) = (words.next().unwrap().to_owned(), words.next().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (bucket, key) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
    let mut request = Request {
        method,
        bucket: bucket.into(),
        key: key.into(),
        query: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
        headers: BTreeMap::new(),
        body: Vec::new(),
    };
    loop {
        let mut line = String::new();
        input.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        request.headers.insert(name.to_lowercase(), value.into());
    }
    let length = request.headers.get("content-length").map_or(0, |text| text.parse().unwrap());
    input.take(length).read_to_end(&mut request.body)?;
    Ok(Some(request))
}

pub(crate) fn error(code: &str, message: &str) -> String {
    format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}</Message></Error>")
}

type Answer = (u16, String, Vec<u8>);

fn xml(status: u16, text: &str) -> Answer {
    (status, "Content-Type: application/xml\r\n".into(), text.as_bytes().to_vec())
}

impl State {
    fn answer(&mut self, request: &Request) -> Answer {
        let authorization = request.headers.get("authorization").map_or("", |value| value);
        if !authorization.contains("Credential=KEYID/") {
            return xml(403, &error("InvalidAccessKeyId", "The key does not exist."));
        }
        if request.bucket != BUCKET {
            return xml(404, &error("NoSuchBucket", "The bucket does not exist."));
        }
        let etag = "ETag: \"e\"\r\n".to_owned();
        match request.method.as_str() {
            "GET" if request.has("list-type") => self.list(request),
            "GET" | "HEAD" => match self.objects.get(&request.key) {
                Some((content, mark)) => {
                    let mark = mark.iter().map(|mark| format!("x-amz-meta-created-by: {mark}\r\n"));
                    let time = "Last-Modified: Sat, 28 Nov 2026 08:00:00 GMT\r\n";
                    (200, format!("{etag}{time}{}", mark.collect::<String>()), content.clone())
                }
                None => xml(404, &error("NoSuchKey", "The key does not exist.")),
            },
            "POST" if request.has("uploads") => {
                self.next += 1;
                let id = format!("upload-{}", self.next);
                let upload = (request.key.clone(), request.mark(), BTreeMap::new());
                self.uploads.insert(id.clone(), upload);
                xml(200, &format!("<R><UploadId>{id}</UploadId></R>"))
            }
            _ if request.has("uploadId") => self.upload(request),
            "PUT" => {
                self.objects.insert(request.key.clone(), (request.body.clone(), request.mark()));
                (200, etag, Vec::new())
            }
            "DELETE" => {
                self.objects.remove(&request.key);
                (204, String::new(), Vec::new())
            }
            _ => xml(405, &error("MethodNotAllowed", "")),
        }
    }

    fn upload(&mut self, request: &Request) -> Answer {
        let id = &request.query["uploadId"];
        let Some(upload) = self.uploads.get_mut(id) else {
            return xml(404, &error("NoSuchUpload", "The upload does not exist."));
        };
        match request.method.as_str() {
            "PUT" => {
                let number = request.query["partNumber"].parse().unwrap();
                upload.2.insert(number, request.body.clone());
                (200, "ETag: \"e\"\r\n".into(), Vec::new())
            }
            "POST" => {
                let named = String::from_utf8_lossy(&request.body).matches("<PartNumber>").count();
                let (key, mark, mut chunks) = self.uploads.remove(id).unwrap();
                // What is not named is not in the object.
                chunks.retain(|number, _| *number <= named);
                assert!(chunks.keys().copied().eq(1..=named), "{:?}", chunks.keys());
                self.objects.insert(key, (chunks.into_values().flatten().collect(), mark));
                xml(200, "<R><Location>x</Location><ETag>\"e\"</ETag></R>")
            }
            _ => {
                self.uploads.remove(id);
                (204, String::new(), Vec::new())
            }
        }
    }

    fn list(&self, request: &Request) -> Answer {
        let prefix = request.query.get("prefix").map_or("", |prefix| prefix);
        let after = request.query.get("continuation-token").map_or("", |token| token);
        let is_direct = |key: &&String| {
            key.strip_prefix(prefix).is_some_and(|rest| !rest.contains('/')) && key.as_str() > after
        };
        let mut found: Vec<&String> = self.objects.keys().filter(is_direct).collect();
        let next = (found.len() > PAGE).then(|| found[PAGE - 1]);
        found.truncate(PAGE);
        let object = |key: &&String| {
            let size = self.objects[*key].0.len();
            format!(
                "<Contents><Key>{key}</Key><Size>{size}</Size><LastModified>2026-11-28T08:00:00Z</LastModified>\
                 <ETag>e</ETag></Contents>"
            )
        };
        let objects: String = found.iter().map(object).collect();
        let next = next.map(|key| format!("<NextContinuationToken>{key}</NextContinuationToken>"));
        xml(
            200,
            &format!("<ListBucketResult>{objects}{}</ListBucketResult>", next.unwrap_or_default()),
        )
    }
}
