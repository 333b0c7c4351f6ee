//! Verifies the counts of lines that sites repeat.

use std::io::ErrorKind;
use std::path::Path;

use hapax_data::{PagePosition, SiteStore, read_position, unreadable};
use hapax_dedup::Store;

use super::part::Contents;
use crate::error::{Error, Result};

pub(super) fn check_sites(data: &Path, store: &Store) -> Result<Contents> {
    let folder = data.join("sites");
    let position: PagePosition = read_position(&store.payload())?;
    match SiteStore::verify(&folder, position.sites) {
        Ok(found) => {
            let (sites, lines) = found.unwrap_or_default();
            Ok(Contents::Sites { sites, lines })
        }
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            Err(Error::damaged(error.to_string()))
        }
        Err(error) => Err(unreadable(&folder, &error).into()),
    }
}
