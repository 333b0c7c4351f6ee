//! Arbitrary bytes as values stored in a cluster: a document's record, a queue entry. A decoded value encodes the
//! same.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(record) = hapax_dedup::Record::from_bytes(data) {
        assert_eq!(hapax_dedup::Record::from_bytes(&record.to_bytes()).as_ref(), Some(&record));
        let _ = record.document();
    }
    // Only http(s): `file://t///p:` loses its host when it is parsed again. Fetching refuses other schemes.
    let entry = hapax_frontier::Entry::decode(data);
    if let Some(entry) = entry.filter(|entry| matches!(entry.url.scheme(), "http" | "https")) {
        assert_eq!(hapax_frontier::Entry::decode(&entry.encode()).as_ref(), Some(&entry));
    }
});
