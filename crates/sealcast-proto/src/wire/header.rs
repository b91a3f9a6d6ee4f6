//! The 24-byte header of a record (protocol.md §2).

/// Length of a record's header in bytes. All of it is associated data of the AEAD.
pub const HEADER_LEN: usize = 24;

/// Highest stream number of a media record.
pub const MAX_STREAM: u32 = 15;

/// Content of a record. It determines which of an epoch's keys protects the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Frames and codec configurations.
    Media,
    /// Messages of the session itself.
    Control,
    /// Other records, or pieces of them, in a record of constant size (protocol.md §10).
    Cell,
    /// Datagrams of data channels (protocol.md §12).
    Data,
}

impl Kind {
    pub(crate) const MEDIA: u8 = 0x10;
    pub(crate) const CONTROL: u8 = 0x11;
    pub(crate) const CELL: u8 = 0x12;
    pub(crate) const DATA: u8 = 0x13;

    /// Returns the kind of a message by its first byte, or `None` if the message is not a record.
    pub fn of(message: &[u8]) -> Option<Self> {
        match *message.first()? {
            Self::MEDIA => Some(Self::Media),
            Self::CONTROL => Some(Self::Control),
            Self::CELL => Some(Self::Cell),
            Self::DATA => Some(Self::Data),
            _ => None,
        }
    }

    fn byte(self) -> u8 {
        match self {
            Self::Media => Self::MEDIA,
            Self::Control => Self::CONTROL,
            Self::Cell => Self::CELL,
            Self::Data => Self::DATA,
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
    const SIGNED: u8 = 0x10;
    const CODEC_CONFIG: u8 = 0x20;
    const OF_REPAIR: u8 = 0x40;
    const UNIT: u8 = 0x80;
    /// Flags that a record of a frame may have.
    const OF_FRAME: u8 = Self::ENCRYPTED | Self::KEYFRAME | Self::FIRST | Self::LAST;

    /// The flags of every control record.
    pub const CONTROL: Self = Self(Self::ENCRYPTED);
    /// The flags of every cell.
    pub const CELL: Self = Self(Self::ENCRYPTED);
    /// The flags of every data record.
    pub const DATA: Self = Self(Self::ENCRYPTED);
    /// The flags of every encrypted codec-config record.
    pub const CONFIG: Self = Self(Self::ENCRYPTED | Self::FIRST | Self::LAST | Self::CODEC_CONFIG);
    /// The flags of every repair record.
    pub const REPAIR: Self = Self(Self::ENCRYPTED | Self::OF_REPAIR);

    /// Flags of the record with a frame's proof (signatures.md §3). Its payload is in clear.
    pub fn signed(keyframe: bool) -> Self {
        Self(Self::SIGNED | if keyframe { Self::KEYFRAME } else { 0 })
    }

    /// Flags of an encrypted record that carries a frame or a part of one.
    pub fn frame(keyframe: bool, first: bool, last: bool) -> Self {
        let bit = |set: bool, value: u8| if set { value } else { 0 };
        Self(Self::ENCRYPTED | bit(keyframe, Self::KEYFRAME) | bit(first, Self::FIRST) | bit(last, Self::LAST))
    }

    /// The same flags for a payload in clear. Used only while a selection that leaves something in clear is in
    /// force.
    #[must_use]
    pub(crate) fn in_clear(self) -> Self {
        Self(self.0 & !Self::ENCRYPTED)
    }

    /// The same flags for a record of a group whose payload begins with a unit header on every carrier (groups.md §11).
    #[must_use]
    pub fn with_unit(self) -> Self {
        Self(self.0 | Self::UNIT)
    }

    /// Returns true if the payload is encrypted. A payload in clear is authenticated, too.
    #[inline]
    pub fn encrypted(self) -> bool {
        self.0 & Self::ENCRYPTED != 0
    }

    /// Returns true if the payload is in clear and need not be.
    pub fn in_clear_by_selection(self) -> bool {
        !self.encrypted() && !self.proof()
    }

    /// Returns true if the frame can be decoded without earlier ones.
    pub fn keyframe(self) -> bool {
        self.0 & Self::KEYFRAME != 0
    }

    /// Returns true for the first record of a frame.
    pub fn first(self) -> bool {
        self.0 & Self::FIRST != 0
    }

    /// Returns true for the last record of a frame.
    pub fn last(self) -> bool {
        self.0 & Self::LAST != 0
    }

    /// Returns true if the payload is a codec configuration.
    pub fn codec_config(self) -> bool {
        self.0 & Self::CODEC_CONFIG != 0
    }

    /// Returns true if the payload is a repair symbol, not a part of a frame.
    pub fn repair(self) -> bool {
        self.0 & Self::OF_REPAIR != 0
    }

    /// Returns true if the payload is the proof of a frame.
    pub fn proof(self) -> bool {
        self.0 & Self::SIGNED != 0
    }

    /// Returns true if the record is a group's and its payload begins with a unit header on every carrier.
    pub fn unit(self) -> bool {
        self.0 & Self::UNIT != 0
    }

    /// Returns true if a media record may have these flags.
    fn fit_media(self, accept: Accept) -> bool {
        let of_group = matches!(accept, Accept::Group { .. } | Accept::Signed { .. });
        let flags = if of_group { self.0 & !Self::UNIT } else { self.0 };
        if matches!(accept, Accept::Signed { .. }) && [Self::signed(false).0, Self::signed(true).0].contains(&flags) {
            return true;
        }
        let sealed = flags | Self::ENCRYPTED;
        sealed & !Self::OF_FRAME == 0 || sealed == Self::CONFIG.0 || flags == Self::REPAIR.0
    }
}

/// Records in clear whose form is accepted. They are not trusted yet: their tag, which covers the flags and the payload
/// of a record in clear, too, is verified afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// No record in clear: for an end that has agreed to no selection, or that receives no media.
    EncryptedOnly,
    /// Media records in clear: for a viewer that has acknowledged a selection (protocol.md §4).
    ClearMedia,
    /// Records of a group: for a member of one whose frames are not signed (groups.md §10).
    Group {
        /// True if media records in clear are among them: the viewer has acknowledged a selection.
        clear: bool,
    },
    /// As [`Group`](Self::Group), and of media records those with a frame's proof, which nobody needs a key to read:
    /// for a member of a group whose frames are signed (groups.md §10).
    Signed {
        /// As in [`Group`](Self::Group).
        clear: bool,
    },
}

/// Reason why the form of a record is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadForm {
    /// It does not have the form of a record.
    Malformed,
    /// It is in clear, and no such record is accepted.
    Cleartext,
}

/// A record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Kind of the record.
    pub kind: Kind,
    /// Flags of the record.
    pub flags: Flags,
    /// The low 16 bits of the epoch's number.
    pub epoch: u16,
    /// 0 for control, cells and data, 1 to [`MAX_STREAM`] for media.
    pub stream: u32,
    /// Number of the record under its key; it is also the nonce's counter.
    pub seq: u32,
    /// The sender's wall clock in nanoseconds since 1970, read just before sealing.
    pub timestamp: u64,
}

impl Header {
    /// Returns the header's bytes.
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

    /// Parses the header of a record, and checks everything that can be checked without a key. A record in clear that
    /// is not accepted is refused for that before its other flags are checked.
    ///
    /// # Errors
    /// [`BadForm`] with the reason.
    pub fn parse(record: &[u8], accept: Accept) -> Result<Self, BadForm> {
        check(record, accept).map(Self::read)
    }

    /// Reads the fields of a header whose form has been checked; nothing is checked here.
    #[inline]
    pub fn read(bytes: &[u8; HEADER_LEN]) -> Self {
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
        let kind = match kind {
            Kind::CONTROL => Kind::Control,
            Kind::CELL => Kind::Cell,
            Kind::DATA => Kind::Data,
            _ => Kind::Media,
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

/// Checks the form of a record, and returns the bytes of its header.
pub(crate) fn check(record: &[u8], accept: Accept) -> Result<&[u8; HEADER_LEN], BadForm> {
    let header = record.first_chunk::<HEADER_LEN>().ok_or(BadForm::Malformed)?;
    let [kind, flags, _, _, stream @ .., _, _, _, _, _, _, _, _, _, _, _, _] = header;
    let (stream, seq_high) = stream.split_at(4);
    let media = *kind == Kind::MEDIA;
    let length_fits = (HEADER_LEN + super::TAG_LEN..=super::MAX_RECORD).contains(&record.len());
    if !length_fits || !(media || [Kind::CONTROL, Kind::CELL, Kind::DATA].contains(kind)) {
        return Err(BadForm::Malformed);
    }
    let flags = Flags(*flags);
    let clear_fits = match accept {
        Accept::EncryptedOnly => false,
        Accept::ClearMedia => media,
        Accept::Group { clear } => media && clear,
        Accept::Signed { clear } => media && (clear || flags.proof()),
    };
    if !flags.encrypted() && !clear_fits {
        return Err(BadForm::Cleartext);
    }
    let [0, 0, 0, stream] = *stream else {
        return Err(BadForm::Malformed);
    };
    let fits = if media {
        (1..=MAX_STREAM).contains(&u32::from(stream)) && flags.fit_media(accept)
    } else {
        stream == 0 && flags == Flags::CONTROL
    };
    if fits && *seq_high == [0; 4] {
        Ok(header)
    } else {
        Err(BadForm::Malformed)
    }
}
