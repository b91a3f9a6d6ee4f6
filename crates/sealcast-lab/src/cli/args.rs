//! The command-line arguments. Doc comments here are help texts.
#![allow(rustdoc::broken_intra_doc_links, reason = "help texts are not links")]

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::meter::power::MeterSpec;
use sealcast_proto::sim::LinkProfile;

use crate::ciphers::External;
use crate::experiments::link;
use crate::experiments::load::Sink;
use crate::experiments::throughput::Carrier;

/// Syntax of a profile, for the help.
const PROFILE_HELP: &str = "A profile is one line of words, all of them optional:
  delay=20ms jitter=5ms keep-order     each packet takes 15 to 25 ms; keep-order: none overtakes another
  loss=2%                              each packet is lost with this probability
  burst=2%/4                           instead of loss: 2 % lost, 4 in a row on average
  reorder=1% duplicate=0.1% corrupt=0.01%
  rate=5mbit queue=100ms               also queue=64kB: what may wait before the rate limit
  mtu=1280                             longer packets are dropped
  outage=10s+30s                       after 10 s nothing gets through for 30 s; may come several times

Lines on standard input change it while it runs: `link loss=5%` (or `up`, `down`: that direction alone; `link perfect`
begins anew), `outage 30s`, `show`, `quit`.";

/// The sealcast laboratory.
#[derive(Debug, Parser)]
#[command(name = "sealcast-lab", version, about)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Join two network namespaces by a simulated link (needs root)
    #[command(after_help = PROFILE_HELP)]
    Net(NetArgs),
    /// Pass UDP datagrams or a TCP stream through a simulated link (needs no root)
    #[command(after_help = PROFILE_HELP)]
    Proxy(ProxyArgs),
    /// Measure how much sessions carry for each second of processor time, beside other programs
    Throughput(ThroughputArgs),
    /// Measure what a definition says: one of your own, or one that is built in with other figures
    Run(RunArgs),
    /// Measure what ciphers cost on packets and on frames of video
    Ciphers(CiphersArgs),
    /// Measure how many raw frames a second are enciphered in time, with and without an image filter before
    Load(LoadArgs),
    /// One implementation in a process of its own, for `ciphers`
    #[command(hide = true)]
    CipherAlone(CipherAloneArgs),
    /// Run every test vector of a folder on every kernel of its study cipher
    Verify(VerifyArgs),
    /// Measure the delay of text, audio and video over UDP under ciphers, between two processes
    Delay(DelayCommand),
    /// The sending end of a run of `delay`
    #[command(hide = true)]
    DelaySend(DelaySendArgs),
    /// The receiving end of a run of `delay`
    #[command(hide = true)]
    DelayReceive(DelayEndArgs),
    /// Measure what share of frames is in time over a link that loses packets, beside SRT and plain RTP
    Link(LinkCommand),
    /// The sending end of a run of `link`
    #[command(hide = true)]
    LinkSend(LinkEndArgs),
    /// The receiving end of a run of `link`
    #[command(hide = true)]
    LinkReceive(LinkEndArgs),
    /// Measure what a pair of RTSP gateways costs, in delay and in processor time, beside other programs
    Gateway(GatewayCommand),
    /// A hop without gateways
    #[command(hide = true)]
    GatewayRelay(GatewayRelayArgs),
    /// The program `sealcast` of this build
    #[command(hide = true)]
    Sealcast(SealcastArgs),
}

/// What every experiment can be told.
#[derive(Args, Debug)]
pub(super) struct CommonArgs {
    /// Less of everything, in at most three minutes
    #[arg(long)]
    pub(super) quick: bool,
    /// Measure these cases and systems alone; of a kind of which none is named, all. Of ciphers with several
    /// implementations the cipher may be named, such as trivium, or one of them: trivium/words
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) only: Vec<String>,
    /// How often everything is measured
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) rounds: Option<u16>,
    /// Seconds that count in each measurement
    #[arg(long, value_name = "NUMBER")]
    pub(super) seconds: Option<f64>,
    /// Decides the order of turns, and which packets are lost
    #[arg(long, value_name = "NUMBER")]
    pub(super) seed: Option<u64>,
    /// Measure so many at the same time
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(super) at_once: Option<u16>,
    /// Write record.jsonl, table.csv, table.md and report.html into this folder; go on with what is there
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    /// The definition of an experiment, in TOML
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

#[derive(Args, Debug)]
pub(super) struct CiphersArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// Take frames from this file (MP4, AVI, H.264, Motion JPEG); from the test card if not said
    #[arg(long, value_name = "FILE")]
    pub(super) clip: Option<PathBuf>,
    /// Measure a cipher in C beside them, a shared object with the API of eSTREAM; may be repeated. Sizes follow where
    /// they are not the usual ones: NAME=FILE,key=BITS,iv=BITS,context=BYTES
    #[arg(long, value_name = "NAME=FILE")]
    pub(super) external: Vec<External>,
    /// What measures energy: auto, none, rapl[:FOLDER], hwmon[:NAME], ina219:/dev/i2c-1@0x40[,shunt=0.1,amps=2] or
    /// serial:/dev/ttyUSB0[,baud=115200]
    #[arg(long, value_name = "METER", default_value_t)]
    pub(super) meter: MeterSpec,
    /// How many keys somebody tries in a second who tries them all, for the safe time
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000_000_000_000,
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) guesses_per_second: u64,
}

#[derive(Args, Debug)]
pub(super) struct LoadArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// Take frames from this file (MP4, AVI, H.264, Motion JPEG), in its size; from the test card, 640x480, if not said
    #[arg(long, value_name = "FILE")]
    pub(super) clip: Option<PathBuf>,
    /// Where packets go
    #[arg(long, value_name = "SINK", default_value = "udp")]
    pub(super) sink: SinkArg,
}

/// Destination of packets of `load`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum SinkArg {
    /// Over the loopback interface
    Udp,
    /// To memory
    Memory,
}

impl From<SinkArg> for Sink {
    fn from(argument: SinkArg) -> Self {
        match argument {
            SinkArg::Udp => Self::Udp,
            SinkArg::Memory => Self::Memory,
        }
    }
}

#[derive(Args, Debug)]
pub(super) struct CipherAloneArgs {
    /// An implementation, such as trivium/words
    pub(super) name: String,
    /// Length of the frame that is enciphered while memory is watched
    #[arg(long, value_name = "NUMBER")]
    pub(super) frame_bytes: usize,
    /// Time it, for so many milliseconds
    #[arg(long, value_name = "NUMBER")]
    pub(super) time_ms: Option<u64>,
}

#[derive(Args, Debug)]
pub(super) struct VerifyArgs {
    /// A folder of JSON files, one cipher each
    #[arg(long, value_name = "FOLDER")]
    pub(super) vectors: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct DelayCommand {
    /// 3 rounds, for a first look
    #[arg(long)]
    pub(super) quick: bool,
    /// Measure these beside no cipher: ciphers, or implementations such as trivium/words; xor, rc4 and aes-128-ctr if
    /// none is named
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) only: Vec<String>,
    /// How often everything is measured: 15, or 3 with --quick
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) rounds: Option<u16>,
    /// Write record.json, table.csv and report.html into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct DelayEndArgs {
    /// What is sent
    #[arg(long)]
    pub(super) medium: String,
    /// What enciphers it
    #[arg(long)]
    pub(super) cipher: String,
    /// Tells this run's packets from others
    #[arg(long)]
    pub(super) token: u32,
}

#[derive(Args, Debug)]
pub(super) struct DelaySendArgs {
    #[command(flatten)]
    pub(super) end: DelayEndArgs,
    /// Where to send to
    #[arg(long)]
    pub(super) to: SocketAddr,
    /// Packets that may be under way
    #[arg(long)]
    pub(super) window: u32,
}

#[derive(Args, Debug)]
pub(super) struct LinkCommand {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// Percent of packets lost, each way: 1,2,5,10 if not said; 2r is random alone, 2b in bursts alone
    #[arg(long, value_name = "PERCENT", value_delimiter = ',')]
    pub(super) loss: Vec<String>,
    /// Do without network namespaces even as root
    #[arg(long)]
    pub(super) proxy: bool,
}

#[derive(Args, Debug)]
pub(super) struct LinkEndArgs {
    /// What carries the frames
    #[arg(long)]
    pub(super) carrier: link::Carrier,
    /// Options of its URL
    #[arg(long)]
    pub(super) options: String,
    /// Where to send to, receive at or listen
    #[arg(long)]
    pub(super) address: SocketAddr,
    /// How many frames are sent
    #[arg(long)]
    pub(super) frames: u32,
    /// Note frames there
    #[arg(long)]
    pub(super) rows: PathBuf,
    /// Leave metrics there
    #[arg(long)]
    pub(super) metrics: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct GatewayCommand {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// Keep processors from going to sleep between packets: waking up takes virtual ones longer than carrying a packet
    #[arg(long)]
    pub(super) awake: bool,
    /// Measure the gateways of another build of sealcast too; may be repeated
    #[arg(long, value_name = "PROGRAM")]
    pub(super) also: Vec<PathBuf>,
    /// Measure the gateways with these options of the listening URL too, over UDP, such as "rate=off&pace=off"; may be
    /// repeated
    #[arg(long, value_name = "OPTIONS")]
    pub(super) with: Vec<String>,
    /// The boringtun-cli to run (needs root)
    #[arg(long, value_name = "PROGRAM", default_value = "boringtun-cli")]
    pub(super) boringtun: String,
}

#[derive(Args, Debug)]
pub(super) struct GatewayRelayArgs {
    /// What comes and is passed on
    #[arg(long)]
    pub(super) carrier: CarrierArg,
    /// Where it is passed on to
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

#[derive(Args, Debug)]
pub(super) struct LinkArgs {
    /// What the link does both ways, such as "delay=20ms loss=2%"
    #[arg(long, value_name = "PROFILE", default_value = "perfect")]
    pub(super) link: String,
    /// What differs on the way up: from a to b, or from who connects
    #[arg(long, value_name = "PROFILE", default_value = "")]
    pub(super) up: String,
    /// What differs on the way down
    #[arg(long, value_name = "PROFILE", default_value = "")]
    pub(super) down: String,
    /// Which packets it happens to: the same seed treats the same packets alike
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) seed: u64,
    /// End after so many seconds
    #[arg(long, value_name = "NUMBER")]
    pub(super) seconds: Option<u64>,
}

#[derive(Args, Debug)]
pub(super) struct NetArgs {
    #[command(flatten)]
    pub(super) link: LinkArgs,
    /// The namespaces are called NAME-a and NAME-b
    #[arg(long, default_value = "sealcast")]
    pub(super) name: String,
    /// The MTU that the devices say they have, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    pub(super) device_mtu: u16,
    /// The TCP congestion control in both namespaces, such as cubic; the kernel's default otherwise
    #[arg(long, value_name = "NAME")]
    pub(super) congestion_control: Option<String>,
    /// Run a shell command in namespace a
    #[arg(long, value_name = "SHELL COMMAND")]
    pub(super) run_a: Option<String>,
    /// Run a shell command in namespace b; it is begun before those in a
    #[arg(long, value_name = "SHELL COMMAND")]
    pub(super) run_b: Option<String>,
    /// Measure this link and the kernel's netem (in User Mode Linux) with ping, and print both
    #[arg(long, conflicts_with_all = ["run_a", "run_b", "command", "up", "down", "seconds"])]
    pub(super) check_against_netem: bool,
    /// Run this command in namespace a, and end when it ends
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<String>,
}

#[derive(Args, Debug)]
pub(super) struct ProxyArgs {
    /// Where to listen: udp://127.0.0.1:5000 or tcp://127.0.0.1:5000; port 0 chooses one
    #[arg(long, value_name = "URL")]
    pub(super) listen: String,
    /// Where to pass it on to, in the same protocol
    #[arg(long, value_name = "URL")]
    pub(super) to: String,
    #[command(flatten)]
    pub(super) link: LinkArgs,
}

/// The transport of sessions.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum CarrierArg {
    Udp,
    Tcp,
}

impl From<CarrierArg> for Carrier {
    fn from(argument: CarrierArg) -> Self {
        match argument {
            CarrierArg::Udp => Self::Udp,
            CarrierArg::Tcp => Self::Tcp,
        }
    }
}

#[derive(Args, Debug)]
pub(super) struct ThroughputArgs {
    /// Only over this carrier
    #[arg(long, value_name = "CARRIER")]
    pub(super) carrier: Option<CarrierArg>,
    /// A suite to measure, may be repeated; aes-128-gcm and aegis-128x4 if none is named
    #[arg(long, value_name = "NAME")]
    pub(super) suite: Vec<String>,
    /// All suites
    #[arg(long, conflicts_with = "suite")]
    pub(super) all: bool,
    /// How often everything is measured
    #[arg(long, value_name = "NUMBER", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) rounds: u16,
    /// How long one measurement takes
    #[arg(long, value_name = "NUMBER", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u64).range(50..=60_000))]
    pub(super) milliseconds: u64,
    /// One short round without other programs, to see that everything works
    #[arg(long)]
    pub(super) quick: bool,
    /// Without other programs
    #[arg(long)]
    pub(super) no_peers: bool,
    /// The boringtun-cli to run (needs root)
    #[arg(long, value_name = "PROGRAM", default_value = "boringtun-cli")]
    pub(super) boringtun: String,
    /// Write record.json and table.csv into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
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
