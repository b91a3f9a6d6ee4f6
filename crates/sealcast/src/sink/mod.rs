//! Outputs for frames: the `Sink` trait, and the URLs that name its implementations.

mod file;
pub(crate) mod file_mp4;
mod file_mp4_boxes;
mod file_mp4_clock;
mod file_mp4_entry;
mod file_mp4_sound;
#[cfg(feature = "gst")]
mod gst;
pub mod http;
mod kept;
mod live_reader;
mod muxer;
mod null;
pub(crate) mod picture_decoder;
mod proven_age;
mod rtp;
pub(crate) mod rtp_track;
mod segments;
mod stdout;
mod url;
mod window;

pub use file::FileSink;
pub(crate) use file::{captured, full_disk};
pub(crate) use kept::Kept;
pub use null::{NullCounts, NullSink};
pub use proven_age::{OnAge, Standing};
pub(crate) use proven_age::{UNPROVEN, WITHOUT_SESSION, alarm_words};
pub use stdout::StdoutSink;
pub use url::{SINK_URLS, open};

use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::seal::SealedFrame;

use crate::failure::Result;
use crate::media::{Orientation, ReceivedFrame, SoundInfo, StreamInfo};

/// Ends the viewer as its user asked, in the sink's own way.
pub type OnClose = Box<dyn FnOnce() + Send>;

/// Takes what is to be said of a camera that is off, and nothing once it is on. A session calls it, so it must not
/// wait.
pub type OnAway = Arc<dyn Fn(Option<String>) + Send + Sync>;

/// Proof for groups of pictures, as the camera sent it (signatures.md §5).
#[derive(Clone, Debug)]
pub enum GroupProof {
    /// The certificate of the key.
    Key(Vec<u8>),
    /// The signature of a group of pictures, or of a part of one.
    Signature(Vec<u8>),
}

/// Takes verified frames. Runs on a separate thread behind a bounded queue, so its methods may block.
pub trait Sink: Send {
    /// The stream begins, or its parameters changed.
    ///
    /// # Errors
    /// This sink cannot store such a stream (an `.mjpeg` file for H.264): kind `Sink`.
    fn start(&mut self, info: &StreamInfo) -> Result<()>;

    /// The picture is turned so before it is shown, from here on. Called before [`start`](Self::start) if the picture
    /// is not as it was coded. A sink that hands on what came ignores it.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn orient(&mut self, orientation: Orientation) -> Result<()> {
        let _ = orientation;
        Ok(())
    }

    /// There is sound of this kind beside the picture. Called after [`start`](Self::start), and before the first packet
    /// where the publisher says so before; again if it changed. A sink that takes no sound ignores it.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    fn start_sound(&mut self, info: &SoundInfo) -> Result<()> {
        let _ = info;
        Ok(())
    }

    /// Takes one packet of sound, in order. Packets may be missing.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn write_sound(&mut self, packet: &ReceivedFrame) -> Result<()> {
        let _ = packet;
        Ok(())
    }

    /// True if it wants [`sealed`](Self::sealed) to be called. Asked once, before the first session.
    fn keeps_sealed(&self) -> bool {
        false
    }

    /// Told before each frame: its records as they came.
    fn sealed(&mut self, frame: SealedFrame) {
        let _ = frame;
    }

    /// Told what signs groups of pictures, as it came: the key before signatures by it, and a signature perhaps before
    /// some of its frames. Only if it [keeps records](Self::keeps_sealed).
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn group_proof(&mut self, proof: GroupProof) -> Result<()> {
        let _ = proof;
        Ok(())
    }

    /// Told before each frame of a session: the instant that the source stamped, by the publisher's wall clock in ns
    /// since 1970, and what is known of that clock.
    fn stamped(&mut self, stamped: u64, clock: Option<ClockEstimate>) {
        let _ = (stamped, clock);
    }

    /// Told once, before the first session: call `closed` when the user closes what shows the pictures.
    fn when_closed(&mut self, closed: OnClose) {
        drop(closed);
    }

    /// Function for the age and the proofs of a group's picture, if the sink shows them. Asked once, before the first
    /// session.
    fn when_aged(&mut self) -> Option<OnAge> {
        None
    }

    /// Function for a camera that is off, if the sink shows it. Asked once, before the first session.
    fn when_away(&mut self) -> Option<OnAway> {
        None
    }

    /// Told once, before the first session: what must be known of all pictures. A sink that keeps them keeps it with
    /// them, if it can.
    fn mark(&mut self, words: &'static str) {
        let _ = words;
    }

    /// Told before a picture that was kept for a viewer that joined: it leads to those that follow, and is older.
    fn kept(&mut self) {}

    /// Told once, before the first frame: frames can wait, so none is to be left out for coming late.
    fn leave_nothing_out(&mut self) {}

    /// Number of pictures since the last call that were left out for coming late.
    fn take_left_out(&mut self) -> u64 {
        0
    }

    /// Takes one frame, in order. The first frame after `start`, and after a gap in the frame numbers, is a keyframe.
    ///
    /// # Errors
    /// The disk is full or the pipe closed: kind `Sink`, with a hint.
    fn write(&mut self, frame: &ReceivedFrame) -> Result<()>;

    /// Time for decoding the last written frame, for sinks that decode.
    fn decode_time(&self) -> Option<Duration> {
        None
    }

    /// True if a keyframe should be requested, because the sink has lost the picture. Asked after each frame; the
    /// answer counts as one request.
    fn wants_keyframe(&mut self) -> bool {
        false
    }

    /// The stream has ended: complete the file so that it plays. Called once, also after a failure elsewhere.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn finish(&mut self) -> Result<()>;
}
