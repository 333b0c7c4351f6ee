//! `crawl stream`: changes of pages, for other programs.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Result;
use hapax_data::files::{NewFile, is_closed};
use hapax_data::{
    Cursor, FOLLOW_INTERVAL, Fields, Stream, is_without_events, must_hold_pages, unwritable,
};

use crate::args::{StreamArgs, StreamFormat};
use crate::change::alone;
use crate::exit::COMPLETE;
use crate::output;

pub(super) fn run(args: &StreamArgs) -> Result<u8> {
    let fields = args.fields.as_deref().map(Fields::parse).transpose()?.unwrap_or_default();
    let from = args.from.as_deref().filter(|from| !from.is_empty());
    let from = from.map(str::parse::<Cursor>).transpose()?;
    let format = match args.format {
        StreamFormat::Jsonl => hapax_data::StreamFormat::Jsonl,
        StreamFormat::OpensearchBulk => hapax_data::StreamFormat::OpenSearchBulk,
    };
    for data in &args.data.dirs {
        must_hold_pages(data)?;
        if is_without_events(data)?
            && let Some((amend, _)) = alone(data)?
        {
            amend.finish()?;
        }
    }
    let mut stream = Stream::open_all(&args.data.dirs, from.as_ref())?.with_fields(&fields);
    let mut out = BufWriter::new(io::stdout().lock());
    let (mut left, mut last) = (args.limit.unwrap_or(u64::MAX), None);
    loop {
        while left > 0
            && let Some(event) = stream.next_event()?
        {
            for line in event.lines(format, &fields)? {
                writeln!(out, "{}", output::json(&line))?;
            }
            (left, last) = (left - 1, Some(event.cursor));
        }
        out.flush()?;
        if left == 0 || !args.follow {
            break;
        }
        while !stream.refresh()? {
            if is_closed(io::stdout()) {
                return Ok(COMPLETE);
            }
            std::thread::sleep(FOLLOW_INTERVAL);
        }
    }
    if let (Some(path), Some(cursor)) = (&args.cursor_file, last) {
        save(path, &cursor).map_err(|error| unwritable(path, &error))?;
    }
    Ok(COMPLETE)
}

/// Replaces the file atomically: a consumer may be killed at any moment.
fn save(path: &Path, cursor: &Cursor) -> io::Result<()> {
    let mut file = NewFile::replacing(path)?;
    writeln!(file, "{cursor}")?;
    file.finish()
}
