//! Groups the log by kept page: each with its copies and the redirects to it.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::rows::{NONE, Row, Rows};
use crate::standing::{Heads, Standing};

/// A kept page, and the rows that it represents.
#[derive(Debug)]
pub struct Cluster<'a> {
    /// Its number, if there is only one directory.
    pub id: Option<u64>,
    /// The URL of the kept page, or the caller's name for it.
    pub url: String,
    /// Whether the page is gone.
    pub gone: bool,
    /// The rows, each with its log.
    pub rows: Vec<(&'a Rows, Row)>,
    /// Number of discarded pages.
    pub copies: u64,
    /// Number of redirects to it.
    pub redirects: u64,
    /// Bytes of the discarded copies.
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Page(u64),
    /// Numbers differ between directories, URLs do not; a page that is gone has no number.
    Url(String),
}

/// Returns the clusters of the wanted rows, the largest first.
///
/// # Errors
/// Those of `wanted`, and of files.
pub fn clusters<'a, E: From<Error>>(
    logs: &[Heads<'a>],
    mut wanted: impl FnMut(&'a Rows, &Row) -> std::result::Result<bool, E>,
) -> std::result::Result<Vec<Cluster<'a>>, E> {
    let mut found: BTreeMap<Name, Cluster<'a>> = BTreeMap::new();
    for heads in logs {
        for row in heads.rows.discarded() {
            if !wanted(heads.rows, row)? {
                continue;
            }
            let standing = heads.of(row)?;
            let written = heads.rows.kept_for(row).0;
            let id = match standing {
                Standing::Page(id) => Some(id),
                Standing::AsWritten => Some(written).filter(|id| *id != NONE),
                Standing::Nothing => None,
            };
            let name = match id {
                Some(id) if logs.len() == 1 => Name::Page(id),
                _ => Name::Url(url(heads, row, standing)?),
            };
            let cluster = match found.get_mut(&name) {
                Some(cluster) => cluster,
                None => {
                    let cluster = Cluster {
                        id: id.filter(|_| logs.len() == 1),
                        url: url(heads, row, standing)?,
                        gone: true,
                        rows: Vec::new(),
                        copies: 0,
                        redirects: 0,
                        bytes: 0,
                    };
                    found.entry(name).or_insert(cluster)
                }
            };
            // Another directory may still have it.
            cluster.gone &= standing == Standing::Nothing;
            *(if row.is_alias() { &mut cluster.redirects } else { &mut cluster.copies }) += 1;
            cluster.bytes += u64::from(row.bytes);
            cluster.rows.push((heads.rows, *row));
        }
    }
    let mut all: Vec<Cluster<'a>> = found.into_values().collect();
    all.sort_by_key(|cluster| std::cmp::Reverse((cluster.copies, cluster.redirects)));
    Ok(all)
}

/// Returns the URL of the page that represents a row.
pub(crate) fn url(heads: &Heads<'_>, row: &Row, standing: Standing) -> Result<String> {
    match standing {
        Standing::Page(id) => heads.url(id),
        Standing::AsWritten | Standing::Nothing => Ok(heads.rows.entry(row)?.of.url),
    }
}
