//! `sealcast-lab viewers`, and the plain fan-out that it starts.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use sealcast::failure::Result;

use super::builds::{BuildsArgs, Programs};
use super::common_args::{CarrierArg, CommonArgs};
use super::run::{built_in, is_of_kind, measure, whole_clip};
use crate::experiments::viewers::{self, VIEWERS};
use crate::harness::Entry;

#[derive(Args, Debug)]
pub(super) struct ViewersArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    #[command(flatten)]
    pub(super) builds: BuildsArgs,
    /// Publish this file (MP4, H.264, Motion JPEG) again and again instead of a clip made with ffmpeg
    #[arg(long, value_name = "FILE")]
    pub(super) clip: Option<PathBuf>,
    /// The moq-relay to run
    #[arg(long, value_name = "PROGRAM", default_value = "moq-relay")]
    pub(super) relay: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct PlainFanOutArgs {
    /// The source of the frames, as `publish` takes it
    pub(super) source: String,
    /// The carrier to viewers
    #[arg(long)]
    pub(super) carrier: CarrierArg,
    /// Give them to this relay instead
    #[arg(long)]
    pub(super) relay: Option<String>,
}

pub(super) fn run(args: &ViewersArgs) -> Result<ExitCode> {
    let mut definition = built_in(&VIEWERS, &args.common)?;
    if let Some(file) = &args.clip {
        definition.settings.insert("clip".to_owned(), whole_clip(file)?.into());
    }
    let relay = args.relay.display().to_string();
    definition.settings.insert("relay".to_owned(), relay.into());
    definition.only(&args.common.only)?;
    args.builds.apply(&mut definition, Programs::Started, is_ours)?;
    measure(definition, &args.common)
}

/// True for the program itself; not where it starts a relay client, which it looks for beside its own file.
pub(super) fn is_ours(system: &Entry) -> bool {
    ["group", "unsigned", "alone"]
        .iter()
        .any(|kind| is_of_kind(system, kind))
}

pub(super) fn fan_out(args: &PlainFanOutArgs) -> Result<ExitCode> {
    let relay = args.relay.as_deref().map(str::parse).transpose()?;
    viewers::fan_out(&args.source, args.carrier.into(), relay).map(|()| ExitCode::SUCCESS)
}
