//! `sealcast-lab gateway`, and the programs that it starts.

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::{GatewayCommand, GatewayRelayArgs, SealcastArgs};
use super::builds::Programs;
use super::run::{built_in, is_of_kind, measure, name_program};
use crate::experiments::gateway::{self, GATEWAY};
use crate::harness::{Definition, Entry};

/// The kind of our systems in definitions.
const KIND: &str = "sealcast";

pub(super) fn run(args: &GatewayCommand) -> Result<ExitCode> {
    let mut definition = built_in(&GATEWAY, &args.common)?;
    if args.awake {
        definition.settings.insert("awake".to_owned(), true.into());
    }
    name_program(&mut definition, "boringtun", &args.boringtun);
    name_program(&mut definition, "mediamtx", &args.mediamtx);
    definition.only(&args.common.only)?;
    args.builds.apply(&mut definition, Programs::Started, is_ours)?;
    for options in &args.with {
        add(&mut definition, options);
    }
    measure(definition, &args.common)
}

/// True for pairs of gateways.
pub(super) fn is_ours(system: &Entry) -> bool {
    is_of_kind(system, KIND)
}

/// Adds a pair of gateways with these options to measure beside that without.
fn add(definition: &mut Definition, options: &str) {
    let name = format!("sealcast with {options}");
    definition.rivals.push(name.clone());
    let fields = [("kind", KIND), ("options", options)];
    definition.systems.push(Entry {
        name,
        words: String::new(),
        fields: fields
            .map(|(name, value)| (name.to_owned(), value.into()))
            .into_iter()
            .collect(),
    });
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
