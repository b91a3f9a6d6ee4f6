//! Packets that are not as RTP should be.

use sealcast_testkit::gateways::Clip;
use sealcast_testkit::gateways::clip::{GROUP, h264};
use sealcast_testkit::gateways::{Deviation, Rtp};

use super::row::{Published, Row, Table, row};

pub(crate) const TABLE: Table = Table {
    title: "Packets",
    rows: ROWS,
};

/// The clip takes longer than the second for which the described type is waited for.
const SLOW: Deviation = Deviation::Pause(|_| 30);

const ROWS: &[Row] = &[
    row(
        "takes another SSRC for each group of pictures",
        "gortsplib#687, #480",
        &[],
    )
    .sends(|| of_picture(|packet| packet.source = 0x1000 + (packet.picture / GROUP) as u32)),
    row("takes another SSRC once", "", &[])
        .sends(|| of_picture(|packet| packet.source += u32::from(packet.picture >= 25))),
    row("sends reports of another SSRC", "retina", &[]).sends(|| {
        h264().each(|packet| {
            if packet.report {
                packet.payload[4..8].copy_from_slice(&[9; 4])
            }
        })
    }),
    row(
        "has packets of another payload type among its own",
        "locomote-video-player#165",
        &[],
    )
    .sends(|| {
        among(|packet| Rtp {
            payload_type: 107,
            payload: vec![0x41, 0x9a, 0x11, 0x12],
            ..packet
        })
    }),
    row("sends another payload type than it described", "retina", &[SLOW])
        .sends(|| of_picture(|packet| packet.payload_type = 97)),
    row(
        "sends packets without payload before each picture",
        "libdatachannel#1140",
        &[],
    )
    .sends(|| {
        among(|packet| Rtp {
            payload: Vec::new(),
            ..packet
        })
    }),
    row("pads its packets", "", &[]).sends(|| h264().each(|packet| packet.padding = 4)),
    row("sends packets that are padding alone", "", &[]).sends(|| {
        among(|packet| Rtp {
            payload: Vec::new(),
            padding: 200,
            ..packet
        })
    }),
    row(
        "has a header extension on each packet",
        "media-stream-library-js#106",
        &[],
    )
    .sends(|| of_picture(|packet| packet.extension = vec![0xab, 0xac, 0, 1, 1, 2, 3, 4])),
    row("says BYE, and goes on", "", &[]).sends(|| {
        h264().instead(|packet| {
            let bye = [&[0x81, 203, 0, 1][..], &packet.source.to_be_bytes()].concat();
            let says = packet.report && packet.picture > 0;
            let bye = says.then(|| Rtp {
                payload: bye,
                ..packet.clone()
            });
            [Some(packet), bye].into_iter().flatten().collect()
        })
    }),
    row("sends reports that are no RTCP", "", &[]).sends(|| {
        h264().each(|packet| {
            if packet.report {
                packet.payload = b"report".to_vec()
            }
        })
    }),
    row("has sequence numbers that wrap", "", &[])
        .sends(|| h264().each(|packet| packet.number = packet.number.wrapping_add(65_535 - 5020))),
    row("sends what is no RTP among its packets", "", &[]).sends(|| {
        h264().instead(|packet| {
            let junk = packet.is_picture() && packet.marker;
            let junk = junk.then(|| Rtp {
                report: true,
                payload: vec![7; 5],
                ..packet.clone()
            });
            [Some(packet), junk].into_iter().flatten().collect()
        })
    }),
    row("leaves one packet out", "", &[])
        .sends(|| {
            h264().instead(|packet| match packet.is_picture() && packet.picture == 12 {
                true => Vec::new(),
                false => vec![packet],
            })
        })
        .published(Published::But("those up to the next keyframe", |picture| {
            (12..20).contains(&picture)
        })),
    row("begins anew with its numbers and stamps", "", &[]).sends(|| {
        of_picture(|packet| {
            if packet.picture >= 20 {
                packet.number = packet.number.wrapping_sub(30_000);
                packet.stamp = packet.stamp.wrapping_sub(1 << 31);
                packet.source ^= 1;
            }
        })
    }),
];

/// The clip with each packet of the picture changed.
fn of_picture(change: fn(&mut Rtp)) -> Clip {
    let mut clip = h264();
    clip.packets
        .iter_mut()
        .filter(|packet| packet.is_picture())
        .for_each(change);
    clip
}

/// The clip with one more packet before each picture's last.
fn among(other: fn(Rtp) -> Rtp) -> Clip {
    let mut clip = h264();
    let packets = std::mem::take(&mut clip.packets).into_iter().flat_map(|packet| {
        let more = (packet.is_picture() && packet.marker).then(|| Rtp {
            marker: false,
            ..other(packet.clone())
        });
        more.into_iter().chain([packet])
    });
    clip.packets = packets.collect();
    clip.numbered()
}
