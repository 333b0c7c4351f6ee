use super::location::file_name;
use super::*;
use hapax_fetch::Response;
use std::io::{Cursor, Write as _};
use std::time::{Duration, SystemTime};
use url::Url;

fn response(body: &str) -> Response {
    let url = Url::parse("http://a.example/x").unwrap();
    let headers = vec![("content-type".into(), b"text/html".to_vec())];
    Response::stored(url, 200, headers, body.to_owned().into())
}

fn records(folder: &std::path::Path) -> Vec<Record> {
    let file = std::fs::File::open(folder.join("pages-00001.warc.gz")).unwrap();
    let mut reader = Reader::new(file, 1 << 20).unwrap();
    std::iter::from_fn(|| reader.next_record().unwrap()).collect()
}

#[test]
fn written_records_are_read_back_in_order_and_by_position() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), 1, 0, WarcOptions::default()).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_195_000);
    let first =
        writer.append(&RecordKind::Response, &response("<p>one"), time, "urn:x:1", &[]).unwrap();
    let refers = RefersTo {
        record: "urn:x:1".into(),
        url: "http://a.example/x".into(),
        date: Some(format_time(time)),
        evidence: "level=hamming; distance=2".into(),
    };
    let near = RecordKind::NearDuplicate(refers.clone());
    let second = writer.append(&near, &response("<p>one!"), time, "urn:x:2", &[]).unwrap();
    writer
        .append(
            &RecordKind::SameText(refers, first.clone()),
            &response("<p>one"),
            time,
            "urn:x:3",
            &[],
        )
        .unwrap();
    let (number, length) = writer.sync().unwrap();

    let all = records(folder.path());
    let types: Vec<_> = all.iter().map(|r| r.header("warc-type").unwrap()).collect();
    assert_eq!(types, ["warcinfo", "response", "response", "revisit"]);
    let at = read_at(folder.path(), first.file, first.offset, 1 << 20).unwrap();
    assert_eq!(at.header("warc-record-id"), Some("<urn:x:1>"));
    let (status, headers, body) = http_parts(&at.block).unwrap();
    assert_eq!((status, headers.len(), body), (200, 1, "<p>one".as_bytes()));
    let at = read_at(folder.path(), second.file, second.offset, 1 << 20).unwrap();
    assert_eq!(at.header("warc-refers-to"), Some("<urn:x:1>"));
    assert_eq!(at.header("warc-refers-to-target-uri"), Some("http://a.example/x"));
    assert_eq!(at.header("warc-near-duplicate"), Some("level=hamming; distance=2"));
    assert_eq!(at.header("warc-payload-digest"), Some(&*payload_digest(b"<p>one!")));
    assert!(at.block.ends_with(b"<p>one!"));
    assert!(all[3].block.ends_with(b"\r\n\r\n"), "an identical page keeps its head only");

    // The next open cuts off bytes behind the committed length.
    std::fs::OpenOptions::new()
        .append(true)
        .open(folder.path().join("pages-00001.warc.gz"))
        .and_then(|mut f| std::io::Write::write_all(&mut f, b"half a record"))
        .unwrap();
    drop(Writer::open(folder.path(), number, length, WarcOptions::default()).unwrap());
    assert_eq!(records(folder.path()).len(), 4);
}

#[test]
fn only_a_payload_with_the_same_digest_is_called_identical() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), 1, 0, WarcOptions::default()).unwrap();
    let time = SystemTime::UNIX_EPOCH;
    let mut append = |kind: &RecordKind, body: &str| {
        let id = format!("urn:x:{body}");
        let place = writer.append(kind, &response(body), time, &id, &[]).unwrap();
        read_at(folder.path(), place.file, place.offset, 1 << 20).map(|record| (place, record))
    };
    let (first, _) = append(&RecordKind::Response, "<p>one").unwrap();
    let url = "http://a.example/x".to_owned();
    let refers =
        RefersTo { record: "urn:x:1".into(), url, date: None, evidence: "level=text".into() };
    let same = |place: &Location| RecordKind::SameText(refers.clone(), place.clone());
    let profile = |record: &Record| record.header("warc-profile").unwrap().to_owned();

    let (twin, equal) = append(&same(&first), "<p>one").unwrap();
    assert!(profile(&equal).ends_with("/identical-payload-digest"));
    assert!(equal.block.ends_with(b"\r\n\r\n"), "its head only");
    assert_eq!(equal.header("warc-payload-digest"), Some(&*payload_digest(b"<p>one")));
    let nowhere = Location { file: 9, offset: 0 };
    // Other bytes of the same text; a missing file; a record without a payload.
    for (place, body) in [(&first, "<P>one"), (&nowhere, "<p>one"), (&twin, "<p>one")] {
        let (_, other) = append(&same(place), body).unwrap();
        assert_eq!(other.header("warc-type"), Some("response"), "{place:?}");
        assert_eq!(other.header("warc-near-duplicate"), Some("level=text"), "{place:?}");
        assert!(other.block.ends_with(body.as_bytes()), "{place:?}");
    }
    let (_, unchanged) = append(&RecordKind::Unchanged(refers.clone()), "").unwrap();
    assert_eq!(unchanged.header("warc-payload-digest"), None);
}

#[test]
fn a_file_that_is_shorter_than_acknowledged_is_an_error_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join(file_name(1)), folder.path().join(file_name(2)));
    let open = |length| Writer::open(folder.path(), 1, length, WarcOptions::default());
    let error = open(5).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    assert!(!first.exists(), "a lost file is not made anew");
    std::fs::write(&first, "1234").unwrap();
    std::fs::write(&second, "later").unwrap();
    let error = open(5).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    let text = error.to_string();
    assert!(text.contains("pages-00001.warc.gz: has 4 of 5 "), "{text}");
    assert_eq!(std::fs::read(&first).unwrap(), b"1234");
    assert!(second.exists());
    drop(open(4).unwrap());
    assert!(!second.exists());
}

#[test]
fn a_full_file_gives_way_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let options = WarcOptions { max_file_bytes: 1, ..WarcOptions::default() };
    let mut writer = Writer::open(folder.path(), 1, 0, options).unwrap();
    let place = writer
        .append(&RecordKind::Response, &response("x"), SystemTime::now(), "urn:x:1", &[])
        .unwrap();
    assert_eq!(place.file, 2);
}

#[test]
fn a_cut_file_gives_its_whole_records_and_an_error() {
    let cut =
        "WARC/1.0\r\nContent-Length: 2\r\n\r\nab\r\n\r\nWARC/1.0\r\nContent-Length: 9\r\n\r\nab";
    let mut reader = Reader::new(Cursor::new(cut), 100).unwrap();
    assert_eq!(reader.next_record().unwrap().unwrap().block, b"ab");
    assert_eq!(reader.next_record().unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
    let mut noise = Reader::new(Cursor::new("noise\n"), 100).unwrap();
    assert_eq!(noise.next_record().unwrap_err().kind(), std::io::ErrorKind::InvalidData);
}

/// Returns all blocks, and the number of resyncs.
fn blocks(bytes: Vec<u8>) -> (Vec<String>, usize) {
    let mut reader = Reader::new(Cursor::new(bytes), 1000).unwrap();
    let (mut found, mut damages) = (Vec::new(), 0);
    loop {
        match reader.next_record() {
            Ok(Some(record)) => found.push(String::from_utf8_lossy(&record.block).into_owned()),
            Ok(None) => return (found, damages),
            Err(_) => {
                damages += 1;
                if !reader.resync().unwrap() {
                    return (found, damages);
                }
            }
        }
    }
}

#[test]
fn records_after_damage_are_read() {
    let record = |body: &str, length: usize| {
        format!("WARC/1.1\r\nContent-Length: {length}\r\n\r\n{body}\r\n\r\n").into_bytes()
    };
    let gzip = |bytes: Vec<u8>| {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&bytes).unwrap();
        gz.finish().unwrap()
    };
    let names = ["a1", "b2", "c3", "d4", "e5"];
    for compressed in [false, true] {
        let pack = |bytes: Vec<u8>| if compressed { gzip(bytes) } else { bytes };
        let whole: Vec<Vec<u8>> = names.iter().map(|name| pack(record(name, 2))).collect();
        assert_eq!(blocks(whole.concat()).0, names);
        // A changed byte of the second record loses that record, or at most the next.
        for at in 0..whole[1].len() {
            let mut parts = whole.clone();
            parts[1][at] ^= 0xff;
            let (found, damages) = blocks(parts.concat());
            assert!(found.len() >= 3, "{compressed} {at} {found:?}");
            assert!(found.ends_with(&["d4".into(), "e5".into()]), "{compressed} {at} {found:?}");
            assert!(damages <= 3, "{compressed} {at}");
        }
        // A wrong length affects only its own record.
        for length in [900, 5000, usize::MAX] {
            let mut parts = whole.clone();
            parts[1] = pack(record("b2", length));
            let (found, damages) = blocks(parts.concat());
            assert_eq!(found, ["a1", "c3", "d4", "e5"]);
            assert!(damages <= 2);
        }
    }
    // A partial record start at the very end is not a record.
    for end in ["W", "WARC", "\u{1f}"] {
        assert_eq!(blocks(format!("garbage\nmore\n{end}").into_bytes()).0, [""; 0]);
    }
    assert_eq!(blocks([&gzip(record("a1", 2))[..20], &[0x1f]].concat()).0, [""; 0]);
    assert_eq!(blocks(b"\x1f\x8b\x08 noise \x1f\x8b\x08 WARC/".to_vec()).0, [""; 0]);
}

/// A file that counts the bytes read.
struct Counted(Cursor<Vec<u8>>, std::rc::Rc<std::cell::Cell<usize>>);

impl std::io::Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1.set(self.1.get() + count);
        Ok(count)
    }
}

impl std::io::Seek for Counted {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn damage_is_not_read_again_and_again() {
    let read = std::rc::Rc::new(std::cell::Cell::new(0));
    let last_of = |bytes: Vec<u8>| {
        read.set(0);
        let counted = Counted(Cursor::new(bytes), std::rc::Rc::clone(&read));
        let (mut reader, mut last) = (Reader::new(counted, 100).unwrap(), Vec::new());
        loop {
            match reader.next_record() {
                Ok(Some(record)) => last = record.block,
                Ok(None) => return (last, read.get()),
                Err(_) if reader.resync().unwrap() => {}
                Err(_) => return (last, read.get()),
            }
        }
    };
    let record = |length: u64, body: &str| {
        format!("WARC/1.1\r\nContent-Length: {length}\r\n\r\n{body}\r\n\r\n").into_bytes()
    };
    let gzip = |bytes: Vec<u8>| {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&bytes).unwrap();
        gz.finish().unwrap()
    };
    const MANY: u64 = 3000;
    let body = "x".repeat(1000);
    // Lengths that exceed the file, of plain records and of packed ones.
    let plain = [record(1 << 40, &body).repeat(MANY as usize), record(2, "ok")].concat();
    let packed: Vec<u8> = gzip(record(1 << 40, &body)).repeat(MANY as usize);
    // A length that the file could have if it were compressed very well.
    let possible = gzip(record(50_000_000, &body)).repeat(MANY as usize);
    let magic = b"\x1f\x8b\x08\x00".repeat(50_000);
    for (what, bytes) in [
        ("plain", plain),
        ("packed", [packed, gzip(record(2, "ok"))].concat()),
        ("possible", [possible, gzip(record(2, "ok"))].concat()),
        ("magic", [gzip(record(1 << 40, "")), magic, gzip(record(2, "ok"))].concat()),
    ] {
        let length = bytes.len();
        let (last, read) = last_of(bytes);
        assert_eq!(last, b"ok", "{what}");
        assert!(read < 8 * length + (1 << 20), "{what}: {read} of {length}");
    }
    // Each length exceeds the rest by one: not everything is searched, but the search ends.
    let whole = record(0, &body).len() as u64 + 8;
    let worst = (0..MANY).flat_map(|n| gzip(record((MANY - n) * whole, &body))).collect();
    let (_, read) = last_of(worst);
    assert!(read < 40 << 20, "{read}");
}

#[test]
fn the_first_empty_line_ends_a_head_whatever_its_line_ends() {
    for (block, body) in [
        ("HTTP/1.1 200 OK\na: b\n\nfirst\r\n\r\nsecond", "first\r\n\r\nsecond"),
        ("HTTP/1.1 200 OK\r\na: b\r\n\r\nfirst\n\nsecond", "first\n\nsecond"),
        ("HTTP/1.1 200 OK\na: b\n\r\nfirst\r\n\r\n", "first\r\n\r\n"),
    ] {
        let (status, headers, found) = http_parts(block.as_bytes()).unwrap();
        assert_eq!((status, found), (200, body.as_bytes()), "{block:?}");
        assert_eq!(headers, [("a".to_owned(), b"b".to_vec())], "{block:?}");
    }
    assert!(http_parts(b"HTTP/1.1 200 OK\r\na: b\r\n").is_none());
}

#[test]
fn times_and_digests_are_as_others_write_them() {
    let at = |s| format_time(SystemTime::UNIX_EPOCH + Duration::from_secs(s));
    assert_eq!(at(0), "1970-01-01T00:00:00Z");
    assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
    assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
    assert_eq!(at(1_795_195_000), "2026-11-20T17:16:40Z");
    assert_eq!(payload_digest(b""), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
}

proptest::proptest! {
    #[test]
    fn times_are_read_back(seconds in 0u64..250_000_000_000) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        proptest::prop_assert_eq!(parse_time(&format_time(time)), Some(time));
    }
}

#[test]
fn an_invalid_timestamp_is_rejected() {
    for text in [
        "",
        "2026-11-21",
        "2026-13-01T00:00:00Z",
        "2026-11-21T10:00:00",
        "x-y-zTa:b:cZ",
        "2026-11-21T25:00:00Z",
    ] {
        assert_eq!(parse_time(text), None, "{text}");
    }
    let fraction = parse_time("2026-11-21T10:00:00.123Z");
    assert_eq!(fraction, parse_time("2026-11-21T10:00:00Z"));
}

/// An ARC file with header lines of both versions; the last record has no HTTP head.
fn arc() -> Vec<Vec<u8>> {
    let version = "1 0 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n";
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>one";
    let record = |url: &str, middle: &str, block: &str| {
        format!("{url} 10.0.0.1 20080430204825 {middle} {}\n{block}\n", block.len()).into_bytes()
    };
    vec![
        record("filedesc://a.arc", "text/plain", version),
        record("http://a.example/1", "text/html", page),
        record("http://a.example/2", "text/html 200 fac0 - 209 a.arc", page),
        record("http://a.example/3", "text/plain", "no head"),
    ]
}

fn all<R: std::io::Read + std::io::Seek>(mut reader: Reader<R>) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        match reader.next_record() {
            Ok(None) => return found,
            Ok(Some(record)) => {
                let header = |name| record.header(name).unwrap_or_default();
                found.push(format!("{} {}", header("warc-type"), header("warc-target-uri")));
            }
            Err(_) => {
                found.push("damaged".to_owned());
                if !reader.resync().unwrap() {
                    return found;
                }
            }
        }
    }
}

#[test]
fn arc_files_are_read_plain_gzipped_and_behind_damage() {
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let read = |bytes: Vec<u8>| all(Reader::new(Cursor::new(bytes), 1 << 20).unwrap());
    let whole = [
        "warcinfo filedesc://a.arc",
        "response http://a.example/1",
        "response http://a.example/2",
        "resource http://a.example/3",
    ];
    assert_eq!(read(arc().concat()), whole);
    let members: Vec<u8> = arc().iter().flat_map(|record| gzip(record)).collect();
    assert_eq!(read(members), whole);

    let mut damaged = arc();
    damaged[1].splice(0..30, *b"no header, but what was one: ?");
    let behind = [whole[0], "damaged", whole[2], whole[3]];
    assert_eq!(read(damaged.concat()), behind);
    let members: Vec<u8> = damaged.iter().flat_map(|record| gzip(record)).collect();
    assert_eq!(read(members), behind);
    // In a WARC file such a line is damage.
    assert_eq!(read(arc()[1].clone()), ["damaged"]);
}
