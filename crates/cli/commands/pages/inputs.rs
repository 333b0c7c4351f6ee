//! Inputs of `crawl pages`: files and folders from the command line, and files that JSON lines name.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Result;
use hapax_crawl::StoredPage;
use hapax_crawl::import::of_resource;
use url::Url;

use super::line::Line;
use hapax_crawl::import::{Place, Source};
use hapax_data::files::{Root, is_of_system};
use hapax_data::inputs::{
    Item, MAX_LINE, StoredKind, as_it_lies, head_and_whole, open_named, read_line, read_named,
    stored_kind, unpacked, within,
};

impl Line {
    /// Reads a named path, whatever its extension; otherwise reports that it is not a page.
    pub(super) fn path(&mut self, path: &Path) -> Result<()> {
        if path == Path::new("-") {
            let lines = open_named(path, &self.interrupted);
            return match lines.and_then(|lines| unpacked(BufReader::new(lines))) {
                Ok(mut lines) => self.jsonl(&mut *lines, Path::new("stdin"), None),
                Err(error) => self.unreadable(Path::new("stdin"), &error),
            };
        }
        if !path.is_dir() {
            return self.file(&Place::Named(path.to_owned()));
        }
        match Root::open(path) {
            Ok(root) => self.folder(&Arc::new(root), Path::new(""), path),
            Err(error) => self.unreadable(path, &error),
        }
    }

    /// Reads only the pages in a folder, not scripts, styles and pictures. Links and pipes are ignored: a link may
    /// lead elsewhere, and a pipe may never end.
    fn folder(&mut self, root: &Arc<Root>, relative: &Path, path: &Path) -> Result<()> {
        let mut entries: Vec<std::fs::DirEntry> = match std::fs::read_dir(path) {
            Ok(entries) => entries.flatten().collect(),
            Err(error) => return self.unreadable(path, &error),
        };
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            if self.offline.is_stopped() {
                return Ok(());
            }
            let (relative, path) = (relative.join(entry.file_name()), entry.path());
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(error) => {
                    self.unreadable(&path, &error)?;
                    continue;
                }
            };
            if kind.is_dir() {
                self.folder(root, &relative, &path)?;
            } else if kind.is_file() {
                let place = Place::Below { root: Arc::clone(root), relative, path };
                self.found(&place)?;
            } else {
                self.links += 1;
            }
        }
        Ok(())
    }

    /// Reads a file found in a folder.
    fn found(&mut self, place: &Place) -> Result<()> {
        match place.open().and_then(head_and_whole) {
            Ok((head, _)) if stored_kind(place.path(), &head).is_among_pages() => self.file(place),
            Ok(_) => {
                self.left_out += 1;
                Ok(())
            }
            Err(error) => self.unreadable(place.path(), &error),
        }
    }

    fn file(&mut self, place: &Place) -> Result<()> {
        let path = place.path();
        let input: io::Result<Box<dyn Read>> = match place {
            Place::Named(path) => open_named(path, &self.interrupted),
            Place::Below { .. } => place.open().map(|file| Box::new(file) as Box<dyn Read>),
        };
        let (head, whole) = match input.and_then(head_and_whole) {
            Ok(found) => found,
            Err(error) => return self.unreadable(path, &error),
        };
        let content_type = match stored_kind(path, &head) {
            StoredKind::Warc if place.is_file() => {
                return self.warc(path, Source::File(place.clone()));
            }
            StoredKind::Warc => {
                return match as_it_lies(whole) {
                    Ok(bytes) => self.warc(path, Source::Piped(bytes.into())),
                    Err(error) => self.unreadable(path, &error),
                };
            }
            StoredKind::Lines => {
                return match unpacked(BufReader::new(whole)) {
                    Ok(mut lines) => self.jsonl(&mut *lines, path, folder_of(place)),
                    Err(error) => self.unreadable(path, &error),
                };
            }
            StoredKind::Nothing => return self.report(path, "neither HTML, text, JSONL nor WARC"),
            StoredKind::Page(content_type) | StoredKind::Text(content_type) => content_type,
        };
        let body = match within(whole) {
            Ok(body) => body,
            Err(error) => return self.unreadable(path, &error),
        };
        let url = std::path::absolute(path).ok().and_then(|path| Url::from_file_path(path).ok());
        let Some(url) = url else { return self.report(path, "no path") };
        let time = std::fs::metadata(path).and_then(|meta| meta.modified());
        let response = of_resource(&url, content_type, body);
        let time = time.unwrap_or_else(|_| SystemTime::now());
        self.add(StoredPage { url, response, time, title: None })
    }

    /// Reads JSON lines. They may name files below `--root`, or without it below `folder`.
    fn jsonl(
        &mut self,
        mut input: &mut dyn BufRead,
        name: &Path,
        folder: Option<Root>,
    ) -> Result<()> {
        let mut number = 0u64;
        loop {
            if self.offline.is_stopped() {
                return Ok(());
            }
            number += 1;
            let bytes = match read_line(&mut input, MAX_LINE) {
                Ok(None) => return Ok(()),
                Ok(Some(bytes)) => bytes,
                // Lines before the damage are used.
                Err(error) => return self.unreadable(name, &error),
            };
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let root = self.root.as_ref().or(folder.as_ref());
            let item = Item::parse_page(&bytes).and_then(|item| {
                let url = item.url.clone().unwrap_or_else(|| item.id.clone());
                let url = Url::parse(&url).map_err(|_| format!("{url:?} is not a URL"))?;
                let (kind, body) = item.body(|path| read_named(root, path))?;
                Ok((url, kind, body, item.title))
            });
            match item {
                Ok((url, kind, body, title)) => {
                    let response = of_resource(&url, &kind, body);
                    self.add(StoredPage { url, response, time: SystemTime::now(), title })?;
                }
                Err(what) => self.report(name, &format!("line {number}: {what}"))?,
            }
        }
    }
}

/// The folder of a JSONL file; a pipe has none.
fn folder_of(place: &Place) -> Option<Root> {
    let path = place.path();
    let folder = path.parent().filter(|_| place.is_file() && !is_of_system(path))?;
    Root::open(folder).ok()
}
