//! Pages of a list.

use maud::{Markup, html};

/// Rows on a page of a list.
pub(super) const PAGE: usize = 50;

/// Links to the page before and the page after. `link` returns the address of a page.
pub(super) fn pager(page: usize, total: usize, link: impl Fn(usize) -> String) -> Markup {
    let last = total.saturating_sub(1) / PAGE;
    html! {
        nav.pages aria-label="Pages of the list" {
            @if page > 0 { a rel="prev" href=(link(page.saturating_sub(1).min(last))) { "← before" } }
            @if total > PAGE { span.dim { "page " (page.saturating_add(1)) " of " (last + 1) } }
            @if page < last { a rel="next" href=(link(page.saturating_add(1))) { "next →" } }
        }
    }
}

/// Returns an address with a query of the values that are not empty.
pub(super) fn address(path: &str, values: &[(&str, &str)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in values.iter().filter(|(_, value)| !value.is_empty()) {
        query.append_pair(name, value);
    }
    match query.finish() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}
