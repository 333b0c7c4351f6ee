//! Code in rows of a table or of boxes, as file viewers and highlighters write it: its rows become one block like that
//! of `<pre>`. [`crate::line_numbers`] drops the numbers of its lines.

use crate::blocks::{Page, RawBlock, Tag};
use crate::class_words::Marks;

/// Of code, at least one character in this number is a sign that prose hardly has.
const SIGN_PART: usize = 25;
/// Maximum mean length of a row in bytes. Paragraphs are longer.
const MAX_ROW: usize = 120;

/// Joins the rows of each element that is named as code to one block, if they read like code.
///
/// # Complexity
/// Linear in blocks and elements.
pub(crate) fn join_rows_of_code(page: &mut Page) {
    if !page.elements.iter().any(|element| element.marks.has(Marks::CODE)) {
        return;
    }
    // Elements with paragraphs or headings contain more than code.
    let mut prose = vec![0u32; page.elements.len()];
    for block in &page.blocks {
        let tag = page.elements.get(block.element).map_or(Tag::Other, |element| element.tag);
        let is_prose = block.heading > 0 || matches!(tag, Tag::Paragraph | Tag::Quote);
        prose.get_mut(block.element).into_iter().for_each(|sum| *sum += u32::from(is_prose));
    }
    page.carry_up(&mut prose, |parent, child| *parent += child);
    // For each element the outermost element of code around it, or 0.
    let mut outermost: Vec<usize> = Vec::with_capacity(page.elements.len());
    for (at, element) in page.elements.iter().enumerate() {
        let above = outermost.get(element.parent).copied().unwrap_or(0);
        let own = element.marks.has(Marks::CODE) && prose.get(at) == Some(&0);
        outermost.push(if above == 0 && own { at } else { above });
    }
    let code_of = |block: &RawBlock| outermost.get(block.element).copied().unwrap_or(0);
    let mut blocks: Vec<RawBlock> = Vec::with_capacity(page.blocks.len());
    let mut rows: Vec<RawBlock> = Vec::new();
    let mut joined = Vec::new();
    let mut finish = |rows: &mut Vec<RawBlock>, code: usize, blocks: &mut Vec<RawBlock>| {
        if code > 0 && is_code(rows) {
            joined.push(code);
            blocks.push(join(rows, code));
        } else {
            blocks.append(rows);
        }
    };
    let mut code = 0;
    for block in std::mem::take(&mut page.blocks) {
        if code_of(&block) != code {
            finish(&mut rows, code, &mut blocks);
            code = code_of(&block);
        }
        rows.push(block);
    }
    finish(&mut rows, code, &mut blocks);
    page.blocks = blocks;
    for element in joined {
        if let Some(element) = page.elements.get_mut(element) {
            element.tag = Tag::Pre;
        }
    }
}

/// Joins rows, and leaves `rows` empty.
fn join(rows: &mut Vec<RawBlock>, element: usize) -> RawBlock {
    let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
    let text = texts.join("\n");
    let (link_chars, links) =
        rows.iter().fold((0, 0), |(chars, links), row| (chars + row.link_chars, links + row.links));
    let first = rows.first().cloned().unwrap_or_default();
    let last = rows.last().map_or(first.numbers.1, |row| row.numbers.1);
    rows.clear();
    RawBlock { text, link_chars, links, element, numbers: (first.numbers.0, last), ..first }
}

/// Returns whether rows are at least two lines of code.
fn is_code(rows: &[RawBlock]) -> bool {
    let alike = |row: &RawBlock| {
        rows.first()
            .is_some_and(|first| (first.hidden, first.structure) == (row.hidden, row.structure))
    };
    if rows.len() < 2 || !rows.iter().all(alike) {
        return false;
    }
    let (mut bytes, mut chars, mut signs, mut linked) = (0, 0, 0, 0);
    for row in rows {
        bytes += row.text.len();
        linked += row.link_chars;
        for c in row.text.chars().filter(|c| !c.is_whitespace()) {
            chars += 1;
            signs += usize::from(is_sign(c));
        }
    }
    let lines: usize = rows.iter().map(|row| row.text.lines().count()).sum();
    signs * SIGN_PART >= chars && bytes <= MAX_ROW * lines && 2 * linked <= chars
}

/// Returns whether a character is frequent in code and rare in prose.
const fn is_sign(c: char) -> bool {
    matches!(
        c,
        '(' | ')'
            | '{'
            | '}'
            | '['
            | ']'
            | ';'
            | '='
            | '<'
            | '>'
            | '_'
            | '/'
            | '\\'
            | '|'
            | '&'
            | '*'
            | '#'
            | '$'
            | '@'
            | '^'
            | '~'
            | '+'
            | '`'
            | '"'
            | '%'
    )
}
