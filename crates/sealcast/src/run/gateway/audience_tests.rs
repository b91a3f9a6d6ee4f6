use super::super::PACKETS;
use super::*;
use crate::run::build_info;

fn watcher(id: u64) -> Watcher {
    Watcher {
        id,
        slot: 0,
        queue: Arc::new(PacketQueue::new(PACKETS)),
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
    assert!(audience.receives());
    assert_eq!(audience.wish(&second, Verb::Pause), Outcome::Tell(Verb::Pause));
    assert!(!audience.receives() && !audience.is_empty());
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
    assert!(audience.receives());
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
