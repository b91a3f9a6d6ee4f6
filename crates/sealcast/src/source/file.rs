//! Plays a file in real time, once or repeatedly.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use sealcast_proto::container::ts::{TS_PACKET, TS_SYNC};
use sealcast_proto::unit::find_start_code;

use super::annexb::AnnexBReader;
use super::av1;
use super::avi::AviReader;
use super::coded::{CodedFrame, MediaError, Result as MediaResult};
use super::h264::kind;
use super::mjpeg::JpegReader;
use super::mp4::Mp4Reader;
use super::obu::ObuReader;
use super::pace::Pacer;
use super::raw::RawSource;
use super::y4m;
use super::{Encoding, MAX_FRAME_BYTES, Source};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Frame, FrameRate, Orientation, PipeFormat, SoundInfo, StampKind, StreamInfo, Track};

/// Bytes of a file that are inspected to detect its format.
const SNIFF_BYTES: usize = 4096;

/// The first bytes of Matroska.
const EBML: [u8; 4] = [0x1a, 0x45, 0xdf, 0xa3];

/// Options for playing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOptions {
    /// Start again at the end, with continuing times and frame numbers.
    pub looped: bool,
    /// Frames per second, overriding the file's rate. For byte streams it also sets the pace.
    pub rate: Option<FrameRate>,
    /// True: deliver frames when they are due; false: as fast as they are requested.
    pub paced: bool,
    /// Encoding of raw pictures, if the user says; refused for files that pass through.
    pub encoding: Option<Encoding>,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self {
            looped: false,
            rate: None,
            paced: true,
            encoding: None,
        }
    }
}

/// A media file; its content determines the format.
#[derive(Debug)]
pub enum Container<R> {
    /// MP4.
    Mp4(Box<Mp4Reader<R>>),
    /// AVI.
    Avi(Box<AviReader<R>>),
    /// An H.264 or H.265 byte stream.
    AnnexB(Box<AnnexBReader<R>>),
    /// An AV1 byte stream.
    Obus(Box<ObuReader<R>>),
    /// Concatenated JPEG images.
    Jpegs(Box<JpegReader<R>>),
}

impl<R: Read + Seek> Container<R> {
    /// Detects the format and opens the file.
    ///
    /// # Errors
    /// The format is not supported, or the file is damaged.
    pub fn open(mut input: R, rate: Option<FrameRate>) -> MediaResult<Self> {
        let mut head = Vec::new();
        input.seek(SeekFrom::Start(0))?;
        input.by_ref().take(SNIFF_BYTES as u64).read_to_end(&mut head)?;
        input.seek(SeekFrom::Start(0))?;
        match sniff(&head)? {
            Format::Mp4 => Ok(Self::Mp4(Mp4Reader::open(input, rate)?.into())),
            Format::Avi => Ok(Self::Avi(AviReader::open(input, rate)?.into())),
            Format::AnnexB => Ok(Self::AnnexB(AnnexBReader::open(input, rate)?.into())),
            Format::H265 => Ok(Self::AnnexB(AnnexBReader::open_h265(input, rate)?.into())),
            Format::Obus => Ok(Self::Obus(ObuReader::open(input, rate)?.into())),
            Format::Jpegs => Ok(Self::Jpegs(JpegReader::open(input, rate)?.into())),
            Format::Raw => Err(MediaError::Unsupported("raw pictures, which must be encoded,".into())),
            Format::Muxed(PipeFormat::Matroska) => Err(MediaError::Container("Matroska or WebM".into())),
            Format::Muxed(PipeFormat::MpegTs) => Err(MediaError::Container("an MPEG transport stream".into())),
        }
    }

    /// Description of the stream.
    pub fn info(&self) -> StreamInfo {
        match self {
            Self::Mp4(reader) => reader.info(),
            Self::Avi(reader) => reader.info(),
            Self::AnnexB(reader) => reader.info(),
            Self::Obus(reader) => reader.info(),
            Self::Jpegs(reader) => reader.info(),
        }
    }

    /// Description of the sound beside the picture, if there is some that sealcast carries.
    pub fn sound(&self) -> Option<SoundInfo> {
        match self {
            Self::Mp4(reader) => reader.sound(),
            Self::Avi(_) | Self::AnnexB(_) | Self::Obus(_) | Self::Jpegs(_) => None,
        }
    }

    /// Orientation of the picture.
    fn orientation(&self) -> Orientation {
        match self {
            Self::Mp4(reader) => reader.orientation(),
            Self::Avi(_) | Self::AnnexB(_) | Self::Obus(_) | Self::Jpegs(_) => Orientation::default(),
        }
    }

    /// Sound that is left out, and why.
    fn left_out(&self) -> &[String] {
        match self {
            Self::Mp4(reader) => reader.left_out(),
            Self::Avi(reader) => reader.left_out(),
            Self::AnnexB(_) | Self::Obus(_) | Self::Jpegs(_) => &[],
        }
    }

    /// Returns the next frame, of picture or sound, in decode order.
    ///
    /// # Errors
    /// Reading fails, or the file is truncated or contradicts itself.
    pub fn next_frame(&mut self) -> MediaResult<Option<CodedFrame>> {
        match self {
            Self::Mp4(reader) => reader.next_frame(),
            Self::Avi(reader) => reader.next_frame(),
            Self::AnnexB(reader) => reader.next_frame(),
            Self::Obus(reader) => reader.next_frame(),
            Self::Jpegs(reader) => reader.next_frame(),
        }
    }

    /// The same file, rewound to its beginning.
    ///
    /// # Errors
    /// Reading fails.
    pub fn rewound(self, rate: Option<FrameRate>) -> MediaResult<Self> {
        match self {
            Self::Mp4(mut reader) => {
                reader.rewind();
                Ok(Self::Mp4(reader))
            }
            Self::Avi(mut reader) => {
                reader.rewind();
                Ok(Self::Avi(reader))
            }
            Self::AnnexB(reader) => {
                let renew = |mut input: R| input.seek(SeekFrom::Start(0)).map(|_| input).map_err(MediaError::from);
                Ok(Self::AnnexB(reader.reopened(rate, renew)?.into()))
            }
            Self::Obus(reader) => {
                let mut input = reader.into_input();
                input.seek(SeekFrom::Start(0))?;
                Ok(Self::Obus(ObuReader::open(input, rate)?.into()))
            }
            Self::Jpegs(reader) => {
                let mut input = reader.into_input();
                input.seek(SeekFrom::Start(0))?;
                Ok(Self::Jpegs(JpegReader::open(input, rate)?.into()))
            }
        }
    }
}

/// Format of a file or stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Mp4,
    Avi,
    /// H.264.
    AnnexB,
    H265,
    /// AV1.
    Obus,
    Jpegs,
    /// Raw pictures, which are encoded here.
    Raw,
    /// Picture and sound with times, as pipes carry them.
    Muxed(PipeFormat),
}

/// Detects the format of a file or stream by its first bytes.
pub(super) fn sniff(head: &[u8]) -> MediaResult<Format> {
    const MP4_FIRST_BOXES: [&[u8]; 8] = [b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"free", b"skip", b"wide"];
    if head.is_empty() {
        return Err(MediaError::Empty("it has no bytes"));
    }
    if head.get(4..8).is_some_and(|kind| MP4_FIRST_BOXES.contains(&kind)) {
        return Ok(Format::Mp4);
    }
    let containers: [(&[u8], &str); 5] = [
        (b"OggS", "Ogg"),
        (b"FLV", "Flash video"),
        (b"DKIF", "IVF"),
        (b"0&\xb2u\x8ef\xcf\x11", "ASF (WMV)"),
        (&[0, 0, 1, 0xba], "an MPEG program stream"),
    ];
    let others: [(&[u8], &str); 3] = [
        (b"\x89PNG", "a PNG image"),
        (b"GIF8", "a GIF image"),
        (&[0, 0, 1, 0xb3], "MPEG-2 video"),
    ];
    if head.starts_with(b"RIFF") {
        return match head.get(8..12) {
            Some(b"AVI ") => Ok(Format::Avi),
            _ => Err(MediaError::Unsupported("RIFF data that is no AVI file".into())),
        };
    }
    if let Some((_, name)) = containers.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(MediaError::Container((*name).into()));
    }
    if let Some((_, name)) = others.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(MediaError::Unsupported((*name).into()));
    }
    if head.starts_with(y4m::MAGIC) {
        return Ok(Format::Raw);
    }
    if head.starts_with(&[0xff, 0xd8, 0xff]) {
        return Ok(Format::Jpegs);
    }
    if head.starts_with(&EBML) {
        return Ok(Format::Muxed(PipeFormat::Matroska));
    }
    if head[0] == TS_SYNC && head.get(TS_PACKET) == Some(&TS_SYNC) {
        return Ok(Format::Muxed(PipeFormat::MpegTs));
    }
    // A temporal delimiter, and an OBU that has a size.
    if head.starts_with(&av1::DELIMITER) && head.get(2).is_some_and(|next| next & 0x83 == 2) {
        return Ok(Format::Obus);
    }
    sniff_annex_b(head)
}

/// A byte stream begins with zeros and a start code, and its NAL headers have the forbidden bit clear.
fn sniff_annex_b(head: &[u8]) -> MediaResult<Format> {
    let unknown = || MediaError::Unsupported("data in no format known here".into());
    let zeros = head.iter().take_while(|byte| **byte == 0).count();
    if zeros < 2 || head.get(zeros) != Some(&1) {
        return Err(unknown());
    }
    // HEVC begins with a VPS (type 32), or at least a delimiter (35). Its NAL header has two bytes, and the second
    // one is 1: layer id 0, nuh_temporal_id_plus1 1.
    let first = find_start_code(head, 0)
        .and_then(|at| head.get(at + 3..))
        .unwrap_or_default();
    if matches!(first, [0x40 | 0x42 | 0x44 | 0x46, 0x01, ..]) {
        return Ok(Format::H265);
    }
    match first.first() {
        Some(header) if header & 0x80 == 0 && kind(first) != 0 => Ok(Format::AnnexB),
        _ => Err(unknown()),
    }
}

/// The failure for an error of the file or stream `name`.
pub(super) fn failure(name: &str, error: &MediaError) -> Failure {
    let hint = match error {
        MediaError::Io(e) if e.kind() == ErrorKind::PermissionDenied => {
            "allow this user to read it, or run as its owner"
        }
        MediaError::Io(e) if e.kind() == ErrorKind::NotFound => "check the path; it counts from the current directory",
        MediaError::Io(e) if e.kind() == ErrorKind::IsADirectory => "name a file in it",
        other => other.hint(),
    };
    Failure::new(FailureKind::Source, format!("{name} {error}"), hint)
}

/// Plays a file like a camera.
#[derive(Debug)]
pub struct FileSource {
    name: String,
    options: FileOptions,
    /// `None` after a failure.
    container: Option<Container<File>>,
    info: StreamInfo,
    pacer: Pacer,
    /// Duration of the completed rounds of a looped file.
    elapsed: Duration,
    /// End time of the current round.
    round_end: Duration,
}

/// Opens the file at `path`: raw pictures are encoded, everything else passes through.
///
/// # Errors
/// It cannot be read, its format is not supported, or it passes through and `options` say how to encode it.
pub(super) fn open(path: &Path, options: FileOptions) -> Result<Box<dyn Source>> {
    let name = path.display().to_string();
    let mut file = regular_file(path)?;
    let mut head = [0; y4m::MAGIC.len()];
    let read = |error: std::io::Error| failure(&name, &error.into());
    let is_raw = file.read_exact(&mut head).is_ok() && head == y4m::MAGIC;
    file.seek(SeekFrom::Start(0)).map_err(read)?;
    if is_raw {
        return Ok(Box::new(RawSource::play(path, file, options)?));
    }
    refuse_encoding(&name, options.encoding)?;
    Ok(Box::new(FileSource::open(path, options)?))
}

/// Refuses options of the encoder for frames that are encoded already.
///
/// # Errors
/// Kind `Usage` if there are any.
pub(super) fn refuse_encoding(name: &str, encoding: Option<Encoding>) -> Result<()> {
    let Some(_) = encoding else { return Ok(()) };
    Err(Failure::new(
        FailureKind::Usage,
        format!("{name} is encoded already, and passes through as it is"),
        format!(
            "leave {} out: they are for raw pictures (YUV4MPEG2)",
            Encoding::NAMES.join(", ")
        ),
    ))
}

fn regular_file(path: &Path) -> Result<File> {
    let name = path.display().to_string();
    let fail = |error: MediaError| failure(&name, &error);
    let file = File::open(path).map_err(|e| fail(e.into()))?;
    let kind = file.metadata().map_err(|e| fail(e.into()))?;
    if kind.is_dir() {
        return Err(fail(std::io::Error::from(ErrorKind::IsADirectory).into()));
    }
    if !kind.is_file() {
        let hint = "read devices and pipes through standard input: sealcast publish - < PIPE";
        return Err(Failure::new(
            FailureKind::Source,
            format!("{name} is no regular file"),
            hint,
        ));
    }
    Ok(file)
}

impl FileSource {
    /// Opens the file at `path`, whose frames pass through.
    ///
    /// # Errors
    /// It cannot be read, or its format is not supported.
    pub fn open(path: &Path, options: FileOptions) -> Result<Self> {
        let name = path.display().to_string();
        let fail = |error: MediaError| failure(&name, &error);
        let container = Container::open(regular_file(path)?, options.rate).map_err(fail)?;
        for what in container.left_out() {
            tracing::warn!(file = name, "sound is left out: the file has {what}");
        }
        let info = container.info();
        Ok(Self {
            name,
            options,
            container: Some(container),
            info,
            pacer: Pacer::default(),
            elapsed: Duration::ZERO,
            round_end: Duration::ZERO,
        })
    }

    fn next_coded(&mut self) -> MediaResult<Option<CodedFrame>> {
        let Some(container) = &mut self.container else {
            return Ok(None);
        };
        if let Some(frame) = container.next_frame()? {
            return Ok(Some(frame));
        }
        if !self.options.looped {
            return Ok(None);
        }
        // Avoid a busy loop for a file with a single frame of zero duration.
        let round = self
            .round_end
            .saturating_sub(self.elapsed)
            .max(Duration::from_millis(1));
        self.elapsed += round;
        self.container = self
            .container
            .take()
            .map(|container| container.rewound(self.options.rate))
            .transpose()?;
        match &mut self.container {
            Some(container) => container.next_frame(),
            None => Ok(None),
        }
    }
}

impl Source for FileSource {
    fn info(&self) -> StreamInfo {
        self.info.clone()
    }

    fn sound(&self) -> Option<SoundInfo> {
        self.container.as_ref().and_then(Container::sound)
    }

    fn orientation(&self) -> Orientation {
        self.container.as_ref().map(Container::orientation).unwrap_or_default()
    }

    fn next(&mut self) -> Result<Option<Frame>> {
        let coded = self.next_coded().map_err(|error| {
            self.container = None;
            failure(&self.name, &error)
        })?;
        let Some(coded) = coded else { return Ok(None) };
        debug_assert!(coded.data.len() <= MAX_FRAME_BYTES);
        if let Some(container) = self
            .container
            .as_ref()
            .filter(|_| coded.keyframe && coded.track == Track::Picture)
        {
            self.info = container.info();
        }
        let due = self.elapsed + coded.decoded;
        self.round_end = self.round_end.max(due + coded.duration);
        if self.options.paced {
            self.pacer.sleep_until(due);
        }
        let now = Instant::now();
        Ok(Some(Frame {
            track: coded.track,
            number: 0,
            keyframe: coded.keyframe,
            media_time: self.elapsed + coded.presented,
            began: now,
            stamp: StampKind::Arrival,
            captured: now,
            encoded: now,
            data: coded.data,
        }))
    }

    fn request_keyframe(&mut self) {}

    fn waits_for_viewers(&self) -> bool {
        !self.options.looped
    }
}
