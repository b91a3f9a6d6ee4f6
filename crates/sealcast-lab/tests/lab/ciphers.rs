//! Output and files of `sealcast-lab ciphers` and `sealcast-lab verify`. Speeds are not checked, since they depend on
//! the machine.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use sealcast_testkit::counter::Counter;
use sealcast_testkit::media;
use serde_json::Value;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");

fn lab(arguments: &[&str], out: Option<&Path>) -> (Option<i32>, String) {
    let mut command = Command::new(LAB);
    command.args(arguments);
    if let Some(out) = out {
        command.arg("--out").arg(out);
    }
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let said = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (status.code(), said.concat())
}

fn record(folder: &Path) -> Value {
    let text = std::fs::read(folder.join("record.json")).expect("a record");
    serde_json::from_slice(&text).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// The median of three rounds, and the ends of its interval. These are the least and the greatest value: a bootstrap of
/// three values draws each value three times in more than 2.5 % of its samples.
fn estimate(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    assert_eq!(values.len(), 3, "three rounds");
    [values[1], values[0], values[2]]
}

/// A number as the report writes it: about three significant digits, or all digits before the decimal point.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        0.0..0.1 => 4,
        0.1..1.0 => 3,
        1.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$}")
}

fn with_interval(of: [f64; 3]) -> String {
    let [value, low, high] = of.map(short);
    format!("{value} ({low} to {high})")
}

/// The lines of a CSV file, each as a map from column to value.
fn lines(path: &Path) -> Vec<HashMap<String, String>> {
    let mut file = csv::Reader::from_path(path).expect("a table");
    file.deserialize().map(|line| line.expect("a line")).collect()
}

/// Compares three columns of a line, a value and the ends of its interval, with the values computed here.
fn assert_is(line: &HashMap<String, String>, column: &str, computed: [f64; 3]) {
    for (end, computed) in ["", "_low", "_high"].iter().zip(computed) {
        let written: f64 = line[&format!("{column}{end}")].parse().expect("a number");
        let apart = (written - computed).abs();
        assert!(
            apart <= 1e-9 * computed.abs(),
            "{column}{end}: {written}, not {computed}: {line:?}"
        );
    }
}

/// The output of a run.
struct Left {
    record: Value,
    report: String,
    folder: tempfile::TempDir,
}

impl Left {
    fn by(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (code, said) = lab(arguments, Some(folder.path()));
        assert_eq!(code, Some(0), "{said}");
        Self {
            record: record(folder.path()),
            report: std::fs::read_to_string(folder.path().join("report.html")).expect("a report"),
            folder,
        }
    }

    fn list(&self, field: &str) -> &[Value] {
        self.record[field].as_array().expect("a list")
    }

    fn loads(&self) -> &[Value] {
        self.record["settings"]["workloads"].as_array().expect("workloads")
    }

    fn load(&self, name: &str) -> usize {
        let place = self.loads().iter().position(|load| load["name"] == name);
        place.expect("one of those in the record")
    }

    fn contender(&self, line: &HashMap<String, String>) -> usize {
        let is = |one: &Value| one["cipher"] == line["cipher"] && one["implementation"] == line["implementation"];
        let place = self.list("contenders").iter().position(is);
        place.expect("one of those in the record")
    }

    /// The entries of one contender in the list of this name, of all rounds.
    fn of(&self, contender: usize, list: &str) -> Vec<&Value> {
        let rounds = self.list("rounds").iter();
        let all = rounds.flat_map(|round| round[list].as_array().expect("a list"));
        all.filter(|one| one["contender"] == contender).collect()
    }

    fn shows(&self, cells: &str) {
        assert!(self.report.contains(cells), "{cells} is not in the report");
    }
}

#[test]
fn tables_and_report_follow_from_the_rounds_in_the_record() {
    let left = Left::by(&[
        "ciphers",
        "--quick",
        "--only",
        "trivium,xor,aes-128-gcm",
        "--guesses-per-second",
        "1000000",
    ]);
    // A quick run ends after a fixed time, so the number of rounds depends on the machine.
    assert!(!left.list("rounds").is_empty());
    assert_eq!(left.loads().len(), 11);
    let alone = left.report.contains("<svg") && !left.report.contains("src=") && !left.report.contains("href=");
    assert!(alone, "one file");
    let table = lines(&left.folder.path().join("table.csv"));
    table.iter().for_each(|line| assert_speeds(&left, line));
    // An implementation that is too slow for a quick run has no lines for larger loads.
    for contender in left.list("contenders") {
        let of_it = |line: &&HashMap<String, String>| line["implementation"] == contender["implementation"];
        assert!(table.iter().any(|line| of_it(&line)), "{contender}");
    }

    let ciphers = lines(&left.folder.path().join("ciphers.csv"));
    assert_eq!(ciphers.len(), left.list("contenders").len());
    ciphers.iter().for_each(|line| {
        assert_times(&left, line);
        assert_ranks(&left, line);
    });
    let ranked = ciphers.iter().filter(|line| !line["rank"].is_empty()).count();
    assert!(
        ranked >= 2,
        "{ranked} ciphers with a rank: the tests' program has its symbols"
    );
}

fn assert_speeds(left: &Left, line: &HashMap<String, String>) {
    let (contender, load) = (left.contender(line), left.load(&line["workload"]));
    let of = |figure: &dyn Fn(&Value) -> f64| {
        let cells = left.of(contender, "cells").into_iter();
        estimate(cells.filter(|cell| cell["workload"] == load).map(figure).collect())
    };
    let [ns, least, most] = of(&|cell| number(&cell["seal_ns"]) / number(&cell["bytes"]));
    let mb_per_s = [1e3 / ns, 1e3 / most, 1e3 / least];
    assert_is(line, "mb_per_s", mb_per_s);
    let tsc_hz = left.record["tsc_hz"].as_f64();
    let cycles = of(&|cell| {
        let net = number(&cell["seal_ns"]) - number(&cell["baseline_ns"]);
        net * cell["core_hz"].as_f64().or(tsc_hz).expect("cycles") / 1e9 / number(&cell["bytes"])
    });
    assert_is(line, "cycles_per_byte", cycles);
    let [value, low, high] = mb_per_s.map(short);
    let (cipher, implementation) = (&line["cipher"], &line["implementation"]);
    left.shows(&format!(
        "<td>{cipher}</td><td>{implementation}</td><td>{value}</td><td>{low} to {high}</td>"
    ));
}

fn assert_times(left: &Left, line: &HashMap<String, String>) {
    let contender = left.contender(line);
    let (set_ups, alone) = (left.of(contender, "set_ups"), left.of(contender, "alone"));
    let t = set_ups.iter().zip(&alone).map(|(set_up, alone)| {
        let algorithm = (number(&alone["first_ns"]) - number(&alone["again_ns"])).max(0.0);
        let block = number(&set_up["block_seal_ns"]) + number(&set_up["block_open_ns"]);
        algorithm + number(&set_up["key_ns"]) + block
    });
    let t = estimate(t.collect());
    assert_is(line, "t_ns", t);
    left.shows(&format!("<td>{}</td></tr>", with_interval(t)));
    let key_bits = number(&left.list("contenders")[contender]["key_bits"]);
    let years = key_bits.exp2() / 1e6 / (365.25 * 86_400.0);
    let safe: f64 = line["safe_years"].parse().expect("a number");
    assert!((safe / years - 1.0).abs() < 1e-9, "{safe}, not {years}");
}

fn assert_ranks(left: &Left, line: &HashMap<String, String>) {
    let (contender, frames) = (left.contender(line), left.load("H.264 frames"));
    let load = &left.loads()[frames];
    let frame_bytes = number(&load["bytes"]) / number(&load["packets"]);
    let grown = |alone: &&Value| number(&alone["rss_after_bytes"]) - number(&alone["rss_before_bytes"]);
    let alone = left.of(contender, "alone");
    let memory: Vec<f64> = alone.iter().map(|alone| grown(alone) / frame_bytes).collect();
    assert_is(line, "memory_bytes", estimate(memory.clone()));
    let here = |list| {
        left.of(contender, list)
            .into_iter()
            .filter(|one| one["workload"] == frames)
    };
    let speed = |cell: &Value| number(&cell["bytes"]) * 1e9 / number(&cell["seal_ns"]);
    let speeds: Vec<f64> = here("cells").map(speed).collect();
    let code = left.list("contenders")[contender]["code_bytes"].as_f64();
    let Some(code) = code.filter(|_| !speeds.is_empty()) else {
        assert_eq!((&*line["rank"], &*line["e_rank"]), ("", ""), "{line:?}");
        return;
    };
    let ranks = speeds
        .iter()
        .zip(&memory)
        .map(|(speed, memory)| speed / (code + 2.0 * memory));
    let ranks: Vec<f64> = ranks.collect();
    assert_is(line, "rank", estimate(ranks.clone()));
    left.shows(&format!("<td>{}</td>", with_interval(estimate(ranks.clone()))));
    let energies = here("energies").map(|energy| number(&energy["joules"]) * 1e6 / number(&energy["bytes"]));
    let drawn = ranks.iter().zip(energies).filter(|(_, energy)| *energy > 0.0);
    let e_ranks: Vec<f64> = drawn.map(|(rank, energy)| rank / energy).collect();
    if e_ranks.is_empty() {
        assert_eq!(line["e_rank"], "", "no energy, no E-Rank");
    } else {
        assert_is(line, "e_rank", estimate(e_ranks));
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn aes_without_the_processors_instructions_is_measured_beside_and_still_right() {
    let left = Left::by(&["ciphers", "--quick", "--only", "aes-128-gcm,rc4"]);
    let rounds = left.list("rounds").iter();
    let switched: Vec<&Value> = rounds
        .flat_map(|round| round["switched"].as_array().expect("a list"))
        .collect();
    // Each process checked itself against the published values first.
    assert_eq!(
        switched.len(),
        left.list("rounds").len(),
        "AES-GCM, once a round, and not RC4"
    );
    for one in switched {
        for of in ["with", "without"] {
            assert!(
                number(&one[of]["seal_ns"]) > 0.0 && number(&one[of]["bytes"]) > 0.0,
                "{one}"
            );
        }
    }
}

#[test]
fn a_run_that_was_killed_goes_on_with_the_rounds_that_it_had() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["ciphers", "--quick", "--only", "rabbit,xor", "--rounds"];
    let mut run = Command::new(LAB)
        .args(arguments)
        .args(["1000", "--out"])
        .arg(folder.path())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let until = Instant::now() + Duration::from_secs(120);
    let rounds = || -> Vec<Value> {
        let there = folder.path().join("record.json").exists();
        let rounds = there.then(|| record(folder.path())["rounds"].as_array().cloned());
        rounds.flatten().unwrap_or_default()
    };
    while rounds().len() < 2 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    run.kill().expect("it runs still");
    run.wait().expect("it was ours");
    let before = rounds();
    assert!(before.len() >= 2, "{} rounds in two minutes", before.len());

    let more = (before.len() + 1).to_string();
    let (code, said) = lab(&[&arguments[..], &[&more]].concat(), Some(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    let after = rounds();
    assert_eq!((after.len(), &after[..before.len()]), (before.len() + 1, &before[..]));
}

#[test]
fn frames_of_an_mp4_file_are_enciphered_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let clip = media::clip(media::STREET, folder.path());
    let arguments = [
        "ciphers",
        "--quick",
        "--rounds",
        "1",
        "--only",
        "xor",
        "--clip",
        media::path(&clip),
    ];
    let left = Left::by(&arguments);
    assert_eq!(left.record["settings"]["frames"], media::path(&clip));
    let mut ffprobe = media::tool("ffprobe");
    ffprobe.args(["-v", "error", "-select_streams", "v", "-read_intervals", "%+#25"]);
    ffprobe
        .args(["-show_entries", "packet=size", "-of", "csv=p=0"])
        .arg(&clip);
    let sizes = String::from_utf8(ffprobe.output().expect("ffprobe").stdout).expect("text");
    let sizes: Vec<usize> = sizes.lines().map(|line| line.parse().expect("a size")).collect();
    let h264 = &left.loads()[left.load("H.264 frames")];
    assert_eq!((h264["packets"].as_u64(), sizes.len()), (Some(25), 25));
    // The frames here contain the parameter sets, which an MP4 file stores outside of its packets.
    let (ours, theirs) = (number(&h264["bytes"]), sizes.iter().sum::<usize>() as f64);
    assert!(
        (theirs..theirs + 25.0 * 100.0).contains(&ours),
        "{ours} bytes, {theirs} in the file"
    );
}

#[test]
fn a_run_that_was_stopped_goes_on_and_another_one_does_not_take_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let rounds = |count: &str, only: &str| {
        let arguments = ["ciphers", "--quick", "--only", only, "--rounds", count];
        lab(&arguments, Some(folder.path()))
    };
    let (code, said) = rounds("1", "rabbit");
    assert_eq!(code, Some(0), "{said}");
    let first = record(folder.path())["rounds"][0].clone();
    let (code, said) = rounds("2", "rabbit");
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("round 2 of 2") && !said.contains("round 1 of 2"),
        "{said}"
    );
    let both = record(folder.path());
    assert_eq!(
        (both["rounds"].as_array().map(Vec::len), &both["rounds"][0]),
        (Some(2), &first)
    );

    let (code, said) = rounds("2", "rc4");
    assert_eq!(code, Some(4), "{said}");
    assert!(
        said.contains("another measurement") && record(folder.path()) == both,
        "{said}"
    );
}

#[test]
fn energy_is_that_of_the_meter_less_what_it_shows_when_idle() {
    let counter = Counter::start(5.0);
    let folder = tempfile::tempdir().expect("a folder");
    let meter = format!("rapl:{}", counter.tree().display());
    let arguments = [
        "ciphers", "--quick", "--only", "rabbit", "--rounds", "1", "--meter", &meter,
    ];
    let (code, said) = lab(&arguments, Some(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("energy: rapl: processor packages"), "{said}");
    let record = record(folder.path());
    let contenders = record["contenders"].as_array().expect("contenders").len();
    let energies = record["rounds"][0]["energies"].as_array().expect("energies");
    assert_eq!(energies.len(), 4 * contenders, "{said}");
    for energy in energies {
        let [joules, seconds, idle] = ["joules", "seconds", "idle_watts"].map(|field| number(&energy[field]));
        assert!((idle - 5.0).abs() < 0.5 && seconds >= 0.5, "{energy}");
        assert!((joules / seconds).abs() < 0.7, "the counter knows no work: {energy}");
        assert!(number(&energy["bytes"]) > number(&energy["packets"]), "{energy}");
    }

    let (code, said) = lab(
        &["ciphers", "--quick", "--only", "rabbit", "--meter", "none"],
        Some(folder.path()),
    );
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("meter or --quick differ"), "{said}");
    let (code, said) = lab(&["ciphers", "--quick", "--meter", "rapl:/nonexistent"], None);
    assert!(
        code == Some(3) && said.contains("no energy counter in /nonexistent"),
        "{said}"
    );
}

#[test]
fn a_cipher_that_does_not_exist_is_named_with_those_that_do() {
    let (code, said) = lab(&["ciphers", "--only", "rot13"], None);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("rot13") && said.contains("mickey-v2") && said.contains("ascon-aead128"),
        "{said}"
    );
}

#[test]
fn verify_ends_with_a_code_of_its_own_for_what_is_wrong_and_for_what_is_not_understood() {
    let right = r#"{"cipher": "RC4", "vectors": [{"set": 1, "number": 5, "key": "0102030405", "iv": "", "stream_len": 4,
        "stream": [{"from": 0, "to": 3, "hex": "B2396305"}]}]}"#;
    let cases = [
        (right.to_owned(), 0, "| rc4          | definition   |      1 |"),
        (
            right.replace("B239", "B238"),
            1,
            "rc4 definition: set 1, vector 5: other bytes from 0 on",
        ),
        (right.replace("RC4", "RC5"), 3, "there is no cipher `RC5` here"),
    ];
    for (text, code, words) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("rc4.json"), text).expect("a file");
        let (ended, said) = lab(&["verify", "--vectors", folder.path().to_str().expect("UTF-8")], None);
        assert_eq!(ended, Some(code), "{said}");
        assert!(said.contains(words), "{said}");
    }
    let (ended, said) = lab(&["verify", "--vectors", "/nowhere"], None);
    assert_eq!(ended, Some(3), "{said}");
}
