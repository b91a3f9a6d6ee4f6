//! Records that are altered, dropped, repeated, swapped and moved between sessions: refused, counted and survived, and
//! nothing but what the publisher sent reaches the file.

use std::sync::{Arc, Mutex};

use sealcast_testkit::attack::{
    Act, Clip, Home, LENGTH, Proxy, Seen, Way, is_control, is_frame, is_media, lacks, order, until,
};

/// Every bit that is worth flipping in a frame's record: where, and the reason it is refused for.
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
    // From the end: the last byte of the payload and the tag.
    flips.extend((1..=17).map(|back| (usize::MAX - back, 0x10, "tag")));
    flips
}

/// Where a flip falls in a message of this length.
fn place(at: usize, length: usize) -> usize {
    if at > usize::MAX / 2 {
        length - (usize::MAX - at)
    } else {
        LENGTH + at
    }
}

struct Watched {
    received: Vec<u8>,
    frames: Vec<usize>,
}

/// Watch a whole clip through the proxy, to its end.
fn watch_all(home: &Home, clip: &Clip, proxy: &Proxy, ticket: &str) -> Watched {
    let mut viewer = home.start(&format!(
        "watch {} --to file:out.h264 --report report.json",
        proxy.ticket(ticket)
    ));
    assert_eq!(viewer.ends(), 0, "{}", viewer.said());
    let received = home.recorded();
    let frames = order(&received, &clip.frames);
    for (_, wire) in proxy.wire() {
        lacks(&wire, &clip.bytes);
    }
    Watched { received, frames }
}

#[test]
fn a_flipped_bit_anywhere_is_refused_counted_and_survived() {
    let (publisher, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(publisher.path(), 900);
    let (_program, ticket) = publisher.publish(&clip.url(90, ""), "");
    let (mut frames, mut left) = (0, flips().into_iter());
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, mut message| {
        if seen.way == Way::Down && is_frame(&message) {
            frames += 1;
            if frames % 8 == 0
                && let Some((at, bit, _)) = left.next()
            {
                let at = place(at, message.len());
                message[at] ^= bit;
            }
        }
        Act::pass(message)
    });
    let watched = watch_all(&viewer, &clip, &proxy, &ticket);
    for reason in ["cleartext", "unknown_epoch", "tag"] {
        let wanted = flips().iter().filter(|flip| flip.2 == reason).count();
        assert_eq!(viewer.refused("report.json", reason), wanted as u64, "{reason}");
    }
    let report = viewer.report("report.json");
    assert_eq!(report["totals"]["handshakes"]["established"], 1, "the session goes on");
    assert!(watched.frames.len() > 150, "{} frames", watched.frames.len());
    assert_eq!(watched.frames.last(), Some(&899), "to the last frame");
    assert!(!watched.received.is_empty());
}

#[test]
fn what_spoils_the_framing_ends_the_connection_and_the_viewer_comes_back() {
    let (publisher, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(publisher.path(), 4500);
    let (_program, ticket) = publisher.publish(&clip.url(75, ""), "");
    // Kind, flags that must not be set, stream, a number beyond the counter; then the length.
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
    let mut frames = 0;
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, mut message| {
        if seen.way == Way::Down && is_frame(&message) {
            frames += 1;
            if let Some((at, bit)) = spoils.get(seen.connection).filter(|_| frames % 25 == 0) {
                message[*at] ^= bit;
            }
        }
        Act::pass(message)
    });
    let mut watching = viewer.start(&format!(
        "watch {} --to file:out.h264 --report report.json",
        proxy.ticket(&ticket)
    ));
    until("every way to spoil it is survived", || {
        (watching.count("INFO watching") > count).then_some(())
    });
    let before = viewer.recorded_size();
    until("the stream goes on", || {
        (viewer.recorded_size() > before + 50_000).then_some(())
    });
    assert_eq!(watching.stop(), 0);
    order(&viewer.recorded(), &clip.frames);
    for (_, wire) in proxy.wire() {
        lacks(&wire, &clip.bytes);
    }
    let report = viewer.report("report.json");
    // Eight headers and two lengths beyond the limit; the other lengths end as silence or as what follows is taken for.
    assert!(viewer.refused("report.json", "malformed") >= 10, "{report}");
    let established = report["totals"]["handshakes"]["established"].as_u64();
    assert_eq!(established, Some(count as u64 + 1), "{report}");
}

#[test]
fn a_codec_configuration_that_is_spoilt_or_swallowed_is_sent_again() {
    for swallowed in [false, true] {
        let (publisher, viewer) = (Home::new(), Home::new());
        let clip = Clip::make(publisher.path(), 250);
        let (_program, ticket) = publisher.publish(&clip.url(50, ""), "");
        let mut spoilt = false;
        let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, mut message| {
            let config = seen.way == Way::Down && is_media(&message) && !is_frame(&message);
            if config && !spoilt {
                spoilt = true;
                if swallowed {
                    return Act::drop();
                }
                message[LENGTH + 30] ^= 1;
            }
            Act::pass(message)
        });
        let watched = watch_all(&viewer, &clip, &proxy, &ticket);
        assert!(
            watched.frames.len() > 100,
            "swallowed {swallowed}: {} frames",
            watched.frames.len()
        );
    }
}

#[test]
fn replayed_records_are_counted_and_shown_once() {
    let (publisher, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(publisher.path(), 300);
    let (_program, ticket) = publisher.publish(&clip.url(60, ""), "");
    let (mut frames, mut old) = (0, Vec::<Vec<u8>>::new());
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, message| {
        if seen.way == Way::Up || !is_media(&message) {
            return Act::pass(message);
        }
        frames += 1;
        old.push(message.clone());
        let again = match frames {
            // At once; a little later; from the beginning.
            50 => old[49].clone(),
            100 => old[90].clone(),
            150 => old[1].clone(),
            _ => return Act::pass(message),
        };
        Act::all([message, again])
    });
    let watched = watch_all(&viewer, &clip, &proxy, &ticket);
    assert_eq!(viewer.refused("report.json", "replay"), 3);
    assert_eq!(
        watched.frames,
        (0..300).collect::<Vec<_>>(),
        "every frame once, none missing"
    );
}

#[test]
fn dropped_and_swapped_records_cost_frames_but_show_no_wrong_one() {
    let (publisher, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(publisher.path(), 600);
    let (_program, ticket) = publisher.publish(&clip.url(60, ""), "");
    let (mut frames, mut held) = (0, None);
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, message| {
        if seen.way == Way::Up || !is_frame(&message) {
            return Act::pass(message);
        }
        frames += 1;
        if frames > 450 {
            return Act::pass(message);
        }
        // Seven and ten have no common factor with where keyframes stand: every kind of frame is hit.
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
    let watched = watch_all(&viewer, &clip, &proxy, &ticket);
    // What is decodable: no frame without all frames since the keyframe before it.
    for pair in watched.frames.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        assert!(
            after == before + 1 || after % 10 == 0,
            "frame {after} was shown after {before}"
        );
    }
    assert!(watched.frames.len() > 250, "{} frames", watched.frames.len());
    let report = viewer.report("report.json");
    assert!(report["totals"]["frames_dropped"]["gap"].as_u64() > Some(0));
    assert_eq!(report["totals"]["handshakes"]["established"], 1);
}

#[test]
fn records_of_another_session_and_reflected_ones_are_refused() {
    let (publisher, first, second) = (Home::new(), Home::new(), Home::new());
    let clip = Clip::make(publisher.path(), 600);
    let (program, ticket) = publisher.publish(&clip.url(60, ""), "-v");
    let recorded = Arc::new(Mutex::new(Vec::<Vec<u8>>::new()));
    let taken = Arc::clone(&recorded);
    let mut frames = 0;
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen: Seen, message| {
        let mut taken = taken.lock().expect("no panic");
        if seen.connection == 0 {
            if seen.way == Way::Down && is_media(&message) {
                taken.push(message.clone());
            }
            return Act::pass(message);
        }
        let mut act = Act::pass(message.clone());
        if seen.way == Way::Down && is_frame(&message) {
            frames += 1;
            if frames % 20 == 0 && frames < 200 {
                // From the other viewer's session, and to the publisher what it said itself.
                act.on.insert(0, taken[frames].clone());
                act.back.push(message);
            }
        } else if seen.way == Way::Up && is_control(&message) && frames < 200 {
            act.back.push(message);
        }
        act
    });
    let to = |home: &Home| {
        home.start(&format!(
            "watch {} --to file:out.h264 --report report.json",
            proxy.ticket(&ticket)
        ))
    };
    let mut one = to(&first);
    until("the first session is recorded", || {
        (recorded.lock().expect("no panic").len() > 220).then_some(())
    });
    let mut two = to(&second);
    assert_eq!((one.ends(), two.ends()), (0, 0));
    assert_eq!(first.report("report.json")["totals"]["open_failures"]["tag"], 0);
    assert!(second.refused("report.json", "tag") + second.refused("report.json", "replay") >= 9);
    program.says("records of this viewer were refused");
    let all = order(&first.recorded(), &clip.frames);
    assert_eq!(all.len(), 600, "the first viewer is not disturbed");
    let some = order(&second.recorded(), &clip.frames);
    assert_eq!(some.last(), Some(&599));
}
