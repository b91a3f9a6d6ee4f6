//! Pictures that are cut into packets in all ways.

use sealcast_testkit::gateways::Deviation::Pause;
use sealcast_testkit::gateways::clip::{
    Clip, Codec, GROUP, Payload, access_unit, fragments, fragments_of, h264, h265, h265_access_unit, jpeg, jpeg_of,
    marked, slice,
};

use super::row::{Published, Row, Table, row};

pub(crate) const TABLE: Table = Table {
    title: "Pictures",
    rows: ROWS,
};

type Units = fn(usize) -> Vec<Vec<u8>>;
type Pack = fn(&[Vec<u8>]) -> Vec<Payload>;

fn cut(pack: Pack) -> Clip {
    Clip::of(Codec::H264, access_unit, pack)
}

fn made_of(units: Units) -> Clip {
    Clip::of(Codec::H264, units, fragments)
}

/// Units with start codes between them.
fn annexb(units: &[Vec<u8>]) -> Vec<u8> {
    units.join(&[0, 0, 0, 1][..])
}

const DELIMITER: &[u8] = &[0x09, 0xf0];

const ROWS: &[Row] = &[
    row("ends fragments with the marker alone", "retina#115, #109", &[]).sends(|| {
        cut(|units| {
            let payloads = fragments(units).into_iter();
            let open = payloads.map(|(mut payload, marker)| {
                if payload[0] & 0x1f == 28 {
                    payload[1] &= 0xbf;
                }
                (payload, marker)
            });
            open.collect()
        })
    }),
    row(
        "has fragments with start and end at once",
        "gortsplib#649, retina#131",
        &[],
    )
    .sends(|| cut(|units| marked(units.iter().flat_map(|unit| fragments_of(unit, 5000)).collect()))),
    row(
        "has a whole access unit with start codes in fragments",
        "retina#68, #108",
        &[],
    )
    .sends(|| cut(|units| marked(fragments_of(&annexb(units), 1200)))),
    row(
        "has a whole access unit with start codes in one packet",
        "RtspServer#61",
        &[],
    )
    .sends(|| cut(|units| marked(vec![annexb(units)]))),
    row("begins each payload with a start code", "RtspServer#61", &[])
        .sends(|| cut(|units| marked(units.iter().map(|unit| [&[0, 0, 0, 1], &unit[..]].concat()).collect()))),
    row("puts parameter sets and slice into a STAP-A", "", &[]).sends(|| {
        cut(|units| {
            let sized = units.iter().flat_map(|unit| {
                let length = (unit.len() as u16).to_be_bytes();
                [&length[..], unit].concat()
            });
            marked(vec![[0x78].into_iter().chain(sized).collect()])
        })
    }),
    row("marks each packet", "retina#13", &[]).sends(|| {
        cut(|units| {
            fragments(units)
                .into_iter()
                .map(|(payload, _)| (payload, true))
                .collect()
        })
    }),
    row("never marks a packet", "retina#13", &[]).sends(|| {
        cut(|units| {
            fragments(units)
                .into_iter()
                .map(|(payload, _)| (payload, false))
                .collect()
        })
    }),
    row(
        "stamps parameter sets with the picture before, and marks them",
        "retina#13",
        &[],
    )
    .sends(|| {
        h264().each(|packet| {
            if packet.is_picture() && matches!(packet.payload[0] & 0x1f, 7 | 8) {
                packet.stamp = packet.stamp.wrapping_sub(3600);
                packet.marker = true;
            }
        })
    }),
    row("has several slices in a picture", "mediamtx#2826", &[]).sends(|| {
        made_of(|picture| {
            let mut units = access_unit(picture);
            let mut others = (1..4).map(|part| {
                let mut other = slice(picture, 200 + part);
                // Its first macroblock is not the picture's.
                other[1] = 0x40 | part as u8;
                other
            });
            units.extend(others.by_ref());
            units
        })
    }),
    row("begins each picture with a delimiter", "obs-rtspserver#199", &[])
        .sends(|| made_of(|picture| [vec![DELIMITER.to_vec()], access_unit(picture)].concat())),
    row("has SEI before each slice", "", &[]).sends(|| {
        made_of(|picture| {
            let mut units = access_unit(picture);
            let at = units.len() - 1;
            units.insert(at, vec![0x06, 0x05, 0x04, 0x41, 0x42, 0x43, 0x44, 0x80]);
            units
        })
    }),
    row("repeats parameter sets before each picture", "", &[]).sends(|| {
        made_of(|picture| {
            let sets = access_unit(0).into_iter().take(2);
            sets.chain(access_unit(picture).pop()).collect()
        })
    }),
    row("sends packets of 60 kB", "", &[Pause(|_| 20)]).sends(|| {
        Clip::of(
            Codec::H264,
            |picture| [access_unit(picture), vec![slice(picture, 60_000)]].concat(),
            |units| marked(units.to_vec()),
        )
    }),
    row(
        "has a keyframe each 16 s, the first after 14 s",
        "mediamtx#1825, ZLMediaKit#2199",
        &[LATE],
    )
    .sends(|| {
        made_of(|picture| match picture < 20 {
            true => vec![slice(picture / GROUP + 1, 400)],
            false => access_unit(picture),
        })
    })
    .published(Published::But("those before the keyframe", |picture| picture < 20)),
    row("sends H.265 in fragments", "mediamtx", &[]).sends(h265),
    row("aggregates units of H.265", "mediamtx", &[]).sends(|| {
        Clip::of(Codec::H265, h265_access_unit, |units| {
            let sized = units.iter().flat_map(|unit| {
                let length = (unit.len() as u16).to_be_bytes();
                [&length[..], unit].concat()
            });
            marked(vec![[0x60, 1].into_iter().chain(sized).collect()])
        })
    }),
    row("sends Motion JPEG", "gortsplib#566", &[]).sends(jpeg),
    row("sends Motion JPEG of quality 63", "gortsplib#566", &[])
        .sends(|| images(|units| jpeg_of(units, &[1, 63, 2, 2]))),
    row("sends images larger than 2040 pixels", "", &[]).sends(|| {
        images(|units| jpeg_of(units, &[1, 50, 0, 0]))
            .described("JPEG/90000\r\n", "JPEG/90000\r\na=x-dimensions:2592,1944\r\n")
    }),
];

/// Pictures come for longer than a camera may be silent.
const LATE: sealcast_testkit::gateways::Deviation = Pause(|picture| if picture < 20 { 700 } else { 0 });

fn images(pack: Pack) -> Clip {
    let image: Units = |picture| {
        let number = [20 + (picture / 100) as u8, 20 + (picture % 100) as u8];
        vec![[&number[..], &[99; 258]].concat()]
    };
    Clip::of(Codec::Jpeg, image, pack)
}
