//! The list of kept pages.

use hapax_data::{PageMeta, Result, parse_moment};
use hapax_extract::jieba;
use hapax_index::{Request, Searcher, StoredPage};
use maud::{Markup, html};
use serde::Deserialize;

use super::page::link;
use super::pager::{PAGE, address, pager};
use super::views::{View, frame};
use crate::stored::advised;
use crate::text::{bytes, counted, escape, line, number};

/// Characters of a text that the list shows.
const SHOWN: usize = 200;

/// The fields of the form.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct KeptQuery {
    text: String,
    host: String,
    language: String,
    since: String,
    copies: String,
    sort: String,
    page: usize,
}

/// A page of the list: the number of its directory, its own number, its copies.
type Listed = (usize, u64, u64);

impl KeptQuery {
    fn request<'a>(&'a self, words: &'a str) -> Result<Request<'a>> {
        let some = |text: &'a str| Some(text.trim()).filter(|text| !text.is_empty());
        let after = some(&self.since).map(parse_moment).transpose()?;
        let (host, language) = (some(&self.host), some(&self.language));
        Ok(Request { host, language, after, ..Request::words(words) })
    }

    /// Returns the numbers of all wanted pages, in order. No page is read.
    fn wanted(&self, view: View<'_>, searchers: &[Searcher]) -> Result<Vec<Listed>> {
        let words = if self.text.trim().is_empty() { "*" } else { self.text.trim() };
        let least: u64 = match self.copies.trim() {
            "" => 0,
            copies => copies.parse().map_err(|_| {
                hapax_data::Error::Invalid(format!("copies: not a number: {copies}"))
            })?,
        };
        let request = self.request(words)?;
        let mut all = Vec::new();
        for (dir, ((data, rows), searcher)) in view.all().zip(searchers).enumerate() {
            let copies = hapax_data::copies(rows);
            let ids = searcher.ids(&request).map_err(|error| advised(data, error))?;
            let counted =
                ids.into_iter().map(|id| (dir, id, copies.get(&id).copied().unwrap_or(0)));
            all.extend(counted.filter(|(.., copies)| *copies >= least));
        }
        match self.sort.as_str() {
            "copies" => all.sort_by(|a, b| b.2.cmp(&a.2).then(a.cmp(b))),
            "oldest" => {}
            // Numbers ascend with the time of the fetch.
            _ => all.reverse(),
        }
        Ok(all)
    }

    fn at(&self, page: usize) -> String {
        let page = page.to_string();
        address(
            "/kept",
            &[
                ("text", &self.text),
                ("host", &self.host),
                ("language", &self.language),
                ("since", &self.since),
                ("copies", &self.copies),
                ("sort", &self.sort),
                ("page", &page),
            ],
        )
    }
}

fn form(query: &KeptQuery) -> Markup {
    let input = |name: &str, label: &str, value: &str, example: &str| {
        html! { label { (label) input name=(name) value=(value) placeholder=(example) size="9"; } }
    };
    html! {
        form.filter method="get" action="/kept" role="search" {
            label { "words of title or text" input type="search" name="text" value=(query.text) placeholder="river, title:spring"; }
            (input("host", "host", &query.host, "a.example"))
            (input("language", "language", &query.language, "zh"))
            (input("since", "fetched since", &query.since, "2026-11-20"))
            (input("copies", "at least copies", &query.copies, "1"))
            label { "order" select name="sort" {
                @for (name, label) in [("", "newest first"), ("oldest", "oldest first"), ("copies", "most copies")] {
                    option value=(name) selected[query.sort == name] { (label) }
                }
            } }
            button.main { "Show" }
        }
    }
}

/// The list of kept pages: matches of the filters in the index.
pub(super) fn kept(view: View<'_>, query: &KeptQuery) -> Result<Markup> {
    let mut searchers = Vec::new();
    for data in view.dirs {
        let opened = Searcher::open(&data.join("index"), jieba);
        searchers.push(opened.map_err(|error| advised(data, error))?);
    }
    let total: u64 = searchers.iter().map(Searcher::len).sum();
    let found = query.wanted(view, &searchers)?;
    let mut shown = Vec::new();
    for (dir, id, copies) in found.iter().skip(query.page.saturating_mul(PAGE)).take(PAGE) {
        let page = searchers.get(*dir).map(|searcher| searcher.page(*id)).transpose()?.flatten();
        shown.extend(page.map(|page| item(&page, *copies, &view.kept_link(*dir, *id))));
    }
    let count = found.len() as u64;
    let body = html! {
        h1 { (counted(count, "kept page")) @if count != total { " of " (number(total)) } }
        (form(query))
        ol.rows { @for item in shown { (item) } }
        (pager(query.page, found.len(), |page| query.at(page)))
    };
    Ok(frame("Kept pages", "/kept", view.dirs, body))
}

fn item(page: &StoredPage, copies: u64, target: &str) -> Markup {
    let meta = PageMeta::from_json(&page.meta);
    // A long text is not escaped as a whole.
    let beginning = page.text.get(..page.text.floor_char_boundary(8 * SHOWN)).unwrap_or_default();
    let title = if page.title.trim().is_empty() { &page.url } else { &page.title };
    html! {
        li {
            a href=(target) { (escape(title)) }
            div { (link(&page.url)) }
            div.dim { (line(beginning, SHOWN)) }
            div.meta {
                @if copies > 0 { span.tag { (number(copies)) @if copies == 1 { " copy" } @else { " copies" } } }
                @if !page.language.is_empty() { span { (escape(&page.language)) } }
                @if let Some(kind) = &meta.page_type { span { (escape(kind)) } }
                span { (bytes(page.bytes)) }
                span { (escape(&page.fetched)) }
            }
        }
    }
}
