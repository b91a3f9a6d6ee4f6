//! `vectors/schedule.json`: pre-shared keys, the MACs of hellos, and the signatures of rekeying.

use sealcast_testkit::vectors::{Hex, load};
use serde::Deserialize;

use super::psk::Psk;
use super::{HelloKeys, Identity, Invite, PeerId, PresharedKey, PskName, RekeySignature};

#[derive(Deserialize)]
struct File {
    psks: Vec<PskCase>,
    hello_macs: Vec<HelloMac>,
    rekeys: Vec<Rekey>,
    refused_rekeys: Vec<Rekey>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PskCase {
    name: String,
    expect: String,
    invite: Option<Hex>,
    psk: Hex,
    early: Hex,
    /// Of no pre-shared key there is none.
    psk_name: Option<Hex>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HelloMac {
    name: String,
    expect: String,
    peer_r: Hex,
    psk: Option<Hex>,
    hello_head: Hex,
    binder_key: Option<Hex>,
    binder: Hex,
    mac_key: Hex,
    mac: Hex,
}

#[derive(Deserialize)]
struct Rekey {
    name: String,
    expect: String,
    epoch: u64,
    binding: Hex,
    publisher_seed: Hex,
    publisher: Hex,
    viewer_seed: Hex,
    viewer: Hex,
    offer: Hex,
    answer: Option<Hex>,
}

#[test]
fn pre_shared_keys_are_the_references() {
    let cases = load::<File>("schedule").psks;
    assert_eq!(cases.len(), 5);
    for case in cases {
        assert_eq!(case.expect, "ok");
        let psk = match &case.invite {
            Some(invite) => PresharedKey::from_invite(&Invite::new(invite.array())),
            None => PresharedKey::new(case.psk.array()),
        };
        assert_eq!(psk.reveal()[..], case.psk.0, "{}", case.name);
        let Some(name) = case.psk_name.as_ref().map(|name| PskName(name.array())) else {
            assert_eq!(case.psk.0, [0; 32], "{}", case.name);
            continue;
        };
        assert_eq!(psk.name(), name, "{}", case.name);
        assert_eq!(PskName::parse(&name.to_string()), Some(name));
        let mut ours = [0; 8];
        super::Secret::from_bytes(&case.early.array()).expand(b"name", &[], &mut ours);
        assert_eq!(PskName(ours), name, "{}", case.name);
    }
}

#[test]
fn hellos_end_with_the_references_binder_and_mac() {
    let cases = load::<File>("schedule").hello_macs;
    assert_eq!(cases.len(), 5);
    for case in cases {
        assert_eq!(
            (case.expect.as_str(), case.binder_key.is_some()),
            ("ok", case.psk.is_some())
        );
        assert_eq!(case.mac_key.0.len(), 32);
        let psk = case.psk.as_ref().map(|psk| PresharedKey::new(psk.array()));
        let keys = HelloKeys::new(&PeerId(case.peer_r.array()), &psk);
        let mut hello = case.hello_head.0.clone();
        keys.finish_hello(&mut hello);
        let expected = [&case.hello_head.0[..], &case.binder.0, &case.mac.0].concat();
        assert_eq!(hello, expected, "{}", case.name);
        assert!(keys.mac().verifies_hello(&hello));
        let found = if psk.is_some() { Psk::At(0) } else { Psk::None };
        assert!(
            keys.find(&case.hello_head.0, &case.binder.array(), None) == Some(found),
            "{}",
            case.name
        );
    }
}

/// True if the viewer accepts the offer, and the publisher then the answer.
fn accepted(case: &Rekey) -> bool {
    let binding = case.binding.array();
    let about = |offer| RekeySignature {
        binding: &binding,
        epoch: case.epoch + 1,
        offer,
    };
    let [publisher, viewer] = [&case.publisher, &case.viewer].map(|peer| PeerId(peer.array()));
    let offer = about(None).verifies(&publisher, &case.offer.0);
    match &case.answer {
        Some(answer) => {
            assert!(offer, "{}: the offer is good", case.name);
            about(Some(&case.offer.0)).verifies(&viewer, &answer.0)
        }
        None => offer,
    }
}

#[test]
fn rekeying_is_signed_as_by_the_reference_and_forged_signatures_are_refused() {
    let File {
        rekeys, refused_rekeys, ..
    } = load::<File>("schedule");
    assert_eq!((rekeys.len(), refused_rekeys.len()), (3, 29));
    for case in &rekeys {
        assert!(case.expect == "ok" && accepted(case), "{}", case.name);
        let binding = case.binding.array();
        let about = |offer| RekeySignature {
            binding: &binding,
            epoch: case.epoch + 1,
            offer,
        };
        let answer = case.answer.as_ref().expect("an answer");
        for (seed, offer, message) in [
            (&case.publisher_seed, None, &case.offer),
            (&case.viewer_seed, Some(&case.offer.0[..]), answer),
        ] {
            let mut ours = message.0.clone();
            let end = ours.len();
            ours[end - 64..].fill(0);
            about(offer).sign(&Identity::from_seed(&seed.array()), &mut ours);
            assert_eq!(ours, message.0, "{}", case.name);
        }
    }
    for case in &refused_rekeys {
        assert!(case.expect == "signature" && !accepted(case), "{}", case.name);
    }
}
