//! `crawl find-all` and `crawl find-clusters`, in the format of the simhash-cpp tools.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result};
use hapax_dedup::{
    BatchOptions, Clusters, Fingerprint, Found, Layout, MAX_DISTANCE, Progress, Sorter, Source,
    Spool, find_each,
};
use indicatif::{ProgressBar, ProgressStyle};

use crate::args::{Common, FindArgs};
use crate::exit::{COMPLETE, USAGE, coded};
use hapax_data::inputs::unpacked;
use hapax_data::units::parse_size;
use hapax_data::unwritable;

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Pairs,
    Clusters,
}

/// The byte order mark that some editors write at the beginning of a text.
const BOM: &[u8] = "\u{FEFF}".as_bytes();
/// The most bytes of an input line; no number is longer.
const MAX_LINE: u64 = 1024;

/// The input, in memory or in a temporary file.
enum Input {
    Memory(Vec<Fingerprint>),
    File(Spool),
}

impl Input {
    fn len(&self) -> u64 {
        match self {
            Self::Memory(fingerprints) => fingerprints.len() as u64,
            Self::File(spool) => spool.len(),
        }
    }
}

pub(super) fn run(args: &FindArgs, what: What, common: &Common) -> Result<u8> {
    if args.distance > MAX_DISTANCE {
        return Err(coded(
            USAGE,
            format!("--distance {}: out of range. Allowed: 0 to {MAX_DISTANCE}", args.distance),
        ));
    }
    let memory = usize::try_from(parse_size(&args.memory)?).unwrap_or(usize::MAX).max(1 << 16);
    let layout = |count: u64| match args.blocks {
        Some(blocks) => Layout::new(blocks, args.distance).map_err(|error| {
            coded(USAGE, format!("--blocks {blocks} with --distance {}: {error}", args.distance))
        }),
        None => Ok(Layout::for_batch(count, args.distance)?),
    };
    // Check the number of blocks before reading a long input.
    layout(0)?;
    let input = read(&args.input, memory)?;
    let layout = layout(input.len())?;
    let out = create(&args.output)?;
    // Both the search and the progress callback write.
    let out = RefCell::new(Output { out, written: Ok(()) });
    let bar = bar(common);
    let progress = |progress: Progress| {
        // Flushing makes results available and detects a full disk.
        out.borrow_mut().with(|out| Ok(out.flush()?));
        if let Some(bar) = &bar {
            bar.set_length(progress.total);
            bar.set_position(progress.done);
            bar.set_message(format!("{} found", progress.pairs));
        }
    };
    let options = BatchOptions { memory_bytes: memory, ..BatchOptions::default() };
    // Results use no more memory than the input, except one cluster.
    let folder = std::env::temp_dir();
    let mut pairs = Sorter::new(&folder, memory);
    let mut clusters = Clusters::spilling(&folder, memory);
    // Results are sorted only if the input fits into memory; otherwise they are written as found.
    let sorted = matches!(input, Input::Memory(_));
    let visit = |found| match what {
        What::Clusters => clusters.add(found),
        What::Pairs => {
            let (a, b) = match found {
                Found::Near(pair) => (pair.a.bits(), pair.b.bits()),
                Found::Repeated(value, _) => (value.bits(), value.bits()),
            };
            out.borrow_mut().with(|out| {
                match sorted {
                    true => pairs.push([a, b])?,
                    false => writeln!(out, "[{a}, {b}]")?,
                }
                Ok(())
            });
        }
    };
    let searched = match &input {
        Input::Memory(all) => {
            let source = Until { source: all.as_slice(), out: &out };
            find_each(&source, &layout, &options, visit, progress)
        }
        Input::File(spool) => {
            let source = Until { source: spool, out: &out };
            find_each(&source, &layout, &options, visit, progress)
        }
    };
    let Output { mut out, written } = out.into_inner();
    // A failed write ends the search and is the more precise error.
    written?;
    searched?;
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    write_sorted(&mut out, pairs, clusters)?;
    out.flush()?;
    Ok(COMPLETE)
}

fn create(path: &Path) -> Result<Box<dyn Write>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufWriter::new(io::stdout().lock())));
    }
    let file = File::create(path).and_then(|mut file| {
        has_room(&mut file)?;
        Ok(file)
    });
    let file = file.map_err(|error| unwritable(path, &error))?;
    Ok(Box::new(BufWriter::new(file)))
}

/// Writes sorted results at the end.
fn write_sorted(out: &mut dyn Write, pairs: Sorter<2>, clusters: Clusters) -> Result<()> {
    for pair in pairs.sorted()? {
        let [a, b] = pair?;
        writeln!(out, "[{a}, {b}]")?;
    }
    let mut written = Ok(());
    clusters.for_each(|cluster| {
        if written.is_ok() {
            written = write_line(out, cluster);
        }
    })?;
    written?;
    Ok(())
}

/// The output, and the first error of writing.
struct Output {
    out: Box<dyn Write>,
    written: Result<()>,
}

impl Output {
    /// Writes, unless an earlier write failed.
    fn with(&mut self, write: impl FnOnce(&mut dyn Write) -> Result<()>) {
        if self.written.is_ok() {
            self.written = write(&mut self.out);
        }
    }
}

/// A source that fails once writing has failed, because a search reads it once for each part of each table.
struct Until<'a, S: ?Sized> {
    source: &'a S,
    out: &'a RefCell<Output>,
}

impl<S: Source + ?Sized> Source for Until<'_, S> {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&[Fingerprint])) -> hapax_dedup::Result<()> {
        if self.out.borrow().written.is_err() {
            return Err(hapax_dedup::Error::Poisoned);
        }
        self.source.for_each(visit)
    }
}

/// Checks that a file on disk is writable before a search that may take hours and writes sorted results at its end.
fn has_room(file: &mut File) -> io::Result<()> {
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    file.write_all(b"\n")?;
    file.set_len(0)?;
    file.rewind()
}

fn write_line(out: &mut dyn Write, cluster: &[Fingerprint]) -> io::Result<()> {
    for (number, member) in cluster.iter().enumerate() {
        write!(out, "{}{}", if number == 0 { "[" } else { ", " }, member.bits())?;
    }
    writeln!(out, "]")
}

/// Only on a terminal.
fn bar(common: &Common) -> Option<ProgressBar> {
    let wanted = io::stderr().is_terminal() && !common.quiet && !common.no_progress;
    let style = ProgressStyle::with_template("{bar:30} {percent}% {msg}, {eta} left").ok();
    style.filter(|_| wanted).map(|style| ProgressBar::new(0).with_style(style))
}

fn read(path: &Path, memory: usize) -> Result<Input> {
    let (name, input): (String, Box<dyn BufRead>) = if path == Path::new("-") {
        ("stdin".to_owned(), Box::new(io::stdin().lock()))
    } else {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| coded(USAGE, format!("{name}: {error}")))?;
        (name, Box::new(BufReader::with_capacity(1 << 20, file)))
    };
    let mut input = unpacked(input).with_context(|| name.clone())?;
    let mut fingerprints = Vec::new();
    let mut spool: Option<Spool> = None;
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        // A limit, so that a malformed line cannot fill the memory.
        let read = (&mut input).take(MAX_LINE).read_until(b'\n', &mut line);
        if read.with_context(|| name.clone())? == 0 {
            break;
        }
        let text = line.strip_prefix(BOM).filter(|_| number == 1).unwrap_or(&line).trim_ascii();
        if text.is_empty() {
            continue;
        }
        let bits = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        let bits = bits.ok_or_else(|| {
            let shown = crate::output::line(&String::from_utf8_lossy(text), 40);
            coded(
                USAGE,
                format!(
                    "{name}:{number}: not a number below 2^64: \"{shown}\". Write one fingerprint a line"
                ),
            )
        })?;
        let fingerprint = Fingerprint::from_bits(bits);
        match &mut spool {
            Some(spool) => spool.push(fingerprint)?,
            None => fingerprints.push(fingerprint),
        }
        if spool.is_none() && fingerprints.len() * 8 >= memory {
            let mut fresh = Spool::create(&std::env::temp_dir())?;
            fingerprints.drain(..).try_for_each(|fingerprint| fresh.push(fingerprint))?;
            fingerprints.shrink_to_fit();
            spool = Some(fresh);
        }
    }
    Ok(match spool {
        Some(mut spool) => {
            spool.finish()?;
            Input::File(spool)
        }
        None => Input::Memory(fingerprints),
    })
}
