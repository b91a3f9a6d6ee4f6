//! The data to encipher: packets of one length, and frames of video.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use sealcast::codec::{Decoder, H264Encoder, H264Settings, jpeg};
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::{Codec, FrameRate, Picture};
use sealcast::source::test_card::{CardClock, CardPainter};
use sealcast::source::{Container, MediaError};

/// Packet lengths in bytes. 15, 600 and 2464 are text, audio and video in a paper on UDP; 1200 is one of our
/// datagrams; 95 000 is a large frame.
pub(super) const LENGTHS: [usize; 8] = [15, 128, 256, 512, 600, 1200, 2464, 95_000];
/// Limits of packets and bytes enciphered at once: enough packets to fill kernels that work on several at once, and
/// few enough bytes for the processor's cache.
const MOST_PACKETS: usize = 512;
const MOST_BATCH_BYTES: usize = 1 << 20;

/// The workload that represents a camera's video in comparisons with papers.
pub(super) const FRAMES_NAME: &str = "H.264 frames";
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
    pub(super) name: String,
    pub(super) packets: Vec<Vec<u8>>,
}

impl Workload {
    /// Total number of bytes.
    pub(super) fn bytes(&self) -> usize {
        self.packets.iter().map(Vec::len).sum()
    }
}

/// All workloads: packets of every length, then frames of the clip or of the test card.
pub(super) fn all(clip: Option<&Path>) -> Result<Vec<Workload>> {
    Ok(LENGTHS.into_iter().map(of_length).chain(frames(clip)?).collect())
}

/// Packets of one length.
pub(super) fn of_length(bytes: usize) -> Workload {
    Workload {
        name: format!("{bytes} bytes"),
        packets: vec![vec![0; bytes]; (MOST_BATCH_BYTES / bytes).min(MOST_PACKETS)],
    }
}

/// The pictures of the clip's first frames, or of the test card.
pub(super) fn pictures(clip: Option<&Path>) -> Result<Vec<Picture>> {
    clip.map_or_else(card, |path| read(path).map(|(_, _, pictures)| pictures))
}

fn frames(clip: Option<&Path>) -> Result<[Workload; 3]> {
    let card = card()?;
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
    let kinds = [
        (FRAMES_NAME, h264),
        ("JPEG frames", jpeg),
        ("raw 640x480", vec![raw; 2]),
    ];
    Ok(kinds.map(|(name, packets)| Workload {
        name: name.to_owned(),
        packets,
    }))
}

fn card() -> Result<Vec<Picture>> {
    let defect = || {
        Failure::new(
            FailureKind::Internal,
            "the test card cannot be drawn",
            "please report this",
        )
    };
    let mut painter = CardPainter::new(RAW.0, RAW.1).ok_or_else(defect)?;
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
    let mut decoder = Decoder::new(codec)?;
    let (mut coded, mut pictures) = (Vec::new(), Vec::new());
    while coded.len() < FRAMES as usize {
        let Some(frame) = container.next_frame().map_err(failed)? else {
            break;
        };
        pictures.extend(decoder.decode(&frame.data)?);
        coded.push(frame.data.to_vec());
    }
    if pictures.is_empty() {
        return Err(failed(MediaError::Empty("no picture in its first frames")));
    }
    Ok((Some(codec), coded, pictures))
}
