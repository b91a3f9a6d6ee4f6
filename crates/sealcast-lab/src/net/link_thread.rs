//! One direction of the link: a thread that reads one device and writes to the other when packets are due.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::{Link, LinkCounts, LinkProfile, MAX_PACKET};
use tun_rs::SyncDevice;

use crate::harness::scheduling::{SPIN, raise_priority};

/// Most packets read in a row before other work is done.
const BATCH: usize = 64;

/// Upper end of the lateness histogram, in nanoseconds.
const MAX_LATENESS: u64 = 10_000_000_000;

/// Packet statistics of one direction.
#[derive(Clone, Debug)]
pub struct Report {
    /// Counters of the link.
    pub counts: LinkCounts,
    /// Packets that the kernel dropped before the link because this process did not read them in time. If there are
    /// any, a measurement says nothing about the profile.
    pub unread: u64,
    /// Packets that the receiving kernel refused, mostly because they were damaged.
    pub refused: u64,
    /// Lateness of deliveries in nanoseconds: the precision of the link.
    pub lateness: Histogram<u64>,
    /// The reason why the direction ended early.
    pub fault: Option<String>,
}

pub(super) struct LinkThread {
    shared: Arc<ThreadState>,
    thread: Option<JoinHandle<()>>,
}

struct ThreadState {
    epoch: Instant,
    stop: AtomicBool,
    /// Wakes the thread from its wait.
    wake: OwnedFd,
    /// Locked while packets are moved, not while the thread waits for them.
    state: Mutex<State>,
}

struct State {
    link: Link,
    refused: u64,
    lateness: Histogram<u64>,
    fault: Option<String>,
}

/// The next action of the thread.
enum Next {
    GoOn,
    /// Wait for a packet, or until this time.
    Wait(Option<Duration>),
}

impl LinkThread {
    pub(super) fn start(
        from: Arc<SyncDevice>,
        to: Arc<SyncDevice>,
        profile: LinkProfile,
        seed: u64,
        epoch: Instant,
    ) -> Result<Self> {
        let defect = |what: &str| Failure::new(FailureKind::Internal, what, "raise the limits on threads and files");
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let lateness = Histogram::new_with_bounds(1, MAX_LATENESS, 2);
        let shared = Arc::new(ThreadState {
            epoch,
            stop: AtomicBool::new(false),
            wake: wake.map_err(|_| defect("the system gives no event descriptor"))?,
            state: Mutex::new(State {
                link: Link::new(profile, seed),
                refused: 0,
                lateness: lateness.map_err(|_| defect("the histogram cannot be made"))?,
                fault: None,
            }),
        });
        let pumped = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("link".to_owned())
            .spawn(move || pumped.pump(&from, &to))
            .map_err(|_| defect("the system gives no thread"))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    pub(super) fn profile(&self) -> LinkProfile {
        self.shared.state().link.profile().clone()
    }

    pub(super) fn change(&self, profile: LinkProfile) {
        let now = self.shared.epoch.elapsed();
        self.shared.state().link.set_profile(now, profile);
        self.shared.wake();
    }

    pub(super) fn report(&self) -> Report {
        let state = self.shared.state();
        Report {
            counts: state.link.counts(),
            unread: 0,
            refused: state.refused,
            lateness: state.lateness.clone(),
            fault: state.fault.clone(),
        }
    }
}

impl Drop for LinkThread {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.wake();
        if let Some(thread) = self.thread.take() {
            // A panic was already printed where it happened.
            let _ = thread.join();
        }
    }
}

impl ThreadState {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // This fails only if the counter is at its limit, and then the thread wakes anyway.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    fn pump(&self, from: &SyncDevice, to: &SyncDevice) {
        // If this fails, the link is less precise, which the report shows.
        raise_priority();
        let mut buffer = vec![0; MAX_PACKET];
        while !self.stop.load(Ordering::Relaxed) {
            let moved = self.state().move_packets(self.epoch, from, to, &mut buffer);
            let waited = match moved {
                Ok(Next::GoOn) => Ok(()),
                Ok(Next::Wait(until)) => self.wait(from, until),
                Err(error) => Err(error),
            };
            if let Err(error) = waited {
                self.state().fault = Some(format!("the link's device is gone ({error})"));
                return;
            }
        }
    }

    /// Waits until there is a packet to read, until `wake` is written, or until shortly before `until`.
    fn wait(&self, from: &SyncDevice, until: Option<Duration>) -> io::Result<()> {
        let timeout = until.map(|until| until.saturating_sub(self.epoch.elapsed()).saturating_sub(SPIN));
        if timeout.is_some_and(|timeout| timeout.is_zero()) {
            std::hint::spin_loop();
            return Ok(());
        }
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs().cast_signed(),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let mut descriptors = [PollFd::new(from, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // If there is nothing to read, nobody has written to `wake`.
        let _ = rustix::io::read(&self.wake, &mut [0_u8; 8]);
        Ok(())
    }
}

impl State {
    fn move_packets(
        &mut self,
        epoch: Instant,
        from: &SyncDevice,
        to: &SyncDevice,
        buffer: &mut [u8],
    ) -> io::Result<Next> {
        for _ in 0..BATCH {
            self.hand_over(epoch.elapsed(), to);
            match from.recv(buffer) {
                Ok(length) => self.link.send(epoch.elapsed(), &buffer[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(Next::Wait(self.link.next_delivery()));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Next::GoOn)
    }

    fn hand_over(&mut self, now: Duration, to: &SyncDevice) {
        while let Some(due) = self.link.next_delivery().filter(|due| *due <= now) {
            let Some(packet) = self.link.deliver(now) else { return };
            let late = u64::try_from((now - due).as_nanos()).unwrap_or(u64::MAX);
            self.lateness.saturating_record(late);
            if to.send(&packet).is_err() {
                self.refused += 1;
            }
        }
    }
}
