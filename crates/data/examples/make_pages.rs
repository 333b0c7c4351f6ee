//! Prints invented pages of 500 words as JSONL, the same on every machine, to fill large data directories:
//! `cargo run --release -p hapax-data --example make_pages -- 1000000 | crawl pages - --data DIR`.

use std::error::Error;
use std::io::{BufWriter, Write};

/// Function words, for the language and the main text: 45 of 100 words.
const COMMON: [&str; 40] = [
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "was", "on", "with", "as",
    "he", "be", "by", "at", "this", "had", "not", "are", "but", "from", "or", "have", "an", "they",
    "which", "one", "were", "her", "all", "she", "there", "would", "their", "we", "him", "been",
];
/// Number of invented words.
const WORDS: u64 = 60_000;
const WORDS_OF_PAGE: u64 = 500;

/// The letters of a word are a function of its number.
fn word(number: u64) -> String {
    let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut word = String::new();
    for _ in 0..4 + number % 5 {
        word.push(char::from(b'a' + (bits % 26) as u8));
        bits /= 26;
    }
    word
}

fn main() -> Result<(), Box<dyn Error>> {
    let pages: u64 = std::env::args().nth(1).ok_or("give a number of pages")?.parse()?;
    let words: Vec<String> = (1..=WORDS).map(word).collect();
    let mut state: u64 = 88_172_645_463_325_252;
    // Xorshift.
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let invented = |random: u64| words.get((random % WORDS) as usize).map_or("", String::as_str);
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    for id in 0..pages {
        let (host, section) = (id % 4000, id % 97);
        write!(
            out,
            "{{\"url\":\"https://host{host}.example/section/{section}/page-{id}\",\"title\":\""
        )?;
        write!(out, "{} {} {}", invented(random()), invented(random()), invented(random()))?;
        out.write_all(b"\",\"text\":\"")?;
        for number in 0..WORDS_OF_PAGE {
            let random = random();
            let word = match random % 100 < 45 {
                true => COMMON.get(((random >> 8) % 40) as usize).copied().unwrap_or_default(),
                false => invented(random >> 8),
            };
            out.write_all(word.as_bytes())?;
            out.write_all(match (number % 83, number % 13) {
                (82, _) => b".\\n\\n",
                (_, 12) => b". ",
                _ => b" ",
            })?;
        }
        out.write_all(b"\"}\n")?;
    }
    Ok(out.flush()?)
}
