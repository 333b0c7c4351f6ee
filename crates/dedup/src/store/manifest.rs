//! The manifest: a small file that lists the files of a store and is replaced as a whole.

use std::io;

use super::file_names::{MAX_NUMBER, NEXT, Named};
use crate::dir::Directory;
use crate::error::{Error, Result};
use crate::limits::{OLDEST, VERSION};

pub(crate) const NAME: &str = "MANIFEST";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentLine {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// The first number, and one past the last.
    pub(crate) ids: (u64, u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) recipe: String,
    /// The first journal with changes that are in no segment.
    pub(crate) journal: u64,
    /// For a store that was closed: number and committed length of the last journal.
    pub(crate) closed: Option<(u64, u64)>,
    pub(crate) deleted: Option<String>,
    /// In the order of their documents.
    pub(crate) segments: Vec<SegmentLine>,
    /// The format version of the read file; [`VERSION`] is written.
    pub(crate) version: u32,
}

impl Manifest {
    pub(crate) fn new(recipe: &str) -> Self {
        Self {
            recipe: recipe.to_owned(),
            journal: 1,
            closed: None,
            deleted: None,
            segments: Vec::new(),
            version: VERSION,
        }
    }

    /// Replaces the file: write, sync, rename, sync of the folder.
    pub(crate) fn write(&self, dir: &dyn Directory) -> Result<()> {
        let mut body =
            format!("hapax-dedup {VERSION}\nrecipe {}\njournal {}", self.recipe, self.journal);
        if let Some((number, bytes)) = self.closed {
            body += &format!("\nclosed {number} {bytes}");
        }
        if let Some(name) = &self.deleted {
            body += &format!("\ndeleted {name}");
        }
        for SegmentLine { name, bytes, ids } in &self.segments {
            body += &format!("\nsegment {name} {bytes} {} {}", ids.0, ids.1);
        }
        let text = format!("{body}\ncrc32 {:08x}\n", crc32fast::hash(body.as_bytes()));
        let write = || -> io::Result<()> {
            let mut out = dir.create(NEXT)?;
            out.write(text.as_bytes())?;
            out.sync()?;
            drop(out);
            dir.rename(NEXT, NAME)?;
            dir.sync()
        };
        write().map_err(Error::io(&dir.path().join(NAME)))
    }

    /// Reads the file; `None` if it does not exist.
    pub(crate) fn read(dir: &dyn Directory) -> Result<Option<Self>> {
        let path = dir.path().join(NAME);
        let bytes = match dir.contents(NAME) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::Io { path, source }),
        };
        let corrupt = |what| Error::Corrupt { path: path.clone(), offset: 0, what };
        let text = std::str::from_utf8(&bytes).map_err(|_| corrupt("no text"))?;
        let (body, crc) = text
            .strip_suffix('\n')
            .and_then(|text| text.rsplit_once("\ncrc32 "))
            .ok_or_else(|| corrupt("no checksum line"))?;
        let plain = crc.len() == 8
            && !crc.contains(|c: char| !c.is_ascii_digit() && !('a'..='f').contains(&c));
        if !plain || u32::from_str_radix(crc, 16) != Ok(crc32fast::hash(body.as_bytes())) {
            return Err(corrupt("it does not match its checksum"));
        }
        let mut lines = body.lines();
        let got = lines.next().and_then(|line| line.strip_prefix("hapax-dedup ")?.parse().ok());
        let version = match got {
            Some(got) if (OLDEST..=VERSION).contains(&got) => got,
            Some(got) => return Err(Error::Version { path, expected: VERSION, got }),
            None => return Err(corrupt("no version line")),
        };
        let mut manifest = Self::lines(lines).ok_or_else(|| corrupt("a line makes no sense"))?;
        manifest.version = version;
        Ok(Some(manifest))
    }

    fn lines<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut manifest = Self::new(lines.next()?.strip_prefix("recipe ")?);
        let counter = |text: &str| text.parse().ok().filter(|number| *number <= MAX_NUMBER);
        manifest.journal = counter(lines.next()?.strip_prefix("journal ")?)?;
        for line in lines {
            let mut words = line.split(' ');
            let kind = words.next()?;
            let word = words.next()?;
            let mut number = || words.next()?.parse::<u64>().ok();
            match kind {
                "closed" => manifest.closed = Some((counter(word)?, number()?)),
                // Only names that this crate writes, so no path leads out of the folder.
                "deleted" if matches!(Named::of(word), Some(Named::Deleted(_))) => {
                    manifest.deleted = Some(word.to_owned());
                }
                "segment" if matches!(Named::of(word), Some(Named::Segment(_))) => {
                    manifest.segments.push(SegmentLine {
                        name: word.to_owned(),
                        bytes: number()?,
                        ids: (number()?, number()?),
                    })
                }
                _ => return None,
            }
        }
        Some(manifest)
    }
}
