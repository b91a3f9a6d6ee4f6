//! Output and files of `sealcast-lab delay`, and the behaviour of its receiving end for packets of other senders.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use socket2::SockRef;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");
const PACKETS: u64 = 500;

/// Three media, each under no cipher and three others, in three rounds.
const MEDIA: [&str; 3] = ["text", "audio", "video"];
const CIPHERS: [&str; 4] = ["none", "xor", "rc4", "aes-128-ctr"];

/// The values of a medium under a cipher, one sample for each round.
fn samples<'a>(turns: &'a [Value], medium: &str, cipher: &str) -> Vec<&'a Value> {
    let own = turns
        .iter()
        .filter(|turn| turn["case"] == medium && turn["system"] == cipher);
    let mut own: Vec<_> = own.collect();
    own.sort_by_key(|turn| turn["round"].as_u64());
    assert_eq!(own.len(), 3, "three rounds: {medium} {cipher}");
    own.into_iter().map(|turn| &turn["sample"]["values"]).collect()
}

/// The median of the values that `of` returns for the three rounds.
fn median(of: impl Fn(usize) -> f64) -> f64 {
    let mut values = [of(0), of(1), of(2)];
    values.sort_by(f64::total_cmp);
    values[1]
}

#[test]
fn a_quick_run_has_growing_figures_of_every_cipher_and_medium_that_come_from_its_samples() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(LAB)
        .args(["delay", "--quick", "--rounds", "3", "--out"])
        .arg(folder.path())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let record = std::fs::read_to_string(folder.path().join("record.jsonl")).expect("a record");
    let lines = record.lines().skip(1);
    let turns: Vec<Value> = lines.map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(turns.len(), 3 * 3 * 4, "{said}");

    let mut table = csv::Reader::from_path(folder.path().join("table.csv")).expect("a table");
    let rows: Vec<BTreeMap<String, String>> = table.deserialize().map(|row| row.expect("a line")).collect();
    let order: Vec<_> = rows
        .iter()
        .map(|row| (row["case"].as_str(), row["system"].as_str()))
        .collect();
    let all = MEDIA
        .into_iter()
        .flat_map(|medium| CIPHERS.map(|cipher| (medium, cipher)));
    assert_eq!(order, all.collect::<Vec<_>>());
    for row in &rows {
        check_row(row, &turns);
    }
    let report = std::fs::read_to_string(folder.path().join("report.html")).expect("a report");
    assert_eq!(report.matches("<svg").count(), 3);
    assert!(!report.contains("src=") && !report.contains("href="), "one file");
    // A busy machine decides which kernel of RC4 is the fastest.
    let measured = |rc4| format!("implementations: none, xor/definition, rc4/{rc4}, aes-128-ctr/aws-lc-rs");
    let known = ["x86_64", "words"].map(measured);
    assert!(known.iter().any(|words| said.contains(words)), "{said}");
    assert!(
        said.contains("To find: sealcast-lab delay --rounds 7") && !said.contains("aes-128-ctr beside rc4: "),
        "three rounds find nothing: {said}"
    );
}

/// Every figure of a row is the median of its samples, and delays grow with the packets.
fn check_row(row: &BTreeMap<String, String>, turns: &[Value]) {
    let (medium, cipher) = (row["case"].as_str(), row["system"].as_str());
    let (own, bare) = (samples(turns, medium, cipher), samples(turns, medium, "none"));
    let parts = (1..10).map(|tenth| format!("_at_{tenth}0")).chain([String::new()]);
    let mut delays = Vec::new();
    for part in parts {
        let [delay, more] = ["delay_ms", "more_ms"].map(|name| format!("{name}{part}"));
        let number = |name: &str| row[name].parse::<f64>().expect(name);
        let came = |samples: &[&Value], round: usize| samples[round][&delay].as_f64().expect("it came");
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
        assert!(close(number(&delay), median(|round| came(&own, round))), "{row:?}");
        let [low, high] = ["low", "high"].map(|end| number(&format!("{delay}_{end}")));
        assert!(low <= number(&delay) && number(&delay) <= high, "{row:?}");
        match cipher {
            "none" => assert_eq!(row[&more], "", "{row:?}"),
            _ => {
                let wanted = median(|round| came(&own, round) - came(&bare, round));
                assert!(close(number(&more), wanted), "{row:?}");
            }
        }
        delays.push(number(&delay));
    }
    assert!(delays.is_sorted() && delays[9] > delays[0], "{row:?}");
    for count in ["lost", "foreign", "stalls"] {
        assert!(row[count].parse::<u64>().is_ok(), "{row:?}");
    }
}

#[test]
fn a_cipher_that_does_not_exist_is_named_and_seconds_are_refused() {
    for (arguments, words) in [
        (["--only", "rot13"], "there is no cipher `rot13`"),
        (["--seconds", "3"], "leave seconds out"),
    ] {
        let output = Command::new(LAB)
            .arg("delay")
            .args(arguments)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(words), "{said}");
    }
}

/// One end of a run of audio.
fn end(name: &str, cipher: &str) -> Command {
    let mut command = Command::new(LAB);
    command.args([
        name,
        "--packets",
        "500",
        "--bytes",
        "600",
        "--token",
        "7",
        "--cipher",
        cipher,
    ]);
    command
}

/// The receiving end alone.
struct Receiver {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    at: SocketAddr,
    /// Number of packets that it allows in transit.
    window: String,
}

impl Receiver {
    fn start(cipher: &str) -> Self {
        let mut child = end("delay-receive", cipher)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let first = lines.next().expect("a line").expect("text");
        let mut words = first.split(' ').skip(1);
        let at = words.next().expect("an address").parse().expect("an address");
        let window = words.next().expect("a window").to_owned();
        Self {
            child,
            lines,
            at,
            window,
        }
    }

    /// Closes its standard input. Returns the summary that it prints at its end.
    fn ended(mut self) -> Value {
        drop(self.child.stdin.take());
        let line = self.lines.next().expect("a line").expect("text");
        assert!(self.child.wait().expect("it ends").success(), "{line}");
        serde_json::from_str(line.strip_prefix("done ").expect("what came")).expect("JSON")
    }
}

/// Lets the sending end send all packets to `to`.
fn send(cipher: &str, to: SocketAddr, window: &str) {
    let to = to.to_string();
    let mut command = end("delay-send", cipher);
    let sent = command
        .args(["--window", window, "--to", &to])
        .output()
        .expect("it runs");
    assert!(sent.status.success() && sent.stdout.starts_with(b"done "), "{sent:?}");
}

#[test]
fn what_others_send_to_the_port_is_counted_and_disturbs_nothing() {
    let receiver = Receiver::start("rc4/definition");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let header = [7_u32.to_ne_bytes(), 3_u32.to_ne_bytes()].concat();
    // An empty packet, noise, a packet that is too long, and one with this run's header that is not encrypted.
    let forged = [&header[..], &[0; 600]].concat();
    for packet in [&[][..], &[7; 608], &[0; 9000], &forged] {
        socket.send_to(packet, receiver.at).expect("sent");
    }
    send("rc4/definition", receiver.at, &receiver.window);
    let done = receiver.ended();
    assert_eq!(
        (&done["packets"], &done["foreign"]),
        (&Value::from(PACKETS), &Value::from(4)),
        "{done}"
    );
}

#[test]
fn under_another_cipher_nothing_is_taken_for_received() {
    let receiver = Receiver::start("rc4/definition");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let header = 7_u32.to_ne_bytes();
    for number in 0..PACKETS as u32 {
        let packet = [&header[..], &number.to_ne_bytes(), &[5; 600]].concat();
        socket.send_to(&packet, receiver.at).expect("sent");
    }
    let done = receiver.ended();
    assert_eq!(
        (&done["packets"], &done["foreign"]),
        (&Value::from(0), &Value::from(PACKETS)),
        "{done}"
    );
    assert!(
        done["steps_ns"]
            .as_array()
            .is_some_and(|steps| steps.len() == 10 && steps.iter().all(Value::is_null))
    );
}

#[test]
fn packets_that_are_lost_are_counted_and_waited_for_no_longer_than_a_moment() {
    let receiver = Receiver::start("xor/definition");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    // The same buffer size as the receiver's, so that no other packets are lost.
    SockRef::from(&socket).set_recv_buffer_size(4 << 20).expect("room");
    let (at, to) = (socket.local_addr().expect("an address"), receiver.at);
    // A relay that drops every tenth packet and forwards the receiver's reports.
    let way = std::thread::spawn(move || {
        socket
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a socket option");
        let (mut sender, mut count, mut packet) = (None, 0_u64, [0; 2048]);
        while count < PACKETS {
            let (length, from) = socket.recv_from(&mut packet).expect("something comes");
            if from == to {
                socket
                    .send_to(&packet[..length], sender.expect("it has sent"))
                    .expect("sent");
                continue;
            }
            sender = Some(from);
            count += 1;
            if !count.is_multiple_of(10) {
                socket.send_to(&packet[..length], to).expect("sent");
            }
        }
    });
    send("xor/definition", at, &receiver.window);
    way.join().expect("everything was passed on");
    let done = receiver.ended();
    assert_eq!(
        (&done["packets"], &done["foreign"]),
        (&Value::from(PACKETS / 10 * 9), &Value::from(0)),
        "{done}"
    );
    assert!(done["steps_ns"][9].is_u64(), "{done}");
}
