//! JPEG images whose headers are encrypted: the usual tables and samplings are tried, and the codes tell which are
//! right, for with wrong ones they do not end where the image does.

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use sealcast_proto::unit::{Splitter, join};

use super::partial::PartialFrame;

/// Quality of guessed tables. It scales contrast, and changes no shape.
const QUALITY: u8 = 75;
/// Start of scan and end of image.
const SOS: [u8; 2] = [0xFF, 0xDA];
const EOI: [u8; 2] = [0xFF, 0xD9];

/// Gives a decoder images with guessed headers.
#[derive(Debug)]
pub struct ImageGuess {
    /// Grey images, one for each guess.
    usual: Vec<Vec<u8>>,
    splitter: Splitter,
}

impl ImageGuess {
    /// Of images of this size in pixels; `None` if no image is that large.
    pub fn new(width: usize, height: usize) -> Option<Self> {
        let (width, height) = (u16::try_from(width).ok()?, u16::try_from(height).ok()?);
        Some(Self {
            usual: usual_images(width, height),
            splitter: Splitter::default(),
        })
    }

    /// The image as far as it is known, if it begins in clear, or else its codes behind guessed headers; `None` if no
    /// headers fit.
    pub fn take(&mut self, frame: &PartialFrame) -> Option<Vec<u8>> {
        let (offset, run) = frame.runs().into_iter().max_by_key(|(_, run)| run.len())?;
        if offset == 0 {
            return Some(run);
        }
        let splitter = &mut self.splitter;
        self.usual.iter().find_map(|image| with_codes(splitter, image, &run))
    }
}

/// Grey images as encoders usually make them.
fn usual_images(width: u16, height: u16) -> Vec<Vec<u8>> {
    let grey = vec![128; usize::from(width) * usize::from(height) * 3];
    let mut images = Vec::new();
    let samplings = [
        (SamplingFactor::R_4_2_0, 16),
        (SamplingFactor::R_4_2_2, 16),
        (SamplingFactor::R_4_4_4, 8),
    ];
    for (sampling, across) in samplings {
        for interval in [None, Some(width.div_ceil(across))] {
            let mut image = Vec::new();
            let mut encoder = Encoder::new(&mut image, QUALITY);
            encoder.set_sampling_factor(sampling);
            if let Some(interval) = interval {
                encoder.set_restart_interval(interval);
            }
            if encoder.encode(&grey, width, height, ColorType::Ycbcr).is_ok() {
                images.push(image);
            }
        }
    }
    images
}

/// An image with the headers of this one: with these codes, if they are all of a scan; or with flat blocks and these
/// AC codes, if they are the other part of a split image.
fn with_codes(splitter: &mut Splitter, image: &[u8], codes: &[u8]) -> Option<Vec<u8>> {
    let whole = [&image[..scan_start(image)?], codes, &EOI].concat();
    if splitter.split(&whole, 0).is_ok() {
        return Some(whole);
    }
    let flat = splitter.split(image, 0).ok()?;
    join(&[&flat.data[..flat.first], codes].concat()).ok()
}

/// Offset of the first entropy-coded byte of an image: after its start of scan. `None` if there is none in these bytes.
pub fn scan_start(data: &[u8]) -> Option<usize> {
    let at = data.windows(2).position(|pair| pair == SOS)?;
    let length = data.get(at + 2..at + 4)?;
    let start = at + 2 + usize::from(u16::from_be_bytes([length[0], length[1]]));
    (start <= data.len()).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ac_codes_alone_become_an_image_of_flat_blocks() {
        let mut splitter = Splitter::default();
        let mut noisy = Vec::new();
        let pixels: Vec<u8> = (0..64 * 48 * 3)
            .map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        Encoder::new(&mut noisy, 60)
            .encode(&pixels, 64, 48, ColorType::Rgb)
            .expect("it encodes");
        let split = splitter.split(&noisy, 0).expect("a baseline image");
        let others = split.data[split.first..].to_vec();
        let mut grey = Vec::new();
        Encoder::new(&mut grey, 60)
            .encode(&[128; 64 * 48 * 3], 64, 48, ColorType::Rgb)
            .expect("it encodes");
        let image = with_codes(&mut splitter, &grey, &others).expect("the codes fit");
        assert_eq!(
            splitter
                .split(&image, 0)
                .map(|split| split.data[split.first..].to_vec()),
            Ok(others)
        );
    }
}
