//! Somebody on the path of a member of a group, whose frames are sealed once for all and signed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sealcast_testkit::attack::{
    Act, Clip, Direction, Home, LENGTH, Program, Proxy, is_frame, is_media, lacks, order_looped, until,
};

const JOINED: &str = "the camera seals for all its viewers at once";

fn watch(home: &Home, proxy: &Proxy, ticket: &str, more: &str) -> Program {
    let ticket = proxy.ticket(ticket);
    let viewer = home.start(&format!(
        "watch {ticket} --to file:out.h264 --report report.json {more}"
    ));
    viewer.says(JOINED);
    viewer
}

/// True if these bytes are the record with a frame's proof.
fn is_proof(message: &[u8]) -> bool {
    is_media(message) && message[LENGTH + 1] & 0x10 != 0
}

#[test]
fn what_is_altered_repeated_swapped_or_without_proof_is_never_shown() {
    let (publisher, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(publisher.path(), 300);
    let (mut program, ticket) = publisher.publish(&clip.url(100, "&loop"), "--group --sign both");
    let done = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&done);
    let (mut records, mut before) = (0, None::<Vec<u8>>);
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, mut message| {
        if seen.direction == Direction::Up || !is_frame(&message) {
            return Act::pass(message);
        }
        records += 1;
        let old = before.replace(message.clone());
        // The period of 31 has no common factor with the two records of a frame, or with keyframes.
        let attack = (records % 31 == 0).then(|| counted.fetch_add(1, Ordering::Relaxed) % 5);
        match attack {
            Some(0) => {
                let middle = LENGTH + (message.len() - LENGTH) / 2;
                message[middle] ^= 1;
                Act::pass(message)
            }
            // Frame or proof, whichever it is, comes again, or is missing.
            Some(1) => Act::all([message.clone(), message]),
            Some(2) => Act::drop(),
            // The record before it comes once more between them.
            Some(3) => Act::all(old.into_iter().chain([message])),
            // It claims to be, or not to be, the record with the proof.
            Some(_) => {
                message[LENGTH + 1] ^= 0x10;
                Act::pass(message)
            }
            None => Act::pass(message),
        }
    });
    let mut watching = watch(&viewer, &proxy, &ticket, "");
    until("forty attacks", || (done.load(Ordering::Relaxed) > 40).then_some(()));
    viewer.grows_by(50_000);
    assert_eq!(watching.stop(), 0, "{}", watching.said());
    assert_eq!(program.stop(), 0);
    for (_, wire) in proxy.wire() {
        lacks(&wire, &clip.bytes);
    }
    // It fails for a frame that is none of the clip's.
    let frames = order_looped(&viewer.recorded(), &clip.frames);
    assert!(frames.len() > 100, "{} frames", frames.len());
    if !watching.heard_nothing() {
        for reason in ["tag", "replay"] {
            let refused = viewer.refused("report.json", reason);
            assert!(refused >= 5, "{refused} {reason}");
        }
    }
}

#[test]
fn a_path_that_withholds_the_proofs_shows_nothing_and_raises_the_alarm() {
    let (publisher, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(publisher.path(), 300);
    let (mut program, ticket) = publisher.publish(&clip.url(50, "&loop"), "--group");
    let withholds = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&withholds);
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, message| {
        if seen.direction == Direction::Down && is_proof(&message) && told.load(Ordering::Relaxed) {
            return Act::drop();
        }
        Act::pass(message)
    });
    let mut watching = watch(&viewer, &proxy, &ticket, "");
    viewer.grows_by(50_000);
    withholds.store(true, Ordering::Relaxed);
    watching.says("the picture may be old");
    withholds.store(false, Ordering::Relaxed);
    watching.says("the picture is live again");
    viewer.grows_by(50_000);
    assert_eq!(watching.stop(), 0, "{}", watching.said());
    assert_eq!(program.stop(), 0);
    order_looped(&viewer.recorded(), &clip.frames);
}
