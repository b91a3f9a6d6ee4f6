use super::super::PACKETS;
use super::*;
use crate::run::build_info;

fn watcher(id: u64) -> Watcher {
    Watcher {
        id,
        slot: 0,
        queue: Arc::new(PacketQueue::new(PACKETS)),
        outlet: None,
        // Nobody listens to the news here.
        news: mpsc::channel(1).0,
    }
}

fn play(tracks: u16) -> Verb {
    Verb::Play(TrackSet::from_bits(tracks))
}

#[test]
fn the_camera_hears_the_first_who_plays_and_not_the_second() {
    let audience = Audience::default();
    let (first, second) = (watcher(1), watcher(2));
    assert_eq!(audience.wish(&first, play(0b11)), Outcome::Tell(play(0b11)));
    assert_eq!(audience.wish(&second, play(0b01)), Outcome::Granted);
    assert_eq!(audience.wish(&first, Verb::Teardown), Outcome::Granted);
    assert_eq!(audience.wish(&second, Verb::Teardown), Outcome::Tell(Verb::Teardown));
    assert!(audience.is_empty());
}

#[test]
fn a_track_that_nobody_had_is_asked_for_on_behalf_of_all() {
    let audience = Audience::default();
    audience.wish(&watcher(1), play(0b001));
    assert_eq!(
        audience.wish(&watcher(2), play(0b110)),
        Outcome::TellForAll(play(0b111))
    );
}

#[test]
fn one_who_pauses_does_not_stop_the_others() {
    let audience = Audience::default();
    let (first, second) = (watcher(1), watcher(2));
    audience.wish(&first, play(1));
    audience.wish(&second, play(1));
    assert_eq!(audience.wish(&first, Verb::Pause), Outcome::Granted);
    assert!(!audience.receives().is_empty());
    assert_eq!(audience.wish(&second, Verb::Pause), Outcome::Tell(Verb::Pause));
    assert!(audience.receives().is_empty() && !audience.is_empty());
    assert_eq!(audience.wish(&first, play(1)), Outcome::Tell(play(1)));
    assert_eq!(audience.wish(&first, Verb::Teardown), Outcome::TellForAll(Verb::Pause));
}

#[test]
fn who_never_played_leaves_without_a_word() {
    let audience = Audience::default();
    audience.wish(&watcher(1), play(1));
    assert_eq!(audience.wish(&watcher(2), Verb::Teardown), Outcome::Granted);
    assert_eq!(
        audience.wish(&watcher(2), Verb::SetParameter),
        Outcome::Tell(Verb::SetParameter)
    );
    assert!(!audience.receives().is_empty());
}

#[test]
fn packets_reach_those_who_receive_their_track_and_a_full_queue_keeps_the_newest() {
    let audience = Audience::default();
    let (all, sound) = (watcher(1), watcher(2));
    audience.wish(&all, play(0b11));
    audience.wish(&sound, play(0b10));
    let metrics = Metrics::new(build_info());
    let deliver = |number: u8, text: String| {
        let channel = Channel::from_number(number).expect("a channel");
        audience.deliver(channel, &Bytes::from(text), Instant::now(), &metrics);
    };
    deliver(0, "picture".to_owned());
    deliver(2, "sound".to_owned());
    assert_eq!(sound.queue.pop().expect("queued").bytes, "sound");
    assert!(sound.queue.pop().is_none());
    for number in 0..=PACKETS.frames {
        deliver(0, number.to_string());
    }
    // The two before were in the queue as well when one more than it holds came.
    let left = all.queue.pop().expect("queued").bytes;
    assert_eq!(left, (PACKETS.frames - 2).to_string());
    assert_eq!(metrics.totals().all_frames_dropped(), PACKETS.frames as u64);
}

const SDP: &[u8] = b"v=0\nm=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\nm=audio 0 RTP/AVP 0\n";
const KEYFRAME: &[u8] = &[0x65, 0x88];
const OTHER: &[u8] = &[0x41, 0x9a];

/// An audience of a camera with H.264 and sound, and the time it is there.
fn cinema() -> (Audience, Metrics, Instant) {
    let audience = Audience::default();
    audience.described(SDP);
    (audience, Metrics::new(build_info()), Instant::now())
}

/// An RTP packet.
fn rtp(payload: &[u8]) -> Bytes {
    [&[0x80, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3], payload].concat().into()
}

/// What is left in a queue: the channels.
fn drained(watcher: &Watcher) -> Vec<u8> {
    std::iter::from_fn(|| watcher.queue.pop())
        .map(|packet| packet.channel.number())
        .collect()
}

fn channel(number: u8) -> Channel {
    Channel::from_number(number).expect("a channel")
}

#[test]
fn who_joins_gets_sound_and_reports_at_once_and_video_from_a_keyframe_on() {
    let (audience, metrics, now) = cinema();
    let (first, second) = (watcher(1), watcher(2));
    audience.wish(&first, play(0b11));
    audience.wish(&second, play(0b11));
    for (number, payload) in [(0, OTHER), (1, OTHER), (2, OTHER), (0, KEYFRAME), (0, OTHER)] {
        audience.deliver(channel(number), &rtp(payload), now, &metrics);
    }
    assert_eq!(drained(&first), [0, 1, 2, 0, 0], "who was there misses nothing");
    assert_eq!(drained(&second), [1, 2, 0, 0]);
    assert_eq!(metrics.totals().all_frames_dropped(), 0);
}

#[test]
fn video_without_keyframes_is_held_back_for_ten_seconds_and_not_longer() {
    let (audience, metrics, _) = cinema();
    let second = watcher(2);
    audience.wish(&watcher(1), play(1));
    audience.wish(&second, play(1));
    // It began to be held before this.
    let now = Instant::now();
    audience.deliver(channel(0), &rtp(OTHER), now + KEYFRAME_PATIENCE / 2, &metrics);
    assert_eq!(drained(&second), [0; 0]);
    audience.deliver(channel(0), &rtp(OTHER), now + KEYFRAME_PATIENCE, &metrics);
    audience.deliver(channel(0), &rtp(OTHER), now, &metrics);
    assert_eq!(drained(&second), [0, 0]);
}

#[test]
fn a_track_that_nobody_else_receives_is_not_held_back() {
    let (audience, metrics, now) = cinema();
    let (first, second) = (watcher(1), watcher(2));
    audience.wish(&first, play(0b10));
    audience.wish(&second, play(0b11));
    // Nor from who has it and asks once more, when another has it too.
    audience.wish(&first, play(0b11));
    audience.wish(&second, play(0b11));
    audience.deliver(channel(0), &rtp(OTHER), now, &metrics);
    assert_eq!((drained(&second), drained(&first)), (vec![0], vec![]));
}

#[test]
fn a_full_queue_goes_on_with_a_whole_picture() {
    let (audience, metrics, now) = cinema();
    let slow = watcher(1);
    audience.wish(&slow, play(0b11));
    for _ in 0..=PACKETS.frames {
        audience.deliver(channel(0), &rtp(OTHER), now, &metrics);
    }
    for (number, payload) in [(0, OTHER), (2, OTHER), (0, KEYFRAME), (0, OTHER)] {
        audience.deliver(channel(number), &rtp(payload), now, &metrics);
    }
    assert_eq!(drained(&slow), [2, 0, 0]);
    let (all, kept) = (PACKETS.frames + 5, 3);
    assert_eq!(metrics.totals().all_frames_dropped(), (all - kept) as u64);
}

#[test]
fn a_queue_that_one_camera_filled_goes_on_with_whole_pictures_of_the_other() {
    let (audience, metrics, now) = cinema();
    let session = watcher(1);
    audience.wish(&session, play(1));
    audience.deliver(channel(0), &rtp(KEYFRAME), now, &metrics);
    // The other camera's doing.
    session.queue.clear();
    audience.deliver(channel(0), &rtp(OTHER), now, &metrics);
    assert!(session.queue.pop().is_none());
    audience.deliver(channel(0), &rtp(KEYFRAME), now, &metrics);
    assert_eq!(drained(&session), [0]);
}
