//! Sound out of the pieces of a transport stream: AAC behind headers, and Opus.

use std::collections::VecDeque;

use crate::container::adts::{AdtsHeader, MAX_ADTS_FRAME};
use crate::container::{Frame, Piece, Track};
use crate::unit::sound_headers::{self, samples};
use crate::unit::{SoundCodec, SoundInfo};

/// Streams and coupled streams of Opus, and its channels, by their number (RFC 7845, section 5.1.1.2).
const OPUS_LAYOUTS: [(u8, u8, &[u8]); 8] = [
    (1, 0, &[0]),
    (1, 1, &[0, 1]),
    (2, 1, &[0, 2, 1]),
    (2, 2, &[0, 1, 2, 3]),
    (3, 2, &[0, 4, 1, 2, 3]),
    (4, 2, &[0, 4, 1, 2, 3, 5]),
    (4, 3, &[0, 4, 1, 2, 3, 5, 6]),
    (5, 3, &[0, 6, 1, 2, 3, 4, 5, 7]),
];
/// Bits of a packet's control header, which says its length.
const OPUS_CONTROL: u16 = 0x7fe0;
const START_TRIM: u16 = 0x10;
const END_TRIM: u16 = 0x08;
const EXTENSION: u16 = 0x04;

/// Reads the sound of a stream.
#[derive(Clone, Debug, Default)]
pub(super) struct SoundReader {
    /// Channels of Opus; else it is AAC.
    opus: Option<u8>,
    info: Option<SoundInfo>,
    /// The beginning of a frame of AAC that goes on in the next piece.
    begun: Vec<u8>,
    /// Time of the next packet in ns.
    next: Option<i64>,
}

impl SoundReader {
    /// Of Opus with so many channels, or of AAC.
    pub(super) fn new(opus: Option<u8>) -> Self {
        Self {
            opus,
            ..Self::default()
        }
    }

    /// Something is missing.
    pub(super) fn lose(&mut self) {
        self.begun.clear();
        self.next = None;
    }

    /// Takes a piece, whose first packet that begins in it is heard at `shown`.
    pub(super) fn piece(&mut self, shown: Option<i64>, data: &[u8], lost: &mut bool, ready: &mut VecDeque<Piece>) {
        match self.opus {
            Some(channels) => {
                self.next = shown.or(self.next);
                self.opus(channels, data, lost, ready);
            }
            None => self.adts(shown, data, lost, ready),
        }
    }

    fn adts(&mut self, shown: Option<i64>, data: &[u8], lost: &mut bool, ready: &mut VecDeque<Piece>) {
        let mut bytes = std::mem::take(&mut self.begun);
        // The time is of the first frame that begins here.
        let begins = bytes.len();
        bytes.extend_from_slice(data);
        let (mut at, mut shown) = (0, shown);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if at >= begins {
                self.next = shown.take().or(self.next);
            }
            match AdtsHeader::parse(rest) {
                Some(header) if header.length <= rest.len() => {
                    at += header.length;
                    match header.describe() {
                        Some(info) => self.packet(info, &rest[header.header..header.length], lost, ready),
                        None => *lost = true,
                    }
                }
                Some(_) => break,
                None if rest.len() < 9 && rest[0] == 0xff => break,
                None => {
                    *lost = true;
                    at += 1;
                }
            }
        }
        bytes.drain(..at);
        debug_assert!(bytes.len() <= MAX_ADTS_FRAME);
        self.begun = bytes;
    }

    fn opus(&mut self, channels: u8, mut rest: &[u8], lost: &mut bool, ready: &mut VecDeque<Piece>) {
        let Some(info) = opus_info(channels) else { return };
        while !rest.is_empty() {
            let Some((packet, more)) = opus_packet(rest) else {
                *lost = true;
                return;
            };
            rest = more;
            self.packet(info.clone(), packet, lost, ready);
        }
    }

    fn packet(&mut self, info: SoundInfo, data: &[u8], lost: &mut bool, ready: &mut VecDeque<Piece>) {
        let Some(stamp) = self.next.filter(|_| !data.is_empty()) else {
            return;
        };
        let length = samples(&info, data) * 1_000_000_000 / u64::from(info.samples_per_second.max(1));
        self.next = Some(stamp.saturating_add_unsigned(length));
        if self.info.as_ref() != Some(&info) {
            self.info = Some(info.clone());
            ready.push_back(Piece::Sound(info));
        }
        ready.push_back(Piece::Frame(Frame {
            track: Track::Sound,
            stamp,
            keyframe: true,
            lost: std::mem::take(lost),
            data: data.to_vec(),
        }));
    }
}

fn opus_info(channels: u8) -> Option<SoundInfo> {
    let (streams, coupled, map) = OPUS_LAYOUTS.get(usize::from(channels).checked_sub(1)?)?;
    let mut parameters = [&[1, channels, 0, 0][..], &48_000_u32.to_le_bytes(), &[0, 0]].concat();
    match channels {
        1 | 2 => parameters.push(0),
        _ => {
            parameters.extend_from_slice(&[1, *streams, *coupled]);
            parameters.extend_from_slice(map);
        }
    }
    let head = [sound_headers::OPUS_MAGIC, &parameters].concat();
    sound_headers::opus_head(&head, 0).filter(|info| info.codec == SoundCodec::Opus)
}

/// A packet of Opus without its control header, and what is behind it.
fn opus_packet(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (control, mut rest) = bytes.split_first_chunk::<2>()?;
    let control = u16::from_be_bytes(*control);
    if control & 0xffe0 != OPUS_CONTROL {
        return None;
    }
    let mut length = 0;
    loop {
        let (byte, more) = rest.split_first()?;
        length += usize::from(*byte);
        rest = more;
        if *byte != 255 {
            break;
        }
    }
    let trims = [START_TRIM, END_TRIM]
        .iter()
        .filter(|trim| control & **trim != 0)
        .count();
    rest = rest.get(2 * trims..)?;
    if control & EXTENSION != 0 {
        let (more, tail) = rest.split_first()?;
        rest = tail.get(usize::from(*more)..)?;
    }
    rest.split_at_checked(length)
}
