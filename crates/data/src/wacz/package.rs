//! The ZIP file of a WACZ: stored entries with their digests, and datapackage.json about them.

use std::io::{Read, Seek, Write};
use std::path::Path;

use hapax_warc::format_time;
use serde::Serialize;
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::output::Output;
use crate::error::{Context, Result};

const VERSION: &str = "1.1.1";
/// Size in bytes from which an entry has 64-bit sizes (ZIP64).
const LARGE: u64 = 4_000_000_000;
const PIECE: usize = 1 << 16;

/// An entry, in datapackage.json.
#[derive(Debug, Serialize)]
struct Resource {
    name: String,
    path: String,
    hash: String,
    bytes: u64,
}

#[derive(Serialize)]
struct DataPackage<'a> {
    profile: &'static str,
    resources: &'a [Resource],
    title: &'a str,
    created: String,
    wacz_version: &'static str,
    software: &'static str,
}

/// A WACZ file that is being written.
pub(super) struct Package<'a, W: Write + Seek> {
    zip: ZipWriter<Output<W>>,
    /// The path of the file.
    to: &'a Path,
    resources: Vec<Resource>,
}

impl<'a, W: Write + Seek> Package<'a, W> {
    pub(super) fn new(out: W, to: &'a Path) -> Self {
        Self { zip: ZipWriter::new(Output::new(out)), to, resources: Vec::new() }
    }

    /// Adds an entry of at most `most` bytes with the content of `input`, and calls `progress` with the bytes so far.
    /// Returns its length.
    pub(super) fn add(
        &mut self,
        path: &str,
        most: u64,
        mut input: impl Read,
        mut progress: impl FnMut(u64),
    ) -> Result<u64> {
        self.begin(path, most)?;
        let (mut hash, mut bytes, mut piece) = (Sha256::new(), 0, vec![0; PIECE]);
        loop {
            let count = input.read(&mut piece).context(path)?;
            let piece = piece.get(..count).unwrap_or_default();
            if piece.is_empty() {
                break;
            }
            self.zip.write_all(piece).context(self.to.display())?;
            hash.update(piece);
            bytes += count as u64;
            progress(bytes);
        }
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let hash = named(&hash.finalize());
        self.resources.push(Resource { name, path: path.to_owned(), hash, bytes });
        Ok(bytes)
    }

    fn begin(&mut self, path: &str, most: u64) -> Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(most >= LARGE);
        self.zip.start_file(path, options).map_err(std::io::Error::from).context(self.to.display())
    }

    /// Writes datapackage.json and its digest, and ends the file.
    pub(super) fn finish(mut self, title: &str) -> Result<W> {
        let package = DataPackage {
            profile: "data-package",
            resources: &self.resources,
            title,
            created: format_time(std::time::SystemTime::now()),
            wacz_version: VERSION,
            software: concat!("hapax/", env!("CARGO_PKG_VERSION")),
        };
        let package = serde_json::to_vec_pretty(&package)?;
        let hash = named(&Sha256::digest(&package));
        let digest = serde_json::json!({"path": "datapackage.json", "hash": hash});
        let digest = serde_json::to_vec_pretty(&digest)?;
        for (path, content) in [("datapackage.json", package), ("datapackage-digest.json", digest)]
        {
            self.begin(path, content.len() as u64)?;
            self.zip.write_all(&content).context(self.to.display())?;
        }
        let out = self.zip.finish().map_err(std::io::Error::from).context(self.to.display())?;
        Ok(out.into_inner())
    }
}

fn named(digest: &[u8]) -> String {
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn each_entry_is_stored_and_has_its_digest_in_the_package() {
        let mut package = Package::new(Cursor::new(Vec::new()), Path::new("a.wacz"));
        let long = vec![7; 3 * PIECE + 5];
        package.add("archive/Pages.warc.gz", LARGE, long.as_slice(), |_| {}).unwrap();
        package.add("pages/pages.jsonl", 3, b"abc".as_slice(), |_| {}).unwrap();
        let file = package.finish("crawl-data").unwrap();
        let mut zip = zip::ZipArchive::new(file).unwrap();
        let mut read = |path: &str| {
            let mut entry = zip.by_name(path).unwrap();
            assert_eq!(entry.compression(), CompressionMethod::Stored);
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            content
        };
        let json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
        let package = read("datapackage.json");
        let digest = json(&read("datapackage-digest.json"));
        assert_eq!(digest["hash"], named(&Sha256::digest(&package)));
        let package = json(&package);
        assert_eq!(
            (&package["wacz_version"], &package["title"]),
            (&"1.1.1".into(), &"crawl-data".into())
        );
        let resources = package["resources"].as_array().unwrap();
        assert_eq!(resources.len(), 2);
        assert_eq!(resources[0]["name"], "pages.warc.gz");
        for resource in resources {
            let content = read(resource["path"].as_str().unwrap());
            assert_eq!(resource["hash"], named(&Sha256::digest(&content)));
            assert_eq!(resource["bytes"], content.len());
        }
        assert_eq!(read("archive/Pages.warc.gz"), long);
    }
}
