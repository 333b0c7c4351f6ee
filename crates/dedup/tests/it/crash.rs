//! Power loss and failures at every operation of a script.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hapax_dedup::{Document, Error, Fingerprint, Options, Store, mix64};

use crate::recording::{Failure, Image, Recording};

const STEPS: u64 = 14;

fn options() -> Options {
    // Small, so that flushes and merges are frequent, and merges spool numbers to files.
    Options { memtable_documents: 7, merge_bytes: 100, ..Options::default() }
}

fn key(number: u64) -> String {
    format!("document {number}")
}

fn offer(store: &Store, number: u64) -> hapax_dedup::Result<()> {
    let base = mix64(number / 3);
    // Two of three are near the first of their group.
    let fingerprint = Fingerprint::from_bits(base ^ (1 << (number % 3)) >> 1);
    store.offer(&Document {
        time: number + 1,
        ..Document::new(key(number).as_bytes(), fingerprint)
    })?;
    Ok(())
}

/// Runs one step: documents, sometimes a deletion or a restoration, a commit.
fn step(store: &Store, step: u64) -> hapax_dedup::Result<()> {
    step_and_go_on(store, step)?;
    // Makes the order of operations the same on every run.
    store.wait()
}

fn step_and_go_on(store: &Store, step: u64) -> hapax_dedup::Result<()> {
    for number in step * 4..step * 4 + 4 {
        offer(store, number)?;
    }
    if step % 3 == 2
        && let Some(id) = store.id_of(key(step * 4 - 5).as_bytes())?
    {
        store.delete(id)?;
    }
    if step % 4 == 3
        && let Some(id) = store.id_of(key(step * 4 + 1).as_bytes())?
    {
        store.restore(id)?;
    }
    store.commit(&(step + 1).to_le_bytes())
}

fn answers(store: &Store, steps: u64) -> Vec<String> {
    let mut lines = vec![format!("{} {} {}", store.len(), store.next_id(), store.duplicates())];
    for number in 0..steps * 4 + 4 {
        let id = store.id_of(key(number).as_bytes()).unwrap();
        let record = id.and_then(|id| store.record(id).unwrap());
        let near = store.near(Fingerprint::from_bits(mix64(number / 3))).unwrap();
        lines.push(format!("{number} {id:?} {record:?} {near:?}"));
    }
    lines
}

/// Returns the answers of an undisturbed store after each step.
fn expected() -> Vec<Vec<String>> {
    let store = Store::in_memory(options()).unwrap();
    let mut all = vec![answers(&store, STEPS)];
    for number in 0..STEPS {
        step(&store, number).unwrap();
        all.push(answers(&store, STEPS));
    }
    all
}

fn steps_of(store: &Store) -> u64 {
    let payload = store.payload();
    if payload.is_empty() { 0 } else { u64::from_le_bytes(payload.try_into().unwrap()) }
}

/// Opens the state after a crash, compares it with the model, and continues.
fn check(after: &Recording, acknowledged: u64, expected: &[Vec<String>], what: &str) {
    let store = Store::open_in(Arc::new(after.clone()), options())
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    let steps = steps_of(&store);
    assert!(steps >= acknowledged, "{what}: {steps} steps, {acknowledged} were acknowledged");
    assert_eq!(answers(&store, STEPS), expected[steps as usize], "{what}");
    store.check().unwrap_or_else(|error| panic!("{what}: {error}"));
    if steps < STEPS {
        step(&store, steps).unwrap();
        assert_eq!(answers(&store, STEPS), expected[steps as usize + 1], "{what}, one step on");
    }
}

#[test]
fn after_power_loss_at_any_operation_everything_acknowledged_is_there() {
    power_loss(6);
}

#[test]
#[ignore = "minutes: 100,000 images"]
fn after_power_loss_in_a_hundred_thousand_ways() {
    power_loss(400);
}

/// Simulates power loss at each operation, with this number of random disk images.
fn power_loss(randoms: u64) {
    let expected = expected();
    let disk = Recording::default();
    // The number of operations at the time of each acknowledgement.
    let mut acknowledged = Vec::new();
    let store = Store::open_in(Arc::new(disk.clone()), options()).unwrap();
    for number in 0..STEPS {
        step(&store, number).unwrap();
        acknowledged.push(disk.operations());
    }
    store.close().unwrap();
    let total = disk.operations();
    assert!(total >= 200, "{total} operations");
    let images = hold_images(&disk, &acknowledged, randoms, &expected);
    println!("{total} operations, {images} images");
}

/// Compares the state after each operation with the acknowledged steps. Returns the number of images.
fn hold_images(
    disk: &Recording,
    acknowledged: &[usize],
    randoms: u64,
    expected: &[Vec<String>],
) -> u64 {
    let mut images = 0;
    for end in 0..=disk.operations() {
        let steps = acknowledged.iter().filter(|at| **at <= end).count() as u64;
        let random = (0..randoms).map(Image::Random);
        for image in [Image::Nothing, Image::All].into_iter().chain(random) {
            let after = disk.after_crash(end, image);
            check(&after, steps, expected, &format!("operation {end}, {image:?}"));
            images += 1;
        }
    }
    images
}

#[test]
fn commits_beside_a_segment_that_is_being_written_survive_power_loss() {
    let expected = expected();
    let mut beside = 0;
    // Repeats, because the scheduling of threads varies.
    for round in 0..4u64 {
        let disk = Recording::default();
        let store = Store::open_in(Arc::new(disk.clone()), options()).unwrap();
        disk.slow_down(Duration::from_micros(40 << round));
        let mut acknowledged = Vec::new();
        for number in 0..STEPS {
            step_and_go_on(&store, number).unwrap();
            acknowledged.push(disk.operations());
        }
        store.close().unwrap();
        beside += disk.interleaved();
        hold_images(&disk, &acknowledged, 1, &expected);
    }
    assert!(beside >= 8, "{beside} times something was done while a segment was written");
}

#[test]
fn a_thread_in_a_shared_commit_has_its_offers_on_disk() {
    let disk = Recording::default();
    let open = |disk: Recording| Store::open_in(Arc::new(disk), Options::default()).unwrap();
    let store = open(disk.clone());
    disk.slow_down(Duration::from_micros(300));
    let before = disk.operations();
    let returned = Mutex::new(Vec::new());
    let (threads, each) = (6u64, 12u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (store, returned, disk) = (&store, &returned, &disk);
            scope.spawn(move || {
                for number in 0..each {
                    let key = [thread, number].map(u64::to_le_bytes).concat();
                    let fingerprint = Fingerprint::from_bits(mix64(thread << 32 | number));
                    store.insert(&Document::new(&key, fingerprint), None).unwrap();
                    store.commit(b"").unwrap();
                    returned.lock().unwrap().push((disk.operations(), key));
                }
            });
        }
    });
    let returned = returned.into_inner().unwrap();
    // A commit writes and syncs twice, so some commits were shared.
    let operations = disk.operations() - before;
    assert!(operations < 4 * returned.len(), "{operations} for {} commits", returned.len());
    for (end, key) in returned {
        for image in [Image::Nothing, Image::Random(7)] {
            let after = disk.after_crash(end, image);
            let store = open(after);
            assert!(store.id_of(&key).unwrap().is_some(), "{key:?} at {end}, {image:?}");
        }
    }
}

#[test]
fn commits_acknowledged_after_an_io_error_survive_the_next_power_loss() {
    let expected = expected();
    let mut at = 0;
    loop {
        let disk = Recording::default();
        disk.fail_at(at, Failure::Io);
        let run = || -> hapax_dedup::Result<()> {
            let store = Store::open_in(Arc::new(disk.clone()), options())?;
            (0..STEPS).try_for_each(|number| step(&store, number))
        };
        let _ = run();
        if !disk.has_failed() {
            break;
        }
        // The machine runs on: unsynced data is readable too, and the store continues from it.
        let store = Store::open_in(Arc::new(disk.clone()), options()).unwrap();
        let steps = steps_of(&store);
        let hold = |acknowledged: u64, what: &str| {
            for image in [Image::Nothing, Image::Random(1), Image::Random(2)] {
                let after = disk.after_crash(disk.operations(), image);
                check(
                    &after,
                    acknowledged,
                    &expected,
                    &format!("operation {at}, {what}, {image:?}"),
                );
            }
        };
        if at % 2 == 0 && steps < STEPS {
            step(&store, steps).unwrap();
            hold(steps + 1, "one step on");
        }
        let steps = steps_of(&store);
        store.close().unwrap();
        hold(steps, "closed");
        at += 1;
    }
    assert!(at >= 200, "{at} operations");
}

#[test]
fn recovery_itself_may_be_interrupted() {
    let expected = expected();
    let disk = Recording::default();
    let store = Store::open_in(Arc::new(disk.clone()), options()).unwrap();
    (0..6).for_each(|number| step(&store, number).unwrap());
    let middle = disk.operations();
    (6..STEPS).for_each(|number| step(&store, number).unwrap());
    drop(store);
    for end in (middle..disk.operations()).step_by(3) {
        let first = disk.after_crash(end, Image::Random(1));
        let store = Store::open_in(Arc::new(first.clone()), options()).unwrap();
        let steps = steps_of(&store);
        let recovery = first.operations();
        drop(store);
        for second in 0..=recovery {
            let again = first.after_crash(second, Image::Random(second as u64));
            check(&again, steps, &expected, &format!("operations {end} and {second}"));
        }
    }
}

#[test]
fn an_operation_that_fails_is_an_error_and_never_a_loss() {
    let expected = expected();
    let undisturbed = Recording::default();
    let store = Store::open_in(Arc::new(undisturbed.clone()), options()).unwrap();
    (0..STEPS).for_each(|number| step(&store, number).unwrap());
    store.close().unwrap();
    for failure in [Failure::Io, Failure::Full, Failure::Short, Failure::Interrupted] {
        for at in 0..undisturbed.operations() {
            let disk = Recording::default();
            disk.fail_at(at, failure);
            let mut done = 0;
            let what = format!("{failure:?} at operation {at}");
            if let Ok(store) = Store::open_in(Arc::new(disk.clone()), options()) {
                for number in 0..STEPS {
                    match step(&store, number) {
                        Ok(()) => done = number + 1,
                        Err(error) => {
                            assert!(disk.has_failed(), "{what}: {error}");
                            let again = store.commit(b"");
                            assert!(
                                matches!(again, Err(Error::Poisoned)),
                                "{what}: after {error} the store goes on: {again:?}"
                            );
                            break;
                        }
                    }
                }
            }
            check(&disk.healed(), done, &expected, &what);
        }
    }
}
