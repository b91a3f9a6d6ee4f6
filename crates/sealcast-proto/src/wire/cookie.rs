//! A responder's front door on datagrams: it keeps nothing about a stranger (protocol.md §7).

use aws_lc_rs::{constant_time, hmac};

use super::connection_of;
use super::datagram::{Bare, CONNECTION_LEN, COOKIE_DATAGRAM, COOKIE_LEN, cookie, is_record, unknown};

/// An IP address and port as bytes: the address as IPv6 (an IPv4 one mapped), then the port.
pub type AddressBytes = [u8; 18];

/// What to do with a datagram of a connection that nobody has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unconnected {
    /// Somebody knocks: send this back.
    Retry([u8; COOKIE_DATAGRAM]),
    /// A fragment of one who receives at that address: begin a session and hand it the datagram.
    Begin {
        /// The connection.
        connection: u32,
        /// The cookie that was shown.
        cookie: [u8; COOKIE_LEN],
    },
    /// A record of a session that is gone: tell the sender so, at most 100 times a second in all.
    Unknown([u8; CONNECTION_LEN + 1]),
    /// Nothing.
    Ignore,
}

/// Judges datagrams of unknown connections by one MAC each.
pub struct RetryCookies {
    /// By the parity of their generation, which a cookie's lowest bit repeats: so one MAC is enough to judge it.
    secrets: [hmac::Key; 2],
    current: u8,
}

impl RetryCookies {
    /// `secret` are 32 fresh random bytes.
    pub fn new(secret: [u8; 32]) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        Self {
            secrets: [key.clone(), key],
            current: 0,
        }
    }

    /// Take a new secret; cookies made under the one before are still good.
    pub fn rotate(&mut self, secret: [u8; 32]) {
        self.current ^= 1;
        self.secrets[usize::from(self.current)] = hmac::Key::new(hmac::HMAC_SHA256, &secret);
    }

    /// What to do with a datagram from `address`.
    pub fn judge(&self, address: &AddressBytes, datagram: &[u8]) -> Unconnected {
        classify(datagram, |parity, connection| {
            self.make(parity.unwrap_or(self.current), address, connection)
        })
    }

    /// The cookie that a knock from `address` gets now.
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

/// The judgement. `mac` makes the cookie of a connection under the secret of a parity, or under the newest: as an
/// `FnOnce` it cannot be called for a second time, so that no datagram costs more than one MAC.
fn classify(datagram: &[u8], mac: impl FnOnce(Option<u8>, u32) -> [u8; COOKIE_LEN]) -> Unconnected {
    let Some(connection) = connection_of(datagram) else {
        return Unconnected::Ignore;
    };
    let message = &datagram[CONNECTION_LEN..];
    match Bare::parse(message) {
        Ok(Bare::Knock { random }) => Unconnected::Retry(cookie(connection, &random, &mac(None, connection))),
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
        Ok(Bare::Other) if is_record(message) => Unconnected::Unknown(unknown(connection)),
        _ => Unconnected::Ignore,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::datagram::{fragments, knock};
    use super::*;

    const HERE: AddressBytes = [1; 18];

    fn cookie_for(cookies: &RetryCookies, address: &AddressBytes) -> [u8; COOKIE_LEN] {
        let Unconnected::Retry(answer) = cookies.judge(address, &knock(7, &[9; 16])) else {
            panic!("a knock is answered")
        };
        match Bare::parse(&answer[CONNECTION_LEN..]) {
            Ok(Bare::Cookie { random, cookie }) if random == [9; 16] => cookie,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_shows_the_cookie_of_its_address_is_let_to_the_handshake() {
        let mut cookies = RetryCookies::new([5; 32]);
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
    fn noise_gets_no_answer_and_a_lost_session_a_short_one() {
        let cookies = RetryCookies::new([5; 32]);
        for noise in [&b""[..], b"abc", b"abcd", &[0; 64], &[0xFF; 1500]] {
            assert_eq!(cookies.judge(&HERE, noise), Unconnected::Ignore);
        }
        let mut record = vec![0, 0, 0, 3, 0x10];
        record.resize(60, 0);
        assert_eq!(cookies.judge(&HERE, &record), Unconnected::Unknown([0, 0, 0, 3, 9]));
    }

    #[test]
    fn ten_thousand_forgeries_cost_a_mac_for_each_knock_and_fragment_and_none_for_the_rest() {
        const EACH: u32 = 2500;
        let cookies = RetryCookies::new([5; 32]);
        let macs = Cell::new(0);
        let mut answers = (0, 0, 0);
        for number in 0..EACH {
            let [a, b, c, d] = number.wrapping_mul(0x9E37_79B9).to_be_bytes();
            let mut record = vec![a, b, c, d, 0x10 + d % 2];
            record.resize(40 + number as usize % 1100, c);
            let noise = vec![d; number as usize % 1300];
            let forged = [
                knock(number, &[a; 16]),
                fragments(number, &[b; 16], a % 3, &[c; 700]).swap_remove(0),
                record,
                noise,
            ];
            for datagram in forged {
                let unconnected = classify(&datagram, |parity, connection| {
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
                    Unconnected::Unknown(_) => answers.1 += 1,
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
