//! Framing of messages in datagrams, and the messages before a handshake (protocol.md §7).

use super::{COOKIE_LEN, Kind, MAX_HANDSHAKE_MESSAGE, Malformed, Reader, TICKET_MAC_LEN, TicketMac};

/// Length of the connection number before each message in bytes.
pub const CONNECTION_LEN: usize = 4;
/// Maximum length of a datagram on a path with unknown MTU, in bytes of UDP payload.
pub const BASE_DATAGRAM: usize = 1200;
/// Maximum length of a record of a group whose media travels in packets: it fits a datagram on any path, and a packet
/// of QUIC of the shortest length with what QUIC adds (groups.md §11).
pub const MAX_GROUP_RECORD: usize = BASE_DATAGRAM - 50;
/// Maximum length of any datagram, in bytes of UDP payload.
pub const MAX_DATAGRAM: usize = 8972;

/// Maximum number of fragments of one handshake message.
pub(crate) const MAX_FRAGMENTS: u8 = 4;

const FRAGMENT: u8 = 0x06;
const KNOCK: u8 = 0x07;
const COOKIE: u8 = 0x08;

/// Length of a knock's datagram. It is longer than the answer, so that a responder cannot be used to amplify an attack.
pub(crate) const KNOCK_DATAGRAM: usize = 64;
const KNOCK_PADDING: usize = KNOCK_DATAGRAM - CONNECTION_LEN - 1 - COOKIE_LEN - TICKET_MAC_LEN;
/// Length of the datagram that answers a knock.
pub const COOKIE_DATAGRAM: usize = CONNECTION_LEN + 1 + 2 * COOKIE_LEN;
const FRAGMENT_HEADER: usize = CONNECTION_LEN + 1 + COOKIE_LEN + 3;

/// Returns the connection number of a datagram.
pub fn connection_of(datagram: &[u8]) -> Option<u32> {
    datagram
        .first_chunk::<CONNECTION_LEN>()
        .map(|bytes| u32::from_be_bytes(*bytes))
}

/// Creates a datagram that begins with the connection number.
pub(crate) fn datagram(connection: u32, capacity: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(CONNECTION_LEN + capacity);
    out.extend_from_slice(&connection.to_be_bytes());
    out
}

/// A message that is protected by no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bare<'a> {
    Knock {
        random: [u8; COOKIE_LEN],
        mac: [u8; TICKET_MAC_LEN],
    },
    Cookie {
        random: [u8; COOKIE_LEN],
        cookie: [u8; COOKIE_LEN],
    },
    Fragment(Fragment<'a>),
    /// A record, or a message of an unknown kind.
    Other,
}

/// A fragment of a handshake message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment<'a> {
    pub(crate) cookie: [u8; COOKIE_LEN],
    pub(crate) message: u8,
    pub(crate) index: u8,
    pub(crate) count: u8,
    pub(crate) part: &'a [u8],
}

impl<'a> Bare<'a> {
    /// Parses a message, without the connection number before it.
    pub(crate) fn parse(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(message);
        let bare = match reader.u8()? {
            KNOCK => {
                let (random, mac) = (reader.array()?, reader.array()?);
                if reader.bytes(KNOCK_PADDING)?.iter().any(|&byte| byte != 0) {
                    return Err(Malformed);
                }
                Self::Knock { random, mac }
            }
            COOKIE => Self::Cookie {
                random: reader.array()?,
                cookie: reader.array()?,
            },
            FRAGMENT => {
                let (cookie, message) = (reader.array()?, reader.u8()?);
                let (index, count) = (reader.u8()?, reader.u8()?);
                let part = reader.rest();
                let fits = (1..=MAX_FRAGMENTS).contains(&count) && index < count;
                if !fits || part.is_empty() || part.len() > MAX_HANDSHAKE_MESSAGE {
                    return Err(Malformed);
                }
                return Ok(Self::Fragment(Fragment {
                    cookie,
                    message,
                    index,
                    count,
                    part,
                }));
            }
            _ => return Ok(Self::Other),
        };
        reader.finish()?;
        Ok(bare)
    }
}

/// Returns true if a message has the kind of a record.
pub(crate) fn is_record(message: &[u8]) -> bool {
    Kind::of(message).is_some()
}

pub(crate) fn knock(mac: &TicketMac, connection: u32, random: &[u8; COOKIE_LEN]) -> Vec<u8> {
    let mut out = datagram(connection, KNOCK_DATAGRAM);
    out.push(KNOCK);
    out.extend_from_slice(random);
    out.extend_from_slice(&mac.of_knock(KNOCK, random, connection));
    out.resize(KNOCK_DATAGRAM, 0);
    out
}

pub(crate) fn cookie(connection: u32, random: &[u8; COOKIE_LEN], cookie: &[u8; COOKIE_LEN]) -> [u8; COOKIE_DATAGRAM] {
    let mut out = [0; COOKIE_DATAGRAM];
    out[..CONNECTION_LEN].copy_from_slice(&connection.to_be_bytes());
    out[CONNECTION_LEN] = COOKIE;
    out[CONNECTION_LEN + 1..][..COOKIE_LEN].copy_from_slice(random);
    out[CONNECTION_LEN + 1 + COOKIE_LEN..].copy_from_slice(cookie);
    out
}

/// Returns true if a knock's sender knows the responder to whom the key belongs.
pub(crate) fn knock_is_genuine(
    key: &TicketMac,
    connection: u32,
    random: &[u8; COOKIE_LEN],
    mac: &[u8; TICKET_MAC_LEN],
) -> bool {
    key.verifies_knock(KNOCK, random, connection, mac)
}

/// Number of parts into which a handshake message of this length is cut, and the length of all but the last: as few as
/// fit into datagrams of at most [`BASE_DATAGRAM`] bytes, as equal as can be.
pub(crate) fn cut(length: usize) -> (usize, usize) {
    let count = length.div_ceil(BASE_DATAGRAM - FRAGMENT_HEADER).max(1);
    (count, length.div_ceil(count))
}

/// Splits a handshake message into datagrams.
pub(crate) fn fragments(connection: u32, cookie: &[u8; COOKIE_LEN], number: u8, message: &[u8]) -> Vec<Vec<u8>> {
    let (count, size) = cut(message.len());
    let parts = message.chunks(size).zip(0_u8..);
    parts
        .map(|(part, index)| {
            let mut out = datagram(connection, FRAGMENT_HEADER + part.len());
            out.push(FRAGMENT);
            out.extend_from_slice(cookie);
            out.extend_from_slice(&[number, index, count as u8]);
            out.extend_from_slice(part);
            out
        })
        .collect()
}

#[cfg(test)]
#[path = "datagram_vectors.rs"]
mod vector_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_handshake_message_fits_the_fragments_there_may_be() {
        let message = vec![7; MAX_HANDSHAKE_MESSAGE];
        let cut = fragments(5, &[1; 16], 0, &message);
        assert!(cut.len() <= usize::from(MAX_FRAGMENTS) && cut.iter().all(|datagram| datagram.len() <= BASE_DATAGRAM));
        let parts: Vec<u8> = cut
            .iter()
            .flat_map(|datagram| match Bare::parse(&datagram[CONNECTION_LEN..]) {
                Ok(Bare::Fragment(fragment)) => fragment.part.to_vec(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(parts, message);
    }

    #[test]
    fn an_answer_to_a_stranger_is_never_longer_than_what_came() {
        assert!(COOKIE_DATAGRAM <= knock(&TicketMac::new(&[1; 32]), 1, &[0; 16]).len());
    }

    #[test]
    fn a_knock_is_padded_with_zeros_and_nothing_else() {
        let mut knocked = knock(&TicketMac::new(&[1; 32]), 9, &[3; 16]);
        let parsed = Bare::parse(&knocked[CONNECTION_LEN..]);
        assert!(matches!(parsed, Ok(Bare::Knock { random, .. }) if random == [3; 16]));
        *knocked.last_mut().expect("long") = 1;
        assert_eq!(Bare::parse(&knocked[CONNECTION_LEN..]), Err(Malformed));
        assert_eq!(Bare::parse(&knocked[CONNECTION_LEN..40]), Err(Malformed));
    }
}
