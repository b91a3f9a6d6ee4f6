//! Writes a live stream of Matroska.

use std::time::Duration;

use super::ebml::{UNKNOWN_SIZE, put, put_id, put_number, put_size};
use super::{PICTURES, SOUND, WAV_ALAW, WAV_ULAW, id, picture_name, sound_name};
use crate::unit::sound_headers::{OPUS_MAGIC, opus_pre_skip};
use crate::unit::{Codec, SoundCodec, SoundInfo};

/// Numbers of the tracks.
const PICTURE_TRACK: u8 = 1;
const SOUND_TRACK: u8 = 2;

/// Nanoseconds of a tick.
const SCALE: u64 = 1_000_000;
/// Time that a decoder of Opus needs before a place where it begins, in ns (RFC 7845, section 4.6).
const OPUS_PRE_ROLL: u64 = 80_000_000;
/// Samples a second of Opus.
const OPUS_RATE: u64 = 48_000;
/// Longest time of a cluster in ticks: times in it have 16 bits with a sign.
const LONGEST_CLUSTER: i64 = 30_000;

/// Description of the pictures.
#[derive(Clone, Copy, Debug)]
pub struct PictureTrack<'a> {
    /// Their codec.
    pub codec: Codec,
    /// The codec's own description: the content of the box `avcC`, `hvcC` or `av1C` of MP4; empty for JPEG.
    pub private: &'a [u8],
    /// Width and height.
    pub size: [u16; 2],
}

/// Writes pictures and packets of sound, each as soon as it is there.
///
/// Times count from the beginning of the stream. A picture of H.264 or H.265 is written as [`PictureTrack::private`]
/// says: with lengths of four bytes in place of start codes. Its parameter sets may stay in it, and so they can change.
#[derive(Clone, Debug)]
pub struct MatroskaWriter {
    /// The time that is added to that of sound, which a reader takes away again.
    sound_delay: Duration,
    /// Time of the cluster that was begun, in ticks.
    cluster: Option<i64>,
}

impl MatroskaWriter {
    /// Begins a stream. Returns what stands before its first cluster.
    pub fn begin(picture: PictureTrack<'_>, sound: Option<&SoundInfo>) -> (Self, Vec<u8>) {
        let mut out = Vec::new();
        let mut head = Vec::new();
        for (id, number) in [(0x4286, 1), (0x42f7, 1), (0x42f2, 4), (0x42f3, 8)] {
            put_number(id, number, &mut head);
        }
        put(id::DOC_TYPE, b"matroska", &mut head);
        for (id, number) in [(0x4287, 4), (0x4285, 2)] {
            put_number(id, number, &mut head);
        }
        put(id::EBML, &head, &mut out);
        put_id(id::SEGMENT, &mut out);
        out.extend_from_slice(&UNKNOWN_SIZE);
        let mut info = Vec::new();
        put_number(id::TIMESTAMP_SCALE, SCALE, &mut info);
        // The programs that muxed and wrote it, which the format asks for.
        put(0x4d80, b"sealcast", &mut info);
        put(0x5741, b"sealcast", &mut info);
        put(id::INFO, &info, &mut out);
        let mut tracks = Vec::new();
        put(id::TRACK_ENTRY, &picture_entry(picture), &mut tracks);
        if let Some(sound) = sound {
            put(id::TRACK_ENTRY, &sound_entry(sound), &mut tracks);
        }
        put(id::TRACKS, &tracks, &mut out);
        let writer = Self {
            sound_delay: Duration::from_nanos(sound.map_or(0, codec_delay)),
            cluster: None,
        };
        (writer, out)
    }

    /// Appends a picture.
    pub fn picture(&mut self, at: Duration, keyframe: bool, data: &[u8], out: &mut Vec<u8>) {
        if keyframe {
            self.cluster = None;
        }
        self.block(PICTURE_TRACK, at, keyframe, data, out);
    }

    /// Appends a packet of sound.
    pub fn sound(&mut self, at: Duration, data: &[u8], out: &mut Vec<u8>) {
        self.block(SOUND_TRACK, at + self.sound_delay, true, data, out);
    }

    fn block(&mut self, track: u8, at: Duration, keyframe: bool, data: &[u8], out: &mut Vec<u8>) {
        let ticks = (at.as_nanos() + u128::from(SCALE) / 2) / u128::from(SCALE);
        let ticks = i64::try_from(ticks).unwrap_or(i64::MAX);
        let near = |begun: &i64| ticks.saturating_sub(*begun).abs() < LONGEST_CLUSTER;
        let begun = self.cluster.filter(near).unwrap_or_else(|| {
            put_id(id::CLUSTER, out);
            out.extend_from_slice(&UNKNOWN_SIZE);
            put_number(id::TIMESTAMP, ticks.unsigned_abs(), out);
            ticks
        });
        self.cluster = Some(begun);
        let relative = i16::try_from(ticks - begun).unwrap_or(0);
        put_id(id::SIMPLE_BLOCK, out);
        put_size(data.len() as u64 + 4, out);
        out.push(0x80 | track);
        out.extend_from_slice(&relative.to_be_bytes());
        out.push(if keyframe { 0x80 } else { 0 });
        out.extend_from_slice(data);
    }
}

fn entry(track: u8, kind: u64, codec: &str, private: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_number(id::TRACK_NUMBER, track.into(), &mut out);
    put_number(id::TRACK_UID, track.into(), &mut out);
    put_number(id::TRACK_TYPE, kind, &mut out);
    put_number(id::FLAG_LACING, 0, &mut out);
    put(id::CODEC_ID, codec.as_bytes(), &mut out);
    if !private.is_empty() {
        put(id::CODEC_PRIVATE, private, &mut out);
    }
    out
}

fn picture_entry(picture: PictureTrack<'_>) -> Vec<u8> {
    let mut video = Vec::new();
    for (id, side) in [id::PIXEL_WIDTH, id::PIXEL_HEIGHT].into_iter().zip(picture.size) {
        put_number(id, side.into(), &mut video);
    }
    let mut out = entry(PICTURE_TRACK, PICTURES, picture_name(picture.codec), picture.private);
    put(id::VIDEO, &video, &mut out);
    out
}

fn sound_entry(sound: &SoundInfo) -> Vec<u8> {
    let private = match sound.codec {
        SoundCodec::Aac => sound.parameters.clone(),
        SoundCodec::Opus => [OPUS_MAGIC, &sound.parameters].concat(),
        SoundCodec::Ulaw => wav(WAV_ULAW, sound),
        SoundCodec::Alaw => wav(WAV_ALAW, sound),
    };
    let mut out = entry(SOUND_TRACK, SOUND, sound_name(sound.codec), &private);
    if sound.codec == SoundCodec::Opus {
        put_number(id::CODEC_DELAY, codec_delay(sound), &mut out);
        put_number(id::SEEK_PRE_ROLL, OPUS_PRE_ROLL, &mut out);
    }
    let mut audio = Vec::new();
    let rate = f64::from(sound.samples_per_second);
    put(id::SAMPLING_FREQUENCY, &rate.to_be_bytes(), &mut audio);
    put_number(id::CHANNELS, sound.channels.into(), &mut audio);
    put(id::AUDIO, &audio, &mut out);
    out
}

/// Time of what a decoder leaves out at the beginning, in ns.
fn codec_delay(sound: &SoundInfo) -> u64 {
    match sound.codec {
        SoundCodec::Opus => u64::from(opus_pre_skip(&sound.parameters)) * 1_000_000_000 / OPUS_RATE,
        SoundCodec::Aac | SoundCodec::Ulaw | SoundCodec::Alaw => 0,
    }
}

/// The description of G.711 as in a WAV file (`WAVEFORMATEX`).
fn wav(tag: u16, sound: &SoundInfo) -> Vec<u8> {
    let (channels, rate) = (sound.channels, sound.samples_per_second);
    let bytes = rate.saturating_mul(channels.into());
    let mut out = Vec::new();
    out.extend_from_slice(&tag.to_le_bytes());
    out.extend_from_slice(&channels.to_le_bytes());
    out.extend_from_slice(&rate.to_le_bytes());
    out.extend_from_slice(&bytes.to_le_bytes());
    // Bytes of a sample of all channels, bits of one, and no more bytes.
    for number in [channels, 8, 0] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of what was written: track, time in ms, and whether it is a keyframe.
    fn blocks(mut rest: &[u8]) -> Vec<(u8, i64, bool)> {
        let (mut blocks, mut cluster) = (Vec::new(), 0);
        while let Some((&first, _)) = rest.split_first() {
            match first {
                0x1f => {
                    let length = usize::from(rest[13] & 0x7f);
                    let time = &rest[14..14 + length];
                    cluster = time.iter().fold(0, |sum, byte| sum << 8 | i64::from(*byte));
                    rest = &rest[14 + length..];
                }
                0xa3 => {
                    let length = usize::from(rest[1] & 0x7f);
                    let relative = i16::from_be_bytes([rest[3], rest[4]]);
                    blocks.push((rest[2] & 0x7f, cluster + i64::from(relative), rest[5] == 0x80));
                    rest = &rest[2 + length..];
                }
                other => panic!("{other:#x}"),
            }
        }
        blocks
    }

    fn writer(sound: Option<&SoundInfo>) -> MatroskaWriter {
        let picture = PictureTrack {
            codec: Codec::H264,
            private: &[1],
            size: [16, 16],
        };
        MatroskaWriter::begin(picture, sound).0
    }

    #[test]
    fn times_stay_whatever_their_order_and_however_long_the_stream() {
        let mut writer = writer(None);
        let millis = [0, 120, 40, 80, 29_990, 30_100, 10, 4_000_000];
        let mut out = Vec::new();
        for (number, at) in millis.into_iter().enumerate() {
            writer.picture(Duration::from_millis(at), number == 0, &[9; 20], &mut out);
        }
        let blocks = blocks(&out);
        assert!(blocks.iter().all(|(track, ..)| *track == PICTURE_TRACK));
        let times = blocks.iter().map(|(_, time, _)| time.unsigned_abs());
        assert_eq!(times.collect::<Vec<_>>(), millis);
        assert_eq!(blocks.iter().filter(|(.., keyframe)| *keyframe).count(), 1);
    }

    #[test]
    fn sound_of_opus_is_later_by_what_its_reader_takes_away() {
        let parameters = [&[1, 2, 0x38, 0x01][..], &48_000_u32.to_le_bytes(), &[0; 3]].concat();
        let sound = SoundInfo {
            codec: SoundCodec::Opus,
            channels: 2,
            samples_per_second: 48_000,
            samples_per_frame: 960,
            parameters,
        };
        assert!(sound.is_valid());
        let (mut writer, mut out) = (writer(Some(&sound)), Vec::new());
        writer.picture(Duration::from_millis(100), true, &[9; 20], &mut out);
        writer.sound(Duration::from_micros(93_500), &[9; 20], &mut out);
        assert_eq!(blocks(&out), [(PICTURE_TRACK, 100, true), (SOUND_TRACK, 100, true)]);
    }
}
