//! Cost of carrying datagrams: CPU time of both ends on the loopback interface, with and without the kernel cutting up
//! and joining runs. `cargo bench -p sealcast --bench datagrams [-- SECONDS]`

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use sealcast::meter::build_info::BuildInfo;
use sealcast::meter::metrics::Metrics;
use sealcast::meter::resources::thread_cpu_time;
use sealcast::transport::Transport;
use sealcast::transport::udp::{DatagramSocket, Fragments, Path, Runs, connect_any, listen};
use sealcast_proto::wire::{MessageLength, write_framed};
use sealcast_testkit::udp::{knock, responder};

/// Bytes of a datagram on a path of which nothing is known.
const DATAGRAM: usize = 1200;
/// Datagrams of one frame: 4 Mbit/s and 30 frames a second have 14, a keyframe of the same stream some 100.
const FRAME: usize = 100;
/// Bytes on their way at most, when the sender waits for the receiver.
const WINDOW: u64 = 1 << 20;
/// Time for which each way of sending is measured if nothing is said.
const SECONDS: u64 = 2;
/// Pause of a thread that has nothing to do.
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

impl Shared {
    /// Bytes sent and received so far.
    fn bytes(&self) -> (u64, u64) {
        (self.sent.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed))
    }
}

fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

/// Send frames until time is up; CPU time taken.
fn send(to: SocketAddr, setting: Setting, shared: &Shared, time: Duration) -> Duration {
    runtime().block_on(async {
        let socket = DatagramSocket::bind(([127, 0, 0, 1], 0).into(), Fragments::Forbidden).expect("a socket");
        let frame = vec![0x5A; FRAME * DATAGRAM];
        let (began, cpu) = (Instant::now(), thread_cpu_time());
        while began.elapsed() < time {
            let (sent, received) = shared.bytes();
            if setting.waits && sent - received > WINDOW {
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
            let socket = DatagramSocket::bind(address, Fragments::Forbidden).expect("the address is free again");
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

/// The connection of the one session.
const CONNECTION: [u8; 4] = [0, 0, 0, 7];

/// Accept a session and take its datagrams until told to stop; CPU time taken, of the listener's reader too.
fn accept(port: &mpsc::Sender<u16>, shared: &Shared) -> Duration {
    runtime().block_on(async {
        let metrics = Metrics::new(BuildInfo::default());
        let mut listener = listen(([127, 0, 0, 1], 0).into(), &responder(), metrics).expect("a socket");
        port.send(listener.local_address().port()).expect("the sender waits");
        let (mut transport, _) = listener.accept().await.expect("the sender comes");
        let cpu = thread_cpu_time();
        while !shared.stop.load(Ordering::Relaxed) {
            if tokio::time::timeout(IDLE * 1000, transport.wait()).await.is_err() {
                continue;
            }
            let mut bytes = 0;
            while let Ok(Some(datagram)) = transport.message(MessageLength::Record) {
                bytes += std::hint::black_box(datagram).len() as u64;
            }
            shared.received.fetch_add(bytes, Ordering::Relaxed);
        }
        thread_cpu_time() - cpu
    })
}

/// Begin a session and send frames until time is up; CPU time taken.
fn begin(port: u16, shared: &Shared, time: Duration) -> Duration {
    runtime().block_on(async {
        let far = connect_any(&[([127, 0, 0, 1], port).into()], Metrics::new(BuildInfo::default()));
        let mut transport = far.expect("a socket").expect("this machine has the address");
        let knock = knock(u32::from_be_bytes(CONNECTION));
        write_framed(transport.outgoing(), &knock);
        let cookie = loop {
            transport.wait().await.expect("the socket works");
            if let Ok(Some(answer)) = transport.message(MessageLength::Record) {
                break answer[21..].to_vec();
            }
        };
        let fragment = [&CONNECTION[..], &[0x06], &cookie, &[0, 0, 1, 0]].concat();
        write_framed(transport.outgoing(), &fragment);
        transport.flush_now().expect("the socket works");
        let mut datagram = CONNECTION.to_vec();
        datagram.resize(DATAGRAM, 0x5A);
        let frame = datagram.repeat(FRAME);
        let (began, cpu) = (Instant::now(), thread_cpu_time());
        while began.elapsed() < time {
            let (sent, received) = shared.bytes();
            // A session's queue holds less than a socket's.
            if sent.saturating_sub(received) > WINDOW / 4 {
                thread::sleep(IDLE);
            } else if transport.send_packets(&frame, DATAGRAM).expect("the socket works") {
                shared.sent.fetch_add(frame.len() as u64, Ordering::Relaxed);
            } else {
                transport.wait().await.expect("the socket works");
            }
        }
        thread_cpu_time() - cpu
    })
}

fn measure_listener(time: Duration) {
    let shared = Arc::new(Shared::default());
    let (port, listening) = mpsc::channel();
    let receiver = thread::spawn({
        let shared = Arc::clone(&shared);
        move || accept(&port, &shared)
    });
    let sender_cpu = begin(listening.recv().expect("it listens"), &shared, time);
    thread::sleep(Duration::from_millis(100));
    shared.stop.store(true, Ordering::Relaxed);
    let receiver_cpu = receiver.join().expect("the receiver works");
    print_row("runs, through a listener", &shared, time, sender_cpu, receiver_cpu);
}

fn print_row(name: &str, shared: &Shared, elapsed: Duration, sender_cpu: Duration, receiver_cpu: Duration) {
    let (sent, received) = shared.bytes();
    // A session's first datagram belongs to no frame.
    let received = received.min(sent);
    let rate = |bytes: u64, time: Duration| bytes as f64 * 8e-9 / time.as_secs_f64();
    println!(
        "{:26} {:9.2} {:14.1} {:14.1} {:6.2}%",
        name,
        rate(received, elapsed),
        rate(sent, sender_cpu),
        rate(received, receiver_cpu),
        100.0 - received as f64 * 100.0 / sent as f64
    );
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
        print_row(setting.name, &shared, elapsed, sender_cpu, receiver_cpu);
    }
    measure_listener(time);
}
