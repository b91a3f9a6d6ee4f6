//! The command line of the laboratory.

mod args;
mod attack;
mod board;
mod browser;
mod builds;
mod children;
mod ciphers;
mod common_args;
mod control;
mod count;
mod delay;
mod gateway;
mod glass;
mod groups;
mod handshake;
mod latency;
mod link;
mod link_args;
mod live;
mod load;
mod net;
mod papers;
mod pipeline;
mod proxy;
mod records;
mod report;
mod run;
mod selective;
mod speed;
mod stream;
mod throughput;
mod traffic;
mod verify;
mod viewers;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};

use crate::count::valgrind::become_valgrind;
use crate::experiments::stream::{PRICE, RESOLUTION, SLOW};

/// Runs the command that the process's arguments name.
pub fn run() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Definition(args) => run::definition(&args),
        Command::Net(args) => net::run(&args),
        Command::Proxy(args) => proxy::run(&args),
        Command::Throughput(args) => throughput::run(&args),
        Command::Ciphers(args) => ciphers::run(&args),
        Command::CipherAlone(args) => ciphers::alone(&args),
        Command::Load(args) => load::run(&args),
        Command::Handshake(args) => handshake::run(&args),
        Command::Live(args) => live::run(&args),
        Command::Papers(args) => papers::run(&args),
        Command::Board(args) => board::run(&args),
        Command::Compare(args) => board::compare(&args),
        Command::Pipeline(args) => pipeline::run(&args),
        Command::Speed(args) => speed::run(&args),
        Command::Records(args) => records::run(&args),
        Command::Price(args) => stream::run(&PRICE, &args),
        Command::Resolution(args) => stream::run(&RESOLUTION, &args),
        Command::Slow(args) => stream::run(&SLOW, &args),
        Command::Selective(args) => selective::run(&args),
        Command::SelectiveSend(args) => selective::send(&args),
        Command::SelectiveReceive(args) => selective::receive(&args),
        Command::Traffic(args) => traffic::run(&args),
        Command::Attack(args) => attack::run(&args),
        Command::Browser(args) => browser::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Delay(args) => delay::run(&args),
        Command::DelaySend(args) => delay::send(&args),
        Command::DelayReceive(args) => delay::receive(&args),
        Command::Latency(args) => latency::run(&args),
        Command::Link(args) => link::run(&args),
        Command::LinkSend(args) => link::send(&args),
        Command::LinkReceive(args) => link::receive(&args),
        Command::Gateway(args) => gateway::run(&args),
        Command::Count(args) => count::run(&args),
        Command::Valgrind(args) => Err(become_valgrind(&args.arguments)),
        Command::GatewayRelay(args) => gateway::relay(&args),
        Command::Glass(args) => glass::run(&args),
        Command::Groups(args) => groups::run(&args),
        Command::Viewers(args) => viewers::run(&args),
        Command::PlainFanOut(args) => viewers::fan_out(&args),
        Command::Sealcast(args) => Ok(gateway::sealcast(&args)),
        Command::Decoder(args) => Ok(gateway::decoder(&args)),
    };
    done.unwrap_or_else(|failure| {
        eprintln!("sealcast-lab: {failure}");
        ExitCode::from(failure.kind.exit_code())
    })
}
