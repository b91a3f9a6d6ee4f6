//! Effect of FEC and NACK: the share of frames in time, policy by policy. Run with `--nocapture` to see the table.

use std::time::Duration;

use sealcast_proto::session::{Delivery, Fec};
use sealcast_testkit::show::{CAMERA, Kind, Show, setup, steady};

/// 20 ms one way, the default budget of 120 ms, and 5 ms for pacing.
const IN_TIME: Duration = Duration::from_millis(20 + 120 + 5);
const FRAMES: u64 = 1800;
const SEED: u64 = 42;

/// Frames are independent, so that the share counts only frames that lost packets themselves, and not those that depend
/// on them.
const INDEPENDENT: Kind = Kind {
    group: 1,
    keyframe_bytes: 12_400,
    ..CAMERA
};

const LOSSES: [&str; 8] = [
    "loss=1%",
    "loss=2%",
    "loss=5%",
    "loss=10%",
    "burst=1%/4",
    "burst=2%/4",
    "burst=5%/4",
    "burst=10%/4",
];

/// Minimum shares in percent: without repair, with FEC, with NACK, and with both.
const FLOORS: [[f64; 4]; 8] = [
    [80.0, 97.0, 99.0, 99.0],
    [70.0, 97.0, 99.0, 99.0],
    [45.0, 95.0, 99.0, 99.0],
    [20.0, 90.0, 97.0, 99.0],
    [90.0, 94.0, 99.0, 99.0],
    [85.0, 90.0, 98.0, 98.0],
    [70.0, 78.0, 97.0, 98.0],
    [45.0, 65.0, 93.0, 96.0],
];

fn policy(fec: bool, nack: bool) -> Delivery {
    Delivery {
        fec: if fec { Fec::Adaptive } else { Fec::Off },
        nack,
        ..steady()
    }
}

#[test]
fn repair_and_asking_again_bring_frames_in_time() {
    println!("share of frames shown in time, % (repair symbols sent / records sent again, % of the records)");
    println!(
        "{:12} {:>8} {:>22} {:>22} {:>22}",
        "", "none", "repair", "asking again", "both"
    );
    let mut failed = Vec::new();
    for (loss, floors) in LOSSES.into_iter().zip(FLOORS) {
        let mut line = format!("{loss:12}");
        for ((fec, nack), floor) in [(false, false), (true, false), (false, true), (true, true)]
            .into_iter()
            .zip(floors)
        {
            let mut show = Show::new(
                setup(policy(fec, nack)),
                &format!("delay=20ms {loss}"),
                SEED,
                INDEPENDENT,
            );
            show.play(FRAMES);
            show.pause(Duration::from_millis(500));
            let share = 100.0 * show.in_time(IN_TIME);
            let counts = show.world.responder.session.outbound_counts().expect("a publisher");
            let of = |records: u64| 100.0 * records as f64 / counts.sources as f64;
            line += &format!("{share:9.2}");
            if fec || nack {
                line += &format!(" ({:4.1} /{:4.1})", of(counts.repairs), of(counts.resent));
            }
            if share < floor {
                failed.push(format!(
                    "{loss}, repair {fec}, asking again {nack}: {share:.2} % are below {floor} %"
                ));
            }
            assert!(fec || counts.repairs == 0, "{loss}: symbols that nobody wanted");
            assert!(nack || counts.resent == 0, "{loss}: records that nobody wanted");
        }
        println!("{line}");
    }
    assert!(failed.is_empty(), "seed {SEED}: {failed:#?}");
}

#[test]
fn a_keyframe_is_sent_when_a_viewer_that_lost_its_place_asks() {
    for loss in ["loss=2%", "burst=5%/4"] {
        let endless = Kind {
            group: u64::MAX,
            ..CAMERA
        };
        let mut show = Show::new(
            setup(policy(false, false)),
            &format!("delay=20ms {loss}"),
            SEED,
            endless,
        );
        show.play(FRAMES);
        show.pause(Duration::from_millis(500));
        assert!(show.asked > 10 && show.honoured > 10, "{loss}: {} asked", show.asked);
        // Without its requests the viewer would have shown a few frames at the beginning and nothing after them.
        let after = show.shown.iter().filter(|shown| shown.number > FRAMES / 2).count();
        assert!(after > 100, "{loss}: {after} frames in the second half");
    }
}
