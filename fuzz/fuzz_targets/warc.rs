//! Arbitrary bytes as a WARC file, plain or gzipped.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let Ok(mut reader) = hapax_warc::Reader::new(std::io::Cursor::new(body.to_vec()), 1 << 20)
    else {
        return;
    };
    while let Ok(Some(record)) = reader.next_record() {
        let _ = hapax_warc::http_parts(&record.block);
    }
});
