//! Images: their address and alternative text.

use scraper::node::Element;

use crate::elements::attribute;

/// Longest alternative text in bytes.
const MAX_ALT: usize = 1_000;
/// Largest width and height of an image that only counts visits.
const MAX_PIXELS: u32 = 2;
/// Attributes with the address of an image that a script loads later.
const LATER: [&str; 5] =
    ["data-src", "data-original", "data-lazy-src", "data-actualsrc", "data-url"];

/// Returns the alternative text and the absolute address of an image; `None` if it shows nothing.
pub(super) fn image(
    element: &Element,
    mut absolute: impl FnMut(&str) -> Option<String>,
) -> Option<(String, String)> {
    if element.name() != "img" {
        return None;
    }
    let size = |name| attribute(element, name).and_then(|value| value.trim().parse::<u32>().ok());
    if [size("width"), size("height")]
        .iter()
        .any(|size| size.is_some_and(|size| size <= MAX_PIXELS))
    {
        return None;
    }
    let is_address = |value: &&str| !value.is_empty() && !value.starts_with("data:");
    let first = |set: &str| set.split([',', ' ']).next().map(str::to_owned);
    let later =
        LATER.iter().find_map(|name| attribute(element, name)).map(str::trim).filter(is_address);
    let source = attribute(element, "src").map(str::trim).filter(is_address);
    let set = attribute(element, "srcset").map(str::trim).filter(is_address).and_then(first);
    let url = absolute(later.or(source).or(set.as_deref())?)?;
    let alt = attribute(element, "alt").unwrap_or_default();
    let alt: String = alt.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
    let alt = alt.get(..alt.floor_char_boundary(MAX_ALT)).unwrap_or_default().to_owned();
    Some((alt, url))
}
