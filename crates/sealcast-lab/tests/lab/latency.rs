//! Output and files of `sealcast-lab latency`. Times have no upper bounds here, since they depend on the machine.

use std::path::Path;

use crate::output::{self, Line, line, record, run, table, value};

/// The figures of a latency: they have an order, whatever the machine does.
fn assert_summary(line: &Line, name: &str) {
    let figure = |kind: &str| value(line, &format!("{name}_{kind}_ms"));
    let [least, median, mean, most] = ["min", "median", "mean", "max"].map(figure);
    assert!(
        least <= median && median <= most && least <= mean && mean <= most,
        "{line:?}"
    );
    assert!(figure("sd") >= 0.0, "{line:?}");
}

/// `sealcast-lab report` draws the run of a real pair from the logs of both gateways.
fn assert_report_of_a_pair(run: &Path) {
    let logs = ["camera-logs", "viewer-logs"].map(|end| run.join(end));
    let logs = logs.each_ref().map(|folder| folder.to_str().expect("a path"));
    let out = run.join("report");
    let (code, said) = output::run(["report", logs[0], logs[1]], &out);
    assert_eq!(code, Some(0), "{said}");
    let found = [
        "camera gateway",
        "viewer gateway",
        "pictures",
        "bundles/s",
        "aes-128-gcm",
    ];
    assert!(found.iter().all(|words| said.contains(words)), "{said}");
    for file in ["report.html", "tables.md", "figures.csv"] {
        let written = out.join(file).metadata();
        assert!(written.is_ok_and(|file| file.len() > 0), "{file}: {said}");
    }
}

#[test]
fn a_camera_is_measured_behind_gateways_and_without_them() {
    let folder = tempfile::tempdir().expect("a folder");
    // Without gateways, datagrams cross the link between two network namespaces, which needs root.
    let packets = sealcast_lab::net::Net::obstacle().is_none().then_some("udp-mjpeg-512");
    let cases = ["tcp-h264-512"].into_iter().chain(packets);
    let only = [&cases.clone().collect::<Vec<_>>().join(","), "direct,on"].join(",");
    let arguments = ["latency", "--rounds", "1", "--seconds", "1", "--only", &only];
    let (code, said) = run(arguments, folder.path());
    assert_eq!(code, Some(0), "{said}");
    let lines = table(&folder.path().join("table.csv"));
    for case in cases {
        for system in ["direct", "on"] {
            let line = line(&lines, case, system);
            assert_summary(line, "video");
            assert!(value(line, "frames") > 0.0, "{line:?}");
            let network = (system != "direct").then(|| assert_summary(line, "network"));
            assert_eq!(line["network_mean_ms"].is_empty(), network.is_none(), "{line:?}");
            // The link's own delay, of 7 ms and more, is in both.
            assert!(value(line, "video_min_ms") >= 7.0, "{line:?}");
        }
        let on = line(&lines, case, "on");
        let over_direct = value(on, "video_mean_ms") - value(line(&lines, case, "direct"), "video_mean_ms");
        assert!((value(on, "over_direct_ms") - over_direct).abs() < 1e-6, "{on:?}");
    }
    assert_report_of_a_pair(&folder.path().join("runs/tcp-h264-512-on-1"));
    let turn = &record(folder.path())[1]["sample"]["series"]["video_ms_box"];
    assert_eq!(turn.as_array().map(Vec::len), Some(5), "{turn}");
    let page = std::fs::read_to_string(folder.path().join("report.html")).expect("a page");
    assert!(page.contains("aria-label=\"box plot"), "box plots");
    assert!(
        page.contains("paper 000, on") && page.contains("1481.81"),
        "the paper's values beside ours"
    );
}

#[test]
fn the_latency_of_a_session_is_split_into_what_the_paper_splits_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["latency", "--rounds", "1", "--seconds", "1", "--only", "wlan-50"];
    let (code, said) = run(arguments, folder.path());
    assert_eq!(code, Some(0), "{said}");
    let lines = table(&folder.path().join("table.csv"));
    let session = line(&lines, "wlan-50", "selective");
    assert_summary(session, "video");
    let parts = ["enc_ms", "trans_ms", "dec_ms", "rest_ms"].map(|part| value(session, part));
    // The whole and its stages take the clocks' offset at different times.
    let files = folder.path().join("runs/wlan-50-selective-1");
    let frames = table(&files.join("viewer-logs/frames_latency.csv"));
    let uncertain = frames.iter().filter(|frame| !frame["clock_uncertainty_us"].is_empty());
    let widest = uncertain
        .map(|frame| value(frame, "clock_uncertainty_us") * 1e-3)
        .fold(0.0, f64::max);
    let apart = value(session, "video_mean_ms") - parts.iter().sum::<f64>();
    assert!(apart.abs() <= 3.0 * widest, "{apart} ms beyond {widest}: {session:?}");
    assert!(parts[1] >= 1.0, "the link's own delay: {session:?}");
    let report = std::fs::read_to_string(files.join("publisher.json"));
    let report: serde_json::Value = serde_json::from_str(&report.expect("a report")).expect("JSON");
    let clear = report["totals"]["records_sealed_in_clear"].as_f64().expect("a count");
    let all = report["totals"]["records_sealed"].as_f64().expect("a count");
    assert!(clear > 0.0 && clear < all, "half of the packets: {clear} of {all}");
}

#[test]
fn an_unknown_profile_is_refused_with_those_that_there_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, said) = run(["latency", "--profile", "moon"], folder.path());
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("there is no profile `moon`") && said.contains("internet, lan"),
        "{said}"
    );
}
