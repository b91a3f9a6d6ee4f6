//! Matroska (RFC 9559): what a live stream needs of it.
//!
//! [`MatroskaWriter`] makes a stream that has no end and can be joined at no other place than its beginning.
//! [`MatroskaReader`] reads such streams and files, from their beginning on, without going back in them.

mod blocks;
mod ebml;
mod reader;
mod tracks;
mod writer;

pub use reader::{Damaged, MatroskaReader};
pub use writer::{MatroskaWriter, PictureTrack};

use crate::unit::{Codec, SoundCodec};

/// Numbers of elements.
mod id {
    pub(super) const EBML: u32 = 0x1a45_dfa3;
    pub(super) const DOC_TYPE: u32 = 0x4282;
    pub(super) const SEGMENT: u32 = 0x1853_8067;
    pub(super) const INFO: u32 = 0x1549_a966;
    pub(super) const TIMESTAMP_SCALE: u32 = 0x2a_d7b1;
    pub(super) const TRACKS: u32 = 0x1654_ae6b;
    pub(super) const TRACK_ENTRY: u32 = 0xae;
    pub(super) const TRACK_NUMBER: u32 = 0xd7;
    pub(super) const TRACK_UID: u32 = 0x73c5;
    pub(super) const TRACK_TYPE: u32 = 0x83;
    pub(super) const FLAG_LACING: u32 = 0x9c;
    pub(super) const CODEC_ID: u32 = 0x86;
    pub(super) const CODEC_PRIVATE: u32 = 0x63a2;
    pub(super) const CODEC_DELAY: u32 = 0x56aa;
    pub(super) const SEEK_PRE_ROLL: u32 = 0x56bb;
    pub(super) const VIDEO: u32 = 0xe0;
    pub(super) const PIXEL_WIDTH: u32 = 0xb0;
    pub(super) const PIXEL_HEIGHT: u32 = 0xba;
    pub(super) const AUDIO: u32 = 0xe1;
    pub(super) const SAMPLING_FREQUENCY: u32 = 0xb5;
    pub(super) const CHANNELS: u32 = 0x9f;
    pub(super) const CLUSTER: u32 = 0x1f43_b675;
    pub(super) const TIMESTAMP: u32 = 0xe7;
    pub(super) const SIMPLE_BLOCK: u32 = 0xa3;
    pub(super) const BLOCK_GROUP: u32 = 0xa0;
    pub(super) const BLOCK: u32 = 0xa1;
    pub(super) const REFERENCE: u32 = 0xfb;
    pub(super) const ENCODINGS: u32 = 0x6d80;
    pub(super) const ENCODING: u32 = 0x6240;
    pub(super) const COMPRESSION: u32 = 0x5034;
    pub(super) const ALGORITHM: u32 = 0x4254;
    pub(super) const SETTINGS: u32 = 0x4255;
}

/// Types of tracks.
const PICTURES: u64 = 1;
const SOUND: u64 = 2;

/// Names of codecs.
const AVC: &str = "V_MPEG4/ISO/AVC";
const HEVC: &str = "V_MPEGH/ISO/HEVC";
const AV1: &str = "V_AV1";
const JPEG: &str = "V_MJPEG";
const AAC: &str = "A_AAC";
const OPUS: &str = "A_OPUS";
/// Sound that is described as in a WAV file: here G.711.
const ACM: &str = "A_MS/ACM";

/// Tags of G.711 in the description of a WAV file.
const WAV_ALAW: u16 = 6;
const WAV_ULAW: u16 = 7;

fn picture_name(codec: Codec) -> &'static str {
    match codec {
        Codec::H264 => AVC,
        Codec::H265 => HEVC,
        Codec::Av1 => AV1,
        Codec::Mjpeg => JPEG,
    }
}

fn sound_name(codec: SoundCodec) -> &'static str {
    match codec {
        SoundCodec::Aac => AAC,
        SoundCodec::Opus => OPUS,
        SoundCodec::Ulaw | SoundCodec::Alaw => ACM,
    }
}
