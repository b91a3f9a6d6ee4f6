//! `sealcast-lab gateway`, and the programs that it starts.

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::{GatewayCommand, GatewayRelayArgs, SealcastArgs};
use super::run::{built_in, measure, name_boringtun};
use crate::experiments::gateway::{self, GATEWAY};
use crate::harness::{Definition, Entry};

pub(super) fn run(args: &GatewayCommand) -> Result<ExitCode> {
    let mut definition = built_in(&GATEWAY, &args.common)?;
    if args.awake {
        definition.settings.insert("awake".to_owned(), true.into());
    }
    name_boringtun(&mut definition, &args.boringtun);
    for program in &args.also {
        let program = program.display().to_string();
        add(&mut definition, format!("sealcast as {program}"), "program", program);
    }
    for options in &args.with {
        add(
            &mut definition,
            format!("sealcast with {options}"),
            "options",
            options.clone(),
        );
    }
    only(&mut definition, &args.common.only)?;
    measure(definition, &args.common)
}

/// Adds a variant of the gateways to measure beside those of this build.
fn add(definition: &mut Definition, name: String, field: &str, value: String) {
    let fields = [("kind", "sealcast".to_owned()), (field, value)];
    definition.rivals.push(name.clone());
    definition.systems.push(Entry {
        name,
        words: String::new(),
        fields: fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect(),
    });
}

/// The name sealcast includes all gateways, those of other builds and with other options too.
fn only(definition: &mut Definition, names: &[String]) -> Result<()> {
    let mut names = names.to_vec();
    if names.iter().any(|name| name == "sealcast") {
        let variants = definition.systems.iter().map(|system| &system.name);
        names.extend(variants.filter(|name| name.starts_with("sealcast ")).cloned());
    }
    definition.only(&names)
}

pub(super) fn relay(args: &GatewayRelayArgs) -> Result<ExitCode> {
    gateway::relay(args.carrier.into(), &args.to).map(|()| ExitCode::SUCCESS)
}

/// Runs `sealcast` itself, as in this build. It ends when standard input closes, that is, when its parent ends.
pub(super) fn sealcast(args: &SealcastArgs) -> ExitCode {
    std::thread::spawn(|| {
        // A read error also means the end.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(0);
    });
    sealcast::cli::run_with(std::iter::once("sealcast".into()).chain(args.arguments.iter().cloned()))
}

/// The decoder's process. A program starts it from the file that it runs itself, which is the laboratory's for the
/// `sealcast` of this build. It ends with its socket.
pub(super) fn decoder(args: &SealcastArgs) -> ExitCode {
    let own = ["sealcast".into(), "decoder".into()];
    sealcast::cli::run_with(own.into_iter().chain(args.arguments.iter().cloned()))
}
