//! The records of forgotten pages in the archive (`forget --purge`): finds them, and overwrites them.

use std::collections::HashSet;
use std::path::Path;
use std::time::SystemTime;

use hapax_page::HASH;
use hapax_url::host_key;
use hapax_warc::{Member, overwrite};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::archived::MAX_RECORD;
use crate::decisions::{Decisions, Forgotten};
use crate::error::{Context, Result};
use crate::texts::Texts;
use crate::wacz::{ArchiveFile, archive_end, files_to, remove_cdxj_of};

/// Maximum number of URLs in [`Purged::shared`].
const SHOWN: usize = 20;
const IDENTICAL: &str = "revisit/identical-payload-digest";

/// Counts of records that are overwritten.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purged {
    /// Records: responses, revisits, requests and metadata.
    pub records: u64,
    /// Their compressed size in bytes.
    pub bytes: u64,
    /// WARC files that contain them.
    pub files: u64,
    /// Responses that stay, because the archive has the body of another page only there.
    pub shared: u64,
    /// URLs of the first of these.
    pub shared_urls: Vec<String>,
}

/// The places of records that are overwritten.
#[derive(Debug, Default)]
pub struct PurgePlan {
    files: Vec<(ArchiveFile, Vec<(u64, u64)>)>,
    counts: Purged,
}

/// A record of a purged page.
#[derive(Debug)]
struct Found {
    place: (usize, u64),
    length: u64,
    /// Hash of its id; of a record beside a response, of the id of that.
    of: u64,
    /// Hash of the payload digest of a response.
    payload: Option<u64>,
}

impl PurgePlan {
    /// Finds the records of a page or host, and of all pages and hosts that were purged before: a record that stayed for
    /// another page may go when that page is purged too. `end` is the last file of the archive and its length; without it,
    /// those of the last commit.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) if a record cannot be read; otherwise from the file system.
    ///
    /// # Complexity
    /// Reads the archive and the stored pages of the index once. Memory: about 100 bytes for each record found, and 16
    /// bytes for each kept page and revisit.
    pub fn of(
        data: &Path,
        url_or_host: &str,
        decisions: &Decisions,
        end: Option<(u32, u64)>,
    ) -> Result<Self> {
        let named = Forgotten::of(url_or_host);
        let wanted = |url: &str| {
            let host = Url::parse(url).ok().map(|url| host_key(&url)).unwrap_or_default();
            named.holds(url, &host) || decisions.purged(url, &host)
        };
        let needed = Texts::open(data)?.places_of(|url| !wanted(url))?;
        let end = end.map_or_else(|| archive_end(data), |end| Ok(Some(end)))?;
        let files = match end {
            Some((0, _)) | None => Vec::new(),
            end => files_to(&data.join("pages"), end)?,
        };
        let (mut found, mut revisited) = (Vec::new(), HashSet::new());
        for (index, file) in files.iter().enumerate() {
            file.each_member(|member| {
                let record = &member.record;
                let header = |name: &str| record.header(name).unwrap_or_default();
                if wanted(header("warc-target-uri")) {
                    found.push(Found::of(&member, index));
                } else if header("warc-profile").ends_with(IDENTICAL)
                    && wanted(header("warc-refers-to-target-uri"))
                {
                    revisited.insert(hash(header("warc-payload-digest")));
                }
                Ok(true)
            })?;
        }
        let stays: HashSet<u64> = found
            .iter()
            .filter(|found| {
                let (file, offset) = found.place;
                let is_revisited = |payload| revisited.contains(&payload);
                found.payload.is_some_and(is_revisited)
                    || files.get(file).is_some_and(|file| needed.contains(&(file.number, offset)))
            })
            .map(|found| found.of)
            .collect();
        let mut plan = Self::default();
        let mut places: Vec<Vec<(u64, u64)>> = vec![Vec::new(); files.len()];
        for found in found {
            let (file, offset) = found.place;
            if stays.contains(&found.of) {
                plan.stays(&found, files.get(file))?;
            } else if let Some(places) = places.get_mut(file) {
                places.push((offset, found.length));
                plan.counts.records += 1;
                plan.counts.bytes += found.length;
            }
        }
        plan.files = files.into_iter().zip(places).filter(|(_, p)| !p.is_empty()).collect();
        plan.counts.files = plan.files.len() as u64;
        Ok(plan)
    }

    fn stays(&mut self, found: &Found, file: Option<&ArchiveFile>) -> Result<()> {
        if found.payload.is_none() {
            return Ok(());
        }
        self.counts.shared += 1;
        if let Some(file) = file.filter(|_| self.counts.shared_urls.len() < SHOWN) {
            let (number, offset) = (file.number, found.place.1);
            let folder = file.path.parent().unwrap_or(&file.path);
            let record = hapax_warc::read_at(folder, number, offset, MAX_RECORD)
                .with_context(|| file.path.display().to_string())?;
            self.counts.shared_urls.extend(record.header("warc-target-uri").map(str::to_owned));
        }
        Ok(())
    }

    /// Returns the counts.
    pub const fn counts(&self) -> &Purged {
        &self.counts
    }

    /// Overwrites the records. No other place in the archive changes. A crash leaves each file as it was or complete;
    /// then a new plan has the other files. `archive` names the archive in the ids of the new records.
    ///
    /// # Errors
    /// From the file system.
    pub fn carry_out(&self, archive: &str, time: SystemTime) -> Result<()> {
        for (file, places) in &self.files {
            // The next crawl writes the index of the file again.
            remove_cdxj_of(&file.path)?;
            let number = file.name.trim_start_matches("pages-").trim_end_matches(".warc.gz");
            let prefix = format!("urn:hapax:{archive}:purged:{number}");
            overwrite(&file.path, file.length, places, &prefix, time)
                .with_context(|| file.path.display().to_string())?;
        }
        Ok(())
    }
}

impl Found {
    fn of(member: &Member, file: usize) -> Self {
        let header = |name: &str| member.record.header(name);
        let id = match header("warc-type") {
            Some("request") => header("warc-concurrent-to"),
            Some("metadata") => header("warc-refers-to"),
            _ => header("warc-record-id"),
        };
        let is_response = header("warc-type") == Some("response");
        Self {
            place: (file, member.offset),
            length: member.length,
            of: hash(id.unwrap_or_default()),
            payload: header("warc-payload-digest").filter(|_| is_response).map(hash),
        }
    }
}

fn hash(text: &str) -> u64 {
    HASH.hash(text.as_bytes())
}
