//! `sealcast-lab gateway`, and the programs that it runs.

use std::process::ExitCode;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};

use super::args::{GatewayCommand, GatewayRelayArgs, SealcastArgs};
use super::control;
use crate::gateway::{self, GatewayOptions, Gateways, LOADS, Load, System};

/// What `--quick` sends, unless loads are named.
const QUICK_LOADS: [&str; 5] = ["udp-250", "udp-10000", "tcp-30", "cameras-udp", "cameras-tcp"];

/// How much is measured: rounds, and seconds of each measurement.
const FULL: (u16, u32) = (7, 4);
const QUICK: (u16, u32) = (1, 1);

pub(super) fn run(args: &GatewayCommand) -> Result<ExitCode> {
    let (rounds, seconds) = if args.quick { QUICK } else { FULL };
    let (loads, systems) = chosen(args)?;
    let options = GatewayOptions {
        loads,
        systems,
        rounds: args.rounds.unwrap_or(rounds).into(),
        time: Duration::from_secs(args.seconds.unwrap_or(seconds).into()),
        awake: args.awake,
    };
    let planned = options.clone();
    let result = control::until_signalled(move |stop| gateway::measure(&planned, stop, &|words| eprintln!("{words}")))?;
    print!("{}", gateway::terminal(&result));
    if let Some(out) = &args.out {
        gateway::write(out, &options, &result)?;
        println!("written: record.json, table.md and report.html in {}", out.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// The loads and the systems that are named, or all of a kind of which none is.
fn chosen(args: &GatewayCommand) -> Result<(Vec<Load>, Vec<System>)> {
    let mut systems = vec![System::Relay, System::Sealcast(Gateways::default())];
    let others = args.also.iter().map(|program| Gateways {
        program: Some(program.clone()),
        ..Gateways::default()
    });
    let tuned = args.with.iter().map(|options| Gateways {
        options: options.clone(),
        ..Gateways::default()
    });
    systems.extend(others.chain(tuned).map(System::Sealcast));
    systems.extend([
        System::Boringtun(args.boringtun.clone()),
        System::Stunnel,
        System::Rtsps,
    ]);
    let named = |name: &str| args.only.iter().any(|only| only == name);
    let known = |name: &&String| {
        LOADS.iter().any(|load| load.name == **name) || systems.iter().any(|system| system.name() == **name)
    };
    if let Some(wrong) = args.only.iter().find(|name| !known(name)) {
        let loads = LOADS.iter().map(|load| load.name);
        let mut names: Vec<&str> = loads.chain(systems.iter().map(System::name)).collect();
        names.dedup();
        let what = format!("--only {wrong} is neither a load nor a system");
        return Err(Failure::new(
            FailureKind::Usage,
            what,
            format!("choose among {}", names.join(", ")),
        ));
    }
    let mut loads = LOADS.to_vec();
    if loads.iter().any(|load| named(load.name)) {
        loads.retain(|load| named(load.name));
    } else if args.quick {
        loads.retain(|load| QUICK_LOADS.contains(&load.name));
    }
    if systems.iter().any(|system| named(system.name())) {
        systems.retain(|system| named(system.name()));
    }
    Ok((loads, systems))
}

pub(super) fn relay(args: &GatewayRelayArgs) -> Result<ExitCode> {
    gateway::relay(args.carrier.into(), &args.to).map(|()| ExitCode::SUCCESS)
}

/// The program itself, as this build has it. It ends with whoever started it, whose end closes standard input.
pub(super) fn sealcast(args: &SealcastArgs) -> ExitCode {
    std::thread::spawn(|| {
        // What cannot be read has ended, too.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(0);
    });
    sealcast::cli::run_with(std::iter::once("sealcast".into()).chain(args.arguments.iter().cloned()))
}
