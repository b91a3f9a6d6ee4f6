//! A flood of datagrams from strangers takes no memory. The test is alone in its process, since it measures the memory
//! of the process.

use std::net::UdpSocket;
use std::time::Instant;

use sealcast::meter::labels::{DatagramRefusal, DoorAnswer};
use sealcast::meter::metrics::Metrics;
use sealcast::transport::udp::listen;
use sealcast_testkit::udp::{PATIENCE, fragment, knock, metrics, record, responder};

const DATAGRAMS: u64 = 100_000;
/// Growth in bytes that is no leak: that of the allocator and the runtime's threads.
const NOISE: u64 = 2 * 1024 * 1024;

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("a process has memory");
    let kilobytes = line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number");
    kilobytes * 1024
}

fn looked_at(counts: &Metrics) -> u64 {
    let refused: u64 = DatagramRefusal::ALL
        .iter()
        .map(|&reason| counts.datagrams_refused_for(reason))
        .sum();
    refused + counts.door_answers(DoorAnswer::Cookie)
}

/// Waits until `datagrams` datagrams were processed.
fn wait_for(counts: &Metrics, datagrams: u64) {
    let deadline = Instant::now() + PATIENCE;
    while looked_at(counts) < datagrams {
        assert!(Instant::now() < deadline, "{} of {datagrams}", looked_at(counts));
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_strangers_take_no_memory() {
    let counts = metrics();
    let address = "127.0.0.1:0".parse().expect("an address");
    let listener = listen(address, &responder(), counts.clone()).expect("a socket");
    let to = listener.local_address();
    let sockets: Vec<UdpSocket> = (0..200)
        .map(|host| UdpSocket::bind(format!("127.1.{}.1:0", host + 1)).expect("all of 127.0.0.0/8 is ours"))
        .collect();
    let mut sent = 0;
    let mut flood = |datagrams: u64| {
        let until = sent + datagrams;
        while sent < until {
            let socket = &sockets[(sent % 200) as usize];
            let connection = sent as u32;
            let datagram = match sent % 8 {
                0..5 => knock(connection),
                5 => fragment(connection, &[9; 16], &[1; 1000]),
                6 => record(connection, 1100),
                _ => vec![connection as u8; (connection % 90) as usize],
            };
            socket.send_to(&datagram, to).expect("sent");
            sent += 1;
            if sent % 50 == 0 {
                wait_for(&counts, sent - 50);
            }
        }
        wait_for(&counts, sent);
    };
    // Buffers are allocated with the first datagrams, so send some before measuring.
    flood(DATAGRAMS / 50);
    let before = resident();
    flood(DATAGRAMS);
    let grown = resident().saturating_sub(before);
    assert!(grown < NOISE, "{grown} bytes more");
    assert!(counts.door_answers(DoorAnswer::Cookie) > DATAGRAMS / 2);
    for reason in [
        DatagramRefusal::Stranger,
        DatagramRefusal::Unknown,
        DatagramRefusal::Malformed,
    ] {
        assert!(counts.datagrams_refused_for(reason) > 0, "{}", reason.name());
    }
    drop(listener);
}
