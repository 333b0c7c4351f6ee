//! Elements that a page's style sheets hide on a desktop, by rules without states.

use std::collections::HashMap;
use std::hash::BuildHasher;

use ego_tree::NodeRef;
use foldhash::fast::{FixedState, RandomState};
use memchr::{memchr3, memmem};
use scraper::Node;
use scraper::node::Element;

/// Maximum number of bytes of style sheets that are read of a page, and of elements with one.
const MAX_CSS: usize = 256 << 10;
const MAX_SHEETS: usize = 64;
/// Maximum number of selectors that are kept, and of bytes of one.
const MAX_SELECTORS: usize = 512;
const MAX_SELECTOR: usize = 200;
/// Maximum number of ancestors that are compared with a selector, of selectors that name one class or id, and of bytes
/// that are read of a class.
const MAX_ANCESTORS: usize = 32;
const MAX_OF_NAME: usize = 4;
const MAX_CLASS: usize = 512;

/// Parts of names of elements that a reader opens by a click: their text is text.
const OPENED: [&str; 12] = [
    "accordion",
    "answer",
    "collaps",
    "expand",
    "faq",
    "more",
    "page",
    "panel",
    "slide",
    "spoiler",
    "tab",
    "toggle",
];
/// Classes of elements that a script shows when they are scrolled to.
const ANIMATED: [&str; 4] = ["elementor-invisible", "wow", "animated", "aos-init"];
/// Classes for which a script is not running.
const WITHOUT_SCRIPT: [&str; 2] = ["no-js", "nojs"];
/// Parts of declarations that hide, and of those that move an element out of sight, to skip others.
const HIDING: [&[u8]; 6] = [b"none", b"hidden", b"-999", b"-100", b"rect(", b"opacity"];
const OUT_OF_SIGHT: [&[u8]; 4] = [b"-999", b"-100", b"rect(", b"height"];
/// Width of a desktop in CSS pixels, for media queries and for classes of frameworks.
const DESKTOP: f32 = 1280.0;
/// Offset in pixels beyond which an element is off the screen.
const OFF_SCREEN: f32 = -999.0;

/// An element's tag, classes and id, as far as a selector names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Compound {
    tag: String,
    classes: Vec<String>,
    id: String,
}

impl Compound {
    /// Reads `tag.class.class#id`; `None` for anything else.
    fn read(text: &str) -> Option<Self> {
        let mut compound = Self::default();
        let (mut sign, mut rest) = (' ', text);
        while !rest.is_empty() {
            let end = rest.find(['.', '#']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
            if !name.chars().all(is_name) || name.is_empty() != (sign == ' ' && end == 0) {
                return None;
            }
            match sign {
                '.' => compound.classes.push(name.to_owned()),
                '#' => name.clone_into(&mut compound.id),
                _ => compound.tag = name.to_ascii_lowercase(),
            }
            let Some(next) = after.chars().next() else { break };
            (sign, rest) = (next, after.get(1..).unwrap_or_default());
            if rest.is_empty() {
                return None;
            }
        }
        Some(compound)
    }

    fn matches(&self, element: &Element) -> bool {
        let classes = class_of(element);
        let has = |wanted: &String| classes.split_ascii_whitespace().any(|class| class == wanted);
        (self.tag.is_empty() || self.tag == element.name())
            && (self.id.is_empty() || element.attr("id") == Some(&self.id))
            && self.classes.iter().all(has)
    }
}

#[derive(Debug)]
struct Selector {
    /// The last part, which names the element itself.
    last: Compound,
    /// Ancestors, the nearest first.
    above: Vec<Compound>,
    hides: bool,
}

impl Selector {
    fn matches(&self, element: &Element, node: NodeRef<'_, Node>) -> bool {
        let mut above = self.above.iter().peekable();
        if !self.last.matches(element) {
            return false;
        }
        for ancestor in node.ancestors().take(MAX_ANCESTORS) {
            let Some(wanted) = above.peek() else { break };
            if ancestor.value().as_element().is_some_and(|element| wanted.matches(element)) {
                above.next();
            }
        }
        above.peek().is_none()
    }
}

/// Rules that hide elements, and rules that show them in spite of those.
#[derive(Debug, Default)]
pub(crate) struct Styles {
    selectors: Vec<Selector>,
    /// Numbers of selectors by a hash of a class or an id of the last part.
    by_name: HashMap<u64, Vec<u16>, RandomState>,
}

impl Styles {
    /// Reads the style sheets in a page's markup.
    ///
    /// # Complexity
    /// Linear in the bytes.
    pub(crate) fn of(markup: &str) -> Self {
        let mut styles = Self::default();
        let (mut at, mut left) = (0, MAX_CSS);
        for _ in 0..MAX_SHEETS {
            let rest = markup.as_bytes().get(at..).unwrap_or_default();
            let Some(begin) = memmem::find(rest, b"<style") else { break };
            let sheet = rest.get(begin..).unwrap_or_default();
            let end = memmem::find(sheet, b"</style").unwrap_or(sheet.len());
            at += begin + end.max(1);
            let sheet = sheet.get(..end).unwrap_or_default();
            let open = sheet.iter().position(|byte| *byte == b'>').map_or(sheet.len(), |at| at + 1);
            let (tag, css) = sheet.split_at(open);
            if !media_of(tag).is_none_or(|media| applies(&media)) {
                continue;
            }
            let css = css.get(..css.len().min(left)).unwrap_or_default();
            left -= css.len();
            if HIDING.iter().any(|part| memmem::find(css, part).is_some()) {
                each_rule(&String::from_utf8_lossy(css), |selectors, declarations| {
                    styles.rule(selectors, declarations);
                });
            }
        }
        styles
    }

    fn rule(&mut self, selectors: &str, declarations: &str) {
        let Some(hides) = hides(declarations) else { return };
        for text in selectors.split(',').map(str::trim) {
            let opened = || {
                let last = text.rsplit(' ').next().unwrap_or_default().to_ascii_lowercase();
                OPENED.iter().any(|name| last.contains(name))
            };
            let no_script = || WITHOUT_SCRIPT.iter().any(|name| text.contains(name));
            if text.len() > MAX_SELECTOR || hides && (opened() || no_script()) {
                continue;
            }
            // A child is also a descendant.
            let parts = text.split([' ', '>', '\n', '\t']).filter(|part| !part.is_empty());
            let Some(mut parts) = parts.map(Compound::read).collect::<Option<Vec<_>>>() else {
                continue;
            };
            let Some(last) = parts.pop() else { continue };
            parts.reverse();
            self.add(Selector { last, above: parts, hides });
        }
    }

    fn add(&mut self, selector: Selector) {
        // A later rule for the same elements replaces the earlier one.
        let same =
            |known: &&mut Selector| known.last == selector.last && known.above == selector.above;
        if self.selectors.len() >= MAX_SELECTORS {
            return;
        }
        if let Some(known) = self.named_mut(&selector.last, same) {
            known.hides = selector.hides;
            return;
        }
        let names = selector.last.classes.first().unwrap_or(&selector.last.id);
        if names.is_empty() {
            return;
        }
        let number = self.selectors.len() as u16;
        let of_name = self.by_name.entry(hash(names)).or_default();
        if of_name.len() < MAX_OF_NAME {
            of_name.push(number);
            self.selectors.push(selector);
        }
    }

    fn named_mut(
        &mut self,
        last: &Compound,
        same: impl Fn(&&mut Selector) -> bool,
    ) -> Option<&mut Selector> {
        let name = last.classes.first().unwrap_or(&last.id);
        let numbers = self.by_name.get(&hash(name))?;
        let number = numbers.iter().copied().find(|number| {
            self.selectors.get_mut(usize::from(*number)).is_some_and(|known| same(&known))
        })?;
        self.selectors.get_mut(usize::from(number))
    }

    /// Returns whether a rule hides an element and none shows it, or a class of a common framework does.
    pub(crate) fn hide(&self, element: &Element, node: NodeRef<'_, Node>) -> bool {
        let class = class_of(element);
        if !class.is_empty() && is_hidden_class(class) {
            // A title that readers of the screen do not need names the page all the same.
            return element.name() != "h1";
        }
        if self.by_name.is_empty() {
            return false;
        }
        let names = class.split_ascii_whitespace().chain(element.attr("id"));
        let mut hidden = false;
        for number in names.filter_map(|name| self.by_name.get(&hash(name))).flatten() {
            let Some(selector) = self.selectors.get(usize::from(*number)) else { continue };
            // Only one that can change the result.
            if (!selector.hides || !hidden) && selector.matches(element, node) {
                if !selector.hides {
                    return false;
                }
                hidden = true;
            }
        }
        hidden && !is_animated(class)
    }
}

/// Returns the `media` attribute of the start tag of a style sheet.
fn media_of(tag: &[u8]) -> Option<String> {
    let at = memmem::find(tag, b"media")?;
    let value = String::from_utf8_lossy(tag.get(at..)?).into_owned();
    let value = value.split_once('=')?.1.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let value = match quote {
        Some(quote) => value.get(1..)?.split(quote).next()?,
        None => value.split([' ', '>']).next()?,
    };
    Some(value.to_owned())
}

/// Returns whether a media query applies to a desktop; one with features other than the width does not.
fn applies(query: &str) -> bool {
    let query = query.to_ascii_lowercase();
    query.split(',').any(|query| {
        let mut parts = query.split(" and ").map(str::trim);
        parts.all(|part| {
            let feature = part.strip_prefix('(').and_then(|part| part.strip_suffix(')'));
            let Some((name, value)) = feature.and_then(|feature| feature.split_once(':')) else {
                return matches!(part, "" | "all" | "screen" | "only screen");
            };
            let Some(width) = pixels(value) else { return false };
            match name.trim() {
                "min-width" => width <= DESKTOP,
                "max-width" => width >= DESKTOP,
                _ => false,
            }
        })
    })
}

/// Returns a length in pixels, at 16 pixels an `em`.
fn pixels(value: &str) -> Option<f32> {
    let value = value.trim();
    let end = value.find(|c: char| c.is_ascii_alphabetic() || c == '%').unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let number: f32 = number.trim().parse().ok()?;
    let unit = unit.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    match unit {
        "px" | "" => Some(number),
        "em" | "rem" => Some(16.0 * number),
        _ => None,
    }
}

/// Returns whether an element with this class is shown by a script when it is scrolled to.
pub(crate) fn is_animated(class: &str) -> bool {
    class.split_ascii_whitespace().any(|name| ANIMATED.contains(&name))
}

fn class_of(element: &Element) -> &str {
    let class = element.attr("class").unwrap_or_default();
    class.get(..class.floor_char_boundary(MAX_CLASS)).unwrap_or_default()
}

fn hash(name: &str) -> u64 {
    FixedState::default().hash_one(name)
}

/// Calls `visit` with the selectors and the declarations of each rule outside of at-rules, and of those within media
/// queries that apply to a desktop.
fn each_rule(css: &str, mut visit: impl FnMut(&str, &str)) {
    let (mut at, mut start) = (0, 0);
    // Number of open blocks within an at-rule.
    let mut depth = 0u32;
    let bytes = css.as_bytes();
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr3(b'{', b'}', b'/', rest)) {
        let brace = at + found;
        at = brace + 1;
        if bytes.get(brace) == Some(&b'/') {
            let comment = bytes.get(at..).filter(|rest| rest.starts_with(b"*"));
            let end =
                comment.map(|rest| memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2));
            at += end.unwrap_or(0);
            continue;
        }
        let opens = bytes.get(brace) == Some(&b'{');
        if depth > 0 {
            depth = if opens { depth + 1 } else { depth - 1 };
            start = at;
            continue;
        }
        if !opens {
            start = at;
            continue;
        }
        let before = css.get(start..brace).unwrap_or_default();
        let before = before.rsplit_once("*/").map_or(before, |(_, after)| after);
        let before = before.rsplit_once(';').map_or(before, |(_, after)| after).trim();
        if let Some(rule) = before.strip_prefix('@') {
            if rule.strip_prefix("media").is_some_and(applies) {
                // Its end is read as that of a rule.
                start = at;
            } else {
                depth = 1;
            }
            continue;
        }
        let rest = css.get(at..).unwrap_or_default();
        let end = rest.find('}').unwrap_or(rest.len());
        visit(before, rest.get(..end).unwrap_or_default());
        at += end;
    }
}

/// Returns whether declarations hide or show an element; `None` if they do neither.
fn hides(declarations: &str) -> Option<bool> {
    let mut result = None;
    for declaration in declarations.split(';') {
        let Some((name, value)) = declaration.split_once(':') else { continue };
        let value = value.trim_start().to_ascii_lowercase();
        match name.trim().to_ascii_lowercase().as_str() {
            "display" => result = Some(value.starts_with("none")),
            "visibility" if value.starts_with("hidden") => result = Some(true),
            "visibility" if value.starts_with("visible") => result = Some(false),
            _ => {}
        }
    }
    if is_out_of_sight(declarations) { Some(true) } else { result }
}

/// Returns whether declarations move an element off the screen, or leave no room for it.
pub(crate) fn is_out_of_sight(declarations: &str) -> bool {
    let bytes = declarations.as_bytes();
    if !OUT_OF_SIGHT.iter().any(|part| memmem::find(bytes, part).is_some()) {
        return false;
    }
    let (mut flat, mut cut, mut away) = (false, false, false);
    for declaration in declarations.split(';') {
        let Some((name, value)) = declaration.split_once(':') else { continue };
        let value = value.trim().to_ascii_lowercase();
        match name.trim().to_ascii_lowercase().as_str() {
            "left" | "right" | "top" | "text-indent" => {
                away |= pixels(&value).is_some_and(|offset| offset <= OFF_SCREEN);
            }
            "clip" => away |= is_empty_clip(&value),
            "height" => flat = pixels(&value) == Some(0.0),
            "overflow" => cut |= value.starts_with("hidden"),
            "opacity" => cut |= pixels(&value) == Some(0.0),
            _ => {}
        }
    }
    away || flat && cut
}

/// Returns whether a value of `clip` leaves at most a pixel, as frameworks do with text for screen readers.
fn is_empty_clip(value: &str) -> bool {
    let numbers = value.strip_prefix("rect(").and_then(|rest| rest.split(')').next());
    numbers.is_some_and(|numbers| {
        let mut numbers = numbers.split([',', ' ']).filter(|number| !number.is_empty());
        numbers.all(|number| pixels(number).is_some_and(|size| size <= 1.0))
    })
}

/// Classes of common frameworks that hide an element on a desktop, until a script removes them, and those of text for
/// screen readers.
fn is_hidden_class(class: &str) -> bool {
    let (mut hides, mut modal, mut fades) = (false, false, false);
    // The width from which on the last class applies, of those that apply to a desktop.
    let mut widest = 0;
    for name in class.split_ascii_whitespace() {
        if let Some((width, shows)) = from_width(name) {
            if width >= widest {
                (widest, hides) = (width, !shows);
            }
            continue;
        }
        match name {
            "d-none" | "hidden" | "is-hidden" => hides |= widest == 0,
            "visible-xs"
            | "visible-sm"
            | "hidden-lg"
            | "show-for-small-only"
            | "hide-for-large" => hides = true,
            "visible-md" | "visible-lg" => return false,
            "sr-only" | "visually-hidden" | "visuallyhidden" | "screen-reader-text"
            | "screen-reader-only" | "element-invisible" | "a11y-hidden" => return true,
            "modal" => modal = true,
            "fade" => fades = true,
            "show" | "in" | "active" | "open" => return false,
            _ => {}
        }
    }
    hides || modal && fades
}

/// Reads a class that shows or hides from some width on, such as `md:block` and `d-lg-none`: the number of the width, and
/// whether it shows.
fn from_width(name: &str) -> Option<(usize, bool)> {
    let (width, display) = match name.split_once(':') {
        Some(parts) => parts,
        None => name.strip_prefix("d-")?.split_once('-')?,
    };
    let width = ["sm", "md", "lg", "xl"].iter().position(|known| *known == width)? + 1;
    let shows = match display {
        "none" | "hidden" => false,
        "block" | "flex" | "grid" | "inline" | "inline-block" | "inline-flex" | "contents"
        | "table" | "table-cell" | "table-row" => true,
        _ => return None,
    };
    Some((width, shows))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use scraper::Html;

    use super::*;

    /// Returns the ids of the hidden elements.
    fn hidden(page: &str) -> Vec<String> {
        let styles = Styles::of(page);
        let html = Html::parse_document(page);
        let elements = html.tree.root().descendants();
        let hidden = elements.filter_map(|node| {
            let element = node.value().as_element()?;
            styles.hide(element, node).then(|| element.attr("id").unwrap_or("?").to_owned())
        });
        hidden.collect()
    }

    #[test]
    fn rules_of_style_sheets_hide_what_they_name() {
        let page = "<style type=text/css>@charset 'x'; /* { */ .draft, body .post .note.internal\n{ DISPLAY: none !important }\
            #promo{color:red;visibility:hidden}p.a{display:none}.b{display:none}.b{display:block}</style>\
            <div class='post'><p id=1 class='x draft'></p><p id=2 class='note internal'></p><p id=3 class=note></p></div>\
            <p id=4 class='note internal'></p><p id=promo></p><p id=5 class=a></p><b id=6 class=a></b><p id=7 class=b></p>";
        assert_eq!(hidden(page), ["1", "2", "promo", "5"]);
    }

    #[test]
    fn rules_for_some_media_states_or_opened_elements_hide_nothing() {
        for css in [
            "@media print { .y{} .x { display: none } }",
            "@media (max-width:767px){.x{display:none}}",
            "@media (min-width:1920px){.x{display:none}}",
            "@media (max-width:1px){@supports (a:b){.x{display:none}}}",
            "@media screen and (orientation:portrait){.x{display:none}}",
            ".no-js .x{display:none}",
            ".x{left:-10px;height:0;clip:rect(0,40px,0,0)}",
            ".load-more .more-x,.x .spoiler{display:none}",
            ".x:not(.open){display:none}",
            ".js .x{display:none}",
            ".x + .x{display:none}",
            ".x{display:none}.x.y{display:block}",
            ".tab-x,.x .panel,.item-page_x{display:none}",
            "p{display:none}",
            ".x{display:none",
        ] {
            let page = format!("<style>{css}</style><p id=1 class='x y tab-x panel item-page_x'>");
            let wanted: &[&str] = if css.ends_with("none") { &["1"] } else { &[] };
            assert_eq!(hidden(&page), wanted, "{css}");
        }
        for media in ["print", "'(max-width: 600px)'", "\"screen and (max-width:9em)\""] {
            let page = format!("<style media={media}>.x{{display:none}}</style><p class=x>");
            assert!(hidden(&page).is_empty(), "{media}");
        }
        let animated =
            "<style>.wow,.x{visibility:hidden}</style><p id=1 class='wow x'><p id=2 class=x>";
        assert_eq!(hidden(animated), ["2"]);
    }

    #[test]
    fn rules_for_a_desktop_and_text_off_the_screen_hide() {
        for css in [
            "@media screen{.x{display:none}}",
            "@media only screen and (min-width:48em){.y{color:red}.x{display:none}}",
            "@media print,(min-width:768px){.x{display:none}}",
            ".x{position:absolute;left:-9999px}",
            ".x{text-indent:-999em}",
            ".x{left:-10000px}",
            ".x{clip:rect(0 0 0 0);width:1px}",
            ".x{clip:rect(1px, 1px, 1px, 1px)}",
            ".x{height:0;overflow:hidden}",
            ".x{opacity:0;height:0px}",
        ] {
            assert_eq!(hidden(&format!("<style>{css}</style><p id=1 class=x>")), ["1"], "{css}");
        }
        for media in ["all", "'screen'", "\"screen and (min-width: 600px)\""] {
            let page = format!("<style media={media}>.x{{display:none}}</style><p id=1 class=x>");
            assert_eq!(hidden(&page), ["1"], "{media}");
        }
        assert!(hidden("<h1 class=sr-only>Name</h1>").is_empty());
    }

    #[test]
    fn classes_of_frameworks_hide_unless_some_widths_show() {
        for class in [
            "d-none",
            "a hidden",
            "is-hidden",
            "modal fade",
            "d-block d-md-none",
            "d-none d-md-block d-xl-none",
            "block md:hidden",
            "visible-xs",
            "sr-only",
            "a screen-reader-text",
        ] {
            assert!(is_hidden_class(class), "{class}");
        }
        for class in [
            "hidden md:block",
            "d-none d-md-block",
            "modal fade show",
            "modal",
            "fade",
            "hidden-x",
            "max-md:hidden",
            "hidden-xs",
            "visible-xs visible-lg",
            "hover:hidden",
            "md:hidden lg:flex",
        ] {
            assert!(!is_hidden_class(class), "{class}");
        }
    }

    #[test]
    fn very_many_rules_and_bytes_are_limited() {
        let rule = |number: usize| format!(".c{number}{{display:none}}");
        let css: String = (0..100_000).map(rule).collect();
        let styles = Styles::of(&format!("<style>{css}</style>"));
        assert_eq!(styles.selectors.len(), MAX_SELECTORS);
        let css: String = (0..100).map(|n| format!(".a{n} .b{{display:none}}")).collect();
        assert_eq!(Styles::of(&format!("<style>{css}</style>")).selectors.len(), MAX_OF_NAME);
        let deep = format!("<style>{}</style>", "@media x{".repeat(100_000));
        assert!(Styles::of(&deep).selectors.is_empty());
        let styles = Styles::of(&"<style>.a{display:none}</style>".repeat(1000));
        assert_eq!(styles.selectors.len(), 1);
    }

    proptest! {
        #[test]
        fn no_style_sheet_makes_it_panic(css in "[.#a-c{}@:;,*/ <>\\\\é\n]{0,80}|display:none|<style>") {
            let page = format!("<style>{css}</style><style>.a{{display:none}}{css}<p class=a id=b>{css}");
            let _ = hidden(&page);
        }
    }
}
