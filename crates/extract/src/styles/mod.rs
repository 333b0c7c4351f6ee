//! Elements that a page's style sheets hide on a desktop, by rules without states.

mod declarations;
mod frameworks;
mod selector;

use std::cell::Cell;
use std::collections::HashMap;

use ego_tree::NodeRef;
use foldhash::fast::RandomState;
use html5ever::local_name;
use memchr::{memchr3, memmem};
use scraper::Node;
use scraper::node::Element;

pub(crate) use self::declarations::{is_out_of_sight, is_unreadable};
pub(crate) use self::frameworks::is_animated;

use self::declarations::{Effect, effect, has_far_offset, pixels};
use self::frameworks::is_hidden_class;
use self::selector::{Key, Selector, class_of, value_of};

/// Maximum number of bytes of style sheets that are read of a page, and of elements with one.
const MAX_CSS: usize = 256 << 10;
const MAX_SHEETS: usize = 64;
/// Maximum number of selectors that are kept, and of bytes of one.
const MAX_SELECTORS: usize = 512;
const MAX_SELECTOR: usize = 200;
/// Maximum number of selectors that name one class, id, attribute or tag.
const MAX_OF_NAME: usize = 4;
/// Maximum cost of comparing the elements of a page and their ancestors with selectors. Beyond it nothing is hidden.
const MAX_STEPS: u32 = 4_000_000;
/// Maximum number of attributes of an element that are compared.
const MAX_ATTRIBUTES: usize = 32;

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
/// Classes for which a script is not running.
const WITHOUT_SCRIPT: [&str; 2] = ["no-js", "nojs"];
/// Parts of declarations that hide, to skip other style sheets.
const HIDING: [&[u8]; 6] = [b"none", b"hidden", b"collapse", b"rect(", b"inset(", b"opacity"];
/// Width of a desktop in CSS pixels, for media queries and for classes of frameworks.
const DESKTOP: f32 = 1280.0;

/// Rules that hide elements, and rules that show them in spite of those.
#[derive(Debug)]
pub(crate) struct Styles {
    rules: Vec<Rule>,
    /// Numbers of rules by the hash of a [`Key`].
    by_key: HashMap<u64, Vec<u16>, RandomState>,
    /// Whether a key is an attribute, and whether one is a tag.
    of_attributes: bool,
    of_tags: bool,
    /// Number of comparisons that are left, see [`MAX_STEPS`].
    steps: Cell<u32>,
}

impl Default for Styles {
    fn default() -> Self {
        let (rules, by_key) = Default::default();
        Self { rules, by_key, of_attributes: false, of_tags: false, steps: Cell::new(MAX_STEPS) }
    }
}

#[derive(Debug)]
struct Rule {
    selector: Selector,
    effect: Effect,
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
            let hides = HIDING.iter().any(|part| memmem::find(css, part).is_some());
            if hides || has_far_offset(css) {
                each_rule(&String::from_utf8_lossy(css), |selectors, declarations| {
                    styles.rule(selectors, declarations);
                });
            }
        }
        styles
    }

    fn rule(&mut self, selectors: &str, declarations: &str) {
        let Some(effect) = effect(declarations) else { return };
        if effect == Effect::Empties && names_custom_elements(selectors) {
            return;
        }
        for text in selectors.split(',').map(str::trim) {
            let opened = || {
                let last = text.rsplit(' ').next().unwrap_or_default().to_ascii_lowercase();
                OPENED.iter().any(|name| last.contains(name))
            };
            let no_script = || WITHOUT_SCRIPT.iter().any(|name| text.contains(name));
            let hides = effect != Effect::Shows;
            if text.len() > MAX_SELECTOR || hides && (opened() || no_script()) {
                continue;
            }
            let Some(selector) = Selector::read(text) else { continue };
            let last = &selector.last;
            if effect == Effect::Empties && last.is_general() || hides && last.waits_for_script() {
                continue;
            }
            self.add(Rule { selector, effect });
        }
    }

    fn add(&mut self, rule: Rule) {
        if self.rules.len() >= MAX_SELECTORS {
            return;
        }
        let Selector { last, above } = &rule.selector;
        let Some(key) = last.key() else { return };
        let of_key = self.by_key.entry(key.hash()).or_default();
        // A later rule for the same elements replaces the earlier one.
        for number in of_key.iter() {
            let Some(known) = self.rules.get_mut(usize::from(*number)) else { continue };
            if (&known.selector.last, &known.selector.above) == (last, above) {
                known.effect = rule.effect;
                return;
            }
        }
        // What is shown must not depend on the number of rules that hide.
        if of_key.len() < MAX_OF_NAME || rule.effect == Effect::Shows {
            of_key.push(self.rules.len() as u16);
            self.of_attributes |= matches!(key, Key::Attribute(_) | Key::Value(..));
            self.of_tags |= matches!(key, Key::Tag(_));
            self.rules.push(rule);
        }
    }

    /// Returns whether a rule hides an element and none shows it, or a class of a common framework does.
    pub(crate) fn hide(&self, element: &Element, node: NodeRef<'_, Node>) -> bool {
        let class = class_of(element);
        if !class.is_empty() && is_hidden_class(class) {
            // A title that readers of the screen do not need names the page all the same.
            return element.name() != "h1";
        }
        if self.by_key.is_empty() {
            return false;
        }
        let names = class
            .split_ascii_whitespace()
            .chain(value_of(element, &local_name!("id")))
            .map(Key::Name);
        let attributes = element.attrs().take(if self.of_attributes { MAX_ATTRIBUTES } else { 0 });
        let attributes =
            attributes.flat_map(|(name, value)| [Key::Attribute(name), Key::Value(name, value)]);
        let tag = self.of_tags.then(|| Key::Tag(element.name()));
        let mut hidden = false;
        for key in names.chain(attributes).chain(tag) {
            for number in self.by_key.get(&key.hash()).into_iter().flatten() {
                let Some(rule) = self.rules.get(usize::from(*number)) else { continue };
                // Only one that can change the result.
                let hides = rule.effect != Effect::Shows;
                if (!hides || !hidden) && rule.selector.matches(element, node, &self.steps) {
                    if !hides {
                        return false;
                    }
                    hidden = true;
                }
            }
        }
        hidden && !is_animated(class)
    }
}

/// Returns whether a list of selectors contains a custom element without a class or an id.
fn names_custom_elements(selectors: &str) -> bool {
    selectors.split(',').filter_map(|text| text.split_ascii_whitespace().next_back()).any(|last| {
        last.contains('-') && last.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
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
            ".x{top:-200px;border-collapse:collapse}",
            ".x{clip-path:inset(0 50% 0 0)}",
            ".x{clip-path:inset(10%)}",
            ".x{opacity:0;transform:scale(0);max-height:0}",
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
            ".x{position:absolute;top:-2000px}",
            ".x{visibility:collapse}",
            ".x{clip-path:inset(50%)}",
            ".x{-webkit-clip-path: inset( 100% )}",
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
    fn rules_for_attributes_and_tags_hide_unless_they_wait_for_a_script() {
        for (css, wanted) in [
            ("[data-state=draft]{display:none}", &["1"][..]),
            ("[data-state=\"draft\"]{display:none}", &["1"]),
            ("main [DATA-STATE]{display:none}", &["1", "2"]),
            ("p[data-state^='dr']{display:none}", &["1"]),
            ("[data-state$=ed]{display:none}", &["2"]),
            ("[data-state*=lish],[data-state~=x]{display:none}", &["2"]),
            ("[lang|=de]{display:none}", &["3"]),
            ("x-note,del{display:none}", &["4", "5"]),
            ("del{display:none}del{display:inline}", &[]),
            ("[data-state]{display:none}[data-state=draft]{display:block}", &["2"]),
            ("x-note,.small,x-card a-b{visibility:hidden}", &[]),
            ("del{visibility:hidden}", &[]),
            ("[data-state]{visibility:hidden}", &[]),
            ("[v-cloak],[data-aos],[data-state][data-animate]{display:none}", &[]),
            ("form,header{display:none}", &[]),
            ("[data-state,p,span,[=a],[data-state='a']b,.small:hover{display:none}", &[]),
        ] {
            let page = format!(
                "<style>{css}</style><main><p id=1 data-state=draft>a<p id=2 data-state=published>b\
                <p id=3 lang=de-at v-cloak data-aos=x>c</p><x-note id=4>d</x-note><del id=5>e</del>\
                <p id=6 class='small same'>f</p><p id=7 class=small><b>g</b></p></main>"
            );
            assert_eq!(hidden(&page), wanted, "{css}");
        }
        // A rule that shows elements is never dropped, however many rules its class has.
        let hides: String = (0..9).map(|n| format!(".a{n} .x{{display:none}}")).collect();
        let page = |shows: &str| {
            format!("<style>{hides}{shows}</style><main class=a0><p id=1 class=x>a</main>")
        };
        assert_eq!(hidden(&page("")), ["1"]);
        assert!(hidden(&page("main .x{display:block}")).is_empty());
        // The language that is shown is the fifth of its attribute.
        let languages = ["fr", "es", "en", "it", "de"];
        let shows = languages.map(|of| format!("[lang={of}] [data-lang={of}]{{display:block}}"));
        let page = format!(
            "<html lang=de><style>[data-lang]{{display:none}}{}</style><p id=1 data-lang=fr>a<p id=2 data-lang=de>b",
            shows.concat()
        );
        assert_eq!(hidden(&page), ["1"]);
    }

    #[test]
    fn very_many_rules_and_bytes_are_limited() {
        let rule = |number: usize| format!(".c{number}{{display:none}}");
        let css: String = (0..100_000).map(rule).collect();
        let styles = Styles::of(&format!("<style>{css}</style>"));
        assert_eq!(styles.rules.len(), MAX_SELECTORS);
        let css: String = (0..100).map(|n| format!(".a{n} .b{{display:none}}")).collect();
        assert_eq!(Styles::of(&format!("<style>{css}</style>")).rules.len(), MAX_OF_NAME);
        // Comparisons of attributes with the ancestors of each element.
        let conditions = "[a~=x]".repeat(7);
        let rules: String =
            (0..32).map(|n| format!("{conditions}[b] [d{n}]{{display:none}}")).collect();
        let deep = format!("<div a='{}x'>", "y ".repeat(20)).repeat(31);
        let names: String = (0..32).map(|n| format!(" d{n}")).collect();
        let page = format!(
            "<style>{rules}.late{{display:none}}</style>{deep}{}<p class=late>",
            format!("<b{names}></b>").repeat(5_000)
        );
        let styles = Styles::of(&page);
        let html = Html::parse_document(&page);
        for node in html.tree.root().descendants() {
            let element = node.value().as_element();
            assert!(!element.is_some_and(|element| styles.hide(element, node)));
        }
        assert_eq!(styles.steps.get(), 0);
        let deep = format!("<style>{}</style>", "@media x{".repeat(100_000));
        assert!(Styles::of(&deep).rules.is_empty());
        let styles = Styles::of(&"<style>.a{display:none}</style>".repeat(1000));
        assert_eq!(styles.rules.len(), 1);
    }

    proptest! {
        #[test]
        fn no_style_sheet_makes_it_panic(css in "[.#a-c{}@:;,*/ <>=^\"\\[\\]\\\\é\n]{0,80}|display:none|<style>") {
            let page = format!("<style>{css}</style><style>.a{{display:none}}{css}<p class=a id=b>{css}");
            let _ = hidden(&page);
        }
    }
}
