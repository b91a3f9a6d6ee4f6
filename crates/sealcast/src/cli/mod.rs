//! The command line. It is parsed once and converted into the program's settings.

mod archive;
mod args;
mod awaited_addresses;
mod build;
mod cameras;
mod clock;
mod completions;
mod control;
mod data;
mod demo;
mod devices;
mod doctor;
mod examples;
mod flags;
mod gateway;
mod hand_out;
mod hyphens;
mod invite;
mod json_arg;
mod list_cameras;
mod log;
mod peers;
mod peers_args;
mod probe;
mod probe_beside;
mod probe_feed;
mod publish;
mod publish_cameras;
mod publish_source;
mod qr;
mod record;
mod shutdown;
mod sink;
mod status;
mod ticket;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser};
pub use completions::completions;
use rustix::process::{Resource, Rlimit, setrlimit};
use sealcast_proto::keys::{EpochSecret, Secret, Side};
use sealcast_proto::seal::suite::AEGIS_128X4;
use sealcast_proto::seal::{RecordMeta, SealLimits};
use sealcast_proto::wire::Flags;

use crate::codec::{self, asm_active};
use crate::config::{self, Settings};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::files::{self, End};
use crate::keys::words::words_of;
use crate::keys::{entropy, mechanism, publisher, startup};
use crate::media::Codec;
use crate::output;
use crate::platform::compare;
use crate::platform::print_config::{BuildConfig, Facts};
use crate::platform::probe::{self as speed_probe, PROBE_TIME, SuiteSpeed};
use crate::private_file::keep_new_files_private;
use args::{ArchiveAction, ArchiveArgs, Arguments, Command, ConfigCommand, KeygenArgs, PrintConfigArgs};

/// Run the command given by the process's arguments.
pub fn run() -> ExitCode {
    run_with(std::env::args_os())
}

/// Run the command given by these arguments; the first is the program's own name.
pub fn run_with(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    keep_new_files_private();
    let words: Vec<OsString> = hyphens::sorted(arguments).into_iter().collect();
    let arguments = Arguments::try_parse_from(&words).unwrap_or_else(|error| with_usage(error, &words).exit());
    log::init(arguments.verbose);
    refuse_core_dumps();
    match dispatch(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::say(format_args!("sealcast: {failure}"));
            ExitCode::from(failure.kind.exit_code())
        }
    }
}

/// Adds to an error about a value how the command is used, as errors about options have it.
fn with_usage(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    if matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue) {
        let mut program = Arguments::command();
        program.build();
        let mut command = &mut program;
        for word in words.iter().skip(1) {
            if command.get_subcommands().any(|below| word == below.get_name()) {
                command = command.find_subcommand_mut(word).expect("it was found");
            }
        }
        let usage = ContextValue::StyledStr(command.render_usage());
        error.insert(ContextKind::Usage, usage);
    }
    error
}

/// The commands and their options, for manual pages and completions.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Allow no core dump: it would hold keys and pictures. The process stays readable for its own user, who may debug and
/// measure it, and whose other programs can read the identity file anyway.
fn refuse_core_dumps() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    if let Err(error) = setrlimit(Resource::Core, none) {
        tracing::warn!(%error, "a crash may write keys into a core dump: run it with `ulimit -c 0`");
    }
}

fn dispatch(arguments: Arguments) -> Result<()> {
    let has_sessions = |command: &Command| {
        matches!(
            command,
            Command::Publish(_)
                | Command::Watch(_)
                | Command::Gateway(_)
                | Command::Demo(_)
                | Command::Archive(ArchiveArgs {
                    action: ArchiveAction::Record(_),
                })
        )
    };
    if has_sessions(&arguments.command) {
        // Before the identity is read, which uses the libraries too.
        startup::libraries();
    }
    match arguments.command {
        Command::Keygen(args) => keygen(&args),
        Command::Devices(args) => devices::run(&args),
        Command::Cameras(args) => list_cameras::run(&args),
        Command::Invite(args) => invite::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Peers(args) => peers::run(&args),
        Command::Control(args) => control::run(&args),
        Command::PrintConfig(args) => print_config(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Config(args) => match args.command {
            ConfigCommand::Check(args) => config_check(&args),
            ConfigCommand::Example => {
                output::print(&config::example())?;
                Ok(())
            }
        },
        Command::Completions(args) => completions::run(&command(), args.shell),
        Command::Publish(args) => publish::run(args),
        Command::Watch(args) => watch::run(args),
        Command::Gateway(args) => gateway::run(args.command),
        Command::Demo(args) => demo::run(args),
        Command::Clock(args) => clock::run(&args),
        Command::Probe(args) => probe::run(args),
        Command::Archive(args) => archive::run(&args.action),
        Command::Replay(args) => archive::run_replay(&args),
        Command::Decoder(args) => codec::serve(match &*args.codec {
            "h264" => Codec::H264,
            _ => Codec::Mjpeg,
        }),
    }
}

fn keygen(args: &KeygenArgs) -> Result<()> {
    let path = match (&args.file, args.end) {
        (Some(path), _) => path.clone(),
        (None, Some(end)) => default_identity(end, args.name.as_deref())?,
        (None, None) => {
            let what = "it is not said where the identity is to be";
            let hint = "name a new FILE, or the end that will use it, such as --for viewer";
            return Err(Failure::new(FailureKind::Usage, what, hint));
        }
    };
    let identity = files::create_identity(&path)?;
    output::say(format_args!(
        "identity written to {} (keep it secret); its peer id is",
        path.display()
    ));
    let (peer, words) = (identity.peer_id(), words_of(&identity.peer_id()));
    output::print(&format!("{peer}\n"))?;
    // Scripts take all of standard output for the peer id.
    if std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        output::print(&format!("{words}\n"))?;
    } else {
        tracing::info!(fingerprint = words, "to compare aloud");
    }
    Ok(())
}

/// The file of the identity of this end, and of this name; that of earlier versions as long as nobody took it over.
fn default_identity(end: End, name: Option<&str>) -> Result<PathBuf> {
    let home = files::home()?;
    let former = end
        .former_file_name()
        .map(|file| home.join(file))
        .filter(|file| file.exists());
    match (name, end.default_name(), former) {
        (None, _, Some(former)) => Ok(former),
        (None, _, None) => end.file(),
        (Some(name), Some(_), _) => Ok(publisher::identity_file(&home, &name.parse()?)),
        (Some(_), None, _) => {
            let what = "only a publisher and a camera gateway have a name";
            Err(Failure::new(
                FailureKind::Usage,
                what,
                "leave out --name, or name a new FILE",
            ))
        }
    }
}

fn print_config(args: &PrintConfigArgs) -> Result<()> {
    let facts = Facts {
        suites: build::suite_names(),
        mechanisms: mechanism::names().map(str::to_owned).collect(),
        codec_assembly: asm_active(),
        gstreamer: crate::gst::version(),
        hardware_entropy: entropy::hardware(),
        more_speeds: vec![aegis_speed()],
    };
    let mut config = BuildConfig::collect(facts);
    if args.compare {
        let program = std::env::current_exe().map_err(|error| {
            let what = format!("this program cannot find itself ({error})");
            Failure::new(FailureKind::Internal, what, "run it by its full path")
        })?;
        config.comparison = Some(compare::compare(&program, &["print-config", "--json"])?);
    }
    let text = if args.json { config.to_json() } else { config.to_table() };
    output::print(&format!("{text}\n"))
}

/// Speed of the suite that aws-lc-rs lacks, measured through our record layer.
fn aegis_speed() -> SuiteSpeed {
    // Throw-away keys: the data sealed here is discarded.
    let secret = EpochSecret::new(Secret::extract(b"measurement", b"aegis"), 0);
    let mut keys = secret.keys(&AEGIS_128X4, Side::Initiator, SealLimits::COUNTER);
    let meta = RecordMeta {
        flags: Flags::frame(false, true, true),
        stream: 1,
        timestamp: 0,
    };
    speed_probe::measure(AEGIS_128X4.name, PROBE_TIME, |record| {
        // The limit of about four thousand million records is not reached in a fraction of a second.
        let _ = keys.media_sealer.seal_in_place(meta, record);
    })
}

fn config_check(args: &args::ConfigCheckArgs) -> Result<()> {
    let file = args.file.as_deref().or(args.config.config.as_deref());
    let settings = Settings::gather(file, std::env::vars_os(), [])?;
    output::print(&settings.table())?;
    build::check(&settings)?;
    match file {
        Some(file) => output::say(format_args!("{} has no mistakes", file.display())),
        None => output::say("no FILE is named: these are the defaults, and what SEALCAST_… variables set"),
    }
    Ok(())
}
