//! The MAC of hellos and knocks. It shows that their sender has the responder's ticket, so a responder need not answer
//! anybody else (protocol.md §3).

use aws_lc_rs::{constant_time, hmac};

use super::COOKIE_LEN;

/// Length of the MAC in bytes.
pub const TICKET_MAC_LEN: usize = 16;
/// Length of the random part of the connection id that a QUIC client begins with, in bytes.
const QUIC_RANDOM: usize = 8;
/// Length of the connection id that a QUIC client begins with, in bytes.
pub const QUIC_ID_LEN: usize = 20;

/// The key of the MACs towards one responder.
#[derive(Clone)]
pub struct TicketMac(hmac::Key);

impl TicketMac {
    /// Creates the key from `mac_key` of keys.md §4.
    pub fn new(mac_key: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, mac_key))
    }

    fn tag(&self, parts: &[&[u8]]) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.0);
        for part in parts {
            context.update(part);
        }
        context.sign()
    }

    fn verifies(&self, parts: &[&[u8]], mac: &[u8]) -> bool {
        constant_time::verify_slices_are_equal(&self.tag(parts).as_ref()[..mac.len()], mac).is_ok()
    }

    fn mac(&self, parts: &[&[u8]]) -> [u8; TICKET_MAC_LEN] {
        let tag = self.tag(parts);
        tag.as_ref()
            .first_chunk()
            .copied()
            .expect("HMAC-SHA-256 gives 32 bytes")
    }

    /// Appends the MAC to a hello.
    pub(crate) fn finish_hello(&self, hello: &mut Vec<u8>) {
        let mac = self.mac(&[hello]);
        hello.extend_from_slice(&mac);
    }

    /// Makes the MAC at the end of a hello anew, as one does who altered it and has the ticket.
    pub fn renew(&self, hello: &mut [u8]) {
        if let Some((covered, mac)) = hello.split_last_chunk_mut::<TICKET_MAC_LEN>() {
            *mac = self.mac(&[covered]);
        }
    }

    /// Returns true if a hello ends with the right MAC. Nothing else of it is looked at.
    pub fn verifies_hello(&self, hello: &[u8]) -> bool {
        hello
            .split_last_chunk::<TICKET_MAC_LEN>()
            .is_some_and(|(covered, mac)| self.verifies(&[covered], mac))
    }

    /// Returns the MAC of a knock, whose kind is 0x07.
    pub fn of_knock(&self, kind: u8, random: &[u8; COOKIE_LEN], connection: u32) -> [u8; TICKET_MAC_LEN] {
        self.mac(&[&[kind], random, &connection.to_be_bytes()])
    }

    /// Returns true if it is the MAC of a knock.
    pub(crate) fn verifies_knock(
        &self,
        kind: u8,
        random: &[u8; COOKIE_LEN],
        connection: u32,
        mac: &[u8; TICKET_MAC_LEN],
    ) -> bool {
        self.verifies(&[&[kind], random, &connection.to_be_bytes()], mac)
    }

    /// Returns the connection id with which a QUIC client begins (protocol.md §8). `random` is 8 fresh random bytes.
    pub fn quic_id(&self, random: [u8; QUIC_RANDOM]) -> [u8; QUIC_ID_LEN] {
        let mut id = [0; QUIC_ID_LEN];
        id[..QUIC_RANDOM].copy_from_slice(&random);
        id[QUIC_RANDOM..].copy_from_slice(&self.tag(&[b"quic", &random]).as_ref()[..QUIC_ID_LEN - QUIC_RANDOM]);
        id
    }

    /// Returns true if a connection id was made by [`quic_id`](Self::quic_id).
    pub fn verifies_quic_id(&self, id: &[u8]) -> bool {
        let Some((random, mac)) = id.split_first_chunk::<QUIC_RANDOM>() else {
            return false;
        };
        id.len() == QUIC_ID_LEN && self.verifies(&[b"quic", random], mac)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_knows_the_responder_makes_its_macs() {
        let (mac, other) = (TicketMac::new(&[1; 32]), TicketMac::new(&[2; 32]));
        let mut hello = b"a hello of any form".to_vec();
        mac.finish_hello(&mut hello);
        assert!(mac.verifies_hello(&hello) && !other.verifies_hello(&hello));
        assert!(!mac.verifies_hello(&hello[1..]) && !mac.verifies_hello(&hello[..10]) && !mac.verifies_hello(&[]));
        let knock = mac.of_knock(7, &[3; 16], 4);
        assert!(mac.verifies_knock(7, &[3; 16], 4, &knock) && !mac.verifies_knock(7, &[3; 16], 5, &knock));
        let id = mac.quic_id([5; 8]);
        assert!(mac.verifies_quic_id(&id) && !other.verifies_quic_id(&id) && !mac.verifies_quic_id(&id[..19]));
        assert!(!mac.verifies_quic_id(&id[..8]) && !mac.verifies_quic_id(&[]));
    }
}
