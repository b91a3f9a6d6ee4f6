//! Groups whose records are sent once to a multicast group, and over sessions to whoever does not hear it.

use std::time::Duration;

use sealcast_proto::session::{Event, Fec, GroupPolicy, Input};
use sealcast_proto::sign::SignMode;
use sealcast_proto::sim::Verdict;
use sealcast_proto::wire::{GroupMessage, Hearing, MulticastGroup};

use super::group_show::{Multicast, PUBLISHER, Show, VIEWER, Way, policy, shown};

const SIGNED: Option<GroupPolicy> = Some(policy(SignMode::Frame));
const LAN: Way = Way::Udp("delay=1ms");

fn group() -> MulticastGroup {
    MulticastGroup {
        tag: 0x0102_0304,
        address: "239.1.2.3".parse().expect("an address"),
        port: 5000,
    }
}

/// A show with so many viewers, to whom the multicast group brings what `path` makes of it.
fn show(viewers: usize, fec: Fec, path: impl FnMut(usize, &[u8]) -> Vec<Vec<u8>> + 'static) -> Show {
    let mut show = Show::over(SignMode::Frame, &vec![LAN; viewers], SIGNED, fec);
    show.multicast = Some(Multicast {
        group: group(),
        path: Box::new(path),
        sent: 0,
        hearing: vec![Hearing::Away; viewers],
        refused: Vec::new(),
    });
    show
}

fn multicast(show: &mut Show) -> &mut Multicast {
    show.multicast.as_mut().expect("there is a group")
}

fn all(_: usize, record: &[u8]) -> Vec<Vec<u8>> {
    vec![record.to_vec()]
}

fn unless(lost: bool, record: &[u8]) -> Vec<Vec<u8>> {
    if lost { Vec::new() } else { vec![record.to_vec()] }
}

/// Plays until the viewers hear this.
#[track_caller]
fn until(show: &mut Show, hearing: &[Hearing]) {
    for _ in 0..1000 {
        if multicast(show).hearing == hearing {
            return;
        }
        show.play(1);
    }
    panic!("{:?} after 40 seconds", multicast(show).hearing);
}

/// Source records that were sent to a viewer alone so far, and records that were sent to it again.
fn sent_alone(show: &Show, viewer: usize) -> (u64, u64) {
    let counts = show.viewers[viewer].responder.session.outbound_counts();
    let counts = counts.expect("packets");
    (counts.sources, counts.resent)
}

/// Plays so many frames, and asserts that all viewers show all of them.
#[track_caller]
fn all_show_all(show: &mut Show, count: u64) {
    let first = show.frames;
    show.play(count);
    show.pass(Duration::from_secs(1));
    let all: Vec<u64> = (first..show.frames).collect();
    for viewer in 0..show.viewers.len() {
        let numbers = shown(show, viewer);
        let from = numbers.iter().position(|number| *number == first);
        assert_eq!(numbers[from.expect("the first one")..], all, "viewer {viewer}");
        let end = &show.viewers[viewer].initiator;
        assert_eq!(
            (end.error, end.session.refusals().total()),
            (None, 0),
            "viewer {viewer}"
        );
    }
}

#[test]
fn who_hears_the_group_is_sent_nothing_alone_and_shows_every_frame() {
    let mut show = show(3, Fec::Adaptive, all);
    until(&mut show, &[Hearing::Hearing; 3]);
    show.play(5);
    let before: Vec<_> = (0..3).map(|viewer| sent_alone(&show, viewer)).collect();
    let sent = multicast(&mut show).sent;
    all_show_all(&mut show, 100);
    let after: Vec<_> = (0..3).map(|viewer| sent_alone(&show, viewer)).collect();
    assert_eq!(before, after);
    // A frame of 5 000 bytes is five records, and its proof one; a keyframe has a description.
    assert_eq!(multicast(&mut show).sent - sent, 100 * 6 + 4);
}

#[test]
fn what_is_lost_in_the_group_is_asked_for_by_whoever_missed_it() {
    // Every seventh datagram is lost for viewer 0, and every eleventh for viewer 1.
    let mut counts = [0; 2];
    let mut show = show(2, Fec::Off, move |viewer, record| {
        counts[viewer] += 1;
        unless(counts[viewer] % [7, 11][viewer] == 0, record)
    });
    until(&mut show, &[Hearing::Hearing; 2]);
    show.play(5);
    let before: Vec<_> = (0..2).map(|viewer| sent_alone(&show, viewer)).collect();
    all_show_all(&mut show, 100);
    for (viewer, every) in [(0, 7), (1, 11)] {
        let (sources, resent) = sent_alone(&show, viewer);
        assert_eq!(sources, before[viewer].0);
        let resent = resent - before[viewer].1;
        let lost = 604 / every;
        // Also the last records of the stream, of which no report is awaited any more.
        assert!(
            resent >= lost - 2 && resent <= lost + 20,
            "viewer {viewer}: {resent} of {lost}"
        );
    }
}

#[test]
fn repair_records_are_sized_for_the_worst_subscriber() {
    let mut count = 0;
    let mut show = show(2, Fec::Adaptive, move |viewer, record| {
        count += u64::from(viewer == 1);
        unless(viewer == 1 && count.is_multiple_of(9), record)
    });
    until(&mut show, &[Hearing::Hearing; 2]);
    show.play(250);
    let before = multicast(&mut show).sent;
    all_show_all(&mut show, 100);
    let repairs = multicast(&mut show).sent - before - 604;
    assert!(repairs >= 50, "{repairs} repair records for 100 frames");
}

#[test]
fn whoever_hears_nothing_is_sent_all_over_its_session() {
    let mut show = show(2, Fec::Adaptive, |viewer, record| unless(viewer == 1, record));
    until(&mut show, &[Hearing::Hearing, Hearing::Listening]);
    all_show_all(&mut show, 50);
    // After five seconds it listens no more, and after a minute it tries again.
    until(&mut show, &[Hearing::Hearing, Hearing::Away]);
    all_show_all(&mut show, 50);
    multicast(&mut show).path = Box::new(all);
    for _ in 0..70 {
        show.play(25);
    }
    assert_eq!(multicast(&mut show).hearing, [Hearing::Hearing; 2]);
}

#[test]
fn a_group_that_falls_silent_is_replaced_by_the_session_and_no_frame_is_lost() {
    let mut show = show(1, Fec::Adaptive, all);
    until(&mut show, &[Hearing::Hearing]);
    shown(&mut show, 0);
    show.play(25);
    multicast(&mut show).path = Box::new(|_, _| Vec::new());
    all_show_all(&mut show, 50);
    assert_ne!(multicast(&mut show).hearing, [Hearing::Hearing]);
    multicast(&mut show).path = Box::new(all);
    until(&mut show, &[Hearing::Hearing]);
    all_show_all(&mut show, 50);
}

#[test]
fn a_viewer_that_cannot_listen_says_so_and_nothing_is_sent_to_the_group() {
    let mut show = show(1, Fec::Adaptive, all);
    multicast(&mut show).refused = vec![0];
    show.play(100);
    assert_eq!(multicast(&mut show).sent, 0);
    all_show_all(&mut show, 50);
}

#[test]
fn a_viewer_of_which_nothing_is_heard_is_not_relied_on() {
    let mut show = show(1, Fec::Adaptive, all);
    until(&mut show, &[Hearing::Hearing]);
    show.judge = Box::new(|_, direction, _| match direction == PUBLISHER {
        true => Verdict::Drop,
        false => Verdict::Deliver,
    });
    show.play(75);
    assert_eq!(multicast(&mut show).hearing, [Hearing::Away]);
}

#[test]
fn garbage_and_altered_records_from_the_group_end_nothing_and_show_nothing() {
    let mut at = 0;
    // Before each record come garbage, and the record with one byte altered: of its header, its payload or its tag.
    let path = move |_: usize, record: &[u8]| {
        at += 7;
        let mut altered = record.to_vec();
        altered[at % record.len()] ^= 0x10;
        let garbage = vec![at as u8; at % 1200];
        vec![garbage, altered, record.to_vec()]
    };
    let mut show = show(1, Fec::Off, path);
    until(&mut show, &[Hearing::Hearing]);
    shown(&mut show, 0);
    let first = show.frames;
    show.play(100);
    show.pass(Duration::from_secs(1));
    let numbers = shown(&mut show, 0);
    let whole: Vec<u64> = (first..show.frames).collect();
    assert_eq!(numbers[numbers.len() - 100..], whole);
    let end = &show.viewers[0].initiator;
    let refused = end.session.refusals().total();
    assert!(end.error.is_none() && refused > 500, "{:?}: {refused}", end.error);
}

#[test]
fn a_control_record_from_the_group_is_not_processed() {
    let mut show = show(1, Fec::Off, all);
    until(&mut show, &[Hearing::Hearing]);
    let mut control = Vec::new();
    // The publisher's next control records, as they leave for the viewer.
    show.viewers[0].tell(
        PUBLISHER,
        Input::Close(sealcast_proto::wire::CloseReason::EndOfStream, ""),
    );
    show.viewers[0].run(Duration::from_millis(1), &mut |direction, message| {
        if direction == VIEWER && message.get(4) == Some(&0x11) {
            control.push(message[4..].to_vec());
        }
        Verdict::Drop
    });
    assert!(!control.is_empty());
    for mut record in control {
        show.viewers[0].tell(VIEWER, Input::Multicast(&mut record));
    }
    let closed = |event: &Event| matches!(event, Event::Closed { .. });
    assert!(!show.viewers[0].initiator.events.iter().any(closed));
    assert!(!show.viewers[0].initiator.session.is_over());
}

#[test]
fn a_viewer_that_speaks_of_a_group_that_it_was_not_told_of_breaks_the_protocol() {
    let mut show = Show::over(SignMode::Frame, &[LAN], SIGNED, Fec::Off);
    show.play(50);
    let world = &mut show.viewers[0];
    assert!(world.responder.session.may_hear_multicast());
    let told = Input::Group(GroupMessage::Multicast(group()));
    let now = world.now;
    assert!(
        world.initiator.session.handle(now, told).is_err(),
        "a viewer tells nobody of one"
    );
}
