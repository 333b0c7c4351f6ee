//! What to search for.

/// A search: words, filters, and the part of the result.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The query. All words are required; it may have `"phrases"`, `-without`, `OR`, and `title:word`, `text:word` or
    /// `other:word` for a word of one field. `host:`, `site:` and `url:` name whole values; `host:` without a port means all.
    pub query: &'a str,
    /// Only pages of this host; without a port, of all of its ports. Default ports are not part of the name.
    pub host: Option<&'a str>,
    /// Only pages of this site: the registrable domain.
    pub site: Option<&'a str>,
    /// Only pages in this language, by its two-letter code.
    pub language: Option<&'a str>,
    /// Only pages that were fetched at this time or later, in seconds since 1970.
    pub after: Option<u64>,
    /// The number of best pages to omit.
    pub offset: usize,
    /// The most pages to return.
    pub limit: usize,
}

impl<'a> Request<'a> {
    /// The default limit of a request.
    pub const LIMIT: usize = 10;

    /// A search for words, without filters.
    pub const fn words(query: &'a str) -> Self {
        Self {
            query,
            host: None,
            site: None,
            language: None,
            after: None,
            offset: 0,
            limit: Self::LIMIT,
        }
    }

    /// Returns a filter that needs a field of the current version.
    pub(crate) const fn needs_current(&self) -> Option<&'static str> {
        match (self.host, self.site, self.after) {
            (Some(_), ..) => Some("host"),
            (_, Some(_), _) => Some("site"),
            (.., Some(_)) => Some("time"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::few_words::jieba;
    use crate::{Error, Index, Page, Searcher};

    fn three_pages() -> (tempfile::TempDir, Searcher) {
        let folder = tempfile::tempdir().unwrap();
        let mut index = Index::open(folder.path(), jieba).unwrap();
        let pages = [
            (0, "www.a.example", "a.example", "en", 100, "The river rose.", ""),
            (1, "a.example:8080", "a.example", "en", 200, "The autumn.", "Mind the river driver!"),
            (2, "b.example", "b.example", "zh", 300, "我们在北京大学。", "学习编程语言"),
        ];
        for (id, host, site, language, time, text, other) in pages {
            let page = Page { id, host, site, language, time, text, other, ..Page::default() };
            index.add(&page).unwrap();
        }
        index.commit().unwrap();
        let searcher = Searcher::open(folder.path(), jieba).unwrap();
        (folder, searcher)
    }

    fn ids(searcher: &Searcher, request: &Request<'_>) -> Vec<u64> {
        searcher.find(request).unwrap().0.iter().map(|hit| hit.id).collect()
    }

    #[test]
    fn hosts_sites_and_urls_may_stand_in_the_query() {
        let (_folder, searcher) = three_pages();
        let words = |query: &str| ids(&searcher, &Request::words(query));
        assert_eq!(words("host:a.example"), [1]);
        assert_eq!(words("host:a.example:8080 river"), [1]);
        assert_eq!(words("river -host:a.example"), [0]);
        assert_eq!(words("river site:a.example"), [0, 1]);
        assert!(words("host:nowhere.example").is_empty());
    }

    #[test]
    fn the_snippet_shows_the_phrase_or_most_of_the_words() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = Index::open(folder.path(), jieba).unwrap();
        let text = "It was late when of all the ships one came in. The lamp burned.";
        let other = "Beware of it at night. 版权所有 The needle axolotl.";
        index.add(&Page { text, other, ..Page::default() }).unwrap();
        index.commit().unwrap();
        let searcher = Searcher::open(folder.path(), jieba).unwrap();
        let snippet = |query: &str| searcher.search(query, 1).unwrap().0[0].snippet.clone();
        assert!(snippet("\"beware of it\"").starts_with("Beware of it"));
        assert!(snippet("版权所有").contains("版权所有"));
        assert!(snippet("lamp").contains("lamp burned"));
        assert!(snippet("needle axolotl lamp").contains("axolotl"));
    }

    #[test]
    fn text_outside_the_main_text_is_found_after_main_text_with_its_snippet() {
        let (_folder, searcher) = three_pages();
        let words = |query| ids(&searcher, &Request::words(query));
        assert_eq!(words("river"), [0, 1], "the main text weighs more");
        assert_eq!(words("\"river driver\""), [1]);
        assert_eq!(words("autumn driver"), [1], "words of both texts");
        assert_eq!(words("\"编程语言\""), [2]);
        assert_eq!((words("other:river"), words("text:river")), (vec![1], vec![0]));
        let (hits, _) = searcher.find(&Request::words("driver")).unwrap();
        assert_eq!(hits[0].snippet, "Mind the river driver");
        assert_eq!(searcher.page(1).unwrap().unwrap().other, "Mind the river driver!");
    }

    #[test]
    fn lines_of_the_site_are_stored_in_the_text_and_found_as_other_text() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = Index::open(folder.path(), jieba).unwrap();
        let text = "Boats\nSign up for our bulletin.\nThe river rose.";
        let own = Page { id: 1, text: "A bulletin about boats.", other: "side", ..Page::default() };
        let page = Page { id: 2, text, other: "box", site_lines: &[1], ..Page::default() };
        index.add(&own).unwrap();
        index.add(&page).unwrap();
        index.commit().unwrap();
        let searcher = Searcher::open(folder.path(), jieba).unwrap();
        let words = |query| ids(&searcher, &Request::words(query));
        assert_eq!(words("bulletin"), [1, 2], "a line of the site weighs less");
        assert_eq!((words("text:bulletin"), words("other:bulletin")), (vec![1], vec![2]));
        assert_eq!((words("text:river"), words("other:box")), (vec![2], vec![2]));
        assert_eq!((words("\"boats sign\""), words("\"boats the\"")), (vec![], vec![]));
        let stored = searcher.page(2).unwrap().unwrap();
        assert_eq!((stored.text.as_str(), stored.other.as_str()), (text, "box"));
        let (hits, _) = searcher.find(&Request::words("river")).unwrap();
        assert_eq!(hits[0].snippet, "Boats Sign up for our bulletin. The river rose");
        let (hits, _) = searcher.find(&Request::words("bulletin")).unwrap();
        assert!(hits[1].snippet.contains("Sign up for our bulletin"), "{}", hits[1].snippet);
        // A page may have the character of a mark itself.
        let (title, text, other) = ("Caf\u{1}e menu", "One\n\u{1}two", "\u{1}three");
        index
            .add(&Page { id: 3, title, text, other, site_lines: &[1], ..Page::default() })
            .unwrap();
        index.commit().unwrap();
        let searcher = Searcher::open(folder.path(), jieba).unwrap();
        for query in ["menu", "title:cafe", "other:two", "other:three"] {
            assert_eq!(ids(&searcher, &Request::words(query)), [3], "{query}");
        }
    }

    #[test]
    fn filters_restrict_the_pages_and_not_their_order() {
        let (_folder, searcher) = three_pages();
        let all = Request::words("*");
        assert_eq!(ids(&searcher, &Request { host: Some("a.example:8080"), ..all }), [1]);
        assert_eq!(ids(&searcher, &Request { host: Some("a.example"), ..all }), [1], "all ports");
        assert_eq!(ids(&searcher, &Request { host: Some("a.example:80"), ..all }), [0_u64; 0]);
        assert_eq!(ids(&searcher, &Request { language: Some("zh"), ..all }), [2]);
        assert_eq!(ids(&searcher, &Request { after: Some(200), ..all }), [1, 2]);
        let river = Request { site: Some("a.example"), ..Request::words("river") };
        assert_eq!(ids(&searcher, &river), [0, 1]);
        let (hits, _) = searcher.find(&river).unwrap();
        let (alone, _) = searcher.find(&Request::words("river")).unwrap();
        assert!((hits[0].score - alone[0].score).abs() < 1e-6, "a filter has no score");
        let none = Request { language: Some("de"), ..river };
        assert_eq!(searcher.find(&none).unwrap().1, 0);
    }

    #[test]
    fn the_numbers_of_all_matches_ascend_and_obey_the_filters() {
        let (_folder, searcher) = three_pages();
        let all = Request { limit: 1, offset: 2, ..Request::words("*") };
        assert_eq!(searcher.ids(&all).unwrap(), [0, 1, 2], "offset and limit do not count");
        assert_eq!(searcher.ids(&Request { language: Some("en"), ..all }).unwrap(), [0, 1]);
        assert_eq!(searcher.ids(&Request { query: "autumn", ..all }).unwrap(), [1]);
        assert_eq!(searcher.ids(&Request { query: "winter", ..all }).unwrap(), [0; 0]);
    }

    #[test]
    fn an_offset_continues_the_list() {
        let (_folder, searcher) = three_pages();
        let at = |offset, limit| Request { offset, limit, ..Request::words("river") };
        assert_eq!(ids(&searcher, &at(1, 1)), [1]);
        assert_eq!(ids(&searcher, &at(2, 9)), [0_u64; 0]);
        assert_eq!(ids(&searcher, &at(usize::MAX, usize::MAX)), [0_u64; 0]);
        assert_eq!(searcher.find(&at(9, 0)).unwrap().1, 2);
    }

    #[test]
    fn an_unknown_field_is_not_a_field_query() {
        let (_folder, searcher) = three_pages();
        assert_eq!(ids(&searcher, &Request::words("mind:driver")), [1], "both words");
        assert_eq!(searcher.unknown_field("river mind:driver").as_deref(), Some("mind"));
        assert_eq!(searcher.unknown_field("fetched:2026").as_deref(), Some("fetched"));
        // Limits come before the parser.
        assert_eq!(searcher.unknown_field(&"(".repeat(1_000_000)), None);
        for query in ["river", "title:river", "site:a.example", "river (", "it's: here"] {
            assert_eq!(searcher.unknown_field(query), None, "{query}");
        }
        let wrong = searcher.find(&Request::words("title:("));
        assert!(matches!(wrong, Ok(_) | Err(Error::Query(_))));
    }
}
