//! boringtun: WireGuard in user space, between two network namespaces joined by a veth pair.

use std::fs::File;
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use sealcast::failure::{Failure, FailureKind, Result};

use super::carried::{Carried, Sending};
use super::carrier::DATAGRAM;
use super::stunnel::{LOOK, Running, START_PATIENCE};
use crate::harness::processor;
use crate::net::namespace::{Namespace, ip, usable};

/// Rates to try, in Mbit/s.
const RATES: [u64; 9] = [300, 450, 600, 800, 1000, 1250, 1500, 1900, 2400];
/// Interval between bursts of datagrams.
const BURST: Duration = Duration::from_millis(1);
/// Wait after the last burst for datagrams in flight.
const DRAIN: Duration = Duration::from_millis(100);
/// Length of the tunnel device's queue in packets.
const DEVICE_QUEUE: &str = "5000";
/// Private and public X25519 keys of both ends; not secret, since they protect only test data.
const KEYS: [[&str; 2]; 2] = [
    [
        "5858585858585858585858585858585858585858585858585858585858585858",
        "4c851fc5046a9493c0698d9ab7da0376bbb9deb6dbfcedc4dc887b5ffa279a6b",
    ],
    [
        "6060606060606060606060606060606060606060606060606060606060606060",
        "199bea70e109c6967244583589615474eb7042a0e8d2ca6ccd8f56c086621f06",
    ],
];
/// The addresses at which datagrams enter and leave.
const ENDS: [&str; 2] = ["10.78.0.1:5001", "10.78.0.2:5001"];
/// The port of both ends of the tunnel.
const PORT: u16 = 51_820;

/// Both ends, and the best rate found.
pub(crate) struct Tunnel {
    // Fields are dropped in this order: the programs must end before their namespaces.
    programs: [Running; 2],
    spaces: [Namespace; 2],
    /// In Mbit/s.
    rate: Option<u64>,
}

impl Tunnel {
    pub(crate) fn start(program: &str) -> Result<Self> {
        usable()?;
        let pid = std::process::id();
        let spaces = [
            Namespace::create(format!("tunnel-{pid}-a"))?,
            Namespace::create(format!("tunnel-{pid}-b"))?,
        ];
        let wires = [format!("sw{pid}a"), format!("sw{pid}b")];
        ip(&["link", "add", &wires[0], "type", "veth", "peer", "name", &wires[1]])?;
        for (at, space) in spaces.iter().enumerate() {
            ip(&["link", "set", &wires[at], "netns", &space.name])?;
            space.ip(&["addr", "add", &format!("10.79.0.{}/24", at + 1), "dev", &wires[at]])?;
            space.ip(&["link", "set", &wires[at], "up"])?;
        }
        let device = |at: usize| format!("st{pid}{}", ["a", "b"][at]);
        let run = |at: usize| {
            let mut command = Command::new("ip");
            command.args([
                "netns",
                "exec",
                &spaces[at].name,
                program,
                "--foreground",
                "--disable-drop-privileges",
            ]);
            command.args(["--log", "/dev/null", &device(at)]);
            Running::start(&mut command)
        };
        let mut programs = [run(0)?, run(1)?];
        for (at, space) in spaces.iter().enumerate() {
            configure(&device(at), at, &mut programs[at]).map_err(|error| {
                let what = format!("`{program}` takes no configuration ({error})");
                Failure::new(
                    FailureKind::Usage,
                    what,
                    "install it with `cargo install boringtun-cli`",
                )
            })?;
            space.ip(&["addr", "add", &format!("10.78.0.{}/24", at + 1), "dev", &device(at)])?;
            space.ip(&[
                "link",
                "set",
                &device(at),
                "mtu",
                "1420",
                "txqueuelen",
                DEVICE_QUEUE,
                "up",
            ])?;
        }
        let tunnel = Self {
            programs,
            spaces,
            rate: None,
        };
        let trial = Sending {
            time: Duration::from_millis(200),
            stop: &AtomicBool::new(false),
        };
        tunnel.send(RATES[0], trial)?;
        Ok(tunnel)
    }

    /// The ids of both processes.
    pub(crate) fn processes(&self) -> [u32; 2] {
        [self.programs[0].id(), self.programs[1].id()]
    }

    /// A socket that sends into the tunnel, and the socket at the exit.
    pub(crate) fn sockets(&self) -> std::io::Result<[UdpSocket; 2]> {
        let made = |at: usize| {
            // A thread of its own, since the thread that makes the socket moves to the namespace for good.
            let socket = thread::scope(|scope| scope.spawn(|| socket_in(&self.spaces[at], ENDS[at])).join());
            socket.unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked")))
        };
        let [from, to] = [made(0)?, made(1)?];
        from.connect(ENDS[1])?;
        Ok([from, to])
    }

    /// Sends at the best rate, which the first call finds. Processor time is that of its two processes alone.
    pub(super) fn carry(&mut self, sending: Sending<'_>) -> Result<Carried> {
        let rate = match self.rate {
            Some(rate) => rate,
            None => self.search(sending)?,
        };
        self.rate = Some(rate);
        self.send(rate, sending)
    }

    fn cpu(&self) -> Result<Duration> {
        processor::time_of_all(&self.processes())
    }

    /// Sends datagrams through the tunnel at `rate` Mbit/s.
    fn send(&self, rate: u64, sending: Sending<'_>) -> Result<Carried> {
        let before = self.cpu()?;
        let carried = through(&self.spaces, rate, sending).map_err(|error| {
            let what = format!("nothing comes through the tunnel ({error})");
            Failure::new(FailureKind::Network, what, "see whether boringtun works by itself")
        })?;
        Ok(Carried {
            cpu: self.cpu()?.saturating_sub(before),
            ..carried
        })
    }

    /// The rate with the highest throughput per processor time, regardless of losses: on a busy machine datagrams are
    /// lost at every rate.
    fn search(&self, sending: Sending<'_>) -> Result<u64> {
        let mut best = (0.0, RATES[0]);
        for rate in RATES {
            let per_core = self.send(rate, sending)?.per_core();
            if per_core > best.0 {
                best = (per_core, rate);
            }
        }
        Ok(best.1)
    }
}

/// Configures key and peer of the program at the device, in the configuration protocol of `wg`.
fn configure(device: &str, at: usize, running: &mut Running) -> std::io::Result<()> {
    let path = PathBuf::from(format!("/var/run/wireguard/{device}.sock"));
    let began = Instant::now();
    let mut socket = loop {
        match UnixStream::connect(&path) {
            Err(error) if began.elapsed() > START_PATIENCE => return Err(error),
            // `ip` ends at once if there is no such program.
            Err(_) if running.has_ended() => return Err(std::io::Error::other("it ends as soon as it is started")),
            Err(_) => thread::sleep(LOOK),
            Ok(socket) => break socket,
        }
    };
    let (own, peer) = (KEYS[at][0], KEYS[1 - at][1]);
    let endpoint = format!("10.79.0.{}:{PORT}", 2 - at);
    write!(
        socket,
        "set=1\nprivate_key={own}\nlisten_port={PORT}\npublic_key={peer}\nendpoint={endpoint}\n\
         allowed_ip=10.78.0.0/24\n\n"
    )?;
    let mut answer = [0; 64];
    let count = socket.read(&mut answer)?;
    if answer[..count].starts_with(b"errno=0") {
        Ok(())
    } else {
        Err(std::io::Error::other(String::from_utf8_lossy(&answer[..count]).trim()))
    }
}

/// A socket in a namespace: the calling thread moves there for good.
fn socket_in(space: &Namespace, address: &str) -> std::io::Result<UdpSocket> {
    let file = File::open(format!("/run/netns/{}", space.name))?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
    let socket = UdpSocket::bind(address)?;
    // The default holds little more than a burst. The kernel reduces the value to its limit.
    let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 8 << 20);
    Ok(socket)
}

fn through(spaces: &[Namespace; 2], rate: u64, sending: Sending<'_>) -> std::io::Result<Carried> {
    let (over, received) = (AtomicBool::new(false), AtomicU64::new(0));
    let panicked = |_| Err(std::io::Error::other("a thread panicked"));
    thread::scope(|scope| {
        let receiving = scope.spawn(|| -> std::io::Result<()> {
            let socket = socket_in(&spaces[1], ENDS[1])?;
            socket.set_read_timeout(Some(LOOK))?;
            let mut room = [0; 2 * DATAGRAM];
            while !over.load(Ordering::Relaxed) {
                if let Ok(count) = socket.recv(&mut room) {
                    received.fetch_add(count as u64, Ordering::Relaxed);
                }
            }
            Ok(())
        });
        let sender = scope.spawn(|| {
            let socket = socket_in(&spaces[0], ENDS[0])?;
            socket.connect(ENDS[1])?;
            pour(&socket, rate, sending)
        });
        let sent = sender.join().unwrap_or_else(panicked);
        thread::sleep(DRAIN);
        over.store(true, Ordering::Relaxed);
        receiving
            .join()
            .unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked")))?;
        let (sent, elapsed) = sent?;
        let bytes = received.load(Ordering::Relaxed);
        if bytes == 0 {
            return Err(std::io::Error::other("no datagram arrived"));
        }
        let arrived = bytes / DATAGRAM as u64;
        Ok(Carried {
            bytes,
            elapsed,
            cpu: Duration::ZERO,
            sent,
            lost: sent.saturating_sub(arrived),
        })
    })
}

/// Sends at `rate` Mbit/s; returns the number of datagrams and the time taken.
fn pour(socket: &UdpSocket, rate: u64, sending: Sending<'_>) -> std::io::Result<(u64, Duration)> {
    let datagram = [0x5A; DATAGRAM];
    let began = Instant::now();
    let mut sent = 0;
    loop {
        let elapsed = began.elapsed();
        if !sending.goes_on(began) {
            return Ok((sent, elapsed));
        }
        let due = rate * u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX) / (8 * DATAGRAM as u64);
        while sent < due {
            // A datagram that does not fit the device's queue counts as lost.
            let _ = socket.send(&datagram);
            sent += 1;
        }
        thread::sleep(BURST);
    }
}
