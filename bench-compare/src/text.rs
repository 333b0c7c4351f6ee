//! Compares the speed of text fingerprints with the crates simhash and web-simhash. The texts are the UTF-8 files of a
//! folder.

use std::path::Path;

use hapax_dedup::{FeatureHash, Plain, Simhash};

use crate::measure;

pub fn run(folder: &str, rounds: usize) {
    let texts = read(folder);
    let bytes: usize = texts.iter().map(String::len).sum();
    println!("{} texts, {:.1} MB", texts.len(), bytes as f64 / 1e6);
    // A round is long enough for the clock and for branch prediction.
    let passes = ((16 << 20) / bytes.max(1)).max(1);
    let many = |of: &mut dyn FnMut(&str) -> u64| {
        (0..passes).fold(0u64, |sum, pass| texts.iter().fold(sum, |sum, text| sum.rotate_left(1) ^ of(text) ^ pass as u64))
    };
    let rate = |seconds: f64| bytes as f64 / seconds / 1e6;
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut plain = Plain::default();
    for _ in 0..rounds {
        let (a, one) = measure::seconds(|| many(&mut |text| plain.fingerprint(text).bits()));
        let (b, two) = measure::seconds(|| many(&mut simhash::simhash));
        assert_ne!(one, two);
        ours.push(rate(a / passes as f64));
        theirs.push(rate(b / passes as f64));
        ratios.push(b / a);
    }
    println!("plain words: hapax-dedup {} MB/s, simhash {} MB/s, ratio {}", measure::show(&mut ours), measure::show(&mut theirs), measure::show(&mut ratios));
    let mut whole = Vec::new();
    let mut web = Vec::new();
    let extractor = web_simhash::WebFeatureExtractor::default();
    for _ in 0..rounds {
        let (a, _) = measure::seconds(|| texts.iter().fold(0u64, |sum, text| sum ^ plain.document(b"k", text).fingerprint.bits()));
        whole.push(rate(a));
        let (b, _) = measure::seconds(|| texts.iter().take(texts.len() / 10).fold(0u64, |sum, text| sum ^ web_simhash::SimHash64::from_text(text, &extractor).0));
        let part: usize = texts.iter().take(texts.len() / 10).map(String::len).sum();
        web.push(part as f64 / b / 1e6);
    }
    println!("with sketch and digest: hapax-dedup {} MB/s; web-simhash from_text {} MB/s", measure::show(&mut whole), measure::show(&mut web));
    let chars = || texts.iter().flat_map(|text| text.chars());
    let han = chars().filter(|c| ('\u{4E00}'..='\u{9FFF}').contains(c)).count();
    let language = if 2 * han > chars().filter(|c| c.is_alphabetic()).count() { "zh" } else { "en" };
    let jieba = hapax_extract::jieba();
    let (mut whole, mut marked, mut cut) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let features = |text: &String| hapax_extract::features(text, language, |bytes| FeatureHash::Fnv1aMix.hash(bytes));
        whole.push(rate(measure::seconds(|| texts.iter().map(|text| features(text).words.len()).sum::<usize>()).0));
        let fingerprint = |text: &String| {
            let mut simhash = Simhash::new();
            simhash.add_weighted(features(text).weighted());
            simhash.finish().bits()
        };
        marked.push(rate(measure::seconds(|| texts.iter().fold(0, |sum, text| sum ^ fingerprint(text))).0));
        cut.push(rate(measure::seconds(|| texts.iter().map(|text| jieba.cut(text, false).len()).sum::<usize>()).0));
    }
    println!(
        "the crawler's features as {language}: {} MB/s, with their fingerprint {} MB/s; jieba-rs alone {} MB/s",
        measure::show(&mut whole), measure::show(&mut marked), measure::show(&mut cut)
    );
    let hashes: Vec<u64> = (0..1000u64).map(hapax_dedup::mix64).collect();
    let (mut fast, mut weighted, mut slow) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (c, _) = measure::seconds(|| {
            let mut sum = 0;
            for _ in 0..10_000 {
                let mut simhash = Simhash::new();
                simhash.add_weighted(std::hint::black_box(&hashes).iter().map(|hash| (*hash, 29)));
                sum ^= simhash.finish().bits();
            }
            sum
        });
        weighted.push(10.0 / c);
        let (a, _) = measure::seconds(|| {
            let mut sum = 0;
            for _ in 0..10_000 {
                let mut simhash = Simhash::new();
                simhash.add_all(std::hint::black_box(&hashes));
                sum ^= simhash.finish().bits();
            }
            sum
        });
        let (b, _) = measure::seconds(|| {
            let mut sum = 0;
            for _ in 0..10_000 {
                let mut simhash = Simhash::new();
                std::hint::black_box(&hashes).iter().for_each(|&hash| simhash.add(hash, 1));
                sum ^= simhash.finish().bits();
            }
            sum
        });
        fast.push(10.0 / a);
        slow.push(10.0 / b);
    }
    println!(
        "accumulation of 1,000 features: add_all {} M/s, add_weighted {} M/s, one by one {} M/s",
        measure::show(&mut fast), measure::show(&mut weighted), measure::show(&mut slow)
    );
    let words: Vec<&str> = texts.iter().flat_map(|text| text.split_whitespace()).collect();
    for hash in FeatureHash::ALL {
        let (a, _) = measure::seconds(|| words.iter().fold(0u64, |sum, word| sum ^ hash.hash(word.as_bytes())));
        println!("{:<16} {:.0} M words/s", hash.name(), words.len() as f64 / a / 1e6);
    }
}

/// Reads the texts of a folder.
pub fn read(folder: &str) -> Vec<String> {
    let mut texts = Vec::new();
    collect(Path::new(folder), &mut texts);
    texts
}

fn collect(path: &Path, texts: &mut Vec<String>) {
    if path.is_dir() {
        let mut entries: Vec<_> = std::fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| collect(entry, texts));
    } else if let Ok(text) = std::fs::read_to_string(path) {
        texts.push(text);
    }
}
