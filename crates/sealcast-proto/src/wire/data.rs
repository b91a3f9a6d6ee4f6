//! Data channels: their names, what ends say of them, and the payload of a data record (protocol.md §12).

use std::fmt;

use super::{Malformed, Reader};

/// Maximum number of data channels of a session.
pub const MAX_DATA_CHANNELS: usize = 8;
/// Maximum length of a datagram on a data channel in bytes: what fits a packet of most networks.
pub const MAX_DATAGRAM_ON_CHANNEL: usize = 1200;
/// Bytes of a data record's payload before the datagram.
pub(crate) const DATA_HEADER: usize = 5;

/// The name of a data channel: 1 to 32 letters, digits, dots, hyphens and underscores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DataName {
    length: u8,
    bytes: [u8; Self::MAX],
}

impl DataName {
    /// Maximum length in bytes.
    pub const MAX: usize = 32;

    /// Returns the name, if it is one.
    pub fn new(name: &str) -> Option<Self> {
        Self::of(name.as_bytes())
    }

    fn of(name: &[u8]) -> Option<Self> {
        let safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        let mut bytes = [0; Self::MAX];
        bytes.get_mut(..name.len())?.copy_from_slice(name);
        let length = u8::try_from(name.len()).ok()?;
        (length > 0 && name.iter().all(safe)).then_some(Self { length, bytes })
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        // A name is made of ASCII alone.
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl fmt::Debug for DataName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Order in which an end sends the datagrams of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataOrder {
    /// All of them, in the order in which they came.
    #[default]
    Ordered,
    /// The newest; older ones are worth nothing then.
    Newest,
}

/// Standing of a viewer on a channel: what it wants, or what it may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataStanding {
    /// To hear the channel.
    Hears,
    /// To hear it, and to send on it.
    Sends,
    /// To hear it, while another viewer sends. Only a publisher says so.
    Waits,
}

/// An end's message of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataChannel {
    /// Its name.
    pub name: DataName,
    /// Order in which the sender of the message sends on it.
    pub order: DataOrder,
    /// Standing of the viewer on it.
    pub standing: DataStanding,
}

/// Appends a list of channels, at most [`MAX_DATA_CHANNELS`].
pub(super) fn put_channels(out: &mut Vec<u8>, channels: &[DataChannel]) {
    out.push(channels.len() as u8);
    for DataChannel { name, order, standing } in channels {
        out.push(name.length);
        out.extend_from_slice(name.as_str().as_bytes());
        out.push(match order {
            DataOrder::Ordered => 1,
            DataOrder::Newest => 2,
        });
        out.push(match standing {
            DataStanding::Hears => 1,
            DataStanding::Sends => 2,
            DataStanding::Waits => 3,
        });
    }
}

/// Reads a list of at most [`MAX_DATA_CHANNELS`] channels with different names.
pub(super) fn channels(reader: &mut Reader<'_>) -> Result<Vec<DataChannel>, Malformed> {
    let count = usize::from(reader.u8()?);
    if count > MAX_DATA_CHANNELS {
        return Err(Malformed);
    }
    let mut channels: Vec<DataChannel> = Vec::with_capacity(count);
    for _ in 0..count {
        let name = DataName::of(reader.bytes8()?).ok_or(Malformed)?;
        let order = match reader.u8()? {
            1 => DataOrder::Ordered,
            2 => DataOrder::Newest,
            _ => return Err(Malformed),
        };
        let standing = match reader.u8()? {
            1 => DataStanding::Hears,
            2 => DataStanding::Sends,
            3 => DataStanding::Waits,
            _ => return Err(Malformed),
        };
        if channels.iter().any(|other| other.name == name) {
            return Err(Malformed);
        }
        channels.push(DataChannel { name, order, standing });
    }
    Ok(channels)
}

/// Payload of a data record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct DataPayload<'a> {
    /// Place of the channel in the publisher's message, from 1.
    pub(crate) channel: u8,
    /// Number of the datagram on the channel in this direction, modulo 2³².
    pub(crate) number: u32,
    /// The datagram.
    pub(crate) bytes: &'a [u8],
}

impl<'a> DataPayload<'a> {
    /// Returns the bytes before the datagram.
    pub(crate) fn head(channel: u8, number: u32) -> [u8; DATA_HEADER] {
        let [a, b, c, d] = number.to_be_bytes();
        [channel, a, b, c, d]
    }

    /// Parses the payload of a data record.
    ///
    /// # Errors
    /// [`Malformed`] if it is too short or too long.
    pub(crate) fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let (channel, number, bytes) = (reader.u8()?, reader.u32()?, reader.rest());
        let fits = (1..=MAX_DATAGRAM_ON_CHANNEL).contains(&bytes.len());
        let read = fits.then_some(Self { channel, number, bytes });
        read.ok_or(Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_1_to_32_letters_digits_and_marks() {
        let (longest, long) = ("a".repeat(32), "a".repeat(33));
        for name in ["m", "MAVLink", "ptz-2_left.b", longest.as_str()] {
            assert_eq!(DataName::new(name).expect(name).as_str(), name);
        }
        for name in ["", long.as_str(), "a b", "é", "a\n", "a/b", "a=b", "a\u{1b}[2J"] {
            assert_eq!(DataName::new(name), None, "{name:?}");
        }
    }

    #[test]
    fn a_payload_is_a_datagram_of_1_to_1200_bytes_behind_its_channel_and_number() {
        let payload = |length| [&DataPayload::head(3, 0x0102_0304)[..], &vec![7; length]].concat();
        for length in [1, 1200] {
            let bytes = payload(length);
            let Ok(read) = DataPayload::parse(&bytes) else {
                panic!("{length} bytes fit")
            };
            assert_eq!((read.channel, read.number, read.bytes.len()), (3, 0x0102_0304, length));
        }
        for length in [0, 1201] {
            assert!(DataPayload::parse(&payload(length)).is_err(), "{length}");
        }
        assert!(DataPayload::parse(&[1, 0, 0, 0]).is_err(), "it ends in the number");
    }
}
