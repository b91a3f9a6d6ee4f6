//! Media on its way to viewers: what a program gives, how it is cut into records, and how many those are.

use super::flow::{Content, Packing, Sealing};
use crate::unit::{
    Codec, Cutter, PREAMBLE_LEN, Piece, Pieces, Preamble, Room, SOUND_STREAM, Selection, Unit, cut_padded,
};
use crate::wire::{Flags, HEADER_LEN, MAX_RECORD, TAG_LEN};

/// A frame on its way to a viewer.
#[derive(Clone, Copy)]
pub struct OutgoingFrame<'a> {
    /// Its stream, 1 to 15.
    pub stream: u32,
    /// Its codec; the position of the headers depends on it.
    pub codec: Codec,
    /// True if it can be decoded without earlier frames.
    pub keyframe: bool,
    /// Its stamps.
    pub preamble: Preamble,
    /// The access unit.
    pub data: &'a [u8],
}

impl std::fmt::Debug for OutgoingFrame<'_> {
    /// The picture itself is not shown, only its length.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutgoingFrame")
            .field("stream", &self.stream)
            .field("codec", &self.codec)
            .field("keyframe", &self.keyframe)
            .field("preamble", &self.preamble)
            .field("data", &self.data.len())
            .finish()
    }
}

/// Packets on their way to a viewer, sealed together: whole packets that depend on no earlier ones, in a format that
/// the session does not parse (a gateway uses that of [`put_packet`](crate::rtsp::put_packet)).
#[derive(Clone, Copy)]
pub struct OutgoingPackets<'a> {
    /// Their stream, 1 to 15.
    pub stream: u32,
    /// Their stamps, and their number among the units of the stream.
    pub preamble: Preamble,
    /// The packets.
    pub data: &'a [u8],
}

impl std::fmt::Debug for OutgoingPackets<'_> {
    /// The packets themselves are not shown, only their length.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutgoingPackets")
            .field("stream", &self.stream)
            .field("preamble", &self.preamble)
            .field("data", &self.data.len())
            .finish()
    }
}

/// A packet of sound on its way to a viewer.
#[derive(Clone, Copy)]
pub struct OutgoingSound<'a> {
    /// Its stamps, and its number among the packets of sound.
    pub preamble: Preamble,
    /// The packet.
    pub data: &'a [u8],
}

impl std::fmt::Debug for OutgoingSound<'_> {
    /// The sound itself is not shown, only its length.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutgoingSound")
            .field("preamble", &self.preamble)
            .field("data", &self.data.len())
            .finish()
    }
}

/// Seals one record: its flags, whether to encrypt it, and the parts of its payload.
pub(crate) type SealOne<'a, E> = dyn FnMut(Flags, bool, &[&[u8]]) -> Result<SealedRecords, E> + 'a;

/// A frame or packets, sealed at once.
#[derive(Clone, Copy)]
pub(crate) struct OutgoingUnit<'a> {
    pub(super) stream: u32,
    /// The codec, by which the headers of a picture are found; none where there is no picture.
    pub(super) codec: Option<Codec>,
    /// True if it depends on nothing before it.
    pub(super) keyframe: bool,
    pub(super) preamble: Preamble,
    pub(super) data: &'a [u8],
    /// True if it is sound beside a picture.
    pub(super) sound: bool,
}

impl OutgoingUnit<'_> {
    /// Part of it that is encrypted while this selection is in force. Selections are about pictures.
    pub(super) fn selection(&self, in_force: Selection) -> Selection {
        if self.sound { Selection::All } else { in_force }
    }

    /// True if it is a good place for another epoch.
    pub(super) fn begins_group(&self) -> bool {
        self.keyframe && !self.sound
    }

    /// Its preamble, if it travels in these pieces.
    pub(super) fn preamble(&self, pieces: &Pieces<'_>) -> Preamble {
        Preamble {
            layout: pieces.layout(),
            ..self.preamble
        }
    }

    /// Number of zeros after the data.
    pub(super) fn padding(&self) -> usize {
        self.preamble.padding as usize
    }

    /// Cuts it into the records of a byte stream. `seal` gets the flags of each, whether to encrypt it, and the parts
    /// of its payload. Zeros are written straight into it, and a frame that has some is encrypted whole.
    pub(crate) fn seal_each<E>(
        &self,
        cut_into: Unit,
        cutter: &mut Cutter,
        selection: Selection,
        seal: &mut SealOne<'_, E>,
    ) -> Result<SealedRecords, E> {
        let longest = match cut_into {
            Unit::Packet => PACKET_RECORD,
            Unit::Frame | Unit::Chunk(_) => MAX_RECORD,
        };
        let others = longest - HEADER_LEN - TAG_LEN;
        let room = Room {
            first: others - PREAMBLE_LEN,
            others,
        };
        let mut sealed = SealedRecords::default();
        if self.padding() > 0 {
            let preamble = self.preamble.to_bytes();
            for piece in cut_padded(self.data, self.padding(), cut_into, room) {
                let preamble: &[u8] = if piece.first { &preamble } else { &[] };
                let flags = Flags::frame(self.keyframe, piece.first, piece.last);
                sealed += seal(flags, true, &piece.parts(&[preamble]))?;
            }
            return Ok(sealed);
        }
        let pieces = cutter.cut(selection, self.stream, self.codec, self.keyframe, self.data);
        let preamble = self.preamble(&pieces).to_bytes();
        for piece in pieces.in_room(room) {
            let preamble: &[u8] = if piece.first { &preamble } else { &[] };
            let flags = Flags::frame(self.keyframe, piece.first, piece.last);
            sealed += seal(flags, piece.encrypt, &[preamble, piece.data])?;
        }
        Ok(sealed)
    }
}

/// Takes the properties of a frame and its pieces.
type Push<'f, R> = dyn FnMut(&Sealing<'_>, &mut dyn Iterator<Item = Piece<'_>>) -> R + 'f;

impl OutgoingUnit<'_> {
    /// Cuts it into records that fit packets, and passes it to `push`.
    pub(crate) fn pack<R>(
        &self,
        packing: Packing,
        cutter: &mut Cutter,
        selection: Selection,
        push: &mut Push<'_, R>,
    ) -> R {
        let pieces = cutter.cut(selection, self.stream, self.codec, self.keyframe, self.data);
        let bytes = PREAMBLE_LEN + pieces.bytes() + self.padding();
        let unit = packing.share(bytes);
        let room = Room {
            first: unit - PREAMBLE_LEN,
            others: unit,
        };
        let preamble = self.preamble(&pieces).to_bytes();
        let sealing = Sealing {
            stream: self.stream,
            keyframe: self.keyframe,
            content: Content::Frame,
            may_be_clear: selection != Selection::All,
            preamble: &preamble,
            bytes,
            unit,
        };
        if self.padding() > 0 {
            let mut pieces = cut_padded(self.data, self.padding(), packing.unit(), room);
            return push(&sealing, &mut pieces);
        }
        push(&sealing, &mut pieces.in_room(room))
    }
}

/// Cuts what is no frame, of this stream and of a keyframe or not, into as few records as packets allow.
pub(crate) fn pack_whole(
    content: Content,
    (stream, keyframe): (u32, bool),
    data: &[u8],
    packing: Packing,
) -> (Sealing<'static>, impl Iterator<Item = Piece<'_>>) {
    let most = packing.share(usize::MAX);
    let unit = data.len().div_ceil(data.len().div_ceil(most));
    let last = data.len().div_ceil(unit) - 1;
    let pieces = data.chunks(unit).enumerate().map(move |(index, data)| Piece {
        data,
        zeros: 0,
        encrypt: true,
        first: index == 0,
        last: index == last,
    });
    let sealing = Sealing {
        stream,
        keyframe,
        content,
        may_be_clear: false,
        preamble: &[],
        bytes: data.len(),
        unit,
    };
    (sealing, pieces)
}

impl<'a> From<&OutgoingFrame<'a>> for OutgoingUnit<'a> {
    fn from(frame: &OutgoingFrame<'a>) -> Self {
        Self {
            stream: frame.stream,
            codec: Some(frame.codec),
            keyframe: frame.keyframe,
            preamble: frame.preamble,
            data: frame.data,
            sound: false,
        }
    }
}

impl<'a> From<&OutgoingPackets<'a>> for OutgoingUnit<'a> {
    fn from(packets: &OutgoingPackets<'a>) -> Self {
        Self {
            stream: packets.stream,
            codec: None,
            keyframe: true,
            preamble: packets.preamble,
            data: packets.data,
            sound: false,
        }
    }
}

impl<'a> From<&OutgoingSound<'a>> for OutgoingUnit<'a> {
    fn from(sound: &OutgoingSound<'a>) -> Self {
        Self {
            stream: SOUND_STREAM,
            codec: None,
            keyframe: true,
            preamble: sound.preamble,
            data: sound.data,
            sound: true,
        }
    }
}

/// Longest record of a packet unit on a byte stream, header and tag included. It would also fit a datagram.
const PACKET_RECORD: usize = 1200;

/// Number of sealed records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SealedRecords {
    /// In all.
    pub records: u64,
    /// Those with their payload in clear.
    pub in_clear: u64,
}

impl std::ops::AddAssign for SealedRecords {
    fn add_assign(&mut self, more: Self) {
        self.records += more.records;
        self.in_clear += more.in_clear;
    }
}
