//! References (`--against`): stores of other crawls, corpora or test sets, in which pages are looked up. They are only
//! read. A reference that a running crawl writes is used as of its last commit before it was opened.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hapax_dedup::{Document, Neighbour, Policy, Store};
use hapax_extract::Recipe;
use hapax_page::comparison::Compared;

use crate::comparison::{Comparison, Findings};
use crate::digests::{Digests, Extent, matches};
use crate::error::{Context, Error, Result, unreadable};
use crate::lines::ComparedTexts;
use crate::positions::digests_of;
use crate::tables::{MANIFEST, read_folder, url_of_key};
use hapax_page::texts::TextStore;

/// Prefixes of a store's files except its manifest.
const FILES: [&str; 2] = ["journal-", "seg-"];

/// Read-only stores, in the order in which they were given.
#[derive(Debug, Default)]
pub struct References {
    all: Vec<Reference>,
    marks: bool,
}

/// One read-only store, with its texts if it has any.
#[derive(Debug)]
pub struct Reference {
    name: String,
    folder: PathBuf,
    store: Store,
    recipe: String,
    has_former: bool,
    texts: TextStore,
}

/// A document of a reference that a page duplicates.
#[derive(Clone, Debug)]
pub struct InReference {
    /// The path of the reference, as it was given.
    pub store: String,
    /// The document's URL, or its id if it has none.
    pub url: String,
    /// The evidence; its number is one of the reference.
    pub near: Neighbour,
    /// The result of comparing the texts, if the reference has the text.
    pub compared: Option<ComparedTexts>,
    /// The document's text.
    pub text: Option<Arc<Compared>>,
}

impl InReference {
    /// Returns the paths of the references that have a page.
    pub fn stores(found: &[Self]) -> Vec<String> {
        found.iter().map(|found| found.store.clone()).collect()
    }
}

/// A page to look up.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'p> {
    /// Its features.
    pub document: &'p Document<'p>,
    /// The digest of its text as versions before 0.2 made it.
    pub former: Option<[u8; 16]>,
    /// Its text.
    pub text: &'p Compared,
}

impl References {
    /// Opens the stores at these paths: data directories, or the `dedup/` of one. A repeated store is opened once.
    /// With `marks`, all of them are searched for a page, otherwise only until one has it.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no store, or one of another format; [`Error::Damaged`] with the file.
    pub fn open(paths: &[PathBuf], policy: Policy, marks: bool) -> Result<Self> {
        let mut all: Vec<Reference> = Vec::new();
        for path in paths {
            let reference = Reference::open(path, policy)?;
            if all.iter().all(|other| other.folder != reference.folder) {
                all.push(reference);
            }
        }
        Ok(Self { all, marks })
    }

    /// Returns whether no reference was given.
    pub const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns whether a page that a reference has is kept and marked, not discarded.
    pub const fn marks(&self) -> bool {
        self.marks
    }

    /// Checks that all of them can be compared with a store in `own` that has this recipe.
    ///
    /// # Errors
    /// [`Error::Invalid`] if one has another recipe, or is that store.
    pub fn must_fit(&self, recipe: Recipe, own: &Path) -> Result<()> {
        let own = std::fs::canonicalize(own).unwrap_or_else(|_| own.to_owned());
        for reference in &self.all {
            let name = &reference.name;
            if reference.folder == own {
                let what = "this is the data directory of the job itself. Leave it out";
                return Err(Error::Invalid(format!("--against {name}: {what}")));
            }
            if reference.recipe != recipe.name() {
                return Err(Error::Invalid(reference.other_recipe(recipe)));
            }
        }
        Ok(())
    }

    /// Returns the documents that a page duplicates: the best one of each store, in the order of the stores. Documents
    /// for which `is_distinct` returns true, by their URL, are left out.
    ///
    /// # Errors
    /// [`Error::Damaged`] with the file.
    ///
    /// # Complexity
    /// For each store one look-up, and at most [`MAX_COMPARED`](hapax_dedup::MAX_COMPARED) comparisons of texts
    /// (more with `is_distinct`).
    pub fn find(
        &self,
        page: Wanted<'_>,
        is_distinct: Option<&dyn Fn(&str) -> bool>,
    ) -> Result<Vec<InReference>> {
        let mut found = Vec::new();
        for reference in &self.all {
            found.extend(reference.find(page, is_distinct)?);
            if !self.marks && !found.is_empty() {
                break;
            }
        }
        Ok(found)
    }
}

impl Reference {
    /// Opens a store for reading.
    ///
    /// # Errors
    /// As [`References::open`].
    pub fn open(path: &Path, policy: Policy) -> Result<Self> {
        let name = path.display().to_string();
        let folder = folder_of(path)?;
        let opened = read_folder(&folder, policy, Recipe::default().name());
        let (store, recipe) = match opened.map_err(|error| explained(&name, error))? {
            Some(opened) => opened,
            // It was removed in this moment.
            None => return Err(no_store(path)),
        };
        // A store of another program has another payload. Its recipe differs too, and is refused later.
        let has_former = digests_of(&store.payload()).map_or(true, Digests::has_former);
        let texts = match folder.parent().filter(|_| folder.ends_with("dedup")) {
            Some(data) => data.join("texts"),
            // A copy of a store alone: what is beside it belongs to something else.
            None => folder.join("texts"),
        };
        readable_texts(&name, &texts)?;
        let texts = TextStore::read_only(&texts);
        Ok(Self { name, folder, store, recipe, has_former, texts })
    }

    /// Describes that a job with another recipe cannot use it, and both ways out.
    fn other_recipe(&self, wanted: Recipe) -> String {
        let flag = match wanted == Recipe::default() {
            true => String::new(),
            false => format!(" --recipe {}", wanted.name()),
        };
        let archive = self.folder.parent().map(|data| data.join("pages"));
        let build = match archive.filter(|pages| self.folder.ends_with("dedup") && pages.is_dir()) {
            Some(pages) => format!("`crawl pages {} --data NEW{flag}`", pages.display()),
            None => {
                format!(
                    "`crawl reference build FILES --data NEW{flag}` with the files of its texts"
                )
            }
        };
        // A recipe of another program, or of a version that is not supported any more.
        let other_way = Recipe::parse(&self.recipe).map_or(String::new(), |recipe| {
            format!(". Or run this job in a new data directory with --recipe {}", recipe.name())
        });
        format!(
            "--against {}: its fingerprints have recipe {}, those of this job {}, and cannot be compared. Build the \
             reference again by {build}, and give --against NEW{other_way}",
            self.name,
            self.recipe,
            wanted.name(),
        )
    }

    fn find(
        &self,
        page: Wanted<'_>,
        is_distinct: Option<&dyn Fn(&str) -> bool>,
    ) -> Result<Option<InReference>> {
        let mut comparison = Comparison::new(&self.texts, page.text, Findings::new());
        let former = page.former.filter(|_| self.has_former);
        let extent = if is_distinct.is_some() { Extent::All } else { Extent::Few };
        let found = matches(&self.store, page.document, former, extent, Some(&mut comparison));
        for near in found.map_err(|error| self.failed(error))? {
            let record =
                self.store.record(near.id).map_err(|error| explained(&self.name, error))?;
            let Some(record) = record else { continue };
            let key = String::from_utf8_lossy(&record.key);
            let url = url_of_key(&key);
            if is_distinct.is_some_and(|is_distinct| is_distinct(url)) {
                continue;
            }
            return Ok(Some(InReference {
                store: self.name.clone(),
                url: url.to_owned(),
                near,
                compared: comparison.take(near.id),
                text: self.texts.get(near.id, &record.key),
            }));
        }
        Ok(None)
    }

    /// Returns the text of the document with this URL or id, if it has one.
    ///
    /// # Errors
    /// [`Error::Damaged`] with the file.
    pub fn text(&self, url: &str) -> Result<Option<String>> {
        for key in [url.to_owned(), format!("{}{url}", crate::tables::ELSEWHERE)] {
            let id = self.store.id_of(key.as_bytes());
            if let Some(id) = id.map_err(|error| explained(&self.name, error))? {
                let text = self.texts.get(id, key.as_bytes());
                return Ok(text.map(|text| text.page().text.clone()));
            }
        }
        Ok(None)
    }

    fn failed(&self, error: Error) -> Error {
        match error {
            Error::Store(error) => explained(&self.name, error),
            other => other,
        }
    }
}

/// Finds the store of a data directory, or the store itself.
fn folder_of(path: &Path) -> Result<PathBuf> {
    if path.exists() && !path.is_dir() {
        return Err(no_store(path));
    }
    let inner = path.join("dedup");
    let folder = if inner.is_dir() { inner } else { path.to_owned() };
    let manifest = folder.join(MANIFEST);
    match manifest.try_exists() {
        Ok(true) => std::fs::canonicalize(&folder).with_context(|| folder.display().to_string()),
        Ok(false) => {
            let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let mut names = files.map(|file| file.file_name().to_string_lossy().into_owned());
            match names.any(|name| FILES.iter().any(|prefix| name.starts_with(prefix))) {
                true => Err(Error::Damaged(format!(
                    "--against {}: {} is missing, but other files of the store exist",
                    path.display(),
                    manifest.display()
                ))),
                false => Err(no_store(path)),
            }
        }
        Err(error) => Err(unreadable(&manifest, &error)),
    }
}

fn no_store(path: &Path) -> Error {
    Error::Invalid(format!(
        "--against {}: no store there. Give the data directory of a crawl, or its dedup/; \
         `crawl reference build` makes one from files",
        path.display()
    ))
}

/// Checks that the texts, if there are any, can be opened. Otherwise sketches would decide without notice.
fn readable_texts(name: &str, folder: &Path) -> Result<()> {
    let mut exist = [false; 2];
    for (name, exists) in ["data", "places"].iter().zip(&mut exist) {
        let path = folder.join(name);
        match File::open(&path) {
            Ok(_) => *exists = true,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(&path, &error)),
        }
    }
    let missing = match exist {
        [true, false] => "places",
        [false, true] => "data",
        _ => return Ok(()),
    };
    Err(Error::Damaged(format!(
        "--against {name}: {0}/{missing} is missing. Restore it from a backup, or delete {0}: then sketches decide",
        folder.display()
    )))
}

/// Returns the error of a reference's store.
fn explained(name: &str, error: hapax_dedup::Error) -> Error {
    use hapax_dedup::Error::{Io, Version};
    match error {
        Version { path, expected, got } => Error::Invalid(format!(
            "--against {name}: {} has format {got}; this program reads format {expected} and the one before it. \
             Build it again from its pages: `crawl pages`, or `crawl reference build`",
            path.display()
        )),
        Io { path, source } => unreadable(&path, &source),
        error => Error::Damaged(format!(
            "--against {name}: {error}. Restore this store from a backup, build it again, or leave it out"
        )),
    }
}

#[cfg(test)]
mod tests;
