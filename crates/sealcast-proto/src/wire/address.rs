//! Addresses of listening ends, as tickets and publishers say them (protocol.md §4, §6).

use core::net::{Ipv4Addr, Ipv6Addr};
use std::fmt;
use std::str::FromStr;

use super::{Malformed, Reader, TicketError};

/// Maximum number of addresses of one listening end, in a ticket or in a message.
pub const MAX_ADDRESSES: usize = 4;
/// Maximum length of a DNS name in bytes.
const MAX_NAME: usize = 253;
/// Maximum length of a label of a DNS name in bytes.
const MAX_LABEL: usize = 63;

/// Host of the listening end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A DNS name.
    Name(String),
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address.
    V6(Ipv6Addr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::V4(address) => write!(f, "{address}"),
            Self::V6(address) => write!(f, "[{address}]"),
        }
    }
}

/// Address of a listening end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The host.
    pub host: Host,
    /// The port, never 0.
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl FromStr for Address {
    type Err = TicketError;

    /// Parses `HOST:PORT`, an IPv6 address in brackets.
    fn from_str(text: &str) -> Result<Self, TicketError> {
        let (host, port) = text.rsplit_once(':').ok_or(TicketError::Port)?;
        // The colon is one of the address in brackets.
        let host = match port.ends_with(']') {
            true => return Err(TicketError::Port),
            false => parse_host(host)?,
        };
        let digits = port.len() <= 5 && !port.starts_with('0') && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| digits).ok_or(TicketError::Port)?;
        Ok(Self { host, port })
    }
}

/// Addresses that a publisher tells, as they are written: at most [`MAX_ADDRESSES`], each of 1 to 255 bytes. A receiver
/// need not understand them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addresses<'a> {
    texts: [&'a [u8]; MAX_ADDRESSES],
    count: usize,
}

impl<'a> Addresses<'a> {
    /// The first of these texts that fit.
    pub fn new(texts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let fits = |text: &&[u8]| u8::try_from(text.len()).is_ok_and(|length| length > 0);
        let mut addresses = Self::default();
        for text in texts.into_iter().filter(fits).take(MAX_ADDRESSES) {
            addresses.texts[addresses.count] = text;
            addresses.count += 1;
        }
        addresses
    }

    /// The texts.
    pub fn texts(&self) -> &[&'a [u8]] {
        &self.texts[..self.count]
    }

    /// Those that are understood, each once.
    pub fn understood(&self) -> Vec<Address> {
        let mut all = Vec::new();
        for text in self.texts() {
            let address = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            all.extend(address.filter(|address| !all.contains(address)));
        }
        all
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.push(self.count as u8);
        for text in self.texts() {
            out.push(text.len() as u8);
            out.extend_from_slice(text);
        }
    }

    pub(super) fn parse(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut addresses = Self {
            count: reader.u8()?.into(),
            ..Self::default()
        };
        let texts = addresses.texts.get_mut(..addresses.count).ok_or(Malformed)?;
        for text in texts {
            *text = reader.bytes8()?;
            if text.is_empty() {
                return Err(Malformed);
            }
        }
        Ok(addresses)
    }
}

/// Parses a host, an IPv6 address in brackets.
pub(super) fn parse_host(text: &str) -> Result<Host, TicketError> {
    match text.strip_prefix('[') {
        Some(rest) => parse_v6(rest.strip_suffix(']').ok_or(TicketError::Host)?),
        None => parse_name(text),
    }
}

/// Parses an IPv6 address in the canonical form of RFC 5952. An IPv4-mapped address is refused: it must be written as
/// an IPv4 address.
fn parse_v6(text: &str) -> Result<Host, TicketError> {
    let address: Ipv6Addr = text.parse().map_err(|_| TicketError::Host)?;
    if address.to_ipv4_mapped().is_none() && address.to_string() == text {
        Ok(Host::V6(address))
    } else {
        Err(TicketError::Host)
    }
}

fn parse_name(name: &str) -> Result<Host, TicketError> {
    if let Ok(address) = name.parse() {
        return Ok(Host::V4(address));
    }
    // A name whose last label is a number could only be an IPv4 address, and it is not a valid one.
    let address = name
        .rsplit('.')
        .next()
        .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    if !address && name.len() <= MAX_NAME && name.split('.').all(is_label) {
        Ok(Host::Name(name.to_owned()))
    } else {
        Err(TicketError::Host)
    }
}

/// Returns true for a label of a DNS name: lower-case letters, digits and, not at either end, hyphens.
fn is_label(label: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let inner = !label.starts_with('-') && !label.ends_with('-');
    (1..=MAX_LABEL).contains(&label.len()) && inner && label.bytes().all(letters)
}
