//! Writes a live transport stream.

use super::tables::{PICTURE_PID, PMT_PID, SOUND_PID, Sounds, program, programs};
use super::{HEADER, PAT_PID, TIME_BITS, TS_PACKET, TS_SYNC, picture_type};
use crate::unit::{Codec, find_start_code};

/// Number of pictures after which the tables come again, if no keyframe came.
const TABLES_AFTER: u32 = 10;
/// Time in ticks by which the clock in the packets is behind the pictures in them, which is the time that a reader has
/// to take them: 20 ms. Each tick of it is later at a player that goes by the clock.
const LEAD: u64 = 1800;

/// Numbers of streams in the headers of their pieces.
const PICTURE_STREAM: u8 = 0xe0;
const SOUND_STREAM: u8 = 0xc0;
const PRIVATE_STREAM: u8 = 0xbd;

/// Delimiters that begin each picture, and their first bytes behind the start code.
const H264_DELIMITER: [u8; 6] = [0, 0, 0, 1, 0x09, 0xf0];
const H265_DELIMITER: [u8; 7] = [0, 0, 0, 1, 0x46, 0x01, 0x50];

/// Writes pictures and packets of sound, each as soon as it is there.
///
/// Times are ticks of 90 kHz from the beginning of the stream; they wrap in it.
#[derive(Clone, Debug)]
pub struct TsWriter {
    codec: Codec,
    kind: u8,
    sound: Option<Sounds>,
    version: u8,
    /// Pictures since the tables.
    since_tables: Option<u32>,
    /// Counters of the packets: of the tables, of the picture, and of the sound.
    counters: [u8; 4],
}

/// Fields in front of the content of a packet.
#[derive(Clone, Copy, Default)]
struct Adaptation {
    /// A decoder can begin here.
    random_access: bool,
    clock: Option<u64>,
}

impl TsWriter {
    /// Begins a stream of pictures in Annex B. `None` of a codec for which there is no form that readers agree on.
    pub fn begin(codec: Codec) -> Option<Self> {
        Some(Self {
            codec,
            kind: picture_type(codec)?,
            sound: None,
            version: 0,
            since_tables: None,
            counters: [0; 4],
        })
    }

    /// Returns the tables, which also stand before the first picture.
    pub fn head(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.tables(&mut out);
        out
    }

    fn tables(&mut self, out: &mut Vec<u8>) {
        self.table(PAT_PID, &programs(), out);
        self.table(PMT_PID, &program(self.version, self.kind, self.sound), out);
    }

    /// From here on there is such sound.
    pub fn set_sound(&mut self, sound: Option<Sounds>) {
        if std::mem::replace(&mut self.sound, sound) != sound {
            self.version = self.version.wrapping_add(1);
            self.since_tables = None;
        }
    }

    /// Appends a picture that is shown at `shown` and decoded at `decoded`.
    pub fn picture(&mut self, (decoded, shown): (u64, u64), keyframe: bool, data: &[u8], out: &mut Vec<u8>) {
        if keyframe || self.since_tables.is_none_or(|pictures| pictures >= TABLES_AFTER) {
            self.tables(out);
            self.since_tables = Some(0);
        }
        self.since_tables = self.since_tables.map(|pictures| pictures + 1);
        let delimiter: &[u8] = match self.codec {
            Codec::H265 => &H265_DELIMITER,
            _ => &H264_DELIMITER,
        };
        let first = find_start_code(data, 0).and_then(|at| data.get(at + 3));
        let delimited = first.is_some_and(|first| match self.codec {
            Codec::H265 => first >> 1 == H265_DELIMITER[4] >> 1,
            _ => first & 0x1f == H264_DELIMITER[4] & 0x1f,
        });
        // The length of a picture is not told: 16 bits are too few for it.
        let mut piece = head(PICTURE_STREAM, shown, Some(decoded).filter(|decoded| *decoded != shown));
        piece.extend_from_slice(if delimited { &[] } else { delimiter });
        piece.extend_from_slice(data);
        let adaptation = Adaptation {
            random_access: keyframe,
            clock: Some(decoded),
        };
        self.packets(PICTURE_PID, adaptation, &piece, out);
    }

    /// Appends a packet of sound. False if it has no form, which leaves it out.
    pub fn sound(&mut self, at: u64, data: &[u8], out: &mut Vec<u8>) -> bool {
        let (stream, content) = match self.sound {
            None => return false,
            Some(Sounds::Aac(header)) => {
                let mut frame = Vec::with_capacity(data.len() + 7);
                if !header.put(data, &mut frame) {
                    return false;
                }
                (SOUND_STREAM, frame)
            }
            Some(Sounds::Opus(_)) => (PRIVATE_STREAM, opus(data)),
        };
        let mut piece = head(stream, at, None);
        let Ok(length) = u16::try_from(piece.len() - 6 + content.len()) else {
            return false;
        };
        piece[4..6].copy_from_slice(&length.to_be_bytes());
        piece.extend_from_slice(&content);
        let adaptation = Adaptation {
            random_access: true,
            clock: None,
        };
        self.packets(SOUND_PID, adaptation, &piece, out);
        true
    }

    /// The number of the next packet.
    fn count(&mut self, pid: u16) -> u8 {
        let counter = match pid {
            PAT_PID => 0,
            PMT_PID => 1,
            PICTURE_PID => 2,
            _ => 3,
        };
        let counter = &mut self.counters[counter];
        let number = *counter;
        *counter = (number + 1) & 0xf;
        number
    }

    fn table(&mut self, pid: u16, section: &[u8], out: &mut Vec<u8>) {
        let end = out.len() + TS_PACKET;
        let [high, low] = (0x4000 | pid).to_be_bytes();
        // Behind the header: how many bytes are before the section.
        out.extend_from_slice(&[TS_SYNC, high, low, 0x10 | self.count(pid), 0]);
        out.extend_from_slice(section);
        out.resize(end, 0xff);
    }

    fn packets(&mut self, pid: u16, first: Adaptation, mut content: &[u8], out: &mut Vec<u8>) {
        let (mut adaptation, mut start) = (first, 0x4000);
        while !content.is_empty() {
            let mut fields = Vec::new();
            if adaptation.random_access || adaptation.clock.is_some() {
                fields.push(u8::from(adaptation.random_access) << 6 | u8::from(adaptation.clock.is_some()) << 4);
                fields.extend(adaptation.clock.into_iter().flat_map(clock));
            }
            let used = if fields.is_empty() { 0 } else { fields.len() + 1 };
            let room = TS_PACKET - HEADER - used;
            let (here, rest) = content.split_at(room.min(content.len()));
            let fill = room - here.len();
            let has_fields = used > 0 || fill > 0;
            let [high, low] = (start | pid).to_be_bytes();
            let control = if has_fields { 0x30 } else { 0x10 } | self.count(pid);
            out.extend_from_slice(&[TS_SYNC, high, low, control]);
            if has_fields {
                let length = used + fill - 1;
                out.push(length as u8);
                if used == 0 && length > 0 {
                    fields.push(0);
                }
                fields.resize(length, 0xff);
                out.extend_from_slice(&fields);
            }
            out.extend_from_slice(here);
            (content, adaptation, start) = (rest, Adaptation::default(), 0);
        }
    }
}

/// The header of a piece of a stream, with its times, and no length.
fn head(stream: u8, shown: u64, decoded: Option<u64>) -> Vec<u8> {
    let mut out = vec![0, 0, 1, stream, 0, 0, 0x84];
    match decoded {
        None => {
            out.extend_from_slice(&[0x80, 5]);
            out.extend_from_slice(&time(2, shown));
        }
        Some(decoded) => {
            out.extend_from_slice(&[0xc0, 10]);
            out.extend_from_slice(&time(3, shown));
            out.extend_from_slice(&time(1, decoded));
        }
    }
    out
}

/// A time behind these four bits. It begins later by the lead of the clock, which so begins at 0.
fn time(mark: u8, ticks: u64) -> [u8; 5] {
    let ticks = ticks.wrapping_add(LEAD) & ((1 << TIME_BITS) - 1);
    [
        mark << 4 | (ticks >> 29) as u8 & 0xe | 1,
        (ticks >> 22) as u8,
        (ticks >> 14) as u8 | 1,
        (ticks >> 7) as u8,
        (ticks << 1) as u8 | 1,
    ]
}

/// The clock at the decoding time of a picture, less the lead.
fn clock(ticks: u64) -> [u8; 6] {
    // Behind 33 bits of time and 6 that are reserved, none of the nine that are finer.
    let bits = (ticks & ((1 << TIME_BITS) - 1)) << 15 | 0x7e00;
    let [_, _, bytes @ ..] = bits.to_be_bytes();
    bytes
}

/// A packet of Opus behind its control header, which says how long it is.
fn opus(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x7f, 0xe0];
    out.extend(std::iter::repeat_n(0xff, data.len() / 255));
    out.push((data.len() % 255) as u8);
    out.extend_from_slice(data);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_whole_and_counted_whatever_the_length_of_a_picture() {
        for length in (5..400).chain([100_000]) {
            let mut writer = TsWriter::begin(Codec::H264).expect("a form");
            let data = [&[0, 0, 0, 1, 0x65][..], &vec![0x5a; length]].concat();
            let mut out = Vec::new();
            for (number, keyframe) in [true, false, true].into_iter().enumerate() {
                let at = number as u64 * 3600;
                writer.picture((at, at), keyframe, &data, &mut out);
            }
            let (packets, rest) = out.as_chunks::<TS_PACKET>();
            assert!(rest.is_empty());
            let mut content = Vec::new();
            let mut counter = 0_u8;
            for packet in packets {
                assert_eq!(packet[0], TS_SYNC);
                if packet[1..3] != [0x41, 0] && packet[1..3] != [1, 0] {
                    continue;
                }
                assert_eq!(packet[3] & 0xf, counter % 16, "{length}");
                counter = counter.wrapping_add(1);
                let fields = match packet[3] & 0x20 {
                    0 => 0,
                    _ => 1 + usize::from(packet[4]),
                };
                content.extend_from_slice(&packet[HEADER + fields..]);
            }
            assert_eq!(content.len(), 3 * (14 + 6 + data.len()), "{length}");
            assert_eq!(content[14..20], H264_DELIMITER);
        }
    }

    #[test]
    fn a_picture_with_a_delimiter_gets_no_second_one() {
        for (codec, delimiter) in [(Codec::H264, &H264_DELIMITER[..]), (Codec::H265, &H265_DELIMITER)] {
            let mut writer = TsWriter::begin(codec).expect("a form");
            let data = [delimiter, &[0, 0, 1, 0x26, 1, 7]].concat();
            let mut out = Vec::new();
            writer.picture((0, 0), false, &data, &mut out);
            assert!(
                out.ends_with(&[&[0x80, 5, 0x21, 0, 1, 0x0e, 0x11][..], &data].concat()),
                "{out:x?}"
            );
        }
        assert!(TsWriter::begin(Codec::Av1).is_none() && TsWriter::begin(Codec::Mjpeg).is_none());
    }

    #[test]
    fn opus_says_its_length_in_255s() {
        assert_eq!(opus(&[7; 3]), [0x7f, 0xe0, 3, 7, 7, 7]);
        assert_eq!(opus(&[7; 255])[..4], [0x7f, 0xe0, 255, 0]);
        assert_eq!(opus(&[7; 600])[..5], [0x7f, 0xe0, 255, 255, 90]);
    }
}
