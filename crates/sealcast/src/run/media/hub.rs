//! Distribution of frames from one source to all viewers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sealcast_proto::keys::PeerId;
use sealcast_proto::rate::RateConfig;
use tokio::sync::Notify;
use tracing::Span;

use super::away::{SourceEnd, StandingWatch};
use super::kept_group::KeptGroup;
use super::keyframe_requests::{Joiners, KeyframeRequests};
use super::queue::{FrameQueue, Pushed, QueueLimits};
use super::queued_frame::QueuedFrame;
use super::target_rate::{PathTarget, TargetRate};
use crate::media::{Frame, Orientation, SoundInfo, StreamInfo};
use crate::meter::labels::{DropCause, PeerQueue};
use crate::meter::metrics::Metrics;
use crate::run::group::MemberFrame;

/// Way of a viewer that joins to its first keyframe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// It gets the group of pictures so far, unless the source is asked for a keyframe and makes one then.
    KeptGroup,
    /// It waits for the next one: its path has no room for more than the stream.
    NextKeyframe,
}

/// A viewer's place at the hub.
pub(crate) struct Joined {
    /// Its number, for [`Hub::leave`].
    pub(crate) id: u64,
    pub(crate) queue: Arc<FrameQueue<QueuedFrame>>,
    /// True if the source was asked for a keyframe with which it begins.
    pub(crate) awaits_keyframe: bool,
}

/// No viewer has set a target.
const NO_TARGET: u64 = u64::MAX;

struct Viewer {
    id: u64,
    /// `None` once its group seals for it.
    queue: Option<Arc<FrameQueue<QueuedFrame>>>,
    /// Frames that the group sealed for it, if they come over its session.
    sealed: Option<Arc<FrameQueue<MemberFrame>>>,
    /// Bytes that wait for cells of its session.
    in_cells: usize,
}

impl Viewer {
    /// Bytes that wait for it.
    fn waiting(&self) -> usize {
        let own = self.queue.as_ref().map_or(0, |queue| queue.bytes());
        let sealed = self.sealed.as_ref().map_or(0, |queue| queue.bytes());
        own + sealed + self.in_cells
    }
}

struct State {
    viewers: Vec<Viewer>,
    /// Gateways that have the camera's packets beside.
    gateways: usize,
    /// Queue of frames for the group, if there is one.
    group: Option<Arc<FrameQueue<Arc<Frame>>>>,
    targets: TargetRate,
    /// The group of pictures so far.
    kept: KeptGroup,
    /// The source makes a keyframe when it is asked.
    makes_keyframes: bool,
    /// Peers whose viewers joined, and when they last asked for a keyframe by that.
    joiners: Joiners,
    next_id: u64,
    info: Option<StreamInfo>,
    info_version: u64,
    sound: Option<SoundInfo>,
    /// Cause of the source's end, and its time.
    end: Option<(SourceEnd, Instant)>,
}

impl State {
    /// Number of viewers, with gateways.
    fn count(&self) -> usize {
        self.viewers.len() + self.gateways
    }
}

/// Puts every frame into every viewer's queue. The source never waits for a viewer.
pub struct Hub {
    state: Mutex<State>,
    joined: Condvar,
    limits: QueueLimits,
    metrics: Metrics,
    rate: RateConfig,
    /// Span of what the source's thread logs.
    pub(crate) span: Span,
    /// Target rate of the source in bit/s, or [`NO_TARGET`] if no viewer has set one.
    target: AtomicU64,
    wants_keyframe: AtomicBool,
    /// The source is played once, and is to arrive whole where that is possible.
    plays_once: AtomicBool,
    keyframes: Mutex<KeyframeRequests>,
    frames: AtomicU64,
    stopping: AtomicBool,
    /// Whether the source gives pictures.
    pub(crate) standing: StandingWatch,
    /// Notified of the end of the source, and again when all of it is sealed for a group.
    ended: Notify,
}

impl Hub {
    /// A hub whose viewers' queues have these limits.
    pub fn new(limits: QueueLimits, metrics: Metrics) -> Self {
        Self {
            state: Mutex::new(State {
                viewers: Vec::new(),
                gateways: 0,
                group: None,
                targets: TargetRate::default(),
                kept: KeptGroup::default(),
                makes_keyframes: true,
                joiners: Joiners::default(),
                next_id: 0,
                info: None,
                info_version: 0,
                sound: None,
                end: None,
            }),
            joined: Condvar::new(),
            limits,
            standing: StandingWatch::new(metrics.clone()),
            metrics,
            rate: RateConfig::default(),
            span: Span::none(),
            target: AtomicU64::new(NO_TARGET),
            wants_keyframe: AtomicBool::new(false),
            plays_once: AtomicBool::new(false),
            keyframes: Mutex::default(),
            frames: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            ended: Notify::new(),
        }
    }

    /// Sets the bounds of the viewers' targets. However slow a path is, the source keeps the minimum.
    pub fn with_rate(mut self, rate: RateConfig) -> Self {
        self.rate = rate;
        self
    }

    /// Sets what the source's thread logs within.
    pub(crate) fn within(mut self, span: Span) -> Self {
        self.span = span;
        self
    }

    /// The bounds of the bit rate, for the rate control of each viewer.
    pub fn rate(&self) -> RateConfig {
        self.rate
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each statement leaves the state consistent, so a panic in another thread does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Say whether the source makes a keyframe when it is asked.
    pub(crate) fn set_makes_keyframes(&self, makes: bool) {
        let mut state = self.lock();
        (state.makes_keyframes, state.kept) = (makes, KeptGroup::default());
    }

    /// True if the source makes a keyframe when it is asked.
    pub(crate) fn makes_keyframes(&self) -> bool {
        self.lock().makes_keyframes
    }

    /// Say whether the source is played once: viewers on byte streams then get all of it, however late.
    pub(crate) fn set_plays_once(&self, once: bool) {
        self.plays_once.store(once, Ordering::Relaxed);
    }

    /// True if the source is played once.
    pub(crate) fn plays_once(&self) -> bool {
        self.plays_once.load(Ordering::Relaxed)
    }

    /// Add a viewer of `peer`. Also requests a keyframe for it, unless the peer's viewers joined a moment ago.
    pub(crate) fn join(&self, start: Start, peer: Option<PeerId>) -> Joined {
        let queue = Arc::new(FrameQueue::new(self.limits));
        self.metrics.holds(PeerQueue::Media, &queue);
        let mut state = self.lock();
        let id = state.next_id;
        state.next_id += 1;
        if state.end.is_some() {
            queue.close();
        }
        let asks = state.joiners.may_ask(peer, Instant::now());
        let awaits_keyframe = asks && state.makes_keyframes;
        if start == Start::KeptGroup && !awaits_keyframe {
            for frame in state.kept.frames() {
                queue.push(frame);
            }
        }
        state.viewers.push(Viewer {
            id,
            queue: Some(Arc::clone(&queue)),
            sealed: None,
            in_cells: 0,
        });
        self.metrics.set_viewers(state.count());
        drop(state);
        if asks {
            self.request_keyframe();
        }
        self.joined.notify_all();
        Joined {
            id,
            queue,
            awaits_keyframe,
        }
    }

    /// The queue of the frames that are sealed for a group. There is one group at most.
    pub(crate) fn tap(&self) -> Arc<FrameQueue<Arc<Frame>>> {
        let queue = Arc::new(FrameQueue::new(self.limits));
        let mut state = self.lock();
        if state.end.is_some() {
            queue.close();
        }
        state.group = Some(Arc::clone(&queue));
        queue
    }

    /// A viewer gets its frames from the group from here on: from this queue, if they come over its session.
    pub(crate) fn seal_by_group(&self, id: u64, sealed: Option<Arc<FrameQueue<MemberFrame>>>) {
        if let Some(sealed) = &sealed {
            self.metrics.holds(PeerQueue::Media, sealed);
        }
        let mut state = self.lock();
        if let Some(viewer) = state.viewers.iter_mut().find(|viewer| viewer.id == id) {
            (viewer.queue, viewer.sealed) = (None, sealed);
        }
    }

    /// Set the bytes that wait for cells of a viewer's session.
    pub(crate) fn set_in_cells(&self, id: u64, bytes: usize) {
        let mut state = self.lock();
        if let Some(viewer) = state.viewers.iter_mut().find(|viewer| viewer.id == id) {
            viewer.in_cells = bytes;
        }
    }

    /// True if more than `most` bytes wait for one of the viewers.
    pub(crate) fn holds_more_than(&self, most: usize) -> bool {
        self.lock().viewers.iter().any(|viewer| viewer.waiting() > most)
    }

    pub(crate) fn leave(&self, id: u64) {
        let mut state = self.lock();
        state.viewers.retain(|viewer| viewer.id != id);
        self.metrics.set_viewers(state.count());
        state.targets.state(Instant::now(), id, None);
        self.settle_target(&state);
    }

    /// So many gateways have the camera's packets beside.
    pub(crate) fn set_gateways(&self, gateways: usize) {
        let mut state = self.lock();
        state.gateways = gateways;
        self.metrics.set_viewers(state.count());
    }

    /// Number of current viewers, with gateways.
    pub fn viewers(&self) -> usize {
        self.lock().count()
    }

    /// The stream's description, once the source is open.
    pub fn info(&self) -> Option<StreamInfo> {
        self.lock().info.clone()
    }

    pub(crate) fn set_info(&self, info: StreamInfo) {
        let mut state = self.lock();
        state.info = Some(info);
        state.info_version += 1;
    }

    /// Description of the sound beside the picture, if there is some.
    pub(crate) fn sound(&self) -> Option<SoundInfo> {
        self.lock().sound.clone()
    }

    pub(crate) fn set_sound(&self, sound: Option<SoundInfo>) {
        let mut state = self.lock();
        state.sound = sound;
        state.info_version += 1;
    }

    /// Pictures are turned so from here on, before they are shown.
    pub(crate) fn set_orientation(&self, orientation: Orientation) {
        if self.standing.orient(orientation) {
            // It is said again with the description.
            self.lock().info_version += 1;
        }
    }

    /// The version of the stream's description, and the description itself if it is newer than `version`.
    pub(crate) fn info_since(&self, version: u64) -> (u64, Option<StreamInfo>) {
        let state = self.lock();
        let newer = state.info.as_ref().filter(|_| state.info_version > version).cloned();
        (state.info_version, newer)
    }

    /// Request a keyframe from the source.
    pub fn request_keyframe(&self) {
        self.wants_keyframe.store(true, Ordering::Relaxed);
    }

    /// True if the source should be asked for a keyframe now. A request that follows another too soon is delayed.
    pub(crate) fn take_keyframe_request(&self) -> bool {
        let mut requests = self.keyframes.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let ask = requests.is_due(now) && self.wants_keyframe.swap(false, Ordering::Relaxed);
        if ask {
            requests.sent(now);
        }
        ask
    }

    /// Set what the path to viewer `id` carries; `None` if that is unknown. All viewers share one source,
    /// whose target follows from theirs ([`TargetRate`]). An unknown `id` is ignored.
    pub(crate) fn set_target(&self, id: u64, path: Option<PathTarget>) {
        let mut state = self.lock();
        if state.viewers.iter().any(|viewer| viewer.id == id) {
            state.targets.state(Instant::now(), id, path);
        }
        self.settle_target(&state);
    }

    fn settle_target(&self, state: &State) {
        let (min, max) = (self.rate.min, self.rate.max.max(self.rate.min));
        let target = state.targets.target().map(|target| target.clamp(min, max));
        self.target.store(target.unwrap_or(NO_TARGET), Ordering::Relaxed);
        self.metrics.source_target(target.unwrap_or(0));
    }

    /// True if a viewer does not set the rate of the source because its path carries too little of it. Keyframes are
    /// not requested for it either: it loses frames all the time, and would get what the others then lack.
    pub(crate) fn stays_behind(&self, id: u64) -> bool {
        self.lock().targets.stays_behind(id)
    }

    /// Target rate of the source in bit/s; `u64::MAX`, the source's configured rate, if no viewer has set a target.
    pub fn target(&self) -> u64 {
        self.target.load(Ordering::Relaxed)
    }

    /// Number of frames from the source so far.
    pub fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// Put a frame into every viewer's queue.
    pub(crate) fn publish(&self, frame: Frame) {
        self.frames.fetch_add(1, Ordering::Relaxed);
        let frame = Arc::new(frame);
        let mut state = self.lock();
        state.kept.take(&frame);
        if let Some(group) = &state.group {
            self.note_pushed(group.push(Arc::clone(&frame)), false);
        }
        for viewer in &state.viewers {
            let Some(queue) = &viewer.queue else { continue };
            let pushed = queue.push(QueuedFrame {
                frame: Arc::clone(&frame),
                kept: false,
            });
            self.note_pushed(pushed, state.targets.stays_behind(viewer.id));
        }
    }

    /// Count what a full queue dropped, and have it go on with a keyframe, unless its viewer stays behind.
    fn note_pushed(&self, pushed: Pushed, stays_behind: bool) {
        if pushed.dropped > 0 {
            self.metrics.record_dropped(DropCause::Queue, pushed.dropped as u64);
        }
        if pushed.wants_keyframe && !stays_behind {
            self.request_keyframe();
        }
    }

    /// Put a packet of sound into every viewer's queue.
    pub(crate) fn publish_sound(&self, sound: Frame) {
        let frame = Arc::new(sound);
        let state = self.lock();
        if let Some(group) = &state.group {
            let dropped = group.push_sound(Arc::clone(&frame));
            self.metrics.sound_dropped(u64::from(dropped));
        }
        for queue in state.viewers.iter().filter_map(|viewer| viewer.queue.as_ref()) {
            let dropped = queue.push_sound(QueuedFrame {
                frame: Arc::clone(&frame),
                kept: false,
            });
            self.metrics.sound_dropped(u64::from(dropped));
        }
    }

    /// The source has ended: viewers receive the queued frames and then learn of the end.
    pub(crate) fn finish(&self, end: SourceEnd) {
        let mut state = self.lock();
        if matches!(end, SourceEnd::Failed(_)) {
            self.metrics.camera_off(true);
        }
        state.end = Some((end, Instant::now()));
        for queue in state.viewers.iter().filter_map(|viewer| viewer.queue.as_ref()) {
            queue.close();
        }
        if let Some(group) = &state.group {
            group.close();
        }
        drop(state);
        self.note_end();
    }

    /// Wake who waits for the end of the source: it has ended, or all of it is sealed for the group.
    pub(crate) fn note_end(&self) {
        self.ended.notify_waiters();
    }

    /// Wait for the end of the source, and until `over` is true, which is asked at each [`note_end`](Self::note_end).
    pub(crate) async fn ended(&self, over: impl Fn() -> bool) -> SourceEnd {
        loop {
            // It hears of what comes after this.
            let noted = self.ended.notified();
            if let Some(end) = self.end()
                && over()
            {
                return end;
            }
            noted.await;
        }
    }

    /// The end of the source, if it has ended.
    pub fn end(&self) -> Option<SourceEnd> {
        self.end_and_time().map(|(end, _)| end)
    }

    /// End of the source, and its time.
    pub(crate) fn end_and_time(&self) -> Option<(SourceEnd, Instant)> {
        self.lock().end.clone()
    }

    /// Make the source thread stop at its next frame.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.joined.notify_all();
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Wait, on the source's thread, until there is a viewer or the hub stops.
    pub(crate) fn wait_for_viewer(&self) {
        let mut state = self.lock();
        while state.viewers.is_empty() && !self.stopping() {
            let waited = self.joined.wait_timeout(state, Duration::from_millis(200));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::session::observe::build_info;

    fn path(rate: u64) -> Option<PathTarget> {
        Some(PathTarget::most(rate, true))
    }

    fn hub() -> Hub {
        let rate = RateConfig {
            min: 100_000,
            start: 1_000_000,
            max: 9_000_000,
            unsteered: false,
        };
        Hub::new(QueueLimits::default(), Metrics::new(build_info())).with_rate(rate)
    }

    fn join(hub: &Hub) -> u64 {
        hub.join(Start::KeptGroup, None).id
    }

    #[test]
    fn who_joins_begins_with_the_group_so_far_where_no_keyframe_is_asked_for() {
        let hub = hub();
        let peer = |byte| Some(PeerId([byte; 32]));
        let frame = |number, keyframe| crate::run::in_memory_tests::frame(number, keyframe, &[7; 10]);
        hub.publish(frame(0, true));
        hub.publish(frame(1, false));
        let begins = |joined: Joined| {
            let kept = std::iter::from_fn(|| joined.queue.pop()).map(|queued| queued.frame.number);
            (joined.awaits_keyframe, kept.collect::<Vec<_>>())
        };
        assert_eq!(begins(hub.join(Start::KeptGroup, peer(1))), (true, vec![]));
        assert!(hub.take_keyframe_request());
        assert_eq!(
            begins(hub.join(Start::KeptGroup, peer(1))),
            (false, vec![0, 1]),
            "again at once"
        );
        assert!(!hub.wants_keyframe.load(Ordering::Relaxed));
        assert_eq!(begins(hub.join(Start::NextKeyframe, peer(1))), (false, vec![]));
        assert_eq!(
            begins(hub.join(Start::KeptGroup, peer(2))),
            (true, vec![]),
            "another peer"
        );
        hub.set_makes_keyframes(false);
        hub.publish(frame(2, true));
        hub.publish(frame(3, false));
        assert_eq!(begins(hub.join(Start::KeptGroup, peer(3))), (false, vec![2, 3]));
    }

    #[test]
    fn what_waits_too_long_for_a_group_is_counted_and_a_keyframe_is_asked_for() {
        let hub = hub();
        let _waits = hub.tap();
        (0..1000).for_each(|number| hub.publish(crate::run::in_memory_tests::frame(number, number == 0, &[7; 10])));
        assert!(hub.metrics.totals().all_frames_dropped() > 900 && hub.take_keyframe_request());
    }

    #[test]
    fn the_slowest_of_viewers_with_similar_paths_decides() {
        let hub = hub();
        let [first, second, silent] = [join(&hub), join(&hub), join(&hub)];
        assert_eq!(hub.target(), u64::MAX);
        hub.set_target(first, path(3_000_000));
        hub.set_target(second, path(1_800_000));
        hub.set_target(silent, None);
        assert_eq!(hub.target(), 1_800_000);
        hub.set_target(second, path(5_000_000));
        assert_eq!(hub.target(), 3_000_000);
        hub.leave(first);
        assert_eq!(hub.target(), 5_000_000);
        hub.set_target(second, None);
        assert_eq!(hub.target(), u64::MAX);
    }

    #[test]
    fn targets_are_kept_in_bounds_and_strangers_ignored() {
        let hub = hub();
        let viewer = join(&hub);
        hub.set_target(viewer + 1, path(200_000));
        assert_eq!(hub.target(), u64::MAX);
        hub.set_target(viewer, path(0));
        assert_eq!(hub.target(), 100_000);
        hub.set_target(viewer, path(u64::MAX));
        assert_eq!(hub.target(), 9_000_000);
    }
}
