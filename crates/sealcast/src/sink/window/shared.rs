//! State that the sink's thread and the window's thread share: one picture, and a bell.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use super::age::Stamp;
use crate::media::Picture;
use crate::sink::OnClose;
use crate::sink::proven_age::ProvenAge;

/// A picture to show.
pub(super) struct Shown {
    pub(super) picture: Picture,
    pub(super) stamp: Option<Stamp>,
}

/// The newest picture, which replaces one that was not taken.
pub(super) struct Shared {
    newest: Mutex<Option<Shown>>,
    age: Mutex<Option<ProvenAge>>,
    /// Words about a camera that is off.
    away: Mutex<Option<String>>,
    /// Readable when there is a picture, an alarm or its end, the camera goes or is back, or at the end.
    bell: OwnedFd,
    /// The stream has ended.
    ended: AtomicBool,
    /// The window is closed.
    closed: AtomicBool,
    /// Called when it is.
    told: Mutex<Option<OnClose>>,
    /// Pictures that a newer one replaced.
    replaced: AtomicU64,
}

impl Shared {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self {
            newest: Mutex::default(),
            age: Mutex::default(),
            away: Mutex::default(),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            ended: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            told: Mutex::default(),
            replaced: AtomicU64::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Shown>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Show this one next.
    pub(super) fn show(&self, shown: Shown) {
        if self.lock().replace(shown).is_some() {
            self.replaced.fetch_add(1, Ordering::Relaxed);
        }
        self.ring();
    }

    /// Say how old the picture can be. The beginning and the end of an alarm are drawn at once, since there may be no
    /// next picture.
    pub(super) fn note_age(&self, age: ProvenAge) {
        let before = self.age.lock().unwrap_or_else(PoisonError::into_inner).replace(age);
        if before.is_some_and(ProvenAge::is_alarm) != age.is_alarm() {
            self.ring();
        }
    }

    /// Age that the picture can have, if that is known.
    pub(super) fn age(&self) -> Option<ProvenAge> {
        *self.age.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Say that the camera is off, or that it is not.
    pub(super) fn note_away(&self, words: Option<String>) {
        *self.away.lock().unwrap_or_else(PoisonError::into_inner) = words;
        self.ring();
    }

    /// Words about a camera that is off.
    pub(super) fn away(&self) -> Option<String> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The stream has ended: close the window.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.ring();
    }

    /// The window is closed: nothing is shown any more.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.tell();
    }

    /// Call `told` when the window is closed.
    pub(super) fn when_closed(&self, told: OnClose) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        if self.is_closed() {
            self.tell();
        }
    }

    fn tell(&self) {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(told) = told {
            told();
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn replaced(&self) -> u64 {
        self.replaced.load(Ordering::Relaxed)
    }

    /// The newest picture, if it was not taken before.
    pub(super) fn take(&self) -> Option<Shown> {
        // It counts, so one read clears it; there is nothing to read if nobody rang.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        self.lock().take()
    }

    /// Descriptor that becomes readable when there is something to do.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    fn ring(&self) {
        // It fails only if it has rung 2⁶⁴ times unheard.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }
}
