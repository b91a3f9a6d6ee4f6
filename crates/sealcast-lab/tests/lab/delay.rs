//! Output and files of `sealcast-lab delay`, and the behaviour of its receiving end for packets of other senders.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use socket2::SockRef;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");
const PACKETS: u64 = 500;

fn record(folder: &Path) -> Value {
    let text = std::fs::read(folder.join("record.json")).expect("a record");
    serde_json::from_slice(&text).expect("JSON")
}

/// The median of three values.
fn median(mut values: Vec<f64>) -> f64 {
    assert_eq!(values.len(), 3, "three rounds");
    values.sort_by(f64::total_cmp);
    values[1]
}

/// The delays of a medium under a cipher at one step, by rounds.
fn delays(record: &Value, medium: &str, cipher: &str, step: usize) -> Vec<f64> {
    let samples = record["samples"].as_array().expect("samples").iter();
    let own = samples.filter(|sample| sample["medium"] == medium && sample["cipher"] == cipher);
    let mut own: Vec<_> = own.collect();
    own.sort_by_key(|sample| sample["round"].as_u64());
    own.iter()
        .map(|sample| sample["delays_ms"][step].as_f64().expect("it came"))
        .collect()
}

#[test]
fn a_quick_run_has_growing_figures_of_every_cipher_and_medium_that_come_from_its_samples() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(LAB)
        .args(["delay", "--quick", "--out"])
        .arg(folder.path())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let record = record(folder.path());
    assert!(
        record["samples"]
            .as_array()
            .is_some_and(|samples| samples.len() == 3 * 3 * 4),
        "{said}"
    );

    let mut table = csv::Reader::from_path(folder.path().join("table.csv")).expect("a table");
    let columns = table.headers().expect("a line of names").clone();
    let column = |name: &str| columns.iter().position(|column| column == name).expect("a column");
    let lines: Vec<csv::StringRecord> = table.records().map(|line| line.expect("a line")).collect();
    assert_eq!(lines.len(), 3 * 4 * 10);
    for (at, line) in lines.iter().enumerate() {
        let number = |name: &str| line[column(name)].parse::<f64>().expect("a number");
        let (medium, cipher) = (&line[column("medium")], &line[column("cipher")]);
        let own = delays(&record, medium, cipher, at % 10);
        let bare = delays(&record, medium, "none", at % 10);
        let more = own.iter().zip(&bare).map(|(own, bare)| own - bare).collect();
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
        assert!(
            close(number("delay_ms"), median(own)) && close(number("more_ms"), median(more)),
            "{line:?}"
        );
        assert!(number("delay_ms_low") <= number("delay_ms") && number("delay_ms") <= number("delay_ms_high"));
        assert!(number("delay_ms") > 0.0, "{line:?}");
    }
    for curve in lines.chunks(10) {
        let figures = |name: &str| {
            curve
                .iter()
                .map(|line| line[column(name)].parse().expect("a number"))
                .collect()
        };
        let (packets, delays): (Vec<f64>, Vec<f64>) = (figures("packets"), figures("delay_ms"));
        assert!(
            packets.is_sorted_by(|a, b| a < b) && delays.is_sorted() && delays[9] > delays[0],
            "{curve:?}"
        );
    }
    let report = std::fs::read_to_string(folder.path().join("report.html")).expect("a report");
    assert_eq!(report.matches("<svg").count(), 3);
    assert!(!report.contains("src=") && !report.contains("href="), "one file");
    let rc4 = if cfg!(target_arch = "x86_64") {
        "rc4/x86_64"
    } else {
        "rc4/words"
    };
    for cipher in ["none", "xor/definition", rc4, "aes-128-ctr/aws-lc-rs"] {
        assert!(
            report.contains(&format!("<td>audio, 600 bytes</td><td>{cipher}</td><td>500</td>")),
            "{cipher}"
        );
    }
}

#[test]
fn a_cipher_that_does_not_exist_is_named() {
    let output = Command::new(LAB)
        .args(["delay", "--only", "rot13"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("rot13"), "{said}");
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
        let mut child = Command::new(LAB)
            .args(["delay-receive", "--medium", "audio", "--cipher", cipher, "--token", "7"])
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
    let end = ["delay-send", "--medium", "audio", "--cipher", cipher, "--token", "7"];
    let arguments = end.into_iter().chain(["--window", window, "--to", &to]);
    let sent = Command::new(LAB).args(arguments).output().expect("it runs");
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
