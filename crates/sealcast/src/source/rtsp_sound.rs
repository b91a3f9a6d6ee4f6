//! The sound of an RTSP camera: which of its streams it is, and when it was made by the picture's clock.

use std::time::{Duration, Instant};

use retina::client;
use retina::codec::{AudioParameters, ParametersRef};
use retina::rtcp::{ReceivedCompoundPacket, TypedPacketRef};

use super::rtsp_frames::{OPUS, format_parameters};
use super::sound;
use crate::media::{SoundCodec, SoundInfo};

/// What the camera says of sound and picture is believed if it differs by no more than this from when they came.
const PLAUSIBLE: i128 = 500_000_000;
/// Samples a second of Opus.
const OPUS_RATE: u32 = 48_000;
/// A correction below this many nanoseconds is the inaccuracy of the camera's reports.
const NOTICEABLE: i128 = 5_000_000;
/// Seconds of an NTP timestamp in its upper 32 bits.
const NTP_SECOND: u32 = 32;

/// A stream of sound that the camera offers: its number, or what it is called if it cannot be carried.
pub(super) enum Offered {
    Carried(usize, Kind),
    LeftOut(String),
}

/// How its packets are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Aac,
    Opus,
    G711(SoundCodec),
}

/// The first stream of sound that can be carried, or else the name of the first; `None` if there is no sound.
pub(super) fn choose(streams: &[client::Stream]) -> Option<Offered> {
    let sounds = || {
        streams
            .iter()
            .enumerate()
            .filter(|(_, stream)| stream.media() == "audio")
    };
    let carried = sounds().find_map(|(number, stream)| {
        let kind = match stream.encoding_name() {
            "mpeg4-generic" => Kind::Aac,
            OPUS => Kind::Opus,
            "pcmu" => Kind::G711(SoundCodec::Ulaw),
            "pcma" => Kind::G711(SoundCodec::Alaw),
            _ => return None,
        };
        Some(Offered::Carried(number, kind))
    });
    carried.or_else(|| {
        sounds()
            .next()
            .map(|(_, stream)| Offered::LeftOut(stream.encoding_name().to_owned()))
    })
}

/// Describes the sound of a stream that was set up, in the session of this description. `None` if the camera describes
/// it so that no decoder could know it.
pub(super) fn describe(stream: &client::Stream, kind: Kind, sdp: &[u8]) -> Option<SoundInfo> {
    if kind == Kind::Opus {
        return opus(format_parameters(sdp, stream.media(), stream.rtp_payload_type()));
    }
    let Some(ParametersRef::Audio(parameters)) = stream.parameters() else {
        return None;
    };
    let channels = parameters.channels().get();
    match kind {
        Kind::Aac => sound::aac(AudioParameters::extra_data(parameters), channels),
        Kind::G711(codec) => sound::g711(codec, channels, parameters.clock_rate()),
        Kind::Opus => None,
    }
}

/// Describes Opus with these parameters (RFC 7587, section 6.1). All of it says that it has two channels, and
/// `sprop-stereo` whether it has.
fn opus(parameters: Option<&str>) -> Option<SoundInfo> {
    let stereo = parameters
        .unwrap_or_default()
        .split(';')
        .any(|parameter| parameter.trim() == "sprop-stereo=1");
    // Who joins has no beginning of the stream, of which samples would have to be left out.
    let pre_skip = [0, 0];
    let [a, b, c, d] = OPUS_RATE.to_be_bytes();
    let dops = [&[0, 1 + u8::from(stereo)][..], &pre_skip, &[a, b, c, d], &[0; 3]].concat();
    sound::opus(&dops, 0)
}

/// One stream's part of the clock.
#[derive(Clone, Copy, Default)]
struct Side {
    /// When the camera's clock said what the stream's says 0, ns since 1900, by its last report.
    reported: Option<i128>,
    /// When that moment was here by the first packet, ns since this session began.
    arrived: Option<i128>,
}

/// Translates the times of the sound into those of the picture.
pub(super) struct SoundClock {
    began: Instant,
    picture: Side,
    sound: Side,
    /// What is added to the sound's times, in nanoseconds.
    offset: Option<i128>,
}

/// A stream's own time in nanoseconds since it began.
pub(super) fn elapsed(timestamp: retina::Timestamp) -> i128 {
    i128::from(timestamp.elapsed()) * 1_000_000_000 / i128::from(timestamp.clock_rate().get())
}

impl SoundClock {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            began: now,
            picture: Side::default(),
            sound: Side::default(),
            offset: None,
        }
    }

    fn since(&self, received: Instant) -> i128 {
        i128::try_from(received.saturating_duration_since(self.began).as_nanos()).unwrap_or(0)
    }

    /// A picture with this time of its stream came.
    pub(super) fn picture_came(&mut self, elapsed: i128, received: Instant) {
        let arrived = self.since(received) - elapsed;
        self.picture.arrived.get_or_insert(arrived);
    }

    /// The camera reports its clock for the stream of the sound, or of the picture.
    pub(super) fn reported(&mut self, of_sound: bool, report: &ReceivedCompoundPacket) {
        let Some(timestamp) = report.rtp_timestamp() else {
            return;
        };
        for packet in report.pkts() {
            if let Ok(Some(TypedPacketRef::SenderReport(report))) = packet.as_typed() {
                let ntp = (i128::from(report.ntp_timestamp().0) * 1_000_000_000) >> NTP_SECOND;
                let side = if of_sound { &mut self.sound } else { &mut self.picture };
                side.reported = Some(ntp - elapsed(timestamp));
            }
        }
    }

    /// The picture's time, of its stream, at which sound with this time was made. `None` before the first picture.
    pub(super) fn time(&mut self, elapsed: i128, received: Instant) -> Option<i128> {
        let arrived = self.since(received) - elapsed;
        let heard = *self.sound.arrived.get_or_insert(arrived);
        let by_arrival = heard - self.picture.arrived?;
        let plausible = |offset: &i128| (offset - by_arrival).abs() <= PLAUSIBLE;
        let reported = self.sound.reported.zip(self.picture.reported);
        let reported = reported.map(|(sound, picture)| sound - picture).filter(plausible);
        // Without reports both streams began together, if the camera says so truly.
        let offset = reported.unwrap_or_else(|| if plausible(&0) { 0 } else { by_arrival });
        let current = self.offset.get_or_insert(offset);
        if (*current - offset).abs() > NOTICEABLE {
            let moved = Duration::from_nanos(u64::try_from((offset - *current).abs()).unwrap_or(u64::MAX));
            tracing::debug!(?moved, "the camera says when its sound was made");
            *current = offset;
        }
        Some(elapsed + *current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i128 = 1_000_000;

    fn at(began: Instant, millis: u64) -> Instant {
        began + Duration::from_millis(millis)
    }

    fn clock(picture: u64) -> (SoundClock, Instant) {
        let began = Instant::now();
        let mut clock = SoundClock::new(began);
        clock.picture_came(0, at(began, picture));
        (clock, began)
    }

    #[test]
    fn sound_has_no_time_before_the_first_picture() {
        let began = Instant::now();
        assert_eq!(SoundClock::new(began).time(0, began), None);
    }

    #[test]
    fn both_streams_begin_together_unless_they_came_too_far_apart() {
        let (mut clock, began) = clock(100);
        assert_eq!(
            clock.time(0, at(began, 30)),
            Some(0),
            "the picture was encoded meanwhile"
        );
        let (mut clock, began) = self::clock(100);
        assert_eq!(
            clock.time(0, at(began, 900)),
            Some(800 * MS),
            "the camera's beginnings are not true"
        );
    }

    #[test]
    fn the_cameras_own_clock_is_believed_if_it_can_be() {
        let (mut clock, began) = clock(100);
        (clock.picture.reported, clock.sound.reported) = (Some(5_000 * MS), Some(5_060 * MS));
        assert_eq!(clock.time(0, at(began, 100)), Some(60 * MS));
        clock.sound.reported = Some(5_062 * MS);
        assert_eq!(
            clock.time(20 * MS, at(began, 120)),
            Some(80 * MS),
            "no more than inaccuracy"
        );
        clock.sound.reported = Some(5_080 * MS);
        assert_eq!(clock.time(40 * MS, at(began, 140)), Some(120 * MS));
        clock.sound.reported = Some(9_000 * MS);
        assert_eq!(clock.time(60 * MS, at(began, 160)), Some(60 * MS), "another clock");
    }
}
