//! The option of commands that can print JSON.

use clap::Args;

#[derive(Debug, Args)]
pub(super) struct JsonArg {
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}
