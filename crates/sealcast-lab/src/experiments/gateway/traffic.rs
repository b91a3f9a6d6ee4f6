//! One measurement: sends frames at their times and records their arrival.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::Random;

use super::load::Load;
use super::packet::{self, Frame, since};
use super::paths::{PacketReceiver, PacketSender, Paths};
use crate::harness::process::{Stop, stopped};
use crate::harness::processor;
use crate::harness::scheduling;

/// Duration of the warm-up, which also finds out if anything comes through.
const WARM_UP: Duration = Duration::from_millis(300);
/// Longest wait for packets that are in flight after the last frame.
const DRAIN: Duration = Duration::from_millis(500);
/// Poll interval while waiting for them.
const LOOK: Duration = Duration::from_millis(5);

/// The result of one measurement.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// The delay of each frame that arrived, in nanoseconds, sorted.
    pub(super) delays: Vec<u64>,
    pub(super) packets: u64,
    pub(super) arrived: u64,
    /// Processor time of all programs on the path.
    pub(super) cpu: Duration,
    pub(super) elapsed: Duration,
}

/// Sends a load through the paths for `time`, after a warm-up.
pub(super) fn send_load(paths: &mut Paths, load: &Load, time: Duration, stop: Stop<'_>) -> Result<Outcome> {
    carry(paths, load, WARM_UP, stop)?;
    run(paths, load, time, stop)
}

/// Sends a load through the paths for `time`.
///
/// # Errors
/// Nothing comes through.
pub(super) fn carry(paths: &mut Paths, load: &Load, time: Duration, stop: Stop<'_>) -> Result<Outcome> {
    let outcome = run(paths, load, time, stop)?;
    match outcome.arrived {
        0 => Err(broken(&"no packet came out")),
        _ => Ok(outcome),
    }
}

fn broken(error: &dyn std::fmt::Display) -> Failure {
    let what = format!("nothing comes through ({error})");
    Failure::new(FailureKind::Network, what, "see whether it works by itself")
}

fn run(paths: &mut Paths, load: &Load, time: Duration, stop: Stop<'_>) -> Result<Outcome> {
    let before = processor::time_of_all(&paths.processes)?;
    let (epoch, began) = (paths.epoch, Instant::now());
    let begin = since(epoch);
    let camera_paths = paths.camera_paths.iter_mut();
    let (mut senders, receivers): (Vec<&mut PacketSender>, Vec<&mut PacketReceiver>) =
        camera_paths.map(|path| (&mut path.sender, &mut path.receiver)).unzip();
    let (over, arrived) = (AtomicBool::new(false), AtomicU64::new(0));
    let done = thread::scope(|scope| {
        let receive = |receiver| scope.spawn(|| receive(receiver, epoch, begin, &over, &arrived));
        let receiving: Vec<_> = receivers.into_iter().map(receive).collect();
        let sending = scope.spawn(|| send(&mut senders, load, epoch, time, stop));
        let sent = sending
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
        let elapsed = began.elapsed();
        let drained = Instant::now();
        let all = *sent.as_ref().unwrap_or(&0);
        while arrived.load(Ordering::Relaxed) < all && drained.elapsed() < DRAIN {
            thread::sleep(LOOK);
        }
        over.store(true, Ordering::Relaxed);
        let mut delays = Vec::new();
        for receiver in receiving {
            let came = receiver.join();
            delays.extend(came.unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))?);
        }
        Ok::<_, io::Error>((sent?, delays, elapsed))
    });
    if stop.load(Ordering::Relaxed) {
        return Err(stopped());
    }
    let (packets, mut delays, elapsed) = done.map_err(|error| broken(&error))?;
    delays.sort_unstable();
    Ok(Outcome {
        delays,
        packets,
        arrived: arrived.into_inner(),
        cpu: processor::time_of_all(&paths.processes)?.saturating_sub(before),
        elapsed,
    })
}

/// Sends for `time`; returns the number of packets.
fn send(
    senders: &mut [&mut PacketSender],
    load: &Load,
    epoch: Instant,
    time: Duration,
    stop: Stop<'_>,
) -> io::Result<u64> {
    scheduling::raise_priority();
    // A fixed seed: every system gets the same frames.
    let mut random = Random::new(1);
    let begin = epoch.elapsed();
    let phases = load.phases(&mut random);
    let mut packets = 0;
    for number in 0.. {
        let began = Duration::from_secs(1) * number / load.rate;
        for &(phase, camera) in &phases {
            let due = begin + began + phase;
            if due >= begin + time || stop.load(Ordering::Relaxed) {
                return Ok(packets);
            }
            scheduling::wait_until(epoch, due, load.precise());
            let frame = Frame::now(load.draw(&mut random), load.bytes, epoch);
            senders[camera].send(&frame)?;
            packets += frame.packets as u64;
        }
    }
    Ok(packets)
}

/// Receives frames sent from `begin` on until the measurement is over; returns the delays of complete frames.
fn receive(
    receiver: &mut PacketReceiver,
    epoch: Instant,
    begin: u64,
    over: &AtomicBool,
    arrived: &AtomicU64,
) -> io::Result<Vec<u64>> {
    scheduling::raise_priority();
    let (mut delays, mut left) = (Vec::new(), None);
    while !over.load(Ordering::Relaxed) {
        receiver.receive(|bytes| {
            let now = since(epoch);
            let Some(seen) = packet::read(bytes).filter(|seen| seen.stamp.is_none_or(|left| left >= begin)) else {
                return;
            };
            arrived.fetch_add(1, Ordering::Relaxed);
            left = seen.stamp.or(left);
            if seen.last {
                delays.extend(left.take().map(|left| now.saturating_sub(left)));
            }
        })?;
    }
    Ok(delays)
}
