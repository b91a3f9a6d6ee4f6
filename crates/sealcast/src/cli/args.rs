//! The commands, and the options that exist only on the command line; all others are declared in `config/options.rs`.
//! The program prints the doc comments here as its help.
#![allow(rustdoc::broken_intra_doc_links, reason = "help texts are not links")]

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand};
use clap_complete::aot::Shell;
use sealcast_proto::wire::MAX_LATENCY;

use super::examples;
use super::flags::Flags;
use super::json_arg::JsonArg;
use super::peers_args::{InviteArgs, PeersArgs, StatusArgs};
use crate::config::option::STUDY;
use crate::keys::files::End;
use crate::length::{Hours, Millis, NoLength, Seconds};

/// Live video from a camera to its viewers, encrypted end to end, with the cost of encryption measured.
#[derive(Debug, Parser)]
#[command(version, after_help = examples::ALL)]
pub(super) struct Arguments {
    /// Log more; -vv logs each picture, too
    ///
    /// Once: also the options in force, connections, and figures every 10 s. Twice: also each picture, and what
    /// libraries say.
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub(super) verbose: u8,

    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run camera, stream and viewer on this machine, and show what encryption costs
    #[command(after_help = examples::DEMO)]
    Demo(DemoArgs),
    /// Create an identity and print its peer id
    Keygen(KeygenArgs),
    /// Publish a camera or a file to viewers, and print the ticket that lets them in
    #[command(after_help = examples::PUBLISH)]
    Publish(PublishArgs),
    /// Watch a publisher
    #[command(after_help = examples::WATCH)]
    Watch(WatchArgs),
    /// List the cameras of this machine, and what they offer
    Devices(JsonArg),
    /// Show events to a camera, and tell probes when it did
    #[command(after_help = examples::CLOCK)]
    Clock(ClockArgs),
    /// Measure the latency of video as a viewer sees it
    #[command(after_help = examples::PROBE)]
    Probe(ProbeArgs),
    /// Connect RTSP cameras to RTSP players over an encrypted link
    #[command(after_help = examples::GATEWAY)]
    Gateway(GatewayCommands),
    /// List the cameras of a publisher that you may watch, for `watch --camera NAME`
    #[command(after_help = examples::CAMERAS)]
    Cameras(CamerasArgs),
    /// Invite one more to what publishes or listens here, also while it runs
    #[command(after_help = examples::INVITE)]
    Invite(InviteArgs),
    /// Show how what runs here is: its cameras, who watches, and its keys
    #[command(after_help = examples::STATUS)]
    Status(StatusArgs),
    /// Show who is admitted, and change it
    #[command(after_help = examples::PEERS)]
    Peers(PeersArgs),
    /// Send a command to a running publisher or camera gateway
    #[command(after_help = examples::CONTROL)]
    Control(ControlArgs),
    /// Print versions, ciphers, key exchanges, and the processor features in use
    PrintConfig(PrintConfigArgs),
    /// Look for what would keep a stream from running well here, and say what to do
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
    /// Check the configuration file, or print an example of it
    Config(ConfigCommands),
    /// Print what makes a shell complete commands and options
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Make keys for archives, list what they have, and check them
    Archive(ArchiveArgs),
    /// Play an archive, or export it
    #[command(after_help = examples::REPLAY)]
    Replay(ReplayArgs),
    /// Decode pictures behind a fence, for the program that started this one
    #[command(hide = true)]
    Decoder(DecoderArgs),
}

#[derive(Debug, Args)]
pub(super) struct DecoderArgs {
    /// The codec of the frames
    #[arg(long, value_parser = ["h264", "mjpeg"])]
    pub(super) codec: String,
}

#[derive(Debug, Args)]
pub(super) struct KeygenArgs {
    /// New file for the identity
    pub(super) file: Option<PathBuf>,

    /// Make the default identity of this end in ~/.config/sealcast
    ///
    /// Each end makes its own at its first start; this tells its peer id before.
    #[arg(long = "for", value_name = "END", conflicts_with = "file")]
    pub(super) end: Option<End>,

    /// With --for publisher or gateway-camera: the identity of the one with this name
    #[arg(long, value_name = "NAME", requires = "end")]
    pub(super) name: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ArchiveArgs {
    #[command(subcommand)]
    pub(super) action: ArchiveAction,
}

#[derive(Debug, Subcommand)]
pub(super) enum ArchiveAction {
    /// Create the identity of someone who may open archives, and print its recipient for `watch --to archive:`
    Keygen {
        /// New file for the identity
        file: PathBuf,
    },
    /// Show the segments of an archive and their times
    List {
        /// The archive's folder
        folder: PathBuf,
    },
    /// Tell what is missing, altered or moved
    Check {
        /// The archive's folder
        folder: PathBuf,

        /// Also open all records with this identity, and verify the camera's signatures
        #[arg(long, value_name = "FILE")]
        identity: Option<PathBuf>,

        /// Also verify the signatures of this camera over what is not opened: its peer id. That needs no identity
        #[arg(long, value_name = "ID")]
        camera: Option<String>,

        /// Also list the signatures of groups of pictures, and how many frames each of them proves
        #[arg(long)]
        groups: bool,
    },
    /// Record what a camera seals for its group, on a machine that can open nothing of it
    #[command(after_help = examples::RECORD)]
    Record(Box<RecordArgs>),
    /// Print a segment's key as it is encrypted for the recipients: `age --decrypt -i FILE` opens it
    Key {
        /// The segment's file
        segment: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(super) struct RecordArgs {
    /// End when the connection breaks, instead of connecting again
    #[arg(long)]
    pub(super) no_reconnect: bool,

    #[command(flatten)]
    pub(super) session: SessionArgs,
}

#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    /// The archive's folder
    pub(super) folder: PathBuf,

    /// The identity that opens it
    #[arg(long, value_name = "FILE")]
    pub(super) identity: PathBuf,

    /// Begin here: 2026-11-26T20:00:00Z, +90s after the beginning, or -10m before the end
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(super) from: Option<String>,

    /// End here, in the same forms
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(super) to: Option<String>,

    /// Where the frames go: file:OUT.mp4[?overwrite], http://ADDRESS:PORT, null:, or -[?format=mkv|ts]
    #[arg(long, value_name = "WHERE")]
    pub(super) into: String,

    /// Play as fast as the sink takes it, to export
    #[arg(long)]
    pub(super) fast: bool,
}

#[derive(Debug, Args)]
pub(super) struct ControlArgs {
    /// The publisher or camera gateway of this name. Without it: camera, or the only one
    #[arg(long, value_name = "NAME", conflicts_with = "socket")]
    pub(super) name: Option<String>,

    /// The socket that it was given as --control
    #[arg(long, value_name = "PATH")]
    pub(super) socket: Option<PathBuf>,

    /// The command: status, peers …, keyframe, rekey, encrypt WHAT, or help
    #[arg(required = true)]
    pub(super) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct PrintConfigArgs {
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,

    /// Also measure the speed without the processor's AES instructions
    #[arg(long)]
    pub(super) compare: bool,
}

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// A camera to try, rtsp://…: what it offers and does over TCP and UDP, without names, paths or secrets; or
    /// file:CLIP or v4l2:DEVICE, whether it can be used
    #[arg(value_name = "CAMERA")]
    pub(super) camera: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) config: ConfigArg,
}

#[derive(Debug, Args)]
pub(super) struct ConfigCommands {
    #[command(subcommand)]
    pub(super) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Check the file and print the options in force
    Check(ConfigCheckArgs),
    /// Print a file that shows every option and sets none
    Example,
}

#[derive(Debug, Args)]
pub(super) struct ConfigCheckArgs {
    /// The file, instead of --config
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,

    #[command(flatten)]
    pub(super) config: ConfigArg,
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    pub(super) shell: Shell,
}

#[derive(Debug, Args)]
pub(super) struct ConfigArg {
    /// Configuration file (TOML)
    ///
    /// Flags override the environment, which overrides the file.
    #[arg(long, env = "SEALCAST_CONFIG", value_name = "FILE", hide_env = true)]
    pub(super) config: Option<PathBuf>,
}

/// Heading of the options of a viewer that waits for a publisher.
const WAITING: &str = "Waiting for a publisher";

/// Arguments of every command with a session.
#[derive(Debug, Args)]
pub(super) struct SessionArgs {
    #[command(flatten)]
    pub(super) flags: Flags,

    #[command(flatten)]
    pub(super) config: ConfigArg,

    /// Stop after so long, as in 90s or 10m; in seconds without a unit
    #[arg(long, value_name = "TIME")]
    pub(super) seconds: Option<Seconds>,

    /// Seal with this cipher of the laboratory instead of a suite: for measurements, never for secrets
    #[arg(
        long,
        value_name = "CIPHER",
        conflicts_with = "session.suites",
        help_heading = STUDY,
        hide_short_help = true
    )]
    pub(super) insecure_study_suite: Option<String>,
}

impl SessionArgs {
    /// The time after which the command stops, if one is given.
    pub(super) fn time(&self) -> Option<Duration> {
        self.seconds.map(|time| time.0)
    }
}

#[derive(Debug, Args)]
pub(super) struct PublishArgs {
    #[command(flatten)]
    pub(super) session: SessionArgs,

    /// Further cameras, each with its name: all are written so then, the first too
    #[arg(value_name = "NAME=SOURCE", requires = "publish.source")]
    pub(super) more: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct GatewayCommands {
    #[command(subcommand)]
    pub(super) command: GatewayCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum GatewayCommand {
    /// Run beside the cameras: encrypt their packets, and print the ticket for the viewer gateway
    #[command(after_help = examples::GATEWAY_CAMERA)]
    Camera(GatewayCameraArgs),
    /// Run beside the players: serve them the cameras of a camera gateway by RTSP
    #[command(after_help = examples::GATEWAY_VIEWER)]
    Viewer(GatewayViewerArgs),
}

#[derive(Debug, Args)]
pub(super) struct GatewayCameraArgs {
    /// A camera, [PATH=]rtsp://HOST[:PORT]/…; may be repeated, with a PATH each
    ///
    /// Other users of this machine can read arguments: for a password, prefer --camera-file or ?credentials=@FILE.
    #[arg(long = "camera", value_name = "URL", conflicts_with = "gateway.camera_file")]
    pub(super) cameras: Vec<String>,

    #[command(flatten)]
    pub(super) session: SessionArgs,
}

#[derive(Debug, Args)]
pub(super) struct GatewayViewerArgs {
    #[command(flatten)]
    pub(super) latency: LatencyArg,

    #[command(flatten)]
    pub(super) session: SessionArgs,
}

/// An argument that overrides a ticket.
#[derive(Debug, Args)]
pub(super) struct LatencyArg {
    /// How long a picture may wait for what was lost: 0 to 10s, in milliseconds without a unit
    ///
    /// Over UDP and QUIC: how much later than with the shortest delay a frame or packet may be handed out, so that
    /// losses can be repaired; 0 never waits [default: the ticket's, or 120]. Over TCP, except for gateways: how long a
    /// frame may wait at the publisher [default: the publisher's].
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub(super) latency: Option<u16>,
}

/// Parses a latency budget, in milliseconds.
fn budget(text: &str) -> Result<u16, String> {
    let length: Millis = text.parse().map_err(|error: NoLength| error.to_string())?;
    let millis = length.whole().and_then(|millis| u16::try_from(millis).ok());
    let millis = millis.filter(|millis| *millis <= MAX_LATENCY);
    millis.ok_or_else(|| "it has whole milliseconds, and at most 10s".to_owned())
}

impl LatencyArg {
    /// The budget, if one is given.
    pub(super) fn budget(&self) -> Option<Duration> {
        self.latency
            .map(|milliseconds| Duration::from_millis(milliseconds.into()))
    }
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("listening").args(["listen", "web"]).multiple(true))]
pub(super) struct WatchArgs {
    /// Wait for a publisher to connect, and print the ticket for `publish --to`
    #[arg(long, value_name = "URL", conflicts_with = "watch.ticket", help_heading = WAITING)]
    pub(super) listen: Option<String>,

    /// Wait for a browser that publishes, on a page at https://ADDRESS:PORT
    ///
    /// The link to the page is printed. http://127.0.0.1:9443 is for this machine; ?cert=FILE&key=FILE names an
    /// authority's certificate.
    #[arg(long, value_name = "URL", conflicts_with = "watch.ticket", help_heading = WAITING)]
    pub(super) web: Option<String>,

    /// Address for the ticket, with --listen or --web, in place of this machine's. May be given four times
    #[arg(long, value_name = "HOST[:PORT]", requires = "listening", help_heading = WAITING)]
    pub(super) advertise: Vec<String>,

    /// Write the ticket to a new file, or to standard output if FILE is -
    ///
    /// With --listen or --web. Only you can read the file. By default the ticket is printed only on a terminal.
    #[arg(long, value_name = "FILE", requires = "listening", help_heading = WAITING)]
    pub(super) ticket_file: Option<PathBuf>,

    /// Admit only this publisher, with --listen or --web. The ticket then has no invite
    #[arg(
        long,
        value_name = "PEER-ID",
        requires = "listening",
        help_heading = WAITING,
        hide_short_help = true
    )]
    pub(super) publisher: Option<String>,

    /// Name of the lists of publishers that were let in, with --listen or --web [default: made from the URL]
    #[arg(long, value_name = "NAME", requires = "listening", help_heading = WAITING, hide_short_help = true)]
    pub(super) name: Option<String>,

    /// How long the invite in the ticket lives, with --listen or --web: 1h to 365d, in hours without a unit
    #[arg(
        long,
        value_name = "TIME",
        requires = "listening",
        default_value = "24h",
        help_heading = WAITING,
        hide_short_help = true
    )]
    pub(super) invite_hours: Hours,

    #[command(flatten)]
    pub(super) latency: LatencyArg,

    #[command(flatten)]
    pub(super) session: SessionArgs,
}

#[derive(Debug, Args)]
pub(super) struct CamerasArgs {
    #[command(flatten)]
    pub(super) session: SessionArgs,
}

#[derive(Debug, Args)]
pub(super) struct ClockArgs {
    #[command(flatten)]
    pub(super) flags: Flags,

    #[command(flatten)]
    pub(super) config: ConfigArg,

    /// Stop after so long, as in 90s or 10m; in seconds without a unit
    #[arg(long, value_name = "TIME")]
    pub(super) seconds: Option<Seconds>,
}

#[derive(Debug, Args)]
pub(super) struct ProbeArgs {
    #[command(flatten)]
    pub(super) latency: LatencyArg,

    #[command(flatten)]
    pub(super) session: SessionArgs,
}

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Where to serve the page
    ///
    /// Its address is printed on a terminal with a new token that opens it; ?token=@FILE takes the token from a file
    /// that only you can read.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:9881")]
    pub(super) page: String,

    #[command(flatten)]
    pub(super) session: SessionArgs,
}
