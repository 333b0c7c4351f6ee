//! Several threads on one store.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

use hapax_dedup::{Document, Fingerprint, Options, Store, Verdict, mix64};

use crate::hooked::{Hooked, Op};

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
                    // All threads offer near fingerprints at the same time.
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

/// Starts threads at the same moment. They spin, because waking up takes longer than an offer.
fn meet(arrived: &AtomicU64, threads: u64, round: u64) {
    arrived.fetch_add(1, Ordering::AcqRel);
    let mut turns = 0u32;
    while arrived.load(Ordering::Acquire) < threads * (round + 1) {
        turns += 1;
        if turns.is_multiple_of(1000) {
            std::thread::yield_now();
        }
        std::hint::spin_loop();
    }
}

#[test]
fn looking_and_inserting_are_one_step() {
    const ROUNDS: u64 = 6_000;
    let store = Store::in_memory(options()).unwrap();
    let (arrived, new) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            let (store, arrived, new) = (&store, &arrived, &new);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    // Every third time one key, otherwise two near fingerprints.
                    let own = if round % 3 == 0 { 0 } else { thread };
                    let key = [round, own].map(u64::to_le_bytes).concat();
                    let bits = mix64(round) ^ own << 9;
                    let document = Document::new(&key, Fingerprint::from_bits(bits));
                    meet(arrived, 2, round);
                    let verdict = store.offer(&document).unwrap();
                    new.fetch_add(u64::from(matches!(verdict, Verdict::New(_))), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(new.load(Ordering::Relaxed), ROUNDS);
    let once = ROUNDS.div_ceil(3);
    assert_eq!((store.len(), store.duplicates()), (2 * ROUNDS - once, ROUNDS - once));
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

#[test]
fn commits_at_the_same_time_share_a_sync() {
    let syncs = Arc::new(AtomicU64::new(0));
    let slow = Hooked::new({
        let syncs = Arc::clone(&syncs);
        move |op| {
            if matches!(op, Op::Sync) {
                syncs.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(3));
            }
        }
    });
    let memory = slow.memory.clone();
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

/// A gate at which merges wait until it opens.
#[derive(Default)]
struct Gate {
    /// Whether a merge waits, and whether the gate is open.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 = true;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| !state.1).unwrap());
    }

    fn wait_for_one(&self) {
        drop(self.changed.wait_while(self.state.lock().unwrap(), |state| !state.0).unwrap());
    }
}

/// Opens the gate on drop, so that the threads of a failed test end.
struct OpenAtEnd<'a>(&'a Gate);

impl Drop for OpenAtEnd<'_> {
    fn drop(&mut self) {
        self.0.state.lock().unwrap().1 = true;
        self.0.changed.notify_all();
    }
}

#[test]
fn a_thread_waiting_for_a_merge_blocks_no_other_thread() {
    type Work = fn(&Store);
    let works: [Work; 3] = [
        |store| store.wait().unwrap(),
        |store| store.compact().unwrap(),
        // More than twice the limit of memory: this commit waits.
        |store| {
            (2000..3200).for_each(|number| insert(store, number));
            store.commit(b"").unwrap();
        },
    ];
    for work in works {
        let gate = Arc::new(Gate::default());
        let folder = Hooked::new({
            let gate = Arc::clone(&gate);
            move |op| {
                if matches!(op, Op::Create(name) if name.starts_with("seg-")) {
                    gate.pass();
                }
            }
        });
        let store = Store::open_in(Arc::new(folder), options()).unwrap();
        (0..600).for_each(|number| insert(&store, number));
        store.commit(b"").unwrap();
        gate.wait_for_one();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                work(&store);
                ended.store(true, Ordering::Relaxed);
            });
            // Gives the thread time to take its locks.
            std::thread::sleep(Duration::from_millis(300));
            let _open = OpenAtEnd(&gate);
            assert!(!ended.load(Ordering::Relaxed), "it waits for the merge");
            let (done, answered) = mpsc::channel();
            scope.spawn(|| {
                let done = done;
                let near = store.snapshot().near(Fingerprint::from_bits(mix64(7))).unwrap();
                assert_eq!(near, [(7, 0)]);
                let document =
                    Document::new(b"meanwhile", Fingerprint::from_bits(mix64(9_999_999)));
                assert!(matches!(store.offer(&document).unwrap(), Verdict::New(_)));
                assert!(store.len() > 600);
                done.send(()).unwrap();
            });
            let answer = answered.recv_timeout(Duration::from_secs(20));
            assert!(answer.is_ok(), "an answer before the merge ends");
        });
        assert_eq!(store.near(Fingerprint::from_bits(mix64(9_999_999))).unwrap().len(), 1);
        store.commit(b"").unwrap();
        store.wait().unwrap();
        store.check().unwrap();
    }
}

fn insert(store: &Store, number: u64) {
    let key = number.to_le_bytes();
    store.insert(&Document::new(&key, Fingerprint::from_bits(mix64(number))), None).unwrap();
}
