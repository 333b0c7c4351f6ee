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
