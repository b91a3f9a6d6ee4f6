//! Use of the output of a session by its end.

use std::time::Instant;

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::seal::Refusal;
use sealcast_proto::sign::FrameRefusal;
use sealcast_proto::unit::Assembled;

/// Receives the output of a session while its connection runs.
pub trait Listener {
    /// True if this end receives media: then a record may be as long as a frame.
    const RECEIVES_MEDIA: bool = true;

    /// Take media. `arrived` is the time at which the last record it needed was read or given up. Returns true if no
    /// more media is expected at once, as at the end of a picture.
    fn media(&mut self, media: Assembled, arrived: Instant) -> bool;

    /// Take a new estimate of the peer's clock. It applies to the media that follows.
    fn clock(&mut self, _: ClockEstimate) {}

    /// The peer has enrolled this end just now: what both share is new.
    fn enrolled(&mut self) {}

    /// A record was refused. If records arrive `in_order`, this record is now missing. Otherwise the session detects
    /// missing records itself, and forged ones have no effect.
    fn refused(&mut self, _reason: Refusal, _in_order: bool) {}

    /// A frame of a group was refused: whoever sealed it, the camera did not sign it as it came.
    fn not_the_cameras(&mut self, _reason: FrameRefusal) {}
    /// Handles a packet of sound that is not the camera's, whoever sealed it.
    fn sound_not_the_cameras(&mut self, _reason: FrameRefusal) {}
}

/// The listener of an end that sends media: it receives none.
pub(crate) struct NoMedia;

impl Listener for NoMedia {
    const RECEIVES_MEDIA: bool = false;

    fn media(&mut self, _: Assembled, _: Instant) -> bool {
        false
    }
}
