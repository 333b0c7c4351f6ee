//! Code that is shown in rows of a table or in rows of boxes, with line numbers beside it.

use super::{PROSE, keeps, page};

const RUST: [&str; 14] = [
    "use std::io::{self, BufRead};",
    "struct Tide { height: f64, minute: u32 }",
    "impl Tide {",
    "fn parse(line: &str) -> Option<Tide> {",
    "let (minute, height) = line.split_once(';')?;",
    "Some(Tide { height: height.parse().ok()?, minute: minute.parse().ok()? })",
    "}",
    "}",
    "fn main() -> io::Result<()> {",
    "for line in io::stdin().lock().lines() {",
    "if let Some(tide) = Tide::parse(&line?) { println!(\"{}\", tide.height) }",
    "}",
    "Ok(())",
    "}",
];

const PYTHON: [&str; 12] = [
    "import csv",
    "import sys",
    "from collections import Counter",
    "def harbours(path):",
    "with open(path, newline='') as file:",
    "for row in csv.DictReader(file):",
    "yield row['harbour'], int(row['boats'])",
    "def main():",
    "total = Counter()",
    "for name, boats in harbours(sys.argv[1]):",
    "total[name] += boats",
    "print(total.most_common(5))",
];

fn escaped(line: &str) -> String {
    line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn rows(lines: &[&str], row: impl Fn(usize, &str) -> String) -> String {
    lines.iter().enumerate().map(|(at, line)| row(at + 1, &escaped(line))).collect()
}

/// No line number is in the text: neither alone in its line nor before the code.
#[track_caller]
fn without_numbers(text: &str, lines: &[&str]) {
    for (at, line) in lines.iter().enumerate() {
        let number = (at + 1).to_string();
        assert!(
            !text.lines().any(|line| line.trim() == number),
            "number {number} is kept:\n{text}"
        );
        let numbered =
            |kept: &str| kept.strip_prefix(&number).is_some_and(|rest| rest.trim() == *line);
        assert!(!text.lines().any(numbered), "number {number} is kept before its line:\n{text}");
    }
}

#[test]
fn a_file_in_a_viewer_with_a_table_of_rows_is_the_text() {
    let code = rows(&RUST, |n, line| {
        let words: Vec<String> =
            line.split(' ').map(|w| format!("<span class=pl-k>{w}</span>")).collect();
        let line = words.join(" ");
        format!(
            "<tr><td id=L{n} class='blob-num js-line-number' data-line-number={n}></td>\
             <td id=LC{n} class='blob-code blob-code-inner js-file-line'>{line}</td></tr>"
        )
    });
    let body = format!(
        "<main><div class=file-navigation><a href=/tree>src</a> / <b>tide.rs</b></div><div class=file-header>\
         <div class=file-info>14 lines (14 sloc) 412 Bytes</div><a href=/raw>Raw</a><a href=/blame>Blame</a></div>\
         <div class='blob-wrapper data type-rust'><table class='highlight tab-size js-file-line-container'>\
         <tbody>{code}</tbody></table></div></main>"
    );
    let document = keeps(&page("tide.rs", &body), &[&RUST.join("\n")], &["Blame"]);
    without_numbers(&document.text, &RUST);
}

#[test]
fn a_file_whose_rows_have_their_numbers_as_text_is_the_text() {
    for code in [
        format!(
            "<table class=code-listing>{}</table>",
            rows(&PYTHON, |n, line| format!(
                "<tr class=line><td class=lineno>{n}</td><td class=source><code>{line}</code></td></tr>"
            ))
        ),
        format!(
            "<div class=code-view>{}</div>",
            rows(&PYTHON, |n, line| format!(
                "<div class=code-line><span class=line-number>{n}</span><span class=code>{line}</span></div>"
            ))
        ),
        format!(
            "<div class='source-code' role=presentation>{}</div>",
            rows(&PYTHON, |n, line| format!(
                "<div class=view-line><div class=gutter>{n}</div><div class=content>{line}</div></div>"
            ))
        ),
    ] {
        let body = format!(
            "<h1>harbours.py</h1><p><a href=/raw>Raw</a> <a href=/log>History</a></p>{code}"
        );
        let document = keeps(&page("harbours.py", &body), &[&PYTHON.join("\n")], &["History"]);
        without_numbers(&document.text, &PYTHON);
    }
}

#[test]
fn code_in_an_article_is_text_beside_its_paragraphs() {
    let numbers: String =
        (1..=12).map(|n| format!("<div class='line number{n} index{n} alt1'>{n}</div>")).collect();
    let boxes = rows(&PYTHON, |n, line| {
        format!("<div class='line number{n} index{n} alt2'><code class=plain>{line}</code></div>")
    });
    let list: String = (1..=12).map(|n| format!("{n}\n")).collect();
    let pre = rows(&PYTHON, |_, line| format!("<span class=k>{line}</span>\n"));
    for code in [
        format!(
            "<div class='syntaxhighlighter python'><table border=0><tbody><tr><td class=gutter>{numbers}</td>\
             <td class=code><div class=container>{boxes}</div></td></tr></tbody></table></div>"
        ),
        format!(
            "<div class=highlight><table class=highlighttable><tr><td class=linenos><div class=linenodiv><pre>{list}\
             </pre></div></td><td class=code><div class=highlight><pre>{pre}</pre></div></td></tr></table></div>"
        ),
        format!(
            "<figure class='highlight python'><table><tr><td class=gutter><pre>{}</pre></td><td class=code><pre>{}\
             </pre></td></tr></table></figure>",
            (1..=12).map(|n| format!("<span class=line>{n}</span><br>")).collect::<String>(),
            rows(&PYTHON, |_, line| format!("<span class=line>{line}</span><br>")),
        ),
        format!(
            "<ol class=prettyprint>{}</ol>",
            rows(&PYTHON, |n, line| format!("<li class=L{n}><code>{line}</code></li>"))
        ),
        format!(
            "<div class='crayon-syntax'><table class=crayon-table><tr class=crayon-row><td class='crayon-nums'>\
             <div class=crayon-nums-content>{}</div></td><td class=crayon-code><div class=crayon-pre>{}</div></td></tr>\
             </table></div>",
            (1..=12).map(|n| format!("<div class=crayon-num>{n}</div>")).collect::<String>(),
            rows(&PYTHON, |_, line| format!("<div class=crayon-line>{line}</div>")),
        ),
    ] {
        let [first, second, third, ..] = PROSE;
        let body = format!(
            "<article><h1>Counting the boats of a harbour</h1><p>{first}</p><p>{second}</p>{code}<p>{third}</p></article>"
        );
        let code = PYTHON.join("\n");
        let document =
            keeps(&page("Counting the boats", &body), &[first, second, &code, third], &["Jobs"]);
        without_numbers(&document.text, &PYTHON);
        assert!(document.text.contains("import csv"), "{}", document.text);
        assert!(document.text.contains("total[name] += boats"), "{}", document.text);
    }
}

#[test]
fn prose_in_a_box_that_is_named_code_stays_in_paragraphs() {
    let [first, second, third, ..] = PROSE;
    let body = format!(
        "<article class=code-of-conduct><h1>Our code of conduct</h1><div class=code><p>{first}</p><p>{second}</p>\
         <ol><li>Be on time.</li><li>Bring your own cup.</li></ol><p>{third}</p></div></article>"
    );
    let document = keeps(&page("Our code of conduct", &body), &[first, second, third], &[]);
    assert!(document.blocks.iter().any(|block| block.text == second));
}

#[test]
fn numbers_in_a_table_of_results_are_no_line_numbers() {
    let [first, second, ..] = PROSE;
    let results: String = ["Anna Berg", "Olaf Lund", "Mary Hill", "Jan Novak"]
        .iter()
        .enumerate()
        .map(|(at, name)| {
            format!("<tr><td class=number>{}</td><td>{name}</td><td>{}</td></tr>", at + 1, 90 - at)
        })
        .collect();
    let body = format!(
        "<article><h1>The regatta of this year</h1><p>{first}</p><table class=results><tr><th>Place</th><th>Name</th>\
         <th>Points</th></tr>{results}</table><p>{second}</p></article>"
    );
    let document = keeps(&page("The regatta", &body), &[first, second], &[]);
    for cell in ["1", "4", "90", "87"] {
        assert!(document.blocks.iter().any(|block| block.text == cell), "{cell}");
    }
}
