//! Examples for each rule.

use proptest::prelude::*;

use super::*;
use crate::difference::LineSet;

mod rows;

/// Sentences for test texts.
const VILLAGE: [&str; 8] = [
    "When the river rose in the spring the people of the village moved their animals to the hill.",
    "They waited there until the water had gone down again, as they did each year after the snow.",
    "Nobody was surprised, for the miller had warned everybody as soon as the ice began to break.",
    "The council has now decided to build a wall along the lower meadow before the next winter.",
    "It will cost more than the village earns in a year, and the county has promised to help.",
    "Farmers say that the meadow needs the flood, because the mud makes the grass grow thick.",
    "The school stayed closed for a week, and the children rowed to the bakery to fetch bread.",
    "At the end of the month the road was dry, and the first market was held in front of the church.",
];

fn village() -> String {
    VILLAGE.join("\n")
}

fn titled(heading: &str, title: &str, text: &str, cells: &str) -> Compared {
    Compared::new(PageText {
        heading: heading.to_owned(),
        title: title.to_owned(),
        text: text.to_owned(),
        cells: cells.to_owned(),
        outside: LineSet::default(),
    })
}

/// Returns a page whose dropped blocks are these lines.
fn with_outside(heading: &str, text: &str, outside: &[&str]) -> Compared {
    let outside = LineSet::of(outside.iter().copied());
    Compared::new(PageText { outside, ..page(heading, text).page().clone() })
}

fn page(heading: &str, text: &str) -> Compared {
    titled(heading, &format!("{heading} | The paper"), text, "")
}

fn reason(one: &Compared, other: &Compared) -> Reason {
    let there = compare_pages(one, other, true).reason;
    assert_eq!(there, compare_pages(other, one, true).reason, "in both orders");
    there
}

#[test]
fn equal_texts_are_one_page_under_a_rephrased_headline_and_two_under_names() {
    let text = village();
    let one = page("Village moves to the hill as the river rises", &text);
    assert_eq!(reason(&one, &one), Reason::EqualText);
    let rephrased = page("Flood: people wait until the water has gone down", &text);
    assert_eq!(reason(&one, &rephrased), Reason::EqualText);
    for (first, second, expected) in [
        ("Tee - Navy", "Tee - Rust", Reason::NamePattern),
        ("Plumber in Leeds", "Plumber in Bristol", Reason::NamePattern),
        ("Guide for Windows 10", "Guide for Windows 11", Reason::NamePattern),
        ("Data types", "Generic data types", Reason::NamePattern),
        ("Harbour", "Lighthouse", Reason::OtherName),
    ] {
        assert_eq!(reason(&page(first, &text), &page(second, &text)), expected, "{first}");
    }
}

#[test]
fn names_that_differ_in_several_numbers_are_those_of_two_pages() {
    let text = village();
    for (first, second) in [
        ("Screws 4 x 40 mm, box of 200", "Screws 5 x 60 mm, box of 100"),
        ("Nappies size 3, pack of 56", "Nappies size 4, pack of 50"),
        ("Hex bolt M6 x 20, pack of 50", "Hex bolt M8 x 30, pack of 25"),
        ("Shelf 80 x 30 x 2.5 cm, 4 pieces", "Shelf 120 x 40 x 3 cm, 2 pieces"),
        ("Pflaster 6 x 10 cm, 10 Stück", "Pflaster 8 x 6 cm, 20 Stück"),
        ("Kochtopf 20 cm, 3,5 l", "Kochtopf 24 cm, 6 l"),
        ("Zug 14 von Fulda um 12.40 Uhr", "Zug 22 von Fulda um 16.10 Uhr"),
        ("Amtsblatt 12 / 2025, Seiten 1-40", "Amtsblatt 13 / 2025, Seiten 41-88"),
        ("Compte rendu du 3 mai 2025, séance 4", "Compte rendu du 7 juin 2025, séance 5"),
        ("Curtain, blue, 120 x 200 cm", "Curtain, red, 140 x 240 cm"),
        ("Tile 10 x 10 cm, white", "Tile 20 x 20 cm, white"),
        ("Cube 30 x 30 x 30 cm, oak", "Cube 40 x 40 x 40 cm, oak"),
    ] {
        let pages = [first, second].map(|name| page(name, &text));
        assert_eq!(reason(&pages[0], &pages[1]), Reason::NamePattern, "{first}");
    }
    // These numbers change on one page.
    for (first, second) in [
        (
            "Read 12 times, 3 comments and 7 likes, flood",
            "Read 30 times, 5 comments and 9 likes, flood",
        ),
        ("Paper of 3.5.2025, news at 12.40 today", "Paper of 7.5.2025, news at 16.10 today"),
        ("Table 12 to chapter 3: rain", "Table 14 to chapter 4: rain"),
        ("Icon (Java SE 17.0.2 & JDK 17.0.2)", "Icon (Java SE 21.0.1 & JDK 21.0.1)"),
    ] {
        let pages = [first, second].map(|name| page(name, &text));
        assert!(reason(&pages[0], &pages[1]).same(), "{first}");
    }
    let places = compare_pages(
        &page("Nappies 3, pack of 56", &text),
        &page("Nappies 4, pack of 50", &text),
        true,
    );
    assert_eq!(places.differing_names, ["3 pack of 56", "4 pack of 50"]);
}

#[test]
fn a_name_in_capitals_is_the_name() {
    let text = village();
    for (name, capitals) in [
        (
            "Stadtrat beschließt neues Parkkonzept für die Altstadt",
            "STADTRAT BESCHLIESST NEUES PARKKONZEPT FÜR DIE ALTSTADT",
        ),
        ("Το παλιό τελωνείο γίνεται χώρος τέχνης", "ΤΟ ΠΑΛΙΟ ΤΕΛΩΝΕΙΟ ΓΙΝΕΤΑΙ ΧΩΡΟΣ ΤΕΧΝΗΣ"),
        ("Eski tren garı müzeye dönüştürülüyor", "ESKİ TREN GARI MÜZEYE DÖNÜŞTÜRÜLÜYOR"),
    ] {
        let (one, other) = (page(name, &text), page(capitals, &text));
        assert_eq!(compare_pages(&one, &other, true).names, NameRelation::Same, "{name}");
        assert_eq!(reason(&one, &other), Reason::EqualText, "{name}");
        let only_title = titled(name, capitals, &text, "");
        assert!(reason(&one, &only_title).same(), "{name}");
    }
}

#[test]
fn a_variant_that_only_the_title_names_is_another_page() {
    let tee = |colour: &str| {
        let text = format!("{}\nColour: {colour}", VILLAGE[..5].join("\n"));
        titled("Tee", &format!("Tee - {colour} | The shop"), &text, "")
    };
    assert_eq!(reason(&tee("Navy"), &tee("Rust")), Reason::NameInText);
    assert!(reason(&tee("Navy"), &tee("Navy")).same());
    // An article under two section names that the text does not mention.
    let article = |section: &str| {
        titled("The river", &format!("The river - {section} - Paper"), &village(), "")
    };
    assert!(reason(&article("Politics"), &article("Region")).same());
}

#[test]
fn a_notice_under_many_names_does_not_speak_of_them() {
    let notice = VILLAGE[..2].join("\n");
    let (one, other) = (
        page("Sorting large tables without any index", &notice),
        page("Replication across several distant centres today", &notice),
    );
    assert_eq!(reason(&one, &other), Reason::TemplateText);
    // 260 characters of Khmer are about 65 words.
    let notice = "នៅលើទំព័រនេះអ្នកអាចឃើញជំនួយ\n".repeat(12);
    let guide = |program: &str| page(&format!("សេចក្តីណែនាំអំពី {program}"), &notice);
    let other = titled("ណែនាំដើម្បីប្រើ Slides", "ណែនាំដើម្បីប្រើ Slides | The paper", &notice, "");
    assert_eq!(reason(&guide("Sums"), &other), Reason::TemplateText);
}

#[test]
fn names_with_the_same_words_are_equal() {
    let text = village();
    for (first, second) in [
        // The same letters, composed and decomposed: the marks stand before a space.
        ("Usunie obsługę Flash z systemu", "Usunie obsługe\u{328} Flash z systemu"),
        ("Village: the flood", "Village - the flood"),
        ("Village, the flood", "Village | the flood"),
    ] {
        let (one, other) =
            (page(first, &text), page(second, &format!("{text}\nJoin the discussion")));
        assert_eq!(compare_pages(&one, &other, true).names, NameRelation::Same, "{second}");
        assert!(reason(&one, &other).same(), "{second}");
    }
}

#[test]
fn editions_chapters_and_site_names_are_no_part_of_a_name() {
    let text = village();
    for (first, second) in [
        ("36.21. Domains", "37.21. Domains"),
        ("Chapter 62. Generic records", "Chapter 65. Generic records"),
        ("The river", "The river (print version)"),
        ("The river", "The river - Evening Paper"),
    ] {
        assert!(reason(&page(first, &text), &page(second, &text)).same(), "{first}");
    }
    let edition = |number: u32| {
        let title = format!("Icon (Java {number} & JDK {number})");
        titled("Method summary", &title, &format!("{text}\nIn the kit since {number}"), "")
    };
    assert!(reason(&edition(17), &edition(21)).same());
    let day = |date: &str| page(&format!("Photo of the day {date}"), &text);
    for other in ["2026-04-04", "2026-77-77"] {
        assert_eq!(reason(&day("2026-03-03"), &day(other)), Reason::NamePattern, "{other}");
        assert_eq!(reason(&day(other), &day("2026-03-03")), Reason::NamePattern, "{other}");
    }
    // The heading is the kind of the page.
    let tree =
        |package: &str| titled("Class tree", &format!("org.{package} Class tree (Kit)"), &text, "");
    assert_eq!(reason(&tree("stream"), &tree("table")), Reason::NamePattern);
}

#[test]
fn only_dates_counters_and_numbers_of_sections_differ() {
    let text = village();
    for (first, second) in [
        ("Posted 3 hours ago", "Posted 5 hours ago"),
        ("1204 views", "1388 views"),
        ("Tuesday, 5 March 2024, 08:12", "2024-03-06T21:45:10Z"),
        ("See figure 12 for the wall and the road", "See figure 14 for the wall and the road"),
    ] {
        let with = |line: &str| page("The river rose", &format!("{text}\n{line}"));
        assert_eq!(reason(&with(first), &with(second)), Reason::Volatile, "{first}");
    }
}

#[test]
fn a_template_is_recognised_by_its_substituted_words() {
    let shop = |town: &str| {
        let text = format!(
            "We are open every day in {town}, and our people know each street of {town} by heart.\n{}",
            VILLAGE[..3].join("\n")
        );
        titled("Our shop", "Our shop", &text, "")
    };
    assert_eq!(reason(&shop("Leeds"), &shop("Bristol")), Reason::Substitution);
    let named = |town: &str, person: &str| {
        let text = format!("{person} opened the branch last year and leads it now.\n{}", village());
        page(&format!("The branch that opened in {town}"), &text)
    };
    let (one, other) = (named("Leeds", "Leeds"), named("Bristol", "Bristol"));
    assert_eq!(reason(&one, &other), Reason::NameInText);
}

#[test]
fn section_numbers_of_another_edition_are_no_difference() {
    let edition = |chapter: u32| {
        let text = format!(
            "{chapter}.16. Walls\n{}\n{chapter}.15. Meadows\n{chapter}.17. Roads",
            village()
        );
        page("Walls", &text)
    };
    assert_eq!(reason(&edition(35), &edition(36)), Reason::Volatile);
    let contents = |last: &str| page("Walls", &format!("{}\n2.1.7. {last}", village()));
    assert_eq!(reason(&contents("Mud"), &contents("Old snow")), Reason::LittleDiffers);
    // Added sections move those behind them.
    let list = |first: u32| {
        let text = format!("{}\n4.1. Walls\n4.{first}. Meadows\n4.{}. Roads", village(), first + 1);
        page("Walls", &text)
    };
    assert_eq!(reason(&list(2), &list(3)), Reason::Volatile);
    // Without the last dot, and prices, times and days.
    for lines in [
        ["35.16 Walls\n35.17 Roads", "36.16 Walls\n36.17 Roads"],
        ["8.50. Soup\n12.80. Salad\n4.20. Bread", "9.80. Soup\n13.60. Salad\n4.90. Bread"],
        ["18.30. The mill\n20.15. The ice", "17.30. The mill\n19.15. The ice"],
        [
            "4.1. Soup of peas\n4.2. Salad of beans\n7.5. Bread and butter\n9.9. Fish and rice",
            "5.1. Soup of peas\n5.3. Salad of beans\n2.9. Bread and butter\n11.4. Fish and rice",
        ],
        ["12.3. Choir\n14.3. Market\n19.3. Choir", "14.3. Choir\n18.3. Market\n23.4. Choir"],
    ] {
        let [one, other] = lines.map(|lines| page("Walls", &format!("{}\n{lines}", village())));
        assert_ne!(reason(&one, &other), Reason::Volatile, "{lines:?}");
    }
}

#[test]
fn a_number_that_identifies_the_subject_makes_two_long_pages() {
    // 400 words of other stories around a short notice.
    let others = [village(), village().to_uppercase(), village().replace("the", "this")].join("\n");
    let notice = |number: &str, sentence: &str| {
        let text = format!("Item {number}\n{sentence} {number}.\n{others}");
        page("What the village did when the river rose", &text)
    };
    let both = |one: &str, other: &str, sentence: &str| {
        reason(&notice(one, sentence), &notice(other, sentence))
    };
    let sentence = "This is the page of the old chair with the number";
    assert_eq!(both("19165", "19773", sentence), Reason::Substitution);
    // A year, a word, or a number that stands beside words only.
    assert_eq!(both("2019", "2021", sentence), Reason::LittleDiffers);
    assert_eq!(both("chair", "table", sentence), Reason::LittleDiffers);
    assert_eq!(both("19165", "19773", "No."), Reason::LittleDiffers);
    // A day, and a build in a sentence and in the last line.
    assert_eq!(both("20240311", "20250312", sentence), Reason::LittleDiffers);
    let built = |number: &str| {
        let built = format!("This is the news of the village as of build {number}.");
        page("What the village did", &format!("{built}\n{others}\nBuild {number}"))
    };
    assert_eq!(reason(&built("48213"), &built("48377")), Reason::LittleDiffers);
}

#[test]
fn numbers_in_tables_and_in_the_text_make_two_pages() {
    let text = village();
    let hours = |from: u32| {
        let cells =
            format!("Monday\n{from}:00 - 17:00\nTuesday\n{from}:30 - 18:00\nSunday\nclosed");
        titled("The bakery", "The bakery", &text, &cells)
    };
    assert_eq!(reason(&hours(8), &hours(9)), Reason::TableCells);
    assert!(reason(&hours(8), &hours(8)).same());
    let report = |wheat: u32, rye: u32| {
        let market = format!("Wheat was sold at {wheat} pounds.\nRye was sold at {rye} pounds.\n");
        titled("Market report", "Market report", &(market + &VILLAGE[..3].join("\n")), "")
    };
    assert_eq!(reason(&report(212, 180), &report(219, 171)), Reason::Numbers);
    // A weather box beside the text.
    let weather = |degrees: u32| {
        let wind =
            format!("Weather: {degrees} °C, humidity {}%, wind {} km/h", degrees + 40, degrees + 9);
        page("The river rose", &format!("{text}\n{wind}"))
    };
    assert!(reason(&weather(6), &weather(12)).same());
}

#[test]
fn appended_text_is_the_same_page_up_to_a_share_unless_in_another_language() {
    let text = village();
    let comments = "I was there and saw it.\nMy aunt lost two hens and a boat.";
    let one = page("The river rose", &text);
    assert_eq!(
        reason(&one, &page("The river rose", &format!("{text}\n{comments}"))),
        Reason::LittleDiffers
    );
    let half = VILLAGE[..4].join("\n");
    let foreign = "Als der Fluss stieg, zogen die Leute des Dorfes mit ihren Tieren auf den Hügel.\n\
                   Dort warteten sie, bis das Wasser wieder gefallen war, wie in jedem Jahr nach dem Schnee.\n\
                   Niemand war überrascht, denn der Müller hatte alle gewarnt, sobald das Eis brach.\n\
                   Der Rat hat nun beschlossen, vor dem nächsten Winter eine Mauer zu bauen.";
    let german = page("The river rose", &format!("{half}\n{foreign}"));
    assert_eq!(reason(&one, &german), Reason::OwnText);
    let few = page("Shop", "One pound of bread and a cake");
    assert_eq!(reason(&few, &page("Shop", "One pound of bread and a pie")), Reason::FewWords);
}

#[test]
fn a_page_of_another_site_with_additional_text_is_not_a_copy() {
    let whole = page("The river rose", &village());
    let part = page("The river rose", &VILLAGE[..5].join("\n"));
    let elsewhere = |page: &Compared, kept: &Compared| compare_pages(page, kept, false);
    assert!(elsewhere(&part, &whole).same(), "an excerpt is a copy");
    let original = elsewhere(&whole, &part);
    assert_eq!(original.reason, Reason::OwnText, "who copies first keeps no original out");
    assert!(compare_pages(&whole, &part, true).same(), "on one site it is one page");
}

#[test]
fn differences_between_pages_are_described_in_words() {
    let one = page("Village moves to the hill as the river rises", &village());
    let text = format!("{}\nMy aunt lost two hens and a boat in the flood.", village());
    let other = page("Flood: people wait until the water has gone down", &text);
    let outcome = compare_pages(&one, &other, true);
    let said = outcome.phrases(&one, &other, ["this page", "the kept page"]);
    assert!(said[0].starts_with("other name: \"village moves"), "{said:?}");
    assert!(said[1].starts_with("only in the kept page, 11 words: \"my aunt"), "{said:?}");
}

#[test]
fn hostile_pages_end_in_time() {
    let long = "word ".repeat(200_000);
    let numbers: String = (0..60_000).map(|at| format!("{at} ")).collect();
    let odd: String = (0..60_000).map(|at| format!("{} ", at * 7 % 60_001)).collect();
    let lines: String = (0..60_000).map(|at| format!("{at} views\n")).collect();
    let cells: String = (0..2_000).map(|at| format!("{at}\n")).collect();
    let pages = [&long, &numbers, &odd, &lines].map(|text| titled(text, text, text, &cells));
    let began = std::time::Instant::now();
    for one in &pages {
        for other in &pages {
            compare_pages(one, other, true);
        }
    }
    // 16 comparisons in a debug build.
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}

const STORIES: [&str; 6] = [
    "The harbour of the capital has been closed for repairs until the end of the year.",
    "A football club from the north has sold its best player for a record sum of money.",
    "Scientists have found a new kind of frog that lives in the crowns of tall trees only.",
    "The price of bread has risen again, and bakers blame the cost of flour and of heat.",
    "Two trains stood still for a night because nobody had the key to the signal box.",
    "An old bridge is sold by auction, and the buyer must carry it away within a month.",
];

#[test]
fn lines_that_the_other_page_has_outside_its_text_are_excused() {
    let text = |stories: &[&str]| [&VILLAGE, stories].concat().join("\n");
    let named =
        |text: &str, outside: &[&str]| with_outside("Village moves to the hill", text, outside);
    // One version has three stories in its text, and a line about the author that the other lacks.
    let own =
        "The author has written about rivers for twenty years and lives beside one of them now.";
    let page = |outside: &[&str]| named(&text(&[own, own, &own[4..]]), outside);
    let kept = named(&text(&STORIES[..3]), &[]);
    assert_eq!(reason(&page(&[]), &kept), Reason::OwnText);
    assert_eq!(reason(&page(&STORIES[..2]), &kept), Reason::LittleDiffers);
    let outcome = compare_pages(&page(&STORIES), &kept, true);
    let phrases = outcome.phrases(&page(&STORIES), &kept, ["this page", "the kept page"]);
    let found = phrases.iter().any(|phrase| {
        phrase.starts_with("outside the text of the other page, 50 words: \"the harbour of")
    });
    assert!(found, "{phrases:?}");
    let kinds: Vec<&str> =
        outcome.summaries(&page(&STORIES), &kept).iter().map(|one| one.kind.as_str()).collect();
    assert!(kinds.contains(&"outside-text"), "{kinds:?}");
    // A list that both pages show beside their texts.
    let both = named(&text(&STORIES[..3]), &STORIES);
    assert_eq!(reason(&page(&STORIES), &both), Reason::OwnText);
}

#[test]
fn two_pages_that_show_each_other_are_two_pages() {
    let text = |stories: &[&str]| [&VILLAGE, stories].concat().join("\n");
    let issue = |own: &[&str], other: &[&str]| with_outside("The weekly letter", &text(own), other);
    let (spring, autumn) = (&STORIES[..3], &STORIES[3..]);
    assert_eq!(reason(&issue(spring, autumn), &issue(autumn, spring)), Reason::OwnText);
}

#[test]
fn excused_lines_hide_neither_numbers_nor_substitutions() {
    let branch = |town: &str, numbers: [u32; 3]| {
        let [first, second, third] = numbers;
        [
            format!(
                "Our branch in {town} opens at {first} in the morning and is near the station."
            ),
            format!(
                "Call {second} to reserve a table in {town} for you and for all of your friends."
            ),
            format!(
                "There are {third} seats in {town}, and the kitchen cooks until late in the night."
            ),
        ]
    };
    let (leeds, york) = (branch("Leeds", [8, 5_551, 40]), branch("York", [9, 7_774, 65]));
    let lines =
        |lines: &[String; 3]| lines.iter().map(String::as_str).collect::<Vec<&str>>().join("\n");
    let all: Vec<&str> = leeds.iter().chain(&york).map(String::as_str).collect();
    let page = |own: &[String; 3], outside: &[&str]| {
        with_outside(
            "Our branches",
            &[&village(), &*VILLAGE.join(" "), &*lines(own)].join("\n"),
            outside,
        )
    };
    for outside in [&all[..], &all[..3], &all[3..], &[]] {
        for other in [&all[..], &[]] {
            let found = reason(&page(&leeds, outside), &page(&york, other));
            assert!(matches!(found, Reason::Substitution | Reason::Numbers), "{found:?}");
        }
    }
}

#[test]
fn a_text_that_is_nearly_all_outside_the_other_page_is_not_a_copy() {
    let heading = "Village moves to the hill";
    // The first two lines and what the site shows below each article.
    let stub = [&VILLAGE[..2], &STORIES[..4]].concat();
    let (stub, page) =
        (with_outside(heading, &stub.join("\n"), &[]), with_outside(heading, &village(), &STORIES));
    assert_eq!(reason(&stub, &page), Reason::OwnText);
    assert_eq!(compare_pages(&stub, &page, false).reason, Reason::OwnText);
}

#[test]
fn lines_outside_the_text_excuse_nothing_under_another_name() {
    let long = [&village(), &*VILLAGE.join(" ")].join("\n");
    let story = [&long, STORIES[0], STORIES[1]].join("\n");
    let of = |heading: &str| {
        reason(&with_outside(heading, &long, &STORIES), &page("Water in the streets", &story))
    };
    assert_eq!(of("Water in the streets"), Reason::LittleDiffers);
    let of = |heading: &str| {
        let (one, other) = ([&story, STORIES[4]].join("\n"), [&long, STORIES[5]].join("\n"));
        reason(&page("Water in the streets", &one), &with_outside(heading, &other, &STORIES[..5]))
    };
    assert_eq!(of("People move to the hill as the river rises again"), Reason::OwnText);
}

#[test]
fn more_than_half_of_a_page_that_a_name_proposed_must_be_in_the_other() {
    let heading = "Village moves to the hill";
    let kept = page(heading, &village());
    for (lines, expected) in [(3, Reason::OwnText), (5, Reason::LittleDiffers)] {
        let outcome = compare_pages(&page(heading, &VILLAGE[..lines].join("\n")), &kept, true);
        assert_eq!(outcome.reason, Reason::LittleDiffers);
        assert_eq!(outcome.proposed_by_name().reason, expected);
    }
    assert_eq!(compare_pages(&kept, &kept, true).proposed_by_name().reason, Reason::EqualText);
    // One word of each sentence, and one of all.
    let words = ["spring", "down", "soon", "wall", "cost", "mud", "week", "dry"];
    for (count, expected) in [(8, Reason::OwnText), (1, Reason::LittleDiffers)] {
        let text =
            (0..count).fold(village(), |text, at| text.replace(words[at], &format!("x{at}x")));
        let outcome = compare_pages(&page(heading, &text), &kept, true);
        assert_eq!(outcome.reason, Reason::LittleDiffers, "{count}");
        assert_eq!(outcome.proposed_by_name().reason, expected, "{count}");
    }
}

#[test]
fn excused_lines_never_refuse_a_pair_that_is_one_page_without_them() {
    let heading = "Village moves to the hill";
    let long = [&village(), &*STORIES.join("\n"), &*STORIES.join(" ")].join("\n");
    let kept = page(heading, &long);
    assert_eq!(reason(&page(heading, &village()), &kept), Reason::LittleDiffers);
    let outside = with_outside(heading, &village(), &STORIES[..1]);
    assert_eq!(reason(&outside, &kept), Reason::LittleDiffers);
}

proptest! {
    #[test]
    fn a_page_is_one_with_itself_and_the_verdict_is_the_same_in_both_orders(
        headings in prop::array::uniform2("([A-D][a-c]{0,3} ){0,5}"),
        titles in prop::array::uniform2("([A-D][a-c]{0,3}( - | ))*"),
        texts in prop::array::uniform2("(([a-f]{1,2}|[0-9]{1,2}) ){0,30}(\n([a-f]{1,2} ){0,30}){0,4}"),
    ) {
        let [one, other] = [0, 1].map(|at| {
            let page = titled(&headings[at], &titles[at], &texts[at], &texts[1 - at]);
            let outside = LineSet::of(texts[1 - at].lines().skip(at));
            Compared::new(PageText { outside, ..page.page().clone() })
        });
        prop_assert!(compare_pages(&one, &one, true).same());
        let (there, back) = (compare_pages(&one, &other, true), compare_pages(&other, &one, true));
        prop_assert_eq!(there.reason, back.reason);
    }

    #[test]
    fn anything_is_compared_without_a_panic(parts in prop::array::uniform8("(?s).{0,80}")) {
        let [a, b, c, d, e, f, g, h] = parts;
        let (one, other) = (titled(&a, &b, &c, &d), titled(&e, &f, &g, &h));
        let outcome = compare_pages(&one, &other, false);
        outcome.phrases(&one, &other, ["this page", "the kept page"]);
    }
}

proptest! {
    /// The quick check for headings never excludes a line that is the heading.
    #[test]
    fn a_line_is_the_name_if_it_has_the_same_words(
        name in "[a-cA-C' .(:-]{0,12}|[a-cé中]{0,6}",
        line in "([0-9]\\.[0-9]\\. )?[a-cA-C' .(:-]{0,12}( \\(print\\))?|[a-cé中]{0,6}",
    ) {
        let heading = Name::of(&name);
        for line in [line, format!("3.1. {name}"), name.to_uppercase(), format!("{name} (print)")] {
            prop_assert_eq!(heading.is_line(&line), Name::of(&line) == heading, "{:?}", line);
        }
    }
}

#[test]
fn a_text_mentions_a_chinese_name_by_two_characters_in_a_row() {
    // A notice of translators, without the names of the pages.
    let notice = "此文件的目的是为让中文读者更容易阅读和理解，而不是作为一个分支。因此，如果您有任何意见或更新，\
                  请先尝试更新原始英文文件。如果您发现本文档有翻译问题，请联系该文件的译者，或者请求帮助。";
    let translated = |heading: &str| page(heading, &format!("{notice}\n{notice}"));
    let guide = translated("内核开发过程指南");
    assert_eq!(reason(&guide, &translated("系统文件")), Reason::TemplateText);
    // Stories under rephrased headlines, and texts that nobody translated, are one page.
    let [first, second] =
        ["春天河水上涨村民把牲口赶到山上", "春天河水再次上涨村民们又把牲口赶到了山上"];
    let story = |heading: &str| page(heading, &format!("{first}。{second}。\n{notice}\n{notice}"));
    assert_eq!(reason(&story(first), &story(second)), Reason::EqualText);
    // In Japanese, two scripts and two parts meet between words.
    let report = |heading: &str| {
        let text = "市立の美術館が来春にオープンする。開くのは四月だと市は決定した。入場料は無料である。展示は三つの部屋に分かれる。";
        page(heading, &format!("{text}\n{notice}"))
    };
    let reports =
        [report("市立美術館、来春オープンへ"), report("来春開く美術館の入場は無料に決定")];
    assert_eq!(reason(&reports[0], &reports[1]), Reason::EqualText);
    // One of four words is in the text; pairs across the parts would make it one of seven.
    let listed = |heading: &str| page(heading, &format!("市場和港口都關閉了。\n{notice}"));
    let lists = [listed("市場 – 河川 – 山林 – 來春"), listed("港口 – 田野 – 道路 – 明年")];
    assert_eq!(reason(&lists[0], &lists[1]), Reason::EqualText);
}
