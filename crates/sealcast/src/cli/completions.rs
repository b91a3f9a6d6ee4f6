//! `sealcast completions`.

use clap::Command;
use clap_complete::aot::{Shell, generate};

use crate::failure::Result;
use crate::output;

/// Prints the completions of a shell.
pub(super) fn run(program: &Command, shell: Shell) -> Result<()> {
    output::print(&String::from_utf8_lossy(&completions(program, shell)))
}

/// The completions of a shell for the program.
pub fn completions(program: &Command, shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    generate(shell, &mut visible(program), "sealcast", &mut text);
    text
}

/// The program without its hidden commands, which no completion should offer.
fn visible(program: &Command) -> Command {
    let shown = program
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .cloned();
    let shown: Vec<Command> = shown.collect();
    Command::new("sealcast")
        .version(env!("CARGO_PKG_VERSION"))
        .args(program.get_arguments().cloned())
        .subcommands(shown)
}
