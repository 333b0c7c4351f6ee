use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::mem;
use std::time::{Duration, Instant};

use parquet::file::reader::{FileReader, SerializedFileReader};

use super::limits::MAX_ANSWER;
use super::*;
use crate::cell::{Cell, Column, ColumnType};
use crate::error::Error;
use crate::parts::{Limits, Parts, Written};
use server::{BUCKET, Fault, Server, error};

mod server;

const COLUMNS: &[Column] =
    &[Column::required("text", ColumnType::Text), Column::required("id", ColumnType::Integer)];
const LIMITS: Limits = Limits { group_bytes: 3_000, part_bytes: 6_000 };
const SECRET: &str = "s3cr3t-of-the-t3st";
const TOKEN: &str = "t0ken-of-the-t3st";

fn access(server: &Server, key: &str, attempts: usize) -> Access {
    let (url, attempts) = (server.url(), attempts.to_string());
    Access::from_variables(|name| {
        let value = match name {
            "AWS_ACCESS_KEY_ID" => key,
            "AWS_SECRET_ACCESS_KEY" => SECRET,
            "AWS_SESSION_TOKEN" => TOKEN,
            "AWS_ENDPOINT_URL" => &url,
            "AWS_MAX_ATTEMPTS" => &attempts,
            _ => return None,
        };
        Some(value.to_owned())
    })
    .unwrap()
}

fn pace() -> Pace {
    let pauses = (Duration::from_millis(1), Duration::from_millis(5));
    Pace { chunk: 1_000, pauses, request_time: Duration::from_millis(500), ..Pace::default() }
}

fn prefix_with(server: &Server, address: &str, key: &str, pace: Pace) -> Prefix {
    let address = Address::parse(address).unwrap();
    Prefix::open(&address, &access(server, key, 3), pace, Stop::default()).unwrap()
}

fn prefix(server: &Server) -> Prefix {
    prefix_with(server, "s3://corpus/a/b", "KEYID", pace())
}

fn rows() -> Vec<Vec<Cell>> {
    let mut state = 7u64;
    let mut text = move |number| {
        let mut text = format!("row {number} ");
        // Text that does not compress.
        for _ in 0..10 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push_str(&format!("{state:x}"));
        }
        text
    };
    (0..200).map(|number| vec![Cell::Text(text(number)), Cell::Integer(number)]).collect()
}

fn upload_with(address: &Address, access: &Access, pace: Pace, stop: Stop) -> Result<Upload> {
    Upload::begin(&Arc::new(Client::new(address, access, pace, stop)?), &address.key)
}

fn resume(server: &Server) -> Result<Parts> {
    Parts::resume(prefix(server), COLUMNS, LIMITS, "one")
}

/// Pushes rows that are not yet in complete parts, up to `most` rows of the table.
fn push(parts: &mut Parts, most: usize) -> Result<()> {
    for row in rows().into_iter().take(most) {
        if !parts.has_next() {
            parts.push(row)?;
        }
    }
    Ok(())
}

fn export(server: &Server) -> Result<Written> {
    let mut parts = resume(server)?;
    push(&mut parts, usize::MAX)?;
    parts.finish()
}

/// Reads the parts of a store by the reader of Parquet, so each must be complete.
fn stored_rows(server: &Server) -> u64 {
    let state = server.state();
    let parts = state.objects.iter().filter(|(key, _)| key.ends_with(".parquet"));
    let count = |content: &Vec<u8>| {
        let reader = SerializedFileReader::new(bytes::Bytes::from(content.clone())).unwrap();
        reader.metadata().file_metadata().num_rows() as u64
    };
    parts.map(|(_, (content, _))| count(content)).sum()
}

fn fault_of(error: &Error) -> StoreFault {
    let text = format!("{error} {error:?}");
    assert!(!text.contains(SECRET) && !text.contains(TOKEN), "{text}");
    match error {
        Error::Store { fault, .. } => *fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn parts_in_a_store_are_those_of_a_folder_byte_for_byte() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let written = export(&server).unwrap();
    let mut parts = Parts::resume(folder.path(), COLUMNS, LIMITS, "one").unwrap();
    push(&mut parts, usize::MAX).unwrap();
    assert_eq!(written, parts.finish().unwrap());
    assert!(written.parts > 3 && written.rows == 200, "{written:?}");
    let names = server.names("a/b/");
    assert_eq!(names.len(), written.parts as usize + 1);
    let state = server.state();
    for name in &names {
        let (content, mark) = &state.objects[&format!("a/b/{name}")];
        assert!(*content == fs::read(folder.path().join(name)).unwrap(), "{name}");
        assert_eq!(mark.as_deref(), Some("hapax"));
    }
    assert!(state.uploads.is_empty());
    let chunks = state.log.iter().filter(|line| line.contains("partNumber")).count();
    assert!(chunks > 2 * written.parts as usize, "parts are sent in several chunks");
}

#[test]
fn an_export_killed_anywhere_leaves_no_half_part_and_continues_after_the_last_complete_one() {
    let server = Server::start();
    let (mut most, mut left) = (0, 0);
    for killed in [3, 60, 0, 120, 50, 199, 200] {
        let mut parts = resume(&server).unwrap();
        assert!(server.state().uploads.is_empty(), "the upload of the killed export is removed");
        assert!(parts.written().rows >= most, "complete parts stay");
        most = parts.written().rows;
        assert_eq!(stored_rows(&server), most);
        push(&mut parts, killed).unwrap();
        // As a kill does, this runs no destructor.
        mem::forget(parts);
        assert!(stored_rows(&server) >= most);
        left += server.state().uploads.len();
    }
    assert!(most > 100 && left > 1, "{most} {left}");
    server.state().log.clear();
    assert_eq!(export(&server).unwrap().rows, 200);
    assert_eq!(stored_rows(&server), 200);
    let state = server.state();
    assert!(state.uploads.is_empty() && !state.objects.contains_key("a/b/_export.json"));
    assert!(!state.log.iter().any(|line| line.starts_with("PUT a/b/part-00000")), "not sent again");
    drop(state);
    // A complete export is replaced.
    assert_eq!(resume(&server).unwrap().written().rows, 0);
    assert_eq!(server.names("a/b/"), [""; 0]);
}

#[test]
fn a_store_lost_in_the_middle_is_named_and_the_same_command_continues() {
    let server = Server::start();
    let mut parts = resume(&server).unwrap();
    push(&mut parts, 120).unwrap();
    server.fail(|_| Some(Fault::Close));
    let begun = Instant::now();
    let lost = push(&mut parts, usize::MAX).unwrap_err();
    assert_eq!(fault_of(&lost), StoreFault::Lost);
    let text = lost.to_string();
    assert!(
        text.starts_with("s3://corpus/a/b/part-0000") && text.contains(&server.url()),
        "{text}"
    );
    assert!(text.contains("does not answer") && text.contains("run the same command"), "{text}");
    drop(parts);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let kept = stored_rows(&server);
    assert!(kept > 0);
    // A new client does not begin either, and changes nothing.
    assert_eq!(fault_of(&resume(&server).unwrap_err()), StoreFault::Lost);
    server.heal();
    assert_eq!(resume(&server).unwrap().written().rows, kept);
    assert_eq!(export(&server).unwrap().rows, 200);
    assert_eq!(stored_rows(&server), 200);
    assert!(server.state().uploads.is_empty(), "what was sent before is removed");
}

#[test]
fn an_upload_that_fails_is_removed_from_the_store() {
    let server = Server::start();
    let mut parts = resume(&server).unwrap();
    server.fail(|request| {
        let is_second = request.query.get("partNumber").is_some_and(|number| number == "2");
        is_second.then(|| Fault::Answer(403, error("AccessDenied", "no")))
    });
    let refused = push(&mut parts, usize::MAX).unwrap_err();
    assert_eq!(fault_of(&refused), StoreFault::Refused);
    assert_eq!(server.state().uploads.len(), 0);
    drop(parts);
    assert_eq!(server.names("a/b/"), ["_export.json"]);
    server.heal();
    // A part whose last request was refused does not appear either.
    server.fail(|request| {
        let is_last = request.method == "POST" && request.query.contains_key("uploadId");
        is_last.then(|| Fault::Answer(400, error("EntityTooSmall", "no")))
    });
    assert_eq!(fault_of(&export(&server).unwrap_err()), StoreFault::Answer);
    assert!(server.state().uploads.is_empty());
    assert_eq!(server.names("a/b/"), ["_export.json"]);
}

#[test]
fn a_request_is_repeated_after_a_failure_but_not_for_ever() {
    let server = Server::start();
    // Each request fails when it is sent first.
    let mut seen = BTreeSet::new();
    server.fail(move |request| {
        let request = (request.method.clone(), request.key.clone(), request.query.clone());
        let is_first = seen.insert(request);
        is_first.then(|| match seen.len() {
            11 => Fault::Hang,
            number if number % 2 == 0 => Fault::Answer(503, error("SlowDown", "wait")),
            _ => Fault::Close,
        })
    });
    assert_eq!(export(&server).unwrap().rows, 200);
    assert_eq!(stored_rows(&server), 200);
    server.fail(|_| Some(Fault::Answer(500, error("InternalError", "broken"))));
    server.state().log.clear();
    let error = resume(&server).unwrap_err();
    assert_eq!(fault_of(&error), StoreFault::Lost);
    assert!(error.to_string().contains("failed 3 times (InternalError): broken"), "{error}");
    assert_eq!(server.state().log.len(), 3);
    // A store that accepts requests and answers none.
    server.fail(|_| Some(Fault::Hang));
    let begun = Instant::now();
    assert_eq!(fault_of(&resume(&server).unwrap_err()), StoreFault::Lost);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[test]
fn a_wrong_bucket_and_refused_credentials_are_reported_before_a_page_is_read() {
    let server = Server::start();
    let open = |address, key| {
        let prefix = prefix_with(&server, address, key, pace());
        Parts::resume(prefix, COLUMNS, LIMITS, "one").unwrap_err()
    };
    let wrong = open("s3://no-such-bucket/a", "KEYID");
    assert_eq!(fault_of(&wrong), StoreFault::Bucket);
    assert!(wrong.to_string().starts_with("s3://no-such-bucket at http://127."), "{wrong}");
    assert!(matches!(wrong.into(), hapax_data::Error::Invalid(_)), "a usage error");
    let refused = open("s3://corpus/a", "OTHER");
    assert_eq!(fault_of(&refused), StoreFault::Refused);
    assert!(refused.to_string().contains("InvalidAccessKeyId"), "{refused}");
    assert!(matches!(refused.into(), hapax_data::Error::Write(_)));
    // The same for a single object.
    let single = |address: &str, key| {
        let (address, access) = (Address::parse(address).unwrap(), access(&server, key, 2));
        object_with(&address, &access, pace(), (Some("one"), Stop::default())).unwrap_err()
    };
    assert_eq!(fault_of(&single("s3://no-such-bucket/x", "KEYID")), StoreFault::Bucket);
    assert_eq!(fault_of(&single("s3://corpus/x", "OTHER")), StoreFault::Refused);
    assert_eq!(fault_of(&single("s3://corpus", "KEYID")), StoreFault::Setting);
    assert!(server.state().uploads.is_empty() && server.state().objects.is_empty());
}

#[test]
fn an_object_of_another_program_is_never_removed_or_replaced() {
    for name in ["part-00000.parquet", "part-00017.parquet", "_SUCCESS", "_export.json"] {
        let server = Server::start();
        export(&server).unwrap();
        let before = server.names("a/b/");
        server.state().objects.insert(format!("a/b/{name}"), (b"theirs".to_vec(), None));
        let error = resume(&server).unwrap_err();
        assert_eq!(fault_of(&error), StoreFault::Setting, "{name}");
        assert!(error.to_string().contains(&format!("s3://corpus/a/b/{name}")), "{error}");
        assert!(before.iter().all(|old| server.names("a/b/").contains(old)), "{name}");
        assert_eq!(server.state().objects[&format!("a/b/{name}")].0, b"theirs");
    }
    // Other names do not matter, nor do other prefixes.
    let server = Server::start();
    let others =
        ["a/b/part-x.parquet", "a/b/part-00000.parquet/x", "a/part-00000.parquet", "a/b/m"];
    for name in others {
        server.state().objects.insert(name.into(), (Vec::new(), None));
    }
    export(&server).unwrap();
    resume(&server).unwrap();
    assert_eq!(server.names("").len(), others.len());
}

#[test]
fn a_list_without_an_end_and_an_answer_without_an_end_are_refused() {
    let server = Server::start();
    for number in 0..9 {
        let key = format!("a/b/part-{number:05}.parquet");
        server.state().objects.insert(key, (Vec::new(), Some("hapax".into())));
    }
    let few = prefix_with(&server, "s3://corpus/a/b", "KEYID", Pace { max_parts: 7, ..pace() });
    let error = Parts::create(few, COLUMNS, LIMITS).unwrap_err();
    assert!(error.to_string().contains("more than 7 objects begin so"), "{error}");
    assert_eq!(server.names("a/b/").len(), 9);
    let page =
        "<ListBucketResult><NextContinuationToken>x</NextContinuationToken></ListBucketResult>";
    server.fail(move |_| Some(Fault::Answer(200, page.to_owned())));
    assert_eq!(fault_of(&resume(&server).unwrap_err()), StoreFault::Setting);
    let long = format!("<ListBucketResult>{}</ListBucketResult>", " ".repeat(MAX_ANSWER));
    server.fail(move |_| Some(Fault::Answer(200, long.clone())));
    let error = resume(&server).unwrap_err();
    assert!(error.to_string().contains("length limit"), "{error}");
    fault_of(&error);
}

#[test]
fn a_store_that_repeats_the_request_in_its_answers_reveals_no_secret() {
    let server = Server::start();
    for status in [301, 400, 403, 404, 409, 500, 200] {
        server.fail(move |request| {
            let all = format!("{:?} {SECRET} {TOKEN}", request.headers);
            assert!(
                request.headers.get("x-amz-security-token").is_some_and(|token| token == TOKEN)
            );
            Some(Fault::Answer(status, error(&format!("Code{SECRET}"), &all)))
        });
        fault_of(&resume(&server).unwrap_err());
        let address = Address::parse("s3://corpus/x").unwrap();
        fault_of(
            &upload_with(&address, &access(&server, "KEYID", 1), pace(), Stop::default())
                .unwrap_err(),
        );
    }
    let prefix = format!("{:?}", prefix(&server));
    assert!(!prefix.contains(SECRET) && !prefix.contains(TOKEN), "{prefix}");
}

#[test]
fn a_stopped_export_is_removed_from_the_store_and_continues_later() {
    let (server, stop) = (Server::start(), Stop::default());
    let address = Address::parse("s3://corpus/a/b").unwrap();
    let access = access(&server, "KEYID", 2);
    let prefix = Prefix::open(&address, &access, pace(), Stop::clone(&stop)).unwrap();
    let mut parts = Parts::resume(prefix, COLUMNS, LIMITS, "one").unwrap();
    push(&mut parts, 100).unwrap();
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let stopped = push(&mut parts, usize::MAX).unwrap_err();
    assert_eq!(fault_of(&stopped), StoreFault::Stopped);
    drop(parts);
    let kept = stored_rows(&server);
    assert!(kept > 0 && server.state().uploads.is_empty());
    assert_eq!(resume(&server).unwrap().written().rows, kept);
    assert_eq!(export(&server).unwrap().rows, 200);
}

#[test]
fn a_stop_does_not_wait_for_a_store_that_hangs() {
    let (server, stop) = (Server::start(), Stop::default());
    let address = Address::parse("s3://corpus/x").unwrap();
    let slow = Pace { request_time: Duration::from_secs(60), ..pace() };
    let access = access(&server, "KEYID", 20);
    let mut upload = upload_with(&address, &access, slow, Stop::clone(&stop)).unwrap();
    server.fail(|request| request.query.contains_key("partNumber").then_some(Fault::Hang));
    upload.write_all(b"text").unwrap();
    let begun = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(fault_of(&upload.finish().unwrap_err()), StoreFault::Stopped);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(server.state().uploads.is_empty() && server.state().objects.is_empty());
}

#[test]
fn a_redirect_is_not_followed() {
    let (server, other) = (Server::start(), Server::start());
    server.fail(|_| Some(Fault::Answer(307, String::new())));
    let error = resume(&server).unwrap_err();
    assert_eq!(fault_of(&error), StoreFault::Region);
    assert!(error.to_string().contains("AWS_REGION"), "{error}");
    assert!(other.state().log.is_empty());
}

#[test]
fn one_object_appears_when_it_is_finished_and_is_bounded() {
    let server = Server::start();
    let address = Address::parse(&format!("s3://{BUCKET}/x/pages.jsonl")).unwrap();
    let begin =
        |pace| upload_with(&address, &access(&server, "KEYID", 2), pace, Stop::default()).unwrap();
    let line = b"a line of a file that is longer than one chunk\n".repeat(30);
    let mut upload = begin(pace());
    for _ in 0..10 {
        upload.write_all(&line).unwrap();
    }
    assert!(server.names("").is_empty());
    assert_eq!(upload.finish().unwrap(), 10 * line.len() as u64);
    assert!(server.state().objects["x/pages.jsonl"].0 == line.repeat(10));
    // A dropped upload leaves nothing, and the object of before stays.
    let mut dropped = begin(pace());
    dropped.write_all(&line).unwrap();
    drop(dropped);
    assert!(server.state().uploads.is_empty());
    assert_eq!(server.state().objects["x/pages.jsonl"].0.len(), 10 * line.len());
    // An empty object.
    assert_eq!(begin(pace()).finish().unwrap(), 0);
    assert!(server.state().objects["x/pages.jsonl"].0.is_empty());
    let mut long = begin(Pace { max_chunks: 3, ..pace() });
    let error = (0..9).find_map(|_| long.write_all(&line).err()).unwrap();
    let error = Error::at(Path::new("unused"))(error);
    assert!(error.to_string().contains("at most 3000 bytes"), "{error}");
    drop(long);
    assert!(server.state().uploads.is_empty());
}

#[tokio::test]
async fn a_store_works_inside_of_a_runtime_of_the_caller() {
    let server = Server::start();
    assert_eq!(export(&server).unwrap().rows, 200);
    assert_eq!(stored_rows(&server), 200);
}

/// The object of a corpus of rows: row N has a text of N % 700 letters.
fn row(number: u64) -> Vec<u8> {
    format!("{number} {}\n", "x".repeat(number as usize * 37 % 700)).into_bytes()
}

fn object(server: &Server, state: &str, stop: &Stop) -> Result<Object> {
    let address = Address::parse("s3://corpus/x/pages.csv").unwrap();
    let of_state = (Some(state), Stop::clone(stop));
    object_with(&address, &access(server, "KEYID", 2), pace(), of_state)
}

/// Writes a heading and the rows before `end` that the object misses; every third one was left out by a filter.
fn write_rows(out: &mut Object, end: u64) -> std::io::Result<()> {
    let before = out.read_before();
    if before == 0 {
        out.write_all(b"heading\n")?;
    }
    for number in (before..end).filter(|number| number % 3 != 0) {
        out.begin_row(number).unwrap();
        out.write_all(&row(number))?;
    }
    Ok(())
}

fn whole_object() -> Vec<u8> {
    let rows = (0..300).filter(|number| number % 3 != 0).flat_map(row);
    b"heading\n".iter().copied().chain(rows).collect()
}

const KEY: &str = "x/pages.csv";
const NOTE: &str = "x/_pages.csv.export.json";

#[test]
fn an_object_whose_export_was_killed_anywhere_is_continued_and_equal() {
    let server = Server::start();
    let mut sent_twice = 0;
    for first in (1..300).step_by(13) {
        server.state().objects.insert(KEY.into(), (b"of before".to_vec(), None));
        let mut before = 0;
        for end in [first, 150, 290] {
            let mut out = object(&server, "one", &Stop::default()).unwrap();
            assert!(out.read_before() >= before, "durable rows stay");
            before = out.read_before();
            write_rows(&mut out, end).unwrap();
            // As a kill does, this runs no destructor.
            mem::forget(out);
            assert_eq!(server.state().objects[KEY].0, b"of before");
            assert_eq!(server.state().uploads.len(), 1, "of the killed one");
        }
        assert!(before > 90, "{before}");
        server.state().log.clear();
        let mut out = object(&server, "one", &Stop::default()).unwrap();
        write_rows(&mut out, 300).unwrap();
        Box::new(out).finish().unwrap();
        assert!(server.state().objects[KEY].0 == whole_object(), "{first}");
        assert_eq!(server.names(""), [KEY], "no note stays");
        assert!(server.state().uploads.is_empty());
        let chunks = server.state().log.iter().filter(|line| line.contains("partNumber")).count();
        sent_twice = sent_twice.max(chunks);
    }
    assert!(
        sent_twice < whole_object().len() / 1_000 / 2,
        "{sent_twice} chunks after 290 of 300 rows"
    );
}

#[test]
fn an_object_of_other_pages_or_without_its_upload_begins_again() {
    for (state, is_gone) in [("two", false), ("one", true)] {
        let server = Server::start();
        let mut out = object(&server, "one", &Stop::default()).unwrap();
        write_rows(&mut out, 290).unwrap();
        mem::forget(out);
        assert!(server.names("").contains(&NOTE.to_owned()));
        if is_gone {
            // A lifecycle rule of the bucket removed it.
            server.state().uploads.clear();
        }
        let mut out = object(&server, state, &Stop::default()).unwrap();
        assert_eq!((out.read_before(), server.state().uploads.len()), (0, 1));
        write_rows(&mut out, 300).unwrap();
        Box::new(out).finish().unwrap();
        assert!(server.state().objects[KEY].0 == whole_object(), "{state}");
        assert_eq!((server.names("").len(), server.state().uploads.len()), (1, 0));
    }
}

#[test]
fn a_stopped_or_lost_object_stays_if_it_can_be_continued_and_any_other_is_removed() {
    for (rows, is_stopped, stays) in [(200, true, true), (200, false, true), (9, true, false)] {
        let (server, stop) = (Server::start(), Stop::default());
        let mut out = object(&server, "one", &stop).unwrap();
        write_rows(&mut out, rows).unwrap();
        if is_stopped {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        } else {
            server.fail(|_| Some(Fault::Close));
        }
        let failed = (rows..300).find_map(|number| out.write_all(&row(number)).err()).unwrap();
        let fault = if is_stopped { "was stopped" } else { "does not answer" };
        assert!(failed.to_string().contains(fault), "{failed}");
        drop(out);
        server.heal();
        assert_eq!(server.state().uploads.len(), usize::from(stays), "{rows} {is_stopped}");
        assert_eq!(server.names("x/").len(), usize::from(stays));
        let mut out = object(&server, "one", &Stop::default()).unwrap();
        assert_eq!(out.read_before() > 0, stays);
        write_rows(&mut out, 300).unwrap();
        Box::new(out).finish().unwrap();
        assert!(server.state().objects[KEY].0 == whole_object());
    }
    // A refused chunk.
    let server = Server::start();
    let mut out = object(&server, "one", &Stop::default()).unwrap();
    write_rows(&mut out, 200).unwrap();
    server.fail(|request| {
        let is_chunk = request.query.contains_key("partNumber");
        is_chunk.then(|| Fault::Answer(400, error("InvalidDigest", "no")))
    });
    assert!((200..300).any(|number| out.write_all(&row(number)).is_err()));
    drop(out);
    assert_eq!((server.names("").len(), server.state().uploads.len()), (0, 0));
}

#[test]
fn credentials_for_one_object_alone_write_it_without_a_note() {
    let server = Server::start();
    server.fail(|request| {
        (request.key == NOTE).then(|| Fault::Answer(403, error("AccessDenied", "no")))
    });
    let mut out = object(&server, "one", &Stop::default()).unwrap();
    write_rows(&mut out, 300).unwrap();
    Box::new(out).finish().unwrap();
    assert!(server.state().objects[KEY].0 == whole_object());
    let mut dropped = object(&server, "one", &Stop::default()).unwrap();
    write_rows(&mut dropped, 300).unwrap();
    drop(dropped);
    assert_eq!((server.names(""), server.state().uploads.len()), (vec![KEY.to_owned()], 0));
}
