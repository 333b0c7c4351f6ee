//! The layout of every page, and the data that pages show.

use std::path::{Path, PathBuf};

use hapax_data::{CurrentTables, Error, Heads, Result, Rows};
use hapax_dedup::Store;
use maud::{DOCTYPE, Markup, html};

use crate::text::escape;

const MENU: [(&str, &str); 10] = [
    ("/", "Overview"),
    ("/causes", "Causes"),
    ("/list", "Discarded"),
    ("/clusters", "Clusters"),
    ("/kept", "Kept"),
    ("/near", "Near misses"),
    ("/passages", "Passages"),
    ("/changes", "Changes"),
    ("/skipped", "Skipped"),
    ("/search", "Search"),
];

/// The data directories of the page, which it shows as one: a number names a directory in a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) dirs: &'a [PathBuf],
    /// The log of each directory.
    pub(super) rows: &'a [Rows],
    /// The tables of each directory.
    pub(super) tables: &'a [CurrentTables],
}

impl<'a> View<'a> {
    /// Returns each directory with its log.
    pub(super) fn all(self) -> impl Iterator<Item = (&'a Path, &'a Rows)> {
        self.dirs.iter().map(PathBuf::as_path).zip(self.rows)
    }

    /// Returns the representatives of the rows of each directory.
    pub(super) fn heads(self) -> Vec<Heads<'a>> {
        let all = self.rows.iter().zip(self.tables);
        all.map(|(rows, tables)| Heads::new(rows, tables.store())).collect()
    }

    /// Returns the tables of a directory by its number.
    pub(super) fn store(self, number: usize) -> Option<&'a Store> {
        self.tables.get(number).and_then(CurrentTables::store)
    }

    /// Returns a directory by its number.
    pub(super) fn dir(self, number: usize) -> Result<(&'a Path, &'a Rows)> {
        let missing = || Error::Invalid(format!("there is no data directory {number}"));
        self.all().nth(number).ok_or_else(missing)
    }

    /// Returns the link to a discarded page.
    pub(super) fn link(self, dir: usize, id: u64) -> String {
        match self.dirs.len() {
            1 => format!("/page/{id}"),
            _ => format!("/page/{id}?dir={dir}"),
        }
    }

    /// Returns the link to a kept page.
    pub(super) fn kept_link(self, dir: usize, id: u64) -> String {
        kept_link((self.dirs.len(), dir), id)
    }
}

/// Returns the link to a kept page of one of `dirs` directories.
pub(super) fn kept_link((dirs, dir): (usize, usize), id: u64) -> String {
    match dirs {
        1 => format!("/kept/{id}"),
        _ => format!("/kept/{id}?dir={dir}"),
    }
}

/// Seconds until a page whose result is being computed loads itself again.
const REFRESH: u32 = 2;

pub(super) fn frame(title: &str, here: &str, dirs: &[PathBuf], body: Markup) -> Markup {
    framed((title, here), dirs, None, body)
}

/// A page that loads itself again, without a script.
pub(super) fn refreshing(title: &str, here: &str, dirs: &[PathBuf], body: Markup) -> Markup {
    framed((title, here), dirs, Some(REFRESH), body)
}

fn framed(
    (title, here): (&str, &str),
    dirs: &[PathBuf],
    refresh: Option<u32>,
    body: Markup,
) -> Markup {
    let names: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                @if let Some(seconds) = refresh { meta http-equiv="refresh" content=(seconds); }
                title { (escape(title)) " - Hapax" }
                link rel="stylesheet" href="/style.css";
                script src="/script.js" defer {}
            }
            body {
                header {
                    strong { "Hapax" }
                    nav aria-label="Pages" {
                        @for (path, name) in MENU {
                            @if path == here {
                                a href=(path) aria-current="page" { (name) }
                            } @else {
                                a href=(path) { (name) }
                            }
                        }
                    }
                    span.where { (escape(&names.join(", "))) }
                }
                main { (body) }
            }
        }
    }
}

pub(super) fn error_page(message: &str) -> Markup {
    let body = html! { h1 { "This did not work" } p.notice.bad { (escape(message)) } p { a href="/" { "Overview" } } };
    frame("Error", "", &[], body)
}
