//! The 24 bytes before every record's payload (protocol.md §2).

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

    /// What a message is, by its first byte; `None` for none of a session's.
    pub fn of(message: &[u8]) -> Option<Self> {
        match *message.first()? {
            Self::MEDIA => Some(Self::Media),
            Self::CONTROL => Some(Self::Control),
            _ => None,
        }
    }

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
    const OF_REPAIR: u8 = 0x40;
    /// Bits that a record of a frame may have; `signed` (0x10) and 0x80 no record has in this version.
    const OF_FRAME: u8 = Self::ENCRYPTED | Self::KEYFRAME | Self::FIRST | Self::LAST;

    /// The flags of every control record.
    pub const CONTROL: Self = Self(Self::ENCRYPTED);
    /// The flags of every codec-config record that is encrypted.
    pub const CONFIG: Self = Self(Self::ENCRYPTED | Self::FIRST | Self::LAST | Self::CODEC_CONFIG);
    /// The flags of every repair record.
    pub const REPAIR: Self = Self(Self::ENCRYPTED | Self::OF_REPAIR);

    /// The flags of an encrypted record that carries (part of) a frame.
    pub fn frame(keyframe: bool, first: bool, last: bool) -> Self {
        let bit = |set: bool, value: u8| if set { value } else { 0 };
        Self(Self::ENCRYPTED | bit(keyframe, Self::KEYFRAME) | bit(first, Self::FIRST) | bit(last, Self::LAST))
    }

    /// The same, for a payload that is left in clear. Only a session with a selection in force asks for it.
    #[must_use]
    pub(crate) fn in_clear(self) -> Self {
        Self(self.0 & !Self::ENCRYPTED)
    }

    /// The payload is encrypted. Without it the payload is in clear, and authenticated all the same.
    #[inline]
    pub fn encrypted(self) -> bool {
        self.0 & Self::ENCRYPTED != 0
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

    /// The payload is a repair symbol, not a part of a frame.
    pub fn repair(self) -> bool {
        self.0 & Self::OF_REPAIR != 0
    }

    /// Whether a media record may have them.
    fn fit_media(self) -> bool {
        let sealed = self.0 | Self::ENCRYPTED;
        sealed & !Self::OF_FRAME == 0 || sealed == Self::CONFIG.0 || self.0 == Self::REPAIR.0
    }
}

/// Which records in clear are let through to the tag. Being let through is not being believed: the tag covers the flag
/// and the payload of a record in clear, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// None: an end that agreed to no selection, or cannot be sent media.
    EncryptedOnly,
    /// Those of media: a viewer that acknowledged a selection (protocol.md §4).
    ClearMedia,
}

/// A record does not have the form of one that may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadForm {
    /// It does not have the form of a record at all.
    Malformed,
    /// It is in clear, and none in clear may come.
    Cleartext,
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

    /// Read the header of a record and check all that can be checked without a key. A record in clear that `accept`
    /// does not let through is refused as such before its other flags are looked at.
    ///
    /// # Errors
    /// [`BadForm`] says which of the two.
    pub fn parse(record: &[u8], accept: Accept) -> Result<Self, BadForm> {
        check(record, accept).map(Self::read)
    }

    /// Read a header whose form was checked.
    #[inline]
    pub(crate) fn read(bytes: &[u8; HEADER_LEN]) -> Self {
        let [
            kind,
            flags,
            e0,
            e1,
            s0,
            s1,
            s2,
            s3,
            _,
            _,
            _,
            _,
            n0,
            n1,
            n2,
            n3,
            timestamp @ ..,
        ] = *bytes;
        let kind = if kind == Kind::CONTROL {
            Kind::Control
        } else {
            Kind::Media
        };
        Self {
            kind,
            flags: Flags(flags),
            epoch: u16::from_be_bytes([e0, e1]),
            stream: u32::from_be_bytes([s0, s1, s2, s3]),
            seq: u32::from_be_bytes([n0, n1, n2, n3]),
            timestamp: u64::from_be_bytes(timestamp),
        }
    }
}

/// Check the form of a record on its bytes, and return those of its header.
pub(crate) fn check(record: &[u8], accept: Accept) -> Result<&[u8; HEADER_LEN], BadForm> {
    let header = record.first_chunk::<HEADER_LEN>().ok_or(BadForm::Malformed)?;
    let [kind, flags, _, _, stream @ .., _, _, _, _, _, _, _, _, _, _, _, _] = header;
    let (stream, seq_high) = stream.split_at(4);
    let control = *kind == Kind::CONTROL;
    let length_fits = (HEADER_LEN + super::TAG_LEN..=super::MAX_RECORD).contains(&record.len());
    if !length_fits || !(control || *kind == Kind::MEDIA) {
        return Err(BadForm::Malformed);
    }
    let flags = Flags(*flags);
    if !flags.encrypted() && (control || accept == Accept::EncryptedOnly) {
        return Err(BadForm::Cleartext);
    }
    let [0, 0, 0, stream] = *stream else {
        return Err(BadForm::Malformed);
    };
    let fits = if control {
        stream == 0 && flags == Flags::CONTROL
    } else {
        (1..=MAX_STREAM).contains(&u32::from(stream)) && flags.fit_media()
    };
    if fits && *seq_high == [0; 4] {
        Ok(header)
    } else {
        Err(BadForm::Malformed)
    }
}
