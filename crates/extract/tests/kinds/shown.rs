//! What a reader sees of a text: no hidden parts, the words of buttons in sentences, lines, whole tables.

use super::{PROSE, keeps, page, read};

const HIDDEN: &str = "This draft of a paragraph is not shown to any reader, because the editors have not agreed on it yet.";

#[test]
fn text_that_a_style_sheet_or_a_class_hides_is_no_text() {
    let hidden = |begin: &str| format!("{begin}{HIDDEN}</div>");
    for (style, part) in [
        (".x-draft{display:none}", hidden("<div class=x-draft>")),
        (
            "body .post .note.internal, .foo { display : none !important }",
            hidden("<div class='note internal'>"),
        ),
        ("#late{visibility:hidden}", hidden("<div id=late>")),
        ("", hidden("<div class=d-none>")),
        ("", hidden("<div class=hidden>")),
        ("", hidden("<div class='modal fade' tabindex=-1>")),
        ("", hidden("<div class='d-block d-lg-none'>")),
        ("", hidden("<div class=screen-reader-text>")),
        ("", hidden("<div style='position:absolute; left:-9999px'>")),
        ("", hidden("<div style='height:0;overflow:hidden'>")),
        ("", hidden("<div style='position:absolute; top:-2000px'>")),
        ("", hidden("<div style='visibility: collapse'>")),
        ("", hidden("<div style='clip-path: inset(50%)'>")),
        (".late{visibility:collapse}", hidden("<div class=late>")),
        (".late{clip-path:inset(100%)}", hidden("<div class=late>")),
        (".late{top:-2000px}", hidden("<div class=late>")),
        ("@media (min-width:640px){.phone{display:none}}", hidden("<div class=phone>")),
    ] {
        let all: Vec<String> = PROSE.iter().map(|text| format!("<p>{text}</p>")).collect();
        let (first, last) = all.split_at(4);
        let body = format!(
            "<style>{style}</style><main class=post><h1>Notes</h1>{}{part}{}</main>",
            first.concat(),
            last.concat()
        );
        keeps(&page("Notes", &body), &PROSE, &["This draft of a paragraph"]);
    }
}

#[test]
fn text_that_a_style_sheet_hides_on_paper_or_before_a_click_is_text() {
    for (style, class) in [
        ("@media print{.entry{display:none}}", "entry"),
        (".js .entry{visibility:hidden}", "entry"),
        (".tab-pane{display:none}.tab-pane.active{display:block}", "tab-pane"),
        (".entry{display:none}.entry{display:block}", "entry"),
        ("", "hidden md:block"),
        ("@media (max-width:640px){.entry{display:none}}", "entry"),
        (".wow{visibility:hidden}", "wow fadeIn"),
        (".more-text{display:none}", "more-text"),
    ] {
        let all: String =
            PROSE.iter().map(|text| format!("<p class='{class}'>{text}</p>")).collect();
        let body = format!("<style>{style}</style><main><h1>Notes</h1>{all}</main>");
        keeps(&page("Notes", &body), &PROSE, &[]);
    }
}

#[test]
fn buttons_in_sentences_are_text_and_rows_of_buttons_are_not() {
    let first = "Temperature decides how fast the dough rises, and a cold kitchen is no fault.";
    let last = "Flour and water need nothing more than time and a little yeast";
    let middle = "A dough of rye has more acid, which yeast and bacteria make over night.";
    let body = format!(
        "<main><h1>Bread</h1><p>{}</p><p><button class=term>Temperature</button>{}</p><p>{}<button>yeast</button></p>\
         <p>{}<span class=term><button>yeast</button></span>{}</p><p>{}</p><p>{}</p>\
         <p><button>Share</button> <button>Print this page</button> <button>Save</button></p></main>",
        PROSE[0],
        first.trim_start_matches("Temperature"),
        last.trim_end_matches("yeast"),
        "A dough of rye has more acid, which ",
        " and bacteria make over night.",
        PROSE[1],
        PROSE[2],
    );
    let wanted = [PROSE[0], first, last, middle, PROSE[1], PROSE[2]];
    keeps(&page("Bread", &body), &wanted, &["Print this page"]);
}

#[test]
fn elements_that_a_style_shows_as_blocks_are_lines() {
    let line = |text: &str| format!("<span class=line style='display: block'>{text}</span>");
    let song: String = ["The tide is still grey", "With a letter from home"].map(line).concat();
    let body = format!(
        "<main><h1>Grey tide</h1><p>{song}</p><p>{}</p><p>{}</p></main>",
        PROSE[3], PROSE[4]
    );
    let text = read(&page("Grey tide", &body)).text;
    assert!(!text.contains("greyWith") && text.contains("letter from home"), "{text}");
}

#[test]
fn a_table_of_data_is_text_as_a_whole_or_not_at_all() {
    let rows = [
        ("Weight", "fifty-one kilograms with the stand and both of its handles"),
        ("Height", "two metres, or one and a half when it is folded"),
        ("Made of", "oak and brass, and screws of steel that do not rust"),
        ("Made in", "a workshop by the harbour, by two people"),
        ("Delivery", "within a week, to the door of the house"),
    ];
    let table: String = rows
        .iter()
        .map(|(label, value)| format!("<tr><th>{label}</th><td>{value}</td></tr>"))
        .collect();
    let body = format!(
        "<main><h1>The telescope</h1><p>{}</p><p>{}</p><table class=specs>{table}</table><p>{}</p></main>",
        PROSE[6], PROSE[2], PROSE[5]
    );
    let document = read(&page("The telescope", &body));
    let labels = rows.iter().filter(|(label, _)| document.text.contains(label)).count();
    let values = rows.iter().filter(|(_, value)| document.text.contains(value)).count();
    assert!(
        labels == values && [0, rows.len()].contains(&values),
        "{labels}, {values}: {}",
        document.text
    );
}

#[test]
fn words_for_screen_readers_within_a_sentence_are_no_text() {
    let link = "<p>Ask for <a href=/x>the leaflet<span class=sr-only> (opens in a new window)</span></a> at the desk.</p>";
    let all: String = PROSE.iter().map(|text| format!("<p>{text}</p>")).collect();
    let html = page("Notes", &format!("<main><h1>Notes</h1>{all}{link}</main>"));
    let text = read(&html).text;
    assert!(text.contains("Ask for the leaflet at the desk."), "{text}");
}

#[test]
fn panels_of_tabs_and_the_rest_of_a_text_are_text_before_a_click() {
    let (first, rest) = PROSE.split_at(3);
    let paragraphs =
        |texts: &[&str]| texts.iter().map(|text| format!("<p>{text}</p>")).collect::<String>();
    for (before, after) in [
        (
            "<div class=tabs role=tablist><button role=tab aria-controls=p2>Preparation</button></div>\
             <div id=p2 role=tabpanel class=tab-panel hidden>",
            "</div>",
        ),
        (
            "<span id=dots>...</span><div class=more-content style='display:none'>",
            "</div><a>Read more</a>",
        ),
    ] {
        let body = format!(
            "<main><h1>Notes</h1>{}{before}{}{after}</main>",
            paragraphs(first),
            paragraphs(rest)
        );
        keeps(&page("Notes", &body), &PROSE, &[]);
    }
}

#[test]
fn short_headings_of_kept_sections_are_text_and_those_of_others_are_not() {
    let section = |at: usize, text: &str| {
        format!("<header class=frame-header><h3>Part {at}</h3></header><p>{text}</p>")
    };
    let all: String = PROSE.iter().enumerate().map(|(at, text)| section(at, text)).collect();
    let body = format!(
        "<main><h1>Notes</h1><p>{}</p>{all}</main>\
         <aside><h3>Elsewhere</h3><ul><li><a href=/1>One</a><li><a href=/2>Two</a></ul></aside>",
        PROSE[0]
    );
    let text = read(&page("Notes", &body)).text;
    for at in 0..PROSE.len() {
        assert!(text.contains(&format!("Part {at}\n")), "{at}: {text}");
    }
    assert!(!text.contains("Elsewhere"), "{text}");
}

#[test]
fn a_table_at_the_end_and_one_of_boxes_are_text() {
    let values = [
        ("Motor", "250 W"),
        ("Battery", "480 Wh"),
        ("Range", "90 km"),
        ("Weight", "21 kg"),
        ("Brakes", "discs"),
        ("Gears", "eight"),
    ];
    let rows = |row: &dyn Fn(&str, &str) -> String| -> String {
        values.iter().map(|(name, value)| row(name, value)).collect()
    };
    let table = format!(
        "<table>{}</table>",
        rows(&|name, value| format!("<tr><th>{name}</th><td>{value}</td></tr>"))
    );
    let boxes = format!(
        "<div role=table>{}</div>",
        rows(&|name, value| format!(
            "<div role=row><div role=rowheader>{name}</div><div role=cell>{value}</div></div>"
        ))
    );
    let all: String = PROSE.iter().map(|text| format!("<p>{text}</p>")).collect();
    for table in [table, boxes] {
        let body = format!("<main><h1>Bicycle</h1>{all}<h2>Specifications</h2>{table}</main>");
        let text = read(&page("Bicycle", &body)).text;
        for (name, value) in values {
            assert!(text.contains(name) && text.contains(value), "{name} in {table}: {text}");
        }
        assert!(text.contains("Specifications"), "{text}");
    }
}
