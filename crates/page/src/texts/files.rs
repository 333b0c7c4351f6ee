//! The files of `texts/`: frames and places, described in the module above.
//!
//! A removed text is erased at once: its place, then its frame. When the writer opens the folder and erased frames take
//! too much of `data`, the other frames are copied to `data.new` and `places.new`. Both are complete and synced before
//! `data.new` is renamed, and `places.new` is renamed last. So after a crash `places.new` alone means that only its
//! rename is missing; otherwise both copies are removed.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::comparison::MAX_TEXT_BYTES;

/// Maximum size of a page's text before compression.
pub(crate) const MAX_ENCODED: usize = MAX_TEXT_BYTES + (64 << 10);
const PLACE: usize = 16;
/// Size of `data` from which it is compacted, if more than one part in `ERASED_PART` of it is erased.
const LEAST_DATA: u64 = 64 << 10;
const ERASED_PART: u64 = 4;
/// Number of times that a reader opens the files again while another process compacts them.
const TRIES: usize = 20;
/// Number of places that are read at a time.
const PLACES: usize = 4096;

/// Frames by the number of their document, each with the document's key.
pub(crate) type Pending = BTreeMap<u64, (Vec<u8>, Vec<u8>)>;

#[derive(Debug)]
pub(crate) struct Files {
    data: File,
    places: File,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    length: u32,
    sum: u32,
}

impl Place {
    /// `None` if the document has no text.
    fn read(bytes: &[u8; PLACE]) -> Option<Self> {
        let number = u128::from_le_bytes(*bytes);
        let place = Self {
            offset: number as u64,
            length: (number >> 64) as u32,
            sum: (number >> 96) as u32,
        };
        (place.length > 0).then_some(place)
    }

    fn to_bytes(self) -> [u8; PLACE] {
        let number =
            u128::from(self.sum) << 96 | u128::from(self.length) << 64 | u128::from(self.offset);
        number.to_le_bytes()
    }
}

impl Files {
    /// Opens the files for writing, or creates them. Completes or removes what a crash left of a compaction.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        recover(folder)?;
        let open = |name| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).open(folder.join(name))
        };
        Ok(Self { data: open("data")?, places: open("places")? })
    }

    /// Opens the files for reading, while another process may write or compact them.
    pub(crate) fn read_only(folder: &Path) -> io::Result<Self> {
        let open = || {
            let places = if is_half_renamed(folder) { "places.new" } else { "places" };
            Ok(Self {
                data: File::open(folder.join("data"))?,
                places: File::open(folder.join(places))?,
            })
        };
        // A compaction between the two would give files that do not belong together.
        let mut names = file_numbers(folder);
        for _ in 0..TRIES {
            let files: io::Result<Self> = open();
            let now = file_numbers(folder);
            if now == names {
                return files;
            }
            names = now;
        }
        open()
    }

    /// Reads the frame of a document, if it has one.
    ///
    /// # Errors
    /// `InvalidData` for a damaged frame or one of another key.
    pub(crate) fn frame(&mut self, id: u64, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let Some(place) = self.place(id)? else { return Ok(None) };
        let frame = self.frame_at(place)?;
        if sum(key, &frame) != place.sum {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Some(frame))
    }

    fn frame_at(&mut self, place: Place) -> io::Result<Vec<u8>> {
        if place.length as usize > MAX_ENCODED {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.data.seek(SeekFrom::Start(place.offset))?;
        let mut frame = vec![0; place.length as usize];
        self.data.read_exact(&mut frame)?;
        Ok(frame)
    }

    fn place(&mut self, id: u64) -> io::Result<Option<Place>> {
        let mut bytes = [0; PLACE];
        self.places.seek(SeekFrom::Start(id * PLACE as u64))?;
        match self.places.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        Ok(Place::read(&bytes))
    }

    /// Drops the places of all documents from this number on. Their frames count as erased.
    pub(crate) fn keep_below(&mut self, next_id: u64) -> io::Result<()> {
        let end = next_id.saturating_mul(PLACE as u64);
        if self.places.metadata()?.len() <= end {
            return Ok(());
        }
        self.places.set_len(end)?;
        self.places.sync_data()
    }

    /// Appends frames and makes them durable.
    pub(crate) fn append(&mut self, pending: &Pending) -> io::Result<()> {
        // Appended after any incomplete frame of a crash.
        let mut offset = self.data.seek(SeekFrom::End(0))?;
        let frames: Vec<&[u8]> = pending.values().map(|(_, frame)| &frame[..]).collect();
        self.data.write_all(&frames.concat())?;
        self.data.sync_data()?;
        // Consecutive entries are written together.
        let mut run: (u64, Vec<u8>) = (0, Vec::new());
        for (id, (key, frame)) in pending {
            if run.0 + (run.1.len() / PLACE) as u64 != *id || run.1.is_empty() {
                self.put_places(&run)?;
                run = (*id, Vec::new());
            }
            let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
            run.1.extend(Place { offset, length, sum: sum(key, frame) }.to_bytes());
            offset += frame.len() as u64;
        }
        self.put_places(&run)?;
        self.places.sync_data()
    }

    fn put_places(&mut self, (first, places): &(u64, Vec<u8>)) -> io::Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        self.places.seek(SeekFrom::Start(first * PLACE as u64))?;
        self.places.write_all(places)
    }

    /// Overwrites the texts of documents with zeros, and makes that durable.
    pub(crate) fn erase(&mut self, ids: &[u64]) -> io::Result<()> {
        let mut erased = Vec::new();
        for id in ids {
            if let Some(place) = self.place(*id)? {
                self.put_places(&(*id, vec![0; PLACE]))?;
                erased.push(place);
            }
        }
        self.places.sync_data()?;
        let end = self.data.metadata()?.len();
        for place in erased {
            // A damaged place must not extend the file or reach other frames.
            let length = place.length as usize;
            if length > MAX_ENCODED || place.offset.saturating_add(length as u64) > end {
                continue;
            }
            self.data.seek(SeekFrom::Start(place.offset))?;
            self.data.write_all(&vec![0; length])?;
        }
        self.data.sync_data()
    }

    /// Calls `visit` with the number and the place of each document that has a text.
    fn each_place(
        &mut self,
        mut visit: impl FnMut(&mut Self, u64, Place) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut id = 0;
        let mut bytes = vec![0; PLACES * PLACE];
        loop {
            self.places.seek(SeekFrom::Start(id * PLACE as u64))?;
            let mut read = 0;
            while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
                match self.places.read(rest)? {
                    0 => break,
                    more => read += more,
                }
            }
            let (places, _) = bytes.get(..read).unwrap_or_default().as_chunks::<PLACE>();
            for place in places {
                if let Some(place) = Place::read(place) {
                    visit(self, id, place)?;
                }
                id += 1;
            }
            if read < bytes.len() {
                return Ok(());
            }
        }
    }

    /// Returns these files, compacted if a large part of `data` is erased. No other process may write them.
    ///
    /// # Complexity
    /// Linear in the number of documents; if it compacts, in the size of the texts, with memory for one text.
    pub(crate) fn compacted(mut self, folder: &Path) -> io::Result<Self> {
        let length = self.data.metadata()?.len();
        if length < LEAST_DATA {
            return Ok(self);
        }
        let mut used = 0u64;
        self.each_place(|_, _, place| {
            used = used.saturating_add(u64::from(place.length));
            Ok(())
        })?;
        if length.saturating_sub(used) <= length / ERASED_PART {
            return Ok(self);
        }
        self.copy(folder)?;
        std::fs::rename(folder.join("data.new"), folder.join("data"))?;
        sync_folder(folder)?;
        // Completes the compaction as after a crash.
        Self::open(folder)
    }

    /// Writes `data.new`, then `places.new`, and makes both durable. Frames that cannot be read are left out.
    fn copy(&mut self, folder: &Path) -> io::Result<()> {
        let mut data = BufWriter::new(File::create(folder.join("data.new"))?);
        let mut places = BufWriter::new(File::create(folder.join("places.new"))?);
        let (mut offset, mut next) = (0, 0);
        self.each_place(|files, id, place| {
            let Ok(frame) = files.frame_at(place) else { return Ok(()) };
            data.write_all(&frame)?;
            for _ in next..id {
                places.write_all(&[0; PLACE])?;
            }
            places.write_all(&Place { offset, ..place }.to_bytes())?;
            offset += frame.len() as u64;
            next = id + 1;
            Ok(())
        })?;
        data.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        places.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        sync_folder(folder)
    }
}

/// Returns what identifies the files behind the names, where the system can.
fn file_numbers(folder: &Path) -> [Option<u64>; 4] {
    ["data", "places", "data.new", "places.new"].map(|name| {
        let file = std::fs::metadata(folder.join(name)).ok()?;
        #[cfg(unix)]
        return Some(std::os::unix::fs::MetadataExt::ino(&file));
        #[cfg(not(unix))]
        return Some(u64::from(file.is_file()));
    })
}

/// Returns whether a compaction ended between its two renames.
fn is_half_renamed(folder: &Path) -> bool {
    folder.join("places.new").exists() && !folder.join("data.new").exists()
}

fn recover(folder: &Path) -> io::Result<()> {
    let [data, places] = ["data.new", "places.new"].map(|name| folder.join(name));
    if is_half_renamed(folder) {
        std::fs::rename(places, folder.join("places"))?;
        return sync_folder(folder);
    }
    // `places.new` first: alone it would count as complete.
    for copy in [places, data] {
        if copy.exists() {
            std::fs::remove_file(copy)?;
            sync_folder(folder)?;
        }
    }
    Ok(())
}

/// Makes new names in a folder durable, where the system can.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn sum(key: &[u8], frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(frame);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: u64 = 60;

    fn key(id: u64) -> Vec<u8> {
        format!("key {id}").into_bytes()
    }

    fn frame(id: u64) -> Vec<u8> {
        vec![u8::try_from(id).unwrap() + 1; 2000 + id as usize]
    }

    /// Returns files with texts of every second document, of which every fourth stays.
    fn erased(folder: &Path) -> Files {
        let mut files = Files::open(folder).unwrap();
        let ids = (0..2 * PAGES).step_by(2);
        let pending: Pending = ids.clone().map(|id| (id, (key(id), frame(id)))).collect();
        files.append(&pending).unwrap();
        let gone: Vec<u64> = ids.filter(|id| !stays(*id)).collect();
        files.erase(&gone).unwrap();
        files
    }

    fn stays(id: u64) -> bool {
        id.is_multiple_of(8)
    }

    #[track_caller]
    fn has_all(mut files: Files) {
        for id in 0..2 * PAGES + 9 {
            let found = files.frame(id, &key(id)).unwrap();
            assert_eq!(found, (id < 2 * PAGES && stays(id)).then(|| frame(id)), "{id}");
        }
    }

    #[test]
    fn erased_texts_are_compacted_and_the_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let files = erased(folder.path());
        let before = files.data.metadata().unwrap().len();
        let files = files.compacted(folder.path()).unwrap();
        let after = files.data.metadata().unwrap().len();
        assert_eq!(
            after,
            (0..2 * PAGES).filter(|id| stays(*id)).map(|id| frame(id).len() as u64).sum::<u64>()
        );
        assert!(after * 3 < before);
        has_all(files);
        has_all(Files::read_only(folder.path()).unwrap());
        // Nothing is erased now: the files stay as they are.
        let mut files = Files::open(folder.path()).unwrap().compacted(folder.path()).unwrap();
        files.append(&Pending::from([(500, (key(500), frame(5)))])).unwrap();
        assert_eq!(files.frame(500, &key(500)).unwrap(), Some(frame(5)));
    }

    #[test]
    fn a_crash_at_any_step_of_a_compaction_loses_no_text() {
        let names = ["data", "places", "data.new", "places.new"];
        // The steps of a compaction; a crash comes after each of them. A copy may be incomplete until both are synced.
        for step in 0..6 {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            let mut files = erased(folder.path());
            files.copy(folder.path()).unwrap();
            match step {
                0 => std::fs::remove_file(path("places.new")).unwrap(),
                1 => std::fs::write(path("data.new"), b"cut").unwrap(),
                2 => std::fs::write(path("places.new"), b"cut").unwrap(),
                3 => {}
                4 => std::fs::rename(path("data.new"), path("data")).unwrap(),
                _ => {
                    std::fs::rename(path("data.new"), path("data")).unwrap();
                    std::fs::rename(path("places.new"), path("places")).unwrap();
                }
            }
            has_all(Files::read_only(folder.path()).unwrap());
            has_all(Files::open(folder.path()).unwrap());
            assert_eq!(names.map(|name| path(name).exists()), [true, true, false, false], "{step}");
            has_all(Files::open(folder.path()).unwrap().compacted(folder.path()).unwrap());
        }
    }

    #[test]
    fn a_damaged_place_erases_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = erased(folder.path());
        let end = files.data.metadata().unwrap().len();
        for (offset, length) in [(end - 10, 20), (u64::MAX, 1), (0, u32::MAX)] {
            let place = Place { offset, length, sum: 0 };
            files.put_places(&(7, place.to_bytes().to_vec())).unwrap();
            files.erase(&[7]).unwrap();
            assert_eq!(files.data.metadata().unwrap().len(), end);
        }
        has_all(files);
    }
}
