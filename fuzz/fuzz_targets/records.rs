//! Any bytes are what a cluster holds: a document's record, a queue's entry. What is read is written the same.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(record) = hapax_dedup::Record::from_bytes(data) {
        assert_eq!(hapax_dedup::Record::from_bytes(&record.to_bytes()).as_ref(), Some(&record));
        let _ = record.document();
    }
    // Of other schemes not: `file://t///p:` loses its host when it is read again. Fetching refuses them.
    let entry = hapax_frontier::Entry::decode(data);
    if let Some(entry) = entry.filter(|entry| matches!(entry.url.scheme(), "http" | "https")) {
        assert_eq!(hapax_frontier::Entry::decode(&entry.encode()).as_ref(), Some(&entry));
    }
});
