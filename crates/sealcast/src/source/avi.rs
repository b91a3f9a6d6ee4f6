//! Reads Motion JPEG from AVI files: parses RIFF chunks without trusting any length.
//!
//! It parses `movi` from front to back and needs no index, so recordings without `idx1` play, and so do the
//! additional RIFF parts of an OpenDML file. The sizes of lists are ignored; the sizes of chunks are checked against
//! the file.

use std::io::{Read, Seek, SeekFrom};

use bytes::Bytes;

use super::coded::{CodedFrame, MAX_FRAME_BYTES, MediaError, Result, at_rate, sane_rate};
use super::h264::too_large;
use super::mjpeg::image_size;
use crate::media::{Codec, FrameRate, StreamInfo, Track};

/// Maximum size of the header list in bytes. A real one has some hundred bytes, or some ten thousand with an OpenDML
/// super index.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Maximum of chunks between two frames. A real file has at most some audio and index chunks there.
const MAX_CHUNKS_BETWEEN_FRAMES: usize = 10_000;

/// Maximum of streams (video, audio, subtitles) whose headers are parsed.
const MAX_STREAMS: usize = 100;

/// Codes in AVI files of video that is carried from an MP4 file.
const CARRIED_IN_MP4: [&str; 7] = ["H264", "X264", "AVC1", "HEVC", "H265", "HEV1", "AV01"];

/// Reads Motion JPEG frames from an AVI file.
#[derive(Debug)]
pub struct AviReader<R> {
    input: R,
    length: u64,
    /// End of the first RIFF part according to the file.
    promised: u64,
    /// Position of the next chunk header.
    at: u64,
    video: Video,
    frames_at: u64,
    count: u64,
    left_out: Vec<String>,
}

/// Header fields of the video stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Video {
    /// Two-digit stream number at the beginning of its chunk ids.
    digits: [u8; 2],
    rate: FrameRate,
    width: u16,
    height: u16,
}

struct Chunk {
    id: [u8; 4],
    size: u64,
}

impl<R: Read + Seek> AviReader<R> {
    /// Reads the headers, up to the first frame. `rate` overrides the rate in the file.
    ///
    /// # Errors
    /// It is not an AVI file, or contains no Motion JPEG.
    pub fn open(mut input: R, rate: Option<FrameRate>) -> Result<Self> {
        let length = input.seek(SeekFrom::End(0))?;
        input.seek(SeekFrom::Start(0))?;
        let mut head = [0; 12];
        read_or_truncated(&mut input, &mut head, "inside its first header")?;
        if &head[..4] != b"RIFF" || &head[8..] != b"AVI " {
            return Err(MediaError::Damaged("it does not begin as an AVI file".into()));
        }
        let promised = 8 + u64::from(le32(&head, 4).unwrap_or(0));
        let placeholder = Video {
            digits: *b"00",
            rate: FrameRate {
                numerator: 25,
                denominator: 1,
            },
            width: 0,
            height: 0,
        };
        let mut reader = Self {
            input,
            length,
            promised,
            at: 12,
            video: placeholder,
            frames_at: 0,
            count: 0,
            left_out: Vec::new(),
        };
        let header = reader.header_list()?;
        reader.video = read_header(&header)?;
        reader.left_out = sounds(&header);
        if let Some(rate) = rate {
            reader.video.rate = rate;
        }
        reader.frames_at = reader.at;
        let first = reader
            .next_frame()?
            .ok_or(MediaError::Empty("its movi list has no video chunk"))?;
        // The size in the header is often wrong; that of the image is right.
        (reader.video.width, reader.video.height) = image_size(&first.data)?;
        reader.rewind();
        Ok(reader)
    }

    /// Description of the stream.
    pub fn info(&self) -> StreamInfo {
        let Video {
            rate, width, height, ..
        } = self.video;
        StreamInfo {
            codec: Codec::Mjpeg,
            width,
            height,
            rate,
            parameters: Vec::new(),
        }
    }

    /// Sound that is left out, and why.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Rewinds to the first frame.
    pub fn rewind(&mut self) {
        (self.at, self.count) = (self.frames_at, 0);
    }

    /// Returns the next frame.
    ///
    /// # Errors
    /// Reading fails, or the file is truncated or contradicts itself.
    pub fn next_frame(&mut self) -> Result<Option<CodedFrame>> {
        for _ in 0..MAX_CHUNKS_BETWEEN_FRAMES {
            let Some(chunk) = self.chunk()? else { return self.end() };
            if self.descend(&chunk)? {
                continue;
            }
            let begin = self.at + 8;
            let next = begin + chunk.size + chunk.size % 2;
            if begin + chunk.size > self.length {
                return Err(MediaError::Truncated(format!("inside the chunk at byte {}", self.at)));
            }
            self.at = next;
            let is_video = chunk.id[..2] == self.video.digits && matches!(&chunk.id[2..], b"dc" | b"db");
            if !is_video {
                continue;
            }
            let (at, duration) = (at_rate(self.count, self.video.rate), at_rate(1, self.video.rate));
            self.count += 1;
            // An empty chunk means that the previous picture is shown once more.
            if chunk.size == 0 {
                continue;
            }
            let data = self.payload(begin, chunk.size)?;
            if !data.starts_with(&[0xff, 0xd8]) {
                return Err(MediaError::Damaged(format!(
                    "the video chunk at byte {begin} holds no JPEG image"
                )));
            }
            return Ok(Some(CodedFrame {
                track: Track::Picture,
                keyframe: true,
                presented: at,
                decoded: at,
                duration,
                data,
            }));
        }
        Err(MediaError::Damaged(format!(
            "no frame among {MAX_CHUNKS_BETWEEN_FRAMES} chunks before byte {}",
            self.at
        )))
    }

    fn end(&self) -> Result<Option<CodedFrame>> {
        // A recorder that was killed leaves 0 or the largest number here; any other value must be the real size.
        let is_promise = self.promised > 12 && self.promised < u64::from(u32::MAX);
        if is_promise && self.promised > self.length + 1 {
            let missing = self.promised - self.length;
            return Err(MediaError::Truncated(format!("{missing} bytes are missing at its end")));
        }
        Ok(None)
    }

    fn payload(&mut self, begin: u64, size: u64) -> Result<Bytes> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > MAX_FRAME_BYTES {
            return Err(too_large(size));
        }
        let mut data = vec![0; size];
        self.input.seek(SeekFrom::Start(begin))?;
        read_or_truncated(&mut self.input, &mut data, "inside a frame")?;
        Ok(data.into())
    }

    /// Enters the lists that contain frames; returns true if it did.
    fn descend(&mut self, chunk: &Chunk) -> Result<bool> {
        if &chunk.id != b"LIST" && &chunk.id != b"RIFF" {
            return Ok(false);
        }
        let mut kind = [0; 4];
        read_or_truncated(&mut self.input, &mut kind, "inside a list header")?;
        let holds_frames = matches!(&kind, b"movi" | b"rec " | b"AVIX");
        if holds_frames {
            self.at += 12;
        }
        Ok(holds_frames)
    }

    /// Reads the chunk header at `at`; `None` at the end of the file.
    fn chunk(&mut self) -> Result<Option<Chunk>> {
        if self.at >= self.length {
            return Ok(None);
        }
        self.input.seek(SeekFrom::Start(self.at))?;
        let mut head = [0; 8];
        read_or_truncated(&mut self.input, &mut head, "inside a chunk header")?;
        let id = [head[0], head[1], head[2], head[3]];
        if !id.iter().all(|byte| (0x20..0x7f).contains(byte)) {
            return Err(MediaError::Damaged(format!("no chunk begins at byte {}", self.at)));
        }
        Ok(Some(Chunk {
            id,
            size: u64::from(le32(&head, 4).unwrap_or(0)),
        }))
    }

    /// Finds and reads the list `hdrl`.
    fn header_list(&mut self) -> Result<Vec<u8>> {
        for _ in 0..MAX_STREAMS {
            let Some(chunk) = self.chunk()? else { break };
            let mut kind = [0; 4];
            if &chunk.id == b"LIST" {
                read_or_truncated(&mut self.input, &mut kind, "inside a list header")?;
            }
            if &kind == b"movi" {
                break;
            }
            if &kind == b"hdrl" {
                let size = chunk.size.saturating_sub(4);
                if size > MAX_HEADER_BYTES {
                    return Err(MediaError::Damaged(format!("its header list would have {size} bytes")));
                }
                let mut header = vec![0; usize::try_from(size).unwrap_or(0)];
                read_or_truncated(&mut self.input, &mut header, "inside its header list")?;
                self.at += 8 + chunk.size + chunk.size % 2;
                return Ok(header);
            }
            self.at += 8 + chunk.size + chunk.size % 2;
        }
        Err(MediaError::Damaged("it has no header list".into()))
    }
}

fn read_or_truncated(input: &mut impl Read, into: &mut [u8], place: &str) -> Result<()> {
    input.read_exact(into).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => MediaError::Truncated(place.into()),
        _ => MediaError::Io(e),
    })
}

fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.first_chunk().copied().map(u32::from_le_bytes)
}

fn le16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.first_chunk().copied().map(u16::from_le_bytes)
}

/// Iterates over the chunks in memory; stops at one that does not fit.
fn chunks(mut data: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let id = *data.first_chunk()?;
        let size = usize::try_from(le32(data, 4)?).ok()?;
        let body = data.get(8..8usize.checked_add(size)?)?;
        data = data.get(8 + size + size % 2..).unwrap_or_default();
        Some((id, body))
    })
}

/// Names the sound among the stream headers, none of which is carried: in AVI it has no times of its own.
fn sounds(header: &[u8]) -> Vec<String> {
    let lists = chunks(header).filter(|(id, body)| id == b"LIST" && body.starts_with(b"strl"));
    let named = lists.take(MAX_STREAMS).filter_map(|(_, list)| {
        let part = |wanted: &[u8; 4]| chunks(&list[4..]).find(|(id, _)| id == wanted).map(|(_, body)| body);
        let format = part(b"strh")
            .filter(|stream| stream.starts_with(b"auds"))
            .and(part(b"strf"))?;
        let name = match le16(format, 0)? {
            1 => "PCM sound".to_owned(),
            6 => "G.711 A-law sound".to_owned(),
            7 => "G.711 µ-law sound".to_owned(),
            0x55 => "MP3 sound".to_owned(),
            0xff => "AAC sound".to_owned(),
            other => format!("sound of format {other:#x}"),
        };
        Some(format!(
            "{name} in AVI, which is not carried: put it into MP4 as AAC or Opus"
        ))
    });
    named.collect()
}

/// Finds the Motion JPEG stream among the stream headers.
fn read_header(header: &[u8]) -> Result<Video> {
    let lists = chunks(header).filter(|(id, body)| id == b"LIST" && body.starts_with(b"strl"));
    let mut others = Vec::new();
    for (number, (_, list)) in lists.take(MAX_STREAMS).enumerate() {
        let part = |wanted: &[u8; 4]| chunks(&list[4..]).find(|(id, _)| id == wanted).map(|(_, body)| body);
        let (Some(stream), Some(format)) = (part(b"strh"), part(b"strf")) else {
            continue;
        };
        if !stream.starts_with(b"vids") {
            others.push("audio or text".to_owned());
            continue;
        }
        let codec = format.get(16..20).unwrap_or_default();
        if ![b"MJPG", b"JPEG", b"AVRN"]
            .iter()
            .any(|known| codec.eq_ignore_ascii_case(*known))
        {
            others.push(format!(
                "{} video in AVI",
                String::from_utf8_lossy(codec).escape_default()
            ));
            continue;
        }
        let rate = le32(stream, 24)
            .zip(le32(stream, 20))
            .and_then(|(rate, scale)| sane_rate(rate, scale));
        let side = |at| le16(format, at).unwrap_or(0);
        let number = u8::try_from(number).unwrap_or(0);
        return Ok(Video {
            digits: [b'0' + number / 10, b'0' + number % 10],
            rate: rate.unwrap_or(FrameRate {
                numerator: 25,
                denominator: 1,
            }),
            width: side(4),
            height: side(8),
        });
    }
    let carried = |name: &&String| {
        CARRIED_IN_MP4
            .iter()
            .any(|codec| name.to_uppercase().starts_with(codec))
    };
    match others.iter().find(carried) {
        _ if others.is_empty() => Err(MediaError::Damaged("its header names no streams".into())),
        Some(name) => Err(MediaError::Container(name.clone())),
        None => Err(MediaError::Unsupported(others.join(" and "))),
    }
}

#[cfg(test)]
#[path = "avi_tests.rs"]
mod tests;
