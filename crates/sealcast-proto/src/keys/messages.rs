//! Messages of the handshake, byte for byte (protocol.md §3).

use super::handshake::HandshakeError;
use super::psk::{BINDER_LEN, HelloKeys, Psk};
use super::wish::WISH_LEN;
use crate::wire::{MAX_HANDSHAKE_MESSAGE, Reader, TICKET_MAC_LEN, kem_field, put_bytes16};

pub(crate) const HELLO: u8 = 0x01;
pub(crate) const RETRY: u8 = 0x02;
pub(crate) const REPLY: u8 = 0x03;
pub(crate) const FINISH: u8 = 0x04;

/// The alert that refuses a handshake without a reason.
pub(crate) const ALERT: [u8; 2] = [0x05, 1];
/// The alert that says that the pre-shared key is not known.
pub(crate) const ALERT_PSK: [u8; 2] = [0x05, 2];

/// The meaning of a message that is an alert.
pub(crate) fn alerted(message: &[u8]) -> Option<HandshakeError> {
    match message {
        _ if *message == ALERT => Some(HandshakeError::Alert),
        _ if *message == ALERT_PSK => Some(HandshakeError::Psk),
        _ => None,
    }
}

const VERSION: u8 = 3;
/// Most suites and most mechanisms that a hello offers: more than there are.
const MAX_OFFERS: usize = 8;
/// Longest cookie in bytes, of whichever responder: ours has 16.
const MAX_COOKIE: usize = 64;
/// Length of the sealed part of a reply and of a finish: identity, wish, signature and tag.
pub(crate) const SEALED: usize = 32 + WISH_LEN + 64 + 16;

/// Role of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends media.
    Publisher,
    /// Receives media.
    Viewer,
}

impl Role {
    /// Returns the other role.
    pub fn other(self) -> Self {
        match self {
            Self::Publisher => Self::Viewer,
            Self::Viewer => Self::Publisher,
        }
    }

    /// Returns the role's name, as used in signatures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Publisher => "publisher",
            Self::Viewer => "viewer",
        }
    }

    fn byte(self) -> u8 {
        match self {
            Self::Publisher => 1,
            Self::Viewer => 2,
        }
    }

    fn from_byte(byte: u8) -> Result<Self, HandshakeError> {
        match byte {
            1 => Ok(Self::Publisher),
            2 => Ok(Self::Viewer),
            _ => Err(HandshakeError::Role),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) role: Role,
    pub(crate) random: [u8; 32],
    pub(crate) suites: Vec<u8>,
    pub(crate) mechanisms: Vec<u8>,
    pub(crate) share_mechanism: u8,
    pub(crate) share: Vec<u8>,
    pub(crate) cookie: Vec<u8>,
}

impl Hello {
    /// Returns the hello with its binder and its MAC.
    pub(crate) fn to_bytes(&self, keys: &HelloKeys) -> Vec<u8> {
        let mut out = vec![HELLO, VERSION, self.role.byte()];
        out.extend_from_slice(&self.random);
        put_bytes8(&mut out, &self.suites);
        put_bytes8(&mut out, &self.mechanisms);
        out.push(self.share_mechanism);
        put_bytes16(&mut out, &self.share);
        put_bytes8(&mut out, &self.cookie);
        keys.finish_hello(&mut out);
        out
    }

    /// Parses a hello, checking first its MAC, then its form, its version, its role, and its binder, which tells the
    /// pre-shared key. The first hello must have no cookie; for a second one, `before` is the key of the first.
    pub(crate) fn parse(
        message: &[u8],
        before: Option<Psk>,
        from: Role,
        keys: &HelloKeys,
    ) -> Result<(Self, Psk), HandshakeError> {
        if !keys.mac().verifies_hello(message) {
            return Err(HandshakeError::Mac);
        }
        let mut reader = start(message, HELLO)?;
        let (version, role) = (reader.u8()?, reader.u8()?);
        let random = reader.array()?;
        let (suites, mechanisms) = (offers(reader.bytes8()?)?, offers(reader.bytes8()?)?);
        let share_mechanism = reader.u8()?;
        let share = kem_field(reader.bytes16()?)?.to_vec();
        let cookie = cookie(reader.bytes8()?)?;
        let binder = reader.array::<BINDER_LEN>()?;
        reader.array::<TICKET_MAC_LEN>()?;
        reader.finish()?;
        if !mechanisms.contains(&share_mechanism) || (before.is_none() && !cookie.is_empty()) {
            return Err(HandshakeError::Malformed);
        }
        check_version(version)?;
        let role = Role::from_byte(role)?;
        if role != from {
            return Err(HandshakeError::Role);
        }
        let head = &message[..message.len() - BINDER_LEN - TICKET_MAC_LEN];
        let hello = Self {
            role,
            random,
            suites,
            mechanisms,
            share_mechanism,
            share,
            cookie,
        };
        Ok((hello, keys.find(head, &binder, before).ok_or(HandshakeError::Psk)?))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Retry {
    pub(crate) mechanism: u8,
    pub(crate) cookie: Vec<u8>,
}

impl Retry {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![RETRY, VERSION, self.mechanism];
        put_bytes8(&mut out, &self.cookie);
        out
    }

    pub(crate) fn parse(message: &[u8]) -> Result<Self, HandshakeError> {
        let mut reader = start(message, RETRY)?;
        let version = reader.u8()?;
        let retry = Self {
            mechanism: reader.u8()?,
            cookie: cookie(reader.bytes8()?)?,
        };
        reader.finish()?;
        check_version(version)?;
        Ok(retry)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) role: Role,
    pub(crate) random: [u8; 32],
    pub(crate) suite: u8,
    pub(crate) mechanism: u8,
    pub(crate) ciphertext: Vec<u8>,
    pub(crate) sealed: Vec<u8>,
}

impl Reply {
    /// Returns the part before `sealed`, which enters the transcript hash th1.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut out = vec![REPLY, VERSION, self.role.byte()];
        out.extend_from_slice(&self.random);
        out.extend_from_slice(&[self.suite, self.mechanism]);
        put_bytes16(&mut out, &self.ciphertext);
        out
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.head();
        put_bytes16(&mut out, &self.sealed);
        out
    }

    pub(crate) fn parse(message: &[u8]) -> Result<Self, HandshakeError> {
        let mut reader = start(message, REPLY)?;
        let (version, role) = (reader.u8()?, reader.u8()?);
        let random = reader.array()?;
        let (suite, mechanism) = (reader.u8()?, reader.u8()?);
        let ciphertext = kem_field(reader.bytes16()?)?.to_vec();
        let sealed = reader.bytes16()?.to_vec();
        reader.finish()?;
        if sealed.len() != SEALED {
            return Err(HandshakeError::Malformed);
        }
        check_version(version)?;
        Ok(Self {
            role: Role::from_byte(role)?,
            random,
            suite,
            mechanism,
            ciphertext,
            sealed,
        })
    }
}

pub(crate) fn finish_to_bytes(sealed: &[u8]) -> Vec<u8> {
    let mut out = vec![FINISH];
    put_bytes16(&mut out, sealed);
    out
}

pub(crate) fn parse_finish(message: &[u8]) -> Result<&[u8], HandshakeError> {
    let mut reader = start(message, FINISH)?;
    let sealed = reader.bytes16()?;
    reader.finish()?;
    if sealed.len() == SEALED {
        Ok(sealed)
    } else {
        Err(HandshakeError::Malformed)
    }
}

fn start(message: &[u8], kind: u8) -> Result<Reader<'_>, HandshakeError> {
    if message.len() > MAX_HANDSHAKE_MESSAGE {
        return Err(HandshakeError::Malformed);
    }
    let mut reader = Reader::new(message);
    if reader.u8()? == kind {
        Ok(reader)
    } else {
        Err(HandshakeError::Malformed)
    }
}

fn check_version(version: u8) -> Result<(), HandshakeError> {
    if version == VERSION {
        Ok(())
    } else {
        Err(HandshakeError::Version)
    }
}

/// Returns true if a hello may contain these identifiers: 1 to 8, all different.
pub(crate) fn can_be_offered(identifiers: &[u8]) -> bool {
    let mut pairs = identifiers.iter().enumerate();
    (1..=MAX_OFFERS).contains(&identifiers.len()) && !pairs.any(|(at, id)| identifiers[..at].contains(id))
}

fn offers(bytes: &[u8]) -> Result<Vec<u8>, HandshakeError> {
    if can_be_offered(bytes) {
        Ok(bytes.to_vec())
    } else {
        Err(HandshakeError::Malformed)
    }
}

fn cookie(bytes: &[u8]) -> Result<Vec<u8>, HandshakeError> {
    if bytes.len() <= MAX_COOKIE {
        Ok(bytes.to_vec())
    } else {
        Err(HandshakeError::Malformed)
    }
}

fn put_bytes8(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(u8::try_from(bytes.len()).expect("offers and cookies are bounded by constants below 256"));
    out.extend_from_slice(bytes);
}
