//! What the user types. Doc comments here are the help that the program prints.
#![allow(rustdoc::broken_intra_doc_links, reason = "help texts are not links")]

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::meter::power::MeterSpec;

const EXAMPLES: &str = "Examples:
  sealcast demo                                              everything on this machine, on a page
  sealcast publish rtsp://camera/front --listen tcp://0.0.0.0:9553   prints the ticket
  sealcast watch TICKET --to file:out.mp4
  sealcast watch @ticket.txt --to - | ffplay -f h264 -

Exit codes: 0 done, 1 defect, 2 usage, 3 source, 4 sink, 5 network, 6 refused, 7 keys, 8 configuration, 9 key limit.";

/// Live video from a camera to its viewers, sealed end to end, and what that costs.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Say more; twice for everything
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub(super) verbose: u8,

    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Camera, sealed stream and viewer on this machine, with what protection costs
    Demo(DemoArgs),
    /// Make an identity; prints its peer id
    Keygen(KeygenArgs),
    /// Publish a source to viewers; prints the ticket that lets them in
    Publish(PublishArgs),
    /// Watch a publisher
    Watch(WatchArgs),
    /// Between an RTSP camera and an RTSP player, neither of which can be changed
    Gateway(GatewayCommands),
    /// Say a command to a publisher that runs with --control
    Control(ControlArgs),
    /// Print versions, suites, mechanisms, and which processor features are in use
    PrintConfig(PrintConfigArgs),
    /// The configuration file
    Config(ConfigCommands),
}

#[derive(Debug, Args)]
pub(super) struct KeygenArgs {
    /// Where to write it; a new file in ~/.config/sealcast by default
    pub(super) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct ControlArgs {
    /// The publisher's control socket
    pub(super) path: PathBuf,

    /// What to say: encrypt SELECTION, rekey, keyframe, status or help
    #[arg(required = true)]
    pub(super) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct PrintConfigArgs {
    /// As JSON
    #[arg(long)]
    pub(super) json: bool,

    /// Measure also without the processor's AES instructions
    #[arg(long)]
    pub(super) compare: bool,
}

#[derive(Debug, Args)]
pub(super) struct ConfigCommands {
    #[command(subcommand)]
    pub(super) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Check the file and print what is in force
    Check(ConfigArg),
}

#[derive(Debug, Args)]
pub(super) struct ConfigArg {
    /// Configuration file (TOML); flags override the environment, which overrides the file
    #[arg(long, env = "SEALCAST_CONFIG", value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

/// What both ends of a session can choose.
#[derive(Debug, Args)]
pub(super) struct OfferArgs {
    /// Identity file; by default the one at home, made when missing
    #[arg(long, value_name = "FILE")]
    pub(super) identity: Option<PathBuf>,

    /// Suites, best first
    #[arg(long = "suite", value_name = "NAME", value_delimiter = ',')]
    pub(super) suites: Vec<String>,

    /// Seal with this cipher of the laboratory, not with a suite: for measurements, never for secrets
    #[arg(long, value_name = "CIPHER", conflicts_with = "suites")]
    pub(super) insecure_study_suite: Option<String>,

    /// Key mechanisms, best first
    #[arg(long = "mech", value_name = "NAME", value_delimiter = ',')]
    pub(super) mechanisms: Vec<String>,
}

/// What every long-running command can observe.
#[derive(Debug, Args)]
pub(super) struct ObserveArgs {
    #[command(flatten)]
    pub(super) config: ConfigArg,

    /// Write a JSON summary at exit
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,

    /// Write CSV logs
    #[arg(long, value_name = "DIR")]
    pub(super) log_dir: Option<PathBuf>,

    /// Serve Prometheus metrics, on loopback only
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(super) metrics: Option<SocketAddr>,

    /// What measures energy: auto, none, rapl[:FOLDER], hwmon[:NAME], ina219:/dev/i2c-1@0x40[,shunt=0.1,amps=2] or
    /// serial:/dev/ttyUSB0[,baud=115200] [default: auto]
    #[arg(long, value_name = "METER")]
    pub(super) meter: Option<MeterSpec>,

    /// Stop after this many seconds
    #[arg(long, value_name = "N")]
    pub(super) seconds: Option<u64>,
}

/// What every end that publishes can choose.
#[derive(Debug, Args)]
pub(super) struct PublisherArgs {
    /// Where to wait for viewers [default: tcp://[::]:9553]
    #[arg(long, value_name = "URL")]
    pub(super) listen: Option<String>,

    /// File of peer ids that are let in; by default the one at home
    #[arg(long, value_name = "FILE")]
    pub(super) allow: Option<PathBuf>,

    /// Let everybody in who proves any identity
    #[arg(long)]
    pub(super) open: bool,

    /// Print a ticket without an invite: only listed viewers get in
    #[arg(long)]
    pub(super) no_invite: bool,

    /// Write the ticket to a new file that only you can read, instead of printing it
    #[arg(long, value_name = "FILE")]
    pub(super) ticket_file: Option<PathBuf>,

    /// The host to put into the ticket, as viewers reach it
    #[arg(long, value_name = "HOST")]
    pub(super) host: Option<String>,

    /// Most viewers at once [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_viewers: Option<u32>,

    /// Begin a new epoch of keys after this many seconds [default: 600, at most]
    #[arg(long, value_name = "N")]
    pub(super) rekey_seconds: Option<u64>,

    /// Begin a new epoch after this many records [default: 1048576, at most]
    #[arg(long, value_name = "N")]
    pub(super) rekey_records: Option<u64>,

    /// What is sealed at once: frame, packet, or chunk:BYTES [default: frame; packet in datagrams]
    #[arg(long, value_name = "UNIT")]
    pub(super) unit: Option<String>,

    /// What to encrypt: all, none, rate:PERCENT, and where frames are read keyframes, headers or headers+keyframes. The
    /// rest is authenticated and can be seen by anybody: for measurements [default: all]
    #[arg(long, value_name = "SELECTION")]
    pub(super) encrypt: Option<String>,

    /// Repeat what rate:PERCENT draws; by default every run draws anew
    #[arg(long, value_name = "N")]
    pub(super) encrypt_seed: Option<u64>,

    /// Make a socket that only you can write to, for `sealcast control`
    #[arg(long, value_name = "PATH")]
    pub(super) control: Option<PathBuf>,

    #[command(flatten)]
    pub(super) offer: OfferArgs,
}

#[derive(Debug, Args)]
pub(super) struct PublishArgs {
    /// test:[WxH@fps], file:CLIP[?loop], rtsp://…, or - for standard input
    pub(super) source: Option<String>,

    /// Connect to a listening viewer instead: its ticket, @FILE, or - for standard input
    #[arg(long, value_name = "TICKET", conflicts_with = "listen")]
    pub(super) to: Option<String>,

    /// Frames queued for a slow viewer before whole groups of pictures are dropped [default: 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) queue_frames: Option<u32>,

    #[command(flatten)]
    pub(super) publisher: PublisherArgs,

    #[command(flatten)]
    pub(super) observe: ObserveArgs,
}

#[derive(Debug, Args)]
pub(super) struct GatewayCommands {
    #[command(subcommand)]
    pub(super) command: GatewayCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum GatewayCommand {
    /// Beside the cameras: seals what they send; prints the ticket for the viewer gateway
    Camera(GatewayCameraArgs),
    /// Beside the players: serves the cameras of a camera gateway by RTSP
    Viewer(GatewayViewerArgs),
}

#[derive(Debug, Args)]
pub(super) struct GatewayCameraArgs {
    /// A camera, [PATH=]rtsp://[USER:PASSWORD@]HOST[:PORT]/…; several with a PATH each. Others on this machine can read
    /// an argument: prefer --camera-file, or ?credentials=@FILE
    #[arg(long = "camera", value_name = "URL")]
    pub(super) cameras: Vec<String>,

    /// A file that only you can read, with a camera in each line
    #[arg(long, value_name = "FILE", conflicts_with = "cameras")]
    pub(super) camera_file: Option<PathBuf>,

    #[command(flatten)]
    pub(super) publisher: PublisherArgs,

    #[command(flatten)]
    pub(super) observe: ObserveArgs,
}

#[derive(Debug, Args)]
pub(super) struct GatewayViewerArgs {
    /// The camera gateway's ticket, @FILE, or - for standard input
    #[arg(long, value_name = "TICKET")]
    pub(super) peer: Option<String>,

    /// Where to serve players [default: 127.0.0.1:9554]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(super) rtsp: Option<SocketAddr>,

    /// Ask players for this user name, and for the password in --rtsp-password-file
    #[arg(long, value_name = "NAME")]
    pub(super) rtsp_user: Option<String>,

    /// A file that only you can read, with the players' password
    #[arg(long, value_name = "FILE")]
    pub(super) rtsp_password_file: Option<PathBuf>,

    /// Over UDP and QUIC, how many milliseconds later than by the fastest path a packet may be; 0 never waits [default:
    /// the ticket's, or 120]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u16).range(0..=10_000))]
    pub(super) latency: Option<u16>,

    #[command(flatten)]
    pub(super) offer: OfferArgs,

    #[command(flatten)]
    pub(super) observe: ObserveArgs,
}

#[derive(Debug, Args)]
pub(super) struct WatchArgs {
    /// The publisher's ticket, @FILE, or - for standard input. Others on this machine can read an argument: prefer
    /// @FILE or SEALCAST_WATCH_TICKET for a ticket with an invite
    pub(super) ticket: Option<String>,

    /// null:, file:OUT.mp4|.h264|.mjpeg, - for standard output, or http://127.0.0.1:9880 [default:
    /// http://127.0.0.1:9880]
    #[arg(long, value_name = "SINK")]
    pub(super) to: Option<String>,

    /// Wait for a publisher to connect, instead: prints the ticket for `publish --to`
    #[arg(long, value_name = "URL", conflicts_with = "ticket")]
    pub(super) listen: Option<String>,

    /// The host to put into the ticket, with --listen
    #[arg(long, value_name = "HOST", requires = "listen")]
    pub(super) host: Option<String>,

    /// Write the ticket to a new file that only you can read, with --listen
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(super) ticket_file: Option<PathBuf>,

    /// Do not connect again when the connection breaks
    #[arg(long)]
    pub(super) no_reconnect: bool,

    /// Over UDP and QUIC, how many milliseconds later than by the fastest path a frame may be; 0 never waits [default:
    /// the ticket's, or 120]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u16).range(0..=10_000))]
    pub(super) latency: Option<u16>,

    #[command(flatten)]
    pub(super) offer: OfferArgs,

    #[command(flatten)]
    pub(super) observe: ObserveArgs,
}

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// test:[WxH@fps], file:CLIP, rtsp://… [default: test:640x480@25]
    pub(super) source: Option<String>,

    /// No page: print the figures at the end
    #[arg(long)]
    pub(super) headless: bool,

    /// Where to serve the page [default: http://127.0.0.1:9881]
    #[arg(long, value_name = "URL")]
    pub(super) page: Option<String>,

    /// Suites, best first
    #[arg(long = "suite", value_name = "NAME", value_delimiter = ',')]
    pub(super) suites: Vec<String>,

    /// Seal with this cipher of the laboratory, not with a suite: for measurements, never for secrets
    #[arg(long, value_name = "CIPHER", conflicts_with = "suites")]
    pub(super) insecure_study_suite: Option<String>,

    /// Key mechanisms, best first
    #[arg(long = "mech", value_name = "NAME", value_delimiter = ',')]
    pub(super) mechanisms: Vec<String>,

    #[command(flatten)]
    pub(super) observe: ObserveArgs,
}
