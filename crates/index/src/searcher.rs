//! Reads and searches the index.

use std::fmt::Write as _;
use std::mem;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use tantivy::collector::{Count, TopDocs};
use tantivy::directory::MmapDirectory;
use tantivy::index::SegmentComponent;
use tantivy::query::{
    BooleanQuery, ConstScoreQuery, Occur, Query, QueryParser, QueryParserError, RangeQuery,
    TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption, Value};
use tantivy::{Directory, IndexReader, TantivyDocument, Term};

use crate::error::{Error, Result};
use crate::ids::Ids;
use crate::index::guarded;
use crate::marks::unmarked;
use crate::query::places;
use crate::reading::Reading;
use crate::request::Request;
use crate::schema::{Fields, TOKENIZER, text_of};
use crate::snippet::Snippets;
use crate::tokenizer::{Dictionary, MixedTokenizer};
use crate::verify::{Verified, agreeing_reader};

/// Weight of a match in visible text outside the main text; one in the main text has 1.
pub const OTHER_BOOST: f32 = 0.3;

/// A page as it is stored in the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredPage {
    /// The caller's number of the page.
    pub id: u64,
    /// Its URL.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Its main text.
    pub text: String,
    /// Other visible text; empty in an index of an earlier version.
    pub other: String,
    /// Two-letter language code.
    pub language: String,
    /// Time of the fetch.
    pub fetched: String,
    /// Its location in the archive.
    pub stored_at: String,
    /// Size of its body in bytes.
    pub bytes: u64,
    /// Whether it declares itself as its canonical address.
    pub canonical: bool,
    /// More data of the caller; empty in an index of an earlier version.
    pub meta: String,
}

/// One result of a search.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The caller's number of the page.
    pub id: u64,
    /// Its URL.
    pub url: String,
    /// Its title.
    pub title: String,
    /// The part of its main text or other text that contains the words.
    pub snippet: String,
    /// BM25 score.
    pub score: f32,
    /// Two-letter language code.
    pub language: String,
    /// Time of the fetch.
    pub fetched: String,
    /// Its location in the archive.
    pub stored_at: String,
    /// The caller's metadata.
    pub meta: String,
}

/// The reader of an index. It sees the last commit, while a process may be writing.
pub struct Searcher {
    path: PathBuf,
    reader: IndexReader,
    index: tantivy::Index,
    fields: Fields,
}

impl std::fmt::Debug for Searcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Searcher").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Searcher {
    /// Opens the index in `folder` for reading. Writes nothing: folder and files may be read-only.
    ///
    /// # Errors
    /// [`Error::Missing`] without an index, [`Error::Damaged`] if a file does not match its checksum, otherwise as
    /// [`Index::open`](crate::Index::open).
    ///
    /// # Complexity
    /// Reads every file of the index, once in each process.
    pub fn open(folder: &Path, jieba: Dictionary) -> Result<Self> {
        if !folder.join("meta.json").exists() {
            return Err(Error::Missing(folder.to_owned()));
        }
        let directory = guarded(folder, || Ok(MmapDirectory::open(folder)?))?;
        Self::read(Reading::new(directory, folder), folder, jieba)
    }

    pub(crate) fn read(
        directory: impl Directory + Clone,
        folder: &Path,
        jieba: Dictionary,
    ) -> Result<Self> {
        let open = || -> tantivy::Result<(tantivy::Index, IndexReader, Fields)> {
            let index = tantivy::Index::open(Verified::new(directory, folder))?;
            index.tokenizers().register(TOKENIZER, MixedTokenizer::new(jieba));
            let (reader, fields) = agreeing_reader(&index)?;
            Ok((index, reader, fields))
        };
        let (index, reader, fields) = guarded(folder, open)?;
        Ok(Self { path: folder.to_owned(), reader, index, fields })
    }

    /// Returns the number of indexed pages.
    pub fn len(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// Returns how many pages have a number of `first` or above.
    ///
    /// # Errors
    /// From the reader.
    pub fn count_from(&self, first: u64) -> Result<u64> {
        let lower = Bound::Included(Term::from_field_u64(self.fields.id, first));
        let query = RangeQuery::new(lower, Bound::Unbounded);
        let count = || self.reader.searcher().search(&query, &Count);
        Ok(guarded(&self.path, count)? as u64)
    }

    /// Returns whether a page with this number is indexed.
    ///
    /// # Errors
    /// From the reader.
    pub fn has(&self, id: u64) -> Result<bool> {
        let term = Term::from_field_u64(self.fields.id, id);
        let query = TermQuery::new(term, IndexRecordOption::Basic);
        let count = || self.reader.searcher().search(&query, &Count);
        Ok(guarded(&self.path, count)? > 0)
    }

    /// Returns whether the index has no pages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether the index has all fields of this version. An earlier one lacks text outside the main text, and
    /// filters by host, site and time.
    pub const fn is_current(&self) -> bool {
        self.fields.added.is_some()
    }

    /// Returns the best `limit` pages for a query, and the number of all matches.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn search(&self, query: &str, limit: usize) -> Result<(Vec<Hit>, usize)> {
        self.find(&Request { limit, ..Request::words(query) })
    }

    /// Returns the best pages for a request, and the number of all matches. A match in the title weighs twice as much
    /// as one in the main text; one in other visible text weighs [`OTHER_BOOST`].
    ///
    /// # Errors
    /// [`Error::Query`] for an invalid query, or one that exceeds [`MAX_QUERY_BYTES`](crate::MAX_QUERY_BYTES),
    /// [`MAX_QUERY_GROUPS`](crate::MAX_QUERY_GROUPS), [`MAX_QUERY_OPERATORS`](crate::MAX_QUERY_OPERATORS),
    /// [`MAX_QUERY_RANGES`](crate::MAX_QUERY_RANGES) or [`MAX_QUERY_TERMS`](crate::MAX_QUERY_TERMS);
    /// [`Error::Earlier`] for a filter that an index of an earlier version lacks; otherwise from the files.
    pub fn find(&self, request: &Request<'_>) -> Result<(Vec<Hit>, usize)> {
        crate::query::check(request.query).map_err(Error::Query)?;
        let fields = self.fields;
        let query = self.query_of(request)?;
        let run = || -> tantivy::Result<(Vec<Hit>, usize)> {
            let searcher = self.reader.searcher();
            // The collector allocates this number of slots, so cap it by the number of pages.
            let pages = usize::try_from(searcher.num_docs()).unwrap_or(usize::MAX).max(1);
            let best = TopDocs::with_limit(request.limit.clamp(1, pages));
            let best = best.and_offset(request.offset.min(pages));
            let (top, count) = searcher.search(&query, &(best.order_by_score(), Count))?;
            let snippets = Snippets::of(&searcher, &*query, request.query, fields)?;
            let mut hits = Vec::new();
            for (score, address) in top.into_iter().take(request.limit) {
                let document: TantivyDocument = searcher.doc(address)?;
                hits.push(hit(&document, fields, score, &snippets));
            }
            Ok((hits, count))
        };
        guarded(&self.path, run)
    }

    /// Returns the name of a field in a query that no page has: [`find`](Self::find) searches for it as a word.
    pub fn unknown_field(&self, query: &str) -> Option<String> {
        crate::query::check(query).ok()?;
        match self.parser().parse_query(query) {
            Err(
                QueryParserError::FieldDoesNotExist(name) | QueryParserError::FieldNotIndexed(name),
            ) => Some(name),
            _ => None,
        }
    }

    /// Returns the fields of text that a query may name.
    pub const fn text_fields(&self) -> &'static [&'static str] {
        if self.fields.added.is_some() { &["title", "text", "other"] } else { &["title", "text"] }
    }

    fn parser(&self) -> QueryParser {
        let fields = self.fields;
        let mut searched = vec![fields.title, fields.text];
        searched.extend(fields.added.map(|added| added.other));
        let mut parser = QueryParser::for_index(&self.index, searched);
        parser.set_conjunction_by_default();
        parser.set_field_boost(fields.title, 2.0);
        if let Some(added) = fields.added {
            parser.set_field_boost(added.other, OTHER_BOOST);
        }
        parser
    }

    fn parsed(&self, query: &str) -> Result<Box<dyn Query>> {
        let parser = self.parser();
        match parser.parse_query(query) {
            Ok(query) => Ok(query),
            // The query has only exclusions: apply them to all pages.
            Err(QueryParserError::AllButQueryForbidden) => parser
                .parse_query(&format!("* {query}"))
                .map_err(|error| Error::Query(error.to_string())),
            // Text with apostrophes, colons or brackets is not always a formula: search for its words.
            Err(error) => match words_of(query) {
                Some(words) => parser.parse_query(&words),
                None => Err(error),
            }
            .map_err(|error| Error::Query(error.to_string())),
        }
    }

    fn query_of(&self, request: &Request<'_>) -> Result<Box<dyn Query>> {
        let Some(added) = self.fields.added else {
            return self.filtered(self.parsed(request.query)?, request);
        };
        let places = places(request.query);
        let query = self.filtered(self.parsed(&places.rest)?, request)?;
        let mut all = vec![(Occur::Must, query)];
        for (host, excluded) in &places.hosts {
            let occur = if *excluded { Occur::MustNot } else { Occur::Must };
            all.push((occur, of_host(added.host, host)));
        }
        Ok(Box::new(BooleanQuery::new(all)))
    }

    /// Adds the filters of a request to a query.
    fn filtered(&self, query: Box<dyn Query>, request: &Request<'_>) -> Result<Box<dyn Query>> {
        let mut all: Vec<(Occur, Box<dyn Query>)> = vec![(Occur::Must, query)];
        let mut only = |field: Field, value: &str| {
            let term = Term::from_field_text(field, value);
            let query = TermQuery::new(term, IndexRecordOption::Basic);
            // A filter does not change the score.
            all.push((Occur::Must, Box::new(ConstScoreQuery::new(Box::new(query), 0.0))));
        };
        if let Some(language) = request.language {
            only(self.fields.language, language);
        }
        match (self.fields.added, request.needs_current()) {
            (Some(added), _) => {
                request.site.into_iter().for_each(|site| only(added.site, site));
                if let Some(host) = request.host {
                    all.push((Occur::Must, of_host(added.host, host)));
                }
                if let Some(after) = request.after {
                    let lower = Bound::Included(Term::from_field_u64(added.time, after));
                    let range = RangeQuery::new(lower, Bound::Unbounded);
                    all.push((Occur::Must, Box::new(ConstScoreQuery::new(Box::new(range), 0.0))));
                }
            }
            (None, Some(filter)) => {
                return Err(Error::Earlier { path: self.path.clone(), filter });
            }
            (None, None) => {}
        }
        Ok(Box::new(BooleanQuery::new(all)))
    }

    /// Returns the numbers of all matches of a request, in ascending order. Its offset and limit do not count.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    ///
    /// # Complexity
    /// Linear in the matches, 8 bytes of memory each. No document is read.
    pub fn ids(&self, request: &Request<'_>) -> Result<Vec<u64>> {
        crate::query::check(request.query).map_err(Error::Query)?;
        let query = self.query_of(request)?;
        let mut ids = guarded(&self.path, || self.reader.searcher().search(&query, &Ids))?;
        ids.sort_unstable();
        Ok(ids)
    }

    /// Returns the page with this number.
    ///
    /// # Errors
    /// From the files.
    pub fn page(&self, id: u64) -> Result<Option<StoredPage>> {
        self.page_with(Term::from_field_u64(self.fields.id, id))
    }

    fn page_with(&self, term: Term) -> Result<Option<StoredPage>> {
        let query = TermQuery::new(term, IndexRecordOption::Basic);
        let run = || -> tantivy::Result<Option<StoredPage>> {
            let searcher = self.reader.searcher();
            let top = searcher.search(&query, &TopDocs::with_limit(1).order_by_score())?;
            let Some((_, address)) = top.into_iter().next() else { return Ok(None) };
            Ok(Some(stored(&searcher.doc(address)?, self.fields)))
        };
        guarded(&self.path, run)
    }

    /// Returns a name of the pages that this searcher finds and of the order in which [`pages`](Self::pages) visits them.
    pub fn state(&self) -> Vec<u8> {
        let mut state = String::new();
        for segment in self.reader.searcher().segment_readers() {
            // Pages are only ever removed from a segment.
            let _ = write!(state, "{} {};", segment.segment_id().uuid_string(), segment.num_docs());
        }
        state.into_bytes()
    }

    /// Returns whether a page with this URL is in the index.
    ///
    /// # Errors
    /// From the files.
    pub fn has_url(&self, url: &str) -> Result<bool> {
        let query =
            TermQuery::new(Term::from_field_text(self.fields.url, url), IndexRecordOption::Basic);
        let run = || Ok(self.reader.searcher().search(&query, &Count)? > 0);
        guarded(&self.path, run)
    }

    /// Returns the page with a URL.
    ///
    /// # Errors
    /// From the files.
    pub fn page_at(&self, url: &str) -> Result<Option<StoredPage>> {
        self.page_with(Term::from_field_text(self.fields.url, url))
    }

    /// Calls `visit` with every page, until it returns `false`.
    ///
    /// # Errors
    /// From the files.
    pub fn pages(&self, visit: impl FnMut(StoredPage) -> bool) -> Result<()> {
        self.pages_from(0, visit)
    }

    /// Does the same without the first `skip` pages, which are not read.
    ///
    /// # Errors
    /// From the files.
    pub fn pages_from(
        &self,
        mut skip: u64,
        mut visit: impl FnMut(StoredPage) -> bool,
    ) -> Result<()> {
        let run = || -> tantivy::Result<()> {
            for segment in self.reader.searcher().segment_readers() {
                let count = u64::from(segment.num_docs());
                if skip >= count {
                    skip -= count;
                    continue;
                }
                let store = segment.get_store_reader(STORE_CACHE)?;
                let documents: Box<dyn Iterator<Item = tantivy::Result<TantivyDocument>>> =
                    match mem::take(&mut skip) {
                        0 => Box::new(store.iter(segment.alive_bitset())),
                        skip => Box::new(
                            segment
                                .doc_ids_alive()
                                .skip(usize::try_from(skip).unwrap_or(usize::MAX))
                                .map(|id| store.get(id)),
                        ),
                    };
                for document in documents {
                    if !visit(stored(&document?, self.fields)) {
                        return Ok(());
                    }
                }
            }
            Ok(())
        };
        guarded(&self.path, run)
    }
}

/// Returns an error for each file of the index in `folder` that is missing or does not match its checksum. Opens no
/// reader, because a reader trusts the files.
///
/// # Errors
/// [`Error::Missing`] without an index, [`Error::Damaged`] for a damaged `meta.json`, otherwise from the files.
///
/// # Complexity
/// Reads every file of the index.
pub fn damaged_files(folder: &Path) -> Result<Vec<Error>> {
    if !folder.join("meta.json").exists() {
        return Err(Error::Missing(folder.to_owned()));
    }
    let list = || -> tantivy::Result<_> {
        let directory = MmapDirectory::open(folder)?;
        let directory = Verified::new(Reading::new(directory, folder), folder);
        let index = tantivy::Index::open(directory.clone())?;
        let metas = index.load_metas()?;
        let mut names: Vec<PathBuf> = metas.list_segment_files().into_iter().collect();
        // The list has a file of deleted pages for each segment, but not each segment has one.
        let deleted: Vec<PathBuf> = metas
            .segments
            .iter()
            .filter(|segment| segment.has_deletes())
            .map(|segment| segment.relative_path(SegmentComponent::Delete))
            .collect();
        names.retain(|name| {
            name.extension().is_none_or(|extension| extension != "del") || deleted.contains(name)
        });
        names.sort_unstable();
        Ok((directory, names))
    };
    let (directory, names) = guarded(folder, list)?;
    let wrong = |name: &PathBuf| guarded(folder, || Ok(directory.verify(name)?)).err();
    Ok(names.iter().filter_map(wrong).collect())
}

const STORE_CACHE: usize = 10;

fn number_of(document: &TantivyDocument, field: Field) -> u64 {
    document.get_first(field).and_then(|value| value.as_u64()).unwrap_or_default()
}

fn stored(document: &TantivyDocument, fields: Fields) -> StoredPage {
    StoredPage {
        id: number_of(document, fields.id),
        url: text_of(document, fields.url),
        title: text_of(document, fields.title),
        text: unmarked(&text_of(document, fields.text)).into_owned(),
        other: fields.added.map(|added| text_of(document, added.other)).unwrap_or_default(),
        language: text_of(document, fields.language),
        fetched: text_of(document, fields.fetched),
        stored_at: text_of(document, fields.stored_at),
        bytes: number_of(document, fields.bytes),
        canonical: number_of(document, fields.canonical) > 0,
        meta: fields.meta.map(|meta| text_of(document, meta)).unwrap_or_default(),
    }
}

fn hit(document: &TantivyDocument, fields: Fields, score: f32, snippets: &Snippets) -> Hit {
    let text = |field| text_of(document, field);
    Hit {
        id: number_of(document, fields.id),
        url: text(fields.url),
        title: text(fields.title),
        snippet: snippets.snippet(document, fields),
        score,
        language: text(fields.language),
        fetched: text(fields.fetched),
        stored_at: text(fields.stored_at),
        meta: fields.meta.map(text).unwrap_or_default(),
    }
}

/// Returns a query for the pages of a host; of all its ports if it names none. It has no score.
fn of_host(field: Field, host: &str) -> Box<dyn Query> {
    let term = |text: &str| Term::from_field_text(field, text);
    let exact = Box::new(TermQuery::new(term(host), IndexRecordOption::Basic));
    // `;` is the character after `:`. The part after the last colon of an IPv6 address ends with a bracket.
    let ports =
        (Bound::Included(term(&format!("{host}:"))), Bound::Excluded(term(&format!("{host};"))));
    let ports: Box<dyn Query> = Box::new(RangeQuery::new(ports.0, ports.1));
    let any = BooleanQuery::new(vec![(Occur::Should, exact), (Occur::Should, ports)]);
    Box::new(ConstScoreQuery::new(Box::new(any), 0.0))
}

/// Returns the words of a query without operators; `None` if it has operators or no words.
fn words_of(query: &str) -> Option<String> {
    let formula = query.split_whitespace().any(|word| matches!(word, "AND" | "OR" | "NOT"));
    let plain: String = query.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    (!formula && !plain.trim().is_empty()).then(|| plain.to_lowercase())
}
