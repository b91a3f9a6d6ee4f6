//! Parts of a group's media that are left in clear, on a virtual clock.

use std::collections::BTreeSet;
use std::time::Duration;

use sealcast_proto::seal::Refusal;
use sealcast_proto::session::{Fec, Input};
use sealcast_proto::sign::SignMode;
use sealcast_proto::unit::{Permille, Selection};
use sealcast_testkit::show::frame_bytes;

use super::group_show::{FRAME, FRAME_BYTES, PUBLISHER, Show, Way, policy, shown};

const WAYS: [Way; 2] = [Way::Stream, Way::Udp("delay=5ms")];

fn show(sign: SignMode) -> Show {
    // Nobody tells a certificate here, on which who requires `both` insists.
    let least = sign.min(SignMode::Frame);
    let mut show = Show::over(sign, &WAYS, Some(policy(least)), Fec::Adaptive);
    show.pass(Duration::from_millis(500));
    show.play(25);
    show
}

/// Tells each viewer of a selection. The camera leaves nothing in clear before they have all agreed.
fn agree(show: &mut Show, selection: Selection) {
    for world in &mut show.viewers {
        world.tell(PUBLISHER, Input::Select(selection));
        world.run_cleanly(Duration::from_millis(100));
        assert_eq!(world.responder.session.selection(), selection);
    }
}

/// True if the sealed frame shows some of its data.
fn shows(sealed: &[u8], number: u64) -> bool {
    let data = frame_bytes(number, FRAME_BYTES);
    data.chunks(200)
        .any(|part| sealed.windows(part.len()).any(|seen| seen == part))
}

#[test]
fn members_that_agreed_open_what_is_in_clear_and_it_is_signed_like_the_rest() {
    for sign in [SignMode::Off, SignMode::Frame, SignMode::Both] {
        for selection in [
            Selection::None,
            Selection::Keyframes,
            Selection::Rate(Permille::new(500).expect("a half")),
        ] {
            let mut show = show(sign);
            agree(&mut show, selection);
            show.sealer.select(selection);
            let (mut in_clear, mut hidden) = (0, 0);
            for number in 25..75 {
                let sealing = show.frame(number % 25 == 0).expect("members are there");
                let clear = shows(&sealing.frame.bytes, number);
                assert_eq!(clear, sealing.frame.records.in_clear > 0, "{selection} {number}");
                (in_clear, hidden) = (in_clear + u32::from(clear), hidden + u32::from(!clear));
                show.pass(FRAME);
            }
            show.pass(Duration::from_secs(1));
            assert!(in_clear > 10, "{selection}: {in_clear}");
            match selection {
                Selection::None => assert_eq!(hidden, 0),
                Selection::Keyframes => assert_eq!(hidden, 2),
                _ => {}
            }
            for viewer in 0..2 {
                assert!(
                    shown(&mut show, viewer).into_iter().eq(0..75),
                    "{sign} {selection} {viewer}"
                );
            }
        }
    }
}

#[test]
fn a_member_that_did_not_agree_shows_nothing_that_is_in_clear() {
    let mut show = show(SignMode::Frame);
    agree(&mut show, Selection::None);
    show.viewers[1].tell(PUBLISHER, Input::Select(Selection::All));
    // Records that were on their way when it agreed to the end of it are accepted for five seconds.
    show.play(150);
    let before: BTreeSet<u64> = shown(&mut show, 1).into_iter().collect();
    assert_eq!(before.len(), 175);
    show.sealer.select(Selection::None);
    show.play(50);
    show.pass(Duration::from_secs(1));
    assert_eq!(shown(&mut show, 0).len(), 225);
    assert!(shown(&mut show, 1).is_empty());
    let refused = show.viewers[1].initiator.session.refusals();
    assert!(refused.of(Refusal::Cleartext) >= 50, "{refused:?}");
}

#[test]
fn once_everything_is_encrypted_again_what_was_on_its_way_still_opens() {
    let mut show = show(SignMode::Frame);
    agree(&mut show, Selection::None);
    show.sealer.select(Selection::None);
    show.play(10);
    for world in &mut show.viewers {
        world.tell(PUBLISHER, Input::Select(Selection::All));
    }
    show.sealer.select(Selection::All);
    let sealing = show.frame(true).expect("members are there");
    assert_eq!(sealing.frame.records.in_clear, 0);
    show.play(20);
    show.pass(Duration::from_secs(1));
    for viewer in 0..2 {
        assert!(shown(&mut show, viewer).into_iter().eq(0..56), "viewer {viewer}");
    }
}
