//! Stamps that leave the clock.

use sealcast_testkit::gateways::Clip;
use sealcast_testkit::gateways::clip::h264;

use super::row::{Row, Table, row};

pub(crate) const TABLE: Table = Table {
    title: "Times",
    rows: ROWS,
};

const HOUR: u32 = 3600 * 90_000;

/// The clip with stamps of the pictures moved.
fn moved(by: fn(usize, u32) -> u32) -> Clip {
    let mut clip = h264();
    for packet in clip.packets.iter_mut().filter(|packet| packet.is_picture()) {
        packet.stamp = by(packet.picture, packet.stamp);
    }
    clip
}

const ROWS: &[Row] = &[
    row("has one picture 9000 s ahead", "mediamtx#6255", &[])
        .sends(|| moved(|picture, stamp| stamp.wrapping_add(if picture == 20 { 9000 * 90_000 } else { 0 }))),
    row("sets its clock an hour ahead", "ZLMediaKit#1057", &[])
        .sends(|| moved(|picture, stamp| stamp.wrapping_add(if picture >= 20 { HOUR } else { 0 }))),
    row("sets its clock an hour back", "omxplayer#693", &[])
        .sends(|| moved(|picture, stamp| stamp.wrapping_sub(if picture >= 20 { HOUR } else { 0 }))),
    row("has stamps that wrap", "", &[]).sends(|| moved(|_, stamp| stamp.wrapping_sub(90_000 + 25 * 3600))),
    row("stamps all pictures alike", "", &[]).sends(|| moved(|_, _| 90_000)),
    row("has stamps of a clock of 1 kHz", "", &[]).sends(|| moved(|picture, _| picture as u32 * 40)),
    row("sends reports whose clock is set", "", &[]).sends(|| {
        h264().each(|packet| {
            if packet.report && packet.picture > 0 {
                packet.payload[8] ^= 0x40;
            }
        })
    }),
    row("sends reports of the year 1900", "", &[]).sends(|| {
        h264().each(|packet| {
            if packet.report {
                packet.payload[8..12].fill(0)
            }
        })
    }),
];
