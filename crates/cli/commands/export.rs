//! `crawl export`: the kept pages as JSONL, CSV or a folder of Markdown.

use crate::duplicates::copies;
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use hapax_index::StoredPage;
use serde_json::json;

use super::duplicates::cell;
use super::sink::{Sink, Table};
use crate::args::{ExportArgs, ExportFormat};
use crate::exit::{COMPLETE, USAGE, coded};
use crate::output;
use hapax_data::files::{NewFile, for_owner_only};
use hapax_data::{Rows, is_of_host, markdown, unwritable};

/// Bytes of a file's name, without its number and ending.
const MAX_NAME: usize = 80;

pub(super) fn run(args: &ExportArgs) -> Result<u8> {
    let data = &args.data.data;
    if crate::data::saved(data)?.unwrap_or_default().settings.is_personal() {
        for_owner_only();
    }
    let searcher = crate::open_index::open(data)?;
    let copies = copies(&Rows::open(data)?);
    let wanted = |page: &StoredPage| {
        let host = || url::Url::parse(&page.url).map(|url| hapax_url::host_key(&url));
        args.language.as_ref().is_none_or(|language| *language == page.language)
            && args
                .host
                .as_ref()
                .is_none_or(|wanted| host().is_ok_and(|host| is_of_host(&host, wanted)))
    };
    let (mut failure, mut any) = (None, false);
    let mut each = |write: &mut dyn FnMut(&StoredPage, u64) -> Result<()>| -> Result<()> {
        searcher.pages(|page| {
            if wanted(&page) {
                any = true;
                let copies = copies.get(&page.id).copied().unwrap_or(0);
                failure = write(&page, copies).err();
            }
            failure.is_none()
        })?;
        failure.take().map_or(Ok(()), Err)
    };
    match args.format {
        ExportFormat::Jsonl => {
            let mut out = Sink::create(args.output.as_deref())?;
            each(&mut |page, copies| {
                let row = json!({"url": page.url, "title": page.title, "language": page.language,
                    "text": page.text, "fetched": page.fetched, "copies": copies});
                Ok(writeln!(out, "{}", output::json(&row))?)
            })?;
            out.finish()?;
        }
        ExportFormat::Csv => {
            let mut table = Table::new(Sink::create(args.output.as_deref())?);
            table.row(["url", "title", "language", "fetched", "copies", "text"])?;
            each(&mut |page, copies| {
                let copies = copies.to_string();
                let (title, text) = (cell(page.title.clone()), cell(page.text.clone()));
                table.row([&*page.url, &title, &page.language, &page.fetched, &copies, &text])
            })?;
            table.finish()?;
        }
        ExportFormat::Markdown => {
            let Some(folder) = args.output.as_deref().filter(|path| *path != Path::new("-")) else {
                return Err(coded(
                    USAGE,
                    "--format markdown writes one file a page: give a folder with --output",
                ));
            };
            std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
            each(&mut |page, copies| {
                let path = folder.join(file_name(page));
                let text = markdown(page, copies);
                let written = NewFile::replacing(&path).and_then(|mut file| {
                    file.write_all(text.as_bytes())?;
                    file.finish()
                });
                Ok(written.map_err(|error| unwritable(&path, &error))?)
            })?;
        }
    }
    if !any && (args.host.is_some() || args.language.is_some()) {
        // Of a misspelt host nothing else would tell.
        writeln!(std::io::stderr(), "crawl: no page that was kept has this host or language")?;
    }
    Ok(COMPLETE)
}

/// The number makes it unique, the title makes it readable; nothing of it leads out of the folder.
fn file_name(page: &StoredPage) -> String {
    let title = if page.title.is_empty() { &page.url } else { &page.title };
    let mut name: String = title
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .collect::<String>()
        .split('-')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-");
    name.truncate(name.floor_char_boundary(MAX_NAME));
    format!("{:06}-{name}.md", page.id)
}
