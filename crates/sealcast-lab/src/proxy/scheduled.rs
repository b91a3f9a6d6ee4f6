//! A link whose packets a thread delivers when they are due.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sealcast_proto::sim::{Link, LinkCounts, LinkProfile, MAX_IN_FLIGHT, Random};

use super::{Direction, Links, Tap};

/// Longest sleep before checking if to stop.
pub(super) const LOOK_UP: Duration = Duration::from_millis(50);

/// One direction, shared by the thread that fills it and the thread that empties it.
pub(super) struct Scheduled {
    epoch: Instant,
    /// The tap that listens, and the direction that this is.
    tap: Option<(Tap, Direction)>,
    link: Mutex<Link>,
    /// Signals that the link's content or profile has changed.
    changed: Condvar,
    stop: AtomicBool,
    /// Nothing more is sent; stop once everything has been delivered.
    finished: AtomicBool,
}

/// Both directions of one client or connection.
pub(super) struct Pair {
    pub(super) up: Arc<Scheduled>,
    pub(super) down: Arc<Scheduled>,
}

impl Pair {
    /// Links with the profiles of `links`, each with a seed of its own.
    pub(super) fn new(links: &Links, seeds: &mut Random, epoch: Instant) -> Self {
        let mut link = |direction| {
            Arc::new(Scheduled::new(
                links.profile(direction).clone(),
                seeds.next_u64(),
                epoch,
                links.tap.clone().map(|tap| (tap, direction)),
            ))
        };
        Self {
            up: link(Direction::Up),
            down: link(Direction::Down),
        }
    }

    pub(super) fn link(&self, direction: Direction) -> &Arc<Scheduled> {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    pub(super) fn stop(&self) {
        self.up.stop();
        self.down.stop();
    }
}

impl Scheduled {
    fn new(profile: LinkProfile, seed: u64, epoch: Instant, tap: Option<(Tap, Direction)>) -> Self {
        Self {
            epoch,
            tap,
            link: Mutex::new(Link::new(profile, seed)),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
            finished: AtomicBool::new(false),
        }
    }

    pub(super) fn send(&self, packet: &[u8]) {
        if let Some((tap, direction)) = &self.tap {
            tap.note(*direction, packet.len());
        }
        self.lock().send(self.epoch.elapsed(), packet);
        self.changed.notify_all();
    }

    pub(super) fn change(&self, profile: LinkProfile) {
        self.lock().set_profile(self.epoch.elapsed(), profile);
        self.changed.notify_all();
    }

    pub(super) fn profile(&self) -> LinkProfile {
        self.lock().profile().clone()
    }

    pub(super) fn counts(&self) -> LinkCounts {
        self.lock().counts()
    }

    /// Delivers packets when they are due, until told to stop, until everything is finished, or until `deliver`
    /// returns false. Returns true if `deliver` never returned false.
    pub(super) fn run(&self, mut deliver: impl FnMut(&[u8]) -> bool) -> bool {
        let mut link = self.lock();
        while !self.is_stopped() {
            if let Some(packet) = link.deliver(self.epoch.elapsed()) {
                drop(link);
                let go_on = deliver(&packet);
                self.changed.notify_all();
                if !go_on {
                    return false;
                }
                link = self.lock();
                continue;
            }
            if link.next_delivery().is_none() && self.finished.load(Ordering::Relaxed) {
                break;
            }
            let due = link.next_delivery().map(|due| due.saturating_sub(self.epoch.elapsed()));
            link = self.wait(link, due.unwrap_or(LOOK_UP));
        }
        true
    }

    /// Waits while at least this many bytes are in flight, or during an outage.
    pub(super) fn wait_for_room(&self, most: impl Fn(&LinkProfile) -> usize) {
        let mut link = self.lock();
        loop {
            let counts = link.counts();
            // A stream's link drops nothing, so everything not yet delivered is in flight.
            let bytes = counts.sent_bytes - counts.delivered_bytes;
            let full = bytes >= most(link.profile()) as u64 || counts.in_flight >= MAX_IN_FLIGHT as u64 / 2;
            let out = link.profile().is_out(self.epoch.elapsed());
            if self.is_stopped() || !(full || out) {
                return;
            }
            link = self.wait(link, LOOK_UP / 10);
        }
    }

    /// Signals that nothing more will be sent.
    pub(super) fn finish(&self) {
        let _link = self.lock();
        self.finished.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, link: MutexGuard<'a, Link>, length: Duration) -> MutexGuard<'a, Link> {
        let waited = self.changed.wait_timeout(link, length.min(LOOK_UP));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
