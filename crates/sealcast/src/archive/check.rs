//! Checks an archive: what is missing, altered or moved, and what of it is the camera's (archive.md §5).

use std::path::Path;

use sealcast_proto::archive::{
    Block, EndCause, Fault, FrameBlock, Head, Opened, Player, Proof, Segment, SegmentKey, keys_from_bytes,
};
use sealcast_proto::keys::PeerId;
use sealcast_proto::seal::MediaKey;
use sealcast_proto::seal::suite::RECOMMENDED;
use sealcast_proto::sign::{Hash, MAX_OPEN_PARTS, Statement};
use sealcast_proto::unit::SOUND_STREAM;
use zeroize::Zeroizing;

use super::age_file;
use super::folder::{Folder, SegmentFile, show_archive};
use super::groups::{Groups, SignedGroup, Wrong};
use super::recipients::ArchiveIdentity;
use super::times::show_time;
use crate::failure::Result;

/// Findings of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Faults, each in a sentence that names the file and the time.
    pub faults: Vec<String>,
    /// Facts that are worth knowing and no faults.
    pub notes: Vec<String>,
    /// Places where frames are missing within what was recorded, each in a sentence; told only with an identity.
    pub gaps: Vec<String>,
    /// Number of frames that are missing there.
    pub missing: u64,
    /// Number of segments that were read.
    pub segments: u64,
    /// Number of frames in them.
    pub frames: u64,
    /// Times of the first and the last frame, ns since 1970.
    pub span: Option<(u64, u64)>,
    /// Frames whose signature is the camera's; counted only with an identity or a camera.
    pub signed: u64,
    /// Frames without a signature of their own; counted only with an identity or a camera.
    pub unsigned: u64,
    /// Those of them that earlier versions signed by groups of pictures alone: they were shown before they were proved.
    pub shown_before_proof: u64,
    /// Frames that a signature of their group of pictures proves (ML-DSA-65); counted only with an identity or a
    /// camera.
    pub proven: u64,
    /// The groups of pictures, and of packets of sound, that are signed; told only with an identity or a camera.
    pub groups: Vec<SignedGroup>,
    /// The link of the last block: who writes it down elsewhere can tell later that nothing up to there was replaced.
    pub link: Option<Hash>,
}

/// Gaps that are told; of more, only the frames are counted.
const MAX_GAPS: usize = 1000;

/// Signed groups that are told; of more, only the frames are counted.
const MAX_GROUPS: usize = 1 << 20;

/// Signatures of groups of pictures that may stand before the certificate of their key, or before the first frame, that
/// tells the camera: where messages can be lost, they come in any order.
const MAX_EARLY_SIGNATURES: usize = 64;

/// A signature of a group of pictures that nothing verifies yet.
struct Early {
    segment: u64,
    message: Vec<u8>,
    /// Time of the frame before it.
    last: u64,
}

/// Facts about the segment before.
struct Before {
    number: u64,
    link: Hash,
    ended: Option<EndCause>,
    /// Fault at which reading it stopped, if it did.
    fault: Option<Fault>,
    last: u64,
}

/// Opens a segment's key with one of the identities.
pub(super) fn segment_key(key_file: &[u8], identities: &[ArchiveIdentity]) -> Option<SegmentKey> {
    let secret = age_file::decrypt(key_file, identities)?;
    let secret = Zeroizing::new(<[u8; 32]>::try_from(secret.as_slice()).ok()?);
    Some(SegmentKey(*secret))
}

/// Opens the keys of an epoch that its camera encrypted, with one of the identities: of the picture, and of the sound.
pub(super) fn wrapped_keys(epoch: u64, file: &[u8], identities: &[ArchiveIdentity]) -> Option<Vec<MediaKey>> {
    let secret = age_file::decrypt(file, identities)?;
    let keys = keys_from_bytes(&secret, &RECOMMENDED).ok();
    keys.filter(|keys| keys.iter().all(|key| key.epoch() == epoch))
}

/// Checks the archive in a folder. With `identities`, also opens all records, and verifies the camera's signatures.
/// With a `camera`, it verifies the signatures of segments that it cannot open, too: they are over what is sealed.
///
/// # Errors
/// Kind `Source`: the folder cannot be read.
pub fn check(folder: &Path, identities: &[ArchiveIdentity], camera: Option<PeerId>) -> Result<Report> {
    let folder = Folder::open(folder)?;
    let files = folder.segments()?;
    let mut checking = Checking {
        report: Report::default(),
        identities,
        camera,
        player: Player::new(),
        groups: Groups::new(),
        early: Vec::new(),
        knows_camera: false,
        before: None,
        newest: None,
        archive: None,
    };
    let oldest = newest_says(&files);
    for file in &files {
        if file.number < oldest {
            let what = format!(
                "{} is older than the archive, and the next recording removes it",
                file.name()
            );
            checking.report.notes.push(what);
            continue;
        }
        checking.segment(file, oldest);
    }
    checking.finish();
    Ok(checking.report)
}

/// The number that the archive begins with, as its newest readable head says.
fn newest_says(files: &[SegmentFile]) -> u64 {
    let heads = files.iter().rev().filter_map(|file| {
        let bytes = file.read().ok()?;
        let head = Segment::new(&bytes).ok()?.head().clone();
        (head.number == file.number).then_some(head.oldest)
    });
    heads.into_iter().next().unwrap_or(1)
}

struct Checking<'a> {
    report: Report,
    identities: &'a [ArchiveIdentity],
    /// Camera that should have signed what is not opened.
    camera: Option<PeerId>,
    player: Player,
    groups: Groups,
    early: Vec<Early>,
    /// A frame told the camera.
    knows_camera: bool,
    before: Option<Before>,
    /// The number of the last segment that was there.
    newest: Option<u64>,
    archive: Option<[u8; 16]>,
}

impl Checking<'_> {
    fn fault(&mut self, what: String) {
        self.report.faults.push(what);
    }

    /// None of a segment can be read.
    fn lost(&mut self, file: &SegmentFile, oldest: u64, fault: String) {
        self.missing_before(file.number, oldest, None);
        self.fault(fault);
        self.close_before(None);
        self.before = None;
    }

    fn segment(&mut self, file: &SegmentFile, oldest: u64) {
        let name = file.name();
        self.report.segments += 1;
        let bytes = match file.read() {
            Ok(bytes) => bytes,
            Err(failure) => return self.lost(file, oldest, format!("{}: all of it is lost", failure.what)),
        };
        let mut segment = match Segment::new(&bytes) {
            Ok(segment) => segment,
            Err(fault) => return self.lost(file, oldest, format!("{name} {fault}: all of it is lost")),
        };
        let head = segment.head().clone();
        self.missing_before(file.number, oldest, Some(head.began));
        if head.number != file.number {
            let what = format!(
                "{name} is segment {} under another name: it was moved here",
                head.number
            );
            self.fault(what);
        }
        let archive = *self.archive.get_or_insert(head.archive);
        if archive != head.archive {
            self.other_archive(file.number, archive, &head);
        }
        if self
            .before
            .as_ref()
            .is_none_or(|before| before.ended != Some(EndCause::Full))
        {
            self.player.resume();
            self.groups.resume();
        }
        let follows = self.close_before(Some((file.number, head.previous, head.began)));
        self.player.begin_segment(follows);
        let unlocked = self.unlock(&mut segment, &name);
        let (mut last, mut ended, mut fault) = (head.began, None, None);
        while let Some(block) = segment.next_block() {
            match block {
                Ok(Block::Frame(frame)) => {
                    last = frame.time;
                    self.frame(&frame, unlocked, &name);
                }
                Ok(Block::Key(Some(key))) => self.player.key(&key),
                Ok(Block::WrappedKey { epoch, file }) if unlocked => self.wrapped(epoch, file, &name),
                Ok(Block::GopKey(certificate)) => {
                    self.groups.key(certificate);
                    self.judge_early();
                }
                Ok(Block::GopSignature(message)) if unlocked || self.camera.is_some() => {
                    self.signature(head.number, message, last)
                }
                Ok(
                    Block::Key(None)
                    | Block::WrappedKey { .. }
                    | Block::GopSignature(_)
                    | Block::Description(_)
                    | Block::Orientation(_),
                ) => {}
                Ok(Block::End(end)) => ended = Some(end.cause),
                Err(stopped) => fault = Some(stopped),
            }
        }
        self.before = Some(Before {
            number: file.number,
            link: segment.link(),
            ended,
            fault,
            last,
        });
    }

    /// A segment names another archive than those before it.
    fn other_archive(&mut self, number: u64, before: [u8; 16], head: &Head) {
        let (other, before) = (show_archive(&head.archive), show_archive(&before));
        // Who writes an archive begins another one only where it could not read the newest head.
        if head.previous == [0; 32] && head.number == number {
            self.archive = Some(head.archive);
            let from = show_time(head.began);
            self.fault(format!(
                "another archive, {other} after {before}, begins with segment {number} at {from}: when the recording \
                 went on, the head of the segment before could not be read, or these segments were put here later"
            ));
        } else {
            self.fault(format!(
                "segment {number} is of another archive, {other} and not {before}"
            ));
        }
    }

    /// Tells which segments before this one are missing.
    fn missing_before(&mut self, number: u64, oldest: u64, began: Option<u64>) {
        // One that is there and cannot be read is not missing.
        let expected = self.newest.replace(number).map_or(oldest, |newest| newest + 1);
        if expected >= number {
            return;
        }
        let missing = match number - expected {
            1 => format!("segment {expected} is missing"),
            _ => format!("segments {expected} to {} are missing", number - 1),
        };
        let from = self.before.as_ref().map(|before| show_time(before.last));
        let span = match (from, began.map(show_time)) {
            (Some(from), Some(to)) => format!(": what was recorded between {from} and {to}"),
            (None, Some(to)) => format!(": what was recorded before {to}"),
            (Some(from), None) => format!(": what was recorded after {from}"),
            (None, None) => String::new(),
        };
        self.fault(missing + &span);
    }

    /// Judges the segment before, now that it is known what follows. Returns true if this one continues it.
    fn close_before(&mut self, next: Option<(u64, Hash, u64)>) -> bool {
        let Some(before) = self.before.take() else { return false };
        let name = format!("segment {}", before.number);
        let last = show_time(before.last);
        let adjacent = next.filter(|(number, ..)| *number == before.number + 1);
        let fits = adjacent.is_some_and(|(_, previous, _)| previous == before.link);
        match (before.fault, before.ended) {
            (Some(Fault::Forged { .. }), _) => {
                let fault = before.fault.expect("matched");
                self.fault(format!("{name} {fault}; what it has after {last} is not the writer's"));
            }
            (_, None) if fits => {
                let note = format!("{name} was interrupted at {last}: the recording stopped without completing it");
                self.report.notes.push(note);
            }
            (Some(fault), _) if next.is_some() => {
                let until = next.map(|(.., began)| show_time(began)).unwrap_or_default();
                self.fault(format!(
                    "{name} {fault}: what it has between {last} and {until} is lost"
                ));
            }
            (Some(fault), _) => {
                let note = format!("{name}, the newest, {fault}: the recording was interrupted after {last}");
                self.report.notes.push(note);
            }
            (None, None) if adjacent.is_some() => {
                let what = format!(
                    "{name} was cut off after {last}, or segment {} replaced",
                    before.number + 1
                );
                self.fault(what);
            }
            (None, None) if next.is_none() => {
                let note = format!("{name}, the newest, is being written, or was interrupted after {last}");
                self.report.notes.push(note);
            }
            (None, _) if adjacent.is_some() && !fits => {
                let what = format!(
                    "segment {} does not follow {name}: one of them was replaced",
                    before.number + 1
                );
                self.fault(what);
            }
            (None, _) => {}
        }
        fits
    }

    fn unlock(&mut self, segment: &mut Segment<'_>, name: &str) -> bool {
        if self.identities.is_empty() {
            return false;
        }
        let Some(key) = segment_key(&segment.head().key_file, self.identities) else {
            self.fault(format!(
                "{name} cannot be opened: this identity is none of its recipients"
            ));
            return false;
        };
        if let Err(fault) = segment.unlock(&key, &RECOMMENDED) {
            self.fault(format!("{name} {fault}"));
            return false;
        }
        true
    }

    fn wrapped(&mut self, epoch: u64, file: &[u8], name: &str) {
        match wrapped_keys(epoch, file, self.identities) {
            Some(keys) => keys.iter().for_each(|key| self.player.key(key)),
            None => self.fault(format!(
                "{name}: the key of epoch {epoch} does not open: it is not for this identity"
            )),
        }
    }

    fn frame(&mut self, frame: &FrameBlock<'_>, unlocked: bool, name: &str) {
        self.report.frames += 1;
        let (first, _) = self.report.span.unwrap_or((frame.time, 0));
        self.report.span = Some((first, frame.time));
        self.late();
        let time = show_time(frame.time);
        if !unlocked {
            if let Some(camera) = self.camera {
                let (proof, statement) = self.player.witness(camera, frame);
                self.signed(proof, statement.as_ref(), camera, &time, name);
            }
            return;
        }
        match self.player.frame(frame) {
            Ok(opened) => {
                self.gap(&opened, &time, name);
                self.signed(opened.proof, opened.statement.as_ref(), opened.camera, &time, name);
            }
            Err(why) => self.fault(format!("{name}: the frame of {time} does not open: {why}")),
        }
    }

    /// Counts what the signature of a frame says.
    fn signed(&mut self, proof: Proof, statement: Option<&Statement>, camera: PeerId, time: &str, name: &str) {
        if statement.is_some_and(|statement| !self.groups.took(camera, statement)) {
            self.fault(format!(
                "{name}: the frame of {time} is not the camera's: the signature of its group says so"
            ));
        }
        if !std::mem::replace(&mut self.knows_camera, true) {
            self.judge_early();
        }
        match proof {
            Proof::Signed => self.report.signed += 1,
            Proof::None => self.report.unsigned += 1,
            Proof::Later => {
                self.report.unsigned += 1;
                self.report.shown_before_proof += 1;
            }
            Proof::Forged(reason) => {
                self.fault(format!("{name}: the frame of {time} is not the camera's ({reason})"));
            }
        }
    }

    /// Counts the frames that came after the signature that proves them.
    fn late(&mut self) {
        for statement in std::mem::take(&mut self.groups.late) {
            self.report.proven += 1;
            let recent = self.report.groups.iter_mut().rev().take(2 * MAX_OPEN_PARTS);
            let mut covering = recent.filter(|group| group.covers(&statement));
            if let Some(group) = covering.next() {
                group.proven += 1;
            }
        }
    }

    /// Looks again at signatures that came early.
    fn judge_early(&mut self) {
        for Early { segment, message, last } in std::mem::take(&mut self.early) {
            self.signature(segment, &message, last);
        }
    }

    /// The signature of a group of pictures.
    fn signature(&mut self, segment: u64, message: &[u8], last: u64) {
        let time = show_time(last);
        match self.groups.signature(segment, message) {
            Ok(None) => {}
            Ok(Some((group, follows))) => {
                if !follows && self.report.gaps.len() < MAX_GAPS {
                    let gap =
                        format!("segment {segment}: the signature of a group of pictures before {time} is missing");
                    self.report.gaps.push(gap);
                }
                self.report.proven += u64::from(group.proven);
                if self.report.groups.len() < MAX_GROUPS {
                    self.report.groups.push(group);
                }
            }
            Err(Wrong::NotTheCameras) if self.early.len() < MAX_EARLY_SIGNATURES => self.early.push(Early {
                segment,
                message: message.to_vec(),
                last,
            }),
            Err(Wrong::NotTheCameras) => self.forged_signature(segment, last),
            Err(Wrong::Forged(frames)) => self.fault(format!(
                "segment {segment}: {frames} frames before {time} are not the camera's: the signature of their group \
                 says so"
            )),
        }
    }

    fn forged_signature(&mut self, segment: u64, last: u64) {
        let time = show_time(last);
        self.fault(format!(
            "segment {segment}: the signature of a group of pictures after {time} is not the camera's"
        ));
    }

    /// Tells that frames are missing before this one.
    fn gap(&mut self, opened: &Opened, time: &str, name: &str) {
        let missing = opened.missing;
        if missing == 0 {
            return;
        }
        self.report.missing = self.report.missing.saturating_add(missing);
        if self.report.gaps.len() < MAX_GAPS {
            let what = match (opened.stream == SOUND_STREAM, missing) {
                (true, 1) => "1 packet of sound is".to_owned(),
                (true, _) => format!("{missing} packets of sound are"),
                (false, 1) => "1 picture is".to_owned(),
                (false, _) => format!("{missing} pictures are"),
            };
            let gap = format!("{name}: {what} missing before {time}: lost on the way, or left out by the camera");
            self.report.gaps.push(gap);
        }
    }

    fn finish(&mut self) {
        self.judge_early();
        for Early { segment, last, .. } in std::mem::take(&mut self.early) {
            self.forged_signature(segment, last);
        }
        self.late();
        self.report.link = self.before.as_ref().map(|before| before.link);
        self.close_before(None);
    }
}
