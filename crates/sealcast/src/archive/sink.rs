//! A sink that writes an archive (archive.md §7).

use std::collections::BTreeMap;
use std::path::PathBuf;

use sealcast_proto::archive::EndCause;
use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::seal::SealedFrame;
use sealcast_proto::seal::suite::RECOMMENDED;

use super::options::ArchiveOptions;
use super::recipients::Recipient;
use super::recording::{Recording, Standing};
use super::times::by_own_clock;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Orientation, ReceivedFrame, StreamInfo};
use crate::sink::{GroupProof, Kept, Sink};

/// A sink that appends sealed records to an archive.
pub struct ArchiveSink {
    recording: Recording,
    recipients: Vec<Recipient>,
    /// The next frame's records.
    sealed: SealedFrame,
    /// The next frame's time, and to within how many nanoseconds it is known.
    time: (u64, u64),
    /// The descriptions in force, of the picture and of the sound, with their streams.
    descriptions: BTreeMap<u32, SealedFrame>,
    folder: PathBuf,
    /// The frames and bytes that it has recorded.
    kept: Kept,
}

impl ArchiveSink {
    /// Opens the archive of these options for writing. It goes on where it ended.
    ///
    /// # Errors
    /// Kind `Sink`: the folder cannot be written, or somebody else writes to it.
    pub fn open(options: ArchiveOptions) -> Result<Self> {
        Ok(Self {
            recording: Recording::open(&options.folder, options.keeping)?,
            recipients: options.recipients,
            sealed: SealedFrame::default(),
            time: (0, u64::MAX),
            descriptions: BTreeMap::new(),
            folder: options.folder,
            kept: Kept::default(),
        })
    }

    /// Begins a segment with the next frame.
    fn begin(&mut self, keyframe: bool) -> Result<()> {
        let (sealed, time) = (&self.sealed, self.time);
        let (own, before) = (sealed.descriptions(), &self.descriptions);
        self.recording.begin(&self.recipients, &mut |writer, out| {
            for (stream, description) in before {
                if writer.takes(description) && own.iter().all(|(own, _)| own != stream) {
                    writer.description(description, time, out);
                }
            }
            writer.frame(keyframe, sealed, time, out);
        })
    }

    /// Appends the next frame to the current segment.
    fn append(&mut self, keyframe: bool) -> Result<()> {
        let (sealed, time) = (&self.sealed, self.time);
        self.recording
            .append(&mut |writer, out| writer.frame(keyframe, sealed, time, out))
    }
}

impl Sink for ArchiveSink {
    fn start(&mut self, _: &StreamInfo) -> Result<()> {
        Ok(())
    }

    fn orient(&mut self, orientation: Orientation) -> Result<()> {
        self.recording.orient(orientation)
    }

    fn keeps_sealed(&self) -> bool {
        true
    }

    fn sealed(&mut self, frame: SealedFrame) {
        self.descriptions.extend(frame.descriptions());
        self.sealed = frame;
    }

    fn group_proof(&mut self, proof: GroupProof) -> Result<()> {
        self.recording.group_proof(&proof)
    }

    fn stamped(&mut self, stamped: u64, clock: Option<ClockEstimate>) {
        self.time = by_own_clock(stamped, clock);
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        let study = |frame: &SealedFrame| {
            let suites = frame.records.iter().map(|record| record.key.suite());
            suites.into_iter().any(|suite| !RECOMMENDED.contains(&suite))
        };
        if self.sealed.records.is_empty() || study(&self.sealed) {
            let what = "the records of this stream cannot be kept: they are sealed with a cipher of the laboratory";
            return Err(Failure::new(
                FailureKind::Sink,
                what,
                "publish with a suite, or record to a file",
            ));
        }
        let takes = self.recording.writer().is_some_and(|writer| writer.takes(&self.sealed));
        let changed = self.recording.writer().is_some() && !takes;
        let written = match (frame.keyframe, self.recording.standing(frame.keyframe)) {
            (_, Standing::GoesOn) if takes => {
                self.kept.picture(frame.media_time);
                self.append(frame.keyframe)
            }
            (true, _) => {
                self.kept.picture(frame.media_time);
                let cause = if changed { EndCause::Changed } else { EndCause::Full };
                self.recording.end(cause).and_then(|()| self.begin(true))
            }
            (false, _) => {
                self.recording.drop_frame();
                Ok(())
            }
        };
        self.sealed = SealedFrame::default();
        written
    }

    fn write_sound(&mut self, _: &ReceivedFrame) -> Result<()> {
        let sealed = !self.sealed.records.is_empty();
        let takes = self.recording.writer().is_some_and(|writer| writer.takes(&self.sealed));
        // Segments begin with pictures: sound before the first, or under a key of which no picture came, is left out.
        let written = if sealed && takes { self.append(true) } else { Ok(()) };
        self.sealed = SealedFrame::default();
        written
    }

    fn wants_keyframe(&mut self) -> bool {
        self.recording.wants_keyframe()
    }

    fn finish(&mut self) -> Result<()> {
        self.kept.tell(&self.folder);
        self.recording.end(EndCause::Stopped)
    }
}
