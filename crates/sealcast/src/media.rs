//! The media types that pass between source, session and sink: encoded frames, and the raw pictures at either end.

use std::time::{Duration, Instant};

use bytes::Bytes;
pub use sealcast_proto::timeline::Track;
pub use sealcast_proto::unit::{Codec, FrameRate, SoundCodec, SoundInfo, StampKind, StreamInfo};
pub use sealcast_proto::wire::Orientation;

use crate::failure::{Failure, FailureKind, Result};

/// One access unit as the source made it: H.264 or H.265 in Annex B with start codes (parameter sets before every
/// keyframe), a temporal unit of AV1 without its delimiter (sequence header before every keyframe), or one JPEG image;
/// or a packet of sound.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Medium of the frame.
    pub track: Track,
    /// Frame number in its stream, from 0. Sources write 0; the source thread sets the number as it publishes the
    /// frame, so a gap always means that a frame was lost after that point.
    pub number: u64,
    /// True if it can be decoded without earlier frames. Always true for Motion JPEG and for sound.
    pub keyframe: bool,
    /// Presentation time since the start of the stream, which picture and sound have in common.
    pub media_time: Duration,
    /// The instant that `stamp` names; equal to `captured` if the source knows no earlier one.
    pub began: Instant,
    /// Kind of the instant `began`.
    pub stamp: StampKind,
    /// Time at which the picture was complete at the source.
    pub captured: Instant,
    /// Time at which encoding was complete; equal to `captured` if the source delivers encoded frames.
    pub encoded: Instant,
    /// The access unit.
    pub data: Bytes,
}

/// Container of picture and sound with their times in one stream of bytes, as pipes carry them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipeFormat {
    /// Matroska.
    Matroska,
    /// The transport stream of MPEG.
    MpegTs,
}

impl PipeFormat {
    /// The container of this name in a URL; without one Matroska.
    ///
    /// # Errors
    /// Kind `Usage`: it is not known.
    pub(crate) fn named(name: &str) -> Result<Self> {
        match name {
            "" | "mkv" | "matroska" => Ok(Self::Matroska),
            "ts" | "mpegts" => Ok(Self::MpegTs),
            other => Err(Failure::new(
                FailureKind::Usage,
                format!("\"{other}\" is no format of a pipe"),
                "use mkv or ts, as in '-?format=mkv'",
            )),
        }
    }

    /// Its name for people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Matroska => "Matroska",
            Self::MpegTs => "MPEG-TS",
        }
    }
}

/// A raw picture in planar YUV 4:2:0 (I420) without padding: `y` has `width * height` bytes, `u` and `v` a quarter of
/// that each. Width and height are even.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Width in pixels, even.
    pub width: usize,
    /// Height in pixels, even.
    pub height: usize,
    /// Luma.
    pub y: Vec<u8>,
    /// Blue-difference chroma.
    pub u: Vec<u8>,
    /// Red-difference chroma.
    pub v: Vec<u8>,
}

impl Picture {
    /// A black picture.
    ///
    /// # Panics
    /// If `width` or `height` is odd; callers validate sizes where they enter the program.
    pub fn black(width: usize, height: usize) -> Self {
        assert!(
            width.is_multiple_of(2) && height.is_multiple_of(2),
            "I420 pictures have even sides"
        );
        let chroma = width / 2 * (height / 2);
        Self {
            width,
            height,
            y: vec![16; width * height],
            u: vec![128; chroma],
            v: vec![128; chroma],
        }
    }
}

impl Picture {
    /// The picture as it is to be shown.
    pub(crate) fn turned(self, orientation: Orientation) -> Self {
        if orientation.is_upright() {
            return self;
        }
        let (width, height) = (self.width, self.height);
        let turn = |plane: &[u8], width: usize, height: usize| turned(plane, [width, height], orientation);
        let swapped = orientation.quarter_turns() % 2 == 1;
        let (shown_width, shown_height) = if swapped { (height, width) } else { (width, height) };
        Self {
            width: shown_width,
            height: shown_height,
            y: turn(&self.y, width, height),
            u: turn(&self.u, width / 2, height / 2),
            v: turn(&self.v, width / 2, height / 2),
        }
    }
}

/// A plane of this width and height, mirrored and turned.
fn turned(plane: &[u8], [width, height]: [usize; 2], orientation: Orientation) -> Vec<u8> {
    let swapped = orientation.quarter_turns() % 2 == 1;
    let (shown_width, shown_height) = if swapped { (height, width) } else { (width, height) };
    let mut out = Vec::with_capacity(plane.len());
    for y in 0..shown_height {
        for x in 0..shown_width {
            // Where this pixel is before the turn.
            let (from_x, from_y) = match orientation.quarter_turns() {
                0 => (x, y),
                1 => (y, height - 1 - x),
                2 => (width - 1 - x, height - 1 - y),
                _ => (width - 1 - y, x),
            };
            let from_x = if orientation.mirrored() {
                width - 1 - from_x
            } else {
                from_x
            };
            out.push(plane.get(from_y * width + from_x).copied().unwrap_or_default());
        }
    }
    out
}

/// A frame that the viewer has received, verified and opened.
#[derive(Clone, Debug)]
pub struct ReceivedFrame {
    /// Number of the frame in its stream, as counted by the source.
    pub number: u64,
    /// True if it can be decoded without earlier frames.
    pub keyframe: bool,
    /// Presentation time since the start of the stream. For a sink it goes on from one session to the next.
    pub media_time: Duration,
    /// Time at which the last byte of the frame had arrived and was verified and opened, on this machine's monotonic
    /// clock.
    pub opened: Instant,
    /// The access unit, as in [`Frame::data`].
    pub data: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_mirrored_and_then_turned_clockwise() {
        // 1 2
        // 3 4
        // 5 6
        let plane = [1, 2, 3, 4, 5, 6];
        for (turns, mirrored, expected) in [
            (0, false, [1, 2, 3, 4, 5, 6]),
            (1, false, [5, 3, 1, 6, 4, 2]),
            (2, false, [6, 5, 4, 3, 2, 1]),
            (3, false, [2, 4, 6, 1, 3, 5]),
            (0, true, [2, 1, 4, 3, 6, 5]),
            (1, true, [6, 4, 2, 5, 3, 1]),
        ] {
            assert_eq!(
                turned(&plane, [2, 3], Orientation::new(turns, mirrored)),
                expected,
                "{turns} {mirrored}"
            );
        }
        let turned = Picture::black(6, 4).turned(Orientation::new(3, true));
        assert_eq!((turned.width, turned.height, turned.u.len()), (4, 6, 6));
    }
}
