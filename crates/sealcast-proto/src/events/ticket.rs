//! Tickets of event servers: one string with the address and the secret.

use std::fmt::Write;
use std::str::FromStr;

use crate::wire::{Address, Invite, MAX_TICKET, TicketError};

const SCHEME: &str = "sealcast-events://";

/// An event server's ticket. It implements neither `Debug` nor `Display`, since it contains a secret;
/// [`reveal`](Self::reveal) returns it as text.
#[derive(Clone, PartialEq, Eq)]
pub struct EventTicket {
    /// Address of the server: its UDP port.
    pub address: Address,
    /// The secret from which both ends make their keys.
    pub secret: Invite,
}

/// Reason why a string is no ticket of an event server. It contains no part of the string, which may be secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventTicketError {
    /// Longer than any ticket.
    #[error("a ticket has at most 512 characters")]
    TooLong,
    /// It does not begin with the scheme.
    #[error("an event ticket begins with sealcast-events://")]
    Scheme,
    /// Host or port are wrong.
    #[error("{0}")]
    Authority(TicketError),
    /// The secret is missing, or not 26 characters of lower-case base32.
    #[error("the secret after # is not 26 characters of lower-case base32")]
    Secret,
}

impl EventTicket {
    /// Returns the ticket as a string, *including its secret*.
    pub fn reveal(&self) -> String {
        let mut text = SCHEME.to_owned();
        // Writing to a string cannot fail.
        let _ = write!(text, "{}#{}", self.address, self.secret.reveal());
        text
    }
}

impl FromStr for EventTicket {
    type Err = EventTicketError;

    fn from_str(text: &str) -> Result<Self, EventTicketError> {
        if text.len() > MAX_TICKET {
            return Err(EventTicketError::TooLong);
        }
        let rest = text.strip_prefix(SCHEME).ok_or(EventTicketError::Scheme)?;
        let (authority, secret) = rest.split_once('#').ok_or(EventTicketError::Secret)?;
        let address = authority.parse().map_err(EventTicketError::Authority)?;
        let secret = Invite::parse(secret).ok_or(EventTicketError::Secret)?;
        Ok(Self { address, secret })
    }
}
