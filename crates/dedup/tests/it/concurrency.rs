//! Several threads on one store.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hapax_dedup::{Contents, Directory, Guard, MemDirectory, Output};
use hapax_dedup::{Document, Fingerprint, Options, Store, Verdict, mix64};

fn options() -> Options {
    let mut options = Options { memtable_documents: 500, ..Options::default() };
    options.policy.hamming_only = true;
    options
}

#[test]
fn of_near_duplicates_offered_at_once_exactly_one_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), options()).unwrap();
    let new = AtomicU64::new(0);
    let threads = 8u64;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (store, new) = (&store, &new);
            scope.spawn(move || {
                for number in 0..1000u64 {
                    // All threads offer something near the same fingerprint at the same time.
                    let bits = mix64(number) ^ (1 << thread);
                    let key = format!("{thread} {number}");
                    let document = Document::new(key.as_bytes(), Fingerprint::from_bits(bits));
                    match store.offer(&document).unwrap() {
                        Verdict::New(_) => {
                            new.fetch_add(1, Ordering::Relaxed);
                        }
                        Verdict::Duplicate { .. } => {}
                        Verdict::Known(_) => panic!("{key} is known"),
                    }
                    if number % 20 == 0 {
                        store.commit(&number.to_le_bytes()).unwrap();
                    }
                }
                store.commit(b"end").unwrap();
            });
        }
    });
    assert_eq!(new.load(Ordering::Relaxed), 1000);
    assert_eq!((store.len(), store.duplicates()), (threads * 1000, (threads - 1) * 1000));
    store.check().unwrap();
    drop(store);
    let store = Store::open(folder.path(), options()).unwrap();
    assert_eq!((store.len(), store.duplicates()), (threads * 1000, (threads - 1) * 1000));
    assert_eq!(store.payload(), b"end");
}

#[test]
fn snapshots_are_whole_while_the_writer_goes_on() {
    let store = Store::in_memory(options()).unwrap();
    let done = AtomicBool::new(false);
    let seen = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot();
                    let end = snapshot.next_id();
                    for id in (0..end).step_by(97) {
                        let record = snapshot.record(id).unwrap().unwrap();
                        assert_eq!(record.key, id.to_le_bytes());
                        let near = snapshot.near(record.fingerprint).unwrap();
                        assert!(near.contains(&(id, 0)), "{id} of {end}");
                        assert!(near.iter().all(|(other, _)| *other < end));
                    }
                    assert_eq!(snapshot.id_of(&end.to_le_bytes()).unwrap(), None);
                    seen.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for number in 0..20_000u64 {
            let fingerprint = Fingerprint::from_bits(mix64(number));
            store.insert(&Document::new(&number.to_le_bytes(), fingerprint), None).unwrap();
            if number % 100 == 0 {
                store.commit(b"").unwrap();
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(seen.load(Ordering::Relaxed) > 0);
}

/// A disk whose syncs take long, and are counted.
#[derive(Debug, Default)]
struct Slow(MemDirectory, Arc<AtomicU64>);

#[derive(Debug)]
struct SlowOutput(Box<dyn Output>, Arc<AtomicU64>);

impl Output for SlowOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write(bytes)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.1.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(3));
        self.0.sync()
    }
}

impl Directory for Slow {
    fn path(&self) -> &Path {
        self.0.path()
    }
    fn lock(&self) -> io::Result<Option<Guard>> {
        self.0.lock()
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }
    fn create(&self, name: &str) -> io::Result<Box<dyn Output>> {
        Ok(Box::new(SlowOutput(self.0.create(name)?, Arc::clone(&self.1))))
    }
    fn append(&self, name: &str, length: u64) -> io::Result<Box<dyn Output>> {
        Ok(Box::new(SlowOutput(self.0.append(name, length)?, Arc::clone(&self.1))))
    }
    fn contents(&self, name: &str) -> io::Result<Contents> {
        self.0.contents(name)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

#[test]
fn commits_at_the_same_time_share_a_sync() {
    let slow = Slow::default();
    let (memory, syncs) = (slow.0.clone(), Arc::clone(&slow.1));
    let store = Store::open_in(Arc::new(slow), options()).unwrap();
    let before = syncs.load(Ordering::Relaxed);
    let (threads, each) = (8u64, 15u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let store = &store;
            scope.spawn(move || {
                for number in 0..each {
                    let key = [thread.to_le_bytes(), number.to_le_bytes()].concat();
                    let fingerprint = Fingerprint::from_bits(mix64(thread << 32 | number));
                    store.insert(&Document::new(&key, fingerprint), None).unwrap();
                    store.commit(b"").unwrap();
                }
            });
        }
    });
    let commits = threads * each;
    let syncs = syncs.load(Ordering::Relaxed) - before;
    assert!(syncs < commits, "{syncs} syncs for {commits} commits of two each");
    drop(store);
    let again = Store::open_in(Arc::new(memory), options()).unwrap();
    assert_eq!(again.len(), commits);
}

#[test]
fn settling_never_puts_an_old_payload_back() {
    use hapax_dedup::DocumentStore;

    let store = Store::in_memory(options()).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                store.settle().unwrap();
            }
        });
        for number in 0..20_000u64 {
            let payload = number.to_le_bytes();
            store.commit(&payload).unwrap();
            if store.payload() != payload {
                done.store(true, Ordering::Relaxed);
                panic!("the payload before {number} came back");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}
