//! The main heading in a header, a banner or a breadcrumb.

use super::{PROSE, read};

/// Returns the heading of a page with `above` before its text, which begins with a heading of the second level.
fn heading(title: &str, above: &str) -> String {
    let [first, second] = [PROSE[0], PROSE[4]];
    let body = format!(
        "<div class=text><h2>The river</h2><p>{first}</p><h2>Part two</h2><p>{second}</p></div>"
    );
    read(&format!("<html lang=en><title>{title}</title><body>{above}{body}")).heading
}

#[test]
fn the_only_main_heading_names_the_page_in_a_header_too() {
    for above in [
        "<header class=page-header><h1>Category: <span>Old boats</span></h1></header>",
        "<header><h1>Old boats</h1></header>",
        "<div class=hero-banner><h1>Old boats</h1></div>",
        "<div class=breadcrumb-area><h1>Old boats</h1><a href=/>Home</a></div>",
        "<div role=banner><h1>Old boats</h1></div>",
    ] {
        // The last title has no word of any heading.
        for title in ["Old boats – Quiet Harbour", "Shop | Old boats - Harbour", "Shop"] {
            let heading = heading(title, above);
            assert!(heading.ends_with("Old boats"), "{heading}: {above} {title}");
        }
    }
}

#[test]
fn a_heading_in_the_text_that_the_title_has_is_preferred_to_one_in_a_header() {
    let above = "<div class=header><h1>About The river</h1></div>";
    assert_eq!(heading("The river (edition 17)", above), "The river");
    let above = "<div class=header><h1>Class Boats</h1></div>";
    assert_eq!(heading("Boats (edition 17)", above), "The river");
}

#[test]
fn the_name_of_the_site_in_a_header_is_not_the_main_heading() {
    let site = "<header><h1>Quiet Harbour</h1></header>";
    for (title, above) in [
        ("The river – Quiet Harbour", site),
        ("Quiet Harbour – The river – Shop", site),
        ("The river", site),
        ("", site),
        ("Notes – The river", "<header><h1>Notes</h1></header>"),
        ("Notes", "<header><h1>Notes</h1></header>"),
        ("Quiet Harbour", "<header><h1><a href=/>Quiet Harbour</a></h1></header>"),
        ("Old boats", "<header><h1 hidden>Old boats</h1></header>"),
        ("Old boats", "<header><h1>Old boats</h1><h1>Quiet Harbour</h1></header>"),
        ("Boats", "<style>.x{display:none}</style><header><h1 class=x>Boats</h1></header>"),
    ] {
        let heading = heading(title, above);
        assert!(
            ["The river", "Part two"].contains(&heading.as_str()),
            "{heading}: {title} {above}"
        );
    }
}
