//! Raw pictures from a file or a pipe, encoded here.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use super::coded::{ASSUMED_RATE, MediaError, Result as MediaResult, at_rate};
use super::file::{FileOptions, failure};
use super::pace::Pacer;
use super::picture_encoder::PictureEncoder;
use super::y4m::Y4mReader;
use super::{Encoding, Skip, Source};
use crate::failure::{Failure, Result};
use crate::media::{Frame, FrameRate, Picture, StampKind, StreamInfo, Track};

type Again<R> = Box<dyn FnMut() -> MediaResult<Y4mReader<R>> + Send>;

/// Pictures of a YUV4MPEG2 stream as H.264 of the program's own encoder, with the same rate control and keyframes as
/// the test card's.
pub struct RawSource<R> {
    reader: Y4mReader<R>,
    encoder: PictureEncoder,
    rate: FrameRate,
    /// Waits until pictures are due; `None` for those that are taken as they come.
    pacer: Option<Pacer>,
    /// Number of the next picture.
    number: u64,
    /// Opens the stream again at its end; `None` to stop there.
    again: Option<Again<R>>,
    waits_for_viewers: bool,
    /// Turns an error into a failure that names the file or stream.
    told: Box<dyn Fn(&MediaError) -> Failure + Send>,
}

impl<R> fmt::Debug for RawSource<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawSource")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl<R: Read> RawSource<R> {
    /// Takes pictures from a pipe, as fast as they come.
    ///
    /// # Errors
    /// The stream is not supported, or the encoder does not start.
    pub(super) fn piped(
        input: R,
        rate: Option<FrameRate>,
        encoding: Encoding,
        told: impl Fn(&MediaError) -> Failure + Send + 'static,
    ) -> Result<Self> {
        let reader = Y4mReader::open(input).map_err(|error| told(&error))?;
        let rate = rate.or(reader.rate).unwrap_or(ASSUMED_RATE);
        let encoder = PictureEncoder::new(encoding, (reader.width, reader.height), rate)?;
        Ok(Self {
            reader,
            encoder,
            rate,
            pacer: None,
            number: 0,
            again: None,
            waits_for_viewers: false,
            told: Box::new(told),
        })
    }

    /// The next picture, from the beginning again at the end of a looped file.
    fn next_picture(&mut self) -> MediaResult<Option<Picture>> {
        let picture = self.reader.next_picture()?;
        if picture.is_none() && self.number == 0 {
            return Err(MediaError::Empty("it has no picture"));
        }
        match (picture, &mut self.again) {
            (None, Some(again)) => {
                self.reader = again()?;
                self.reader.next_picture()
            }
            (picture, _) => Ok(picture),
        }
    }
}

impl RawSource<File> {
    /// Plays a file as `options` say.
    ///
    /// # Errors
    /// It cannot be read or is not supported, or the encoder does not start.
    pub(super) fn play(path: &Path, file: File, options: FileOptions) -> Result<Self> {
        let name = path.display().to_string();
        let encoding = options.encoding.unwrap_or_default();
        let source = Self::piped(file, options.rate, encoding, move |error| failure(&name, error))?;
        let path = path.to_owned();
        let again: Again<File> = Box::new(move || Y4mReader::open(File::open(&path)?));
        Ok(Self {
            pacer: options.paced.then(Pacer::default),
            again: options.looped.then_some(again),
            waits_for_viewers: !options.looped,
            ..source
        })
    }
}

impl<R: Read + Send> Source for RawSource<R> {
    fn info(&self) -> StreamInfo {
        self.encoder.info()
    }

    fn next(&mut self) -> Result<Option<Frame>> {
        let (picture, media_time) = loop {
            let Some(picture) = self.next_picture().map_err(|error| (self.told)(&error))? else {
                return Ok(None);
            };
            let media_time = at_rate(self.number, self.rate);
            self.number += 1;
            if let Some(pacer) = &mut self.pacer {
                pacer.sleep_until(media_time);
            }
            if !self.encoder.leaves_out() {
                break (picture, media_time);
            }
        };
        let captured = Instant::now();
        let (data, keyframe) = self.encoder.encode(&picture)?;
        Ok(Some(Frame {
            track: Track::Picture,
            number: 0,
            keyframe,
            media_time,
            began: captured,
            stamp: StampKind::Arrival,
            captured,
            encoded: Instant::now(),
            data,
        }))
    }

    fn request_keyframe(&mut self) {
        self.encoder.request_keyframe();
    }

    fn makes_keyframes(&self) -> bool {
        true
    }

    fn set_bitrate(&mut self, bits_per_second: u64) -> bool {
        self.encoder.set_bitrate(bits_per_second)
    }

    fn aim_at(&mut self, bits_per_second: u64) -> Result<Option<u64>> {
        self.encoder.aim_at(bits_per_second)
    }

    fn skip_if(&mut self, skip: Skip) {
        self.encoder.skip_if(skip);
    }

    fn waits_for_viewers(&self) -> bool {
        self.waits_for_viewers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::H264Decoder;
    use crate::failure::FailureKind;
    use crate::media::Codec;

    /// Pictures of a grey ramp that moves, and as many bytes as they have.
    fn stream(pictures: u8) -> Vec<u8> {
        let mut bytes = b"YUV4MPEG2 W64 H32 F50:1 Ip C420jpeg\n".to_vec();
        for at in 0..pictures {
            bytes.extend_from_slice(b"FRAME\n");
            bytes.extend((0..64 * 32).map(|pixel: usize| 40 + at + (pixel % 64) as u8));
            bytes.extend([128; 2 * 32 * 16]);
        }
        bytes
    }

    fn piped(bytes: Vec<u8>) -> Result<RawSource<std::io::Cursor<Vec<u8>>>> {
        let told = |error: &MediaError| failure("it", error);
        RawSource::piped(std::io::Cursor::new(bytes), None, Encoding::default(), told)
    }

    #[test]
    fn raw_pictures_are_encoded_with_keyframes_on_request() {
        let mut source = piped(stream(6)).expect("a stream");
        let info = source.info();
        assert_eq!((info.codec, info.width, info.height), (Codec::H264, 64, 32));
        assert_eq!((info.rate.numerator, info.rate.denominator), (50, 1));
        let mut decoder = H264Decoder::new().expect("a decoder");
        for at in 0..6u32 {
            if at == 3 {
                source.request_keyframe();
            }
            let frame = source.next().expect("a frame").expect("no end");
            assert_eq!(frame.keyframe, at == 0 || at == 3, "{at}");
            assert_eq!(frame.media_time.as_millis(), u128::from(20 * at));
            let shown = decoder.decode(&frame.data).expect("it decodes").expect("a picture");
            let off = shown.y.iter().enumerate().map(|(pixel, luma)| {
                let painted = 40 + at as i32 + (pixel % 64) as i32;
                (i32::from(*luma) - painted).abs()
            });
            assert!(off.max().is_some_and(|most| most < 16), "{at}");
        }
        assert!(source.next().expect("the end").is_none());
        assert!(source.set_bitrate(500_000));
    }

    #[test]
    fn a_looped_file_goes_on_and_one_without_pictures_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("scene.y4m");
        std::fs::write(&path, stream(2)).expect("a file");
        let options = FileOptions {
            looped: true,
            paced: false,
            ..FileOptions::default()
        };
        let open = || RawSource::play(&path, File::open(&path).expect("a file"), options);
        let mut source = open().expect("a source");
        assert!(!source.waits_for_viewers());
        let times: Vec<_> = (0..5)
            .map(|_| source.next().expect("a frame").expect("no end").media_time.as_millis())
            .collect();
        assert_eq!(times, [0, 20, 40, 60, 80]);
        std::fs::write(&path, stream(0)).expect("a file");
        let failure = open().expect("a header").next().expect_err("no picture");
        assert_eq!(failure.kind, FailureKind::Source);
        assert!(failure.to_string().contains("no picture"), "{failure}");
    }
}
