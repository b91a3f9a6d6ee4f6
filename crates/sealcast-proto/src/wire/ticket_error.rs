//! Reasons for which a string is no ticket.

/// Reason why a string is not a ticket. It contains no part of the string, which may be secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// Longer than [`MAX_TICKET`](super::MAX_TICKET) bytes, or than
    /// [`MAX_TICKET_WITH_ADDRESSES`](super::MAX_TICKET_WITH_ADDRESSES) with further addresses.
    #[error("a ticket has at most 512 characters, and 400 with several addresses")]
    TooLong,
    /// The string does not begin with `sealcast://`.
    #[error("a ticket begins with sealcast://")]
    Scheme,
    /// The host is missing, or is neither a name nor an address.
    #[error("the host is missing or is neither a name nor an address")]
    Host,
    /// The port is missing or out of range.
    #[error("the port is missing or not between 1 and 65535")]
    Port,
    /// The peer id is not 52 characters of lower-case base32.
    #[error("the peer id is not 52 characters of lower-case base32")]
    Peer,
    /// A query key other than `transport`, `latency`, `broadcast`, `certhash` and `addr`, another order of them, or an
    /// invalid value.
    #[error(
        "the part after ? may only be transport=tcp, or transport=udp or quic, perhaps with &latency=0 to 10000, or \
         transport=http or https, or transport=relay and &broadcast= with a name, these perhaps with &certhash= and 1 \
         to 4 different hashes with commas between them, and all but relay perhaps with further addresses"
    )]
    Query,
    /// A further address is none, has the ticket's port written out, or stands there twice, or there are too many.
    #[error(
        "a ticket has at most 4 different addresses: its own, and each further one after &addr=, with a port only if \
         that is another one"
    )]
    Addresses,
    /// The invite is not 26 characters of lower-case base32.
    #[error("the invite after # is not 26 characters of lower-case base32")]
    Invite,
}
