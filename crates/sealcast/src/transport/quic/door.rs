//! The door of a QUIC listener. It recognises by the destination connection ID alone which packets may reach QUIC, so
//! that a stranger, who has no ticket, gets no answer of any kind.
//!
//! A connecting end chooses the ID of its first packets: random bytes and their MAC under the key that follows from the
//! ticket (protocol.md §8). All later packets carry an ID that the listener issued: a nonce and its MAC under a key of
//! its own. Only what all versions of QUIC have in common (RFC 8999) is read here.

use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use quinn::{ConnectionId, ConnectionIdGenerator};
use quinn_proto::{InvalidCid, RandomConnectionIdGenerator};
use sealcast_proto::wire::{QUIC_ID_LEN, TicketMac};

/// Length of the nonce in a connection ID that a listener issues, bytes.
const NONCE: usize = 8;
/// Length of an ID that a listener issues, bytes. Each packet towards it carries one.
const ISSUED: usize = 16;
/// Set in the first byte of a packet with a long header.
const LONG_HEADER: u8 = 0x80;
/// Length of the version field of a long header, bytes.
const VERSION: usize = 4;

/// The connection IDs that a listener issues, which only the holder of its key can make: a nonce and its MAC.
#[derive(Clone)]
pub(crate) struct IssuedIds(hmac::Key);

impl IssuedIds {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    fn make(&self) -> ConnectionId {
        let nonce = RandomConnectionIdGenerator::new(NONCE).generate_cid();
        let mac = hmac::sign(&self.0, &nonce);
        ConnectionId::new(&[&nonce[..], &mac.as_ref()[..ISSUED - NONCE]].concat())
    }

    fn made(&self, id: &[u8]) -> bool {
        let Some((nonce, mac)) = id.split_first_chunk::<NONCE>().filter(|_| id.len() == ISSUED) else {
            return false;
        };
        let expected = hmac::sign(&self.0, nonce);
        verify_slices_are_equal(mac, &expected.as_ref()[..mac.len()]).is_ok()
    }
}

impl ConnectionIdGenerator for IssuedIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.make()
    }

    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        self.made(id).then_some(()).ok_or(InvalidCid)
    }

    fn cid_len(&self) -> usize {
        ISSUED
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Lets in packets whose connection ID was made with the ticket or issued by this end.
pub(crate) struct Door {
    ticket: TicketMac,
    issued: IssuedIds,
}

impl Door {
    /// `ticket` is the key that follows from this end's ticket; `issued` makes the IDs of this end.
    pub(crate) fn new(ticket: TicketMac, issued: IssuedIds) -> Self {
        Self { ticket, issued }
    }

    /// Keeps the packets that may come in of a run of packets `stride` bytes long, the last perhaps shorter, in their
    /// order at the beginning of `run`. Returns their length, and the number of packets that stay outside.
    pub(crate) fn sift(&self, run: &mut [u8], stride: usize) -> (usize, u64) {
        let (mut kept, mut strangers) = (0, 0);
        let mut last = None;
        for from in (0..run.len()).step_by(stride.max(1)) {
            let to = run.len().min(from + stride);
            if self.lets_in(&run[from..to], &mut last) {
                run.copy_within(from..to, kept);
                kept += to - from;
            } else {
                strangers += 1;
            }
        }
        (kept, strangers)
    }

    /// `last` is the issued ID that was recognised last: most packets of a run carry the same one.
    fn lets_in(&self, packet: &[u8], last: &mut Option<[u8; ISSUED]>) -> bool {
        let Some(id) = destination(packet) else {
            return false;
        };
        if id.len() == QUIC_ID_LEN {
            return self.ticket.verifies_quic_id(id);
        }
        let Ok(id) = <[u8; ISSUED]>::try_from(id) else {
            return false;
        };
        if *last != Some(id) && self.issued.made(&id) {
            *last = Some(id);
        }
        *last == Some(id)
    }
}

/// The destination connection ID of a packet. A short header does not say how long it is; a packet with one comes
/// under an ID that this end issued.
fn destination(packet: &[u8]) -> Option<&[u8]> {
    let (first, rest) = packet.split_first()?;
    if first & LONG_HEADER == 0 {
        return rest.get(..ISSUED);
    }
    let (length, rest) = rest.get(VERSION..)?.split_first()?;
    rest.get(..usize::from(*length))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [u8; 32] = [2; 32];

    fn ticket() -> TicketMac {
        TicketMac::new(&[1; 32])
    }

    fn door() -> Door {
        Door::new(ticket(), IssuedIds::new(&OWN))
    }

    fn long(version: u32, id: &[u8]) -> Vec<u8> {
        let length = u8::try_from(id.len()).expect("short");
        [&[0xC3][..], &version.to_be_bytes(), &[length], id, &[0; 1200]].concat()
    }

    fn short(id: &[u8]) -> Vec<u8> {
        [&[0x43][..], id, &[0; 40]].concat()
    }

    fn comes_in(packet: &[u8]) -> bool {
        let mut run = packet.to_vec();
        door().sift(&mut run, packet.len()).0 == packet.len() && run == packet
    }

    #[test]
    fn who_has_the_key_or_an_issued_id_comes_in_whatever_the_version() {
        for version in [0, 1, 0x6b33_43cf, 0x0a0a_0a0a] {
            assert!(comes_in(&long(version, &ticket().quic_id([5; 8]))));
            assert!(comes_in(&long(version, &IssuedIds::new(&OWN).make())));
        }
        assert!(comes_in(&short(&IssuedIds::new(&OWN).make())));
    }

    #[test]
    fn ids_of_other_keys_lengths_and_purposes_stay_outside() {
        let chosen = ticket().quic_id([5; 8]);
        let issued = IssuedIds::new(&OWN).make();
        for stranger in [
            long(1, &TicketMac::new(&OWN).quic_id([5; 8])),
            long(1, &IssuedIds::new(&[1; 32]).make()),
            long(1, &chosen[..ISSUED]),
            long(1, &issued[..NONCE]),
            long(1, &[]),
            long(1, &[0; 20]),
            long(1, &[0; 255]),
            short(&chosen),
            short(&[0; 20]),
        ] {
            assert!(!comes_in(&stranger), "{:02x?}", &stranger[..30]);
        }
        for at in 0..QUIC_ID_LEN {
            let mut forged = chosen.to_vec();
            forged[at] ^= 0x10;
            assert!(!comes_in(&long(1, &forged)), "byte {at}");
        }
        for at in 0..ISSUED {
            let mut forged = issued.to_vec();
            forged[at] ^= 0x10;
            assert!(!comes_in(&short(&forged)), "byte {at}");
        }
    }

    #[test]
    fn cut_packets_stay_outside_until_the_whole_id_is_there() {
        let packet = long(1, &ticket().quic_id([5; 8]));
        for length in 0..packet.len() {
            assert_eq!(
                comes_in(&packet[..length]),
                length > VERSION + 1 + QUIC_ID_LEN || length == 0,
                "{length}"
            );
        }
    }

    #[test]
    fn strangers_among_a_run_are_taken_out_and_the_rest_keeps_its_order() {
        let id = IssuedIds::new(&OWN).make();
        let packets: Vec<Vec<u8>> = (0..9_u8)
            .map(|number| {
                let id = if number % 3 == 1 { &[0; ISSUED][..] } else { &id[..] };
                [&[0x40][..], id, &[number; 40]].concat()
            })
            .collect();
        let stride = packets[0].len();
        let mut run = packets.concat();
        run.truncate(run.len() - 5);
        let (kept, strangers) = door().sift(&mut run, stride);
        let expected: Vec<u8> = [0, 2, 3, 5, 6, 8].map(|number: usize| packets[number].clone()).concat();
        assert_eq!(strangers, 3);
        assert!(run[..kept] == expected[..expected.len() - 5]);
    }

    #[test]
    fn ids_do_not_repeat_and_are_issued_again_after_a_restart_with_the_same_key() {
        let ids = IssuedIds::new(&OWN);
        let (first, second) = (ids.make(), ids.make());
        assert_ne!(first, second);
        assert!(IssuedIds::new(&OWN).validate(&first).is_ok());
        assert!(IssuedIds::new(&[1; 32]).validate(&second).is_err());
    }
}
