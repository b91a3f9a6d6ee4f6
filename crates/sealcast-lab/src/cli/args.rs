//! The command-line arguments. Doc comments here are help texts.
#![allow(rustdoc::broken_intra_doc_links, reason = "help texts are not links")]

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::board::{BoardArgs, CompareArgs};
use super::builds::BuildsArgs;
use super::common_args::{CommonArgs, MeterArgs};
use super::count::CountArgs;
use super::gateway::{GatewayCommand, GatewayRelayArgs, SealcastArgs};
use super::groups::GroupsArgs;
use super::link_args::{NetArgs, PROFILE_HELP, ProxyArgs};
use super::run::{DefinitionArgs, RunArgs};
use super::speed::SpeedArgs;
use super::viewers::{PlainFanOutArgs, ViewersArgs};
use crate::ciphers::External;
use crate::experiments::link;
use crate::experiments::load::Sink;
use crate::experiments::selective::Session;
use crate::report::Frames;

/// Names that `delay --only` accepts besides those of the definition, for the help.
const DELAY_HELP: &str = "--only also takes the name of any cipher, whose fastest implementation is then measured, or \
an implementation such as trivium/words. They are compared with no cipher.";

/// The sealcast laboratory: measurements of ciphers and transports, and a simulated network for real programs.
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
    /// Measure how much data sessions carry per second of processor time, compared with other programs
    Throughput(ThroughputCommand),
    /// Tell by how much this build is slower than another one at most, in all that must not become slower
    Speed(SpeedArgs),
    /// Measure sealing and opening of records, of several builds
    Records(RecordsArgs),
    /// Run the experiment of a definition file: your own, or a changed copy of a built-in one
    Run(RunArgs),
    /// Print the definition of a built-in experiment, to change a copy for `run`
    Definition(DefinitionArgs),
    /// Measure the cost of ciphers on packets and on video frames
    Ciphers(CiphersArgs),
    /// Measure how many raw frames per second are enciphered in time, with and without an image filter before it
    Load(LoadArgs),
    /// Measure time, CPU time, bytes and energy of handshakes by each way to agree on keys, in memory and over TCP
    Handshake(HandshakeArgs),
    /// Measure the same live stream under each suite: delay, CPU time, bytes and energy of publisher and viewer
    Live(LiveArgs),
    /// Put each figure and table of five research papers beside the same of this machine, on one page
    Papers(PapersArgs),
    /// Measure ciphers, handshakes and a stream of this machine in about five minutes, into one file
    Board(BoardArgs),
    /// Put two files of `board` beside each other
    Compare(CompareArgs),
    /// Measure a stream as a paper does between Raspberry Pis: rates, resources, temperature and latency of both ends
    Pipeline(PipelineArgs),
    /// Measure one implementation in a separate process, for `ciphers`
    #[command(hide = true)]
    CipherAlone(CipherAloneArgs),
    /// Measure what protection adds to a live stream: latency, CPU time, memory, bytes, energy; and by dose
    Price(StreamArgs),
    /// Measure a live stream at each resolution, stage by stage
    Resolution(StreamArgs),
    /// Measure a live stream over slow links, over UDP, QUIC and TCP
    Slow(StreamArgs),
    /// Measure sessions of which a share of the packets is encrypted: time at both ends, memory and CPU
    Selective(SelectiveArgs),
    /// The sending end of a session of `selective`
    #[command(hide = true)]
    SelectiveSend(SelectiveSendArgs),
    /// The receiving end of a session of `selective`
    #[command(hide = true)]
    SelectiveReceive(SelectiveReceiveArgs),
    /// Measure what sizes and times of a sealed stream tell of what happens before the camera, and what hiding it costs
    Traffic(TrafficArgs),
    /// Attack streams that are encrypted in part, without keys: what is recognised, and what encrypting less saves
    Attack(AttackArgs),
    /// Measure the page in Chromium: latency to the canvas, opening, processor time, first picture, heaps
    Browser(BrowserArgs),
    /// Check every test vector in a folder on every kernel of its study cipher
    Verify(VerifyArgs),
    /// Show what the logs of a run hold, of any of its ends: charts, tables and a trace of its frames
    Report(ReportArgs),
    /// Measure the delay of enciphered text, audio and video over UDP between two processes
    #[command(after_help = DELAY_HELP)]
    Delay(DelayCommand),
    /// The sending end of a run of `delay`
    #[command(hide = true)]
    DelaySend(DelaySendArgs),
    /// The receiving end of a run of `delay`
    #[command(hide = true)]
    DelayReceive(DelayEndArgs),
    /// Measure video latency and network latency of a camera behind gateways: codec, carrier, unit, encryption off and
    /// on
    Latency(LatencyArgs),
    /// Measure the share of frames that arrive in time over a lossy link, compared with SRT and plain RTP
    Link(LinkCommand),
    /// The sending end of a run of `link`
    #[command(hide = true)]
    LinkSend(LinkEndArgs),
    /// The receiving end of a run of `link`
    #[command(hide = true)]
    LinkReceive(LinkEndArgs),
    /// Measure the delay and processor time that a pair of RTSP gateways adds, compared with other programs
    Gateway(GatewayCommand),
    /// Count what a pair of RTSP gateways does for each burst of packets: wake-ups, system calls, instructions,
    /// allocations, copies
    Count(CountArgs),
    /// Valgrind with its arguments, for `count`
    #[command(hide = true)]
    Valgrind(SealcastArgs),
    /// A plain relay, which takes the place of the gateways
    #[command(hide = true)]
    GatewayRelay(GatewayRelayArgs),
    /// Measure the latency from a painted picture to the decoded one, compared with other programs for live video
    Glass(GlassArgs),
    /// Measure one camera's group: joins, leaves and keys of up to 10 000 viewers, beside MLS, and frames sealed once
    /// for all
    Groups(GroupsArgs),
    /// Measure what each further viewer costs the publisher: with a group, without, and beside a plain fan-out
    Viewers(ViewersArgs),
    /// A plain fan-out of frames, which takes the place of the publisher
    #[command(hide = true)]
    PlainFanOut(PlainFanOutArgs),
    /// Run the program `sealcast` of this build
    #[command(hide = true)]
    Sealcast(SealcastArgs),
    /// The decoder's process of the program `sealcast` of this build, which starts it from its own file
    #[command(hide = true)]
    Decoder(SealcastArgs),
}

#[derive(Args, Debug)]
pub(super) struct RecordsArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    #[command(flatten)]
    pub(super) builds: BuildsArgs,
}

#[derive(Args, Debug)]
pub(super) struct CiphersArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// Take frames from this file (MP4, AVI, H.264, Motion JPEG) instead of the test card
    #[arg(long, value_name = "FILE")]
    pub(super) clip: Option<PathBuf>,
    /// Also measure this cipher in C, a shared object with the API of eSTREAM; may be repeated. Sizes other than the
    /// usual ones follow the file: NAME=FILE,key=BITS,iv=BITS,context=BYTES
    #[arg(long, value_name = "NAME=FILE")]
    pub(super) external: Vec<External>,
    #[command(flatten)]
    pub(super) meter: MeterArgs,
    /// Keys per second that a brute-force attacker tries, for the safe time
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000_000_000_000,
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) guesses_per_second: u64,
}

#[derive(Args, Debug)]
pub(super) struct HandshakeArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    #[command(flatten)]
    pub(super) builds: BuildsArgs,
    #[command(flatten)]
    pub(super) meter: MeterArgs,
    /// Number of handshakes of each measurement, in place of the definition's
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) handshakes: Option<u32>,
}

#[derive(Args, Debug)]
pub(super) struct LiveArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    #[command(flatten)]
    pub(super) meter: MeterArgs,
    /// Publish this file (MP4, H.264, Motion JPEG) again and again instead of the test card
    #[arg(long, value_name = "FILE")]
    pub(super) clip: Option<PathBuf>,
    /// Run for hours instead of seconds, once, in periods of a minute, and see whether figures drift
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["seconds", "quick"],
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) hours: Option<u16>,
}

#[derive(Args, Debug)]
pub(super) struct LatencyArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// The link between the gateways: none, lan, wlan, internet or 5mbit [default: internet]
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct StreamArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    #[command(flatten)]
    pub(super) meter: MeterArgs,
}

#[derive(Args, Debug)]
pub(super) struct TrafficArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// How scenes are encoded, as options of the source: "bitrate=1.5M&gop=50"
    #[arg(long, value_name = "OPTIONS")]
    pub(super) encoding: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct PapersArgs {
    /// Reduced runs of all experiments, which take at most ten minutes together
    #[arg(long)]
    pub(super) quick: bool,
    /// Measure only these experiments; the page shows the records of the others that are there
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) only: Vec<String>,
    /// Measure nothing: make the page anew from the records that are there
    #[arg(long, conflicts_with_all = ["quick", "only"])]
    pub(super) rebuild: bool,
    /// Write index.html into this folder, and each experiment's record and report into a folder there; continue records
    /// that are there
    #[arg(long, value_name = "FOLDER", default_value = "papers-results")]
    pub(super) out: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct BrowserArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

#[derive(Args, Debug)]
pub(super) struct PipelineArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

#[derive(Args, Debug)]
pub(super) struct AttackArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// Attack this capture by tcpdump of a real session, and write pictures and videos into the folder of --out
    #[arg(long, value_name = "FILE", requires_all = ["port", "out"])]
    pub(super) capture: Option<PathBuf>,
    /// The port at which the session's listening end listened
    #[arg(long, value_name = "NUMBER", requires = "capture")]
    pub(super) port: Option<u16>,
    /// A recording by a camera of the same model, if nothing in clear tells what the stream is
    #[arg(long, value_name = "FILE", requires = "capture")]
    pub(super) model: Option<PathBuf>,
    /// The file that was published, to score the attackers
    #[arg(long, value_name = "FILE", requires = "capture")]
    pub(super) original: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct SelectiveArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

#[derive(Args, Debug)]
pub(super) struct SelectiveSendArgs {
    /// The session, in JSON
    #[arg(long, value_parser = Session::parse)]
    pub(super) session: Session,
    /// The receiver's address
    #[arg(long)]
    pub(super) to: SocketAddr,
}

#[derive(Args, Debug)]
pub(super) struct SelectiveReceiveArgs {
    /// The session, in JSON
    #[arg(long, value_parser = Session::parse)]
    pub(super) session: Session,
}

#[derive(Args, Debug)]
pub(super) struct LoadArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// Take frames from this file (MP4, AVI, H.264, Motion JPEG), in its size, instead of the test card in 640x480
    #[arg(long, value_name = "FILE")]
    pub(super) clip: Option<PathBuf>,
    /// Where packets are sent
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
    /// Length of the frame that is enciphered while memory is measured, in bytes
    #[arg(long, value_name = "NUMBER")]
    pub(super) frame_bytes: usize,
    /// Also measure its speed, for this many milliseconds
    #[arg(long, value_name = "NUMBER")]
    pub(super) time_ms: Option<u64>,
}

#[derive(Args, Debug)]
pub(super) struct VerifyArgs {
    /// A folder of JSON files, with one cipher in each
    #[arg(long, value_name = "FOLDER")]
    pub(super) vectors: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct ReportArgs {
    /// Folders that --log-dir wrote: of a publisher, viewers, gateways, in any order
    #[arg(value_name = "LOG_DIR", required = true)]
    pub(super) folders: Vec<PathBuf>,
    /// Write report.html, tables.md and figures.csv into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
    /// Also write trace.json there, with each frame and its stages, for Perfetto (ui.perfetto.dev)
    #[arg(long, requires = "out")]
    pub(super) trace: bool,
    /// Only these frames in the trace
    #[arg(long, value_name = "FIRST..LAST", requires = "trace")]
    pub(super) frames: Option<Frames>,
}

#[derive(Args, Debug)]
pub(super) struct DelayCommand {
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

#[derive(Args, Debug)]
pub(super) struct DelayEndArgs {
    /// Number of packets
    #[arg(long)]
    pub(super) packets: u32,
    /// Bytes of each packet, without header and tag
    #[arg(long)]
    pub(super) bytes: usize,
    /// The implementation that enciphers them
    #[arg(long)]
    pub(super) cipher: String,
    /// A number that distinguishes this run's packets from others
    #[arg(long)]
    pub(super) token: u32,
}

#[derive(Args, Debug)]
pub(super) struct DelaySendArgs {
    #[command(flatten)]
    pub(super) end: DelayEndArgs,
    /// The receiver's address
    #[arg(long)]
    pub(super) to: SocketAddr,
    /// Maximum number of packets in flight
    #[arg(long)]
    pub(super) window: u32,
}

#[derive(Args, Debug)]
pub(super) struct LinkCommand {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// Percent of packets lost in each direction, 1,2,5,10 by default. 2 means random losses and also bursts, 2r random
    /// losses only, 2b bursts only
    #[arg(long, value_name = "PERCENT", value_delimiter = ',')]
    pub(super) loss: Vec<String>,
    /// Use no network namespaces, even as root
    #[arg(long)]
    pub(super) proxy: bool,
}

#[derive(Args, Debug)]
pub(super) struct LinkEndArgs {
    /// The protocol that carries the frames
    #[arg(long)]
    pub(super) carrier: link::Carrier,
    /// The options of its URL
    #[arg(long)]
    pub(super) options: String,
    /// The address to send to, to receive at or to listen on
    #[arg(long)]
    pub(super) address: SocketAddr,
    /// Number of frames to send
    #[arg(long)]
    pub(super) frames: u32,
    /// File for the times of the frames
    #[arg(long)]
    pub(super) rows: PathBuf,
    /// File for the metrics
    #[arg(long)]
    pub(super) metrics: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct GlassArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    #[command(flatten)]
    pub(super) builds: BuildsArgs,
}

#[derive(Args, Debug)]
pub(super) struct ThroughputCommand {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    #[command(flatten)]
    pub(super) builds: BuildsArgs,
    /// The boringtun-cli to run (needs root)
    #[arg(long, value_name = "PROGRAM", default_value = "boringtun-cli")]
    pub(super) boringtun: String,
}
