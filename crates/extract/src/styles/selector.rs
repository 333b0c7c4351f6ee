//! Selectors of style sheets: names, classes, ids, attributes and ancestors. Those with states or siblings are not read.

use std::cell::Cell;
use std::hash::BuildHasher;

use ego_tree::NodeRef;
use foldhash::fast::FixedState;
use html5ever::{LocalName, local_name};
use scraper::Node;
use scraper::node::Element;

/// Maximum number of ancestors that are compared with a selector, and of bytes that are read of a class and of another
/// attribute.
const MAX_ANCESTORS: usize = 32;
const MAX_CLASS: usize = 512;
const MAX_VALUE: usize = 512;
/// Tags that a selector may name alone, beside custom elements. A rule that hides all paragraphs waits for a script.
const TAGS_ALONE: [&str; 4] = ["aside", "del", "dialog", "strike"];
/// Maximum number of classes and attributes of a compound.
const MAX_CONDITIONS: usize = 8;
/// Parts of attributes that a script removes when it has started or the element is scrolled to.
const UNTIL_SCRIPT: [&str; 6] = ["cloak", "anim", "aos", "reveal", "scroll", "lazy"];

/// The name by which selectors are found for an element.
#[derive(Hash)]
pub(super) enum Key<'n> {
    /// A class or an id.
    Name(&'n str),
    Attribute(&'n str),
    /// An attribute and its value.
    Value(&'n str, &'n str),
    Tag(&'n str),
}

impl Key<'_> {
    pub(super) fn hash(&self) -> u64 {
        FixedState::default().hash_one(self)
    }
}

/// An element's tag, classes, id and attributes, as far as a selector names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Compound {
    tag: String,
    classes: Vec<String>,
    id: String,
    attributes: Vec<Attribute>,
}

impl Compound {
    /// Reads `tag.class#id[name="value"]`; `None` for anything else, and with many conditions.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut compound = Self::default();
        let (tag, mut rest) = name(text);
        compound.tag = tag.to_ascii_lowercase();
        if text.is_empty() {
            return None;
        }
        while let Some(sign) = rest.chars().next() {
            let behind = rest.get(1..)?;
            if sign == '[' {
                let (inner, after) = behind.split_once(']')?;
                compound.attributes.push(Attribute::read(inner)?);
                rest = after;
                continue;
            }
            let (named, after) = name(behind);
            if named.is_empty() {
                return None;
            }
            match sign {
                '.' => compound.classes.push(named.to_owned()),
                '#' => named.clone_into(&mut compound.id),
                _ => return None,
            }
            rest = after;
        }
        let conditions = compound.classes.len() + compound.attributes.len();
        (conditions <= MAX_CONDITIONS).then_some(compound)
    }

    /// Returns whether it names an element by an attribute that is there until a script has run.
    pub(super) fn waits_for_script(&self) -> bool {
        let waits = |name: &str| UNTIL_SCRIPT.iter().any(|part| name.contains(part));
        self.attributes.iter().any(|attribute| waits(&attribute.name))
    }

    /// Returns whether it names an element by its tag or an attribute only.
    pub(super) fn is_general(&self) -> bool {
        self.classes.is_empty() && self.id.is_empty()
    }

    /// Returns the name by which an element finds this; `None` for tags that are not in [`TAGS_ALONE`].
    pub(super) fn key(&self) -> Option<Key<'_>> {
        let named = self.classes.first().unwrap_or(&self.id);
        if !named.is_empty() {
            return Some(Key::Name(named));
        }
        if let Some(attribute) = self.attributes.first() {
            return Some(match &attribute.value {
                Some((Operator::Equals, value)) => Key::Value(&attribute.name, value),
                _ => Key::Attribute(&attribute.name),
            });
        }
        let alone = self.tag.contains('-') || TAGS_ALONE.contains(&self.tag.as_str());
        alone.then_some(Key::Tag(&self.tag))
    }

    /// Returns the cost of a comparison: each condition reads up to [`MAX_VALUE`] bytes.
    const fn cost(&self) -> u32 {
        1 + 4 * (self.classes.len() + self.attributes.len()) as u32
    }

    fn matches(&self, element: &Element) -> bool {
        let classes = class_of(element);
        let has = |wanted: &String| classes.split_ascii_whitespace().any(|class| class == wanted);
        (self.tag.is_empty() || self.tag == element.name())
            && (self.id.is_empty() || value_of(element, &local_name!("id")) == Some(&self.id))
            && self.classes.iter().all(has)
            && self.attributes.iter().all(|attribute| attribute.matches(element))
    }
}

/// Splits a name from what follows it.
fn name(text: &str) -> (&str, &str) {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    text.split_at(text.find(|c| !is_name(c)).unwrap_or(text.len()))
}

/// Returns the classes of an element, as far as they are read.
pub(super) fn class_of(element: &Element) -> &str {
    let class = value_of(element, &local_name!("class")).unwrap_or_default();
    class.get(..class.floor_char_boundary(MAX_CLASS)).unwrap_or_default()
}

/// Returns an attribute's value. Names are atoms, so each comparison is one of integers.
pub(super) fn value_of<'a>(element: &'a Element, name: &LocalName) -> Option<&'a str> {
    element.attrs.iter().find(|(key, _)| key.local == *name).map(|(_, value)| &**value)
}

/// A condition on an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Attribute {
    name: String,
    value: Option<(Operator, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equals,
    Word,
    Begins,
    Ends,
    Contains,
    /// Equal, or followed by a hyphen.
    Dash,
}

impl Attribute {
    /// Reads `name`, `name=value` or `name^="value"`.
    fn read(text: &str) -> Option<Self> {
        let (named, rest) = name(text.trim());
        let (named, rest) = (named.to_ascii_lowercase(), rest.trim_start());
        if named.is_empty() {
            return None;
        }
        if rest.is_empty() {
            return Some(Self { name: named, value: None });
        }
        let (sign, value) = rest.split_once('=')?;
        let operator = match sign {
            "" => Operator::Equals,
            "~" => Operator::Word,
            "^" => Operator::Begins,
            "$" => Operator::Ends,
            "*" => Operator::Contains,
            "|" => Operator::Dash,
            _ => return None,
        };
        let value = value.trim().trim_matches(['"', '\'']);
        let plain = !value.is_empty() && !value.contains(['"', '\'', '\\']);
        plain.then(|| Self { name: named, value: Some((operator, value.to_owned())) })
    }

    fn matches(&self, element: &Element) -> bool {
        let Some(value) = element.attr(&self.name) else { return false };
        let value = value.get(..value.floor_char_boundary(MAX_VALUE)).unwrap_or_default();
        self.value.as_ref().is_none_or(|(operator, wanted)| match operator {
            Operator::Equals => value == wanted,
            Operator::Word => value.split_ascii_whitespace().any(|word| word == wanted),
            Operator::Begins => value.starts_with(wanted),
            Operator::Ends => value.ends_with(wanted),
            Operator::Contains => value.contains(wanted),
            Operator::Dash => value
                .strip_prefix(wanted)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-')),
        })
    }
}

#[derive(Debug)]
pub(super) struct Selector {
    /// The last part, which names the element itself.
    pub(super) last: Compound,
    /// Ancestors, the nearest first.
    pub(super) above: Vec<Compound>,
}

impl Selector {
    /// Reads a selector; a child counts as a descendant.
    pub(super) fn read(text: &str) -> Option<Self> {
        let parts = text.split([' ', '>', '\n', '\t']).filter(|part| !part.is_empty());
        let mut parts = parts.map(Compound::read).collect::<Option<Vec<_>>>()?;
        let last = parts.pop()?;
        parts.reverse();
        Some(Self { last, above: parts })
    }

    /// Returns whether an element matches. `steps` counts down by the [costs](Compound::cost); at 0 none matches.
    pub(super) fn matches(
        &self,
        element: &Element,
        node: NodeRef<'_, Node>,
        steps: &Cell<u32>,
    ) -> bool {
        let has_steps = |compound: &Compound| {
            steps.set(steps.get().saturating_sub(compound.cost()));
            steps.get() > 0
        };
        let mut above = self.above.iter().peekable();
        if !has_steps(&self.last) || !self.last.matches(element) {
            return false;
        }
        for ancestor in node.ancestors().take(MAX_ANCESTORS) {
            let Some(wanted) = above.peek() else { break };
            if !has_steps(wanted) {
                return false;
            }
            if ancestor.value().as_element().is_some_and(|element| wanted.matches(element)) {
                above.next();
            }
        }
        above.peek().is_none()
    }
}
