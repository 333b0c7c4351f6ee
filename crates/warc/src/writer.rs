use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::head::{Head, known_fields};
use crate::location::{Location, file_name};
use crate::member::{Deflater, Part, put_member};
use crate::packed::{Block, Packed};
use crate::reader::payload_digest_at;
use crate::time::format_time;
use hapax_fetch::Response;

/// The WARC-Profile of revisit records of near-duplicates, whose block is the whole response. Earlier versions wrote
/// them; now such a page is a response record with [`NEAR_DUPLICATE_FIELD`].
pub const NEAR_DUPLICATE_PROFILE: &str = "urn:hapax:warc-profile:near-duplicate:1.0";
/// The field of a response record whose page is a near-duplicate. WARC-Refers-To and WARC-Refers-To-Target-URI name
/// the kept page; the value is the similarity.
pub const NEAR_DUPLICATE_FIELD: &str = "WARC-Near-Duplicate";
const UNCHANGED_PROFILE: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
const IDENTICAL_PROFILE: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

const CONFORMS_TO: &str =
    "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/";

/// Options of a [`Writer`].
#[derive(Clone, Debug)]
pub struct WarcOptions {
    /// Size after which a new file is begun, in bytes. Default 1 GiB.
    pub max_file_bytes: u64,
    /// Deflate level. Default 1: higher ones cost a core and save a few percent.
    pub level: u32,
    /// The software that wrote the file, for its warcinfo record.
    pub software: String,
    /// A unique name of the archive: part of the ids of its warcinfo records.
    pub archive: String,
}

impl Default for WarcOptions {
    fn default() -> Self {
        Self { max_file_bytes: 1 << 30, level: 1, software: "hapax".into(), archive: "0".into() }
    }
}

/// The page that a duplicate's record refers to.
#[derive(Clone, Debug)]
pub struct RefersTo {
    /// Its WARC-Record-ID.
    pub record: String,
    /// Its URL.
    pub url: String,
    /// Time of its fetch, if known.
    pub date: Option<String>,
    /// The similarity of the two pages: the value of [`NEAR_DUPLICATE_FIELD`].
    pub evidence: String,
}

/// How a response is recorded.
#[derive(Clone, Debug)]
pub enum RecordKind {
    /// The response itself.
    Response,
    /// A page with the same text as the page recorded at this location. If the payload digests are equal, it is a
    /// revisit record without a body, otherwise as [`NearDuplicate`](Self::NearDuplicate).
    SameText(RefersTo, Location),
    /// A page that nearly equals the other one: a response record with its whole head and body.
    NearDuplicate(RefersTo),
    /// The server answered 304: the earlier response is still valid.
    Unchanged(RefersTo),
}

/// Appends records to numbered files. Each record is a separate gzip member.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
    options: WarcOptions,
    number: u32,
    file: File,
    length: u64,
    deflater: Deflater,
    /// Records of one page, until they are written.
    out: Vec<u8>,
}

/// Bytes of the buffer that are kept for the next page.
const MAX_KEPT: usize = 1 << 20;

impl Writer {
    /// Opens file `number` in `folder` at `length` bytes. Bytes behind it were never acknowledged and are cut off;
    /// later files are removed.
    ///
    /// # Errors
    /// From the file system; [`io::ErrorKind::InvalidData`] if the file is shorter: then nothing is changed.
    pub fn open(folder: &Path, number: u32, length: u64, options: WarcOptions) -> io::Result<Self> {
        has_all(&folder.join(file_name(number)), length)?;
        std::fs::create_dir_all(folder)?;
        let mut later = number + 1;
        while folder.join(file_name(later)).exists() {
            std::fs::remove_file(folder.join(file_name(later)))?;
            later += 1;
        }
        let file = open(folder, number)?;
        file.set_len(length)?;
        let deflater = Deflater::new(options.level);
        let folder = folder.to_owned();
        let mut writer = Self { folder, options, number, file, length, deflater, out: Vec::new() };
        writer.file.seek(SeekFrom::Start(length))?;
        if length == 0 {
            writer.info()?;
        }
        Ok(writer)
    }

    /// Appends a response as `kind`, fetched at `time`, under the record id `id`. Its request, if known, and
    /// non-empty `metadata` (name and value) follow.
    ///
    /// # Errors
    /// From the file system. After an error the writer must be opened again.
    pub fn append(
        &mut self,
        kind: &RecordKind,
        response: &Response,
        time: SystemTime,
        id: &str,
        metadata: &[(&str, String)],
    ) -> io::Result<Location> {
        let packed = Packed::of(&mut self.deflater, response, time, metadata)?;
        self.append_packed(kind, response, &packed, time, id)
    }

    /// Does the same with a response that a [`Packer`](crate::Packer) has compressed, which is most of the work.
    ///
    /// # Errors
    /// From the file system. After an error the writer must be opened again.
    pub fn append_packed(
        &mut self,
        kind: &RecordKind,
        response: &Response,
        packed: &Packed,
        time: SystemTime,
        id: &str,
    ) -> io::Result<Location> {
        if self.length >= self.options.max_file_bytes {
            self.rotate()?;
        }
        let location = Location { file: self.number, offset: self.length };
        match kind {
            RecordKind::Response => {
                let start = Part::stored(&Head::of("response", &format!("<{id}>")).0);
                put_member([&start, &packed.fields, &packed.whole.part].into_iter(), &mut self.out);
            }
            RecordKind::SameText(refers, place) if self.holds(place, &packed.payload_digest) => {
                let digest = Some(packed.payload_digest.as_str());
                let fields = known_fields(response, time, &packed.head.digest, digest);
                self.revisit(IDENTICAL_PROFILE, id, refers, &fields, &packed.head)?;
            }
            RecordKind::SameText(refers, _) | RecordKind::NearDuplicate(refers) => {
                let mut head = Head::of("response", &format!("<{id}>"));
                head.refer_to(&refers.record, &refers.url);
                head.field(NEAR_DUPLICATE_FIELD, &refers.evidence);
                let start = Part::stored(&head.0);
                put_member([&start, &packed.fields, &packed.whole.part].into_iter(), &mut self.out);
            }
            RecordKind::Unchanged(refers) => {
                // A 304 has no payload: readers would take a digest of nothing for that of the page.
                let fields = known_fields(response, time, &packed.head.digest, None);
                self.revisit(UNCHANGED_PROFILE, id, refers, &fields, &packed.head)?;
            }
        }
        for (warc_type, refers, packed) in [
            ("request", "WARC-Concurrent-To", &packed.request),
            ("metadata", "WARC-Refers-To", &packed.metadata),
        ] {
            if let Some(packed) = packed {
                let mut head = Head::of(warc_type, &format!("<{id}:{warc_type}>"));
                head.field(refers, &format!("<{id}>"));
                let start = Part::stored(&head.0);
                put_member([&start, &packed.fields, &packed.block].into_iter(), &mut self.out);
            }
        }
        self.write()?;
        Ok(location)
    }

    /// Appends a revisit record, whose block is the head of a response.
    fn revisit(
        &mut self,
        profile: &str,
        id: &str,
        refers: &RefersTo,
        fields: &Head,
        block: &Block,
    ) -> io::Result<()> {
        let mut head = Head::of("revisit", &format!("<{id}>"));
        head.field("WARC-Profile", profile);
        head.refer_to(&refers.record, &refers.url);
        if let Some(date) = &refers.date {
            head.field("WARC-Refers-To-Date", date);
        }
        head.extend(fields);
        self.put(head, &block.part)
    }

    /// Returns whether the response at a place has this payload digest; `false` if the file is gone.
    fn holds(&self, place: &Location, digest: &str) -> bool {
        payload_digest_at(&self.folder, place).is_ok_and(|there| there.as_deref() == Some(digest))
    }

    /// Makes all records durable. Returns the number and length of the last file.
    ///
    /// # Errors
    /// From the file system.
    pub fn sync(&mut self) -> io::Result<(u32, u64)> {
        self.file.sync_data()?;
        Ok((self.number, self.length))
    }

    /// Opens the file again after [`overwrite`](crate::overwrite) has replaced it.
    ///
    /// # Errors
    /// From the file system; [`io::ErrorKind::InvalidData`] if the file is shorter than before.
    pub fn reopen(&mut self) -> io::Result<()> {
        has_all(&self.folder.join(file_name(self.number)), self.length)?;
        self.file = open(&self.folder, self.number)?;
        self.file.seek(SeekFrom::Start(self.length)).map(|_| ())
    }

    fn info(&mut self) -> io::Result<()> {
        let mut block = Head::default();
        block.field("software", &self.options.software);
        block.field("format", "WARC File Format 1.1");
        block.field("conformsTo", CONFORMS_TO);
        let id = format!("<urn:hapax:{}:warcinfo:{}>", self.options.archive, self.number);
        let mut head = Head::of("warcinfo", &id);
        head.field("WARC-Date", &format_time(SystemTime::now()));
        head.field("WARC-Filename", &file_name(self.number));
        head.field("Content-Type", "application/warc-fields");
        let block = self.deflater.part(&[&block.0])?;
        self.put(head, &block)?;
        self.write()
    }

    fn put(&mut self, head: Head, block: &Part) -> io::Result<()> {
        let head = self.deflater.part(&[&head.before(block.length())])?;
        put_member([&head, block].into_iter(), &mut self.out);
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.out);
        match &written {
            Ok(()) => self.length += self.out.len() as u64,
            Err(_) => {
                // A full disk may have stored a part of it.
                self.file.set_len(self.length)?;
                self.file.seek(SeekFrom::Start(self.length))?;
            }
        }
        self.out.clear();
        self.out.shrink_to(MAX_KEPT);
        written
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        let file = open(&self.folder, self.number + 1)?;
        file.set_len(0)?;
        self.file = file;
        self.number += 1;
        self.length = 0;
        self.info()
    }
}

/// Returns an error if the file is shorter than `length`: to extend it would hide the loss of records.
fn has_all(path: &Path, length: u64) -> io::Result<()> {
    let found = match std::fs::metadata(path) {
        Ok(meta) => meta.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    if found >= length {
        return Ok(());
    }
    let what = format!(
        "{}: has {found} of {length} committed bytes: it was truncated or replaced. Restore the file, or \
         start in a new folder",
        path.display()
    );
    Err(io::Error::new(io::ErrorKind::InvalidData, what))
}

fn open(folder: &Path, number: u32) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(folder.join(file_name(number)))?;
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(file)
}
