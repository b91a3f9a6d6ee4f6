//! Control messages of a group: who may open what is sealed once for all (groups.md §10).

use core::net::IpAddr;

use super::{MAX_STREAM, Malformed, Reader};

/// Origin of a member's frames, and the key that opens its sheets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaFrom {
    /// This session, with a member key of its exporter.
    Session,
    /// A relay, with the same key.
    Relay,
    /// A relay, with the member key of an enrolment: the viewer has a leaf already, and wants only to challenge.
    RelayEnrolled,
    /// This session, sealed as they are for the group, and no key opens them here: the viewer is an archive's node.
    Sealed,
}

impl MediaFrom {
    const ALL: [Self; 4] = [Self::Session, Self::Relay, Self::RelayEnrolled, Self::Sealed];

    /// Its number in messages.
    pub fn byte(self) -> u8 {
        self as u8
    }

    fn parse(byte: u8) -> Result<Self, Malformed> {
        Self::ALL.get(usize::from(byte)).copied().ok_or(Malformed)
    }
}

/// A multicast group at which a publisher's records of a group are sent once for all viewers (groups.md §12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MulticastGroup {
    /// First bytes of its datagrams, which tell them from those of others.
    pub tag: u32,
    /// Its address.
    pub address: IpAddr,
    /// Its port, not 0.
    pub port: u16,
}

impl MulticastGroup {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (tag, port) = (reader.u32()?, reader.u16()?);
        let address = reader.rest();
        let v4 = <[u8; 4]>::try_from(address).map(IpAddr::from);
        let v6 = || <[u8; 16]>::try_from(address).map(IpAddr::from);
        let address = v4.or_else(|_| v6()).map_err(|_| Malformed)?;
        let group = Self { tag, address, port };
        // Nobody lets us send to, or receive for, a machine of its choice.
        (address.is_multicast() && port != 0).then_some(group).ok_or(Malformed)
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.tag.to_be_bytes());
        out.extend_from_slice(&self.port.to_be_bytes());
        match self.address {
            IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
            IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
        }
    }
}

/// Report of a viewer about a multicast group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// It does not listen to it.
    Away,
    /// It listens, and hears nothing yet: it is sent all over its session as well.
    Listening,
    /// It hears it.
    Hearing,
}

impl Hearing {
    const ALL: [Self; 3] = [Self::Away, Self::Listening, Self::Hearing];

    fn parse(byte: u8) -> Result<Self, Malformed> {
        Self::ALL.get(usize::from(byte)).copied().ok_or(Malformed)
    }
}

/// A control message of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupMessage<'a> {
    /// The publisher offers to seal for a group instead of this session, on these terms.
    Terms(&'a [u8]),
    /// The viewer wants to be a member.
    Join {
        /// The stream, 1 to 15.
        stream: u16,
        /// Origin of its frames.
        media: MediaFrom,
    },
    /// A key sheet.
    Sheet(&'a [u8]),
    /// The viewer wants to know how old the next frame is.
    Challenge([u8; 16]),
    /// The answer to a challenge.
    Answer(&'a [u8]),
    /// The certificate of the key that signs groups of pictures.
    Certificate(&'a [u8]),
    /// The signature of a group of pictures.
    Signature(&'a [u8]),
    /// Number of the first record of the group that is sent to this viewer, where media travels in packets.
    Begin {
        /// The number, modulo 2³².
        number: u32,
    },
    /// Piece of one of the above, where control messages may be lost.
    Numbered {
        /// Its number, from 0, modulo 2¹⁶.
        number: u16,
        /// True if the next piece belongs to the same message.
        more: bool,
        /// The bytes; a message begins with its type.
        bytes: &'a [u8],
    },
    /// The viewer has taken the pieces before this one.
    Taken {
        /// The number of the next one.
        next: u16,
    },
    /// Records of the group are sent to this multicast group as well.
    Multicast(MulticastGroup),
    /// Report of the viewer about that multicast group.
    Hears(Hearing),
    /// To an archive's node: who can open what it records, as text, one recipient a line.
    Recipients(&'a [u8]),
    /// To an archive's node: the key of an epoch's media, encrypted for the recipients.
    ArchiveKey {
        /// The full number of the epoch.
        epoch: u64,
        /// The key as an age file.
        file: &'a [u8],
    },
}

impl<'a> GroupMessage<'a> {
    const TERMS: u8 = 20;
    const JOIN: u8 = 21;
    const SHEET: u8 = 22;
    const CHALLENGE: u8 = 23;
    const ANSWER: u8 = 24;
    const CERTIFICATE: u8 = 25;
    const SIGNATURE: u8 = 26;
    const BEGIN: u8 = 27;
    const NUMBERED: u8 = 28;
    const TAKEN: u8 = 29;
    // 30 is reserved: earlier versions had it.
    const MULTICAST: u8 = 31;
    const HEARS: u8 = 32;
    const RECIPIENTS: u8 = 33;
    const ARCHIVE_KEY: u8 = 34;

    /// True if only a viewer sends it.
    pub fn is_of_viewer(&self) -> bool {
        matches!(
            self,
            Self::Join { .. } | Self::Challenge(_) | Self::Taken { .. } | Self::Hears(_)
        )
    }

    /// True if it carries other messages, or says that they came.
    pub fn is_of_carriage(&self) -> bool {
        matches!(self, Self::Numbered { .. } | Self::Taken { .. })
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Terms(terms) => put(out, Self::TERMS, terms),
            Self::Join { stream, media } => {
                out.push(Self::JOIN);
                out.extend_from_slice(&stream.to_be_bytes());
                out.push(media.byte());
            }
            Self::Sheet(sheet) => put(out, Self::SHEET, sheet),
            Self::Challenge(bytes) => put(out, Self::CHALLENGE, &bytes),
            Self::Answer(answer) => put(out, Self::ANSWER, answer),
            Self::Certificate(certificate) => put(out, Self::CERTIFICATE, certificate),
            Self::Signature(signature) => put(out, Self::SIGNATURE, signature),
            Self::Begin { number } => put(out, Self::BEGIN, &number.to_be_bytes()),
            Self::Numbered { number, more, bytes } => {
                put(out, Self::NUMBERED, &number.to_be_bytes());
                out.push(u8::from(more));
                out.extend_from_slice(bytes);
            }
            Self::Taken { next } => put(out, Self::TAKEN, &next.to_be_bytes()),
            Self::Multicast(group) => {
                out.push(Self::MULTICAST);
                group.put(out);
            }
            Self::Hears(hearing) => put(out, Self::HEARS, &[hearing as u8]),
            Self::Recipients(recipients) => put(out, Self::RECIPIENTS, recipients),
            Self::ArchiveKey { epoch, file } => {
                put(out, Self::ARCHIVE_KEY, &epoch.to_be_bytes());
                out.extend_from_slice(file);
            }
        }
    }

    /// Parses the message of this type, after its type. `None` if it is none of a group. What is inside terms, sheets,
    /// answers, certificates, signatures and what archives get is checked by whom they are for.
    pub(super) fn parse(kind: u8, reader: &mut Reader<'a>) -> Result<Option<Self>, Malformed> {
        Ok(Some(match kind {
            Self::TERMS => Self::Terms(reader.rest()),
            Self::JOIN => Self::Join {
                stream: stream(reader.u16()?)?,
                media: MediaFrom::parse(reader.u8()?)?,
            },
            Self::SHEET => Self::Sheet(reader.rest()),
            Self::CHALLENGE => Self::Challenge(reader.array()?),
            Self::ANSWER => Self::Answer(reader.rest()),
            Self::CERTIFICATE => Self::Certificate(reader.rest()),
            Self::SIGNATURE => Self::Signature(reader.rest()),
            Self::BEGIN => Self::Begin { number: reader.u32()? },
            Self::NUMBERED => Self::Numbered {
                number: reader.u16()?,
                more: more(reader.u8()?)?,
                bytes: reader.rest(),
            },
            Self::TAKEN => Self::Taken { next: reader.u16()? },
            Self::MULTICAST => Self::Multicast(MulticastGroup::parse(reader)?),
            Self::HEARS => Self::Hears(Hearing::parse(reader.u8()?)?),
            Self::RECIPIENTS => Self::Recipients(reader.rest()),
            Self::ARCHIVE_KEY => Self::ArchiveKey {
                epoch: reader.u64()?,
                file: reader.rest(),
            },
            _ => return Ok(None),
        }))
    }
}

fn put(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    out.push(kind);
    out.extend_from_slice(bytes);
}

fn stream(stream: u16) -> Result<u16, Malformed> {
    let fits = (1..=MAX_STREAM).contains(&stream.into());
    fits.then_some(stream).ok_or(Malformed)
}

fn more(more: u8) -> Result<bool, Malformed> {
    (more <= 1).then_some(more == 1).ok_or(Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Control;

    #[test]
    fn messages_are_parsed_as_they_are_written() {
        for message in [
            GroupMessage::Terms(b"terms"),
            GroupMessage::Join {
                stream: 15,
                media: MediaFrom::RelayEnrolled,
            },
            GroupMessage::Sheet(b"sheet"),
            GroupMessage::Challenge([7; 16]),
            GroupMessage::Answer(b"answer"),
            GroupMessage::Certificate(b"certificate"),
            GroupMessage::Signature(b"signature"),
            GroupMessage::Begin { number: 1 << 31 },
            GroupMessage::Numbered {
                number: 65_535,
                more: true,
                bytes: b"piece",
            },
            GroupMessage::Taken { next: 7 },
            GroupMessage::Multicast(MulticastGroup {
                tag: 0x0102_0304,
                address: "239.1.2.3".parse().expect("an address"),
                port: 5000,
            }),
            GroupMessage::Multicast(MulticastGroup {
                tag: 7,
                address: "ff02::5".parse().expect("an address"),
                port: 1,
            }),
            GroupMessage::Hears(Hearing::Away),
            GroupMessage::Hears(Hearing::Hearing),
            GroupMessage::Join {
                stream: 1,
                media: MediaFrom::Sealed,
            },
            GroupMessage::Recipients(b"age1pq1"),
            GroupMessage::ArchiveKey {
                epoch: 1 << 40,
                file: b"age-encryption.org/v1",
            },
        ] {
            let bytes = Control::Group(message).to_bytes();
            assert_eq!(Control::parse(&bytes), Ok(Control::Group(message)));
        }
    }

    #[test]
    fn what_is_no_message_of_a_group_is_malformed() {
        for bytes in [
            &[21, 0, 1][..],
            &[21, 0, 0, 0],
            &[21, 0, 1, 4],
            &[21, 0, 1, 0, 0],
            &[23, 1, 2, 3],
            &[23; 18],
            &[27, 0, 0, 0],
            &[27, 0, 0, 0, 1, 0],
            &[28, 1],
            &[28, 0, 1],
            &[28, 0, 1, 2],
            &[29, 1],
            &[29, 0, 1, 0],
            // No multicast address, no port, too short, too long.
            &[31, 0, 0, 0, 1, 1, 1, 10, 0, 0, 1],
            &[31, 0, 0, 0, 1, 0, 0, 239, 0, 0, 1],
            &[31, 0, 0, 0, 1, 1, 1, 239, 0, 0],
            &[31, 0, 0, 0, 1, 1, 1, 239, 0, 0, 1, 9],
            &[34, 0, 0, 0, 0, 0, 0, 0],
            &[32],
            &[32, 3],
            &[32, 1, 0],
        ] {
            assert_eq!(Control::parse(bytes), Err(Malformed), "{bytes:?}");
        }
    }
}
