//! What carrying datagrams costs: CPU time of both ends on the loopback interface, with and without the kernel cutting
//! up and joining runs. `cargo bench -p sealcast --bench datagrams [-- SECONDS]`

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sealcast::meter::resources::thread_cpu_time;
use sealcast::transport::udp::{DatagramSocket, Path, Runs};

/// Bytes of a datagram on a path of which nothing is known.
const DATAGRAM: usize = 1200;
/// Datagrams of one frame: 4 Mbit/s and 30 frames a second have 14, a keyframe of the same stream some 100.
const FRAME: usize = 100;
/// Bytes on their way at most, when the sender waits for the receiver.
const WINDOW: u64 = 1 << 20;
/// How long each way of sending is measured if nothing is said.
const SECONDS: u64 = 2;
/// What a thread that has nothing to do waits.
const IDLE: Duration = Duration::from_micros(20);

#[derive(Clone, Copy)]
struct Setting {
    name: &'static str,
    /// Datagrams handed over with one call.
    run: usize,
    /// Whether the receiver takes what the kernel joined, in batches.
    joined: bool,
    /// Whether the sender waits for the receiver.
    waits: bool,
}

const SETTINGS: [Setting; 5] = [
    Setting {
        name: "runs, joined",
        run: FRAME,
        joined: true,
        waits: true,
    },
    Setting {
        name: "runs of 14, joined",
        run: 14,
        joined: true,
        waits: true,
    },
    Setting {
        name: "runs, one by one",
        run: FRAME,
        joined: false,
        waits: true,
    },
    Setting {
        name: "single, in batches",
        run: 1,
        joined: true,
        waits: true,
    },
    Setting {
        name: "runs, joined, no waiting",
        run: FRAME,
        joined: true,
        waits: false,
    },
];

#[derive(Default)]
struct Shared {
    sent: AtomicU64,
    received: AtomicU64,
    stop: AtomicBool,
}

fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

/// Send frames until time is up; CPU time taken.
fn send(to: SocketAddr, setting: Setting, shared: &Shared, time: Duration) -> Duration {
    runtime().block_on(async {
        let socket = DatagramSocket::bind(([127, 0, 0, 1], 0).into()).expect("a socket");
        let frame = vec![0x5A; FRAME * DATAGRAM];
        let (began, cpu) = (Instant::now(), thread_cpu_time());
        while began.elapsed() < time {
            let on_the_way = shared.sent.load(Ordering::Relaxed) - shared.received.load(Ordering::Relaxed);
            if setting.waits && on_the_way > WINDOW {
                thread::sleep(IDLE);
                continue;
            }
            for run in frame.chunks(setting.run * DATAGRAM) {
                let mut done = 0;
                while done < run.len() {
                    done += socket.try_send_run(Path::to(to), &run[done..], DATAGRAM).bytes;
                    if done < run.len() {
                        socket.writable().await;
                    }
                }
            }
            shared.sent.fetch_add(frame.len() as u64, Ordering::Relaxed);
        }
        thread_cpu_time() - cpu
    })
}

/// Receive until told to stop; CPU time taken.
fn receive(socket: std::net::UdpSocket, shared: &Shared, joined: bool) -> Duration {
    runtime().block_on(async {
        let cpu = thread_cpu_time();
        if joined {
            let address = socket.local_addr().expect("bound");
            drop(socket);
            let socket = DatagramSocket::bind(address).expect("the address is free again");
            let mut runs = Runs::for_socket();
            while !shared.stop.load(Ordering::Relaxed) {
                if tokio::time::timeout(IDLE * 1000, socket.readable()).await.is_err() {
                    continue;
                }
                runs.receive(&socket).expect("the socket works");
                let mut bytes = 0;
                while let Some((_, datagram)) = runs.next() {
                    assert_eq!(datagram.len(), DATAGRAM);
                    bytes += std::hint::black_box(datagram).len() as u64;
                }
                shared.received.fetch_add(bytes, Ordering::Relaxed);
            }
        } else {
            socket
                .set_read_timeout(Some(IDLE * 1000))
                .expect("an option of all systems");
            let mut room = [0; DATAGRAM];
            while !shared.stop.load(Ordering::Relaxed) {
                if let Ok((length, _)) = socket.recv_from(&mut room) {
                    shared.received.fetch_add(length as u64, Ordering::Relaxed);
                }
            }
        }
        thread_cpu_time() - cpu
    })
}

fn main() {
    let typed = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    // `cargo test` runs benchmarks too, with this argument missing: a moment is enough to know that it works.
    let time = if std::env::args().any(|argument| argument == "--bench") {
        Duration::from_secs(typed.unwrap_or(SECONDS))
    } else {
        Duration::from_millis(50)
    };
    println!(
        "{:26} {:>9} {:>14} {:>14} {:>7}",
        "datagrams of 1200 bytes", "Gbit/s", "sender/core", "receiver/core", "lost"
    );
    for setting in SETTINGS {
        let shared = Arc::new(Shared::default());
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket2::SockRef::from(&socket)
            .set_recv_buffer_size(8 << 20)
            .expect("an option of all systems");
        let to = socket.local_addr().expect("bound");
        let receiver = thread::spawn({
            let shared = Arc::clone(&shared);
            move || receive(socket, &shared, setting.joined)
        });
        thread::sleep(Duration::from_millis(50));
        let began = Instant::now();
        let sender_cpu = send(to, setting, &shared, time);
        let elapsed = began.elapsed();
        thread::sleep(Duration::from_millis(100));
        shared.stop.store(true, Ordering::Relaxed);
        let receiver_cpu = receiver.join().expect("the receiver works");
        let (sent, received) = (
            shared.sent.load(Ordering::Relaxed),
            shared.received.load(Ordering::Relaxed),
        );
        let rate = |bytes: u64, time: Duration| bytes as f64 * 8e-9 / time.as_secs_f64();
        println!(
            "{:26} {:9.2} {:14.1} {:14.1} {:6.2}%",
            setting.name,
            rate(received, elapsed),
            rate(sent, sender_cpu),
            rate(received, receiver_cpu),
            100.0 - received as f64 * 100.0 / sent as f64
        );
    }
}
