//! `sealcast-lab proxy`

use std::fmt::Write;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::LinkCounts;

use super::control::{self, Controlled, Signals};
use super::link_args::ProxyArgs;
use crate::harness::environment;
use crate::proxy::{Direction, Links, TcpProxy, UdpProxy, stream_profile};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    Udp,
    Tcp,
}

pub(super) fn run(args: &ProxyArgs) -> Result<ExitCode> {
    let (up, down) = args.link.profiles()?;
    let (carrier, listen) = address("--listen", &args.listen)?;
    let (far_carrier, to) = address("--to", &args.to)?;
    if carrier != far_carrier {
        let what = format!(
            "--listen {} and --to {} are not the same protocol",
            args.listen, args.to
        );
        return Err(usage(what, "use udp:// or tcp:// for both"));
    }
    if carrier == Carrier::Tcp {
        for profile in [&up, &down] {
            stream_profile(profile).map_err(|words| usage(format!("the profile {profile}"), words))?;
        }
    }
    let links = Links {
        up,
        down,
        seed: args.link.seed,
        tap: None,
    };
    let unusable = |error: io::Error| {
        let what = format!("{} cannot be listened on ({error})", args.listen);
        Failure::new(FailureKind::Network, what, "choose another address or port")
    };
    control::runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        let proxy: Box<dyn Controlled> = match carrier {
            Carrier::Udp => {
                let proxy = UdpProxy::start(listen, to, links).map_err(unusable)?;
                println!("udp://{} leads to udp://{to}", proxy.address());
                Box::new(proxy)
            }
            Carrier::Tcp => {
                let proxy = TcpProxy::start(listen, to, links).map_err(unusable)?;
                println!("tcp://{} leads to tcp://{to}", proxy.address());
                Box::new(proxy)
            }
        };
        println!("{}", control::profiles(&*proxy));
        control::run(&*proxy, &mut signals, args.link.seconds, Some(control::lines())).await;
        print!("{}", proxy.report());
        Ok(ExitCode::SUCCESS)
    })
}

fn usage(what: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}

fn address(option: &str, url: &str) -> Result<(Carrier, SocketAddr)> {
    let example = "write it like udp://127.0.0.1:5000, udp://[::1]:5000 or tcp://127.0.0.1:5000";
    let (carrier, rest) = match url.split_once("://") {
        Some(("udp", rest)) => (Carrier::Udp, rest),
        Some(("tcp", rest)) => (Carrier::Tcp, rest),
        _ => return Err(usage(format!("{option} {url} is neither udp:// nor tcp://"), example)),
    };
    match rest
        .trim_end_matches('/')
        .to_socket_addrs()
        .map(|mut found| found.next())
    {
        Ok(Some(address)) => Ok((carrier, address)),
        Ok(None) => Err(usage(format!("{option} {url} has no address"), example)),
        Err(error) => Err(usage(format!("{option} {url} is not an address ({error})"), example)),
    }
}

/// The packet counts in one line.
pub(super) fn counts_in_words(counts: &LinkCounts) -> String {
    let mut words = format!(
        "{} packets ({} bytes) sent, {} delivered",
        counts.sent, counts.sent_bytes, counts.delivered
    );
    for (count, what) in [
        (counts.lost, "lost"),
        (counts.cut_off, "lost in outages"),
        (counts.queue_full, "dropped at the full queue"),
        (counts.too_long, "longer than the MTU"),
        (counts.overflowed, "dropped at the link's limit"),
        (counts.duplicated, "sent twice"),
        (counts.corrupted, "damaged"),
        (counts.reordered, "sent ahead"),
        (counts.in_flight, "under way"),
    ] {
        if count > 0 {
            let _ = write!(words, ", {count} {what}");
        }
    }
    words
}

fn report(up: &LinkCounts, down: &LinkCounts) -> String {
    let (up, down) = (counts_in_words(up), counts_in_words(down));
    let control = environment::congestion_control();
    format!("up: {up}\ndown: {down}\nTCP congestion control: {control}\n")
}

impl Controlled for UdpProxy {
    fn report(&self) -> String {
        let mut text = report(&self.counts(Direction::Up), &self.counts(Direction::Down));
        if self.refused() > 0 {
            let _ = writeln!(text, "{} datagrams of too many clients were dropped", self.refused());
        }
        text
    }
}

impl Controlled for TcpProxy {
    fn report(&self) -> String {
        report(&self.counts(Direction::Up), &self.counts(Direction::Down))
    }
}
