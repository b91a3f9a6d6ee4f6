//! Sound of a hostile camera: its packets become no more sound than they are long, and its reports and stamps give
//! times without an overflow.
#![no_main]

use std::time::Duration;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use sealcast_proto::rtp::{Format, RtpPacket, Side, SoundClock, SoundDepacketizer, sender_reports};
use sealcast_proto::unit::sound_headers::MAX_SOUND_BYTES;

#[derive(Arbitrary, Debug)]
struct Camera {
    encoding: u8,
    clock_rate: u32,
    channels: u8,
    parameters: String,
    happens: Vec<Happens>,
}

#[derive(Arbitrary, Debug)]
enum Happens {
    Sound {
        timestamp: u32,
        marker: bool,
        lost: bool,
        /// Zeros behind the payload.
        more: u16,
        payload: Vec<u8>,
    },
    Picture(u32),
    Report(bool, Option<u32>, Vec<u8>),
    Restart(bool),
    Wait(u32),
}

fuzz_target!(|camera: Camera| {
    let encodings = ["mpeg4-generic", "opus", "pcmu", "pcma", "mp4a-latm"];
    let format = Format {
        payload_type: 97,
        encoding: encodings[usize::from(camera.encoding) % encodings.len()].to_owned(),
        clock_rate: camera.clock_rate.max(1),
        channels: camera.channels.max(1),
        parameters: camera.parameters,
    };
    let mut clock = SoundClock::new(90_000, format.clock_rate);
    let mut sound = SoundDepacketizer::new(&format).ok();
    assert!(sound.as_ref().is_none_or(|sound| sound.info().is_valid()));
    let (mut now, mut came, mut made) = (Duration::ZERO, 0, 0);
    let side = |sound| if sound { Side::Sound } else { Side::Picture };
    for happens in camera.happens {
        match happens {
            Happens::Sound {
                timestamp,
                marker,
                lost,
                more,
                mut payload,
            } => {
                payload.resize(payload.len() + usize::from(more), 0);
                let packet = RtpPacket {
                    payload_type: 97,
                    marker,
                    sequence: 0,
                    timestamp,
                    source: 1,
                    extension: None,
                    payload: &payload,
                };
                let Some(sound) = &mut sound else { continue };
                came += payload.len();
                sound.push(&packet, lost);
                while let Some(unit) = sound.poll() {
                    assert!((1..=MAX_SOUND_BYTES).contains(&unit.data.len()));
                    made += unit.data.len();
                    clock.sound(unit.timestamp, now);
                }
                assert!(made <= came);
                let damage = sound.take_damage();
                assert_eq!(damage.units > 0, damage.reason.is_some());
            }
            Happens::Picture(timestamp) => {
                clock.picture(timestamp, now);
            }
            Happens::Report(of_sound, source, bytes) => {
                assert!(sender_reports(&bytes).all(|report| report.ntp > 0));
                clock.reported(side(of_sound), &bytes, source);
            }
            Happens::Restart(of_sound) => clock.restart(side(of_sound)),
            Happens::Wait(millis) => now += Duration::from_millis(millis.into()),
        }
    }
});
