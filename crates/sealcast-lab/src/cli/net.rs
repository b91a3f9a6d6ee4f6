//! `sealcast-lab net`

use std::fmt::Write;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::LinkProfile;

use super::children::Children;
use super::control::{self, Controlled, Signals};
use super::link_args::NetArgs;
use crate::net::{DEVICE, Direction, End, Net, NetConfig, Report};
use crate::netem;

pub(super) fn run(args: &NetArgs) -> Result<ExitCode> {
    if args.check_against_netem {
        return check(args);
    }
    let (up, down) = args.link.profiles()?;
    let config = NetConfig {
        name: args.name.clone(),
        up,
        down,
        seed: args.link.seed,
        device_mtu: args.device_mtu,
        congestion_control: args.congestion_control.clone(),
    };
    // Listens for signals before there is anything to clean up.
    control::runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        let net = Net::start(&config)?;
        let code = over(&net, args, &mut signals).await?;
        print!("{}", Controlled::report(&net));
        Ok(ExitCode::from(code))
    })
}

fn check(args: &NetArgs) -> Result<ExitCode> {
    let (profile, _) = args.link.profiles()?;
    let profile = if profile == LinkProfile::default() {
        netem::usual()
    } else {
        profile
    };
    control::runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (seed, told) = (args.link.seed, Arc::clone(&stop));
        let mut compared = tokio::task::spawn_blocking(move || netem::compare(&profile, seed, &told));
        let table = tokio::select! {
            table = &mut compared => table,
            () = signals.wait(true) => {
                // It cleans up, then reports that it was stopped.
                stop.store(true, Ordering::Relaxed);
                compared.await
            }
        };
        let defect = |_| {
            Err(Failure::new(
                FailureKind::Internal,
                "the comparison failed",
                "please report this",
            ))
        };
        print!("{}", table.unwrap_or_else(defect)?);
        Ok(ExitCode::SUCCESS)
    })
}

/// Runs the requested programs over the link, until they end or the run is stopped.
async fn over(net: &Net, args: &NetArgs, signals: &mut Signals) -> Result<u8> {
    let mut children = Children::default();
    for (end, script) in [(End::B, &args.run_b), (End::A, &args.run_a)] {
        if let Some(script) = script {
            let mut command = net.command(end, "sh");
            command.args(["-c", script]);
            children.start(command)?;
        }
    }
    let own_terminal = args.command.is_empty();
    if let Some((program, arguments)) = args.command.split_first() {
        let mut command = net.command(End::A, program);
        command.args(arguments);
        children.start_foreground(command)?;
    }
    let nothing_to_run = own_terminal && args.run_a.is_none() && args.run_b.is_none();
    if nothing_to_run {
        print!("{}", usage(net));
    }
    let ended = async {
        if nothing_to_run {
            std::future::pending().await
        } else {
            children.ended().await
        }
    };
    // The foreground program has the terminal, and so input lines and Ctrl-C.
    if own_terminal {
        let lines = Some(control::lines());
        tokio::select! {
            code = ended => Ok(code),
            () = control::run(net, signals, args.link.seconds, lines) => Ok(0),
        }
    } else {
        tokio::select! {
            code = ended => Ok(code),
            () = signals.wait(!std::io::stdin().is_terminal()) => Ok(130),
            () = control::time_is_up(args.link.seconds) => Ok(0),
        }
    }
}

fn usage(net: &Net) -> String {
    let mut text = String::new();
    for end in [End::A, End::B] {
        let (name, v4, v6) = (net.namespace(end), end.ipv4(), end.ipv6());
        let _ = writeln!(
            text,
            "namespace {name}: {DEVICE} has {v4} and {v6}; run programs in it with: ip netns exec {name} COMMAND"
        );
    }
    let _ = writeln!(text, "{}", control::profiles(net));
    let _ = writeln!(
        text,
        "for example: ip netns exec {} ping {}",
        net.namespace(End::A),
        End::B.ipv4()
    );
    let _ = writeln!(
        text,
        "type `link loss=5%`, `outage 30s`, `show` or `quit`; Ctrl-C takes everything down"
    );
    text
}

impl Controlled for Net {
    fn report(&self) -> String {
        let mut text = String::new();
        for (name, direction) in [("up, a to b", Direction::Up), ("down, b to a", Direction::Down)] {
            text.push_str(&lines_of(name, &Self::report(self, direction)));
        }
        let _ = writeln!(text, "TCP congestion control: {}", self.congestion_control());
        text
    }
}

fn lines_of(name: &str, report: &Report) -> String {
    let mut text = format!("{name}: {}\n", super::proxy::counts_in_words(&report.counts));
    if report.unread > 0 {
        let _ = writeln!(
            text,
            "  {} packets were dropped before the link, because this program did not get the processor: \
             the run is spoilt",
            report.unread
        );
    }
    if report.refused > 0 {
        let _ = writeln!(
            text,
            "  {} packets were refused by the receiving kernel",
            report.refused
        );
    }
    if !report.lateness.is_empty() {
        #[expect(clippy::cast_precision_loss, reason = "for people to read")]
        let late = |quantile| report.lateness.value_at_quantile(quantile) as f64 / 1e3;
        let (half, most, last) = (late(0.5), late(0.99), late(1.0));
        let _ = writeln!(
            text,
            "  handed over late by {half:.1} µs (median), {most:.1} µs (99 %), {last:.1} µs (most)"
        );
    }
    if let Some(fault) = &report.fault {
        let _ = writeln!(text, "  {fault}; start it again");
    }
    text
}
