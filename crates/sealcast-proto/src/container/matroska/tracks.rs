//! The tracks of a stream, as its beginning describes them.

use super::ebml::{child, elements, float, unsigned};
use super::{AAC, ACM, AV1, AVC, HEVC, JPEG, OPUS, PICTURES, SOUND, WAV_ALAW, WAV_ULAW, id};
use crate::container::{Pictures, Tracks};
use crate::unit::sound_headers;
use crate::unit::{Codec, SoundCodec, SoundInfo};

/// Algorithm of a compression that leaves out the first bytes of each frame.
const STRIPPED: u64 = 3;
/// Most bytes of them.
const MAX_STRIPPED: usize = 64;
/// Longest description of a codec in bytes.
const MAX_PRIVATE: usize = 64 << 10;

/// A track that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadTrack {
    pub(super) number: u64,
    /// Time that is taken from that of its frames, in ns.
    pub(super) delay: u64,
    /// Bytes before each frame that were left out.
    pub(super) stripped: Vec<u8>,
}

/// Tracks that are read: the first picture and the first sound that are carried.
#[derive(Clone, Debug, Default)]
pub(super) struct Chosen {
    pub(super) picture: Option<ReadTrack>,
    pub(super) sound: Option<(ReadTrack, SoundInfo)>,
    pub(super) tracks: Tracks,
}

/// Chooses among the tracks of a stream.
pub(super) fn choose(content: &[u8]) -> Chosen {
    let mut chosen = Chosen::default();
    for (_, entry) in elements(content).filter(|(found, _)| *found == id::TRACK_ENTRY) {
        let kind = child(entry, id::TRACK_TYPE).and_then(unsigned);
        let codec = child(entry, id::CODEC_ID).unwrap_or_default();
        let codec = String::from_utf8_lossy(codec).trim_end_matches('\0').to_owned();
        let private = child(entry, id::CODEC_PRIVATE).unwrap_or_default();
        let private = &private[..private.len().min(MAX_PRIVATE)];
        let Some(track) = read_track(entry) else {
            chosen
                .tracks
                .leave_out(format!("{} that is compressed or encrypted", title(&codec)));
            continue;
        };
        match kind {
            Some(PICTURES) => match pictures(&codec, private) {
                Some(_) if chosen.picture.is_some() => chosen.tracks.leave_out("another picture".into()),
                Some(pictures) => {
                    chosen.picture = Some(track);
                    chosen.tracks.picture = Some(pictures);
                }
                None => chosen.tracks.leave_out(title(&codec)),
            },
            Some(SOUND) => match sound(&codec, private, child(entry, id::AUDIO).unwrap_or_default()) {
                Some(_) if chosen.sound.is_some() => chosen.tracks.leave_out("other sound".into()),
                Some(info) => {
                    chosen.sound = Some((track, info));
                    chosen.tracks.sound = true;
                }
                None => chosen.tracks.leave_out(title(&codec)),
            },
            // Subtitles and the like.
            _ => {}
        }
    }
    chosen
}

/// The name of a codec for people.
fn title(codec: &str) -> String {
    let known = [
        ("V_VP8", "VP8"),
        ("V_VP9", "VP9"),
        ("V_MPEG4/ISO/ASP", "MPEG-4 part 2 video"),
        ("V_MPEG2", "MPEG-2 video"),
        ("A_VORBIS", "Vorbis sound"),
        ("A_AC3", "AC-3 sound"),
        ("A_FLAC", "FLAC sound"),
        ("A_MPEG/L3", "MP3 sound"),
    ];
    let known = known.iter().find(|(name, _)| *name == codec);
    known.map_or_else(
        || codec.escape_default().take(40).collect(),
        |(_, title)| (*title).to_owned(),
    )
}

/// A track without its codec; `None` if its frames were made into something else.
fn read_track(entry: &[u8]) -> Option<ReadTrack> {
    let mut stripped = Vec::new();
    let encodings = child(entry, id::ENCODINGS).unwrap_or_default();
    for (_, encoding) in elements(encodings).filter(|(found, _)| *found == id::ENCODING) {
        let compression = child(encoding, id::COMPRESSION)?;
        let settings = child(compression, id::SETTINGS).unwrap_or_default();
        let algorithm = child(compression, id::ALGORITHM).and_then(unsigned);
        if algorithm != Some(STRIPPED) || settings.len() > MAX_STRIPPED || !stripped.is_empty() {
            return None;
        }
        stripped = settings.to_vec();
    }
    Some(ReadTrack {
        number: child(entry, id::TRACK_NUMBER).and_then(unsigned)?,
        delay: child(entry, id::CODEC_DELAY).and_then(unsigned).unwrap_or(0),
        stripped,
    })
}

fn pictures(codec: &str, private: &[u8]) -> Option<Pictures> {
    let codec = match codec {
        AVC => Codec::H264,
        HEVC => Codec::H265,
        AV1 => Codec::Av1,
        JPEG => Codec::Mjpeg,
        _ => return None,
    };
    let private = (codec != Codec::Mjpeg).then(|| private.to_vec());
    Some(Pictures { codec, private })
}

fn sound(codec: &str, private: &[u8], audio: &[u8]) -> Option<SoundInfo> {
    let channels = child(audio, id::CHANNELS).and_then(unsigned).unwrap_or(1);
    let channels = u16::try_from(channels).ok()?;
    let rate = child(audio, id::SAMPLING_FREQUENCY).and_then(float).unwrap_or(8000.0);
    match codec {
        AAC => sound_headers::aac(private, channels),
        OPUS => sound_headers::opus_head(private, 0),
        ACM => {
            let tag = private.first_chunk().map(|tag| u16::from_le_bytes(*tag))?;
            let codec = match tag {
                WAV_ULAW => SoundCodec::Ulaw,
                WAV_ALAW => SoundCodec::Alaw,
                _ => return None,
            };
            // Out of range it is 0, which no sound has.
            sound_headers::g711(codec, channels, rate as u32)
        }
        _ => None,
    }
}
