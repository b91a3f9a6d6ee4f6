//! The handshake's messages, byte for byte (protocol.md §3).

use crate::wire::{MAX_HANDSHAKE_MESSAGE, Malformed, Reader, put_bytes16};

use super::handshake::HandshakeError;

pub(crate) const HELLO: u8 = 0x01;
pub(crate) const RETRY: u8 = 0x02;
pub(crate) const REPLY: u8 = 0x03;
pub(crate) const FINISH: u8 = 0x04;
/// First byte of an alert.
pub(crate) const ALERT_KIND: u8 = 0x05;

/// The one alert there is: it says nothing but that the handshake was refused.
pub const ALERT: [u8; 2] = [ALERT_KIND, 1];

const MAGIC: &[u8; 8] = b"sealcast";
const VERSION: u8 = 1;
const MAX_OFFERS: usize = 8;
const MAX_COOKIE: usize = 64;
pub(crate) const REPLY_SEALED: usize = 112;
pub(crate) const FINISH_SEALED: usize = 145;

/// What an end is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends media.
    Publisher,
    /// Receives media.
    Viewer,
}

impl Role {
    /// The other role.
    pub fn other(self) -> Self {
        match self {
            Self::Publisher => Self::Viewer,
            Self::Viewer => Self::Publisher,
        }
    }

    /// The role's name, as signed.
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

    fn from_byte(byte: u8) -> Result<Self, Malformed> {
        match byte {
            1 => Ok(Self::Publisher),
            2 => Ok(Self::Viewer),
            _ => Err(Malformed),
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
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![HELLO];
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&[VERSION, self.role.byte()]);
        out.extend_from_slice(&self.random);
        put_bytes8(&mut out, &self.suites);
        put_bytes8(&mut out, &self.mechanisms);
        out.push(self.share_mechanism);
        put_bytes16(&mut out, &self.share);
        put_bytes8(&mut out, &self.cookie);
        out
    }

    pub(crate) fn parse(message: &[u8]) -> Result<Self, HandshakeError> {
        let mut reader = start(message, HELLO)?;
        if reader.bytes(MAGIC.len())? != MAGIC {
            return Err(HandshakeError::Malformed);
        }
        version(&mut reader)?;
        let hello = Self {
            role: Role::from_byte(reader.u8()?)?,
            random: reader.array()?,
            suites: offers(reader.bytes8()?)?,
            mechanisms: offers(reader.bytes8()?)?,
            share_mechanism: reader.u8()?,
            share: crate::wire::kem_field(reader.bytes16()?)?.to_vec(),
            cookie: cookie(reader.bytes8()?)?,
        };
        reader.finish()?;
        if hello.mechanisms.contains(&hello.share_mechanism) {
            Ok(hello)
        } else {
            Err(HandshakeError::Malformed)
        }
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
        version(&mut reader)?;
        let retry = Self {
            mechanism: reader.u8()?,
            cookie: cookie(reader.bytes8()?)?,
        };
        reader.finish()?;
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
    /// The part before `sealed`, which is hashed first.
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
        version(&mut reader)?;
        let reply = Self {
            role: Role::from_byte(reader.u8()?)?,
            random: reader.array()?,
            suite: reader.u8()?,
            mechanism: reader.u8()?,
            ciphertext: crate::wire::kem_field(reader.bytes16()?)?.to_vec(),
            sealed: reader.bytes16()?.to_vec(),
        };
        reader.finish()?;
        if reply.sealed.len() == REPLY_SEALED {
            Ok(reply)
        } else {
            Err(HandshakeError::Malformed)
        }
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
    if sealed.len() == FINISH_SEALED {
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

fn version(reader: &mut Reader<'_>) -> Result<(), HandshakeError> {
    if reader.u8()? == VERSION {
        Ok(())
    } else {
        Err(HandshakeError::Version)
    }
}

fn offers(bytes: &[u8]) -> Result<Vec<u8>, HandshakeError> {
    let repeated = bytes.iter().enumerate().any(|(at, id)| bytes[..at].contains(id));
    let fits = (1..=MAX_OFFERS).contains(&bytes.len()) && !repeated;
    if fits {
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
