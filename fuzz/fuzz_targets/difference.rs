//! Any two texts are compared: in bounded time, without a panic, and mirrored in the other order.
#![no_main]

use hapax_page::difference::{Words, compare, phrases};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((at, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    let at = text.floor_char_boundary(text.len() * usize::from(*at) / 255);
    let (first, second) = text.split_at(at);
    let (first, second) = (Words::of(first), Words::of(second));
    let (one, other) = (compare(&first, &second), compare(&second, &first));
    assert_eq!(one.shared, other.shared);
    assert_eq!(one.own, [other.own[1], other.own[0]]);
    assert!(one.own[0] <= first.len() && one.own[1] <= second.len());
    assert!(one.shared <= first.len().min(second.len()));
    for part in &one.parts {
        assert!(part.first.end <= first.len() && part.second.end <= second.len());
    }
    phrases(&one, [&first, &second], ["one", "other"]);
});
