//! One object that an export continues after a kill.
//!
//! A small object beside it has the number of the unfinished upload, its durable chunks, and which page the next chunk
//! begins with. So the next export to the same object continues the upload, or removes it if its pages are others.

use std::collections::VecDeque;
use std::io::{self, Write};

use hapax_data::files::Destination;
use serde::{Deserialize, Serialize};

use super::client::SharedClient;
use super::limits::{MAX_NOTE, SAVE_CHUNKS};
use super::upload::Upload;
use crate::error::{Error, Result, StoreFault};

/// What is known of an unfinished upload.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Note {
    state: String,
    upload: String,
    /// The store's names of the durable chunks.
    chunks: Vec<String>,
    /// Pages read before the row in which the next chunk begins.
    read: u64,
    /// Bytes of that row that the durable chunks have.
    skip: u64,
}

/// The end of a chunk.
#[derive(Debug)]
struct Mark {
    chunks: usize,
    read: u64,
    skip: u64,
}

/// A new object, which appears whole when it is finished.
#[derive(Debug)]
pub(crate) struct Object {
    upload: Upload,
    client: SharedClient,
    /// The key of the note, unless the object is not continued.
    key: Option<String>,
    note: Note,
    read_before: u64,
    /// Bytes that the caller writes again.
    skip: u64,
    /// Pages read before the row, and bytes of the object before it.
    row: (u64, u64),
    marks: VecDeque<Mark>,
    fault: Option<StoreFault>,
}

impl Object {
    /// Continues the upload that an interrupted export with this state left, or begins a new one. Without a state it is
    /// never continued.
    pub(crate) fn open(client: &SharedClient, key: &str, state: Option<&str>) -> Result<Self> {
        let (mut note, mut note_key) = (Note::default(), None);
        let mut found = None;
        if let Some(state) = state {
            state.clone_into(&mut note.state);
            let own = note_key_of(key);
            found = read_note(client, &own)?;
            if let Some(other) = found.take_if(|found| !is_alive(client, key, found, state)) {
                client.abort(key, &other.upload, Vec::new())?;
            }
            note_key = Some(own);
        }
        let upload = match &found {
            Some(found) => Upload::resume(client, key, &found.upload, &found.chunks),
            None => Upload::begin(client, key)?,
        };
        let is_new = found.is_none();
        let note = found.unwrap_or_else(|| Note { upload: upload.id().to_owned(), ..note });
        let mut object = Self {
            client: SharedClient::clone(client),
            key: note_key,
            read_before: note.read,
            skip: note.skip,
            row: (note.read, upload.bytes().saturating_sub(note.skip)),
            upload,
            note,
            marks: VecDeque::new(),
            fault: None,
        };
        if is_new {
            match object.write_note() {
                // Credentials that can write this object alone.
                Err(Error::Store { fault: StoreFault::Refused, .. }) => object.key = None,
                written => written?,
            }
        }
        Ok(object)
    }

    fn write_note(&self) -> Result<()> {
        let Some(key) = &self.key else { return Ok(()) };
        let content = serde_json::to_vec(&self.note);
        let content = content
            .map_err(|error| self.client.fault(key, StoreFault::Setting, &error.to_string()));
        self.client.put(key, content?)
    }

    /// Records the last durable chunk, if there are enough new ones.
    fn save(&mut self) -> Result<()> {
        let sent = self.upload.sent();
        while self.marks.get(1).is_some_and(|next| next.chunks <= sent.len()) {
            self.marks.pop_front();
        }
        let durable = self.note.chunks.len();
        let is_due =
            |mark: &Mark| mark.chunks <= sent.len() && mark.chunks >= durable + SAVE_CHUNKS;
        let Some(mark) = self.marks.pop_front_if(|mark| is_due(mark)) else { return Ok(()) };
        let names = sent.iter().take(mark.chunks).map(|chunk| chunk.content_id.clone());
        self.note.chunks = names.collect();
        (self.note.read, self.note.skip) = (mark.read, mark.skip);
        self.write_note()
    }

    fn add(&mut self, bytes: &[u8]) -> Result<usize> {
        let written = self.upload.write(bytes).map_err(|error| match error.downcast() {
            Ok(error) => error,
            Err(error) => self.client.fault("", StoreFault::Answer, &error.to_string()),
        })?;
        if self.upload.is_between_chunks() {
            let skip = self.upload.bytes().saturating_sub(self.row.1);
            let chunks = self.upload.chunks();
            self.marks.push_back(Mark { chunks, read: self.row.0, skip });
            self.save()?;
        }
        Ok(written)
    }

    fn complete(&mut self) -> Result<()> {
        self.upload.complete()?;
        match self.key.take().map(|key| self.client.remove(&key)) {
            // The object is complete. The next export finds that the upload is gone.
            None | Some(Err(Error::Store { fault: StoreFault::Refused, .. })) => Ok(()),
            Some(removed) => removed,
        }
    }

    fn noted<T>(&mut self, result: Result<T>) -> hapax_data::Result<T> {
        if let Err(Error::Store { fault, .. }) = &result {
            self.fault = Some(*fault);
        }
        Ok(result?)
    }
}

impl Write for Object {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.skip > 0 {
            let skipped = bytes.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
            self.skip -= skipped as u64;
            return Ok(skipped);
        }
        let written = self.add(bytes);
        self.noted(written).map_err(io::Error::other)
    }

    /// Does nothing: a chunk must be full.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Destination for Object {
    fn read_before(&self) -> u64 {
        self.read_before
    }

    fn begin_row(&mut self, read: u64) -> hapax_data::Result<()> {
        // The heading belongs to the first row.
        if read > self.row.0 {
            self.row = (read, self.upload.bytes());
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> hapax_data::Result<()> {
        let completed = self.complete();
        self.noted(completed)
    }
}

/// What was sent stays if the export was stopped or the store was lost, and a later one can continue.
impl Drop for Object {
    fn drop(&mut self) {
        let is_resumable = matches!(self.fault, Some(StoreFault::Lost | StoreFault::Stopped));
        if self.key.is_some() && is_resumable && !self.note.chunks.is_empty() {
            self.upload.leave();
        } else if self.upload.abandon().is_ok()
            && let Some(key) = &self.key
        {
            // If the upload stays, the note names it to the next export.
            let _ = self.client.remove_at_end(key);
        }
    }
}

/// `a/b/pages.jsonl` has its note at `a/b/_pages.jsonl.export.json`: readers of a folder ignore such names.
fn note_key_of(key: &str) -> String {
    let (folder, name) = key.rsplit_once('/').map_or(("", key), |(folder, name)| (folder, name));
    let slash = if folder.is_empty() { "" } else { "/" };
    format!("{folder}{slash}_{name}.export.json")
}

/// A store that hides whether an object exists from these credentials is one without a note.
fn read_note(client: &SharedClient, key: &str) -> Result<Option<Note>> {
    match client.get(key, MAX_NOTE) {
        Err(Error::Store { fault: StoreFault::Refused, .. }) => Ok(None),
        found => Ok(found?.and_then(|text| serde_json::from_slice(&text).ok())),
    }
}

/// Returns whether the upload of a note can be continued: its pages are the same, and the store still has it.
fn is_alive(client: &SharedClient, key: &str, note: &Note, state: &str) -> bool {
    note.state == state
        && note.chunks.len() < client.pace.max_chunks
        && client.has_upload(key, &note.upload, note.chunks.len())
}
