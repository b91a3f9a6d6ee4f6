//! `sealcast-lab gateway`, and the programs that it starts.

use std::path::Path;
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
        also(&mut definition, program, "");
    }
    for options in &args.with {
        let name = format!("sealcast with {options}");
        add(&mut definition, name, &[("options", options)]);
    }
    only(&mut definition, &args.common.only)?;
    measure(definition, &args.common)
}

/// Adds the gateways of another build. They have another carrier `between` them if one is named.
pub(super) fn also(definition: &mut Definition, program: &Path, between: &str) {
    let program = program.display().to_string();
    let name = match between {
        "" => format!("sealcast as {program}"),
        between => format!("sealcast-{between} as {program}"),
    };
    add(definition, name, &[("program", &program), ("between", between)]);
}

/// Adds a variant of the gateways to measure beside those of this build.
fn add(definition: &mut Definition, name: String, fields: &[(&str, &str)]) {
    let fields = [("kind", "sealcast")].iter().chain(fields);
    definition.rivals.push(name.clone());
    definition.systems.push(Entry {
        name,
        words: String::new(),
        fields: fields.map(|&(name, value)| (name.to_owned(), value.into())).collect(),
    });
}

/// A name includes the gateways of other builds and with other options: `sealcast` includes `sealcast as PROGRAM`.
pub(super) fn only(definition: &mut Definition, names: &[String]) -> Result<()> {
    let variants = definition.systems.iter().map(|system| &system.name).filter(|name| {
        let of = name.split_once(' ').map(|(of, _)| of);
        of.is_some_and(|of| names.iter().any(|name| name == of))
    });
    let names: Vec<String> = names.iter().chain(variants).cloned().collect();
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
