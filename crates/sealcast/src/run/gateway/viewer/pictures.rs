//! Latency of whole pictures through the gateway pair: from the first packet at the camera gateway to the last one that
//! was passed to the players.

use std::time::Instant;

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::rtsp::{Track, rtp_picture};

use crate::meter::logs::PictureRow;
use crate::meter::stage::Stage;
use crate::platform::wall_time::wall_time;
use crate::run::session::observe::Observation;

/// When packets that were sealed together passed the gateways. Stamps are by the camera gateway's clock, in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passing {
    /// They came from the camera.
    pub(super) came: u64,
    /// Just before they were sealed.
    pub(super) sealed: u64,
    /// They arrived here.
    pub(super) arrived: Instant,
    /// They were queued for or sent to the players.
    pub(super) delivered: Instant,
}

/// A picture of a video track: the packets with one RTP timestamp.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    track: Track,
    rtp_timestamp: u32,
    packets: u32,
    bytes: u64,
    /// When its first packet came from the camera, by the camera gateway's clock in ns.
    first_came: u64,
    last: Passing,
    /// The packet came that ends it. Otherwise a later picture began before it did.
    ended: bool,
}

/// Puts the packets of one camera together to pictures.
#[derive(Default)]
pub(super) struct Pictures {
    /// The picture of each track that has not ended; there are at most 16 tracks.
    open: Vec<Picture>,
    done: Vec<Picture>,
}

impl Pictures {
    /// Takes a packet of a video track. What is no RTP packet is ignored.
    pub(super) fn take(&mut self, track: Track, packet: &[u8], passing: Passing) {
        let Some((rtp_timestamp, ends)) = rtp_picture(packet) else {
            return;
        };
        let at = self.open.iter().position(|picture| picture.track == track);
        if let Some(at) = at.filter(|&at| self.open[at].rtp_timestamp != rtp_timestamp) {
            self.done.push(self.open.swap_remove(at));
        }
        let at = self.open.iter().position(|picture| picture.track == track);
        let at = at.unwrap_or_else(|| {
            self.open.push(Picture {
                track,
                rtp_timestamp,
                packets: 0,
                bytes: 0,
                first_came: passing.came,
                last: passing,
                ended: false,
            });
            self.open.len() - 1
        });
        let picture = &mut self.open[at];
        picture.packets += 1;
        picture.bytes += packet.len() as u64;
        picture.last = passing;
        if ends {
            picture.ended = true;
            self.done.push(self.open.swap_remove(at));
        }
    }

    /// The pictures that are over since the last call.
    pub(super) fn take_done(&mut self) -> Vec<Picture> {
        std::mem::take(&mut self.done)
    }
}

/// Record a picture of the camera at this path.
pub(super) fn note(observation: &Observation, camera: &str, picture: &Picture, estimate: Option<ClockEstimate>) {
    let Passing {
        came,
        sealed,
        arrived,
        delivered,
    } = picture.last;
    let total = observation.since(Stage::Picture, picture.first_came, delivered, estimate);
    let Some(logs) = observation.logs() else { return };
    let clock = observation.clock;
    let (arrived_ns, delivered_ns) = (clock.wall(arrived), clock.wall(delivered));
    let reading = estimate.map(|estimate| estimate.at(arrived_ns));
    let network = reading
        .map(|reading| i128::from(arrived_ns) + i128::from(reading.offset) - i128::from(sealed))
        .map(|nanos| nanos as f64 / 1e3);
    let micros = |nanos: u64| nanos as f64 / 1e3;
    logs.picture(PictureRow {
        time: wall_time(),
        camera: camera.to_owned(),
        track: picture.track.index() as u8,
        rtp_timestamp: picture.rtp_timestamp,
        packets: picture.packets,
        bytes: picture.bytes,
        ended: picture.ended,
        arrived_ns,
        delivered_ns,
        gather_us: micros(came.saturating_sub(picture.first_came)),
        camera_gateway_us: micros(sealed.saturating_sub(came)),
        network_us: network,
        viewer_gateway_us: (delivered - arrived).as_secs_f64() * 1e6,
        total_us: total.map(|nanos| nanos as f64 / 1e3),
        clock_offset_us: reading.map(|reading| reading.offset as f64 / 1e3),
        clock_uncertainty_us: reading.map(|reading| micros(reading.uncertainty)),
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn packet(rtp_timestamp: u32, marker: bool) -> Vec<u8> {
        let mut packet = vec![0x80, 96 | u8::from(marker) << 7, 0, 1];
        packet.extend(rtp_timestamp.to_be_bytes());
        packet.extend([0; 12]);
        packet
    }

    #[test]
    fn packets_with_one_timestamp_are_a_picture_which_the_marker_or_the_next_one_ends() {
        let start = Instant::now();
        let passing = |millis: u64| Passing {
            came: millis,
            sealed: millis + 1,
            arrived: start + Duration::from_millis(millis),
            delivered: start + Duration::from_millis(millis),
        };
        let [video, other] = [0, 1].map(|number| Track::new(number).expect("a track"));
        let mut pictures = Pictures::default();
        for (millis, track, timestamp, marker) in [
            (1, video, 100, false),
            (2, other, 7, true),
            (3, video, 100, true),
            (4, video, 200, false),
            (5, video, 200, false),
            (6, video, 300, true),
        ] {
            pictures.take(track, &packet(timestamp, marker), passing(millis));
        }
        pictures.take(video, b"not RTP", passing(7));
        let seen: Vec<_> = pictures
            .take_done()
            .iter()
            .map(|picture| {
                (
                    picture.rtp_timestamp,
                    picture.packets,
                    picture.first_came,
                    picture.last.came,
                    picture.ended,
                )
            })
            .collect();
        let expected = [
            (7, 1, 2, 2, true),
            (100, 2, 1, 3, true),
            (200, 2, 4, 5, false),
            (300, 1, 6, 6, true),
        ];
        assert_eq!(seen, expected);
        assert!(pictures.take_done().is_empty() && pictures.open.is_empty());
    }
}
