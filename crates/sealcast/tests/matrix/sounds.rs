//! Sound that is odd, refused, or missing.

use sealcast_testkit::gateways::Deviation::{Header, Refuses};
use sealcast_testkit::gateways::When::{At, Track};
use sealcast_testkit::gateways::clip::h264;
use sealcast_testkit::gateways::{Clip, Rtp};

use super::row::{Carried, Published, Row, Table, row};

pub(crate) const TABLE: Table = Table {
    title: "Sound",
    rows: ROWS,
};

const PCMU: &str = "m=audio 0 RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n";

/// PCMU is described as this.
fn called(description: &str) -> Clip {
    h264().described(PCMU, description)
}

/// AAC of 16 kHz, described with this.
fn aac(fmtp: &str) -> Clip {
    let description = format!("m=audio 0 RTP/AVP 104\r\na=rtpmap:104 MPEG4-GENERIC/16000\r\n{fmtp}");
    let mut clip = called(&description);
    for packet in clip
        .packets
        .iter_mut()
        .filter(|packet| packet.track == 1 && !packet.report)
    {
        packet.payload_type = 104;
        packet.stamp = (packet.stamp - 8000) / 160 * 1024 + 8000;
        let length = (packet.payload.len() as u16) << 3;
        packet.payload = [&[0, 16][..], &length.to_be_bytes(), &packet.payload].concat();
    }
    clip
}

fn sounds(of: fn(&Rtp) -> bool) -> Clip {
    let mut clip = h264();
    clip.packets.retain(|packet| packet.track == 0 || of(packet));
    clip
}

const ROWS: &[Row] = &[
    row("has no sound", "", &[])
        .sends(|| {
            let mut clip = sounds(|_| false);
            clip.description
                .truncate(clip.description.find("m=audio").expect("sound"));
            clip
        })
        .published(Published::Picture),
    row(
        "refuses its sound with 404",
        "mediacommon#144",
        &[Refuses(Track("SETUP", 1), 404, "")],
    )
    .published(Published::Picture)
    .carried(Carried::Picture),
    row("stops its sound", "", &[]).sends(|| sounds(|packet| packet.picture < 10)),
    row("describes sound, and never sends it", "", &[])
        .sends(|| sounds(|_| false))
        .published(Published::Picture),
    row("sends sound late", "", &[]).sends(|| sounds(|packet| packet.picture >= 25)),
    row("has sound before its picture", "", &[]).sends(|| {
        let mut clip = h264();
        clip.packets
            .sort_by_key(|packet| packet.picture + 5 * usize::from(packet.track == 0));
        clip
    }),
    row("describes sound without rtpmap", "", &[]).sends(|| called("m=audio 0 RTP/AVP 0\r\n")),
    row("sends PCMU at 16 kHz", "mediacommon#144", &[])
        .sends(|| called("m=audio 0 RTP/AVP 0\r\na=rtpmap:0 PCMU/16000\r\n")),
    row("sends G.726", "", &[])
        .sends(|| called("m=audio 0 RTP/AVP 0\r\na=rtpmap:0 G726-32/8000\r\n"))
        .published(Published::Picture),
    row("sends AAC-LATM", "", &[])
        .sends(|| called("m=audio 0 RTP/AVP 0\r\na=rtpmap:0 MP4A-LATM/16000/1\r\na=fmtp:0 cpresent=0\r\n"))
        .published(Published::Picture),
    row("describes sound of no channels", "", &[])
        .sends(|| called("m=audio 0 RTP/AVP 0\r\na=rtpmap:0 PCMU/8000/0\r\n"))
        .published(Published::Picture),
    row("sends AAC", "", &[]).sends(|| {
        aac("a=fmtp:104 streamtype=5;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1408\r\n")
    }),
    row("describes AAC for another payload type", "mediacommon#144", &[]).sends(|| {
        aac("a=fmtp:97 streamtype=5;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1408\r\n")
    }),
    row("writes the mode of AAC in small letters", "mediacommon#144", &[])
        .sends(|| aac("a=fmtp:104 mode=aac-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1408\r\n")),
    row("describes AAC without lengths", "mediacommon#144", &[])
        .sends(|| aac("a=fmtp:104 mode=AAC-hbr;config=1408\r\n")),
    row("describes AAC without anything", "mediacommon#144", &[]).sends(|| aac("")),
    row("describes AAC with a config that is nonsense", "mediacommon#144", &[])
        .sends(|| aac("a=fmtp:104 mode=AAC-hbr;config=zz\r\n"))
        .published(Published::Picture),
    row(
        "plays the picture alone",
        "retina#10",
        &[
            Refuses(Track("SETUP", 1), 404, ""),
            Header(At("PLAY"), "RTP-Info", Some("url=streamid=0;seq=1000;rtptime=90000")),
        ],
    )
    .published(Published::Picture)
    .carried(Carried::Picture),
    row("has sound that nobody wants", "", &[])
        .with(&["--no-sound"])
        .published(Published::Alone),
    row("refuses its sound with 461", "", &[Refuses(Track("SETUP", 1), 461, "")])
        .published(Published::Picture)
        .carried(Carried::Picture),
    row("sends Opus", "", &[]).sends(|| {
        let mut clip = called("m=audio 0 RTP/AVP 111\r\na=rtpmap:111 opus/48000/2\r\n");
        for packet in clip
            .packets
            .iter_mut()
            .filter(|packet| packet.track == 1 && !packet.report)
        {
            packet.payload_type = 111;
            packet.stamp = (packet.stamp - 8000) * 6 + 8000;
            // Twenty milliseconds of one channel.
            packet.payload[0] = 0x78;
        }
        clip
    }),
    row("has sound of another payload type than it described", "", &[])
        .sends(|| {
            h264().each(|packet| {
                if packet.track == 1 && !packet.report {
                    packet.payload_type = 8;
                }
            })
        })
        .published(Published::Picture),
];
