//! Choice of a camera's media: its picture, and the sound beside it.

use sealcast_proto::rtp::{Depacketizer, MediaDescription, MediaKind, Medium, SoundDepacketizer};
use sealcast_proto::rtsp::Track;

use super::super::coded::sane_rate;
use crate::media::{Codec, FrameRate};

/// The tracks that are taken.
pub(in crate::source) struct Choice {
    pub(in crate::source) picture: Picture,
    pub(in crate::source) sound: Option<Sound>,
    /// Sound that is left out, and why.
    pub(in crate::source) left_out: Option<String>,
}

/// The track of the picture.
pub(in crate::source) struct Picture {
    pub(in crate::source) track: Track,
    pub(in crate::source) codec: Codec,
    pub(in crate::source) payload_type: u8,
    pub(in crate::source) clock_rate: u32,
    pub(in crate::source) depacketizer: Depacketizer,
    pub(in crate::source) rate: Option<FrameRate>,
}

/// The track of the sound.
pub(in crate::source) struct Sound {
    pub(in crate::source) track: Track,
    pub(in crate::source) payload_type: u8,
    pub(in crate::source) clock_rate: u32,
    pub(in crate::source) depacketizer: SoundDepacketizer,
}

/// Chooses the first picture and the first sound that can be carried. Sound that cannot be leaves the picture.
///
/// # Errors
/// The camera's words for what it has instead of a picture.
pub(in crate::source) fn choose(description: &MediaDescription, with_sound: bool) -> Result<Choice, String> {
    let picture = description.tracks().find_map(|(track, medium)| picture(track, medium));
    let picture = picture.ok_or_else(|| names(description))?;
    let (mut sound, mut left_out) = (None, None);
    let sounds = description.tracks().filter(|(_, medium)| is_sound(medium));
    for (track, medium) in sounds.take_while(|_| with_sound) {
        match carried(track, medium) {
            Ok(carried) => {
                (sound, left_out) = (Some(carried), None);
                break;
            }
            Err(why) => {
                left_out.get_or_insert(why);
            }
        }
    }
    Ok(Choice {
        picture,
        sound,
        left_out,
    })
}

fn picture(track: Track, medium: &Medium) -> Option<Picture> {
    if medium.kind != MediaKind::Video || medium.encrypted || medium.back_channel {
        return None;
    }
    let format = medium.format()?;
    let depacketizer = Depacketizer::of(format, medium.size)?;
    Some(Picture {
        track,
        codec: match depacketizer {
            Depacketizer::H264(_) => Codec::H264,
            Depacketizer::H265(_) => Codec::H265,
            Depacketizer::Jpeg(_) => Codec::Mjpeg,
        },
        payload_type: format.payload_type,
        clock_rate: format.clock_rate,
        depacketizer,
        rate: medium
            .frame_rate
            .and_then(|rate| sane_rate(rate.numerator, rate.denominator)),
    })
}

fn is_sound(medium: &Medium) -> bool {
    medium.kind == MediaKind::Audio && !medium.back_channel && !medium.encrypted
}

/// A sound that can be carried, or else what it is and why it is left out.
fn carried(track: Track, medium: &Medium) -> Result<Sound, String> {
    let format = medium.format().ok_or("sound without a format")?;
    let depacketizer = SoundDepacketizer::new(format).map_err(|why| format!("{}, {why}", format.encoding))?;
    Ok(Sound {
        track,
        payload_type: format.payload_type,
        clock_rate: format.clock_rate,
        depacketizer,
    })
}

/// Names of the media of a camera without a picture that is carried, for people.
fn names(description: &MediaDescription) -> String {
    let names = description.media.iter().map(|medium| {
        let kind = match &medium.kind {
            MediaKind::Video => "video",
            MediaKind::Audio => "audio",
            MediaKind::Other(name) => name,
        };
        let encrypted = if medium.encrypted { "encrypted " } else { "" };
        let encoding = medium.format().map_or("unnamed", |format| &format.encoding);
        format!("{encrypted}{encoding} {kind}")
    });
    let names = names.collect::<Vec<_>>().join(" and ");
    if names.is_empty() { "nothing".into() } else { names }
}
