//! Plays an archive into a sink (archive.md §6).

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::archive::{Block, EndCause, FrameBlock, Opened, Player, Proof, Segment, SegmentKey};
use sealcast_proto::seal::suite::RECOMMENDED;
use sealcast_proto::sign::Hash;
use sealcast_proto::timeline::{Arrived, SessionTimeline};
use sealcast_proto::unit::{Description, Preamble, SOUND_STREAM};

use super::check::{segment_key, wrapped_keys};
use super::folder::{Folder, SegmentFile};
use super::index::Index;
use super::list::entry_of;
use super::recipients::ArchiveIdentity;
use super::times::{Moment, show_time};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Orientation, ReceivedFrame, SoundInfo, StreamInfo, Track};
use crate::sink::Sink;
use crate::source::Pacer;

/// Settings of a replay.
pub struct Replay {
    /// The archive's folder.
    pub folder: PathBuf,
    /// Identities that open it.
    pub identities: Vec<ArchiveIdentity>,
    /// Moment at which to begin: with the last keyframe before it.
    pub from: Option<Moment>,
    /// Moment at which to end.
    pub to: Option<Moment>,
    /// True to play as fast as the sink takes it.
    pub fast: bool,
}

/// Result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Frames that the sink got.
    pub frames: u64,
    /// Packets of sound that it got.
    pub sounds: u64,
    /// Of the frames, the ones with the camera's own signature.
    pub signed: u64,
    /// Times of the first and the last of them, ns since 1970.
    pub span: Option<(u64, u64)>,
    /// Missing and altered parts, each in a sentence.
    pub faults: Vec<String>,
}

/// Plays an archive into a sink.
///
/// # Errors
/// Kind `Source`: there is nothing to play; kind `Keys`: the identity opens none of it; and the sink's own failures.
pub fn replay(replay: &Replay, sink: &mut dyn Sink) -> Result<Replayed> {
    let folder = Folder::open(&replay.folder)?;
    let files = folder.segments()?;
    let index = Index::read(folder.path());
    let nothing = |what: &str| {
        let what = format!("{} {what}", folder.path().display());
        let hint = "look at what it has with: sealcast archive list DIR";
        Failure::new(FailureKind::Source, what, hint)
    };
    let (begin, end) = span(&files, &index).ok_or_else(|| nothing("has no segment of an archive"))?;
    let from = replay.from.map_or(0, |from| from.in_archive(begin, end));
    let to = replay.to.map_or(u64::MAX, |to| to.in_archive(begin, end));
    let there = files.iter().map(|file| file.number).collect();
    sink.leave_nothing_out();
    let mut playing = Playing {
        sink,
        player: Player::new(),
        identities: &replay.identities,
        pacer: (!replay.fast).then(Pacer::default),
        from,
        to,
        info: None,
        heard: None,
        playing_sound: None,
        turned: Orientation::default(),
        sink_turns: Orientation::default(),
        timeline: SessionTimeline::default(),
        session: 0,
        ended: None,
        skip: false,
        done: Replayed::default(),
    };
    let played = playing.all(&wanted(&files, &index, from, to), &there);
    let finished = playing.sink.finish();
    let done = playing.done;
    played.and(finished)?;
    if done.frames == 0 && done.faults.is_empty() {
        return Err(nothing("has no frames of that time"));
    }
    Ok(done)
}

/// Times of the beginning and the end of an archive.
fn span(files: &[SegmentFile], index: &Index) -> Option<(u64, u64)> {
    let times = |file: &SegmentFile| {
        let entry = index.of(file.number, file.bytes).or_else(|| entry_of(file))?;
        Some((entry.first, entry.last))
    };
    let begin = files.iter().find_map(times)?.0;
    let end = files.iter().rev().find_map(times)?.1;
    Some((begin, end))
}

/// The segments that may have frames of that time.
fn wanted<'a>(files: &'a [SegmentFile], index: &Index, from: u64, to: u64) -> Vec<&'a SegmentFile> {
    let known = |file: &SegmentFile| index.of(file.number, file.bytes);
    let fits = |file: &&SegmentFile| known(file).is_none_or(|entry| entry.last >= from && entry.first <= to);
    files.iter().filter(fits).collect()
}

struct Playing<'a> {
    sink: &'a mut dyn Sink,
    player: Player,
    identities: &'a [ArchiveIdentity],
    pacer: Option<Pacer>,
    from: u64,
    to: u64,
    info: Option<StreamInfo>,
    /// The sound that is described, and the one that the sink was told of.
    heard: Option<SoundInfo>,
    playing_sound: Option<SoundInfo>,
    /// Orientation of the next picture, and the one that the sink was told.
    turned: Orientation,
    sink_turns: Orientation,
    timeline: SessionTimeline,
    /// The number of the session that the segment was recorded in, and how the segment before it ended.
    session: u64,
    ended: Option<EndCause>,
    /// Nothing is shown before the next keyframe.
    skip: bool,
    done: Replayed,
}

impl Playing<'_> {
    fn all(&mut self, files: &[&SegmentFile], there: &BTreeSet<u64>) -> Result<()> {
        let mut before: Option<(u64, Hash)> = None;
        let mut opened = 0;
        for file in files {
            // One that is there, and of another time, is not missing.
            let skipped = before.map_or(file.number, |(number, _)| number + 1)..file.number;
            if let Some(missing) = skipped.into_iter().find(|number| !there.contains(number)) {
                let last = self.done.span.map_or(0, |(_, last)| last);
                let what = format!(
                    "segment {missing} is missing: what was recorded after {}",
                    show_time(last)
                );
                self.done.faults.push(what);
            }
            let bytes = file.read()?;
            let mut segment = match Segment::new(&bytes) {
                Ok(segment) => segment,
                Err(fault) => {
                    self.done
                        .faults
                        .push(format!("{} {fault}: all of it is lost", file.name()));
                    before = None;
                    continue;
                }
            };
            let head = segment.head();
            let follows = before == Some((head.number.wrapping_sub(1), head.previous));
            if head.number != file.number {
                let what = format!("{} is segment {} under another name", file.name(), head.number);
                self.done.faults.push(what);
                continue;
            }
            let Some(key) = segment_key(&head.key_file, self.identities) else {
                self.done.faults.push(format!("{} has other recipients", file.name()));
                before = None;
                continue;
            };
            if let Err(fault) = segment.unlock(&key, &RECOMMENDED) {
                self.done
                    .faults
                    .push(format!("{} {fault}: all of it is lost", file.name()));
                before = None;
                continue;
            }
            opened += 1;
            self.player.begin_segment(follows);
            // A segment that was long enough is followed by one of the same session.
            let same = follows && self.ended.take() == Some(EndCause::Full);
            self.session += u64::from(!same);
            let goes_on = self.segment(&mut segment, &bytes, &key, file)?;
            before = Some((file.number, segment.link()));
            if !goes_on {
                break;
            }
        }
        if opened == 0 && !files.is_empty() {
            let what = self.done.faults.pop().unwrap_or_default();
            let hint = "replay it with the identity of one of its recipients";
            return Err(Failure::new(FailureKind::Keys, what, hint));
        }
        Ok(())
    }

    /// Plays one segment. Returns false at the end of what is wanted.
    fn segment(
        &mut self,
        segment: &mut Segment<'_>,
        bytes: &[u8],
        key: &SegmentKey,
        file: &SegmentFile,
    ) -> Result<bool> {
        let begin = self.first_keyframe(bytes, key);
        // Each begins with upright pictures.
        self.turned = Orientation::default();
        let mut last = segment.head().began;
        while let Some(block) = segment.next_block() {
            match block {
                Ok(Block::Key(Some(key))) => self.player.key(&key),
                // What groups of pictures prove is told by a check.
                Ok(Block::Key(None) | Block::GopKey(_) | Block::GopSignature(_)) => {}
                Ok(Block::Orientation(orientation)) => self.turned = orientation,
                Ok(Block::End(end)) => self.ended = Some(end.cause),
                Ok(Block::WrappedKey { epoch, file: key }) => match wrapped_keys(epoch, key, self.identities) {
                    Some(keys) => keys.iter().for_each(|key| self.player.key(key)),
                    None => {
                        let what = format!("{}: the key of epoch {epoch} is not for this identity", file.name());
                        self.done.faults.push(what);
                    }
                },
                Ok(Block::Description(description)) => match self.player.description(&description) {
                    Ok(infos) => infos.into_iter().try_for_each(|info| self.describe(info))?,
                    Err(why) => self
                        .done
                        .faults
                        .push(format!("{}: its description: {why}", file.name())),
                },
                Ok(Block::Frame(frame)) => {
                    last = frame.time;
                    if frame.time > self.to {
                        return Ok(false);
                    }
                    self.frame(&frame, begin, file)?;
                }
                Err(fault) => {
                    let what = format!("{} {fault}: what it had after {} is lost", file.name(), show_time(last));
                    self.done.faults.push(what);
                }
            }
        }
        Ok(true)
    }

    /// Time of the last keyframe of a segment that is not after the beginning of what is wanted.
    fn first_keyframe(&self, bytes: &[u8], key: &SegmentKey) -> u64 {
        let mut found = 0;
        let Ok(mut segment) = Segment::new(bytes) else {
            return found;
        };
        if segment.unlock(key, &RECOMMENDED).is_err() {
            return found;
        }
        while let Some(Ok(block)) = segment.next_block() {
            match block {
                Block::Frame(frame) if frame.stream() == Some(SOUND_STREAM) => {}
                Block::Frame(frame) if frame.keyframe && frame.time <= self.from => found = frame.time,
                Block::Frame(frame) if frame.time > self.from => break,
                _ => {}
            }
        }
        found
    }

    fn frame(&mut self, block: &FrameBlock<'_>, begin: u64, file: &SegmentFile) -> Result<()> {
        // No picture depends on sound.
        let sound = block.stream() == Some(SOUND_STREAM);
        let opened = match self.player.frame(block) {
            Ok(opened) => opened,
            Err(why) => {
                let time = show_time(block.time);
                self.done
                    .faults
                    .push(format!("{}: the frame of {time} does not open: {why}", file.name()));
                self.skip |= !sound;
                return Ok(());
            }
        };
        if let Proof::Forged(reason) = opened.proof {
            let time = show_time(block.time);
            let what = format!("{}: the frame of {time} is not the camera's ({reason})", file.name());
            self.done.faults.push(what);
            self.skip |= !sound;
            return Ok(());
        }
        for info in &opened.infos {
            self.describe(info.clone())?;
        }
        if sound {
            return self.play_sound(opened, block, begin);
        }
        self.skip &= !block.keyframe;
        if block.time < begin || self.skip || self.info.is_none() {
            return Ok(());
        }
        self.tell_sound()?;
        self.show(opened, block)
    }

    /// Tells the sink what sound there is, if that is new.
    fn tell_sound(&mut self) -> Result<()> {
        if let Some(heard) = self
            .heard
            .as_ref()
            .filter(|heard| self.playing_sound.as_ref() != Some(heard))
        {
            self.sink.start_sound(heard)?;
            self.playing_sound = Some(heard.clone());
        }
        Ok(())
    }

    fn describe(&mut self, description: Description) -> Result<()> {
        let info = match description {
            Description::Picture(info) => info,
            Description::Sound(info) => {
                self.heard = Some(info);
                return Ok(());
            }
        };
        if self.info.as_ref() != Some(&info) {
            self.orient()?;
            self.sink.start(&info)?;
            self.info = Some(info);
        }
        Ok(())
    }

    /// Has the sink turn the next picture, if it does not turn them so already.
    fn orient(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.sink_turns, self.turned) == self.turned {
            true => Ok(()),
            false => self.sink.orient(self.turned),
        }
    }

    /// Plays a packet of sound. There is none before the first picture.
    fn play_sound(&mut self, opened: Opened, block: &FrameBlock<'_>, begin: u64) -> Result<()> {
        let Some(frame) = opened.frame.filter(|_| self.heard.is_some()) else {
            return Ok(());
        };
        if block.time < begin || self.done.frames == 0 {
            return Ok(());
        }
        self.tell_sound()?;
        let Some(media_time) = self.due(Track::Sound, &frame.preamble, block) else {
            return Ok(());
        };
        self.done.sounds += 1;
        self.sink.stamped(block.time, None);
        self.sink.write_sound(&ReceivedFrame {
            number: frame.preamble.frame,
            keyframe: true,
            media_time,
            opened: Instant::now(),
            data: Bytes::from(frame.data),
        })
    }

    /// The frame's media time, once it is due. `None` if it was played already: where a viewer came back, an archive
    /// has the group of pictures so far again.
    fn due(&mut self, track: Track, preamble: &Preamble, block: &FrameBlock<'_>) -> Option<Duration> {
        let frame = Arrived::archived((track, self.session), preamble, block.time);
        let media_time = self.timeline.media_time(&frame)?;
        if let Some(pacer) = &mut self.pacer {
            pacer.sleep_until(media_time);
        }
        Some(media_time)
    }

    fn show(&mut self, opened: Opened, block: &FrameBlock<'_>) -> Result<()> {
        let Some(frame) = opened.frame else {
            return Ok(());
        };
        let Some(media_time) = self.due(Track::Picture, &frame.preamble, block) else {
            return Ok(());
        };
        let (first, _) = self.done.span.unwrap_or((block.time, 0));
        self.done.span = Some((first, block.time));
        self.done.signed += u64::from(opened.proof == Proof::Signed);
        let number = self.done.frames;
        self.done.frames += 1;
        self.orient()?;
        self.sink.stamped(block.time, None);
        self.sink.write(&ReceivedFrame {
            number,
            keyframe: frame.keyframe,
            media_time,
            opened: Instant::now(),
            data: Bytes::from(frame.data),
        })
    }
}
