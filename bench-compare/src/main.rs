//! Compares hapax-dedup and hapax-extract with their peers: interleaved in one run, with the same results.
//!
//!   cargo run --release -- near [FINGERPRINTS] [QUERIES] [ROUNDS] [DISTANCE] [LAYOUT]
//!   cargo run --release -- passages FOLDER [QUERIES] [ROUNDS] [DISTANCE] [LAYOUT]
//!   cargo run --release -- offer [FINGERPRINTS] [OF THEM FOR PEERS] [AT ONCE] [ROUNDS or ONE OF THEM]
//!   cargo run --release -- pairs [FINGERPRINTS] [ROUNDS] [DISTANCE] [PROGRAM of simhash-cpp.cpp]
//!   cargo run --release -- text FOLDER [ROUNDS]
//!   cargo run --release -- extract FOLDER [ROUNDS]

mod data;
mod extract;
mod measure;
mod near;
mod offer;
mod pairs;
mod text;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: usize| args.get(index).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    match args.first().map(String::as_str) {
        Some("near") => near::run(
            data::stored(number(1, 1_000_000)),
            number(2, 100_000),
            number(3, 5),
            number(4, 3) as u32,
            args.get(5).map(String::as_str),
        ),
        Some("passages") if args.len() > 1 => near::run(
            data::passages(&text::read(&args[1])),
            number(2, 100_000),
            number(3, 5),
            number(4, 3) as u32,
            args.get(5).map(String::as_str),
        ),
        Some("offer") => offer::run(number(1, 1_000_000), number(2, 200_000), number(3, 1), args.get(4).map(String::as_str)),
        Some("pairs") => pairs::run(number(1, 1_000_000), number(2, 3), number(3, 3) as u32, args.get(4).map(String::as_str)),
        Some("extract") if args.len() > 1 => extract::run(&args[1], number(2, 5)),
        Some("text") if args.len() > 1 => text::run(&args[1], number(2, 5)),
        _ => eprintln!("near | passages FOLDER | offer | pairs | text FOLDER | extract FOLDER: see the top of main.rs"),
    }
}
