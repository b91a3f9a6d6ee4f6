//! The latency of whole pictures through a pair of gateways.

use sealcast_testkit::gateways::{Camera, Packet, Plain, Player, camera_gateway, viewer_gateway};
use sealcast_testkit::media;
use sealcast_testkit::program::{free_port, home, number, report};
use serde::Deserialize;

use crate::common::behind;

/// Packets of each picture.
const PACKETS: u32 = 3;

/// A row of the log.
#[derive(Debug, Deserialize)]
struct Row {
    camera: String,
    track: u8,
    rtp_timestamp: u32,
    packets: u32,
    bytes: u64,
    ended: bool,
    gather_us: f64,
    camera_gateway_us: f64,
    network_us: f64,
    viewer_gateway_us: f64,
    total_us: f64,
    clock_uncertainty_us: f64,
}

/// Pictures of three packets each, the first of which begins a keyframe, and sound between them.
fn pictures() -> Vec<Packet> {
    let rtp = |channel: u8, payload_type: u8, picture: u32, at: u32, body: &[u8]| {
        let marker = u8::from(channel == 0 && at + 1 == PACKETS) << 7;
        let head = [0x80, payload_type | marker, 0, (picture * PACKETS + at) as u8];
        let bytes = [&head[..], &(picture * 3000).to_be_bytes(), &[7; 4], body].concat();
        (channel, bytes)
    };
    let picture = |number: u32| {
        let video = (0..PACKETS).map(move |at| rtp(0, 96, number, at, &[if at == 0 { 0x65 } else { 0x41 }; 900]));
        video.chain([rtp(2, 97, number, 0, &[1; 200])])
    };
    (0..40).flat_map(picture).collect()
}

#[test]
fn each_picture_is_a_row_whose_stages_make_its_latency() {
    for (listen, delay_us) in [("udp://127.0.0.1:0", 20e3), ("tcp://127.0.0.1:0", 0.0)] {
        let home = home();
        let source = Camera::start(Plain::Tcp, pictures(), true);
        source.changes_to("H264");
        let camera = camera_gateway(&home.path().join("near"), &source.url(), &["--listen", listen]);
        let link = (delay_us > 0.0).then(|| behind(&camera.ticket, "delay=20ms", 1));
        let ticket = link.as_ref().map_or(&camera.ticket, |(_, ticket)| ticket);
        let (port, logs) = (free_port(), home.path().join("logs"));
        let file = home.path().join("far.json");
        let observing = ["--log-dir", media::path(&logs), "--report", media::path(&file)];
        let mut viewer = viewer_gateway(&home.path().join("far"), ticket, port, &observing);
        let player = Player::watch(port, Plain::Tcp);
        player.packets(2000);
        viewer.stop();
        let mut log = csv::Reader::from_path(logs.join("picture_latency.csv")).expect("a log");
        let rows: Vec<Row> = log.deserialize().filter_map(Result::ok).collect();
        assert!(rows.len() >= 400, "{listen}: {} pictures", rows.len());
        for row in &rows {
            let what = format!("{listen}: {row:?}");
            assert_eq!(
                (row.camera.as_str(), row.track, row.rtp_timestamp % 3000),
                ("front", 0, 0),
                "{what}"
            );
            let sum = row.gather_us + row.camera_gateway_us + row.network_us + row.viewer_gateway_us;
            assert!(
                (sum - row.total_us).abs() <= row.clock_uncertainty_us + 0.05,
                "{sum} in {what}"
            );
            // The link takes as long in each direction, and the clock is that of one machine.
            assert!(row.network_us + 3.0 * row.clock_uncertainty_us >= delay_us, "{what}");
            assert!(row.clock_uncertainty_us >= delay_us * 0.95, "{what}");
        }
        // A player that joins gets the rest of a picture, and who stops misses the end of one.
        let whole = rows
            .iter()
            .filter(|row| row.ended && row.packets == PACKETS && row.bytes == 2736);
        assert!(whole.count() + 5 >= rows.len(), "{listen}: {rows:#?}");
        let counted = number(&report(&file), "/stages/picture/count");
        assert!(counted >= rows.len() as f64, "{listen}: {counted} of {}", rows.len());
    }
}
