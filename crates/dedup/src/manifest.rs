//! The small file that says what a store is: format version, recipe, checksum.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::error::{Error, Result};
use crate::journal::{VERSION, sync_parent};

const NAME: &str = "MANIFEST";
/// A recipe's name is far shorter; anything larger is no manifest.
const MAX_BYTES: u64 = 4096;

/// Reads the manifest in `folder`, or writes one for `recipe` if there is none.
pub(crate) fn check_or_create(folder: &Path, recipe: &str) -> Result<()> {
    let path = folder.join(NAME);
    match fs::metadata(&path) {
        Ok(meta) if meta.len() > MAX_BYTES => {
            return Err(Error::Corrupt { path, offset: 0, what: "too long for a manifest" });
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return write(folder, &path, recipe);
        }
        Err(source) => return Err(Error::Io { path, source }),
    }
    let bytes = fs::read(&path).map_err(Error::io(&path))?;
    let corrupt = |what| Error::Corrupt { path: path.clone(), offset: 0, what };
    let text = String::from_utf8(bytes).map_err(|_| corrupt("no text"))?;
    let (body, crc) = text
        .trim_end_matches('\n')
        .rsplit_once("\ncrc32 ")
        .ok_or_else(|| corrupt("no checksum line"))?;
    if u32::from_str_radix(crc, 16) != Ok(crc32fast::hash(body.as_bytes())) {
        return Err(corrupt("does not match its checksum"));
    }
    let mut lines = body.lines();
    let got = lines.next().and_then(|line| line.strip_prefix("hapax-dedup ")?.parse().ok());
    match got {
        Some(VERSION) => {}
        Some(got) => return Err(Error::Version { path, expected: VERSION, got }),
        None => return Err(corrupt("no version line")),
    }
    let stored = lines.next().and_then(|line| line.strip_prefix("recipe "));
    let stored = stored.ok_or_else(|| corrupt("no recipe line"))?;
    if stored != recipe {
        return Err(Error::Recipe { stored: stored.to_owned(), asked: recipe.to_owned() });
    }
    Ok(())
}

fn write(folder: &Path, path: &Path, recipe: &str) -> Result<()> {
    let body = format!("hapax-dedup {VERSION}\nrecipe {recipe}");
    let text = format!("{body}\ncrc32 {:08x}\n", crc32fast::hash(body.as_bytes()));
    let tmp = folder.join("MANIFEST.tmp");
    let mut file = File::create(&tmp).map_err(Error::io(&tmp))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(Error::io(&tmp))?;
    fs::rename(&tmp, path).map_err(Error::io(path))?;
    sync_parent(path)
}
