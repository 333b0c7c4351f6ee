//! `crawl man`: one manual page with all commands and flags.

use anyhow::Result;
use clap::Command;
use clap_mangen::Man;

/// The manual page of a program, in roff.
pub(super) fn page(command: &Command) -> Result<Vec<u8>> {
    let mut main = Vec::new();
    Man::new(command.clone()).render(&mut main)?;
    // The commands have no separate pages.
    let name = command.get_name();
    let main = String::from_utf8(main)?;
    let mut text: String = main.lines().map(|line| unpaged(line, name) + "\n").collect();
    let mut rest = Vec::new();
    sections(command, name, &mut rest)?;
    text.push_str(&String::from_utf8(rest)?);
    Ok(text.into_bytes())
}

/// Replaces a reference to a command's page by the command as typed.
fn unpaged(line: &str, name: &str) -> String {
    let command = line.strip_prefix(name).and_then(|rest| rest.strip_prefix("\\-"));
    let command = command.and_then(|rest| rest.strip_suffix("(1)"));
    command.map_or_else(
        || line.to_owned(),
        |command| format!("{name} {}", command.replace("\\-", "-")),
    )
}

/// Writes a section for each subcommand.
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
        // The sections of the command's page become subsections.
        out.extend(String::from_utf8(own)?.replace(".SH ", ".SS ").bytes());
        sections(command, &path, out)?;
    }
    Ok(())
}
