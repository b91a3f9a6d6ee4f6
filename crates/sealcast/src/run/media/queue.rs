//! Bounded queues between a producer, which never waits, and a consumer. There are two policies for a full queue.
//! Frames are dropped by whole groups of pictures, oldest first ([`FrameQueue::push`]). Packets, whose pictures the
//! queue does not know, are dropped all at once ([`FrameQueue::make_room`], called before `push`). Sound beside frames
//! is dropped packet by packet, oldest first ([`FrameQueue::push_sound`]).

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::meter::peer_bytes::Holds;

/// Most frames of a group that are kept for who joins: ten seconds at 60 a second.
pub(crate) const MAX_KEPT_FRAMES: usize = 600;

/// Most packets of sound in a queue: five seconds of AAC at 48 kHz, or of Opus and G.711 in packets of 20 ms.
pub(crate) const MAX_SOUND: usize = 256;
/// Lead of sound over the first picture at most, by media time. What is older came before the consumer.
const SOUND_LEAD: Duration = Duration::from_millis(100);

/// The properties of a frame that a queue needs.
pub trait Queued: Send {
    /// True if it can be decoded without earlier frames.
    fn keyframe(&self) -> bool;
    /// Its size in bytes.
    fn size(&self) -> usize;
    /// True if it was kept for a consumer that joined after it was made. Such frames come all at once, so a queue takes
    /// [`MAX_KEPT_FRAMES`] of them beyond its number of frames.
    fn kept(&self) -> bool {
        false
    }
    /// True for a packet of sound.
    fn sound(&self) -> bool {
        false
    }
    /// Its media time.
    fn media_time(&self) -> Duration {
        Duration::ZERO
    }
}

/// Capacity of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueLimits {
    /// Number of frames, at least 1.
    pub frames: usize,
    /// Number of bytes; a single frame is accepted at any size.
    pub bytes: usize,
}

impl Default for QueueLimits {
    /// About two seconds of video at 30 frames per second.
    fn default() -> Self {
        Self {
            frames: 60,
            bytes: 32 << 20,
        }
    }
}

/// Result of pushing a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// Number of frames dropped, possibly including the pushed one. Frames before the first keyframe do not count:
    /// the consumer had no stream yet to miss them from.
    pub dropped: usize,
    /// True if the queue accepts nothing more until a keyframe, or the consumer asked for one: request it.
    pub wants_keyframe: bool,
}

/// Result of skipping ahead for a consumer that fell behind.
pub struct Skipped<F> {
    /// Number of frames dropped.
    pub dropped: usize,
    /// The next frame, if a keyframe is available.
    pub next: Option<F>,
}

struct State<F> {
    frames: VecDeque<F>,
    /// Sound, each packet with the number of frames that were pushed before it.
    sound: VecDeque<(u64, F)>,
    /// Number of frames that were taken or dropped.
    gone: u64,
    bytes: usize,
    /// Number of kept frames among them.
    kept: usize,
    begun: bool,
    skipping: bool,
    /// The consumer asked for a keyframe, and no frame was pushed since.
    asked: bool,
    closed: bool,
    emptied: u64,
    /// Something was pushed, or the queue closed, and the consumer neither saw it nor took all there was. Only the
    /// first push of many wakes the consumer's task.
    news: bool,
    /// The consumer's task, while it waits.
    task: Option<Waker>,
    /// Number of threads waiting for a frame. If there are none, the system call that would wake them is saved.
    threads: usize,
}

impl<F: Queued> State<F> {
    fn push(&mut self, frame: F) {
        self.bytes += frame.size();
        self.kept += usize::from(frame.kept());
        self.frames.push_back(frame);
    }

    /// Add sound; returns true if older sound had to be dropped for it.
    fn push_sound(&mut self, sound: F) -> bool {
        let full = self.sound.len() >= MAX_SOUND;
        if full {
            self.drop_sound();
        }
        self.bytes += sound.size();
        self.sound.push_back((self.gone + self.frames.len() as u64, sound));
        full
    }

    fn drop_sound(&mut self) -> Option<F> {
        let (_, sound) = self.sound.pop_front()?;
        self.bytes -= sound.size();
        Some(sound)
    }

    /// The next frame or packet of sound, in the order in which they were pushed. There is no sound before the first
    /// frame.
    fn next(&mut self) -> Option<F> {
        let gone = self.gone;
        let sound = self.begun && self.sound.front().is_some_and(|(before, _)| *before <= gone);
        let next = if sound { self.drop_sound() } else { self.pop() };
        // The end of the queue stays news until the consumer waited for it.
        self.news &= self.closed || self.holds_frame();
        next
    }

    /// True if a frame or packet of sound can be taken.
    fn holds_frame(&self) -> bool {
        !self.frames.is_empty() || (self.begun && !self.sound.is_empty())
    }

    fn pop(&mut self) -> Option<F> {
        let frame = self.frames.pop_front()?;
        self.gone += 1;
        self.bytes -= frame.size();
        self.kept -= usize::from(frame.kept());
        Some(frame)
    }

    /// Drop the oldest frames.
    fn drop_first(&mut self, count: usize) {
        for _ in 0..count {
            self.pop();
        }
    }

    /// True if there are more frames or bytes than the limits allow.
    fn exceeds(&self, limits: QueueLimits) -> bool {
        let live = self.frames.len() - self.kept.min(MAX_KEPT_FRAMES);
        live > limits.frames || (self.bytes > limits.bytes && self.frames.len() > 1)
    }

    /// Drop all queued frames. Returns their number.
    fn clear(&mut self) -> usize {
        let count = self.frames.len();
        self.drop_first(count);
        while self.drop_sound().is_some() {}
        self.skipping = true;
        self.emptied += 1;
        count
    }
}

/// A bounded queue between one producer, which never waits, and one consumer.
pub struct FrameQueue<F> {
    limits: QueueLimits,
    state: Mutex<State<F>>,
    thread: Condvar,
}

impl<F: Queued> Holds for FrameQueue<F> {
    fn held(&self) -> usize {
        self.bytes()
    }
}

impl<F: Queued> FrameQueue<F> {
    /// An empty queue. It accepts no frame before the first keyframe.
    pub fn new(limits: QueueLimits) -> Self {
        let state = State {
            frames: VecDeque::new(),
            sound: VecDeque::new(),
            gone: 0,
            bytes: 0,
            kept: 0,
            begun: false,
            skipping: true,
            asked: false,
            closed: false,
            emptied: 0,
            news: false,
            task: None,
            threads: 0,
        };
        Self {
            limits,
            state: Mutex::new(state),
            thread: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<F>> {
        // Each statement leaves the state consistent, so a panic in another thread does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Add a frame. If the queue is full, all frames before its newest keyframe are dropped. If it holds no later
    /// keyframe, all its frames and all that follow until the next keyframe are dropped.
    pub fn push(&self, frame: F) -> Pushed {
        let mut state = self.lock();
        if state.closed {
            return Pushed {
                dropped: 0,
                wants_keyframe: false,
            };
        }
        if state.skipping && !frame.keyframe() {
            return Pushed {
                dropped: usize::from(state.begun),
                wants_keyframe: true,
            };
        }
        let asked = std::mem::take(&mut state.asked) && !frame.keyframe();
        if !std::mem::replace(&mut state.begun, true) {
            let earliest = frame.media_time().saturating_sub(SOUND_LEAD);
            while state
                .sound
                .front()
                .is_some_and(|(_, sound)| sound.media_time() < earliest)
            {
                state.drop_sound();
            }
        }
        state.skipping = false;
        state.push(frame);
        let mut dropped = 0;
        if state.exceeds(self.limits) {
            let keep = state.frames.iter().rposition(Queued::keyframe).filter(|&at| at > 0);
            dropped = keep.unwrap_or(state.frames.len());
            state.skipping = keep.is_none();
            state.drop_first(dropped);
        }
        let wants_keyframe = state.skipping || asked;
        self.wake(state);
        Pushed {
            dropped,
            wants_keyframe,
        }
    }

    /// Add a packet of sound. If there is too much, the oldest is dropped. Returns true if one was that the consumer
    /// would have got.
    pub fn push_sound(&self, sound: F) -> bool {
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        let dropped = state.push_sound(sound) && state.begun;
        self.wake(state);
        dropped
    }

    /// The consumer lost the picture: the next push says that a keyframe should be requested.
    pub fn ask_for_keyframe(&self) {
        self.lock().asked = true;
    }

    /// Number of bytes in the queue.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// The next frame, if there is one.
    pub fn pop(&self) -> Option<F> {
        self.lock().next()
    }

    /// True if a frame can be taken.
    pub fn holds_frame(&self) -> bool {
        self.lock().holds_frame()
    }

    /// True if one of the frames is a keyframe.
    pub fn holds_keyframe(&self) -> bool {
        self.lock().frames.iter().any(Queued::keyframe)
    }

    /// Drop `frame`, which was taken from the queue and waited too long, and continue at the newest keyframe. If the
    /// queue holds no keyframe and `frame` is one, it is returned instead.
    pub fn skip_to_keyframe(&self, frame: F) -> Skipped<F> {
        let mut state = self.lock();
        let newest = state.frames.iter().rposition(Queued::keyframe);
        let Some(at) = newest else {
            if frame.keyframe() {
                return Skipped {
                    dropped: 0,
                    next: Some(frame),
                };
            }
            let dropped = 1 + state.frames.len();
            state.drop_first(dropped - 1);
            state.skipping = true;
            return Skipped { dropped, next: None };
        };
        state.drop_first(at);
        Skipped {
            dropped: 1 + at,
            next: state.pop(),
        }
    }

    /// True if so many more frames with so many bytes together fit.
    pub fn has_room(&self, frames: usize, bytes: usize) -> bool {
        let state = self.lock();
        state.frames.len() + frames <= self.limits.frames && state.bytes + bytes <= self.limits.bytes
    }

    /// Drop all queued frames; the next frame will be a keyframe.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Drop all queued frames if another frame of `size` bytes does not fit. Returns the number of frames dropped and
    /// the number of times so far that the queue was emptied by dropping.
    pub fn make_room(&self, size: usize) -> (usize, u64) {
        let mut state = self.lock();
        let frames = state.frames.len();
        let fits = frames < self.limits.frames && (frames == 0 || state.bytes + size <= self.limits.bytes);
        let dropped = if fits { 0 } else { state.clear() };
        (dropped, state.emptied)
    }

    /// Number of times that the queue was emptied by dropping all its frames.
    pub fn emptied(&self) -> u64 {
        self.lock().emptied
    }

    /// Accept no more frames; the queued ones can still be taken.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.wake(state);
    }

    /// True if the queue is closed and empty.
    pub fn finished(&self) -> bool {
        let state = self.lock();
        state.closed && !state.holds_frame()
    }

    fn wake(&self, mut state: MutexGuard<'_, State<F>>) {
        let task = match std::mem::replace(&mut state.news, true) {
            false => state.task.take(),
            true => None,
        };
        let threads = state.threads;
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
        if threads > 0 {
            self.thread.notify_one();
        }
    }

    /// Wait, in the consumer's task, until a frame was pushed or the queue was closed since the last wait; what was
    /// pushed and taken meanwhile does not count. Cancel-safe.
    pub async fn changed(&self) {
        poll_fn(|context| {
            let mut state = self.lock();
            if std::mem::take(&mut state.news) {
                return Poll::Ready(());
            }
            match &mut state.task {
                Some(task) => task.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
            Poll::Pending
        })
        .await;
    }

    /// Wait, on a thread, for the next frame; `None` once the queue is closed and empty.
    pub fn wait_pop(&self) -> Option<F> {
        let mut state = self.lock();
        loop {
            if let Some(frame) = state.next() {
                return Some(frame);
            }
            if state.closed {
                return None;
            }
            state.threads += 1;
            let waited = self.thread.wait_timeout(state, Duration::from_secs(1));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.threads -= 1;
        }
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
