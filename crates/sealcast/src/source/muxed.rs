//! Picture and sound with their times out of one stream of bytes: Matroska and the transport stream of MPEG.

use std::collections::VecDeque;
use std::time::Instant;

use sealcast_proto::container::matroska::MatroskaReader;
use sealcast_proto::container::ts::TsReader;
use sealcast_proto::container::{Frame, Piece, Tracks};

use super::annexb::{split_access_units, split_h265_units};
use super::coded::{MediaError, Result};
use super::entry::Entry;
use super::mjpeg::image_size;
use super::predicted::Predicted;
use super::rtp::reader::Arrived;
use crate::media::{Codec, FrameRate, PipeFormat, SoundInfo, StreamInfo, Track};

/// Frames, and bytes of them, that wait for the description of the sound, which in MPEG-TS comes with its first packet.
const MAX_HELD: (usize, usize) = (64, 8 << 20);

/// Container of a stream.
#[derive(Debug)]
enum Container {
    Matroska(Box<MatroskaReader>),
    MpegTs(Box<TsReader>),
}

/// The frames of a stream of bytes.
#[derive(Debug)]
pub(in crate::source) struct Muxed {
    container: Container,
    tracks: Tracks,
    /// The form of the pictures, if it is described apart from them.
    entry: Option<Entry>,
    stream: Predicted,
    codec: Codec,
    size: (u16, u16),
    rate: Option<FrameRate>,
    sound: Option<SoundInfo>,
    with_sound: bool,
    ready: VecDeque<Arrived>,
    /// Frames wait for the sound's description.
    holds: bool,
    /// Something before the next picture is missing.
    lost: bool,
    /// Pictures that came damaged and were not counted yet.
    damaged: u64,
    complaint: Option<String>,
    /// Stamp of the first picture with which a viewer can begin.
    origin: Option<i64>,
    /// True once bytes came.
    heard: bool,
}

impl Muxed {
    /// A stream from its beginning. `rate` overrides the rate that it states.
    pub(in crate::source) fn new(format: PipeFormat, rate: Option<FrameRate>, with_sound: bool) -> Self {
        let container = match format {
            PipeFormat::Matroska => Container::Matroska(Box::default()),
            PipeFormat::MpegTs => Container::MpegTs(Box::default()),
        };
        Self {
            container,
            tracks: Tracks::default(),
            entry: None,
            stream: Predicted::default(),
            codec: Codec::H264,
            size: (0, 0),
            rate,
            sound: None,
            with_sound,
            ready: VecDeque::new(),
            holds: true,
            lost: false,
            damaged: 0,
            complaint: None,
            origin: None,
            heard: false,
        }
    }

    /// Takes bytes that came at this instant.
    ///
    /// # Errors
    /// Nothing behind them can be read, or the stream has no picture that is carried.
    pub(in crate::source) fn take(&mut self, bytes: &[u8], came: Instant) -> Result<()> {
        self.heard = true;
        match &mut self.container {
            Container::Matroska(reader) => {
                let read = reader.push(bytes);
                self.pieces(came)?;
                read.map_err(|error| MediaError::Damaged(error.to_string().replacen("is damaged: ", "", 1)))
            }
            Container::MpegTs(reader) => {
                reader.push(bytes);
                self.pieces(came)
            }
        }
    }

    /// The stream has ended: what was begun is whole.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(in crate::source) fn finish(&mut self, came: Instant) -> Result<()> {
        if let Container::MpegTs(reader) = &mut self.container {
            reader.finish();
        }
        self.holds = false;
        self.pieces(came)
    }

    /// The next frame.
    pub(in crate::source) fn next(&mut self) -> Option<Arrived> {
        if self.holds {
            let bytes: usize = self.ready.iter().map(|frame| frame.data.len()).sum();
            self.holds = self.ready.len() < MAX_HELD.0 && bytes < MAX_HELD.1;
        }
        match self.holds {
            true => None,
            false => self.ready.pop_front(),
        }
    }

    /// Description of the picture.
    pub(in crate::source) fn info(&self) -> StreamInfo {
        let info = self.stream.info(self.rate);
        match self.codec {
            Codec::H264 | Codec::H265 | Codec::Av1 => info,
            Codec::Mjpeg => StreamInfo {
                codec: Codec::Mjpeg,
                width: self.size.0,
                height: self.size.1,
                ..info
            },
        }
    }

    /// Description of the sound, if there is some.
    pub(in crate::source) fn sound(&self) -> Option<SoundInfo> {
        self.sound.clone()
    }

    /// Number of pictures that came damaged since the last call.
    pub(in crate::source) fn take_damaged(&mut self) -> u64 {
        std::mem::take(&mut self.damaged)
    }

    /// Reason why no picture came of late, in words that follow the stream's name; `unheard` if nothing came at all.
    pub(in crate::source) fn silence(&self, unheard: &'static str) -> String {
        let scrambled = matches!(&self.container, Container::MpegTs(reader) if reader.is_scrambled());
        let why = match &self.complaint {
            Some(complaint) => complaint,
            None if scrambled => "its picture is encrypted",
            None if !self.heard => unheard,
            None if self.tracks.picture.is_none() => "what comes does not say what picture it has",
            None if self.origin.is_some() => "it sends nothing any more",
            None => "it has a picture, and sends none that a viewer could begin with",
        };
        why.to_owned()
    }

    fn pieces(&mut self, came: Instant) -> Result<()> {
        loop {
            let piece = match &mut self.container {
                Container::Matroska(reader) => reader.poll(),
                Container::MpegTs(reader) => reader.poll(),
            };
            match piece {
                None => return Ok(()),
                Some(Piece::Tracks(tracks)) => self.has(tracks)?,
                Some(Piece::Sound(info)) => {
                    self.sound = Some(info).filter(|_| self.with_sound);
                    self.holds = false;
                }
                Some(Piece::Frame(frame)) if frame.track == Track::Sound => self.heard(frame, came),
                Some(Piece::Frame(frame)) => self.pictured(frame, came),
            }
        }
    }

    fn has(&mut self, tracks: Tracks) -> Result<()> {
        for what in &tracks.left_out {
            tracing::warn!("a part of the stream is left out: {what}");
        }
        let Some(pictures) = &tracks.picture else {
            let names = tracks.left_out.join(" and ");
            return Err(match names.is_empty() {
                true => MediaError::Empty("it has no picture"),
                false => MediaError::Unsupported(names),
            });
        };
        if self.tracks.picture.as_ref() != Some(pictures) {
            self.codec = pictures.codec;
            self.stream = Predicted::of(pictures.codec);
            self.entry = match (&pictures.private, pictures.codec) {
                (Some(content), codec) => Some(Entry::described(codec, content)?),
                (None, Codec::Mjpeg) => Some(Entry::Jpeg),
                (None, _) => None,
            };
            if let Some(entry) = &self.entry {
                entry.learn(&mut self.stream)?;
            }
        }
        if !(tracks.sound && self.with_sound) {
            (self.sound, self.holds) = (None, false);
        }
        self.tracks = tracks;
        Ok(())
    }

    fn heard(&mut self, frame: Frame, came: Instant) {
        // Sound that was made before the first picture has no time.
        let after = self.origin.is_some_and(|origin| origin <= frame.stamp);
        if self.sound.is_some() && after {
            self.ready.push_back(Arrived {
                track: Track::Sound,
                keyframe: true,
                lost: false,
                stamp: frame.stamp,
                captured: came,
                data: frame.data.into(),
            });
        }
    }

    fn pictured(&mut self, frame: Frame, came: Instant) {
        self.lost |= frame.lost;
        self.damaged += u64::from(frame.lost && self.origin.is_some());
        match self.finished(frame.data, frame.keyframe) {
            Ok(units) => {
                for (data, keyframe) in units {
                    if self.codec == Codec::Mjpeg {
                        self.size = image_size(&data).unwrap_or(self.size);
                    }
                    if keyframe {
                        self.origin.get_or_insert(frame.stamp);
                    }
                    self.complaint = None;
                    self.ready.push_back(Arrived {
                        track: Track::Picture,
                        keyframe,
                        lost: std::mem::take(&mut self.lost),
                        stamp: frame.stamp,
                        captured: came,
                        data,
                    });
                }
            }
            Err(error) => {
                self.lost = true;
                self.damaged += 1;
                self.complaint = Some(format!("its stream {error}"));
            }
        }
    }

    /// The frames of a picture as it is written, each with whether a viewer can begin with it.
    fn finished(&mut self, data: Vec<u8>, keyframe: bool) -> Result<Vec<(bytes::Bytes, bool)>> {
        if let Some(entry) = &self.entry {
            let frame = entry.frame(&mut self.stream, data, keyframe)?;
            return Ok([frame].into_iter().filter(|(data, _)| !data.is_empty()).collect());
        }
        let units = match self.codec {
            Codec::H265 => split_h265_units(&data)?,
            _ => split_access_units(&data)?,
        };
        let stream = &mut self.stream;
        let finished = units.into_iter().map(|unit| {
            let (data, starts) = stream.finish(unit, keyframe)?;
            Ok((data, starts && stream.is_decodable()))
        });
        finished.collect()
    }
}
