//! The group of pictures that the source is in: what a viewer that joins in the middle of it needs.

use std::sync::Arc;

use super::queue::MAX_KEPT_FRAMES;
use super::queued_frame::QueuedFrame;
use crate::media::Frame;

/// Most bytes of a group that are kept: ten seconds at 13 Mbit/s.
pub(crate) const MAX_KEPT_BYTES: usize = 16 << 20;

/// The frames since the last keyframe. A group that is longer than the limits is not kept: without its beginning,
/// nothing of it can be decoded.
#[derive(Default)]
pub(crate) struct KeptGroup {
    frames: Vec<Arc<Frame>>,
    bytes: usize,
}

impl KeptGroup {
    /// Takes the source's next frame.
    pub(crate) fn take(&mut self, frame: &Arc<Frame>) {
        if frame.keyframe {
            self.clear();
        } else if self.frames.is_empty() {
            return;
        }
        if self.frames.len() >= MAX_KEPT_FRAMES || self.bytes + frame.data.len() > MAX_KEPT_BYTES {
            return self.clear();
        }
        self.bytes += frame.data.len();
        self.frames.push(Arc::clone(frame));
    }

    fn clear(&mut self) {
        self.frames.clear();
        self.bytes = 0;
    }

    /// The frames for a viewer that joins now, the keyframe first; none if there is no such group.
    pub(crate) fn frames(&self) -> impl Iterator<Item = QueuedFrame> + '_ {
        self.frames.iter().map(|frame| QueuedFrame {
            frame: Arc::clone(frame),
            kept: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::media::{StampKind, Track};

    fn frame(number: u64, keyframe: bool, bytes: usize) -> Arc<Frame> {
        let now = Instant::now();
        Arc::new(Frame {
            track: Track::Picture,
            number,
            keyframe,
            media_time: Duration::ZERO,
            began: now,
            stamp: StampKind::Arrival,
            captured: now,
            encoded: now,
            data: vec![0; bytes].into(),
        })
    }

    fn numbers(kept: &KeptGroup) -> Vec<u64> {
        kept.frames().map(|queued| queued.frame.number).collect()
    }

    #[test]
    fn the_group_so_far_is_kept_from_its_keyframe_on() {
        let mut kept = KeptGroup::default();
        kept.take(&frame(0, false, 10));
        assert!(numbers(&kept).is_empty());
        for number in 1..9 {
            kept.take(&frame(number, number % 5 == 1, 10));
        }
        assert_eq!(numbers(&kept), [6, 7, 8]);
        assert!(kept.frames().all(|queued| queued.kept));
    }

    #[test]
    fn a_group_that_is_too_long_is_not_kept_and_the_next_one_is() {
        let mut kept = KeptGroup::default();
        for number in 0..=MAX_KEPT_FRAMES as u64 {
            kept.take(&frame(number, number == 0, 10));
        }
        assert!(numbers(&kept).is_empty());
        kept.take(&frame(700, true, MAX_KEPT_BYTES - 1));
        kept.take(&frame(701, false, 1));
        assert_eq!(numbers(&kept), [700, 701]);
        kept.take(&frame(702, false, 1));
        kept.take(&frame(703, false, 1));
        assert!(numbers(&kept).is_empty());
        kept.take(&frame(704, true, 1));
        assert_eq!(numbers(&kept), [704]);
    }
}
