//! View of an observer on a group's records: all of one length at fixed times, or parts of the stream in clear once
//! every member has agreed.

use sealcast_testkit::attack::{Act, Clip, Direction, Home, LENGTH, Proxy, Tap, is_frame, order_looped, record, until};

use super::shape::{messages, only_cells};

/// Number of frames of a clip.
const FRAMES: usize = 50;
/// Frames per second.
const RATE: u32 = 50;
/// The flag of a record with a frame's proof.
const PROOF: u8 = 0x10;
const MEMBER: &str = "it is a member of the group";

/// Checks that all frames of a recording are the clip's, and that there are some.
fn records_the_clip(viewer: &Home, clip: &Clip) {
    let frames = order_looped(&viewer.recorded(), &clip.frames);
    assert!(frames.len() > FRAMES, "{} frames", frames.len());
}

#[test]
fn members_at_a_constant_rate_show_only_cells_and_get_the_clip() {
    let home = Home::new();
    let clip = Clip::make(home.path(), FRAMES);
    let options = "--group --sign both --shape constant:8mbit";
    let (publishing, ticket) = home.publish(&clip.url(RATE, "&loop"), options);
    let proxy = Proxy::start(Proxy::port_of(&ticket), |_, message| Act::pass(message));
    let viewers = [0, 1].map(|_| record(&proxy.ticket(&ticket), ""));
    until("two members", || (publishing.count(MEMBER) == 2).then_some(()));
    for (viewer, _) in &viewers {
        viewer.grows_by(2 * clip.bytes.len() as u64);
    }
    for (viewer, mut watching) in viewers {
        assert_eq!(watching.stop(), 0, "{}", watching.said());
        records_the_clip(&viewer, &clip);
        let report = viewer.report("report.json");
        assert!(
            report["totals"]["group_frames_refused"].as_u64().unwrap_or(0) == 0,
            "{report}"
        );
    }
    for (direction, wire) in proxy.wire() {
        only_cells(&format!("{direction:?}"), messages(&wire).into_iter());
    }
}

#[test]
fn over_udp_a_member_at_a_constant_rate_shows_only_cells_and_gets_the_clip() {
    let home = Home::new();
    let clip = Clip::make(home.path(), FRAMES);
    let (publishing, ticket) = home.publish_udp(&clip.url(RATE, "&loop"), "", "--group --shape constant:8mbit");
    let tap = Tap::start(Proxy::port_of(&ticket), |_, _, datagram| vec![datagram.to_vec()]);
    let (viewer, mut watching) = record(&Proxy::redirect(&ticket, tap.port), "");
    publishing.says(MEMBER);
    viewer.grows_by(2 * clip.bytes.len() as u64);
    assert_eq!(watching.stop(), 0, "{}", watching.said());
    records_the_clip(&viewer, &clip);
    let seen = tap.seen();
    let down = seen.iter().filter(|(way, _)| *way == Direction::Down);
    only_cells("down", down.map(|(_, datagram)| (datagram[4], datagram.len())));
}

/// The flags of the media records with a part of a frame, in their order.
fn frame_flags(proxy: &Proxy) -> Vec<u8> {
    let wire = proxy.wire();
    let down = wire.iter().find(|(direction, _)| *direction == Direction::Down);
    let mut rest = down.map_or(&[][..], |(_, bytes)| &bytes[..]);
    let mut flags = Vec::new();
    while let Some((prefix, after)) = rest.split_first_chunk::<LENGTH>() {
        let length = u32::from_be_bytes(*prefix) as usize;
        if after.len() < length {
            break;
        }
        let (message, next) = rest.split_at(LENGTH + length);
        // Proofs are in clear anyway.
        if is_frame(message) && message[LENGTH + 1] & PROOF == 0 {
            flags.push(message[LENGTH + 1]);
        }
        rest = next;
    }
    flags
}

#[test]
fn a_group_leaves_in_clear_what_all_its_members_agreed_to_and_nothing_before() {
    let home = Home::new();
    let clip = Clip::make(home.path(), FRAMES);
    let socket = home.file("control");
    let options = format!("--group --encrypt none --control {}", socket.display());
    let (publishing, ticket) = home.publish(&clip.url(RATE, "&loop"), &options);
    let proxy = Proxy::start(Proxy::port_of(&ticket), |_, message| Act::pass(message));
    let (first, mut watching) = record(&proxy.ticket(&ticket), "");
    let (second, mut other) = record(&ticket, "");
    until("two members", || (publishing.count(MEMBER) == 2).then_some(()));
    let clear = |flags: &[u8]| flags.iter().filter(|flags| *flags & 1 == 0).count();
    until("a second of the group's frames in clear", || {
        let shown = proxy.wire().iter().any(|(_, bytes)| {
            let frame = &clip.frames[FRAMES - 1];
            bytes.windows(frame.len()).any(|seen| seen == frame)
        });
        (shown && clear(&frame_flags(&proxy)) > RATE as usize).then_some(())
    });
    let answer = home
        .command()
        .args(["control", "--socket"])
        .arg(&socket)
        .args(["encrypt", "all"])
        .output();
    assert!(answer.expect("it runs").status.success());
    watching.says("the publisher encrypts everything");
    let before = frame_flags(&proxy).len();
    until("more frames", || {
        (frame_flags(&proxy).len() > before + FRAMES).then_some(())
    });
    // A frame that was sealed before the order may follow it.
    assert_eq!(clear(&frame_flags(&proxy)[before + 5..]), 0);
    for (viewer, watching) in [(first, &mut watching), (second, &mut other)] {
        assert_eq!(watching.stop(), 0, "{}", watching.said());
        records_the_clip(&viewer, &clip);
        assert!(watching.count("refused") == 0, "{}", watching.said());
    }
}
