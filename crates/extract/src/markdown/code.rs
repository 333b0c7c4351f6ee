//! The language of a code block, from the classes that highlighters give.

use ego_tree::NodeRef;
use scraper::Node;
use scraper::node::Element;

use crate::elements::attribute;

/// Longest name of a language, in bytes.
const MAX_LANGUAGE: usize = 24;
/// How far above a code block the element may be that names its language.
const DEPTH: usize = 5;
/// Number of nodes below a code block that may name its language.
const BELOW: usize = 4;

/// Names that a class may have without a prefix.
const KNOWN: &[&str] = &[
    "asm",
    "bash",
    "c",
    "clojure",
    "c++",
    "cpp",
    "csharp",
    "css",
    "diff",
    "dockerfile",
    "elixir",
    "erlang",
    "go",
    "haskell",
    "html",
    "ini",
    "java",
    "javascript",
    "js",
    "json",
    "julia",
    "kotlin",
    "latex",
    "lisp",
    "lua",
    "makefile",
    "nginx",
    "ocaml",
    "perl",
    "php",
    "powershell",
    "protobuf",
    "python",
    "r",
    "ruby",
    "rust",
    "scala",
    "scheme",
    "sh",
    "shell",
    "sql",
    "swift",
    "toml",
    "ts",
    "typescript",
    "vb",
    "vim",
    "xml",
    "yaml",
    "zsh",
];

/// What precedes the language in a class.
const PREFIXES: [&str; 7] =
    ["language-", "lang-", "lang:", "highlight-source-", "mw-highlight-lang-", "brush:", "source-"];

/// Names that name no language.
const NONE: &[&str] =
    &["auto", "default", "highlight", "nohighlight", "none", "plain", "plaintext", "text", "txt"];

/// Returns the language of a code block, or `""`: of the block, the first elements in it, or those around it.
///
/// # Complexity
/// Constant, and linear in the classes of at most eight elements.
pub(super) fn language(node: NodeRef<'_, Node>) -> String {
    let below = node.children().take(BELOW);
    let own = std::iter::once(node).chain(below).filter_map(|node| node.value().as_element());
    let above = node.ancestors().take(DEPTH).filter_map(|node| node.value().as_element());
    let own = own.filter_map(|element| of_element(element, true));
    own.chain(above.filter_map(|element| of_element(element, false))).next().unwrap_or_default()
}

/// Names without a prefix count only for the `own` element.
fn of_element(element: &Element, own: bool) -> Option<String> {
    for name in ["data-lang", "data-language", "data-enlighter-language"] {
        if let Some(value) = attribute(element, name) {
            return cleaned(value);
        }
    }
    // Elsewhere these attributes name other things.
    let by_name = |name| attribute(element, name).map(str::to_ascii_lowercase);
    let mut named = ["syntax", "lang"].into_iter().filter_map(by_name);
    if let Some(name) = named.find(|name| own && KNOWN.contains(&name.as_str())) {
        return Some(name);
    }
    let class = attribute(element, "class")?;
    let mut words = class.split_ascii_whitespace().peekable();
    let is_sphinx = class.contains("notranslate");
    let is_language = |name: &&str| KNOWN.contains(name) || is_sphinx;
    let is_named = ["hljs", "sourceCode", "prettyprint", "highlight", "prism", "code"]
        .iter()
        .any(|name| class.split_ascii_whitespace().any(|word| word == *name));
    while let Some(word) = words.next() {
        let name = match word {
            "brush:" => words.peek().copied(),
            _ => None,
        };
        let prefixed = PREFIXES
            .iter()
            .find_map(|prefix| word.strip_prefix(prefix))
            .or_else(|| word.strip_prefix("highlight-text-").map(|_| text_name(word)))
            .or_else(|| word.strip_prefix("highlight-").filter(is_language));
        let bare = Some(word).filter(|word| (own || is_named) && KNOWN.contains(word));
        if let Some(name) = name.or(prefixed).filter(|name| !name.is_empty()).or(bare) {
            return cleaned(name);
        }
    }
    None
}

/// GitHub's names of markup languages: `highlight-text-html-basic`.
fn text_name(word: &str) -> &'static str {
    if word.contains("html") {
        "html"
    } else if word.contains("xml") {
        "xml"
    } else {
        "markdown"
    }
}

/// Returns a name without characters that Markdown reads. `None` if it names no language.
fn cleaned(name: &str) -> Option<String> {
    let is_part = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '.' | '_');
    let name: String = name.chars().take_while(is_part).collect::<String>().to_ascii_lowercase();
    let fits = !name.is_empty() && name.len() <= MAX_LANGUAGE && !NONE.contains(&&*name);
    fits.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_of_highlighters_name_the_language() {
        for (html, expected) in [
            ("<pre><code class='language-rust'>", "rust"),
            ("<pre class='lang-py prettyprint'>", "py"),
            ("<div class='highlight highlight-source-shell'><pre>", "shell"),
            ("<div class='highlight highlight-text-html-basic'><pre>", "html"),
            ("<div class='highlight-python notranslate'><div class=highlight><pre>", "python"),
            ("<div class='highlight-default notranslate'><div class=highlight><pre>", ""),
            ("<pre class='brush: js notranslate'>", "js"),
            ("<pre><code class='hljs bash'>", "bash"),
            ("<pre class='sourceCode haskell'>", "haskell"),
            ("<pre data-lang='C++'>", "c++"),
            ("<pre class='language-plaintext'>", ""),
            ("<pre class='language-`x\n# y'>", ""),
            ("<div class='mw-highlight mw-highlight-lang-python mw-content-ltr'><pre>", "python"),
            ("<figure class='highlight python'><table><tr><td class=code><pre>", "python"),
            ("<pre data-enlighter-language='php'>", "php"),
            ("<pre class='lang:python decode:true'>", "python"),
            ("<div class='highlight-c++'><div class=highlight><pre>", "c++"),
            ("<pre syntax='Python'>", "python"),
            ("<pre lang='rust'>", "rust"),
            ("<pre lang='en'>", ""),
            ("<div class='highlight-box'><pre>", ""),
            ("<pre class='wide box'>", ""),
        ] {
            let page = scraper::Html::parse_fragment(html);
            let node = page.tree.nodes().find(|node| {
                node.value().as_element().is_some_and(|element| element.name() == "pre")
            });
            assert_eq!(language(node.unwrap()), expected, "{html}");
        }
    }
}
