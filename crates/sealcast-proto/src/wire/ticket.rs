//! Tickets: one string with everything that a viewer needs to connect (protocol.md §6).

use std::str::FromStr;

use super::address::parse_host;
use super::{Address, CertHash, Host, Invite, MAX_ADDRESSES, PeerId, TicketError};

/// Maximum length of a ticket in bytes.
pub const MAX_TICKET: usize = 512;
/// Maximum budget in a ticket, in milliseconds.
pub const MAX_LATENCY: u16 = 10_000;
/// Maximum number of certificate hashes in a ticket.
pub const MAX_CERT_HASHES: usize = 4;
/// Maximum length of the name of a broadcast in bytes.
pub const MAX_BROADCAST: usize = 128;
/// Maximum length of a ticket with further addresses in bytes: it is drawn for phones, and typed.
pub const MAX_TICKET_WITH_ADDRESSES: usize = 400;

/// The transport that a ticket asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransportKind {
    /// A TCP connection.
    #[default]
    Tcp,
    /// UDP datagrams.
    Udp,
    /// QUIC.
    Quic,
    /// A WebSocket or WebTransport beside a web page, without TLS for the page.
    Http,
    /// A WebSocket or WebTransport beside a web page over TLS.
    Https,
    /// A relay, which carries the stream and the session.
    Relay,
}

impl TransportKind {
    /// Returns the name in tickets and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Quic => "quic",
            Self::Http => "http",
            Self::Https => "https",
            Self::Relay => "relay",
        }
    }
}

/// Name of a camera's broadcast at a relay: parts of letters, digits, `-`, `.`, `_` and `~` with slashes between them,
/// 1 to [`MAX_BROADCAST`] bytes together. No part is `.` or `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroadcastName(String);

impl BroadcastName {
    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let part = |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(letter);
        (text.len() <= MAX_BROADCAST && text.split('/').all(part)).then(|| Self(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A ticket: address and identity of the listening end, and perhaps an invite. It implements neither `Debug` nor
/// `Display`, since it may contain a secret; [`reveal`](Self::reveal) returns it as text.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Host of the listening end.
    pub host: Host,
    /// Port of the listening end, never 0.
    pub port: u16,
    /// Identity of the listening end, which the connecting end pins.
    pub peer: PeerId,
    /// The transport.
    pub transport: TransportKind,
    /// The viewer's budget in milliseconds, 0 to [`MAX_LATENCY`], if the ticket contains one. Only with UDP and QUIC.
    pub latency: Option<u16>,
    /// The certificates that a browser or the client of a relay accepts, at most [`MAX_CERT_HASHES`] and none twice.
    /// Only with HTTP, HTTPS and relays.
    pub cert_hashes: Vec<CertHash>,
    /// Name of the camera's broadcast at the relay. With a relay, always, and else never.
    pub broadcast: Option<BroadcastName>,
    /// Further addresses of the same end, the best first: fewer than [`MAX_ADDRESSES`], each another one than the rest
    /// and the first. With a relay, none.
    pub others: Vec<Address>,
    /// The secret that admits an unknown peer.
    pub invite: Option<Invite>,
}

/// Length of an invite with what stands before it, in bytes.
const INVITE_TEXT: usize = 27;
/// Key of a further address, with what separates it.
const ADDRESS: &str = "&addr=";

impl Ticket {
    /// Returns the ticket as a string, *including its invite*: everybody who reads it is admitted.
    pub fn reveal(&self) -> String {
        let mut text = format!("sealcast://{}:{}/{}", self.host, self.port, self.peer);
        if self.transport != TransportKind::Tcp || !self.others.is_empty() {
            text.push_str("?transport=");
            text.push_str(self.transport.name());
            if let Some(latency) = self.latency {
                text.push_str("&latency=");
                text.push_str(&latency.to_string());
            }
            if let Some(broadcast) = &self.broadcast {
                text.push_str("&broadcast=");
                text.push_str(broadcast.as_str());
            }
            for (at, hash) in self.cert_hashes.iter().enumerate() {
                text.push_str(if at == 0 { "&certhash=" } else { "," });
                text.push_str(&hash.to_string());
            }
            for Address { host, port } in &self.others {
                text.push_str(&format!("&addr={host}"));
                if *port != self.port {
                    text.push_str(&format!(":{port}"));
                }
            }
        }
        if let Some(invite) = &self.invite {
            text.push('#');
            text.push_str(&invite.reveal());
        }
        text
    }

    /// Returns the addresses of the listening end, the first of which is that of the ticket's host.
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        let (host, port) = (self.host.clone(), self.port);
        std::iter::once(Address { host, port }).chain(self.others.iter().cloned())
    }

    /// Adds further addresses, as many as a ticket takes that has an invite. Those that it has already are left out.
    /// One with a relay takes none.
    pub fn add_addresses(&mut self, addresses: impl IntoIterator<Item = Address>) {
        let invite = if self.invite.is_some() { 0 } else { INVITE_TEXT };
        for address in addresses {
            let full = self.transport == TransportKind::Relay || self.others.len() + 1 == MAX_ADDRESSES;
            if full || self.addresses().any(|own| own == address) {
                continue;
            }
            self.others.push(address);
            if self.reveal().len() + invite > MAX_TICKET_WITH_ADDRESSES {
                self.others.pop();
            }
        }
    }

    /// Returns the link that opens the page of this ticket in a browser, *with the invite*: everybody who reads it is
    /// admitted. `None` if the transport has no page.
    pub fn reveal_page_link(&self) -> Option<String> {
        matches!(self.transport, TransportKind::Http | TransportKind::Https).then(|| {
            // In the fragment, which a browser sends to no server.
            let scheme = self.transport.name();
            let text = self.reveal().replace('#', "%23");
            format!("{scheme}://{}:{}/#{text}", self.host, self.port)
        })
    }
}

impl FromStr for Ticket {
    type Err = TicketError;

    fn from_str(text: &str) -> Result<Self, TicketError> {
        if text.len() > MAX_TICKET {
            return Err(TicketError::TooLong);
        }
        let rest = text.strip_prefix("sealcast://").ok_or(TicketError::Scheme)?;
        let (rest, invite) = match rest.split_once('#') {
            Some((rest, invite)) => (rest, Some(Invite::parse(invite).ok_or(TicketError::Invite)?)),
            None => (rest, None),
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, parse_query(query)?),
            None => (rest, Query::default()),
        };
        let (authority, peer) = rest.split_once('/').ok_or(TicketError::Peer)?;
        let own: Address = authority.parse()?;
        let others = parse_others(query.others, &own)?;
        if !others.is_empty() && text.len() > MAX_TICKET_WITH_ADDRESSES {
            return Err(TicketError::TooLong);
        }
        let Address { host, port } = own;
        let peer = PeerId::parse(peer).ok_or(TicketError::Peer)?;
        Ok(Self {
            host,
            port,
            peer,
            transport: query.transport,
            latency: query.latency,
            cert_hashes: query.cert_hashes,
            broadcast: query.broadcast,
            others,
            invite,
        })
    }
}

/// Part of a ticket after its `?`.
#[derive(Default)]
struct Query<'a> {
    transport: TransportKind,
    latency: Option<u16>,
    cert_hashes: Vec<CertHash>,
    broadcast: Option<BroadcastName>,
    /// The further addresses with their keys.
    others: Option<&'a str>,
}

fn parse_query(text: &str) -> Result<Query<'_>, TicketError> {
    let (text, others) = match text.split_once(ADDRESS) {
        Some((text, others)) => (text, Some(others)),
        None => (text, None),
    };
    let (carrier, option) = match text.split_once('&') {
        Some((carrier, option)) => (carrier, Some(option)),
        None => (text, None),
    };
    let transport = match carrier.strip_prefix("transport=").ok_or(TicketError::Query)? {
        "tcp" => TransportKind::Tcp,
        "udp" => TransportKind::Udp,
        "quic" => TransportKind::Quic,
        "http" => TransportKind::Http,
        "https" => TransportKind::Https,
        "relay" => TransportKind::Relay,
        _ => return Err(TicketError::Query),
    };
    let mut query = Query {
        transport,
        others,
        ..Query::default()
    };
    match (transport, option) {
        (TransportKind::Relay, _) if others.is_some() => return Err(TicketError::Query),
        (TransportKind::Relay, option) => {
            let option = option.ok_or(TicketError::Query)?;
            let (name, hashes) = match option.split_once('&') {
                Some((name, hashes)) => (name, parse_cert_hashes(hashes)?),
                None => (option, Vec::new()),
            };
            let name = name.strip_prefix("broadcast=").and_then(BroadcastName::parse);
            query.broadcast = Some(name.ok_or(TicketError::Query)?);
            query.cert_hashes = hashes;
        }
        (_, None) => {}
        (TransportKind::Tcp, Some(_)) => return Err(TicketError::Query),
        (TransportKind::Udp | TransportKind::Quic, Some(option)) => query.latency = Some(parse_latency(option)?),
        (TransportKind::Http | TransportKind::Https, Some(option)) => query.cert_hashes = parse_cert_hashes(option)?,
    }
    Ok(query)
}

/// Parses what stands behind the first `&addr=`.
fn parse_others(text: Option<&str>, own: &Address) -> Result<Vec<Address>, TicketError> {
    let mut others = Vec::new();
    for text in text.into_iter().flat_map(|text| text.split(ADDRESS)) {
        let (host, port) = (parse_host(text), own.port);
        let address: Address = match host {
            Ok(host) => Address { host, port },
            Err(_) => text
                .parse()
                .ok()
                .filter(|address: &Address| address.port != port)
                .ok_or(TicketError::Addresses)?,
        };
        if others.len() + 1 == MAX_ADDRESSES || address == *own || others.contains(&address) {
            return Err(TicketError::Addresses);
        }
        others.push(address);
    }
    Ok(others)
}

fn parse_cert_hashes(text: &str) -> Result<Vec<CertHash>, TicketError> {
    let list = text.strip_prefix("certhash=").ok_or(TicketError::Query)?;
    let mut hashes = Vec::new();
    for text in list.split(',') {
        let hash = CertHash::parse(text).ok_or(TicketError::Query)?;
        if hashes.len() == MAX_CERT_HASHES || hashes.contains(&hash) {
            return Err(TicketError::Query);
        }
        hashes.push(hash);
    }
    Ok(hashes)
}

fn parse_latency(text: &str) -> Result<u16, TicketError> {
    let digits = text.strip_prefix("latency=").ok_or(TicketError::Query)?;
    let latency: u16 = digits.parse().map_err(|_| TicketError::Query)?;
    // Only the shortest form is accepted: a sign or a leading zero gives another string here.
    if latency <= MAX_LATENCY && latency.to_string() == digits {
        Ok(latency)
    } else {
        Err(TicketError::Query)
    }
}
