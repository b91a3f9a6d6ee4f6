//! The data to encipher: packets of one length, and frames of video.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use sealcast::codec::{BareDecoder, H264Encoder, H264Settings, jpeg};
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::{Codec, FrameRate, Picture, Track};
use sealcast::source::test_card::{CardClock, CardPainter};
use sealcast::source::{Container, MediaError};

use super::case::Coding;

/// Limits of packets of one length enciphered at once: enough packets to fill kernels that work on several at once, and
/// few enough bytes for the processor's cache.
const MOST_PACKETS: usize = 512;
const MOST_BATCH_BYTES: usize = 1 << 20;

/// Number of frames taken from a clip.
const FRAMES: u32 = 25;
/// The size of raw frames, and of the test card.
const RAW: (usize, usize) = (640, 480);
const RATE: FrameRate = FrameRate {
    numerator: 25,
    denominator: 1,
};
/// Settings for encoding frames if the clip has another codec: bits per second, and 1 to 100.
const BITRATE: u32 = 1_500_000;
const QUALITY: u8 = 80;

/// Packets that are enciphered one after the other.
pub(super) struct Workload {
    pub(super) packets: Vec<Vec<u8>>,
}

/// Frames of a clip, or of the test card, in all codings.
pub(super) struct Video {
    h264: Vec<Vec<u8>>,
    jpeg: Vec<Vec<u8>>,
    raw: Vec<Vec<u8>>,
}

impl Workload {
    /// Total number of bytes.
    pub(super) fn bytes(&self) -> usize {
        self.packets.iter().map(Vec::len).sum()
    }

    /// Mean length of a packet.
    pub(super) fn mean_bytes(&self) -> f64 {
        self.bytes() as f64 / self.packets.len() as f64
    }
}

/// Packets of one length.
pub(super) fn of_length(bytes: usize) -> Workload {
    Workload {
        packets: vec![vec![0; bytes]; (MOST_BATCH_BYTES / bytes).min(MOST_PACKETS)],
    }
}

/// The pictures of the clip's first frames, or of the test card.
pub(in crate::experiments) fn pictures(clip: Option<&Path>) -> Result<Vec<Picture>> {
    clip.map_or_else(|| card(RAW), |path| read(path).map(|(_, _, pictures)| pictures))
}

impl Video {
    /// Reads a clip, or draws the test card, and encodes its frames in the codings that it lacks.
    ///
    /// # Errors
    /// The clip cannot be read or decoded.
    pub(super) fn of(clip: Option<&Path>) -> Result<Self> {
        let card = card(RAW)?;
        let (codec, coded, pictures) = match clip {
            Some(path) => read(path)?,
            None => (None, Vec::new(), card.clone()),
        };
        let h264 = if codec == Some(Codec::H264) {
            coded.clone()
        } else {
            h264(&pictures)?
        };
        let jpeg = if codec == Some(Codec::Mjpeg) {
            coded
        } else {
            let jpegs = pictures.iter().map(|picture| jpeg::encode(picture, QUALITY));
            jpegs.collect::<Result<_>>()?
        };
        let is_raw_size = |picture: &&Picture| (picture.width, picture.height) == RAW;
        // A clip of another size has no raw frame of this one. The content does not matter to a cipher.
        let raw = pictures.iter().find(is_raw_size).unwrap_or(&card[0]);
        let raw = [&raw.y[..], &raw.u, &raw.v].concat();
        Ok(Self {
            h264,
            jpeg,
            raw: vec![raw; 2],
        })
    }

    /// The frames in this coding.
    pub(super) fn frames(&self, coding: Coding) -> Workload {
        let packets = match coding {
            Coding::H264 => &self.h264,
            Coding::Jpeg => &self.jpeg,
            Coding::Raw => &self.raw,
        };
        Workload {
            packets: packets.clone(),
        }
    }
}

/// The first second of the test card in this width and height.
///
/// # Errors
/// A side is odd, or too short for the card's clock.
pub(in crate::experiments) fn card((width, height): (usize, usize)) -> Result<Vec<Picture>> {
    let too_small = || {
        Failure::new(
            FailureKind::Usage,
            format!("the test card cannot be drawn in {width}x{height}"),
            "choose even sides from 160x120 on",
        )
    };
    let mut painter = CardPainter::new(width, height).ok_or_else(too_small)?;
    let pictures = (0..FRAMES).map(|event| {
        let elapsed = Duration::from_secs(1) * event / RATE.numerator;
        let wall_us = elapsed.as_micros() as u64;
        painter.paint(CardClock { event, wall_us }, elapsed).clone()
    });
    Ok(pictures.collect())
}

fn h264(pictures: &[Picture]) -> Result<Vec<Vec<u8>>> {
    let (width, height) = (pictures[0].width, pictures[0].height);
    let mut encoder = H264Encoder::new(H264Settings::new(width, height, RATE, BITRATE))?;
    let frames = pictures
        .iter()
        .map(|picture| encoder.encode(picture).map(|(frame, _)| frame));
    frames.collect()
}

type Clip = (Option<Codec>, Vec<Vec<u8>>, Vec<Picture>);

/// The first frames of a clip, encoded and as pictures.
fn read(path: &Path) -> Result<Clip> {
    let failed = |error: MediaError| {
        let what = format!("{} {error}", path.display());
        Failure::new(FailureKind::Source, what, error.hint())
    };
    let file = File::open(path).map_err(|error| failed(error.into()))?;
    let mut container = Container::open(BufReader::new(file), None).map_err(failed)?;
    let codec = container.info().codec;
    let mut decoder = BareDecoder::new(codec)?;
    let (mut coded, mut pictures) = (Vec::new(), Vec::new());
    while coded.len() < FRAMES as usize {
        let Some(frame) = container.next_frame().map_err(failed)? else {
            break;
        };
        if frame.track == Track::Sound {
            continue;
        }
        pictures.extend(decoder.decode(&frame.data)?);
        coded.push(frame.data.to_vec());
    }
    if pictures.is_empty() {
        return Err(failed(MediaError::Empty("no picture in its first frames")));
    }
    Ok((Some(codec), coded, pictures))
}
