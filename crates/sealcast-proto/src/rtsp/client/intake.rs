//! Packets that came on the RTSP connection, in buffers that they share.

use bytes::{Bytes, BytesMut};

use crate::rtsp::tracks::{MAX_TRACKS, Track};

/// Bytes of a buffer: what comes with one read of a connection mostly fits.
const ROOM: usize = 32 * 1024;

/// Copies packets out of the connection's buffer. Packets of a track share a buffer, which is used again once all of
/// them have been passed on, so that a packet needs no allocation. Tracks have buffers of their own: who holds a packet
/// holds the packets beside it, and those are of the same track, which it receives anyway.
#[derive(Default)]
pub(super) struct Intake {
    rooms: [BytesMut; MAX_TRACKS as usize],
}

impl Intake {
    /// Copies a packet of a track.
    pub(super) fn take(&mut self, track: Track, packet: &[u8]) -> Bytes {
        let room = &mut self.rooms[track.index()];
        if room.capacity() < packet.len() {
            room.reserve(ROOM.max(packet.len()));
        }
        room.extend_from_slice(packet);
        room.split().freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_stay_as_they_are_while_others_come_and_go() {
        let mut intake = Intake::default();
        let [video, sound] = [0, 1].map(|number| Track::new(number).expect("a track"));
        let mut held = Vec::new();
        for round in 0..1000_usize {
            let (track, length) = match round % 50 {
                7 => (video, 60_000),
                number if number % 3 == 0 => (sound, 100 + number),
                _ => (video, 1200),
            };
            let packet = vec![round as u8; length];
            held.push((intake.take(track, &packet), packet));
            // Some are held longer than others.
            if round % 40 == 39 {
                held.drain(..35);
            }
            assert!(held.iter().all(|(taken, packet)| taken == packet), "{round}");
        }
    }
}
