//! A folder that records every operation and returns possible disk states after a power loss at any of them.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use hapax_dedup::{Contents, Directory, Guard, Output, mix64};

/// Blocks of a file system reach the disk one by one, in any order.
const SECTOR: usize = 512;

#[derive(Clone, Debug)]
enum Operation {
    Create(String, usize),
    /// File, offset, bytes.
    Write(usize, usize, Vec<u8>),
    Cut(usize, usize),
    SyncFile(usize),
    Rename(String, String),
    Remove(String),
    SyncFolder,
}

#[derive(Debug, Default)]
struct State {
    /// The durable content before the first operation.
    base: BTreeMap<String, usize>,
    base_files: Vec<Vec<u8>>,
    names: BTreeMap<String, usize>,
    files: Vec<Vec<u8>>,
    operations: Vec<Operation>,
    /// The duration of each operation, and the thread that set it.
    slow: Option<(Duration, ThreadId)>,
    /// Files that other threads created, wrote and synced since then: operation and file.
    by_others: Vec<(usize, usize)>,
    /// The number of the operation to fail, and the kind of failure.
    fail: Option<(usize, Failure)>,
    failed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Io,
    Full,
    Short,
    Interrupted,
}

/// The unsynced part that survives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Image {
    Nothing,
    All,
    /// A random choice for each unsynced sector and name.
    Random(u64),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Recording(Arc<Mutex<State>>);

impl Recording {
    pub(crate) fn operations(&self) -> usize {
        self.0.lock().unwrap().operations.len()
    }

    /// Slows each operation down, so that those of several threads interleave.
    pub(crate) fn slow_down(&self, pause: Duration) {
        self.0.lock().unwrap().slow = Some((pause, thread::current().id()));
    }

    /// Counts the times when another operation ran between two operations of another thread on one file.
    pub(crate) fn interleaved(&self) -> usize {
        let state = self.0.lock().unwrap();
        state
            .by_others
            .windows(2)
            .filter(|two| two[0].1 == two[1].1 && two[0].0 + 1 < two[1].0)
            .count()
    }

    pub(crate) fn fail_at(&self, operation: usize, failure: Failure) {
        self.0.lock().unwrap().fail = Some((operation, failure));
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.0.lock().unwrap().failed
    }

    /// Returns the same files without history and failures.
    pub(crate) fn healed(&self) -> Self {
        let state = self.0.lock().unwrap();
        let fresh = Self::default();
        fresh
            .put(state.names.iter().map(|(name, file)| (name.clone(), state.files[*file].clone())));
        fresh
    }

    fn put(&self, files: impl Iterator<Item = (String, Vec<u8>)>) {
        let mut state = self.0.lock().unwrap();
        for (name, bytes) in files {
            let file = state.files.len();
            state.files.push(bytes.clone());
            state.base_files.push(bytes);
            state.names.insert(name.clone(), file);
            state.base.insert(name, file);
        }
    }

    /// Returns a possible state of the folder after a power loss before operation `end`.
    pub(crate) fn after_crash(&self, end: usize, image: Image) -> Self {
        let state = self.0.lock().unwrap();
        let mut coin = match image {
            Image::Random(seed) => mix64(seed ^ end as u64),
            _ => 0,
        };
        let mut toss = || match image {
            Image::Nothing => false,
            Image::All => true,
            Image::Random(_) => {
                coin = mix64(coin.wrapping_add(0x9e37_79b9_7f4a_7c15));
                coin & 1 == 1
            }
        };
        // Per file: the synced content, and the writes since.
        let mut synced: BTreeMap<usize, Vec<u8>> =
            state.base_files.iter().cloned().enumerate().collect();
        let mut pending: BTreeMap<usize, Vec<Operation>> = BTreeMap::new();
        let mut names = state.base.clone();
        let mut entries: Vec<Operation> = Vec::new();
        for operation in &state.operations[..end] {
            match operation {
                Operation::Create(_, file) => {
                    synced.insert(*file, Vec::new());
                    entries.push(operation.clone());
                }
                Operation::Write(file, ..) | Operation::Cut(file, _) => {
                    pending.entry(*file).or_default().push(operation.clone());
                }
                Operation::SyncFile(file) => {
                    for write in pending.remove(file).unwrap_or_default() {
                        apply(synced.entry(*file).or_default(), &write);
                    }
                }
                Operation::Rename(..) | Operation::Remove(_) => entries.push(operation.clone()),
                Operation::SyncFolder => {
                    entries.drain(..).for_each(|entry| rename(&mut names, &entry));
                }
            }
        }
        for (file, writes) in pending {
            let bytes = synced.entry(file).or_default();
            for write in writes {
                match write {
                    Operation::Write(file, offset, data) => {
                        for (number, sector) in data.chunks(SECTOR).enumerate() {
                            let at = offset + number * SECTOR;
                            if toss() {
                                apply(bytes, &Operation::Write(file, at, sector.to_vec()));
                            }
                        }
                    }
                    cut if toss() => apply(bytes, &cut),
                    _ => {}
                }
            }
        }
        // Unsynced names: each may exist or not, in the order of creation.
        for entry in entries {
            if toss() {
                rename(&mut names, &entry);
            }
        }
        drop(state);
        let fresh = Self::default();
        let bytes = |file: usize| synced.get(&file).cloned().unwrap_or_default();
        fresh.put(names.into_iter().map(|(name, file)| (name, bytes(file))));
        fresh
    }

    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let state = self.0.lock().unwrap();
        state.names.iter().map(|(name, file)| (name.clone(), state.files[*file].clone())).collect()
    }

    pub(crate) fn with_file(&self, name: &str, bytes: Vec<u8>) -> Self {
        let fresh = Self::default();
        fresh.put(self.files().into_iter().map(|(other, old)| {
            let bytes = if other == name { bytes.clone() } else { old };
            (other, bytes)
        }));
        fresh
    }

    fn run<T>(
        &self,
        operation: impl FnOnce(&State) -> Operation,
        change: impl FnOnce(&mut State) -> io::Result<T>,
    ) -> io::Result<T> {
        let slow = self.0.lock().unwrap().slow;
        if let Some((pause, _)) = slow {
            thread::sleep(pause);
        }
        let other = slow.filter(|(_, asked)| *asked != thread::current().id());
        let mut state = self.0.lock().unwrap();
        if let Some((at, failure)) = state.fail
            && (state.operations.len() >= at || state.failed && failure == Failure::Full)
        {
            state.failed = true;
            // A full disk stays full; the other failures happen once.
            if failure != Failure::Full {
                state.fail = None;
            }
            if failure == Failure::Short
                && let Operation::Write(file, offset, bytes) = operation(&state)
            {
                let half = Operation::Write(file, offset, bytes[..bytes.len() / 2].to_vec());
                apply(&mut state.files[file], &half);
                state.operations.push(half);
            }
            return Err(match failure {
                Failure::Full => io::ErrorKind::StorageFull.into(),
                Failure::Interrupted => io::ErrorKind::Interrupted.into(),
                _ => io::Error::other("the disk failed"),
            });
        }
        let operation = operation(&state);
        let number = state.operations.len();
        if let (
            Some(_),
            Operation::Create(_, file) | Operation::Write(file, ..) | Operation::SyncFile(file),
        ) = (other, &operation)
        {
            state.by_others.push((number, *file));
        }
        state.operations.push(operation);
        change(&mut state)
    }
}

fn apply(bytes: &mut Vec<u8>, operation: &Operation) {
    match operation {
        Operation::Write(_, offset, data) => {
            if bytes.len() < offset + data.len() {
                bytes.resize(offset + data.len(), 0);
            }
            bytes[*offset..offset + data.len()].copy_from_slice(data);
        }
        Operation::Cut(_, length) => bytes.truncate(*length),
        _ => {}
    }
}

fn rename(names: &mut BTreeMap<String, usize>, operation: &Operation) {
    match operation {
        Operation::Create(name, file) => {
            names.insert(name.clone(), *file);
        }
        Operation::Rename(from, to) => {
            if let Some(file) = names.remove(from) {
                names.insert(to.clone(), file);
            }
        }
        Operation::Remove(name) => {
            names.remove(name);
        }
        _ => {}
    }
}

impl Directory for Recording {
    fn path(&self) -> &Path {
        Path::new("recording")
    }

    fn lock(&self) -> io::Result<Option<Guard>> {
        Ok(Some(Guard::new(())))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.0.lock().unwrap().names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn Output>> {
        let file = self.run(
            |state| Operation::Create(name.to_owned(), state.files.len()),
            |state| {
                state.files.push(Vec::new());
                let file = state.files.len() - 1;
                state.names.insert(name.to_owned(), file);
                Ok(file)
            },
        )?;
        Ok(Box::new(Recorded(self.clone(), file)))
    }

    fn append(&self, name: &str, length: u64) -> io::Result<Box<dyn Output>> {
        let file = self.0.lock().unwrap().names.get(name).copied();
        let file = file.ok_or(io::ErrorKind::NotFound)?;
        let length = length as usize;
        if self.0.lock().unwrap().files[file].len() != length {
            self.run(
                |_| Operation::Cut(file, length),
                |state| {
                    state.files[file].truncate(length);
                    Ok(())
                },
            )?;
            self.run(|_| Operation::SyncFile(file), |_| Ok(()))?;
        }
        Ok(Box::new(Recorded(self.clone(), file)))
    }

    fn contents(&self, name: &str) -> io::Result<Contents> {
        let state = self.0.lock().unwrap();
        let file = state.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(state.files[*file].clone().into())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.run(
            |_| Operation::Rename(from.to_owned(), to.to_owned()),
            |state| {
                let file = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
                state.names.insert(to.to_owned(), file);
                Ok(())
            },
        )
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.run(
            |_| Operation::Remove(name.to_owned()),
            |state| state.names.remove(name).map(drop).ok_or(io::ErrorKind::NotFound.into()),
        )
    }

    fn sync(&self) -> io::Result<()> {
        self.run(|_| Operation::SyncFolder, |_| Ok(()))
    }
}

#[derive(Debug)]
struct Recorded(Recording, usize);

impl Output for Recorded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = self.1;
        self.0.run(
            |state| Operation::Write(file, state.files[file].len(), bytes.to_vec()),
            |state| {
                state.files[file].extend_from_slice(bytes);
                Ok(())
            },
        )
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.run(|_| Operation::SyncFile(self.1), |_| Ok(()))
    }
}
