//! Frames from standard input, piped in by another program, as fast as they arrive.

use std::io::{self, Chain, Cursor, ErrorKind, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use super::annexb::AnnexBReader;
use super::coded::MediaError;
use super::file::refuse_encoding;
use super::file::{Format, failure, sniff};
use super::mjpeg::JpegReader;
use super::obu::ObuReader;
use super::raw::RawSource;
use super::{Encoding, SOURCE_PATIENCE, Source, stood_still};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Frame, FrameRate, StampKind, StreamInfo, Track};

/// Bytes read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Maximum of chunks queued between the reading thread and the source.
const CHUNKS_WAITING: usize = 8;

/// Number of initial bytes needed to detect the format.
const SNIFF_BYTES: usize = 12;

/// Name of the source in messages.
const NAME: &str = "standard input";

/// Passes bytes from a thread whose reads may block for ever to a reader with a timeout.
#[derive(Debug)]
struct PatientReader {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Cursor<Vec<u8>>,
}

impl PatientReader {
    fn new(input: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, chunks) = sync_channel(CHUNKS_WAITING);
        // The thread ends with its input, or when the receiver is gone; a read in progress cannot be interrupted.
        thread::Builder::new()
            .name("stdin".into())
            .spawn(move || pump(input, &sender))?;
        Ok(Self {
            chunks,
            chunk: Cursor::default(),
        })
    }
}

fn pump(mut input: impl Read, sender: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let message = match input.read(&mut chunk) {
            Ok(0) => return,
            Ok(n) => {
                chunk.truncate(n);
                Ok(chunk)
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => Err(e),
        };
        let failed = message.is_err();
        if sender.send(message).is_err() || failed {
            return;
        }
    }
}

impl Read for PatientReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.chunk.read(into)?;
            if n > 0 || into.is_empty() {
                return Ok(n);
            }
            let deadline = Instant::now() + SOURCE_PATIENCE;
            self.chunk = match self.chunks.recv_timeout(SOURCE_PATIENCE) {
                Ok(chunk) => Cursor::new(chunk?),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) if stood_still(deadline) => continue,
                Err(RecvTimeoutError::Timeout) => return Err(ErrorKind::TimedOut.into()),
            };
        }
    }
}

type Input = Chain<Cursor<Vec<u8>>, PatientReader>;

#[derive(Debug)]
enum Reader {
    AnnexB(Box<AnnexBReader<Input>>),
    Obus(Box<ObuReader<Input>>),
    Jpegs(Box<JpegReader<Input>>),
}

/// Delivers piped input: an H.264, H.265 or AV1 byte stream, or concatenated JPEG images.
///
/// A frame of a byte stream ends where the next one begins, so it is delivered only when the next one arrives.
#[derive(Debug)]
pub(super) struct StdinSource {
    reader: Reader,
    info: StreamInfo,
}

/// Waits for the first frame on standard input: raw pictures are encoded, everything else passes through.
///
/// # Errors
/// Nothing arrives, the format is not supported, or frames pass through and `encoding` says how to encode them.
pub(super) fn open(rate: Option<FrameRate>, encoding: Option<Encoding>) -> Result<Box<dyn Source>> {
    open_reader(io::stdin(), rate, encoding)
}

/// As [`open`], but from any reader.
fn open_reader(
    input: impl Read + Send + 'static,
    rate: Option<FrameRate>,
    encoding: Option<Encoding>,
) -> Result<Box<dyn Source>> {
    let (format, input) = begin(input).map_err(|error| told(&error))?;
    if format == Format::Raw {
        let encoding = encoding.unwrap_or_default();
        return Ok(Box::new(RawSource::piped(input, rate, encoding, told)?));
    }
    refuse_encoding(NAME, encoding)?;
    Ok(Box::new(StdinSource::coded(format, input, rate)?))
}

/// Waits for the first bytes; returns the format, and the input from its beginning.
fn begin(input: impl Read + Send + 'static) -> std::result::Result<(Format, Input), MediaError> {
    let mut input = PatientReader::new(input)?;
    let mut head = Vec::new();
    input.by_ref().take(SNIFF_BYTES as u64).read_to_end(&mut head)?;
    Ok((sniff(&head)?, Cursor::new(head).chain(input)))
}

impl StdinSource {
    fn coded(format: Format, input: Input, rate: Option<FrameRate>) -> Result<Self> {
        let fail = |error: MediaError| told(&error);
        let reader = match format {
            Format::AnnexB => Reader::AnnexB(AnnexBReader::open(input, rate).map_err(fail)?.into()),
            Format::H265 => Reader::AnnexB(AnnexBReader::open_h265(input, rate).map_err(fail)?.into()),
            Format::Obus => Reader::Obus(ObuReader::open(input, rate).map_err(fail)?.into()),
            Format::Jpegs => Reader::Jpegs(JpegReader::open(input, rate).map_err(fail)?.into()),
            Format::Raw => {
                return Err(fail(MediaError::Unsupported(
                    "raw pictures, which must be encoded,".into(),
                )));
            }
            Format::Mp4 | Format::Avi => {
                let hint = "pipe a byte stream instead: ffmpeg -i IN -c:v copy -f h264 - | sealcast publish -";
                return Err(Failure::new(
                    FailureKind::Source,
                    format!("{NAME} carries MP4 or AVI, which needs seeking"),
                    hint,
                ));
            }
        };
        let mut source = Self {
            reader,
            info: placeholder(),
        };
        source.info = source.current_info();
        Ok(source)
    }

    fn current_info(&self) -> StreamInfo {
        match &self.reader {
            Reader::AnnexB(reader) => reader.info(),
            Reader::Obus(reader) => reader.info(),
            Reader::Jpegs(reader) => reader.info(),
        }
    }
}

fn placeholder() -> StreamInfo {
    let rate = FrameRate {
        numerator: 25,
        denominator: 1,
    };
    StreamInfo {
        codec: crate::media::Codec::H264,
        width: 0,
        height: 0,
        rate,
        parameters: Vec::new(),
    }
}

fn told(error: &MediaError) -> Failure {
    match error {
        MediaError::Io(e) if e.kind() == ErrorKind::TimedOut => Failure::new(
            FailureKind::Source,
            format!("nothing came from {NAME} for {} s", SOURCE_PATIENCE.as_secs()),
            "pipe an H.264 byte stream or JPEG images in, as in: ffmpeg … -f h264 - | sealcast publish -",
        ),
        MediaError::Empty(_) => Failure::new(
            FailureKind::Source,
            format!("{NAME} {error}"),
            "pipe an H.264 byte stream or JPEG images in, as in: ffmpeg … -f h264 - | sealcast publish -",
        ),
        other => failure(NAME, other),
    }
}

impl Source for StdinSource {
    fn info(&self) -> StreamInfo {
        self.info.clone()
    }

    fn next(&mut self) -> Result<Option<Frame>> {
        let coded = match &mut self.reader {
            Reader::AnnexB(reader) => reader.next_frame(),
            Reader::Obus(reader) => reader.next_frame(),
            Reader::Jpegs(reader) => reader.next_frame(),
        };
        let Some(coded) = coded.map_err(|error| told(&error))? else {
            return Ok(None);
        };
        if coded.keyframe {
            self.info = self.current_info();
        }
        let now = Instant::now();
        Ok(Some(Frame {
            track: Track::Picture,
            number: 0,
            keyframe: coded.keyframe,
            media_time: coded.presented,
            began: now,
            stamp: StampKind::Arrival,
            captured: now,
            encoded: now,
            data: coded.data,
        }))
    }

    fn request_keyframe(&mut self) {}
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::media::Codec;

    fn images(count: u8) -> Vec<Vec<u8>> {
        let image = |shade| {
            let mut out = Vec::new();
            let encoder = jpeg_encoder::Encoder::new(&mut out, 60);
            encoder
                .encode(&[shade; 256], 16, 16, jpeg_encoder::ColorType::Luma)
                .expect("a picture");
            out
        };
        (0..count).map(image).collect()
    }

    #[test]
    fn images_that_are_piped_in_come_out_one_by_one() {
        let mut source = open_reader(Cursor::new(images(5).concat()), None, None).expect("a stream");
        let info = source.info();
        assert_eq!((info.codec, info.width, info.height), (Codec::Mjpeg, 16, 16));
        for image in images(5) {
            let frame = source.next().expect("a frame").expect("no end");
            assert_eq!((frame.keyframe, &frame.data[..]), (true, &image[..]));
        }
        assert!(source.next().expect("the end").is_none());
        assert!(!source.waits_for_viewers());
    }

    #[test]
    fn nothing_and_nonsense_are_told_apart() {
        let told = |bytes: &'static [u8]| open_reader(bytes, None, None).err().expect("no stream").to_string();
        assert!(told(b"").contains("standard input holds no frames"), "{}", told(b""));
        assert!(told(b"hello world, this is text").contains("no format known"));
        assert!(told(b"\0\0\0\x1cftypisom\0\0\0\0").contains("needs seeking"));
    }

    #[test]
    fn raw_pictures_that_are_piped_in_are_encoded() {
        let mut bytes = b"YUV4MPEG2 W32 H16 F10:1\n".to_vec();
        for _ in 0..3 {
            bytes.extend_from_slice(b"FRAME\n");
            bytes.extend([100; 32 * 16 * 3 / 2]);
        }
        let mut source = open_reader(Cursor::new(bytes), None, Some(Encoding::default())).expect("a stream");
        let info = source.info();
        assert_eq!((info.codec, info.width, info.height), (Codec::H264, 32, 16));
        for number in 0..3 {
            let frame = source.next().expect("a frame").expect("no end");
            assert_eq!(frame.keyframe, number == 0);
        }
        assert!(source.next().expect("the end").is_none());
        let images = Cursor::new(images(1).concat());
        let refused = open_reader(images, None, Some(Encoding::default()))
            .err()
            .expect("encoded already");
        assert!(refused.to_string().contains("passes through"), "{refused}");
    }
}
