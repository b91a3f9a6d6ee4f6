//! Signatures of rekeying.

use std::time::Duration;

use super::tests::{pair, say, signed};
use super::{Input, SessionError};
use crate::sim::Direction;
use crate::wire::{Control, Kind};

const VIEWER: Direction = Direction::ToInitiator;
const PUBLISHER: Direction = Direction::ToResponder;

#[test]
fn an_offer_or_answer_without_the_peers_signature_ends_the_session() {
    let offer = Control::RekeyOffer {
        epoch: 1,
        mechanism: 0xFF,
        share: &[7; 32],
        signature: [0; 64],
    };
    for (forged, why) in [
        (offer.to_bytes(), "none"),
        (signed(2, None, &offer), "for another epoch"),
        (signed(1, Some(b"offer"), &offer), "as an answer"),
    ] {
        let mut world = pair(0);
        say(&mut world, PUBLISHER, Kind::Control, &forged);
        assert_eq!(world.initiator.error, Some(SessionError::PeerMisbehaved), "{why}");
    }
    let mut world = pair(0);
    world.tell(PUBLISHER, Input::Rekey);
    let mut offered = 0;
    world.run(Duration::from_millis(2), &mut |_, message| {
        // Pings are shorter.
        offered += usize::from(message.len() > 128);
        crate::sim::Verdict::Drop
    });
    assert_eq!(offered, 1, "the offer is under way");
    let answer = Control::RekeyAnswer {
        epoch: 1,
        ciphertext: &[7; 32],
        signature: [0; 64],
    };
    say(
        &mut world,
        VIEWER,
        Kind::Control,
        &signed(1, Some(b"another offer"), &answer),
    );
    assert_eq!(world.responder.error, Some(SessionError::PeerMisbehaved));
}
