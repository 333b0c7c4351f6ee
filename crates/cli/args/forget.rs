//! Arguments of `crawl forget`.

use clap::Args as ClapArgs;

use super::Data;

/// Arguments of `forget`.
#[derive(ClapArgs, Debug)]
pub(crate) struct ForgetArgs {
    /// The URL, or the host: a.example (http and https), a.example:8080
    #[arg(required_unless_present = "undo")]
    pub(crate) url_or_host: Option<String>,
    /// List the pages that would be removed; change nothing
    #[arg(long, conflicts_with_all = ["yes", "undo"])]
    pub(crate) dry_run: bool,
    /// Remove without a question; the next version requires it if there is no terminal
    #[arg(long)]
    pub(crate) yes: bool,
    /// Bring back the removed pages of this URL or host [default: of the last one] from the archive
    #[arg(long)]
    pub(crate) undo: bool,
    /// Also overwrite the removed responses in the archive; --undo cannot bring them back
    #[arg(long, conflicts_with = "undo")]
    pub(crate) purge: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}
