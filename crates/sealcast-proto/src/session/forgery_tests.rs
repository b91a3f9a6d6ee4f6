//! Forged datagrams of a sender without keys. Their cost is measured by the number of AEAD openings and not by time.

use std::cell::Cell;
use std::time::Duration;

use super::tests::session_over;
use super::{Carrier, Delivery, Entry, Handled, Input, Output, Session};
use crate::clock::Now;
use crate::keys::{EpochSecret, Role, Secret, Side};
use crate::seal::suite::AES_128_GCM;
use crate::seal::{Nonce, OpenFailed, PacketKey, Refusal, Suite};
use crate::wire::{COOKIE_LEN, TAG_LEN};

const CONNECTION: u32 = 7;
const COOKIE: [u8; COOKIE_LEN] = [3; COOKIE_LEN];
/// Number of the first epoch.
const EPOCH: u64 = 4;
/// Number of epochs: more than an end keeps.
const EPOCHS: u64 = 9;
const FORGERIES: u32 = 10_000;

thread_local! {
    /// Number of openings so far. Each computes one tag.
    static OPENED: Cell<u64> = const { Cell::new(0) };
}

/// A key that counts its openings.
struct Counting(Box<dyn PacketKey>);

impl PacketKey for Counting {
    fn seal(&self, nonce: Nonce, associated: &[u8], payload: &mut [u8]) -> [u8; TAG_LEN] {
        self.0.seal(nonce, associated, payload)
    }

    fn open(&self, nonce: Nonce, associated: &[u8], payload_and_tag: &mut [u8]) -> Result<(), OpenFailed> {
        OPENED.set(OPENED.get() + 1);
        self.0.open(nonce, associated, payload_and_tag)
    }
}

const COUNTED: Suite = Suite {
    make_key: |key| Box::new(Counting((AES_128_GCM.make_key)(key))),
    ..AES_128_GCM
};

/// An end with keys for as many epochs as it can hold: the current one, the next one and those before.
fn end(side: Side, role: Role) -> Session {
    let entry = Entry::Shown {
        connection: CONNECTION,
        cookie: COOKIE,
    };
    let secret = |number| EpochSecret::new(Secret::from_bytes(&[5; 32]), number);
    let secrets = vec![secret(EPOCH), secret(EPOCH + 1)];
    let carrier = Carrier::Datagrams(entry);
    let mut session = session_over(carrier, Delivery::default(), COUNTED, side, role, secrets);
    let ring = &mut session.keys().expect("it is established").ring;
    for later in 2..EPOCHS {
        ring.switch(Duration::ZERO);
        ring.install_next(secret(EPOCH + later));
    }
    session
}

fn at(micros: u64) -> Now {
    Now {
        monotonic: Duration::from_micros(micros),
        wall: 1_000 * micros,
    }
}

/// Forged datagram number `number`, by a sender who knows the connection's number. Over all numbers these are records
/// of every kind, flags and epoch, fragments, and other messages.
fn forgery(number: u32) -> Vec<u8> {
    let mixed = number.wrapping_mul(0x9E37_79B9);
    let [a, b, c, d] = mixed.to_be_bytes();
    let mut out = CONNECTION.to_be_bytes().to_vec();
    if number.is_multiple_of(8) {
        out.extend([a % 10, b, c, d]);
        out.resize(5 + usize::from(d) * 4, b);
        return out;
    }
    let control = number.is_multiple_of(3);
    let flags = [0x01, 0x41, 0x0D, 0x0F, 0x2D, 0x11, 0x00, 0x81];
    let flags = if control { 0x01 } else { flags[usize::from(a) % 8] };
    out.extend([if control { 0x11 } else { 0x10 }, flags]);
    let epoch = EPOCH as u16 + u16::from(b) % (EPOCHS as u16 + 2);
    out.extend(epoch.to_be_bytes());
    out.extend(u32::from(!control).to_be_bytes());
    // Record numbers below, in and far beyond any replay window.
    out.extend(u64::from(mixed >> (c % 32)).to_be_bytes());
    out.resize(4 + 24 + 16 + usize::from(d) * 4, c);
    out
}

fn outputs(session: &mut Session) -> usize {
    let mut count = 0;
    while !matches!(session.poll(), Output::Timeout(_)) {
        count += 1;
    }
    count
}

#[test]
fn ten_thousand_forged_datagrams_cost_at_most_one_opening_each() {
    for (side, role) in [(Side::Initiator, Role::Viewer), (Side::Responder, Role::Publisher)] {
        let mut session = end(side, role);
        outputs(&mut session);
        let (begun, mut opened) = (OPENED.get(), 0);
        let mut sent = 0;
        for number in 0..FORGERIES {
            let before = OPENED.get();
            let mut forged = forgery(number);
            let handled = session.handle(at(u64::from(number)), Input::Message(&mut forged));
            let refused = match handled.expect("the session goes on") {
                Handled::Refused(reason) => Some(reason),
                Handled::Done => None,
                Handled::Duplicate | Handled::NotTheCameras(_) | Handled::NotTheCamerasSound(_) => {
                    panic!("forgery {number} is believed")
                }
            };
            let cost = OPENED.get() - before;
            assert!(cost <= 1, "forgery {number} cost {cost} openings");
            assert_eq!(cost == 1, refused == Some(Refusal::Tag), "{number}: {refused:?}");
            opened += cost;
            sent += outputs(&mut session);
        }
        assert_eq!(opened, OPENED.get() - begun);
        let refusals = session.refusals();
        assert_eq!(refusals.of(Refusal::Tag), opened, "{role:?}");
        for reason in [
            Refusal::Tag,
            Refusal::UnknownEpoch,
            Refusal::Malformed,
            Refusal::Cleartext,
        ] {
            assert!(refusals.of(reason) > 100, "{role:?}: {reason}");
        }
        // The forgeries arrive within 10 ms. The session's output goes to its peer only, and the clock limits its
        // amount, whatever the number of forgeries.
        assert!(sent <= 2, "{role:?}: {sent} outputs");
        assert!(!session.is_over());
    }
}
