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

type Line = HashMap<String, String>;

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

/// The whole lines of the record; empty if there is none.
fn record(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("record.jsonl")).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// The median of rounds, with the ends of its interval: of three rounds the least and the greatest.
fn estimate(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    assert!(
        [1, 3].contains(&values.len()),
        "three rounds, or one of who is too slow: {values:?}"
    );
    [values[values.len() / 2], values[0], values[values.len() - 1]]
}

/// As the report writes it: three digits that count, or all before the point, with separated thousands, and a minus
/// sign, which cycles have after the loop's were subtracted where the machine was busier with the loop.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        0.0..0.1 => 4,
        0.1..1.0 => 3,
        1.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    let text = format!("{:.digits$}", value.abs());
    let is_zero = text.bytes().all(|byte| b"0.".contains(&byte));
    let sign = if value < 0.0 && !is_zero { "\u{2212}" } else { "" };
    let whole = text.split('.').next().map_or(0, str::len);
    let apart = |at: usize| at > 0 && at < whole && whole > 4 && (whole - at).is_multiple_of(3);
    let letter = |(at, letter)| [if apart(at) { "\u{202f}" } else { "" }.to_owned(), String::from(letter)].concat();
    let digits: String = text.chars().enumerate().map(letter).collect();
    format!("{sign}{digits}")
}

#[test]
fn what_is_looked_for_in_the_report_is_written_as_there() {
    let written = [-0.0123, -12_345.6, -0.000_01, 0.0456, 678.9].map(short);
    let expected = ["\u{2212}0.0123", "\u{2212}12\u{202f}346", "0.0000", "0.0456", "679"];
    assert_eq!(written, expected);
}

/// Holds a figure of a line, with the ends of its interval, to what was computed here.
fn assert_is(line: &Line, column: &str, computed: [f64; 3]) {
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
    header: Value,
    turns: Vec<Value>,
    table: Vec<Line>,
    report: String,
    said: String,
    _folder: tempfile::TempDir,
}

impl Left {
    fn by(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (code, said) = lab(arguments, Some(folder.path()));
        assert_eq!(code, Some(0), "{said}");
        let mut turns = record(folder.path());
        let mut table = csv::Reader::from_path(folder.path().join("table.csv")).expect("a table");
        Self {
            header: turns.remove(0),
            turns,
            table: table.deserialize().map(|line| line.expect("a line")).collect(),
            report: std::fs::read_to_string(folder.path().join("report.html")).expect("a report"),
            said,
            _folder: folder,
        }
    }

    /// The values of the samples of a system in a case, in the order in which they were taken.
    fn samples(&self, case: &str, system: &str) -> Vec<HashMap<String, f64>> {
        let own = self
            .turns
            .iter()
            .filter(|turn| turn["case"] == case && turn["system"] == system);
        let values = own.map(|turn| turn["sample"]["values"].clone());
        values
            .map(|values| serde_json::from_value(values).expect("numbers"))
            .collect()
    }

    /// A fact of the header.
    fn fact(&self, name: &str) -> &str {
        let facts = self.header["facts"].as_array().expect("a list").iter();
        let fact = facts.filter(|fact| fact[0] == name).find_map(|fact| fact[1].as_str());
        fact.expect("it is there")
    }

    fn shows(&self, computed: [f64; 3]) {
        let [value, low, high] = computed.map(short);
        let cell = match low == high {
            true => format!("<td>{value}"),
            false => format!("<td>{value}<small>{low} to {high}</small></td>"),
        };
        assert!(self.report.contains(&cell), "{cell} is not in the report");
    }
}

#[test]
fn tables_and_report_follow_from_the_turns_in_the_record() {
    let only = "trivium,xor,aes-128-gcm";
    let left = Left::by(&["ciphers", "--quick", "--only", only, "--guesses-per-second", "1000000"]);
    let alone = !left.report.contains("<script") && !left.report.contains("src=") && !left.report.contains("href=");
    assert!(alone && left.report.contains("class=\"bar "), "one file, with charts");
    assert!(
        left.report.contains("trivium, 80 bits (Khan 2024)"),
        "a paper beside ours"
    );

    let measured: Vec<&Line> = left.table.iter().filter(|line| line["rounds"] != "0").collect();
    let systems = left.header["definition"]["system"].as_array().expect("systems").len();
    assert_eq!(measured.iter().filter(|line| line["case"] == "set-up").count(), systems);
    let mut ranked = 0;
    for line in measured {
        let samples = left.samples(&line["case"], &line["system"]);
        assert_eq!(line["rounds"], samples.len().to_string(), "{line:?}");
        match &*line["case"] {
            "set-up" => assert_times(&left, line, &samples),
            "instructions" => {}
            case => {
                // Who is too slow for a quick run has no speed.
                if samples[0].contains_key("mb_per_s") {
                    assert_speeds(&left, line, &samples);
                }
                if case == "h264-frames" {
                    ranked += assert_ranks(line, &samples);
                }
            }
        }
    }
    assert!(ranked >= 2, "{ranked} with a rank: who is fast enough has one");
    let papers: Vec<&Line> = left.table.iter().filter(|line| line["rounds"] == "0").collect();
    assert_eq!(papers.len(), 7, "six ciphers of one paper, one of the other");
}

fn of(samples: &[HashMap<String, f64>], figure: impl Fn(&dyn Fn(&str) -> f64) -> f64) -> [f64; 3] {
    estimate(samples.iter().map(|sample| figure(&|name| sample[name])).collect())
}

fn assert_speeds(left: &Left, line: &Line, samples: &[HashMap<String, f64>]) {
    let mb_per_s = of(samples, |value| value("batch_bytes") / value("batch_seal_ns") * 1e3);
    assert_is(line, "mb_per_s", mb_per_s);
    left.shows(mb_per_s);
    assert_is(
        line,
        "open_mb_per_s",
        of(samples, |value| value("batch_bytes") / value("batch_open_ns") * 1e3),
    );
    let per_s = of(samples, |value| {
        value("batch_bytes") * 1e9 / value("batch_seal_ns") / value("packet_bytes")
    });
    assert_is(line, "packets_per_s", per_s);
    let cycles = |ns: f64, value: &dyn Fn(&str) -> f64| ns * value("cycles_hz") / 1e9 / value("batch_bytes");
    let net = of(samples, |value| {
        cycles(value("batch_seal_ns") - value("batch_loop_ns"), value)
    });
    assert_is(line, "cycles_per_byte", net);
    left.shows(net);
    let own = of(samples, |value| cycles(value("batch_loop_ns"), value));
    assert_is(line, "loop_cycles_per_byte", own);
}

fn assert_times(left: &Left, line: &Line, samples: &[HashMap<String, f64>]) {
    let t = of(samples, |value| {
        let algorithm = (value("first_ns") - value("again_ns")).max(0.0);
        algorithm + value("key_ns") + value("block_seal_ns") + value("block_open_ns")
    });
    assert_is(line, "t_ns", t);
    left.shows(t);
    // Faster attacks than trying all keys are known on these.
    let falls = ["xor", "rc4", "grain-v1", "grain-128a", "mickey-v1"];
    if falls
        .iter()
        .any(|cipher| line["system"].split('/').next() == Some(cipher))
    {
        assert_eq!(line["safe_years"], "", "{line:?}");
        return;
    }
    let key_bits: f64 = line["key_bits"].parse().expect("a number");
    let years = key_bits.exp2() / 1e6 / (365.25 * 86_400.0);
    assert_is(line, "safe_years", [years; 3]);
}

/// The number of lines with a rank: 0 or 1.
fn assert_ranks(line: &Line, samples: &[HashMap<String, f64>]) -> usize {
    let grown = |value: &dyn Fn(&str) -> f64| value("rss_after_bytes") - value("rss_before_bytes");
    assert_is(line, "rss_bytes", of(samples, grown));
    if !samples[0].contains_key("mb_per_s") {
        return 0;
    }
    assert_is(
        line,
        "memory_bytes",
        of(samples, |value| grown(value) / value("packet_bytes")),
    );
    let rank = |value: &dyn Fn(&str) -> f64| {
        let speed = value("batch_bytes") * 1e9 / value("batch_seal_ns");
        speed / (value("code_bytes") + 2.0 * grown(value) / value("packet_bytes"))
    };
    assert_is(line, "rank", of(samples, rank));
    if samples
        .iter()
        .all(|sample| sample.get("joules").is_some_and(|joules| *joules > 0.0))
    {
        let uj = |sample: &HashMap<String, f64>| sample["joules"] * 1e6 / sample["energy_bytes"];
        let mean = samples.iter().map(uj).sum::<f64>() / samples.len() as f64;
        let e_rank = line["e_rank"].parse::<f64>();
        // Where the interval of the energy holds 0 there is none.
        let expected = of(samples, rank)[0] / mean;
        assert!(e_rank.is_ok_and(|told| (told / expected - 1.0).abs() < 1e-6) || line["e_rank"].is_empty());
    }
    1
}

#[test]
#[cfg(target_arch = "x86_64")]
fn aes_without_the_processors_instructions_is_measured_beside_and_still_right() {
    let left = Left::by(&["ciphers", "--quick", "--only", "aes-128-gcm,rc4/words,instructions"]);
    assert_eq!(left.turns.len(), 3, "AES-GCM, once a round, and not RC4: {}", left.said);
    // Each of both processes held itself to the published values first.
    for sample in left.samples("instructions", "aes-128-gcm/aws-lc-rs") {
        let [on, off] = ["on_mb_per_s", "off_mb_per_s"].map(|name| sample[name]);
        assert!(on > 0.0 && off > 0.0, "{sample:?}");
        assert!((sample["times_as_fast"] / (on / off) - 1.0).abs() < 1e-9, "{sample:?}");
    }
}

#[test]
fn a_run_that_was_killed_goes_on_with_the_turns_that_it_had() {
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
    while record(folder.path()).len() < 20 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    run.kill().expect("it runs still");
    run.wait().expect("it was ours");
    let before = record(folder.path());
    assert!(before.len() >= 20, "{} lines in two minutes", before.len());

    let round = |turn: &Value| turn["round"].as_u64().expect("a number");
    let rounds = before[1..].iter().map(round).max().expect("turns") + 2;
    let (code, said) = lab(&[&arguments[..], &[&rounds.to_string()]].concat(), Some(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains(&format!("{} of ", before.len() - 1)),
        "turns in the record: {said}"
    );
    let after = record(folder.path());
    assert_eq!(after[..before.len()], before);
    let key = |turn: &Value| format!("{} {} {}", turn["round"], turn["case"], turn["system"]);
    let mut keys: Vec<String> = after[1..].iter().map(key).collect();
    keys.sort();
    let count = keys.len();
    keys.dedup();
    assert_eq!(keys.len(), count, "each turn once");
    let of_round = |number: u64| after[1..].iter().filter(move |turn| round(turn) == number);
    // The first round drops what it found too slow, which on a busy machine can be any of them.
    let dropped = of_round(0).filter(|turn| turn["sample"]["last"] == true).count();
    assert_eq!(of_round(0).count() - dropped, of_round(rounds - 1).count());
}

#[test]
fn frames_of_an_mp4_file_are_enciphered_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let clip = media::clip(media::STREET, folder.path());
    let only = "xor/definition,h264-frames";
    let left = Left::by(&[
        "ciphers",
        "--quick",
        "--rounds",
        "1",
        "--only",
        only,
        "--clip",
        media::path(&clip),
    ]);
    assert_eq!(left.fact("frames"), media::path(&clip));
    let mut ffprobe = media::tool("ffprobe");
    ffprobe.args(["-v", "error", "-select_streams", "v", "-read_intervals", "%+#25"]);
    ffprobe
        .args(["-show_entries", "packet=size", "-of", "csv=p=0"])
        .arg(&clip);
    let sizes = String::from_utf8(ffprobe.output().expect("ffprobe").stdout).expect("text");
    let sizes: Vec<usize> = sizes.lines().map(|line| line.parse().expect("a size")).collect();
    let mut words = left.fact("h264-frames").split(' ');
    let (packets, bytes) = (words.next(), words.nth(1));
    assert_eq!((packets, sizes.len()), (Some("25"), 25));
    // Parameter sets stand beside the packets of an MP4 and in the frames here.
    let ours: f64 = bytes.and_then(|bytes| bytes.parse().ok()).expect("a number");
    let theirs = sizes.iter().sum::<usize>() as f64;
    assert!(
        (theirs..theirs + 25.0 * 100.0).contains(&ours),
        "{ours} bytes, {theirs} in the file"
    );
    let sample = &left.samples("h264-frames", "xor/definition")[0];
    assert!((sample["packet_bytes"] - ours / 25.0).abs() < 1e-9, "{sample:?}");
}

#[test]
fn a_run_goes_on_with_more_rounds_and_another_one_does_not_take_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let rounds = |count: &str, only: &str| {
        let arguments = ["ciphers", "--quick", "--only", only, "--rounds", count];
        lab(&arguments, Some(folder.path()))
    };
    let (code, said) = rounds("1", "rabbit,1200-bytes");
    assert_eq!(code, Some(0), "{said}");
    let first = record(folder.path());
    let (code, said) = rounds("2", "rabbit,1200-bytes");
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("round 1, "), "{said}");
    let both = record(folder.path());
    assert_eq!(
        (both.len() - 1, &both[..first.len()]),
        (2 * (first.len() - 1), &first[..])
    );

    let (code, said) = rounds("2", "rc4,1200-bytes");
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("another definition") && record(folder.path()) == both,
        "{said}"
    );
}

#[test]
fn energy_is_read_from_the_meter_that_is_named() {
    let counter = Counter::start(5.0);
    let folder = tempfile::tempdir().expect("a folder");
    let meter = format!("rapl:{}", counter.tree().display());
    let only = "rabbit,h264-frames,15-bytes";
    let arguments = ["ciphers", "--quick", "--only", only, "--rounds", "1", "--meter"];
    let (code, said) = lab(&[&arguments[..], &[&meter]].concat(), Some(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("energy: rapl: processor packages"), "{said}");
    let turns = record(folder.path()).split_off(1);
    for turn in turns {
        let sample = &turn["sample"];
        if turn["case"] == "15-bytes" {
            assert!(
                sample["values"]["joules"].is_null(),
                "not one of the metered cases: {turn}"
            );
            continue;
        }
        // A machine that is busy may not read the counter for too long, which is said then.
        if sample["lacks"].is_null() {
            let value = |name: &str| sample["values"][name].as_f64().expect(name);
            assert!(
                value("idle_watts") > 0.0 && value("energy_bytes") > value("energy_packets"),
                "{turn}"
            );
            let per_byte = value("joules") * 1e6 / value("energy_bytes");
            assert!(
                (value("uj_per_byte") - per_byte).abs() <= 1e-9 * per_byte.abs(),
                "{turn}"
            );
        } else {
            assert!(
                sample["lacks"][0].as_str().is_some_and(|why| why.starts_with("energy")),
                "{turn}"
            );
        }
    }

    let (code, said) = lab(&[&arguments[..], &["none"]].concat(), Some(folder.path()));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("another definition"), "{said}");
    let (code, said) = lab(
        &["ciphers", "--quick", "--rounds", "3", "--meter", "rapl:/nonexistent"],
        None,
    );
    assert!(
        code == Some(3) && said.contains("no energy counter in /nonexistent"),
        "{said}"
    );
}

#[test]
fn a_definition_of_ones_own_names_implementations_and_lengths() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.toml");
    let own = "experiment = \"ciphers\"\ntitle = \"Mine\"\nasks = \"?\"\ndisproved_by = \"!\"\nrounds = 1\n\
        seconds = 0.004\n[settings]\nclip = \"\"\nmeter = \"none\"\nmetered = []\nenergy_seconds = 1.0\n\
        idle_seconds = 0.5\npatience_seconds = 60.0\nguesses_per_second = 1e12\n[[case]]\nname = \"77\"\n\
        kind = \"packets\"\nbytes = 77\n[[system]]\nname = \"rc4/words\"\n[[system]]\nname = \"trivium/words\"\n";
    std::fs::write(&file, own).expect("a file");
    let left = Left::by(&["run", file.to_str().expect("UTF-8")]);
    let systems: Vec<[&str; 3]> = left
        .table
        .iter()
        .map(|line| ["case", "system", "key_bits"].map(|column| &*line[column]))
        .collect();
    assert_eq!(systems, [["77", "rc4/words", "128"], ["77", "trivium/words", "80"]]);

    std::fs::write(&file, own.replace("rc4/words", "rc4/avx2")).expect("a file");
    let (code, said) = lab(&["run", file.to_str().expect("UTF-8")], None);
    assert!(
        code == Some(2) && said.contains("there is no cipher `rc4/avx2`"),
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
