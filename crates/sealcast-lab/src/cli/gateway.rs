//! `sealcast-lab gateway`, and the programs that it starts.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Args;
use sealcast::failure::Result;

use super::builds::{BuildsArgs, Programs};
use super::common_args::{CarrierArg, CommonArgs};
use super::run::{built_in, is_of_kind, measure, name_program};
use crate::experiments::gateway::{self, GATEWAY};
use crate::harness::{Definition, Entry};

/// The kind of our systems in definitions.
const KIND: &str = "sealcast";

#[derive(Args, Debug)]
pub(super) struct GatewayCommand {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// Keep processors from sleeping between packets: waking a virtual one takes longer than carrying a packet
    #[arg(long)]
    pub(super) awake: bool,
    #[command(flatten)]
    pub(super) builds: BuildsArgs,
    /// Also measure the gateways with these options of the listening URL, over UDP, such as "rate=off&pace=off"; may be
    /// repeated
    #[arg(long, value_name = "OPTIONS")]
    pub(super) with: Vec<String>,
    /// The boringtun-cli to run (needs root)
    #[arg(long, value_name = "PROGRAM", default_value = "boringtun-cli")]
    pub(super) boringtun: String,
    /// The mediamtx to run
    #[arg(long, value_name = "PROGRAM", default_value = "mediamtx")]
    pub(super) mediamtx: String,
}

#[derive(Args, Debug)]
pub(super) struct GatewayRelayArgs {
    /// The transport of what it passes on
    #[arg(long)]
    pub(super) carrier: CarrierArg,
    /// Where to pass it on to
    #[arg(required = true)]
    pub(super) to: Vec<SocketAddr>,
}

#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(super) struct SealcastArgs {
    /// Its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) arguments: Vec<OsString>,
}

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
