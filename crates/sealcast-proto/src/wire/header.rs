//! The 24 bytes before every record's payload (protocol.md §2).

use crate::seal::Refusal;

/// Length of a record's header in bytes; all of it is the AEAD's associated data.
pub const HEADER_LEN: usize = 24;

/// Highest stream number of a media record.
pub const MAX_STREAM: u32 = 15;

/// What a record carries, and so which of an epoch's keys protects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Frames and codec configurations.
    Media,
    /// Messages of the session itself.
    Control,
}

impl Kind {
    pub(crate) const MEDIA: u8 = 0x10;
    pub(crate) const CONTROL: u8 = 0x11;

    fn byte(self) -> u8 {
        match self {
            Self::Media => Self::MEDIA,
            Self::Control => Self::CONTROL,
        }
    }
}

/// The flags of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    const ENCRYPTED: u8 = 0x01;
    const KEYFRAME: u8 = 0x02;
    const FIRST: u8 = 0x04;
    const LAST: u8 = 0x08;
    const CODEC_CONFIG: u8 = 0x20;
    /// Bits that may be set in this version; `signed` (0x10) and 0xC0 may not.
    const KNOWN: u8 = Self::ENCRYPTED | Self::KEYFRAME | Self::FIRST | Self::LAST | Self::CODEC_CONFIG;

    /// The flags of every control record.
    pub const CONTROL: Self = Self(Self::ENCRYPTED);
    /// The flags of every codec-config record.
    pub const CONFIG: Self = Self(Self::ENCRYPTED | Self::FIRST | Self::LAST | Self::CODEC_CONFIG);

    /// The flags of a record that carries (part of) a frame.
    pub fn frame(keyframe: bool, first: bool, last: bool) -> Self {
        let bit = |set: bool, value: u8| if set { value } else { 0 };
        Self(Self::ENCRYPTED | bit(keyframe, Self::KEYFRAME) | bit(first, Self::FIRST) | bit(last, Self::LAST))
    }

    /// The frame can be decoded without earlier ones.
    pub fn keyframe(self) -> bool {
        self.0 & Self::KEYFRAME != 0
    }

    /// First record of its frame.
    pub fn first(self) -> bool {
        self.0 & Self::FIRST != 0
    }

    /// Last record of its frame.
    pub fn last(self) -> bool {
        self.0 & Self::LAST != 0
    }

    /// The payload is a codec configuration.
    pub fn codec_config(self) -> bool {
        self.0 & Self::CODEC_CONFIG != 0
    }
}

/// A record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the record carries.
    pub kind: Kind,
    /// Its flags.
    pub flags: Flags,
    /// The low 16 bits of the epoch's number.
    pub epoch: u16,
    /// 0 for control, 1 to [`MAX_STREAM`] for media.
    pub stream: u32,
    /// Number of the record under its key, which is the nonce's counter.
    pub seq: u32,
    /// The sender's wall clock in nanoseconds since 1970, read just before sealing.
    pub timestamp: u64,
}

impl Header {
    /// The header's bytes.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[0] = self.kind.byte();
        bytes[1] = self.flags.0;
        bytes[2..4].copy_from_slice(&self.epoch.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.stream.to_be_bytes());
        bytes[8..16].copy_from_slice(&u64::from(self.seq).to_be_bytes());
        bytes[16..24].copy_from_slice(&self.timestamp.to_be_bytes());
        bytes
    }

    /// Read the header of a record and check all that can be checked without a key. An unencrypted record is refused as
    /// such before its other flags are looked at.
    ///
    /// # Errors
    /// [`Refusal::Malformed`], or [`Refusal::Cleartext`] for an unencrypted payload.
    pub fn parse(record: &[u8]) -> Result<Self, Refusal> {
        let header = record.first_chunk::<HEADER_LEN>().ok_or(Refusal::Malformed)?;
        if record.len() < HEADER_LEN + super::TAG_LEN || record.len() > super::MAX_RECORD {
            return Err(Refusal::Malformed);
        }
        let kind = match header[0] {
            Kind::MEDIA => Kind::Media,
            Kind::CONTROL => Kind::Control,
            _ => return Err(Refusal::Malformed),
        };
        let flags = Flags(header[1]);
        if flags.0 & Flags::ENCRYPTED == 0 {
            return Err(Refusal::Cleartext);
        }
        let stream = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        let (seq, timestamp) = header[8..].split_at(8);
        let seq = u64::from_be_bytes(seq.try_into().map_err(|_| Refusal::Malformed)?);
        let header = Self {
            kind,
            flags,
            epoch: u16::from_be_bytes([header[2], header[3]]),
            stream,
            seq: u32::try_from(seq).map_err(|_| Refusal::Malformed)?,
            timestamp: u64::from_be_bytes(timestamp.try_into().map_err(|_| Refusal::Malformed)?),
        };
        header.check_form()?;
        Ok(header)
    }

    fn check_form(&self) -> Result<(), Refusal> {
        let bits = self.flags.0;
        if bits & !Flags::KNOWN != 0 {
            return Err(Refusal::Malformed);
        }
        let stream_fits = match self.kind {
            Kind::Control => self.stream == 0,
            Kind::Media => (1..=MAX_STREAM).contains(&self.stream),
        };
        let flags_fit = match self.kind {
            Kind::Control => self.flags == Flags::CONTROL,
            Kind::Media => !self.flags.codec_config() || self.flags == Flags::CONFIG,
        };
        if stream_fits && flags_fit {
            Ok(())
        } else {
            Err(Refusal::Malformed)
        }
    }
}
