//! `crawl man`: one page, with the flags of every command in it.

use anyhow::Result;
use clap::Command;
use clap_mangen::Man;

/// The page of a program, in roff.
pub(super) fn page(command: &Command) -> Result<Vec<u8>> {
    let mut main = Vec::new();
    Man::new(command.clone()).render(&mut main)?;
    // There are no pages beside this one.
    let name = command.get_name();
    let mut text = String::from_utf8(main)?.replace(&format!("{name}\\-"), &format!("{name} "));
    text = text.lines().map(|line| unpaged(line, name) + "\n").collect();
    let mut rest = Vec::new();
    sections(command, name, &mut rest)?;
    text.push_str(&String::from_utf8(rest)?);
    Ok(text.into_bytes())
}

/// A line that names a command, without the number of a page that is its own.
fn unpaged(line: &str, name: &str) -> String {
    match line.strip_suffix("(1)") {
        Some(command) if command.starts_with(&format!("{name} ")) => command.to_owned(),
        _ => line.to_owned(),
    }
}

/// A section for each command below another one.
fn sections(command: &Command, path: &str, out: &mut Vec<u8>) -> Result<()> {
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        if command.get_name() == "help" {
            continue;
        }
        let path = format!("{path} {}", command.get_name());
        let page = Man::new(command.clone().bin_name(path.clone()));
        let mut own = Vec::new();
        page.render_synopsis_section(&mut own)?;
        page.render_description_section(&mut own)?;
        page.render_options_section(&mut own)?;
        out.extend(format!(".SH \"{}\"\n", path.to_uppercase()).bytes());
        // Sections of a page of its own are parts of this one.
        out.extend(String::from_utf8(own)?.replace(".SH ", ".SS ").bytes());
        sections(command, &path, out)?;
    }
    Ok(())
}
