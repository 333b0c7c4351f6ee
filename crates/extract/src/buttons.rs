//! Buttons within sentences, whose texts belong to the text: terms of a glossary, names of keys.

use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use scraper::Node;

/// Maximum number of nodes that are read of a paragraph, and of ancestors up to it.
const MAX_NODES: usize = 128;
const MAX_ABOVE: usize = 4;
/// Minimum number of words beside its buttons that make a paragraph a sentence, and the multiple of their words.
const LEAST_WORDS: usize = 5;
const SHARE: usize = 2;

/// Returns whether a button is part of a sentence: words follow it directly after text, or its paragraph has
/// at least five words and twice as many as its buttons.
///
/// # Complexity
/// Constant: it reads at most 128 nodes.
pub(crate) fn is_in_sentence(button: NodeRef<'_, Node>, after_text: bool) -> bool {
    let next = button.next_sibling();
    let text = next.as_ref().and_then(|next| next.value().as_text());
    if after_text && text.is_some_and(|text| text.contains(char::is_alphanumeric)) {
        return true;
    }
    let is_paragraph = |node: &NodeRef<'_, Node>| {
        node.value()
            .as_element()
            .is_some_and(|e| matches!(e.name(), "p" | "li" | "dd" | "blockquote"))
    };
    let paragraph = button.ancestors().take(MAX_ABOVE).find(is_paragraph);
    paragraph.is_some_and(|paragraph| {
        let (own, buttons) = words(paragraph);
        own >= LEAST_WORDS && own >= SHARE * buttons
    })
}

/// Returns the number of words beside the buttons of an element, and of those in them. A wide character is half a word.
fn words(element: NodeRef<'_, Node>) -> (usize, usize) {
    let (mut own, mut inside, mut open) = (0, 0, 0u32);
    for edge in element.traverse().take(MAX_NODES) {
        let (node, opens) = match edge {
            Edge::Open(node) => (node, true),
            Edge::Close(node) => (node, false),
        };
        match node.value() {
            Node::Element(element) if element.name() == "button" => {
                open = if opens { open + 1 } else { open.saturating_sub(1) };
            }
            Node::Text(text) if opens => {
                let wide = text.chars().filter(|c| !c.is_ascii()).count() / 2;
                let words = text.split_whitespace().count().max(wide);
                if open > 0 { inside += words } else { own += words }
            }
            _ => {}
        }
    }
    (own, inside)
}
