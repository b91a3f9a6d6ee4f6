//! Frames from standard input, piped in by another program, as fast as they arrive.

use std::io::{self, Chain, Cursor, ErrorKind, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use sealcast_proto::container::ts::{TS_PACKET, TS_SYNC};
use sealcast_proto::timeline::Jumps;

use super::annexb::AnnexBReader;
use super::coded::MediaError;
use super::file::refuse_encoding;
use super::file::{Format, failure, sniff};
use super::mjpeg::JpegReader;
use super::muxed::Muxed;
use super::obu::ObuReader;
use super::raw::RawSource;
use super::timed::TimedReader;
use super::{Encoding, Lost, Options, SOURCE_PATIENCE, Source, parse_rate, stood_still};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Frame, FrameRate, PipeFormat, SoundInfo, StampKind, StreamInfo, Track};

/// Bytes read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Maximum of chunks queued between the reading thread and the source.
const CHUNKS_WAITING: usize = 8;

/// Number of initial bytes needed to detect the format, and of those that may be MPEG-TS.
const SNIFF_BYTES: usize = 12;
const SNIFF_PACKETS: usize = TS_PACKET + 1;

/// Advice where nothing comes.
const PIPE_IN: &str = "pipe Matroska, MPEG-TS or a byte stream in, as in: ffmpeg … -f matroska - | sealcast publish -";

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

/// Options of standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StdinOptions {
    /// Frames per second, overriding the stream's rate.
    pub rate: Option<FrameRate>,
    /// Encoding of raw pictures, if the user says.
    pub encoding: Option<Encoding>,
    /// The container, if the user says.
    pub format: Option<PipeFormat>,
    /// False if the sound is left out.
    pub sound: bool,
}

impl StdinOptions {
    /// Parses what follows the `-`: `?fps=N&format=mkv|ts`, and options of the encoder.
    ///
    /// # Errors
    /// Kind `Usage`.
    pub(super) fn parse(rest: &str) -> Result<Self> {
        let (_, mut options) = Options::split(rest);
        let parsed = Self {
            rate: options.take("fps").map(|fps| parse_rate(&fps)).transpose()?,
            encoding: Encoding::take(&mut options)?,
            format: options
                .take("format")
                .map(|name| PipeFormat::named(&name))
                .transpose()?,
            sound: true,
        };
        options.finish("fps=N, format=mkv, format=ts, and bitrate, bitrate_max, gop and quantizer of raw pictures")?;
        Ok(parsed)
    }
}

type Input = Chain<Cursor<Vec<u8>>, PatientReader>;

#[derive(Debug)]
enum Reader {
    AnnexB(Box<AnnexBReader<Input>>),
    Obus(Box<ObuReader<Input>>),
    Jpegs(Box<JpegReader<Input>>),
    Timed(Box<TimedReader<Input>>),
}

/// Delivers piped input: an H.264, H.265 or AV1 byte stream, concatenated JPEG images, or a container with times.
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
/// Nothing arrives, the format is not supported, or frames pass through and the options say how to encode them.
pub(super) fn open(options: &StdinOptions) -> Result<Box<dyn Source>> {
    open_reader(io::stdin(), options)
}

/// As [`open`], but from any reader.
fn open_reader(input: impl Read + Send + 'static, options: &StdinOptions) -> Result<Box<dyn Source>> {
    let (format, input) = begin(input, options.format).map_err(|error| told(&error))?;
    if format == Format::Raw {
        let encoding = options.encoding.unwrap_or_default();
        return Ok(Box::new(RawSource::piped(input, options.rate, encoding, told)?));
    }
    refuse_encoding(NAME, options.encoding)?;
    Ok(Box::new(StdinSource::coded(format, input, options)?))
}

/// Waits for the first bytes; returns the format, and the input from its beginning.
fn begin(
    input: impl Read + Send + 'static,
    format: Option<PipeFormat>,
) -> std::result::Result<(Format, Input), MediaError> {
    let mut input = PatientReader::new(input)?;
    let mut head = Vec::new();
    input.by_ref().take(SNIFF_BYTES as u64).read_to_end(&mut head)?;
    if head.first() == Some(&TS_SYNC) {
        let more = SNIFF_PACKETS - head.len();
        input.by_ref().take(more as u64).read_to_end(&mut head)?;
    }
    let format = match format {
        Some(format) if !head.is_empty() => Format::Muxed(format),
        _ => sniff(&head)?,
    };
    Ok((format, Cursor::new(head).chain(input)))
}

impl StdinSource {
    fn coded(format: Format, input: Input, options: &StdinOptions) -> Result<Self> {
        let rate = options.rate;
        let fail = |error: MediaError| told(&error);
        let reader = match format {
            Format::AnnexB => Reader::AnnexB(AnnexBReader::open(input, rate).map_err(fail)?.into()),
            Format::H265 => Reader::AnnexB(AnnexBReader::open_h265(input, rate).map_err(fail)?.into()),
            Format::Obus => Reader::Obus(ObuReader::open(input, rate).map_err(fail)?.into()),
            Format::Jpegs => Reader::Jpegs(JpegReader::open(input, rate).map_err(fail)?.into()),
            Format::Muxed(format) => {
                let muxed = Muxed::new(format, rate, options.sound);
                Reader::Timed(TimedReader::open(input, muxed, NAME).map_err(fail)?.into())
            }
            Format::Raw => {
                return Err(fail(MediaError::Unsupported(
                    "raw pictures, which must be encoded,".into(),
                )));
            }
            Format::Mp4 | Format::Avi => {
                let hint = "pipe Matroska instead: ffmpeg -re -i IN -c copy -f matroska - | sealcast publish -";
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
            Reader::Timed(reader) => reader.info(),
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
            PIPE_IN,
        ),
        MediaError::Empty(_) => Failure::new(FailureKind::Source, format!("{NAME} {error}"), PIPE_IN),
        other => failure(NAME, other),
    }
}

impl Source for StdinSource {
    fn info(&self) -> StreamInfo {
        self.info.clone()
    }

    fn sound(&self) -> Option<SoundInfo> {
        match &self.reader {
            Reader::Timed(reader) => reader.sound(),
            Reader::AnnexB(_) | Reader::Obus(_) | Reader::Jpegs(_) => None,
        }
    }

    fn take_lost(&mut self) -> Lost {
        match &mut self.reader {
            Reader::Timed(reader) => reader.take_lost(),
            Reader::AnnexB(_) | Reader::Obus(_) | Reader::Jpegs(_) => Lost::default(),
        }
    }

    fn take_jumps(&mut self) -> Jumps {
        match &mut self.reader {
            Reader::Timed(reader) => reader.take_jumps(),
            Reader::AnnexB(_) | Reader::Obus(_) | Reader::Jpegs(_) => Jumps::default(),
        }
    }

    fn next(&mut self) -> Result<Option<Frame>> {
        let coded = match &mut self.reader {
            Reader::AnnexB(reader) => reader.next_frame(),
            Reader::Obus(reader) => reader.next_frame(),
            Reader::Jpegs(reader) => reader.next_frame(),
            Reader::Timed(reader) => {
                let frame = reader.next_frame().map_err(|error| told(&error))?;
                if frame
                    .as_ref()
                    .is_some_and(|frame| frame.keyframe && frame.track == Track::Picture)
                {
                    self.info = reader.info();
                }
                return Ok(frame);
            }
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

    fn options(encoding: Option<Encoding>) -> StdinOptions {
        StdinOptions {
            encoding,
            ..StdinOptions::parse("").expect("nothing")
        }
    }

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
        let mut source = open_reader(Cursor::new(images(5).concat()), &options(None)).expect("a stream");
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
        let told = |bytes: &'static [u8]| open_reader(bytes, &options(None)).err().expect("no stream").to_string();
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
        let mut source = open_reader(Cursor::new(bytes), &options(Some(Encoding::default()))).expect("a stream");
        let info = source.info();
        assert_eq!((info.codec, info.width, info.height), (Codec::H264, 32, 16));
        for number in 0..3 {
            let frame = source.next().expect("a frame").expect("no end");
            assert_eq!(frame.keyframe, number == 0);
        }
        assert!(source.next().expect("the end").is_none());
        let images = Cursor::new(images(1).concat());
        let refused = open_reader(images, &options(Some(Encoding::default())))
            .err()
            .expect("encoded already");
        assert!(refused.to_string().contains("passes through"), "{refused}");
    }
}
