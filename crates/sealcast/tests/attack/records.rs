//! Records that are altered, dropped, repeated, swapped and moved between sessions: they are refused and counted, the
//! stream goes on, and only data that the publisher sent reaches the file.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sealcast_testkit::attack::{
    Act, Clip, Direction, Home, LENGTH, Program, Proxy, Seen, excused, is_control, is_frame, is_media, lacks, missing,
    order, order_looped, total, until,
};

/// The bits to flip in a frame's record: offset and mask, and the reason for which the record is then refused.
fn flips() -> Vec<(usize, u8, &'static str)> {
    let mut flips = vec![
        (1, 0x01, "cleartext"),
        (1, 0x04, "tag"),
        (1, 0x08, "tag"),
        (2, 0x80, "unknown_epoch"),
        (2, 0x01, "unknown_epoch"),
        (3, 0x01, "unknown_epoch"),
        (3, 0x80, "unknown_epoch"),
        (7, 0x02, "tag"),
        (7, 0x04, "tag"),
        (12, 0x80, "tag"),
        (13, 0x01, "tag"),
        (14, 0x80, "tag"),
    ];
    flips.extend((16..24).map(|at| (at, 1 << (at % 8), "tag")));
    flips.extend((24..64).map(|at| (at, 1 << (at % 8), "tag")));
    // Counted from the end: the tag and the last byte of the payload.
    flips.extend((1..=17).map(|back| (usize::MAX - back, 0x10, "tag")));
    flips
}

/// Offset of a flip in a message of this length.
fn place(at: usize, length: usize) -> usize {
    if at > usize::MAX / 2 {
        length - (usize::MAX - at)
    } else {
        LENGTH + at
    }
}

/// Starts a viewer through the proxy.
fn watch(home: &Home, proxy: &Proxy, ticket: &str) -> Program {
    let ticket = proxy.ticket(ticket);
    home.start(&format!("watch {ticket} --to file:out.h264 --report report.json"))
}

/// Watches a clip through the proxy to its end. Returns the frames that arrived, and the viewer.
fn watch_all(home: &Home, clip: &Clip, proxy: &Proxy, ticket: &str) -> (Vec<usize>, Program) {
    let mut viewer = watch(home, proxy, ticket);
    assert_eq!(viewer.ends(), 0, "{}", viewer.said());
    viewer.watched_in_one_session();
    lacks_plaintext(proxy, clip);
    (order(&home.recorded(), &clip.frames), viewer)
}

/// Watches a clip in a loop through the proxy until all attacks are done, and a while longer. Returns the frames that
/// arrived, and the viewer.
fn watch_until(
    (done, all): (&AtomicUsize, usize),
    home: &Home,
    clip: &Clip,
    proxy: &Proxy,
    ticket: &str,
) -> (Vec<usize>, Program) {
    let mut viewer = watch(home, proxy, ticket);
    for number in 0..all {
        until(&format!("attack {number} of {all}"), || {
            (done.load(Ordering::Relaxed) > number).then_some(())
        });
    }
    home.grows_by(50_000);
    assert_eq!(viewer.stop(), 0, "{}", viewer.said());
    lacks_plaintext(proxy, clip);
    (order_looped(&home.recorded(), &clip.frames), viewer)
}

fn lacks_plaintext(proxy: &Proxy, clip: &Clip) {
    for (_, wire) in proxy.wire() {
        lacks(&wire, &clip.bytes);
    }
}

#[test]
fn a_flipped_bit_anywhere_is_refused_counted_and_survived() {
    let (publisher, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(publisher.path(), 300);
    let (_program, ticket) = publisher.publish(&clip.url(150, "&loop"), "");
    let (mut frames, mut left) = (0, flips().into_iter());
    let flipped = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&flipped);
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, mut message| {
        if seen.direction == Direction::Down && is_frame(&message) {
            frames += 1;
            if frames % 8 == 0
                && let Some((at, bit, _)) = left.next()
            {
                let at = place(at, message.len());
                message[at] ^= bit;
                counted.fetch_add(1, Ordering::Relaxed);
            }
        }
        Act::pass(message)
    });
    let (frames, watching) = watch_until((&flipped, flips().len()), &viewer, &clip, &proxy, &ticket);
    for reason in ["cleartext", "unknown_epoch", "tag"] {
        let wanted = flips().iter().filter(|flip| flip.2 == reason).count() as u64;
        let refused = viewer.refused("report.json", reason);
        // Records in transit at the end of a session were never processed.
        let accounted = refused == wanted || watching.heard_nothing() && refused < wanted;
        assert!(accounted, "{reason}: {refused} of {wanted}");
    }
    watching.watched_in_one_session();
    assert!(!frames.is_empty());
}

#[test]
fn what_spoils_the_framing_ends_the_connection_and_the_viewer_comes_back() {
    let (publisher, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(publisher.path(), 300);
    let (_program, ticket) = publisher.publish(&clip.url(75, "&loop"), "");
    // Bits of the kind, of flags that must not be set, of the stream, and of a number beyond the counter.
    let headers = [
        (4, 0x01),
        (4, 0x80),
        (5, 0x10),
        (5, 0x40),
        (8, 0x80),
        (11, 0x01),
        (12, 0x80),
        (15, 0x01),
    ];
    let lengths = [(0, 0x80), (1, 0x80), (2, 0x01), (3, 0x01)];
    let spoils: Vec<(usize, u8)> = headers.into_iter().chain(lengths).collect();
    let count = spoils.len();
    let spoilt = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&spoilt);
    // Number of the connection, its frames so far, and whether one of them was altered.
    let mut connection = (0, 0, false);
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, mut message| {
        if seen.direction == Direction::Down && is_frame(&message) {
            if connection.0 != seen.connection {
                // The viewer has connected again after the alteration.
                counted.fetch_add(usize::from(connection.2), Ordering::Relaxed);
                connection = (seen.connection, 0, false);
            }
            connection.1 += 1;
            let next = spoils.get(counted.load(Ordering::Relaxed));
            if let Some((at, bit)) = next.filter(|_| connection.1 >= 25 && !connection.2) {
                message[*at] ^= bit;
                connection.2 = true;
            }
        }
        Act::pass(message)
    });
    let (_, watching) = watch_until((&spoilt, count), &viewer, &clip, &proxy, &ticket);
    let report = viewer.report("report.json");
    // Eight headers, and two lengths beyond the limit. The other lengths end in silence, or in whatever the bytes that
    // follow are taken for.
    assert!(viewer.refused("report.json", "malformed") >= 10, "{report}");
    let established = total(&report, "handshakes", "established");
    assert!(established > count as u64, "{report}");
    assert_eq!(established, watching.count("INFO watching") as u64, "{report}");
}

#[test]
fn a_codec_configuration_that_is_spoilt_or_swallowed_is_sent_again() {
    for swallowed in [false, true] {
        let (publisher, viewer) = (Home::new(), Home::new());
        let clip = Clip::make(publisher.path(), 100);
        let (_program, ticket) = publisher.publish(&clip.url(50, "&loop"), "");
        let (mut spoilt, done) = (false, Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&done);
        let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, mut message| {
            let config = seen.direction == Direction::Down && is_media(&message) && !is_frame(&message);
            if config && !spoilt {
                spoilt = true;
                counted.fetch_add(1, Ordering::Relaxed);
                if swallowed {
                    return Act::drop();
                }
                message[LENGTH + 30] ^= 1;
            }
            Act::pass(message)
        });
        let (frames, watching) = watch_until((&done, 1), &viewer, &clip, &proxy, &ticket);
        assert!(!frames.is_empty(), "swallowed {swallowed}");
        watching.watched_in_one_session();
    }
}

#[test]
fn replayed_records_are_counted_and_shown_once() {
    let (publisher, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(publisher.path(), 300);
    let (mut program, ticket) = publisher.publish(&clip.url(60, ""), "--report report.json");
    let (mut frames, mut old) = (0, Vec::<Vec<u8>>::new());
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, message| {
        if seen.direction == Direction::Up || !is_media(&message) {
            return Act::pass(message);
        }
        frames += 1;
        old.push(message.clone());
        let again = match frames {
            // The newest record, a recent one, and one from the beginning.
            50 => old[49].clone(),
            100 => old[90].clone(),
            150 => old[1].clone(),
            _ => return Act::pass(message),
        };
        Act::all([message, again])
    });
    let (_, watching) = watch_all(&viewer, &clip, &proxy, &ticket);
    assert_eq!(program.ends(), 0);
    let excused = excused([(&publisher, &program), (&viewer, &watching)]);
    viewer.assert_whole_but_for(excused, &clip, "every frame once, none missing");
    let replays = viewer.refused("report.json", "replay");
    assert!(
        replays == 3 || watching.heard_nothing() && replays < 3,
        "{replays} replays"
    );
}

#[test]
fn dropped_and_swapped_records_cost_frames_but_show_no_wrong_one() {
    let (publisher, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(publisher.path(), 600);
    let (mut program, ticket) = publisher.publish(&clip.url(120, ""), "--report report.json");
    let (mut frames, mut held) = (0, None);
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, message| {
        if seen.direction == Direction::Up || !is_frame(&message) {
            return Act::pass(message);
        }
        frames += 1;
        if frames > 450 {
            return Act::pass(message);
        }
        // The period of 21 has no common factor with the keyframe interval of 10, so every kind of frame is affected.
        match frames % 21 {
            7 => Act::drop(),
            14 => {
                held = Some(message);
                Act::drop()
            }
            15 => Act::all([Some(message), held.take()].into_iter().flatten()),
            _ => Act::pass(message),
        }
    });
    let (frames, watching) = watch_all(&viewer, &clip, &proxy, &ticket);
    assert_eq!(program.ends(), 0);
    // All frames are decodable: none without all frames since the keyframe before it.
    for pair in frames.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        assert!(
            after == before + 1 || after % 10 == 0,
            "frame {after} was shown after {before}"
        );
    }
    let excused = excused([(&publisher, &program), (&viewer, &watching)]);
    assert!(frames.len().saturating_add(excused) > 250, "{} frames", frames.len());
    let report = viewer.report("report.json");
    assert!(total(&report, "frames_dropped", "gap") > 0, "{report}");
}

#[test]
fn records_of_another_session_and_reflected_ones_are_refused() {
    let (publisher, first, second) = (Home::new(), Home::new(), Home::new());
    let clip = Clip::make(publisher.path(), 300);
    let (mut program, ticket) = publisher.publish(&clip.url(60, "&loop"), "-v --report report.json");
    let recorded = Arc::new(Mutex::new(Vec::<Vec<u8>>::new()));
    let taken = Arc::clone(&recorded);
    let (mut frames, moved) = (0, Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&moved);
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen: Seen, message| {
        let mut taken = taken.lock().expect("no panic");
        if seen.connection == 0 {
            if seen.direction == Direction::Down && is_media(&message) {
                taken.push(message.clone());
            }
            return Act::pass(message);
        }
        let mut act = Act::pass(message.clone());
        if seen.direction == Direction::Down && is_frame(&message) {
            frames += 1;
            if frames % 20 == 0 && frames < 200 {
                counted.fetch_add(1, Ordering::Relaxed);
                // A record of the other viewer's session to this viewer, and the publisher's own record back to it.
                act.on.insert(0, taken[frames].clone());
                act.back.push(message);
            }
        } else if seen.direction == Direction::Up && is_control(&message) && frames < 200 {
            act.back.push(message);
        }
        act
    });
    let mut one = watch(&first, &proxy, &ticket);
    until("the first session is recorded", || {
        (recorded.lock().expect("no panic").len() > 220).then_some(())
    });
    let (_, two) = watch_until((&moved, 9), &second, &clip, &proxy, &ticket);
    program.says("records of this viewer were refused");
    assert_eq!((one.stop(), program.stop()), (0, 0));
    let refused = second.refused("report.json", "tag") + second.refused("report.json", "replay");
    assert!(refused >= 9 || two.heard_nothing(), "{refused} of 9");
    if one.heard_nothing() {
        // The first viewer connected again, and the proxy took it for the second one.
        return;
    }
    assert_eq!(first.refused("report.json", "tag"), 0);
    one.watched_in_one_session();
    let all = order_looped(&first.recorded(), &clip.frames);
    let excused = excused([(&publisher, &program), (&first, &one)]);
    assert!(missing(&all) <= excused, "the first viewer is disturbed");
}
