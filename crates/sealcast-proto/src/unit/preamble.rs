//! The timestamps in front of every frame.

use crate::wire::{Malformed, Reader};

/// Length of the preamble in bytes.
pub const PREAMBLE_LEN: usize = 52;

/// The instant that a frame's capture stamp stands for. Two cameras whose stamps mean different instants differ by an
/// exposure and a read-out, and their latencies are not comparable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StampKind {
    /// The exposure of the picture began.
    ExposureStart,
    /// The last line of the picture was read out.
    FrameEnd,
    /// The encoded picture arrived at the publisher; the camera's exposure, read-out and encoder are not included.
    #[default]
    Arrival,
}

impl StampKind {
    const ALL: [Self; 3] = [Self::ExposureStart, Self::FrameEnd, Self::Arrival];

    fn number(self) -> u8 {
        match self {
            Self::ExposureStart => 1,
            Self::FrameEnd => 2,
            Self::Arrival => 3,
        }
    }

    /// Name in logs and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::ExposureStart => "exposure_start",
            Self::FrameEnd => "frame_end",
            Self::Arrival => "arrival",
        }
    }
}

/// Layout of the bytes of a frame on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// As the source gave them.
    #[default]
    Source,
    /// An image in two parts, of which the second has only the codes of coefficients above an index.
    SplitScan,
}

impl Layout {
    const ALL: [Self; 2] = [Self::Source, Self::SplitScan];

    fn number(self) -> u8 {
        match self {
            Self::Source => 0,
            Self::SplitScan => 1,
        }
    }
}

/// The data sealed in front of the frame itself (protocol.md §5). Timestamps are nanoseconds of the sender's wall
/// clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preamble {
    /// Number of the frame in its stream, counted by the source.
    pub frame: u64,
    /// Presentation time since the stream began, ns.
    pub media_time: u64,
    /// Time at which the picture was complete at the source.
    pub captured: u64,
    /// Time at which it had been encoded.
    pub encoded: u64,
    /// Time that sealing the previous frame took, ns; 0 for the first.
    pub previous_seal: u32,
    /// Time that handing the previous frame to the network took, ns; 0 if that is not known.
    pub previous_send: u32,
    /// Time from the instant of the stamp until the picture was complete at the source, ns.
    pub capture: u32,
    /// Number of zeros after the frame that are not part of it: they hide its length.
    pub padding: u32,
    /// Kind of that instant.
    pub stamp: StampKind,
    /// Layout of the frame's bytes.
    pub layout: Layout,
    /// True if the frame was kept for this viewer, which joined after it: it is as old as it is for that reason, and
    /// not because of its way.
    pub kept: bool,
}

impl Preamble {
    /// The preamble's bytes.
    pub fn to_bytes(self) -> [u8; PREAMBLE_LEN] {
        let mut bytes = [0; PREAMBLE_LEN];
        let stamps = [self.frame, self.media_time, self.captured, self.encoded];
        for (slot, stamp) in bytes.chunks_exact_mut(8).zip(stamps) {
            slot.copy_from_slice(&stamp.to_be_bytes());
        }
        bytes[32..36].copy_from_slice(&self.previous_seal.to_be_bytes());
        bytes[36..40].copy_from_slice(&self.previous_send.to_be_bytes());
        bytes[40..44].copy_from_slice(&self.capture.to_be_bytes());
        bytes[44..48].copy_from_slice(&self.padding.to_be_bytes());
        bytes[48] = self.stamp.number();
        bytes[49] = self.layout.number();
        bytes[50] = self.kept.into();
        bytes
    }

    /// Splits the payload of a frame's first record into the preamble and the frame's bytes.
    ///
    /// # Errors
    /// [`Malformed`] if the payload is shorter than a preamble, the stamp or the layout means nothing that is known,
    /// `kept` is neither 0 nor 1, or the reserved byte is not 0.
    pub fn split(payload: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (head, frame) = payload.split_at_checked(PREAMBLE_LEN).ok_or(Malformed)?;
        let mut reader = Reader::new(head);
        let preamble = Self {
            frame: reader.u64()?,
            media_time: reader.u64()?,
            captured: reader.u64()?,
            encoded: reader.u64()?,
            previous_seal: reader.u32()?,
            previous_send: reader.u32()?,
            capture: reader.u32()?,
            padding: reader.u32()?,
            stamp: stamp_kind(reader.u8()?)?,
            layout: layout(reader.u8()?)?,
            kept: kept(reader.u8()?)?,
        };
        if reader.u8()? != 0 {
            return Err(Malformed);
        }
        reader.finish()?;
        Ok((preamble, frame))
    }
}

fn stamp_kind(number: u8) -> Result<StampKind, Malformed> {
    let known = StampKind::ALL.into_iter().find(|kind| kind.number() == number);
    known.ok_or(Malformed)
}

fn kept(number: u8) -> Result<bool, Malformed> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Malformed),
    }
}

fn layout(number: u8) -> Result<Layout, Malformed> {
    let known = Layout::ALL.into_iter().find(|layout| layout.number() == number);
    known.ok_or(Malformed)
}
