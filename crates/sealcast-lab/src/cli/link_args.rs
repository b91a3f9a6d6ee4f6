//! Command-line arguments of links that are simulated for real programs. Doc comments here are help texts.
#![allow(rustdoc::broken_intra_doc_links, reason = "help texts are not links")]

use clap::Args;
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::LinkProfile;

/// Syntax of a profile, for the help.
pub(super) const PROFILE_HELP: &str = "A profile is one line of words, all of them optional:
  delay=20ms jitter=5ms keep-order     each packet takes 15 to 25 ms; with keep-order no packet overtakes another
  loss=2%                              each packet is lost with this probability
  burst=2%/4                           instead of loss: 2 % are lost, 4 in a row on average
  reorder=1% duplicate=0.1% corrupt=0.01%
                                       the share of packets that skip the delay, are sent twice, or get one wrong bit
  rate=5mbit queue=100ms               the rate limit and the queue before it, which may also be in bytes: queue=64kB
  mtu=1280                             longer packets are dropped
  outage=10s+30s                       after 10 s nothing gets through for 30 s; may be repeated

Lines on standard input change the link while it runs: `link loss=5%` (`up` and `down` change one direction, and `link
perfect` removes everything), `outage 30s`, `show`, `quit`.";

#[derive(Args, Debug)]
pub(super) struct LinkArgs {
    /// Profile of the link in both directions, such as "delay=20ms loss=2%"
    #[arg(long, value_name = "PROFILE", default_value = "perfect")]
    pub(super) link: String,
    /// Changes to it on the way up: from a to b, or away from the end that connects
    #[arg(long, value_name = "PROFILE", default_value = "")]
    pub(super) up: String,
    /// Changes to it on the way down
    #[arg(long, value_name = "PROFILE", default_value = "")]
    pub(super) down: String,
    /// Seed of the random choices: with the same seed, the same packets are lost, delayed and so on
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) seed: u64,
    /// End after this many seconds
    #[arg(long, value_name = "NUMBER")]
    pub(super) seconds: Option<u64>,
}

#[derive(Args, Debug)]
pub(super) struct NetArgs {
    #[command(flatten)]
    pub(super) link: LinkArgs,
    /// Name of the pair of namespaces, NAME-a and NAME-b
    #[arg(long, default_value = "sealcast")]
    pub(super) name: String,
    /// The MTU of the devices, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    pub(super) device_mtu: u16,
    /// The TCP congestion control in both namespaces, such as cubic; the kernel's default otherwise
    #[arg(long, value_name = "NAME")]
    pub(super) congestion_control: Option<String>,
    /// Run a shell command in namespace a
    #[arg(long, value_name = "SHELL COMMAND")]
    pub(super) run_a: Option<String>,
    /// Run a shell command in namespace b; it is started before those in a
    #[arg(long, value_name = "SHELL COMMAND")]
    pub(super) run_b: Option<String>,
    /// Measure this link and the kernel's netem (in User Mode Linux) with ping, and print both results
    #[arg(long, conflicts_with_all = ["run_a", "run_b", "command", "up", "down", "seconds"])]
    pub(super) check_against_netem: bool,
    /// Run this command in namespace a, and end when it ends
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<String>,
}

#[derive(Args, Debug)]
pub(super) struct ProxyArgs {
    /// Where to listen: udp://127.0.0.1:5000 or tcp://127.0.0.1:5000; port 0 chooses a free port
    #[arg(long, value_name = "URL")]
    pub(super) listen: String,
    /// Where to forward it, with the same protocol
    #[arg(long, value_name = "URL")]
    pub(super) to: String,
    #[command(flatten)]
    pub(super) link: LinkArgs,
}

impl LinkArgs {
    /// The profiles on the way up and down.
    pub(super) fn profiles(&self) -> Result<(LinkProfile, LinkProfile)> {
        let both = changed("--link", &LinkProfile::default(), &self.link)?;
        Ok((changed("--up", &both, &self.up)?, changed("--down", &both, &self.down)?))
    }
}

fn changed(option: &str, profile: &LinkProfile, text: &str) -> Result<LinkProfile> {
    profile.changed(text).map_err(|error| {
        let what = format!("{option} \"{text}\" is not a profile: {error}");
        Failure::new(
            FailureKind::Usage,
            what,
            "see `sealcast-lab net --help` for how one is written",
        )
    })
}
