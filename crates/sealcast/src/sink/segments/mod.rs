//! Cuts a recording into files, and removes the oldest of them.

mod index;
mod options;

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use sealcast_proto::clock::ClockEstimate;

use self::index::Index;
use self::options::Template;
pub(super) use self::options::{OPTIONS, SegmentOptions};
use super::file::{FileSink, captured, full_disk, now, told};
use super::{Kept, Sink};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Orientation, ReceivedFrame, SoundInfo, StreamInfo};
use crate::private_file;

/// Files that are removed at most for the same lack of room.
const MOST_REMOVED: usize = 16;
/// A session's time never goes back so far.
const BACK: Duration = Duration::from_secs(1);
/// The last number that is put behind a name that exists.
const LAST_SUFFIX: u32 = 9999;

/// Writes a recording to one [`FileSink`] after the other. Each begins with a keyframe, and each frame is in one.
#[derive(Debug)]
pub(super) struct SegmentSink {
    template: Template,
    options: SegmentOptions,
    index: Index,
    current: Option<Segment>,
    info: Option<StreamInfo>,
    sound: Option<SoundInfo>,
    orientation: Orientation,
    mark: Option<&'static str>,
    stamp: (u64, Option<ClockEstimate>),
    /// Bytes of the last complete segment.
    last_bytes: u64,
    /// The frames and bytes that it has recorded.
    kept: Kept,
}

/// The file that is being written.
#[derive(Debug)]
struct Segment {
    sink: FileSink,
    name: String,
    /// Media times of its first and of its last frame.
    begin: Duration,
    newest: Duration,
}

impl SegmentSink {
    /// Records to files named by the template `path`.
    ///
    /// # Errors
    /// Kind `Usage`: the template is wrong. Kind `Sink`: its folder cannot be written to.
    pub(super) fn open(path: &Path, options: SegmentOptions) -> Result<Self> {
        let template = Template::parse(path)?;
        FileSink::check_name(Path::new(&template.rest))?;
        Ok(Self {
            index: Index::open(&template)?,
            template,
            options,
            current: None,
            info: None,
            sound: None,
            orientation: Orientation::default(),
            mark: None,
            stamp: (0, None),
            last_bytes: 0,
            kept: Kept::default(),
        })
    }

    /// True if this keyframe begins a file.
    fn begins(&self, frame: &ReceivedFrame) -> bool {
        self.current.as_ref().is_none_or(|segment| {
            // Time that goes back is that of another session.
            let age = frame.media_time.saturating_sub(segment.begin);
            let again = frame.media_time + BACK < segment.newest;
            age >= self.options.segment || again || segment.sink.ends_before(frame)
        })
    }

    /// Completes the file that is being written.
    fn complete(&mut self) -> Result<()> {
        let Some(mut segment) = self.current.take() else {
            return Ok(());
        };
        let finished = segment.sink.finish();
        let finished = self.with_room(&mut segment.sink, finished);
        let path = self.template.folder.join(&segment.name);
        self.kept.file(&path, segment.sink.bytes());
        drop(segment.sink);
        self.index.ended(segment.name).map_err(|error| self.unnoted(&error))?;
        self.last_bytes = self.index.entries.back().map_or(0, |entry| entry.bytes);
        finished
    }

    /// Begins the next file, after those were removed that are too old or too many.
    fn next(&mut self, at: Duration) -> Result<()> {
        self.complete()?;
        self.remove_old();
        let Some(info) = self.info.clone() else { return Ok(()) };
        let captured = captured(self.stamp.0, self.stamp.1).unwrap_or_else(now);
        let (mut sink, name) = self.create(captured)?;
        if let Some(words) = self.mark {
            sink.mark(words);
        }
        if !self.orientation.is_upright() {
            sink.orient(self.orientation)?;
        }
        sink.start(&info)?;
        if let Some(sound) = &self.sound {
            sink.start_sound(sound)?;
        }
        sink.stamped(self.stamp.0, self.stamp.1);
        tracing::debug!(file = %name, "a segment of the recording begins");
        self.current = Some(Segment {
            sink,
            name,
            begin: at,
            newest: at,
        });
        Ok(())
    }

    /// Creates a file for what begins at this time since 1970. Its name is new.
    fn create(&mut self, at: Duration) -> Result<(FileSink, String)> {
        let named = self.options.name(&self.template, at);
        let mut removed = 0;
        let mut suffix = 1;
        loop {
            let name = suffixed(&named, suffix);
            let path = self.template.folder.join(&name);
            let folder = path.parent().unwrap_or(&self.template.folder);
            let created = private_file::create_folder(folder).and_then(|()| FileSink::create_new(&path));
            let begun = created.and_then(|sink| self.index.begun(&name).map(|()| sink));
            match begun {
                Ok(sink) => return Ok((sink, name)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && suffix < LAST_SUFFIX => suffix += 1,
                Err(error) if full_disk(&error) && removed < MOST_REMOVED && self.make_room() => removed += 1,
                Err(error) => return Err(told(&path, &error)),
            }
        }
    }

    /// Does again what failed since the disk was full, after room was made by removing the oldest files, one by one.
    fn with_room(&mut self, sink: &mut FileSink, result: Result<()>) -> Result<()> {
        let mut result = result;
        let mut removed = 0;
        while result.is_err() && sink.lacks_room() {
            if removed == MOST_REMOVED || !self.make_room() {
                return result.map_err(|failure| {
                    let what = format!(
                        "{}, also after {removed} of the oldest files of the recording were removed",
                        failure.what
                    );
                    let hint = "free some space, or let the recording keep less: max=… below what the disk has";
                    Failure::new(FailureKind::Sink, what, hint)
                });
            }
            removed += 1;
            result = sink.write_again();
        }
        result
    }

    /// Removes the oldest file; false if there is none.
    fn make_room(&mut self) -> bool {
        while let Some(removed) = self.index.remove_oldest() {
            match removed {
                Ok(entry) => {
                    tracing::warn!(file = %entry.name, "the disk is full: the oldest file was removed");
                    return true;
                }
                Err(error) => tracing::warn!(%error, "a file of the recording cannot be removed"),
            }
        }
        false
    }

    /// Removes what is older than the recording keeps, and the oldest while there is more.
    fn remove_old(&mut self) {
        let now = now();
        loop {
            let Some(oldest) = self.index.entries.front() else {
                return;
            };
            let too_old = self.options.keep.is_some_and(|keep| oldest.ended + keep < now);
            let bytes = self.index.entries.iter().map(|entry| entry.bytes).sum::<u64>();
            let too_many = self.options.max.is_some_and(|max| bytes + self.last_bytes > max);
            if !(too_old || too_many) {
                return;
            }
            match self.index.remove_oldest() {
                Some(Ok(entry)) => tracing::debug!(file = %entry.name, "the oldest file of the recording was removed"),
                Some(Err(error)) => tracing::warn!(%error, "a file of the recording cannot be removed"),
                None => return,
            }
        }
    }

    fn unnoted(&self, error: &io::Error) -> Failure {
        told(&self.template.folder.join(&self.template.rest), error)
    }

    /// Lets the file take something, and makes room for it if the disk is full.
    fn put(&mut self, take: impl FnOnce(&mut FileSink) -> Result<()>) -> Result<()> {
        let Some(mut segment) = self.current.take() else {
            return Ok(());
        };
        let result = take(&mut segment.sink);
        let result = self.with_room(&mut segment.sink, result);
        self.current = Some(segment);
        result
    }
}

impl Sink for SegmentSink {
    fn start(&mut self, info: &StreamInfo) -> Result<()> {
        if self.info.as_ref().is_some_and(|before| before.codec != info.codec) {
            self.complete()?;
        }
        self.info = Some(info.clone());
        self.put(|sink| sink.start(info))
    }

    fn orient(&mut self, orientation: Orientation) -> Result<()> {
        self.orientation = orientation;
        self.put(|sink| sink.orient(orientation))
    }

    fn start_sound(&mut self, info: &SoundInfo) -> Result<()> {
        self.sound = Some(info.clone());
        self.put(|sink| sink.start_sound(info))
    }

    fn write_sound(&mut self, packet: &ReceivedFrame) -> Result<()> {
        self.put(|sink| sink.write_sound(packet))
    }

    fn stamped(&mut self, stamped: u64, clock: Option<ClockEstimate>) {
        self.stamp = (stamped, clock);
    }

    fn mark(&mut self, words: &'static str) {
        self.mark = Some(words);
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        if frame.keyframe && self.begins(frame) {
            self.next(frame.media_time)?;
        }
        if let Some(segment) = &mut self.current {
            segment.newest = segment.newest.max(frame.media_time);
            self.kept.picture(frame.media_time);
        }
        self.put(|sink| sink.write(frame))
    }

    fn finish(&mut self) -> Result<()> {
        let completed = self.complete();
        self.kept.tell(&self.template.folder.join(&self.template.rest));
        completed
    }
}

/// The name with a number before its ending, from 2 on.
fn suffixed(name: &str, number: u32) -> String {
    let path = Path::new(name);
    match (number, path.file_stem(), path.extension()) {
        (1, ..) => name.to_owned(),
        (_, Some(stem), Some(ending)) => {
            let file = format!("{}-{number}.{}", stem.to_string_lossy(), ending.to_string_lossy());
            path.with_file_name(file).to_string_lossy().into_owned()
        }
        _ => format!("{name}-{number}"),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
