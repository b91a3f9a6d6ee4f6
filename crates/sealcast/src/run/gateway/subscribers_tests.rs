use super::super::PACKETS;
use super::*;
use crate::run::build_info;

fn subscriber(id: u64) -> Subscriber {
    Subscriber {
        id,
        slot: 0,
        queue: Arc::new(PacketQueue::new(PACKETS)),
        rtp_sender: None,
        // The events are not read in these tests.
        events: mpsc::channel(1).0,
    }
}

fn play(tracks: u16) -> Verb {
    Verb::Play(TrackSet::from_bits(tracks))
}

#[test]
fn the_camera_hears_the_first_who_plays_and_not_the_second() {
    let subscribers = Subscribers::default();
    let (first, second) = (subscriber(1), subscriber(2));
    assert_eq!(subscribers.request(&first, play(0b11)), Outcome::Forward(play(0b11)));
    assert_eq!(subscribers.request(&second, play(0b01)), Outcome::Done);
    assert_eq!(subscribers.request(&first, Verb::Teardown), Outcome::Done);
    assert_eq!(
        subscribers.request(&second, Verb::Teardown),
        Outcome::Forward(Verb::Teardown)
    );
    assert!(subscribers.is_empty());
}

#[test]
fn a_track_that_nobody_had_is_asked_for_on_behalf_of_all() {
    let subscribers = Subscribers::default();
    subscribers.request(&subscriber(1), play(0b001));
    assert_eq!(
        subscribers.request(&subscriber(2), play(0b110)),
        Outcome::ForwardForAll(play(0b111))
    );
}

#[test]
fn tracks_that_run_whoever_watches_are_neither_asked_for_nor_stopped_and_others_beside_them() {
    let subscribers = Subscribers::default();
    assert!(!subscribers.run(TrackSet::from_bits(0b011)));
    let (first, second) = (subscriber(1), subscriber(2));
    assert_eq!(subscribers.request(&first, play(0b011)), Outcome::Done);
    assert_eq!(
        subscribers.request(&second, play(0b100)),
        Outcome::ForwardForAll(play(0b111))
    );
    for verb in [Verb::Pause, play(0b001), Verb::Teardown] {
        assert_eq!(subscribers.request(&first, verb), Outcome::Done);
    }
    assert!(subscribers.run(TrackSet::from_bits(0b011)), "the second has another");
    assert_eq!(subscribers.request(&second, Verb::Teardown), Outcome::Done);
    assert!(subscribers.is_empty() && !subscribers.run(TrackSet::from_bits(0b001)));
}

#[test]
fn one_who_pauses_does_not_stop_the_others() {
    let subscribers = Subscribers::default();
    let (first, second) = (subscriber(1), subscriber(2));
    subscribers.request(&first, play(1));
    subscribers.request(&second, play(1));
    assert_eq!(subscribers.request(&first, Verb::Pause), Outcome::Done);
    assert!(!subscribers.receives().is_empty());
    assert_eq!(subscribers.request(&second, Verb::Pause), Outcome::Forward(Verb::Pause));
    assert!(subscribers.receives().is_empty() && !subscribers.is_empty());
    assert_eq!(subscribers.request(&first, play(1)), Outcome::Forward(play(1)));
    assert_eq!(
        subscribers.request(&first, Verb::Teardown),
        Outcome::ForwardForAll(Verb::Pause)
    );
}

#[test]
fn who_never_played_leaves_without_a_word() {
    let subscribers = Subscribers::default();
    subscribers.request(&subscriber(1), play(1));
    assert_eq!(subscribers.request(&subscriber(2), Verb::Teardown), Outcome::Done);
    assert_eq!(
        subscribers.request(&subscriber(2), Verb::SetParameter),
        Outcome::Forward(Verb::SetParameter)
    );
    assert!(!subscribers.receives().is_empty());
}

#[test]
fn packets_reach_those_who_receive_their_track_and_a_full_queue_keeps_the_newest() {
    let subscribers = Subscribers::default();
    let (all, sound) = (subscriber(1), subscriber(2));
    subscribers.request(&all, play(0b11));
    subscribers.request(&sound, play(0b10));
    let metrics = Metrics::new(build_info());
    let deliver = |number: u8, text: String| {
        let channel = channel(number);
        let text = Bytes::from(text);
        subscribers.deliver(channel, &text, text.len(), Instant::now(), &metrics);
    };
    deliver(0, "picture".to_owned());
    deliver(2, "sound".to_owned());
    assert_eq!(sound.queue.pop().expect("queued").bytes, "sound");
    assert!(sound.queue.pop().is_none());
    for number in 0..=PACKETS.frames {
        deliver(0, number.to_string());
    }
    // The two earlier packets were still queued when the packet beyond its capacity arrived.
    let left = all.queue.pop().expect("queued").bytes;
    assert_eq!(left, (PACKETS.frames - 2).to_string());
    assert_eq!(metrics.totals().all_frames_dropped(), PACKETS.frames as u64);
}

const SDP: &[u8] = b"v=0\nm=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\nm=audio 0 RTP/AVP 0\n";
const KEYFRAME: &[u8] = &[0x65, 0x88];
const OTHER: &[u8] = &[0x41, 0x9a];

/// The subscribers of a camera with H.264 video and sound, its metrics, and the current time.
fn cinema() -> (Subscribers, Metrics, Instant) {
    let subscribers = Subscribers::default();
    subscribers.described(SDP);
    (subscribers, Metrics::new(build_info()), Instant::now())
}

/// An RTP packet.
fn rtp(payload: &[u8]) -> Bytes {
    [&[0x80, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3], payload].concat().into()
}

/// The channels of the packets left in a queue.
fn drained(subscriber: &Subscriber) -> Vec<u8> {
    std::iter::from_fn(|| subscriber.queue.pop())
        .map(|packet| packet.channel.number())
        .collect()
}

fn channel(number: u8) -> Channel {
    Channel::from_number(number).expect("a channel")
}

fn deliver(subscribers: &Subscribers, channel: Channel, payload: &[u8], now: Instant, metrics: &Metrics) {
    let packet = rtp(payload);
    subscribers.deliver(channel, &packet, packet.len(), now, metrics);
}

#[test]
fn who_joins_gets_sound_and_reports_at_once_and_video_from_a_keyframe_on() {
    let (subscribers, metrics, now) = cinema();
    let (first, second) = (subscriber(1), subscriber(2));
    subscribers.request(&first, play(0b11));
    subscribers.request(&second, play(0b11));
    for (number, payload) in [(0, OTHER), (1, OTHER), (2, OTHER), (0, KEYFRAME), (0, OTHER)] {
        deliver(&subscribers, channel(number), payload, now, &metrics);
    }
    assert_eq!(drained(&first), [0, 1, 2, 0, 0], "who was there misses nothing");
    assert_eq!(drained(&second), [1, 2, 0, 0]);
    assert_eq!(metrics.totals().all_frames_dropped(), 0);
}

#[test]
fn who_joins_in_the_middle_of_a_group_of_pictures_gets_it_without_another_packet() {
    let (subscribers, metrics, now) = cinema();
    let second = subscriber(2);
    subscribers.request(&subscriber(1), play(0b11));
    for (number, payload) in [(0, OTHER), (0, KEYFRAME), (2, OTHER), (0, OTHER)] {
        deliver(&subscribers, channel(number), payload, now, &metrics);
    }
    assert_eq!(subscribers.request(&second, play(0b11)), Outcome::Done);
    let kept: Vec<_> = std::iter::from_fn(|| second.queue.pop()).collect();
    assert_eq!(kept.len(), 2);
    assert_eq!([&kept[0].bytes[12..], &kept[1].bytes[12..]], [KEYFRAME, OTHER]);
    deliver(&subscribers, channel(0), OTHER, now, &metrics);
    assert_eq!(drained(&second), [0], "and goes on with what follows");
    // After a pause of all, what was kept continues nothing.
    subscribers.request(&subscriber(1), Verb::Teardown);
    subscribers.request(&second, Verb::Pause);
    let third = subscriber(3);
    subscribers.request(&second, play(0b11));
    subscribers.request(&third, play(0b11));
    deliver(&subscribers, channel(0), OTHER, now, &metrics);
    assert_eq!(drained(&third), [0; 0]);
}

#[test]
fn a_group_of_pictures_that_finds_no_room_waits_for_the_next_keyframe() {
    let (subscribers, metrics, now) = cinema();
    let second = subscriber(2);
    subscribers.request(&subscriber(1), play(1));
    deliver(&subscribers, channel(0), KEYFRAME, now, &metrics);
    // Packets of another camera.
    for number in 0..PACKETS.frames {
        let packet = Packet {
            slot: 1,
            channel: channel(0),
            bytes: rtp(OTHER),
            arrived: now,
        };
        assert_eq!(second.queue.push(packet).dropped, 0, "{number}");
    }
    subscribers.request(&second, play(1));
    assert_eq!(drained(&second).len(), PACKETS.frames);
    deliver(&subscribers, channel(0), OTHER, now, &metrics);
    deliver(&subscribers, channel(0), KEYFRAME, now, &metrics);
    assert_eq!(drained(&second), [0]);
}

#[test]
fn video_without_keyframes_is_held_back_for_ten_seconds_and_not_longer() {
    let (subscribers, metrics, _) = cinema();
    let second = subscriber(2);
    subscribers.request(&subscriber(1), play(1));
    subscribers.request(&second, play(1));
    // Holding began before this point.
    let now = Instant::now();
    deliver(&subscribers, channel(0), OTHER, now + KEYFRAME_PATIENCE / 2, &metrics);
    assert_eq!(drained(&second), [0; 0]);
    deliver(&subscribers, channel(0), OTHER, now + KEYFRAME_PATIENCE, &metrics);
    deliver(&subscribers, channel(0), OTHER, now, &metrics);
    assert_eq!(drained(&second), [0, 0]);
}

#[test]
fn a_track_that_nobody_else_receives_is_not_held_back() {
    let (subscribers, metrics, now) = cinema();
    let (first, second) = (subscriber(1), subscriber(2));
    subscribers.request(&first, play(0b10));
    subscribers.request(&second, play(0b11));
    // Repeating PLAY for tracks it already receives holds nothing back either, even if another subscriber has them
    // too.
    subscribers.request(&first, play(0b11));
    subscribers.request(&second, play(0b11));
    deliver(&subscribers, channel(0), OTHER, now, &metrics);
    assert_eq!((drained(&second), drained(&first)), (vec![0], vec![]));
}

#[test]
fn a_full_queue_goes_on_with_a_whole_picture() {
    let (subscribers, metrics, now) = cinema();
    let slow = subscriber(1);
    subscribers.request(&slow, play(0b11));
    for _ in 0..=PACKETS.frames {
        deliver(&subscribers, channel(0), OTHER, now, &metrics);
    }
    for (number, payload) in [(0, OTHER), (2, OTHER), (0, KEYFRAME), (0, OTHER)] {
        deliver(&subscribers, channel(number), payload, now, &metrics);
    }
    assert_eq!(drained(&slow), [2, 0, 0]);
    let (all, kept) = (PACKETS.frames + 5, 3);
    assert_eq!(metrics.totals().all_frames_dropped(), (all - kept) as u64);
}

#[test]
fn a_queue_that_one_camera_filled_goes_on_with_whole_pictures_of_the_other() {
    let (subscribers, metrics, now) = cinema();
    let session = subscriber(1);
    subscribers.request(&session, play(1));
    deliver(&subscribers, channel(0), KEYFRAME, now, &metrics);
    // The other camera's packets filled the queue.
    session.queue.clear();
    deliver(&subscribers, channel(0), OTHER, now, &metrics);
    assert!(session.queue.pop().is_none());
    deliver(&subscribers, channel(0), KEYFRAME, now, &metrics);
    assert_eq!(drained(&session), [0]);
}
