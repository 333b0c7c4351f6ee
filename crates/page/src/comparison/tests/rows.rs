//! Durations, rows of numbers, short headlines and typos.

use super::*;

#[test]
fn numbers_of_durations_in_sentences_are_text() {
    let leaflet = |[a, b, c]: [u32; 3]| {
        let text = format!(
            "Adults take one tablet every {a} hours for {b} days.\n\
             Children take half a tablet every {c} hours.\n{}",
            VILLAGE[..3].join("\n")
        );
        page("How to take the tablets", &text)
    };
    assert_eq!(reason(&leaflet([4, 7, 6]), &leaflet([8, 10, 12])), Reason::Numbers);
    assert!(reason(&leaflet([4, 7, 6]), &leaflet([4, 7, 6])).same());
}

#[test]
fn numbers_in_rows_without_a_table_are_text() {
    let with = |rows: &str| page("The mill", &format!("{}\n{rows}", VILLAGE[..3].join("\n")));
    for (first, second) in [
        ("Adult £7.00\nChild £4.00\nGroup £9.50", "Adult £8.10\nChild £5.30\nGroup £6.20"),
        ("Adult\n£7.00\nChild\n£4.00", "Adult\n£8.10\nChild\n£5.30"),
        ("Draw\n7 9 19 33 40 47", "Draw\n10 17 20 35 39 46"),
        ("Holm - Ek 6:4 6:2\nBerg - Ny 7:5 6:3", "Holm - Ek 3:6 2:6\nBerg - Ny 6:7 4:6"),
    ] {
        assert_eq!(reason(&with(first), &with(second)), Reason::Numbers, "{first}");
        assert!(reason(&with(""), &with(second)).same(), "an appended block");
    }
    let other = reason(&with("Adult £7.00\nChild £4.00"), &with("Boat £8.10\nFerry £5.30"));
    assert!(other.same(), "other labels are other blocks");
}

#[test]
fn other_opening_hours_are_another_page_but_not_on_one_day() {
    let with = |hours: [&str; 4]| {
        let days = ["Monday", "Tuesday", "Wednesday", "Saturday"];
        let rows: Vec<String> =
            days.iter().zip(hours).map(|(day, hours)| format!("{day}: {hours}")).collect();
        page("The library", &format!("{}\n{}", VILLAGE[..4].join("\n"), rows.join("\n")))
    };
    let hours = with(["8:00–17:30"; 4]);
    assert_eq!(reason(&hours, &with(["9:30–18:00"; 4])), Reason::Numbers);
    let saturday = with(["8:00–17:30", "8:00–17:30", "8:00–17:30", "9:00–12:00"]);
    assert_eq!(reason(&hours, &saturday), Reason::Volatile);
    let comments = |times: [&str; 3]| {
        let rows: Vec<String> = times.iter().map(|time| format!("Posted {time}")).collect();
        page("The library", &format!("{}\n{}", VILLAGE[..4].join("\n"), rows.join("\n")))
    };
    let (one, other) = (
        comments(["3 May 14:30", "4 May 15:10", "5 May 16:45"]),
        comments(["7 June 9:30", "8 June 10:10", "9 June 11:45"]),
    );
    assert_eq!(reason(&one, &other), Reason::Volatile);
}

#[test]
fn a_headline_of_few_long_words_may_change() {
    let text = village();
    let (one, other) = (
        page("Gemeinderat stoppt Bau der Umgehungsstraße", &text),
        page("Umgehungsstraße kommt vorerst nicht zustande", &text),
    );
    assert_ne!(reason(&one, &other), Reason::OtherName);
    let (one, other) = (page("Harbour of the old town", &text), page("Lighthouse", &text));
    assert_eq!(reason(&one, &other), Reason::OtherName);
}

#[test]
fn a_typo_that_is_mended_twice_is_no_other_subject() {
    let with = |name: &str, word: &str| {
        let text = format!(
            "They will {word} the mail at noon.\nNobody may {word} it before.\n{}",
            VILLAGE[..3].join("\n")
        );
        page(name, &text)
    };
    assert_eq!(
        reason(&with("The post", "recieve"), &with("The post", "receive")),
        Reason::LittleDiffers
    );
    assert_eq!(
        reason(&with("The post", "forward"), &with("The post", "deliver")),
        Reason::Substitution
    );
    assert_eq!(
        reason(&with("Hamburg Homburg", "Hamburg"), &with("Hamburg Homburg", "Homburg")),
        Reason::Substitution,
        "names of towns in the heading"
    );
}

#[test]
fn an_error_page_that_shows_its_address_is_one_page() {
    let missing = |path: &str| {
        let url = url::Url::parse(&format!("https://shop.example{path}")).unwrap();
        let text = format!(
            "We are sorry, but the page {path} was not found here any more today.\n\
             Please use the search above or go back to the first page of the shop."
        );
        let page = titled("Not found", "Not found | The shop", &text, "");
        Compared::new(page.page().clone().without_address(&url))
    };
    let (one, other) = (missing("/a/old-page.php"), missing("/lamps/red-large"));
    assert_eq!(reason(&one, &other), Reason::EqualText);
    // The heading names the subject of a manual's page.
    let url = url::Url::parse("https://shop.example/etc/passwd").unwrap();
    let manual = page("The file /etc/passwd", "The file /etc/passwd lists all accounts.");
    let text = manual.page().clone().without_address(&url).text;
    assert_eq!(text, manual.page().text);
}

#[test]
fn the_foot_of_a_printed_page_does_not_count_in_a_short_text() {
    let stub = |text: &str| titled("Oak table", "Oak table | Catalogue", text, "");
    let text = "Oak, 80 x 120 cm, oiled, four legs.";
    let printed = stub(&format!("{text}\nCatalogue\nPrinted 11/04/2025 11:45"));
    assert!(reason(&stub(text), &printed).same());
    assert_eq!(reason(&stub(text), &stub(&format!("{text}\nSold out"))), Reason::FewWords);
    let other = stub("Oak, 80 x 140 cm, oiled, four legs.");
    assert!(!reason(&stub(text), &other).same());
}
