//! An attacker who works frame by frame, as fast as frames come.

use sealcast_proto::unit::h264::{ParameterSets, SliceParser};
use sealcast_proto::unit::{Codec, StreamInfo};

use super::h264_writer::renumbered;
use super::image_guess::ImageGuess;
use super::partial::PartialFrame;
use super::slice_guess::SliceGuess;
use super::slice_search::Decoder;

/// Turns frames with gaps into access units for an ordinary decoder. It knows how cameras of this model describe their
/// streams. What is in clear is decoded as it is, without what is missing; pictures that refer to a hidden keyframe are
/// drawn on grey, and hidden headers are guessed.
#[derive(Debug)]
pub struct LiveAttack(Attack);

#[derive(Debug)]
enum Attack {
    H264(Box<Pictures>),
    Mjpeg(ImageGuess),
}

/// Of H.264.
#[derive(Debug)]
struct Pictures {
    sets: ParameterSets,
    parser: SliceParser,
    /// Frame number of the next picture; `None` without a keyframe in clear.
    next: Option<u32>,
    guess: SliceGuess,
}

impl LiveAttack {
    /// An attacker on a stream of which this is known; `None` if no pictures have its size, and for codecs
    /// whose frames are encrypted whole or not at all.
    pub fn new(info: &StreamInfo) -> Option<Self> {
        let (width, height) = (info.width.into(), info.height.into());
        Some(Self(match info.codec {
            Codec::H264 => {
                let mut sets = ParameterSets::default();
                sets.take_all(&info.parameters);
                Attack::H264(Box::new(Pictures {
                    guess: SliceGuess::new(width, height, sets.clone(), Decoder::Strict)?,
                    sets,
                    parser: SliceParser::default(),
                    next: None,
                }))
            }
            Codec::Mjpeg => Attack::Mjpeg(ImageGuess::new(width, height)?),
            Codec::H265 | Codec::Av1 => return None,
        }))
    }

    /// The access units that show what is known of the next frame, in order; none if nothing of it can be shown.
    pub fn take(&mut self, frame: &PartialFrame) -> Vec<Vec<u8>> {
        match &mut self.0 {
            Attack::H264(pictures) => pictures.take(frame),
            Attack::Mjpeg(guess) => guess.take(frame).into_iter().collect(),
        }
    }

    /// Begins anew, for a decoder that has lost its picture.
    pub fn restart(&mut self) {
        if let Attack::H264(pictures) = &mut self.0 {
            pictures.next = None;
            pictures.guess.restart();
        }
    }
}

impl Pictures {
    fn take(&mut self, frame: &PartialFrame) -> Vec<Vec<u8>> {
        if frame.keyframe {
            self.next = None;
        }
        if !frame.is_whole() {
            // Of a picture with a keyframe in clear before it, what is missing is as if it had not been there.
            return match self.next {
                Some(_) => Vec::new(),
                None => self.guess.take(frame),
            };
        }
        let unit = frame.filled(|_, _| {});
        if frame.keyframe {
            self.sets.take_all(&unit);
            self.next = Some(1);
            self.guess.restart();
            return vec![unit];
        }
        match self.next {
            Some(number) => {
                self.next = Some(number.wrapping_add(1));
                renumbered(&unit, &self.sets, &mut self.parser, number)
                    .into_iter()
                    .collect()
            }
            None => self.guess.take(frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sealcast_proto::sim::Random;

    use super::*;
    use crate::codec::{BareDecoder, H264Encoder, H264Settings};
    use crate::eavesdrop::{GREY_LUMA, Part};
    use crate::media::{FrameRate, Picture};

    const SIZE: (usize, usize) = (160, 128);
    const FRAMES: usize = 16;

    /// A bright square that moves over a striped ground, with a camera's noise.
    fn scene(number: usize) -> Picture {
        let mut picture = Picture::black(SIZE.0, SIZE.1);
        let mut noise = Random::new(number as u64);
        for (at, luma) in picture.y.iter_mut().enumerate() {
            let (x, y) = (at % SIZE.0, at / SIZE.0);
            let is_square = (40..72).contains(&y) && (4 * number..4 * number + 32).contains(&x);
            let shade = if is_square {
                220
            } else {
                40 + (x / 8 + y / 8) as u8 % 2 * 30
            };
            *luma = shade + (noise.next_u64() % 12) as u8;
        }
        picture
    }

    /// The scene as a camera with one keyframe encodes it, and what is known of the stream.
    fn stream() -> (StreamInfo, Vec<Vec<u8>>) {
        let rate = FrameRate {
            numerator: 25,
            denominator: 1,
        };
        let mut settings = H264Settings::new(SIZE.0, SIZE.1, rate, 1_000_000);
        settings.keyframe_interval = None;
        settings.quantizer = Some(24);
        let mut encoder = H264Encoder::new(settings).expect("an encoder");
        let frames = (0..FRAMES).map(|number| encoder.encode(&scene(number)).expect("it encodes").0);
        let frames = frames.collect();
        let info = StreamInfo {
            codec: Codec::H264,
            width: SIZE.0 as u16,
            height: SIZE.1 as u16,
            rate,
            parameters: encoder.parameters().to_vec(),
        };
        (info, frames)
    }

    /// A frame whose first bytes are hidden, as many as `hidden`.
    fn frame(number: usize, data: &[u8], hidden: usize) -> PartialFrame {
        let hidden = hidden.min(data.len());
        let part = |offset: usize, length: usize, clear: Option<&[u8]>| Part {
            offset,
            length,
            clear: clear.map(<[u8]>::to_vec),
        };
        let parts = [
            part(0, hidden, None),
            part(hidden, data.len() - hidden, Some(&data[hidden..])),
        ];
        PartialFrame {
            number: number as u64,
            number_read: true,
            keyframe: number == 0,
            at: Duration::ZERO,
            parts: parts.into_iter().filter(|part| part.length > 0).collect(),
        }
    }

    /// Pictures that a decoder shows of a stream of which as many bytes of each frame are hidden: `None` if it is not
    /// given anything, or refuses it, and then the attack begins anew.
    fn shown(hidden: impl Fn(usize) -> usize) -> Vec<Option<Picture>> {
        let (info, frames) = stream();
        let mut attack = LiveAttack::new(&info).expect("an attack");
        let mut decoder = BareDecoder::new(Codec::H264).expect("a decoder");
        let mut show = |(number, data): (usize, &Vec<u8>)| {
            let mut shown = None;
            for unit in attack.take(&frame(number, data, hidden(number))) {
                match decoder.decode(&unit) {
                    Ok(picture) => shown = picture,
                    Err(_) => {
                        attack.restart();
                        return None;
                    }
                }
            }
            shown
        };
        frames.iter().enumerate().map(&mut show).collect()
    }

    fn mean_difference(one: &Picture, other: &Picture) -> f64 {
        let sum: u32 = one
            .y
            .iter()
            .zip(&other.y)
            .map(|(&a, &b)| u32::from(a.abs_diff(b)))
            .sum();
        f64::from(sum) / one.y.len() as f64
    }

    #[test]
    fn of_a_stream_in_clear_every_picture_is_the_viewers() {
        let (_, frames) = stream();
        let mut decoder = BareDecoder::new(Codec::H264).expect("a decoder");
        let viewer: Vec<Option<Picture>> = frames
            .iter()
            .map(|frame| decoder.decode(frame).expect("whole"))
            .collect();
        assert_eq!(shown(|_| 0), viewer);
    }

    #[test]
    fn frames_that_are_missing_are_as_if_they_had_not_been_there() {
        let pictures = shown(|number| if number % 3 == 1 { usize::MAX } else { 0 });
        for (number, picture) in pictures.iter().enumerate() {
            assert_eq!(picture.is_none(), number % 3 == 1, "{number}");
        }
        let last = pictures[FRAMES - 1].as_ref().expect("the last picture");
        let mut grey = Picture::black(SIZE.0, SIZE.1);
        grey.y.fill(GREY_LUMA);
        // What moved in a missing frame is in its old place.
        let [seen, nothing] = [last, &grey].map(|picture| mean_difference(picture, &scene(FRAMES - 1)));
        assert!(seen < nothing / 2.0, "{seen} and {nothing}");
    }

    #[test]
    fn what_moves_is_drawn_on_grey_if_the_keyframe_is_hidden() {
        let pictures = shown(|number| if number == 0 { usize::MAX } else { 0 });
        assert_eq!(pictures[0], None);
        let last = pictures[FRAMES - 1].as_ref().expect("a picture");
        let drawn = |columns: std::ops::Range<usize>| {
            let pixels = (40..72).flat_map(|y| columns.clone().map(move |x| y * SIZE.0 + x));
            let far = pixels.filter(|&at| last.y[at].abs_diff(GREY_LUMA) > 24).count();
            far as f64 / (32 * columns.len()) as f64
        };
        // The square was in columns 0 to 92; nothing ever moved in the last ones.
        assert!(drawn(32..92) > 0.2, "{}", drawn(32..92));
        assert!(drawn(112..160) < 0.01, "{}", drawn(112..160));
    }

    #[test]
    fn hidden_headers_are_guessed() {
        // The start code and 12 bytes: the header, and some macroblocks.
        let pictures = shown(|_| 16);
        let found = pictures.iter().flatten().count();
        assert!(found > FRAMES / 2, "{found} of {FRAMES}");
    }

    #[test]
    fn of_what_is_hidden_whole_nothing_is_shown() {
        assert_eq!(shown(|_| usize::MAX), vec![None; FRAMES]);
    }
}
