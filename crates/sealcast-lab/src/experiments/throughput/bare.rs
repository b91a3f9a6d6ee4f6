//! The bare carriers, without encryption. The difference from them is the cost of a session.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::meter::resources::thread_cpu_time;
use sealcast::transport::udp::{DatagramSocket, Fragments, Path, Runs};

use super::carried::{Carried, Sending};
use super::carrier::{Carrier, DATAGRAM};

/// Datagrams sent with one system call.
const RUN: usize = 64;
/// Most bytes in flight, so that nothing is lost.
const CREDIT: u64 = 512 * 1024;
/// Sleep of an end that has nothing to do.
const IDLE: Duration = Duration::from_micros(20);
/// Read timeout of the receiver, after which it checks if the measurement is over.
const LOOK: Duration = Duration::from_millis(20);
/// Time limit for a connection to come through.
const ACCEPT_PATIENCE: Duration = Duration::from_secs(5);
/// Bytes written or read with one call on a stream.
const CHUNK: usize = 64 * 1024;

/// Fills a carrier without encryption.
pub(super) fn carry(carrier: Carrier, sending: Sending<'_>) -> Result<Carried> {
    match carrier {
        Carrier::Udp => datagrams(sending),
        Carrier::Tcp => {
            let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| broken(&error))?;
            let to = listener.local_addr().map_err(|error| broken(&error))?;
            stream(&listener, to, sending).map_err(|error| broken(&error))
        }
    }
}

fn broken(error: &std::io::Error) -> Failure {
    let what = format!("the loopback interface does not carry what is sent ({error})");
    Failure::new(
        FailureKind::Network,
        what,
        "see whether `lo` is up and sockets are to be had",
    )
}

#[derive(Default)]
struct Counts {
    sent: AtomicU64,
    received: AtomicU64,
    over: AtomicBool,
}

fn datagrams(sending: Sending<'_>) -> Result<Carried> {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtimes = runtime().and_then(|sender| Ok((sender, runtime()?)));
    let (sender, receiver) = runtimes.map_err(|error| broken(&error))?;
    let bind = || DatagramSocket::bind(([127, 0, 0, 1], 0).into(), Fragments::Forbidden);
    let socket = receiver.block_on(async { bind() }).map_err(|error| broken(&error))?;
    let to = socket.local_address();
    let shared = Counts::default();
    let began = Instant::now();
    let (sent, received) = thread::scope(|scope| {
        let receiving = scope.spawn(|| receiver.block_on(receive(&socket, &shared)));
        let sent = sender.block_on(async {
            let socket = bind().map_err(|error| broken(&error))?;
            Ok(send(&socket, to, &shared, sending).await)
        });
        shared.over.store(true, Ordering::Relaxed);
        (sent, receiving.join())
    });
    let received =
        received.map_err(|_| Failure::new(FailureKind::Internal, "a thread panicked", "please report this"))?;
    let elapsed = began.elapsed();
    let (out, came) = (shared.sent.into_inner(), shared.received.into_inner());
    Ok(Carried {
        bytes: came,
        elapsed,
        cpu: sent? + received,
        sent: out / DATAGRAM as u64,
        lost: out.saturating_sub(came) / DATAGRAM as u64,
    })
}

/// Sends until the time is over; returns the processor time used.
async fn send(socket: &DatagramSocket, to: SocketAddr, shared: &Counts, sending: Sending<'_>) -> Duration {
    let run = vec![0x5A; RUN * DATAGRAM];
    let (began, cpu) = (Instant::now(), thread_cpu_time());
    while sending.goes_on(began) {
        let under_way = shared
            .sent
            .load(Ordering::Relaxed)
            .saturating_sub(shared.received.load(Ordering::Relaxed));
        if under_way > CREDIT {
            thread::sleep(IDLE);
            continue;
        }
        let mut done = 0;
        while done < run.len() {
            done += socket.try_send_run(Path::to(to), &run[done..], DATAGRAM).bytes;
            if done < run.len() {
                socket.writable().await;
            }
        }
        shared.sent.fetch_add(run.len() as u64, Ordering::Relaxed);
    }
    thread_cpu_time().saturating_sub(cpu)
}

/// Receives until the measurement is over; returns the processor time used.
async fn receive(socket: &DatagramSocket, shared: &Counts) -> Duration {
    let cpu = thread_cpu_time();
    let mut runs = Runs::for_socket();
    loop {
        let came = tokio::time::timeout(LOOK, socket.readable()).await.is_ok();
        if came && runs.receive(socket).is_ok() {
            let mut bytes = 0;
            while let Some((_, datagram)) = runs.next() {
                bytes += std::hint::black_box(datagram).len() as u64;
            }
            shared.received.fetch_add(bytes, Ordering::Relaxed);
        } else if shared.over.load(Ordering::Relaxed) {
            return thread_cpu_time().saturating_sub(cpu);
        }
    }
}

/// Writes to `to` until the time is over; the data arrives at `listener`, possibly through other programs.
pub(super) fn stream(listener: &TcpListener, to: SocketAddr, sending: Sending<'_>) -> std::io::Result<Carried> {
    thread::scope(|scope| {
        let reading = scope.spawn(|| -> std::io::Result<_> {
            let mut stream = accept(listener)?;
            let (mut room, mut bytes) = (vec![0; CHUNK], 0);
            let cpu = thread_cpu_time();
            loop {
                match stream.read(&mut room)? {
                    0 => return Ok((bytes, thread_cpu_time().saturating_sub(cpu))),
                    count => bytes += count as u64,
                }
            }
        });
        let mut stream = TcpStream::connect(to)?;
        let chunk = vec![0x5A; CHUNK];
        let (began, cpu) = (Instant::now(), thread_cpu_time());
        while sending.goes_on(began) {
            stream.write_all(&chunk)?;
        }
        drop(stream);
        let writer_cpu = thread_cpu_time().saturating_sub(cpu);
        let read = reading
            .join()
            .unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked")));
        let (bytes, reader_cpu) = read?;
        Ok(Carried {
            bytes,
            elapsed: began.elapsed(),
            cpu: writer_cpu + reader_cpu,
            sent: 0,
            lost: 0,
        })
    })
}

/// Accepts a connection with a time limit, since a program on the way may have failed.
pub(crate) fn accept(listener: &TcpListener) -> std::io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let began = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock && began.elapsed() < ACCEPT_PATIENCE => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
}
