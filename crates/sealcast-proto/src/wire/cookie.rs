//! Retry cookies: on datagrams, a responder keeps no state for a sender until a cookie has proved that the sender
//! receives at its address (protocol.md §7).

use aws_lc_rs::{constant_time, hmac};

use super::datagram::{Bare, CONNECTION_LEN, COOKIE_DATAGRAM, cookie, is_record, knock_is_genuine};
use super::{COOKIE_LEN, TicketMac, connection_of};

/// An IP address and port as bytes: the IPv6 address (IPv4-mapped for an IPv4 address), then the port.
pub type AddressBytes = [u8; 18];

/// Action for a datagram whose connection is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unconnected {
    /// The datagram is a knock: send this cookie back.
    Retry([u8; COOKIE_DATAGRAM]),
    /// The datagram is a fragment with a valid cookie, so its sender receives at its address: begin a session and pass
    /// it the datagram.
    Begin {
        /// The connection.
        connection: u32,
        /// The cookie in the fragment.
        cookie: [u8; COOKIE_LEN],
    },
    /// The datagram is a record of a session that is not known here: drop it. If the session has been lost, its
    /// initiator finds out by knocking.
    Unknown,
    /// Drop the datagram: its sender has shown no ticket.
    Ignore,
}

/// Checks datagrams of unknown connections, with at most two MACs for each.
pub struct RetryCookies {
    ticket: TicketMac,
    /// Secrets, indexed by the parity of their number. The lowest bit of a cookie's first byte is that parity, so one
    /// MAC is enough to check a cookie.
    secrets: [hmac::Key; 2],
    current: u8,
}

impl RetryCookies {
    /// `ticket` is the key of the MACs of knocks to this end; `secret` is 32 fresh random bytes.
    pub fn new(ticket: TicketMac, secret: [u8; 32]) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        Self {
            ticket,
            secrets: [key.clone(), key],
            current: 0,
        }
    }

    /// Installs a new secret. Cookies made with the previous one stay valid until the next rotation.
    pub fn rotate(&mut self, secret: [u8; 32]) {
        self.current ^= 1;
        self.secrets[usize::from(self.current)] = hmac::Key::new(hmac::HMAC_SHA256, &secret);
    }

    /// Returns the action for a datagram from `address`.
    pub fn judge(&self, address: &AddressBytes, datagram: &[u8]) -> Unconnected {
        classify(&self.ticket, datagram, |parity, connection| {
            self.make(parity.unwrap_or(self.current), address, connection)
        })
    }

    /// Returns the cookie that answers a knock from `address` now.
    pub fn cookie(&self, address: &AddressBytes, connection: u32) -> [u8; COOKIE_LEN] {
        self.make(self.current, address, connection)
    }

    fn make(&self, parity: u8, address: &AddressBytes, connection: u32) -> [u8; COOKIE_LEN] {
        let mut bytes = [0; 22];
        bytes[..18].copy_from_slice(address);
        bytes[18..].copy_from_slice(&connection.to_be_bytes());
        let tag = hmac::sign(&self.secrets[usize::from(parity)], &bytes);
        let mut cookie = [0; COOKIE_LEN];
        cookie.copy_from_slice(&tag.as_ref()[..COOKIE_LEN]);
        cookie[0] = cookie[0] & !1 | parity;
        cookie
    }
}

/// Classifies a datagram. `mac` makes a connection's cookie with the secret of a parity, or with the newest for `None`.
/// It is an `FnOnce` and cannot be called twice, so no datagram costs more than that MAC and the one of a knock.
fn classify(ticket: &TicketMac, datagram: &[u8], mac: impl FnOnce(Option<u8>, u32) -> [u8; COOKIE_LEN]) -> Unconnected {
    let Some(connection) = connection_of(datagram) else {
        return Unconnected::Ignore;
    };
    let message = &datagram[CONNECTION_LEN..];
    match Bare::parse(message) {
        Ok(Bare::Knock { random, mac: shown }) if !knock_is_genuine(ticket, connection, &random, &shown) => {
            Unconnected::Ignore
        }
        Ok(Bare::Knock { random, .. }) => Unconnected::Retry(cookie(connection, &random, &mac(None, connection))),
        Ok(Bare::Fragment(fragment)) => {
            let expected = mac(Some(fragment.cookie[0] & 1), connection);
            if constant_time::verify_slices_are_equal(&expected, &fragment.cookie).is_ok() {
                Unconnected::Begin {
                    connection,
                    cookie: fragment.cookie,
                }
            } else {
                Unconnected::Ignore
            }
        }
        Ok(Bare::Other) if is_record(message) => Unconnected::Unknown,
        _ => Unconnected::Ignore,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::datagram::{fragments, knock};
    use super::*;

    const HERE: AddressBytes = [1; 18];

    fn ticket() -> TicketMac {
        TicketMac::new(&[8; 32])
    }

    fn cookie_for(cookies: &RetryCookies, address: &AddressBytes) -> [u8; COOKIE_LEN] {
        let Unconnected::Retry(answer) = cookies.judge(address, &knock(&ticket(), 7, &[9; 16])) else {
            panic!("a knock is answered")
        };
        match Bare::parse(&answer[CONNECTION_LEN..]) {
            Ok(Bare::Cookie { random, cookie }) if random == [9; 16] => cookie,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_shows_the_cookie_of_its_address_is_let_to_the_handshake() {
        let mut cookies = RetryCookies::new(ticket(), [5; 32]);
        let cookie = cookie_for(&cookies, &HERE);
        let hello = &fragments(7, &cookie, 0, b"hello")[0];
        assert_eq!(
            cookies.judge(&HERE, hello),
            Unconnected::Begin { connection: 7, cookie }
        );
        assert_eq!(
            cookies.judge(&[2; 18], hello),
            Unconnected::Ignore,
            "from another address"
        );
        assert_eq!(
            cookies.judge(&HERE, &fragments(8, &cookie, 0, b"hello")[0]),
            Unconnected::Ignore
        );
        cookies.rotate([6; 32]);
        assert_eq!(
            cookies.judge(&HERE, hello),
            Unconnected::Begin { connection: 7, cookie }
        );
        cookies.rotate([7; 32]);
        assert_eq!(cookies.judge(&HERE, hello), Unconnected::Ignore, "too old");
    }

    #[test]
    fn noise_gets_no_answer_and_neither_do_a_lost_session_and_a_knock_without_a_ticket() {
        let cookies = RetryCookies::new(ticket(), [5; 32]);
        for noise in [&b""[..], b"abc", b"abcd", &[0; 64], &[0xFF; 1500]] {
            assert_eq!(cookies.judge(&HERE, noise), Unconnected::Ignore);
        }
        let mut record = vec![0, 0, 0, 3, 0x10];
        record.resize(60, 0);
        assert_eq!(cookies.judge(&HERE, &record), Unconnected::Unknown);
        let stranger = TicketMac::new(&[9; 32]);
        assert_eq!(
            cookies.judge(&HERE, &knock(&stranger, 7, &[9; 16])),
            Unconnected::Ignore
        );
    }

    #[test]
    fn ten_thousand_forgeries_cost_a_mac_for_each_knock_and_fragment_and_none_for_the_rest() {
        const EACH: u32 = 2500;
        let cookies = RetryCookies::new(ticket(), [5; 32]);
        let macs = Cell::new(0);
        let mut answers = (0, 0, 0);
        for number in 0..EACH {
            let [a, b, c, d] = number.wrapping_mul(0x9E37_79B9).to_be_bytes();
            let mut record = vec![a, b, c, d, 0x10 + d % 2];
            record.resize(40 + number as usize % 1100, c);
            let noise = vec![d; number as usize % 1300];
            let forged = [
                knock(&ticket(), number, &[a; 16]),
                fragments(number, &[b; 16], a % 3, &[c; 700]).swap_remove(0),
                record,
                noise,
            ];
            for datagram in forged {
                let unconnected = classify(&cookies.ticket, &datagram, |parity, connection| {
                    macs.set(macs.get() + 1);
                    cookies.make(parity.unwrap_or(cookies.current), &HERE, connection)
                });
                assert_eq!(
                    unconnected,
                    cookies.judge(&HERE, &datagram),
                    "the counted way is the only one"
                );
                match unconnected {
                    Unconnected::Retry(_) => answers.0 += 1,
                    Unconnected::Unknown => answers.1 += 1,
                    Unconnected::Ignore => answers.2 += 1,
                    Unconnected::Begin { .. } => panic!("{datagram:?} is let in"),
                }
            }
        }
        assert_eq!(macs.get(), 2 * EACH, "one for each knock and each fragment");
        assert!(
            answers.0 == EACH && answers.1 >= EACH && answers.2 >= EACH,
            "{answers:?}"
        );
    }
}
