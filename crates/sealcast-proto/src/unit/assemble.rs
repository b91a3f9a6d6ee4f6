//! Assembles verified records into frames and drops frames that cannot be decoded.

use std::time::Duration;

use super::assembled::{Assembled, AssembledFrame};
use super::frame_order::FrameOrder;
use super::{Description, MAX_FRAME, MAX_UNITS_TOLD, Preamble, UnitArrival};
use crate::seal::{Opened, SealedFrame};
use crate::wire::{Header, Malformed, append};

/// The frame being assembled, and the epoch and number of its next record.
struct Parts {
    frame: AssembledFrame,
    next: Option<(u16, u32)>,
}

/// Assembles the records of a byte stream, in the order in which they arrive. It holds at most one frame of
/// [`MAX_FRAME`] bytes: a publisher finishes one frame before it begins another.
///
/// Loss is detected in three ways, none of which relies on what the network says: [`lost`](Self::lost) is called for a
/// record that was refused; a record [follows a gap](Opened::follows_gap) in the numbers of its key; or a frame follows
/// a gap in the frame numbers. Where there is sound only the last of them counts: a record may be missing of either
/// stream.
pub(crate) struct Assembler {
    parts: Option<Parts>,
    order: FrameOrder,
    /// True if frames report the arrival of their units.
    tell_units: bool,
    /// The records of the frame being assembled and of the description before it, where such are kept.
    sealed: SealedFrame,
}

impl Assembler {
    /// A new assembler. The first frame it hands out is a keyframe.
    pub(crate) fn new(tell_units: bool) -> Self {
        Self {
            parts: None,
            order: FrameOrder::new(),
            tell_units,
            sealed: SealedFrame::default(),
        }
    }

    /// Keeps a record of a description as it came, where such are kept. `begins` if it is the first one.
    pub(crate) fn keep_description(&mut self, record: &Opened<'_>, begins: bool) {
        if begins {
            // That of another stream may stand before it.
            let stream = record.header().stream;
            self.sealed
                .records
                .retain(|kept| kept.describes() && kept.stream() != stream);
        }
        self.sealed.records.extend(record.sealed());
    }

    /// True if the session carries sound beside the picture.
    pub(crate) fn carries_sound(&self) -> bool {
        self.order.carries_sound()
    }

    /// Notes that a record was lost: nothing that may depend on it is handed out.
    pub(crate) fn lost(&mut self) {
        self.parts = None;
        self.sealed.records.clear();
        self.order.lost();
    }

    /// Takes a verified media record that arrived at this monotonic time. Returns `None` while its frame is incomplete.
    ///
    /// # Errors
    /// [`Malformed`] if an authenticated peer violates the format: an oversized frame, or parts of different kinds. The
    /// session should end.
    pub(crate) fn take(&mut self, record: &Opened<'_>, arrived: Duration) -> Result<Option<Assembled>, Malformed> {
        let header = record.header();
        if record.follows_gap() {
            self.lost();
        }
        if header.flags.codec_config() {
            self.keep_description(record, true);
            let description = Description::parse(header.stream, record.payload())?;
            self.order.described(&description);
            return Ok(Some(description.into()));
        }
        if header.flags.first() {
            self.begin(record, arrived)?;
        } else if !self.extend(record, arrived)? {
            return Ok(None);
        }
        self.sealed.records.extend(record.sealed());
        self.sealed.units = header.flags.unit();
        if self.tell_units {
            self.tell_unit(record, arrived);
        }
        if !header.flags.last() {
            return Ok(None);
        }
        let Some(Parts { mut frame, .. }) = self.parts.take() else {
            return Ok(None);
        };
        frame.sealed = std::mem::take(&mut self.sealed);
        self.order.next(frame).map(Some)
    }

    fn tell_unit(&mut self, record: &Opened<'_>, arrived: Duration) {
        let Some(parts) = &mut self.parts else { return };
        let units = &mut parts.frame.units;
        if units.len() < MAX_UNITS_TOLD {
            units.push(UnitArrival::new(units.len() as u32, record, arrived, false));
        }
    }

    fn begin(&mut self, record: &Opened<'_>, arrived: Duration) -> Result<(), Malformed> {
        if self.parts.is_some() {
            // The end of the previous frame is missing.
            self.lost();
        }
        let header = record.header();
        let (preamble, part) = Preamble::split(record.payload())?;
        let mut data = Vec::new();
        append(&mut data, part);
        let frame = AssembledFrame {
            stream: header.stream,
            preamble,
            keyframe: header.flags.keyframe(),
            sealed_at: header.timestamp,
            arrived,
            skipped: 0,
            data,
            units: Vec::new(),
            sealed: SealedFrame::default(),
        };
        self.parts = Some(Parts {
            frame,
            next: after(header),
        });
        Ok(())
    }

    /// Adds a record to the frame it belongs to. The records of one frame have consecutive numbers under one key.
    fn extend(&mut self, record: &Opened<'_>, arrived: Duration) -> Result<bool, Malformed> {
        let header = record.header();
        let here = Some((header.epoch, header.seq));
        let Some(parts) = self.parts.as_mut().filter(|parts| parts.next == here) else {
            // The record before it was lost.
            self.lost();
            return Ok(false);
        };
        let frame = &mut parts.frame;
        let other = frame.keyframe != header.flags.keyframe() || frame.stream != header.stream;
        if other || frame.data.len() + record.payload().len() > MAX_FRAME {
            self.lost();
            return Err(Malformed);
        }
        append(&mut frame.data, record.payload());
        (frame.sealed_at, frame.arrived) = (header.timestamp, arrived);
        parts.next = after(header);
        Ok(true)
    }
}

/// Epoch and number of the record after this one.
fn after(header: Header) -> Option<(u16, u32)> {
    Some((header.epoch, header.seq.checked_add(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Flags, Kind};

    /// An assembler and the number of its next record.
    struct Stream {
        assembler: Assembler,
        seq: u32,
    }

    impl Stream {
        fn new() -> Self {
            Self {
                assembler: Assembler::new(false),
                seq: 0,
            }
        }

        fn record(&mut self, flags: Flags, payload: &[u8], gap: bool) -> Result<Option<Assembled>, Malformed> {
            let header = Header {
                kind: Kind::Media,
                flags,
                epoch: 0,
                stream: 1,
                seq: self.seq,
                timestamp: u64::from(self.seq),
            };
            self.seq += 1;
            let record = [&header.to_bytes()[..], payload].concat();
            self.assembler.take(&Opened::made_up(&record, gap), Duration::ZERO)
        }

        /// Takes a frame in one record.
        fn frame(&mut self, number: u64, keyframe: bool) -> Assembled {
            self.record(Flags::frame(keyframe, true, true), &payload(number), false)
                .expect("well formed")
                .expect("it is whole")
        }
    }

    fn payload(number: u64) -> Vec<u8> {
        let preamble = Preamble {
            frame: number,
            ..Preamble::default()
        };
        [&preamble.to_bytes()[..], b"picture"].concat()
    }

    #[test]
    fn padding_is_cut_off_and_one_that_is_not_all_zeros_is_refused() {
        let padded = |padding, data: &[u8]| {
            let preamble = Preamble {
                padding,
                ..Preamble::default()
            };
            [&preamble.to_bytes()[..], data].concat()
        };
        let whole = Flags::frame(true, true, true);
        for (padding, data) in [
            (0, &b"picture"[..]),
            (3, b"picture\0\0\0"),
            (0, b"picture\0"),
            (7, &[0; 7]),
        ] {
            let taken = Stream::new().record(whole, &padded(padding, data), false);
            let Ok(Some(Assembled::Frame(frame))) = taken else {
                panic!("{padding} of {data:?}")
            };
            assert_eq!(frame.data, data[..data.len() - padding as usize]);
        }
        for (padding, data) in [
            (8, &[0; 7][..]),
            (u32::MAX, b"picture"),
            (3, b"picture\0\x01\0"),
            (1, b""),
        ] {
            let taken = Stream::new().record(whole, &padded(padding, data), false);
            assert!(matches!(taken, Err(Malformed)), "{padding} of {data:?}");
        }
    }

    fn part(keyframe: bool, first: bool, last: bool) -> Flags {
        Flags::frame(keyframe, first, last)
    }

    #[test]
    fn nothing_is_handed_out_before_a_keyframe() {
        let mut stream = Stream::new();
        assert!(matches!(
            stream.frame(0, false),
            Assembled::Undecodable { frame: 0, .. }
        ));
        assert!(matches!(stream.frame(1, true), Assembled::Frame(_)));
        assert!(matches!(stream.frame(2, false), Assembled::Frame(_)));
    }

    #[test]
    fn a_gap_in_the_frames_waits_for_a_keyframe_and_is_counted() {
        let mut stream = Stream::new();
        stream.frame(0, true);
        assert!(matches!(
            stream.frame(3, false),
            Assembled::Undecodable { frame: 3, skipped: 2 }
        ));
        assert!(stream.assembler.order.waits_for_keyframe(1));
        assert!(matches!(
            stream.frame(4, false),
            Assembled::Undecodable { frame: 4, skipped: 0 }
        ));
        let Assembled::Frame(frame) = stream.frame(5, true) else {
            panic!("a keyframe can be decoded")
        };
        assert_eq!(
            (frame.skipped, frame.data),
            (0, b"picture".to_vec()),
            "each is counted once"
        );
    }

    #[test]
    fn frames_that_go_back_are_not_decoded_without_a_keyframe() {
        let mut stream = Stream::new();
        stream.frame(7, true);
        assert!(matches!(
            stream.frame(7, false),
            Assembled::Undecodable { frame: 7, skipped: 0 }
        ));
        assert!(matches!(stream.frame(0, true), Assembled::Frame(_)));
    }

    #[test]
    fn a_refused_record_in_a_frame_of_several_loses_the_frame() {
        let mut stream = Stream::new();
        stream
            .record(part(true, true, false), &payload(0), false)
            .expect("first");
        stream.assembler.lost();
        let end = stream
            .record(part(true, false, true), b"end", false)
            .expect("well formed");
        assert!(end.is_none(), "{end:?}");
        assert!(matches!(stream.frame(1, false), Assembled::Undecodable { .. }));
    }

    #[test]
    fn a_record_removed_from_the_middle_of_a_frame_loses_the_frame() {
        for told in [false, true] {
            let mut stream = Stream::new();
            stream
                .record(part(true, true, false), &payload(0), false)
                .expect("first");
            stream.seq += 1;
            let end = stream
                .record(part(true, false, true), b"end", told)
                .expect("well formed");
            assert!(end.is_none(), "{end:?}");
            assert!(stream.assembler.order.waits_for_keyframe(1));
        }
    }

    #[test]
    fn a_removed_record_waits_for_a_keyframe_even_where_frames_count_on() {
        let mut stream = Stream::new();
        stream.frame(0, true);
        let next = stream
            .record(part(false, true, true), &payload(1), true)
            .expect("well formed");
        assert!(
            matches!(next, Some(Assembled::Undecodable { frame: 1, .. })),
            "{next:?}"
        );
    }

    #[test]
    fn a_frame_without_its_end_loses_itself_only_where_a_keyframe_follows() {
        let mut stream = Stream::new();
        stream
            .record(part(true, true, false), &payload(0), false)
            .expect("first");
        assert!(matches!(stream.frame(1, true), Assembled::Frame(_)));
        stream
            .record(part(false, true, false), &payload(2), false)
            .expect("first");
        assert!(matches!(stream.frame(3, false), Assembled::Undecodable { .. }));
    }

    #[test]
    fn a_frame_above_the_limit_is_the_peers_fault_and_is_not_kept() {
        let mut stream = Stream::new();
        stream
            .record(part(true, true, false), &payload(0), false)
            .expect("first");
        let half = vec![0; MAX_FRAME / 2];
        assert!(stream.record(part(true, false, false), &half, false).is_ok());
        assert!(stream.record(part(true, false, false), &half, false).is_err());
        assert!(stream.assembler.parts.is_none());
    }

    #[test]
    fn parts_of_two_kinds_are_the_peers_fault() {
        let mut stream = Stream::new();
        stream
            .record(part(true, true, false), &payload(0), false)
            .expect("first");
        assert!(stream.record(part(false, false, true), b"end", false).is_err());
    }

    #[test]
    fn a_frame_tells_how_its_units_came_where_that_is_asked_for() {
        let mut stream = Stream::new();
        stream.assembler.tell_units = true;
        stream
            .record(part(true, true, false), &payload(0), false)
            .expect("first");
        let end = stream.record(part(true, false, true), b"end", false);
        let Ok(Some(Assembled::Frame(frame))) = end else {
            panic!("it is whole")
        };
        let told: Vec<_> = frame.units.iter().map(|unit| (unit.index, unit.sealed_at)).collect();
        assert_eq!(told, [(0, 0), (1, 1)]);
    }

    #[test]
    fn a_first_record_without_a_whole_preamble_is_the_peers_fault() {
        let mut stream = Stream::new();
        assert!(stream.record(part(true, true, true), &[0; 39], false).is_err());
        assert!(stream.record(part(true, true, true), &[], false).is_err());
    }
}
