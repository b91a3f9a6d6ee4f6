//! `sealcast-lab report`: the logs of real ends, and what it says of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use sealcast::meter::logs::{LogDir, PictureRow, UnitRow};
use sealcast::meter::probe_rows::ProbeBesideRow;
use sealcast::meter::statistics::{mean, quantile};
use sealcast_testkit::media::path;
use sealcast_testkit::program::{home, publish, until, watch};
use serde_json::Value;
use tempfile::TempDir;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");
const STAGES: [&str; 11] = [
    "capture",
    "encode",
    "queue",
    "seal",
    "send",
    "network",
    "reassembly",
    "open",
    "wait",
    "decode",
    "present",
];

type Row = BTreeMap<String, String>;

fn rows(file: &Path) -> Vec<Row> {
    let mut log = csv::Reader::from_path(file).expect("a log");
    log.deserialize().map(|row| row.expect("a row")).collect()
}

/// The values of a column, without the empty ones.
fn column(rows: &[Row], name: &str) -> Vec<f64> {
    let values = rows.iter().map(|row| &row[name]).filter(|value| !value.is_empty());
    values.map(|value| value.parse().expect("a number")).collect()
}

/// A folder with the logs of both ends, `near` and `far`, of a hundred frames.
fn streamed() -> TempDir {
    let folder = home();
    let [near, far] = ["near", "far"].map(|end| folder.path().join(end));
    let homes = [home(), home()];
    let mut publisher = publish(homes[0].path(), "test:160x120@25", &["--log-dir", path(&near)]);
    let options = ["--to", "null:", "--log-dir", path(&far)];
    let mut viewer = watch(homes[1].path(), &publisher.ticket, &options);
    let log = far.join("frames_latency.csv");
    until("a hundred frames are logged", || {
        fs::read_to_string(&log).is_ok_and(|text| text.lines().count() > 100)
    });
    viewer.stop();
    publisher.program.stop();
    folder
}

fn report(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(LAB)
        .arg("report")
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("it runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The cells of the first line of a table in Markdown that begins with these.
fn cells<'a>(text: &'a str, first: &[&str]) -> Vec<&'a str> {
    let lines = text.lines().filter(|line| line.starts_with('|'));
    let mut lines = lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    lines
        .find(|cells| cells.starts_with(first))
        .unwrap_or_else(|| panic!("no {first:?} in {text}"))
}

/// Compares a cell, which has three digits, with the value.
fn assert_close(cell: &str, value: f64) {
    let number: f64 = cell
        .replace('−', "-")
        .replace('\u{202f}', "")
        .parse()
        .unwrap_or_else(|_| panic!("{cell}"));
    assert!(
        (number - value).abs() <= 0.006 * value.abs() + 0.0012,
        "{cell} is not {value}"
    );
}

#[test]
fn the_logs_of_both_ends_give_tables_charts_and_the_numbers_behind_them() {
    let folder = streamed();
    // The roles come from the contents, and not from names or order.
    let output = report(folder.path(), &["far", "near", "--out", "out"]);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    let file = |name: &str| fs::read_to_string(folder.path().join("out").join(name)).expect(name);
    assert!(text.contains(&file("tables.md")), "the terminal has the tables");
    let frames = rows(&folder.path().join("far/frames_latency.csv"));
    check_stages(&text, &frames);
    let sums = format!(
        "uncertainty of the clocks in {0} of {0} rows",
        column(&frames, "total_us").len()
    );
    assert!(text.contains(&sums), "{text}");
    for (end, folder_of) in [("publisher", "near"), ("viewer", "far")] {
        let steady = rows(&folder.path().join(folder_of).join("steady_stream.csv"));
        assert!(text.contains(&format!("The {end} streamed for ")), "{text}");
        check_memory(&text, end, &steady);
        let handshakes = rows(&folder.path().join(folder_of).join("handshake.csv"));
        let role = &handshakes[0]["role"];
        let line = cells(
            &text,
            &[
                end,
                role,
                &handshakes[0]["mechanism"],
                &handshakes[0]["suite"],
                "established",
                "1",
            ],
        );
        assert_close(line[6], column(&handshakes, "duration_ms")[0]);
        assert_close(line[12], column(&handshakes, "bytes_sent")[0]);
    }
    assert_eq!(cells(&text, &["sender: CPU, %"])[2], "11.64");
    check_curves(&file("figures.csv"), &frames);
    let page = file("report.html");
    assert!(!page.contains("src=") && !page.contains("http"), "one file");
    let places = page.matches("href=\"#").count();
    assert!(places >= 8, "{places}");
    let linked = page
        .split("href=\"#")
        .skip(1)
        .map(|rest| rest.split('"').next().expect("a place"));
    for place in linked {
        assert_eq!(page.matches(&format!("id=\"{place}\"")).count(), 1, "{place}");
    }
    for title in [
        "Fig. 2a",
        "Fig. 2b",
        "Fig. 3a",
        "Fig. 3b",
        "Fig. 4",
        "Table III",
        "median ",
    ] {
        assert!(page.contains(title), "{title}");
    }
}

/// Each line of the table of stages is computed from the column.
fn check_stages(text: &str, frames: &[Row]) {
    let names = STAGES.map(|stage| (stage.to_owned(), format!("{stage}_us")));
    for (name, of) in names.into_iter().chain([("whole".to_owned(), "total_us".to_owned())]) {
        let mut values = column(frames, &of);
        values.sort_by(f64::total_cmp);
        let line = cells(text, &[&name, &values.len().to_string()]);
        if values.is_empty() {
            assert_eq!(line[2], "–");
            continue;
        }
        assert_close(line[2], mean(&values));
        for (cell, share) in line[4..].iter().zip([0.5, 0.95, 0.99, 1.0]) {
            assert_close(cell, quantile(&values, share));
        }
    }
}

/// The greatest memory of the stream is no more than the log's, and its least no less.
fn check_memory(text: &str, end: &str, steady: &[Row]) {
    let values = column(steady, "rss_bytes");
    let lines = text
        .lines()
        .filter(|line| line.contains(end) && line.contains("| steady") && line.contains("memory, MB"));
    let line: Vec<&str> = lines
        .flat_map(|line| line.trim_matches('|').split('|').map(str::trim))
        .collect();
    let number = |at: usize| line[at].parse::<f64>().unwrap_or_else(|_| panic!("{line:?}")) * 1e6;
    let ends = values.iter().fold((f64::MAX, 0.0_f64), |(least, most), value| {
        (least.min(*value), most.max(*value))
    });
    assert!(
        number(4) >= 0.99 * ends.0 && number(5) <= 1.01 * ends.1,
        "{line:?} {ends:?}"
    );
}

/// The whole's distribution is that of the column.
fn check_curves(text: &str, frames: &[Row]) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let points: Vec<Row> = reader.deserialize().map(|row| row.expect("a row")).collect();
    let mut totals = column(frames, "total_us");
    totals.sort_by(f64::total_cmp);
    let whole: Vec<&Row> = points
        .iter()
        .filter(|point| point["figure"] == "frame-latency viewer")
        .collect();
    assert_eq!(whole.len(), 401);
    for point in whole {
        let [x, share] = ["x", "y"].map(|name| point[name].parse::<f64>().expect("a number"));
        let exact = quantile(&totals, share) / 1e3;
        assert!((x - exact).abs() <= 0.002 * exact.abs() + 1e-5, "{share}: {x}, {exact}");
    }
    for figure in ["sent-frames", "sent-rate", "received-rate", "received-frames"] {
        assert!(points.iter().any(|point| point["figure"] == figure), "{figure}");
    }
}

#[test]
fn a_trace_has_each_frame_and_in_it_its_stages_as_long_as_the_log_says() {
    let folder = streamed();
    let output = report(folder.path(), &["near", "far", "--out", "out", "--trace"]);
    assert!(output.status.success(), "{}", said(&output));
    let frames = rows(&folder.path().join("far/frames_latency.csv"));
    let compared: Vec<&Row> = frames.iter().filter(|row| !row["clock_offset_us"].is_empty()).collect();
    let events = traced(folder.path());
    let mut left = events.as_slice();
    for row in &compared {
        left = check_frame(left, row);
    }
    assert!(left.is_empty(), "{left:?}");
    // A part of it.
    let (first, last) = (&compared[10]["frame"], &compared[19]["frame"]);
    let range = format!("{first}..{last}");
    let output = report(folder.path(), &["far", "--out", "out", "--trace", "--frames", &range]);
    assert!(output.status.success(), "{}", said(&output));
    let mut begun: Vec<u64> = traced(folder.path())
        .iter()
        .filter_map(|event| event["id"].as_u64())
        .collect();
    begun.dedup();
    let expected: Vec<u64> = compared[10..20]
        .iter()
        .map(|row| row["frame"].parse().expect("a number"))
        .collect();
    assert_eq!(begun, expected);
}

/// The events of the trace, without those that name its tracks.
fn traced(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("out/trace.json")).expect("a trace");
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    let (names, events): (Vec<Value>, Vec<Value>) = trace["traceEvents"]
        .as_array()
        .expect("events")
        .iter()
        .cloned()
        .partition(|event| event["ph"] == "M");
    let kinds: Vec<_> = names.iter().map(|event| event["name"].as_str()).collect();
    assert_eq!(kinds, [Some("process_name"), Some("thread_name")]);
    events
}

/// Checks the events of a frame and returns those after it.
fn check_frame<'a>(events: &'a [Value], row: &Row) -> &'a [Value] {
    let nanos = |event: &Value| (event["ts"].as_f64().expect("a time") * 1e3).round() as i64;
    let number = |name: &str| row[name].parse::<f64>().ok();
    let logged: Vec<&str> = STAGES
        .into_iter()
        .filter(|stage| number(&format!("{stage}_us")).is_some())
        .collect();
    let (own, rest) = events.split_at(2 + 2 * logged.len());
    for event in own {
        assert_eq!(
            (event["cat"].as_str(), event["id"].to_string()),
            (Some("frame"), row["frame"].clone())
        );
    }
    let (whole, stages) = ([&own[0], &own[own.len() - 1]], &own[1..own.len() - 1]);
    let mut now = nanos(whole[0]);
    for (pair, stage) in stages.chunks(2).zip(logged) {
        for (event, ph) in pair.iter().zip(["b", "e"]) {
            assert_eq!((event["ph"].as_str(), event["name"].as_str()), (Some(ph), Some(stage)));
        }
        let expected = number(&format!("{stage}_us")).expect("it is logged").max(0.0) * 1e3;
        assert_eq!(nanos(&pair[0]), now, "one stage follows the other");
        now = nanos(&pair[1]);
        assert!(
            ((now - nanos(&pair[0])) as f64 - expected).abs() <= 1.0,
            "{stage}: {pair:?}, {expected}"
        );
    }
    for (event, ph) in whole.iter().zip(["b", "e"]) {
        assert_eq!(
            (event["ph"].as_str(), event["name"].as_str()),
            (Some(ph), Some("frame"))
        );
    }
    assert_eq!(nanos(whole[1]), now, "the stages fill the frame");
    let args = &whole[0]["args"];
    assert_eq!(args["bytes"].to_string(), row["bytes"]);
    assert_eq!(
        (args["keyframe"].to_string(), args["stamp"].as_str()),
        (row["keyframe"].clone(), Some(row["stamp"].as_str()))
    );
    let uncertainty = args["clock_uncertainty_us"]
        .as_f64()
        .zip(number("clock_uncertainty_us"));
    // A reader of JSON may be off by the last bit.
    assert!(
        uncertainty.is_some_and(|(told, logged)| (told - logged).abs() < 1e-6),
        "{args}"
    );
    rest
}

#[test]
fn a_viewer_gateway_is_told_by_its_logs_and_has_units_and_pictures() {
    let folder = home();
    let logs = LogDir::create(&folder.path().join("far")).expect("a folder");
    for number in 1..=100_u32 {
        logs.handle().unit(UnitRow {
            link_us: Some(f64::from(number)),
            ..UnitRow::default()
        });
        logs.handle().picture(PictureRow {
            gather_us: 2.0,
            viewer_gateway_us: 3.0,
            network_us: Some(f64::from(number)),
            // The last does not add up.
            total_us: Some(f64::from(number + 5 + number / 100 * 50)),
            clock_uncertainty_us: Some(1.0),
            ..PictureRow::default()
        });
    }
    assert_eq!(logs.finish().rows, 200);
    let output = report(folder.path(), &["far", "--out", "out"]);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    let sums = "stages of a picture add up to the whole within the uncertainty of the clocks in 99 of 100 rows";
    assert!(text.contains(sums) && text.contains("at the viewer gateway"), "{text}");
    assert_close(cells(&text, &["link", "100"])[5], 95.0);
    let numbers = fs::read_to_string(folder.path().join("out/figures.csv")).expect("numbers");
    for figure in ["picture-latency viewer gateway", "sealed unit-stages viewer gateway"] {
        assert!(numbers.contains(figure), "{figure}");
    }
    // There is nothing to trace without frames.
    let output = report(folder.path(), &["far", "--out", "out", "--trace"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
}

#[test]
fn what_a_probe_found_of_two_ways_is_drawn_over_time_and_as_a_distribution() {
    let folder = home();
    let logs = folder.path().join("logs");
    fs::create_dir(&logs).expect("space");
    let mut log = ProbeBesideRow::HEADER.join(",") + "\n";
    for number in 0..200_u32 {
        let compared = if number < 100 { "control" } else { "beside" };
        let ms = if number < 100 {
            0.0
        } else {
            f64::from(number) / 10.0 - 15.0
        };
        let (second, parts) = (number / 25, number % 25 * 40);
        log += &format!("2026-11-30T00:00:{second:02}.{parts:03}Z,{compared},clock,1,1,1000,2000,{ms},{ms},true\n");
    }
    fs::write(logs.join("probe_beside.csv"), log).expect("space");
    let output = report(folder.path(), &["logs", "--out", "out"]);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("B later than A: median") && text.contains("A beside itself: median 0"),
        "{text}"
    );
    assert_close(cells(&text, &["B later than A", "100"])[5], -0.1);
    assert_close(cells(&text, &["B later than A", "100"])[8], 4.9);
    let numbers = fs::read_to_string(folder.path().join("out/figures.csv")).expect("numbers");
    for figure in [
        "beside-over-time probe,A beside itself",
        "beside-differences probe,B later than A",
    ] {
        assert!(numbers.contains(figure), "{figure}");
    }
}

#[test]
fn a_torn_row_is_left_out_and_a_broken_one_named() {
    let folder = streamed();
    let log = folder.path().join("far/frames_latency.csv");
    let whole = fs::read_to_string(&log).expect("a log");
    let count = whole.lines().count() - 1;
    fs::write(&log, whole.trim_end()).expect("space");
    let output = report(folder.path(), &["far"]);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert_eq!(
        cells(&text, &["viewer", "far/frames_latency.csv"])[2..],
        [&(count - 1).to_string(), "1"]
    );
    let mut lines: Vec<String> = whole.lines().map(str::to_owned).collect();
    let mut fields: Vec<&str> = lines[3].split(',').collect();
    fields[16] = "x";
    lines[3] = fields.join(",");
    fs::write(&log, lines.join("\n") + "\n").expect("space");
    let output = report(folder.path(), &["far"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(
        text.contains("frames_latency.csv line 4 cannot be read: \"x\" in the column encode_us"),
        "{text}"
    );
    fs::write(&log, "a,b\n1,2\n").expect("space");
    let output = report(folder.path(), &["far"]);
    assert!(
        said(&output).contains("frames_latency.csv line 1 cannot be read"),
        "{}",
        said(&output)
    );
    let output = report(folder.path(), &["elsewhere"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(said(&output).contains("elsewhere cannot be read"), "{}", said(&output));
}
