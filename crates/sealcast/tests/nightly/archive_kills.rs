//! A recorder that is killed a thousand times.

use std::time::Duration;
use std::{fs, thread};

use sealcast::archive::{ArchiveIdentity, check};
use sealcast_testkit::program::{PATIENCE, home, publish, watch};

const KILLS: u64 = 1000;
/// The archive is begun anew after so many kills, so that checking it all stays quick.
const KILLS_OF_ARCHIVE: u64 = 50;

#[test]
fn every_segment_but_the_last_is_whole_after_a_thousand_kills() {
    let (own, theirs, dir) = (home(), home(), home());
    let identity = [ArchiveIdentity::generate().expect("random bytes")];
    let archive = dir.path().join("killed");
    let url = format!(
        "archive:{}?segment=1s&to={}",
        archive.display(),
        identity[0].recipient()
    );
    let publisher = publish(own.path(), "test:160x120@25?gop=10", &[]);
    let mut frames = 0;
    for kill in 0..KILLS {
        if kill % KILLS_OF_ARCHIVE == 0 && kill > 0 {
            assert!(frames > 0, "something was recorded before kill {kill}");
            fs::remove_dir_all(&archive).expect("nobody writes to it");
            frames = 0;
        }
        let viewer = watch(theirs.path(), &publisher.ticket, &["--to", &url]);
        viewer.says("recording to an archive", PATIENCE);
        // Another moment of a segment each time.
        thread::sleep(Duration::from_micros(kill * 7_919_337 % 1_500_000));
        viewer.signal("KILL");
        drop(viewer);
        let report = check(&archive, &identity, None).expect("a folder");
        assert_eq!(report.faults, Vec::<String>::new(), "kill {kill}");
        assert!(
            report.frames >= frames,
            "kill {kill}: {} frames of {frames}",
            report.frames
        );
        frames = report.frames;
    }
}
