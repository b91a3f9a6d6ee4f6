//! The order of frames: which of them can be decoded, stream by stream.

use super::{Assembled, AssembledFrame, Description, SOUND_STREAM};
use crate::wire::Malformed;

/// Decides which complete frames can be decoded, in the order in which they are handed out, for each stream by itself.
pub(crate) struct FrameOrder {
    /// The streams that have frames: as many as a header can name.
    streams: Vec<StreamOrder>,
    /// True if the session carries sound beside the picture.
    sound: bool,
    /// True if every picture is a keyframe, so that none needs a description that may be missing before it.
    images: bool,
}

struct StreamOrder {
    stream: u32,
    last: Option<u64>,
    waiting_for_keyframe: bool,
}

impl StreamOrder {
    fn expected(&self) -> Option<u64> {
        self.last.map(|last| last.saturating_add(1))
    }
}

impl FrameOrder {
    pub(crate) fn new() -> Self {
        Self {
            streams: Vec::new(),
            sound: false,
            images: false,
        }
    }

    /// Notes a description that came.
    pub(crate) fn described(&mut self, description: &Description) {
        match description {
            Description::Picture(info) => self.images = !info.codec.predicts(),
            Description::Sound(_) => self.sound = true,
        }
    }

    /// The numbers of the next frames say what was lost, as where there is sound, whether that was described or not.
    pub(crate) fn numbers_tell(&mut self) {
        self.sound = true;
    }

    /// True if the session carries sound beside the picture: what is missing may be of either, and the frame numbers
    /// tell.
    pub(crate) fn carries_sound(&self) -> bool {
        self.sound
    }

    /// Notes a loss: nothing that may depend on it can be decoded. Where there is sound, the numbers of the next frames
    /// say what was lost.
    pub(crate) fn lost(&mut self) {
        if !self.sound {
            self.begin_anew();
        }
    }

    /// Waits for a keyframe of each stream.
    pub(crate) fn begin_anew(&mut self) {
        for stream in &mut self.streams {
            stream.waiting_for_keyframe = true;
        }
    }

    /// Forgets which frame came last of each stream: other numbers may follow.
    pub(crate) fn forget_numbers(&mut self) {
        for stream in &mut self.streams {
            stream.last = None;
        }
    }

    #[cfg(test)]
    pub(super) fn waits_for_keyframe(&mut self, stream: u32) -> bool {
        self.stream(stream).waiting_for_keyframe
    }

    fn stream(&mut self, stream: u32) -> &mut StreamOrder {
        let known = self.streams.iter().position(|known| known.stream == stream);
        let at = known.unwrap_or_else(|| {
            self.streams.push(StreamOrder {
                stream,
                last: None,
                waiting_for_keyframe: true,
            });
            self.streams.len() - 1
        });
        &mut self.streams[at]
    }

    /// True if a frame with this number is the next one of its stream and needs nothing that may be missing before it,
    /// so that it need not wait for what is. A keyframe may come with a description.
    pub(crate) fn follows(&self, stream: u32, number: u64, keyframe: bool) -> bool {
        let needs_description = keyframe && stream != SOUND_STREAM && !self.images;
        let mut known = self.streams.iter().filter(|known| known.stream == stream);
        let next = known.any(|known| known.expected() == Some(number) && !known.waiting_for_keyframe);
        self.sound && next && !needs_description
    }

    /// Restores the next complete frame, and decides on it.
    ///
    /// # Errors
    /// [`Malformed`] if the frame is not what its preamble says.
    pub(crate) fn next(&mut self, mut frame: AssembledFrame) -> Result<Assembled, Malformed> {
        frame.restore()?;
        let number = frame.preamble.frame;
        let order = self.stream(frame.stream);
        let expected = order.expected();
        let skipped = expected.map_or(0, |expected| number.saturating_sub(expected));
        if expected.is_some_and(|expected| expected != number) {
            order.waiting_for_keyframe = true;
        }
        order.last = Some(number);
        if order.waiting_for_keyframe && !frame.keyframe {
            return Ok(Assembled::Undecodable { frame: number, skipped });
        }
        order.waiting_for_keyframe = false;
        frame.skipped = skipped;
        Ok(Assembled::Frame(frame))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::seal::SealedFrame;
    use crate::unit::{Codec, FrameRate, Preamble, SoundCodec, SoundInfo, StreamInfo};

    fn frame(stream: u32, number: u64, keyframe: bool) -> AssembledFrame {
        AssembledFrame {
            stream,
            preamble: Preamble {
                frame: number,
                ..Preamble::default()
            },
            keyframe,
            sealed_at: 0,
            arrived: Duration::ZERO,
            skipped: 0,
            data: Vec::new(),
            units: Vec::new(),
            sealed: SealedFrame::default(),
        }
    }

    fn picture(codec: Codec) -> Description {
        let rate = FrameRate {
            numerator: 25,
            denominator: 1,
        };
        Description::Picture(StreamInfo {
            codec,
            width: 16,
            height: 16,
            rate,
            parameters: Vec::new(),
        })
    }

    fn with_sound() -> FrameOrder {
        let mut order = FrameOrder::new();
        order.described(&picture(Codec::H264));
        order.described(&Description::Sound(SoundInfo {
            codec: SoundCodec::Ulaw,
            channels: 1,
            samples_per_second: 8000,
            samples_per_frame: 160,
            parameters: Vec::new(),
        }));
        order
    }

    fn decodes(order: &mut FrameOrder, stream: u32, number: u64, keyframe: bool) -> bool {
        let judged = order.next(frame(stream, number, keyframe)).expect("well formed");
        matches!(judged, Assembled::Frame(_))
    }

    #[test]
    fn what_is_lost_of_the_sound_leaves_the_picture_whole() {
        let mut order = with_sound();
        assert!(decodes(&mut order, 1, 0, true) && decodes(&mut order, SOUND_STREAM, 0, true));
        order.lost();
        assert!(decodes(&mut order, 1, 1, false));
        let judged = order.next(frame(SOUND_STREAM, 2, true)).expect("well formed");
        assert!(matches!(judged, Assembled::Frame(frame) if frame.skipped == 1));
        order.lost();
        assert!(!decodes(&mut order, 1, 3, false), "a picture is missing");
        assert!(decodes(&mut order, 1, 4, true));
    }

    #[test]
    fn without_sound_any_loss_waits_for_a_keyframe() {
        let mut order = FrameOrder::new();
        assert!(decodes(&mut order, 1, 0, true));
        order.lost();
        assert!(!decodes(&mut order, 1, 1, false));
    }

    #[test]
    fn the_next_frame_of_a_stream_need_not_wait_for_the_other_unless_it_needs_a_description() {
        let mut order = with_sound();
        assert!(!order.follows(1, 0, true), "nothing came yet");
        assert!(decodes(&mut order, 1, 0, true) && decodes(&mut order, SOUND_STREAM, 0, true));
        assert!(order.follows(1, 1, false) && !order.follows(1, 2, false) && !order.follows(1, 0, false));
        assert!(!order.follows(1, 1, true), "its description may be missing");
        assert!(order.follows(SOUND_STREAM, 1, true) && !order.follows(SOUND_STREAM, 2, true));
        order.described(&picture(Codec::Mjpeg));
        assert!(order.follows(1, 1, true));
        let mut silent = FrameOrder::new();
        assert!(decodes(&mut silent, 1, 0, true) && !silent.follows(1, 1, false));
    }
}
