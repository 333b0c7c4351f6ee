//! Converts a caller's input to a document.

use hapax_dedup::Fingerprint;
use hapax_extract::{Document, Recipe};
use hapax_page::{HASH, Kind, fingerprint};
use url::Url;

use crate::errors::Failure;

/// A page's bytes with their known properties.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a> {
    pub(crate) kind: Kind,
    pub(crate) bytes: &'a [u8],
    pub(crate) content_type: Option<&'a str>,
    /// The input was a string, so its charset is known.
    pub(crate) decoded: bool,
}

impl<'a> Body<'a> {
    pub(crate) fn new(bytes: &'a [u8], decoded: bool) -> Self {
        Self {
            kind: Kind::of(None, bytes).unwrap_or(Kind::Plain),
            bytes,
            content_type: None,
            decoded,
        }
    }

    /// Reads the input as the page at `url`.
    pub(crate) fn document(&self, url: Option<&Url>) -> Result<Document, Failure> {
        let content_type = match (self.decoded, self.kind) {
            (true, Kind::Html) => Some("text/html; charset=utf-8"),
            (true, Kind::Plain) => Some("text/plain; charset=utf-8"),
            (false, _) => self.content_type,
        };
        let base = url.map_or_else(base, |url| Ok(url.clone()))?;
        Ok(self.kind.read(&base, content_type, self.bytes))
    }
}

fn base() -> Result<Url, Failure> {
    hapax_page::stand_in().map_err(|error| Failure::value(error.to_string()))
}

/// The recipe with this name; `None` is the default.
pub(crate) fn recipe(name: Option<&str>) -> Result<Recipe, Failure> {
    let Some(name) = name else { return Ok(Recipe::default()) };
    Recipe::parse(name).ok_or_else(|| {
        let names: Vec<&str> = Recipe::ALL.iter().map(|recipe| recipe.name()).collect();
        Failure::value(format!("recipe {name:?}: there are {}", names.join(", ")))
    })
}

/// A page's fingerprint and its number of content words. An invalid `url` counts as missing.
pub(crate) fn fingerprint_of(
    body: &Body<'_>,
    url: Option<&[u8]>,
    recipe: Recipe,
) -> Result<(Fingerprint, u32), Failure> {
    let url = url.and_then(|url| Url::parse(std::str::from_utf8(url).ok()?).ok());
    let document = body.document(url.as_ref())?;
    let text = document.comparison_text(|bytes| HASH.hash(bytes));
    Ok((fingerprint(&document, &text, recipe), text.features.tokens))
}
