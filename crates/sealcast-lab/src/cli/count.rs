//! `sealcast-lab count`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use sealcast::failure::{Failure, FailureKind, Result};

use super::builds::{BuildsArgs, Programs};
use super::run::whole_clip;
use super::{control, gateway as gateway_command, viewers as viewers_command};
use crate::count::strace::STRACE;
use crate::count::valgrind::VALGRIND;
use crate::count::{Counted, Counting, needs, tables};
use crate::experiments::gateway::{self, GATEWAY};
use crate::experiments::viewers::{self, VIEWERS};
use crate::harness::record::unwritable;
use crate::harness::{Definition, Entry};

/// Cases and systems that are counted if none is named.
const PAIR: [&str; 7] = [
    "tcp-frames",
    "udp-frames",
    "udp-250",
    "relay",
    "stunnel",
    "sealcast",
    "sealcast-quic",
];
const FAN_OUT: [&str; 6] = ["tcp-1", "tcp-4", "plain", "alone", "unsigned", "group"];
/// The longest load, in seconds.
const MAX_SECONDS: u16 = 600;

/// The programs that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// A pair of gateways, for each burst and packet
    Gateway,
    /// A publisher, for each frame and viewer
    Viewers,
}

#[derive(Args, Debug)]
pub(super) struct CountArgs {
    /// Count a pair of gateways, or a publisher
    #[arg(default_value = "gateway")]
    what: What,
    /// Count only these cases and systems of `sealcast-lab gateway` or `viewers`. If no case is named, bursts over TCP
    /// and UDP and single packets are counted, or one viewer and four; if no system, all but the rarer ones
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Also count another build of sealcast; may be repeated
    #[arg(long, value_name = "PROGRAM")]
    also: Vec<PathBuf>,
    /// Seconds of load of which everything is counted, after one that does not count
    #[arg(long, value_name = "NUMBER", default_value_t = 4,
        value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_SECONDS)))]
    seconds: u16,
    /// Also count instructions, allocations and copies of sealcast, under valgrind
    #[arg(long)]
    valgrind: bool,
    /// Publish this file (MP4, H.264, Motion JPEG) to viewers again and again instead of a clip made with ffmpeg
    #[arg(long, value_name = "FILE")]
    clip: Option<PathBuf>,
    /// Write count.json, table.md and what strace and valgrind saw into this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &CountArgs) -> Result<ExitCode> {
    needs(STRACE)?;
    if args.valgrind {
        needs(VALGRIND)?;
    }
    let definition = definition(args)?;
    let scratch = tempfile::tempdir().map_err(|error| {
        let what = format!("there is no room for temporary files ({error})");
        Failure::new(FailureKind::Sink, what, "set TMPDIR")
    })?;
    let folder = args.out.clone().unwrap_or_else(|| scratch.path().to_owned());
    fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
    let (what, time, valgrind) = (args.what, Duration::from_secs(args.seconds.into()), args.valgrind);
    let tally = control::until_signalled(move |stop| {
        let counting = Counting {
            time,
            valgrind,
            folder: &folder,
            stop,
            told: &|what| eprintln!("counting {what}"),
        };
        match what {
            What::Gateway => gateway::count(&definition, &counting),
            What::Viewers => viewers::count(&definition, &counting),
        }
    })?;
    let mut text = tables(&tally.counted);
    for line in &tally.missing {
        text.push_str(&format!("* not counted: {line}\n"));
    }
    if args.valgrind {
        text.push_str(
            "* under valgrind a processor has no AVX-512, and ciphers take their code for AVX2\n\
             * instructions are counted by valgrind, not by the processor\n",
        );
    }
    print!("{text}");
    if tally.counted.is_empty() {
        let what = "nothing could be counted";
        return Err(Failure::new(FailureKind::Network, what, "see why above"));
    }
    if let Some(out) = &args.out {
        write(&tally.counted, &text, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The cases and systems that are counted.
fn definition(args: &CountArgs) -> Result<Definition> {
    let (experiment, known) = match args.what {
        What::Gateway => (&GATEWAY, &PAIR[..]),
        What::Viewers => (&VIEWERS, &FAN_OUT[..]),
    };
    let mut definition = Definition::parse(experiment.definition)?;
    if let (Some(_), What::Gateway) = (&args.clip, args.what) {
        let what = "--clip is for viewers, and the packets of gateways come from no file";
        return Err(Failure::new(FailureKind::Usage, what, "leave it out"));
    }
    if let Some(file) = &args.clip {
        definition.settings.insert("clip".to_owned(), whole_clip(file)?.into());
    }
    let mut names = args.only.clone();
    for entries in [&definition.cases, &definition.systems] {
        if !entries
            .iter()
            .any(|entry| args.only.iter().any(|name| entry.goes_by(name)))
        {
            let known = entries
                .iter()
                .map(|entry| &entry.name)
                .filter(|name| known.contains(&name.as_str()));
            names.extend(known.cloned());
        }
    }
    definition.only(&names)?;
    let builds = BuildsArgs {
        also: args.also.clone(),
        ..BuildsArgs::default()
    };
    let is_ours: fn(&Entry) -> bool = match args.what {
        What::Gateway => gateway_command::is_ours,
        What::Viewers => viewers_command::is_ours,
    };
    builds.apply(&mut definition, Programs::Started, is_ours)?;
    Ok(definition)
}

fn write(counted: &[Counted], text: &str, folder: &Path) -> Result<()> {
    let json = serde_json::to_string_pretty(counted)
        .map_err(|error| Failure::new(FailureKind::Internal, error.to_string(), "please report this"))?;
    for (name, text) in [("count.json", json.as_str()), ("table.md", text)] {
        let file = folder.join(name);
        fs::write(&file, text).map_err(|error| unwritable(&file, &error))?;
    }
    println!(
        "written: count.json, table.md and a folder of each case and system in {}",
        folder.display()
    );
    Ok(())
}
