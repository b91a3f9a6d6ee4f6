//! Bytes that a byte stream has still to send.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;

use sealcast_proto::group_media::SealedFrame;

/// Capacity of the buffer that is kept after a burst.
pub(super) const KEPT: usize = 256 * 1024;
/// Pieces that are given to the system at once: a frame and what is before and after it, and as much again.
pub(super) const PIECES: usize = 6;

/// Bytes to send, in their order: those in a buffer, and between them frames that others send as well.
#[derive(Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    /// `bytes[..sent]` has been sent.
    sent: usize,
    /// Frames, each with the length of `bytes` before it.
    frames: VecDeque<(usize, Arc<SealedFrame>)>,
    /// Number of bytes of the first frame that have been sent.
    frame_sent: usize,
    /// Number of bytes of the frames that have not been sent.
    in_frames: usize,
}

impl Outgoing {
    /// The buffer, to append to.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Appends a frame, without copying it.
    pub(super) fn push(&mut self, frame: Arc<SealedFrame>) {
        let length = frame.bytes.len();
        if length > 0 {
            self.in_frames += length;
            self.frames.push_back((self.bytes.len(), frame));
        }
    }

    /// Number of bytes that have not been sent.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.sent + self.in_frames
    }

    /// The first pieces that have not been sent.
    pub(super) fn pieces<'a, 'b>(&'a self, room: &'b mut [IoSlice<'a>; PIECES]) -> &'b [IoSlice<'a>] {
        let (mut at, mut skipped) = (self.sent, self.frame_sent);
        let in_order = self.frames.iter().flat_map(|(before, frame)| {
            let between = &self.bytes[at..*before];
            at = *before;
            [between, &frame.bytes[std::mem::take(&mut skipped)..]]
        });
        let last = self.frames.back().map_or(self.sent, |(before, _)| *before);
        let in_order = in_order.chain([&self.bytes[last..]]);
        let mut count = 0;
        for (slot, piece) in room.iter_mut().zip(in_order.filter(|piece| !piece.is_empty())) {
            *slot = IoSlice::new(piece);
            count += 1;
        }
        &room[..count]
    }

    /// So many more bytes have been sent.
    pub(super) fn advance(&mut self, mut count: usize) {
        while count > 0 && self.len() > 0 {
            let before = self.frames.front().map_or(self.bytes.len(), |(before, _)| *before);
            let taken = count.min(before - self.sent);
            self.sent += taken;
            count -= taken;
            let Some((_, frame)) = self.frames.front() else {
                continue;
            };
            let taken = count.min(frame.bytes.len() - self.frame_sent);
            self.frame_sent += taken;
            self.in_frames -= taken;
            count -= taken;
            if self.frame_sent == frame.bytes.len() {
                self.frames.pop_front();
                self.frame_sent = 0;
            }
        }
        if self.sent > 0 && self.len() == 0 {
            // A sender of consecutive long messages needs the capacity again at once.
            let burst_is_over = self.bytes.len() <= KEPT;
            self.bytes.clear();
            self.sent = 0;
            if burst_is_over && self.bytes.capacity() > KEPT {
                self.bytes.shrink_to(KEPT);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sealcast_proto::session::SealedRecords;

    use super::*;

    fn frame(mark: u8, length: usize) -> Arc<SealedFrame> {
        Arc::new(SealedFrame {
            bytes: vec![mark; length],
            blocks: Vec::new(),
            sound: false,
            keyframe: false,
            group: 0,
            records: SealedRecords::default(),
        })
    }

    fn first(outgoing: &Outgoing, most: usize) -> Vec<u8> {
        let mut room = [IoSlice::new(&[]); PIECES];
        let pieces = outgoing.pieces(&mut room);
        assert!(pieces.iter().all(|piece| !piece.is_empty()));
        let bytes = pieces.iter().flat_map(|piece| piece.iter().copied());
        bytes.take(most).collect()
    }

    #[test]
    fn bytes_and_frames_leave_in_their_order_however_little_is_taken() {
        for most in [1, 2, 3, 7, 1000] {
            let mut outgoing = Outgoing::default();
            let (mut expected, mut left) = (Vec::new(), Vec::new());
            for round in 0..9 {
                outgoing.buffer().extend([round; 3]);
                outgoing.push(frame(100 + round, 5));
                outgoing.push(frame(0, 0));
                outgoing.push(frame(200 + round, 1));
                expected.extend([[round; 3].as_slice(), &[100 + round; 5], &[200 + round]].concat());
                assert_eq!(outgoing.len() + left.len(), expected.len());
                let taken = first(&outgoing, most);
                outgoing.advance(taken.len());
                left.extend(taken);
            }
            while outgoing.len() > 0 {
                let taken = first(&outgoing, most);
                outgoing.advance(taken.len());
                left.extend(taken);
            }
            assert_eq!(left, expected, "{most} at a time");
            assert!(outgoing.bytes.is_empty() && outgoing.frames.is_empty());
        }
    }

    #[test]
    fn a_frame_is_let_go_as_soon_as_it_has_left() {
        let (mut outgoing, shared) = (Outgoing::default(), frame(7, 10));
        outgoing.push(Arc::clone(&shared));
        outgoing.buffer().push(1);
        outgoing.advance(9);
        assert_eq!((Arc::strong_count(&shared), outgoing.len()), (2, 2));
        outgoing.advance(1);
        assert_eq!((Arc::strong_count(&shared), outgoing.len()), (1, 1));
    }
}
