//! `sealcast archive` and `sealcast replay`.

use std::io::{self, Write};
use std::path::Path;

use sealcast_proto::archive::Segment;
use sealcast_proto::keys::PeerId;

use super::args::{ArchiveAction, ReplayArgs};
use super::{record, sink};
use crate::archive::{
    ArchiveIdentity, Folder, Replay, Report, SegmentFile, SignedGroup, check, list, read_identities, replay, show_time,
};
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::metrics::Metrics;
use crate::output;
use crate::run::build_info;

pub(super) fn run(action: &ArchiveAction) -> Result<()> {
    match action {
        ArchiveAction::Keygen { file } => keygen(file),
        ArchiveAction::List { folder } => print_list(folder),
        ArchiveAction::Check {
            folder,
            identity,
            camera,
            groups,
        } => {
            let identities = identity
                .as_deref()
                .map(read_identities)
                .transpose()?
                .unwrap_or_default();
            let camera = camera.as_deref().map(camera_of).transpose()?;
            let report = check(folder, &identities, camera)?;
            if *groups {
                print_groups(&report.groups)?;
            }
            let verified = !identities.is_empty() || camera.is_some();
            print_report(folder, &report, verified)
        }
        ArchiveAction::Record(args) => record::run(args),
        ArchiveAction::Key { segment } => print_key(segment),
    }
}

fn camera_of(text: &str) -> Result<PeerId> {
    PeerId::parse(text).ok_or_else(|| {
        let what = format!("--camera takes a peer id, and \"{text}\" is none");
        let hint = "the camera prints its peer id when it starts; `sealcast keygen` there prints it as well";
        Failure::new(FailureKind::Usage, what, hint)
    })
}

fn keygen(file: &Path) -> Result<()> {
    let identity = ArchiveIdentity::generate()?;
    identity.write(file)?;
    output::say(format_args!(
        "identity written to {} (keep it secret); its recipient is",
        file.display()
    ));
    output::print(&format!("{}\n", identity.recipient()))
}

fn print_list(folder: &Path) -> Result<()> {
    let mut text = String::from("segment     from                      to                        frames      bytes\n");
    for row in list(folder)? {
        let (from, to) = row
            .span
            .map_or(("-".into(), "-".into()), |(from, to)| (show_time(from), show_time(to)));
        let (number, frames, bytes) = (row.number, row.frames, row.bytes);
        text += &format!("{number:<10}  {from:<24}  {to:<24}  {frames:>6}  {bytes:>9}\n");
    }
    output::print(&text)
}

/// Which frames each signature of a group of pictures proves.
fn print_groups(groups: &[SignedGroup]) -> Result<()> {
    let mut text = String::from("segment     group                 of       frames      proven\n");
    for signed in groups {
        let of = if signed.sound { "sound" } else { "picture" };
        let (segment, group, proven) = (signed.segment, signed.group, signed.proven);
        let indexes = format!("{} to {}", signed.first, signed.first + signed.frames.saturating_sub(1));
        text += &format!(
            "{segment:<10}  {group:<20}  {of:<7}  {indexes:<10}  {proven} of {}\n",
            signed.frames
        );
    }
    output::print(&text)
}

fn print_report(folder: &Path, report: &Report, verified: bool) -> Result<()> {
    let mut text = String::new();
    for note in report.gaps.iter().chain(&report.notes) {
        text += &format!("note: {note}\n");
    }
    for fault in &report.faults {
        text += &format!("fault: {fault}\n");
    }
    let (segments, frames) = (report.segments, report.frames);
    text += &format!("{segments} segments, {frames} frames");
    if let Some((from, to)) = report.span {
        text += &format!(", {} to {}", show_time(from), show_time(to));
    }
    text += "\n";
    if verified {
        let (signed, unsigned) = (report.signed, report.unsigned);
        text += &format!("{signed} frames signed by the camera, {unsigned} without a signature of their own\n");
        if report.shown_before_proof > 0 {
            text += &format!(
                "{} frames were shown before they were proved\n",
                report.shown_before_proof
            );
        }
        if !report.groups.is_empty() {
            let (proven, groups) = (report.proven, report.groups.len());
            text += &format!("{proven} frames proven by {groups} signatures of groups of pictures (ML-DSA-65)\n");
        }
        if report.missing > 0 {
            text += &format!("{} frames are missing in between\n", report.missing);
        }
    } else {
        text += "records were not opened: give --identity to open them and to verify signatures, or --camera to verify \
                 those alone\n";
    }
    if let Some(link) = report.link {
        text += &format!("last link {}\n", data_encoding::HEXLOWER.encode(&link));
    }
    output::print(&text)?;
    match report.faults.len() {
        0 => Ok(()),
        count => Err(Failure::new(
            FailureKind::Source,
            format!("faults in the archive {}: {count}", folder.display()),
            "replay plays what is whole; compare with a copy if there is one",
        )),
    }
}

fn print_key(path: &Path) -> Result<()> {
    let fail = |why: String| {
        let what = format!("{} {why}", path.display());
        Failure::new(FailureKind::Source, what, "name a segment of an archive")
    };
    let found = path
        .metadata()
        .map_err(|error| fail(format!("cannot be read: {error}")))?;
    let file = SegmentFile {
        number: 0,
        path: path.to_owned(),
        bytes: found.len(),
        changed: 0,
    };
    let bytes = file.read()?;
    let segment = Segment::new(&bytes).map_err(|fault| fail(fault.to_string()))?;
    let written = io::stdout().write_all(&segment.head().key_file);
    written.map_err(|error| fail(format!("was read, but standard output cannot be written: {error}")))
}

pub(super) fn run_replay(args: &ReplayArgs) -> Result<()> {
    let wanted = Replay {
        folder: args.folder.clone(),
        identities: read_identities(&args.identity)?,
        from: args.from.as_deref().map(str::parse).transpose()?,
        to: args.to.as_deref().map(str::parse).transpose()?,
        fast: args.fast,
    };
    // Before the sink is made, which may create a file.
    Folder::open(&wanted.folder)?;
    if args.into.starts_with("archive:") {
        let what = "an archive cannot be replayed into another";
        return Err(Failure::new(FailureKind::Usage, what, "copy its folder"));
    }
    let mut sink = sink::open(&args.into, &Metrics::new(build_info()))?;
    let done = replay(&wanted, &mut *sink)?;
    for fault in &done.faults {
        output::say(format_args!("fault: {fault}"));
    }
    if let Some((from, to)) = done.span {
        let (frames, signed) = (done.frames, done.signed);
        let (from, to) = (show_time(from), show_time(to));
        output::say(format_args!(
            "replayed {frames} frames from {from} to {to}, {signed} of them signed by the camera"
        ));
        if done.sounds > 0 {
            output::say(format_args!("and {} packets of sound", done.sounds));
        }
    }
    match done.faults.len() {
        0 => Ok(()),
        count => Err(Failure::new(
            FailureKind::Source,
            format!("faults in what was asked for of {}: {count}", wanted.folder.display()),
            "what is whole was played; sealcast archive check DIR tells all",
        )),
    }
}
