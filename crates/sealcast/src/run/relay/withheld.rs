//! Media that waits until it is known to be fresh.

use sealcast_proto::live::LivenessState;
use sealcast_proto::unit::{Assembled, SOUND_STREAM, SoundInfo, StreamInfo};

use crate::run::media::kept_group::MAX_KEPT_BYTES;
use crate::run::media::queue::MAX_KEPT_FRAMES;

/// Holds what comes through a relay until the camera has answered a challenge for the first time: a relay may have kept
/// it for years. From then on everything passes; that it grows old shows in the age of the picture.
pub(super) struct Withheld {
    /// True once the camera has answered, or if the user does without.
    passes: bool,
    /// The group of pictures so far, its sound among it.
    media: Vec<Assembled>,
    bytes: usize,
    /// False while frames are left out since there were too many: up to the next keyframe.
    complete: bool,
    info: Option<StreamInfo>,
    sound: Option<SoundInfo>,
    /// Frames that were held, those among them that were left out too.
    held: u64,
}

impl Withheld {
    /// Holds nothing if `passes`.
    pub(super) fn new(passes: bool) -> Self {
        Self {
            passes,
            media: Vec::new(),
            bytes: 0,
            complete: false,
            info: None,
            sound: None,
            held: 0,
        }
    }

    /// True while something is held back.
    pub(super) fn holds(&self) -> bool {
        !self.passes
    }

    /// Number of frames that were held.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// Takes what a relay brought. Returns it if it may be shown.
    pub(super) fn take(&mut self, media: Assembled) -> Option<Assembled> {
        if self.passes {
            return Some(media);
        }
        match media {
            Assembled::Info(info) => self.info = Some(info),
            Assembled::Sound(sound) => self.sound = Some(sound),
            Assembled::Frame(mut frame) => {
                self.held += 1;
                if frame.keyframe && frame.stream != SOUND_STREAM {
                    self.media.clear();
                    (self.bytes, self.complete) = (0, true);
                }
                self.bytes += frame.data.len();
                if self.media.len() >= MAX_KEPT_FRAMES || self.bytes > MAX_KEPT_BYTES {
                    self.media.clear();
                    self.complete = false;
                }
                if self.complete {
                    // Its stamps say nothing of its way.
                    frame.preamble.kept = true;
                    self.media.push(Assembled::Frame(frame));
                }
            }
            // The next keyframe mends it.
            Assembled::Undecodable { .. } | Assembled::Lost => {
                self.media.clear();
                self.complete = false;
            }
        }
        None
    }

    /// Returns what may be shown now, if `age` says for the first time that the camera has answered.
    pub(super) fn release(&mut self, age: Option<LivenessState>) -> Vec<Assembled> {
        if self.passes || !matches!(age, Some(LivenessState::Live { .. })) {
            return Vec::new();
        }
        self.passes = true;
        let info = self.info.take().map(Assembled::Info);
        let sound = self.sound.take().map(Assembled::Sound);
        let media = std::mem::take(&mut self.media);
        // Without a whole group of pictures nothing is decoded before the next keyframe.
        let begins = (!self.complete).then_some(Assembled::Lost);
        info.into_iter().chain(sound).chain(begins).chain(media).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sealcast_proto::seal::SealedFrame;
    use sealcast_proto::unit::{AssembledFrame, Preamble};

    use super::*;

    const LIVE: Option<LivenessState> = Some(LivenessState::Live {
        at_most: Duration::from_millis(80),
    });

    fn frame(number: u64, keyframe: bool, bytes: usize) -> Assembled {
        Assembled::Frame(AssembledFrame {
            stream: 1,
            preamble: Preamble {
                frame: number,
                ..Preamble::default()
            },
            keyframe,
            sealed_at: 0,
            arrived: Duration::ZERO,
            skipped: 0,
            data: vec![0; bytes],
            units: Vec::new(),
            sealed: SealedFrame::default(),
        })
    }

    fn numbers(media: &[Assembled]) -> Vec<u64> {
        let number = |media: &Assembled| match media {
            Assembled::Frame(frame) => Some(frame.preamble.frame),
            _ => None,
        };
        media.iter().filter_map(number).collect()
    }

    #[test]
    fn nothing_passes_before_the_first_answer_and_everything_from_then_on() {
        let mut withheld = Withheld::new(false);
        for number in 0..8 {
            assert!(withheld.take(frame(number, number % 5 == 0, 10)).is_none());
        }
        for age in [None, Some(LivenessState::Waiting)] {
            assert!(withheld.release(age).is_empty());
        }
        let released = withheld.release(LIVE);
        assert_eq!(numbers(&released), [5, 6, 7], "the group of pictures so far");
        assert!(
            released
                .iter()
                .all(|media| !matches!(media, Assembled::Frame(frame) if !frame.preamble.kept))
        );
        assert!(withheld.take(frame(8, false, 10)).is_some());
        assert!(withheld.release(LIVE).is_empty(), "once");
    }

    #[test]
    fn what_cannot_be_decoded_or_is_too_much_is_left_out_up_to_the_next_keyframe() {
        for spoils in [Assembled::Lost, frame(1, false, MAX_KEPT_BYTES)] {
            let mut withheld = Withheld::new(false);
            withheld.take(frame(0, true, 10));
            withheld.take(spoils);
            withheld.take(frame(2, false, 10));
            let released = withheld.release(LIVE);
            let lost = released.iter().any(|media| matches!(media, Assembled::Lost));
            assert!(numbers(&released).is_empty() && lost);
        }
        let mut withheld = Withheld::new(false);
        for number in 0..=MAX_KEPT_FRAMES as u64 {
            withheld.take(frame(number, number == 0, 1));
        }
        assert!(withheld.media.is_empty());
        withheld.take(frame(700, true, 10));
        assert_eq!(numbers(&withheld.release(LIVE)), [700]);
    }

    #[test]
    fn who_does_without_is_shown_everything() {
        let mut withheld = Withheld::new(true);
        assert!(withheld.take(frame(3, false, 10)).is_some());
        assert!(!withheld.holds());
    }
}
