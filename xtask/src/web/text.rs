//! Texts of the synthetic web: each a function of its number, and different from all others.

use std::fmt::Write;

use crate::rng::Rng;

const SENTENCES: [&str; 10] = [
    "When the A of the B had been brought to C, it was not what they had thought it would be.",
    "There is a A in C that nobody has seen since the B was taken from the D.",
    "She told us that the A and the B were the same, but for what had become of the D.",
    "Before the A there was only the B, and after it came the D with all of its C.",
    "If you go from C to the A, you will find that most of the D is still there.",
    "The A, which had once been a part of the B, was given to the people of C.",
    "He did not know why the D should be in the A, or who had put it there.",
    "It has been said of the B that it was the A who made it, and not the D of C.",
    "Some of them were for the A and some against it, while C had a B of its own.",
    "What they did with the D in that year is more than the A could have told.",
];

const CHINESE: [&str; 8] = [
    "在A的B里，人们一直没有看到C，因为它已经被D带走了。",
    "当A来到C的时候，他们都说这不是以前的B，而是一个新的D。",
    "如果没有A，就不会有B和D，也没有人会知道C的事情。",
    "她告诉我们，A是从C来的，可是D的B还在那里。",
    "这个B对于C的人来说很重要，但是A和D都不知道。",
    "虽然A已经很老了，但是它的D还是和C的B一样。",
    "他们把D放在A的旁边，所以B就成了C的一部分。",
    "有人说A在B以前就有了，也有人说它是D给C的。",
];

/// Words of a text: unique ones and common ones.
fn words(number: u64, chinese: bool) -> Vec<String> {
    const ENGLISH: [&str; 32] = [
        "river", "baker", "teacher", "garden", "window", "winter", "letter", "bridge", "market",
        "doctor", "island", "engine", "forest", "mirror", "castle", "sailor", "button", "candle",
        "donkey", "farmer", "guitar", "hammer", "jacket", "kettle", "lantern", "meadow", "orchard",
        "pigeon", "quarry", "saddle", "tunnel", "valley",
    ];
    const FIRST: [&str; 20] = [
        "bar", "cor", "dal", "fen", "gor", "hal", "jor", "kel", "lan", "mer", "nor", "pel", "quin",
        "ros", "sel", "tor", "ul", "vel", "wen", "zar",
    ];
    const MIDDLE: [&str; 10] = ["a", "e", "i", "o", "u", "ami", "ero", "ini", "ola", "uva"];
    const LAST: [&str; 12] =
        ["dan", "fel", "gard", "keth", "lor", "mund", "nath", "pel", "rin", "stad", "ton", "vik"];
    let mut rng = Rng(number.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5eed);
    let mut pick = |list: &[&'static str]| list[rng.below(list.len() as u64) as usize];
    if chinese {
        // Two characters each.
        let mut rng = Rng(number ^ 0xc41);
        let mut one = || char::from_u32(0x4e00 + rng.below(0x2000) as u32).unwrap_or('山');
        return (0..40).map(|_| format!("{}{}", one(), one())).collect();
    }
    let own = (0..28).map(|_| format!("{}{}{}", pick(&FIRST), pick(&MIDDLE), pick(&LAST)));
    let own: Vec<String> = own.collect();
    own.into_iter().chain((0..12).map(|_| pick(&ENGLISH).to_owned())).collect()
}

/// The paragraphs of a text. An `edit` replaces one sentence.
pub(super) fn article(number: u64, chinese: bool, edit: Option<u64>) -> Vec<String> {
    let words = words(number, chinese);
    let templates: &[&str] = if chinese { &CHINESE } else { &SENTENCES };
    let mut rng = Rng(number.wrapping_mul(31) + 7);
    let sentences = 18 + rng.below(14);
    let edited = edit.map(|edit| edit % sentences);
    let mut paragraphs = Vec::new();
    let mut paragraph = String::new();
    for number in 0..sentences {
        // Draw the same numbers with and without an edit.
        let template = templates[rng.below(templates.len() as u64) as usize];
        let mut fill: Vec<&str> =
            (0..4).map(|_| words[rng.below(words.len() as u64) as usize].as_str()).collect();
        if edited == Some(number) {
            fill.rotate_left(1);
        }
        for piece in template.chars() {
            match piece {
                'A' => paragraph.push_str(fill[0]),
                'B' => paragraph.push_str(fill[1]),
                'C' => paragraph.push_str(fill[2]),
                'D' => paragraph.push_str(fill[3]),
                other => paragraph.push(other),
            }
        }
        if !chinese {
            paragraph.push(' ');
        }
        if number % 5 == 4 {
            paragraphs.push(std::mem::take(&mut paragraph));
        }
    }
    paragraphs.push(paragraph);
    paragraphs
}

/// A title of some of the text's words.
pub(super) fn title(number: u64, chinese: bool) -> String {
    let words = words(number, chinese);
    let mut title = String::new();
    let _ = if chinese {
        write!(title, "{}的{}", words[0], words[1])
    } else {
        write!(title, "The {} of {}", words[28], words[0])
    };
    title
}
