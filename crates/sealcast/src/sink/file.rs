//! Writes frames to a file, in the format given by its name.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sealcast_proto::clock::ClockEstimate;

use super::file_mp4::{Fragmenter, Piece, SoundPlace};
use super::{Kept, Sink};
use crate::archive::wall_now;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, Orientation, ReceivedFrame, SoundInfo, StreamInfo};
use crate::private_file;
use crate::source::av1::DELIMITER;

/// File format, chosen by the extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// An H.264 byte stream.
    AnnexB,
    /// An H.265 byte stream.
    H265,
    /// An AV1 byte stream.
    Obus,
    /// Concatenated JPEG images.
    Jpegs,
    /// Fragmented MP4.
    Mp4,
}

impl Format {
    fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match extension.as_str() {
            "h264" | "264" => Ok(Self::AnnexB),
            "h265" | "265" | "hevc" => Ok(Self::H265),
            "obu" => Ok(Self::Obus),
            "mjpeg" | "mjpg" => Ok(Self::Jpegs),
            "mp4" => Ok(Self::Mp4),
            "mkv" | "webm" | "mov" | "avi" | "ts" | "m2ts" | "mts" | "flv" | "ivf" => Err(Failure::new(
                FailureKind::Usage,
                format!("{} would be of a format that is not written here", path.display()),
                format!(
                    "record to a name that ends in .mp4, and rewrap it, which leaves picture and sound as they are: \
                     ffmpeg -i OUT.mp4 -c copy OUT.{extension}"
                ),
            )),
            _ => Err(Failure::new(
                FailureKind::Usage,
                format!("{} does not say by its ending what to write", path.display()),
                "let the name end in .mp4, .h264, .h265, .obu (AV1) or .mjpeg",
            )),
        }
    }
}

/// Writes records to a file.
///
/// Each frame of a byte stream, and each fragment (at most a second) of an MP4 file, is passed to the operating
/// system at once and in one piece. A process that is killed loses no more than that, and the file up to there plays.
#[derive(Debug)]
pub struct FileSink {
    path: PathBuf,
    format: Format,
    file: File,
    regular: bool,
    /// True if the file is ours to remove should nothing be written.
    created: bool,
    /// Bytes of complete frames or fragments so far.
    written: u64,
    /// Bytes that had no room.
    unwritten: Vec<u8>,
    codec: Option<Codec>,
    mp4: Option<Fragmenter>,
    /// When the next picture was captured, in UTC since 1970, if that is known.
    captured: Option<Duration>,
    orientation: Orientation,
    /// Note on the pictures.
    mark: Option<&'static str>,
    /// It was said that sound is left out.
    silence_told: bool,
    /// The extent so far, if that is told at its end.
    kept: Option<Kept>,
}

impl FileSink {
    /// Creates the file at `path`. An existing file is refused unless `overwrite` is set; then it is emptied when the
    /// first frame arrives.
    ///
    /// # Errors
    /// The name does not select a format, the file exists, or it cannot be created.
    pub fn create(path: &Path, overwrite: bool) -> Result<Self> {
        let format = Format::of(path)?;
        let fail = |e: io::Error| told(path, &e);
        // Only a regular file can be lost; devices and pipes exist to be written to.
        let existing = fs::metadata(path).ok();
        let regular = existing.as_ref().is_none_or(fs::Metadata::is_file);
        if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(fail(ErrorKind::IsADirectory.into()));
        }
        let created = existing.is_none();
        let mut options = private_file::options();
        options.write(true);
        if created || (regular && !overwrite) {
            options.create_new(true);
        }
        let file = options.open(path).map_err(fail)?;
        let mut sink = Self::of(path, format, file, regular, created);
        sink.kept = regular.then(Kept::default);
        Ok(sink)
    }

    /// Creates a file where there is none.
    ///
    /// # Errors
    /// There is something, or it cannot be created.
    pub(super) fn create_new(path: &Path) -> io::Result<Self> {
        let format = Format::of(path).map_err(|failure| io::Error::new(ErrorKind::InvalidInput, failure.what))?;
        let file = private_file::options().write(true).create_new(true).open(path)?;
        Ok(Self::of(path, format, file, true, true))
    }

    /// Checks that the name says what to write.
    ///
    /// # Errors
    /// Kind `Usage`: it does not.
    pub(super) fn check_name(path: &Path) -> Result<()> {
        Format::of(path).map(drop)
    }

    fn of(path: &Path, format: Format, file: File, regular: bool, created: bool) -> Self {
        Self {
            path: path.to_owned(),
            format,
            file,
            regular,
            created,
            written: 0,
            unwritten: Vec::new(),
            codec: None,
            mp4: None,
            captured: None,
            orientation: Orientation::default(),
            mark: None,
            silence_told: false,
            kept: None,
        }
    }

    /// True if the file describes its beginning, and this frame is not of the kind described.
    pub(super) fn ends_before(&self, frame: &ReceivedFrame) -> bool {
        self.mp4.as_ref().is_some_and(|mp4| mp4.would_change(frame))
    }

    /// Bytes of the file so far.
    pub(super) fn bytes(&self) -> u64 {
        self.written
    }

    /// True if the last failure was that there is no room for what was to be written.
    pub(super) fn lacks_room(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Writes again what had no room.
    ///
    /// # Errors
    /// As [`write`](Sink::write).
    pub(super) fn write_again(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut self.unwritten);
        self.put(&bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.written == 0 && self.regular {
            self.file.set_len(0).map_err(|e| told(&self.path, &e))?;
        }
        if let Err(e) = self.file.write_all(bytes) {
            if self.regular {
                // Half a fragment at the end confuses players. If truncating fails, too, the file stays as it is.
                let _ = self.file.set_len(self.written);
                self.file
                    .seek(SeekFrom::Start(self.written))
                    .map_err(|e| told(&self.path, &e))?;
            }
            if full_disk(&e) {
                self.unwritten = bytes.to_vec();
            }
            return Err(told(&self.path, &e));
        }
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn put_piece(&mut self, piece: Option<Piece>) -> Result<()> {
        let Some(Piece { header, fragment }) = piece else {
            return Ok(());
        };
        // First, so that a process that is killed in between leaves no fragment of a track that no header describes.
        if let Some(header) = header {
            self.file.write_all_at(&header, 0).map_err(|e| told(&self.path, &e))?;
        }
        self.put(&fragment)
    }
}

impl Sink for FileSink {
    fn orient(&mut self, orientation: Orientation) -> Result<()> {
        self.orientation = orientation;
        let file = self.path.display();
        if let Some(mp4) = &mut self.mp4 {
            if !mp4.orient(orientation) {
                tracing::warn!(%file, %orientation, "the picture is turned now, and this pipe cannot say so");
            }
        } else if self.format != Format::Mp4 {
            tracing::warn!(%file, %orientation, "the picture is to be shown so, which only an .mp4 file says");
        }
        Ok(())
    }

    fn start(&mut self, info: &StreamInfo) -> Result<()> {
        let path = self.path.display();
        let fits = match self.format {
            Format::AnnexB => info.codec == Codec::H264,
            Format::H265 => info.codec == Codec::H265,
            Format::Obus => info.codec == Codec::Av1,
            Format::Jpegs => info.codec == Codec::Mjpeg,
            Format::Mp4 => true,
        };
        if !fits {
            let ending = match info.codec {
                Codec::H264 => ".h264",
                Codec::Mjpeg => ".mjpeg",
                Codec::H265 => ".h265",
                Codec::Av1 => ".obu",
            };
            let stream = info.codec.title();
            let what = format!("the stream is {stream}, which {path} cannot hold");
            return Err(Failure::new(
                FailureKind::Sink,
                what,
                format!("let the name end in {ending} or .mp4"),
            ));
        }
        if self.codec.is_some_and(|codec| codec != info.codec) {
            let what = format!("the stream changed its codec, and {path} can hold only one");
            return Err(Failure::new(
                FailureKind::Sink,
                what,
                "record the new stream to another file",
            ));
        }
        self.codec = Some(info.codec);
        if self.format == Format::Mp4 && self.mp4.is_none() {
            let mut mp4 = Fragmenter::new(info.clone(), self.regular).marked(self.mark);
            mp4.orient(self.orientation);
            self.mp4 = Some(mp4);
        }
        Ok(())
    }

    fn stamped(&mut self, stamped: u64, clock: Option<ClockEstimate>) {
        self.captured = captured(stamped, clock);
    }

    fn mark(&mut self, words: &'static str) {
        self.mark = Some(words);
        if self.format != Format::Mp4 {
            let file = self.path.display();
            tracing::warn!(%file, "a file of this kind cannot say of its pictures what only .mp4 can: {words}");
        }
    }

    fn start_sound(&mut self, info: &SoundInfo) -> Result<()> {
        let path = self.path.display();
        let Some(mp4) = &mut self.mp4 else {
            if !std::mem::replace(&mut self.silence_told, true) {
                tracing::warn!(file = %path, "the stream has sound, which this file cannot hold: record to .mp4");
            }
            return Ok(());
        };
        let place = mp4.start_sound(info).map_err(|why| unwritable(&self.path, &why))?;
        let why = match place {
            SoundPlace::Track => return Ok(()),
            SoundPlace::TooLate => "it began after the header was written, and this is no file that can be changed",
            SoundPlace::Changed => "it is of another kind than at the beginning, and the file has one track",
        };
        if !std::mem::replace(&mut self.silence_told, true) {
            let codec = info.codec.name();
            tracing::warn!(file = %path, codec, why, "sound is left out from here on");
        }
        Ok(())
    }

    fn write_sound(&mut self, packet: &ReceivedFrame) -> Result<()> {
        let Some(mp4) = &mut self.mp4 else { return Ok(()) };
        let piece = mp4.push_sound(packet).map_err(|why| unwritable(&self.path, &why))?;
        self.put_piece(piece)
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        if let Some(kept) = &mut self.kept {
            kept.picture(frame.media_time);
        }
        let Some(mp4) = &mut self.mp4 else {
            return match self.format {
                Format::Obus => self.put(&[&DELIMITER[..], &frame.data].concat()),
                _ => self.put(&frame.data),
            };
        };
        if !mp4.has_begun() {
            mp4.created(self.captured.unwrap_or_else(now));
        }
        let piece = mp4.push(frame).map_err(|why| unwritable(&self.path, &why))?;
        self.put_piece(piece)
    }

    fn finish(&mut self) -> Result<()> {
        let rest = match &mut self.mp4 {
            Some(mp4) => mp4.finish().map_err(|why| unwritable(&self.path, &why))?,
            None => None,
        };
        self.put_piece(rest)?;
        if let Some(mut kept) = self.kept.take() {
            kept.file(&self.path, self.written);
            kept.tell(&self.path);
        }
        // Some file systems report a full disk only now.
        match self.regular && self.written > 0 {
            true => self.file.sync_all().map_err(|e| told(&self.path, &e)),
            false => Ok(()),
        }
    }
}

impl Drop for FileSink {
    fn drop(&mut self) {
        if self.created && self.written == 0 {
            // An empty file is not a recording, and would make the next attempt fail.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The instant of a stamp by this machine's clock, in UTC since 1970. A publisher that does not know the time stamps 0.
pub(crate) fn captured(stamped: u64, clock: Option<ClockEstimate>) -> Option<Duration> {
    let ahead = clock.map_or(0, |clock| clock.at(wall_now()).offset);
    let here = i128::from(stamped) - i128::from(ahead);
    u64::try_from(here)
        .ok()
        .filter(|_| stamped > 0)
        .map(Duration::from_nanos)
}

/// The time since 1970, in UTC.
pub(super) fn now() -> Duration {
    Duration::from_nanos(wall_now())
}

/// True if the device, or this user's quota on it, is full.
pub(crate) fn full_disk(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

pub(super) fn told(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    let fail = |what: String, hint: &str| Failure::new(FailureKind::Sink, what, hint);
    match error.kind() {
        _ if full_disk(error) => fail(
            format!("the disk that holds {path} is full"),
            "free some space or record elsewhere; what is there plays",
        ),
        ErrorKind::AlreadyExists => fail(
            format!("{path} exists already"),
            "choose another name, or add ?overwrite to replace it",
        ),
        ErrorKind::PermissionDenied => fail(
            format!("{path} may not be written"),
            "choose a directory that this user may write to",
        ),
        ErrorKind::IsADirectory => fail(format!("{path} is a directory"), "name a file in it, as in DIR/out.mp4"),
        ErrorKind::NotFound => fail(
            format!("the directory of {path} does not exist"),
            "create it, or choose another",
        ),
        ErrorKind::ReadOnlyFilesystem => fail(format!("{path} lies on a read-only file system"), "record elsewhere"),
        ErrorKind::BrokenPipe => fail(
            format!("the program that read {path} has closed it"),
            "start it again, and then this",
        ),
        _ => fail(
            format!("{path} cannot be written: {error}"),
            "check the disk, or record elsewhere",
        ),
    }
}

fn unwritable(path: &Path, why: &str) -> Failure {
    let what = format!("the stream cannot be put into {}: {why}", path.display());
    Failure::new(
        FailureKind::Sink,
        what,
        "record to a name that ends in .h264, .h265, .obu (AV1) or .mjpeg instead",
    )
}

#[cfg(test)]
#[path = "file_tests.rs"]
pub(super) mod tests;
