//! Sound beside a picture over datagrams, on a virtual clock: what is lost of one leaves the other in time.

use std::time::Duration;

use sealcast_proto::session::{OutgoingFrame, OutgoingSound, SessionError};
use sealcast_proto::sim::{Direction, Verdict, World};
use sealcast_proto::unit::{
    Assembled, Codec, FrameRate, Preamble, SOUND_STREAM, Selection, SoundCodec, SoundInfo, StreamInfo,
};
use sealcast_testkit::ends::Setup;

const PUBLISHER: Direction = Direction::ToResponder;
const VIEWER: Direction = Direction::ToInitiator;
const MS: Duration = Duration::from_millis(1);
/// Times of pictures and of packets of sound.
const PICTURE: u64 = 40;
const PACKET: u64 = 20;
/// The delay of the path, and how much later than that the last record of a picture may come, since it is paced.
const PATH: Duration = Duration::from_millis(20);
const PACED: Duration = Duration::from_millis(35);

fn sound() -> SoundInfo {
    SoundInfo {
        codec: SoundCodec::Ulaw,
        channels: 1,
        samples_per_second: 8000,
        samples_per_frame: 160,
        parameters: Vec::new(),
    }
}

fn picture() -> StreamInfo {
    StreamInfo {
        codec: Codec::H264,
        width: 1280,
        height: 720,
        rate: FrameRate {
            numerator: 25,
            denominator: 1,
        },
        parameters: vec![7; 40],
    }
}

fn stamped(number: u64, interval: u64) -> Preamble {
    Preamble {
        frame: number,
        media_time: number * interval * 1_000_000,
        ..Preamble::default()
    }
}

/// A stream with a keyframe every second.
struct Stream {
    world: World,
    began: Duration,
    pictures: u64,
    packets: u64,
}

impl Stream {
    fn new(profile: &str, seed: u64) -> Self {
        let mut setup = Setup::default();
        // Only loss and recovery are tested here.
        setup.publisher.delivery.rate = None;
        let mut world = setup.datagrams(profile, seed);
        world.run_cleanly(Duration::from_secs(5));
        assert!(world.initiator.session.is_established() && world.responder.session.is_established());
        let began = world.now.monotonic;
        Self {
            world,
            began,
            pictures: 0,
            packets: 0,
        }
    }

    /// Publishes for this long. `lost` gets each datagram of media, with its stream.
    fn run(&mut self, millis: u64, mut lost: impl FnMut(u32, &[u8]) -> bool) {
        for _ in 0..millis / PACKET {
            if self.packets * PACKET == self.pictures * PICTURE {
                self.publish_picture();
            }
            let packet = OutgoingSound {
                preamble: stamped(self.packets, PACKET),
                data: &[self.packets as u8; 160],
            };
            self.world.publish_sound(PUBLISHER, &packet).expect("the keys are good");
            self.packets += 1;
            self.world.run(MS * PACKET as u32, &mut |direction, datagram| {
                // The datagram is `connection u32`, then the record with its stream.
                let media = direction == VIEWER && datagram.get(4) == Some(&0x10);
                let stream = datagram.get(8..12).and_then(|stream| stream.try_into().ok());
                let lost = media && lost(stream.map_or(0, u32::from_be_bytes), datagram);
                if lost { Verdict::Drop } else { Verdict::Deliver }
            });
        }
    }

    fn publish_picture(&mut self) {
        let keyframe = self.pictures.is_multiple_of(25);
        if keyframe {
            self.world.describe_sound(PUBLISHER, &sound()).expect("established");
            self.world.describe(PUBLISHER, 1, &picture()).expect("established");
        }
        let data = vec![self.pictures as u8; if keyframe { 20_000 } else { 4_000 }];
        let frame = OutgoingFrame {
            stream: 1,
            codec: Codec::H264,
            keyframe,
            preamble: stamped(self.pictures, PICTURE),
            data: &data,
        };
        self.world.publish(PUBLISHER, &frame).expect("the keys are good");
        self.pictures += 1;
    }

    /// Numbers of what the viewer got of a stream, and how long after its media time.
    fn got(&self, stream: u32) -> Vec<(u64, Duration)> {
        let got = self
            .world
            .initiator
            .assembled
            .iter()
            .filter_map(|(at, media)| match media {
                Assembled::Frame(frame) if frame.stream == stream => {
                    let made = self.began + Duration::from_nanos(frame.preamble.media_time);
                    assert!(frame.data.iter().all(|&byte| byte == frame.preamble.frame as u8));
                    Some((frame.preamble.frame, at.saturating_sub(made)))
                }
                _ => None,
            });
        got.collect()
    }

    /// Number of times that a keyframe would be asked for.
    fn broken(&self) -> usize {
        let broken = |media: &Assembled| matches!(media, Assembled::Lost | Assembled::Undecodable { .. });
        let assembled = &self.world.initiator.assembled;
        assembled.iter().filter(|(_, media)| broken(media)).count()
    }
}

fn rising(got: &[(u64, Duration)]) -> bool {
    got.windows(2).all(|pair| pair[0].0 < pair[1].0)
}

#[test]
fn lost_sound_neither_holds_the_picture_nor_asks_for_a_keyframe() {
    let mut stream = Stream::new("delay=20ms", 1);
    stream.run(500, |_, _| false);
    // Every fourth packet, and all copies of it, so that nothing repairs it.
    let mut seen = 0;
    let mut lost = Vec::new();
    stream.run(3000, |of, datagram| {
        let number = datagram[28 + 8..28 + 12].to_vec();
        if of != SOUND_STREAM {
            return false;
        }
        if !lost.contains(&number) {
            seen += 1;
            if seen % 4 == 0 {
                lost.push(number.clone());
            }
        }
        lost.contains(&number)
    });
    stream.run(500, |_, _| false);
    assert!(lost.len() > 20, "{}", lost.len());
    let pictures = stream.got(1);
    assert!(
        pictures.iter().map(|(number, _)| *number).eq(0..stream.pictures),
        "{pictures:?}"
    );
    assert_eq!(stream.broken(), 0);
    // A keyframe may come with a description, which may be what is missing: it waits for the budget.
    let late = |(number, delay): &&(u64, Duration)| number % 25 != 0 && *delay > PATH + PACED;
    assert_eq!(pictures.iter().filter(late).count(), 0, "{pictures:?}");
    let packets = stream.got(SOUND_STREAM);
    assert!(rising(&packets) && packets.len() as u64 > stream.packets / 2);
}

#[test]
fn a_lost_picture_does_not_hold_the_sound_and_asks_for_a_keyframe() {
    let mut stream = Stream::new("delay=20ms", 2);
    stream.run(500, |_, _| false);
    let from = stream.packets;
    // Everything of the pictures is lost for a while, repetitions included.
    stream.run(200, |of, _| of != SOUND_STREAM);
    stream.run(1500, |_, _| false);
    let packets = stream.got(SOUND_STREAM);
    assert!(
        packets.iter().map(|(number, _)| *number).eq(0..stream.packets),
        "{packets:?}"
    );
    let late = |(number, delay): &&(u64, Duration)| *number >= from && *delay > PATH + PACED;
    assert_eq!(packets.iter().filter(late).count(), 0, "{packets:?}");
    assert!(stream.broken() > 0);
    let pictures = stream.got(1);
    assert!(rising(&pictures));
    assert_eq!(pictures.last().map(|(number, _)| *number), Some(stream.pictures - 1));
}

#[test]
fn on_a_path_that_loses_packets_both_streams_come_in_their_order_and_nearly_whole() {
    for seed in 0..4 {
        let mut stream = Stream::new("delay=20ms jitter=5ms loss=5%", seed);
        stream.run(6000, |_, _| false);
        stream.world.run_cleanly(Duration::from_secs(1));
        // A picture that comes too late costs those up to the next keyframe, and a packet of sound itself alone.
        for (of, sent, most) in [(1, stream.pictures, 80), (SOUND_STREAM, stream.packets, 97)] {
            let got = stream.got(of);
            assert!(rising(&got), "seed {seed}, stream {of}: {got:?}");
            assert!(
                got.len() as u64 * 100 >= sent * most,
                "seed {seed}, stream {of}: {} of {sent}",
                got.len()
            );
        }
    }
}

#[test]
fn sound_is_encrypted_whatever_the_selection_leaves_in_clear() {
    let mut stream = Stream::new("delay=5ms", 3);
    stream
        .world
        .tell(PUBLISHER, sealcast_proto::session::Input::Select(Selection::None));
    stream.world.run_cleanly(Duration::from_secs(1));
    stream.began = stream.world.now.monotonic;
    let mut clear = [0; 2];
    stream.run(1000, |of, datagram| {
        let in_clear = datagram[5] & 1 == 0;
        clear[usize::from(of == SOUND_STREAM)] += usize::from(in_clear);
        false
    });
    assert!(clear[0] > 20 && clear[1] == 0, "{clear:?}");
    assert!(!stream.got(SOUND_STREAM).is_empty());
}

#[test]
fn a_description_on_the_other_stream_is_refused_where_it_is_made() {
    let mut stream = Stream::new("delay=5ms", 4);
    let described = stream.world.describe(PUBLISHER, SOUND_STREAM, &picture());
    assert_eq!(described, Err(SessionError::Misuse));
    let six = SoundInfo { channels: 9, ..sound() };
    assert_eq!(stream.world.describe_sound(PUBLISHER, &six), Err(SessionError::Misuse));
}
