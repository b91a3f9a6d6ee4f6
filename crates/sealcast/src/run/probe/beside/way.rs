//! A way to the camera: what comes in waits in a bounded queue for one decoder, or for two where the control has no
//! other pictures. All ways are built alike, so that their instants can be compared.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sealcast_proto::clock::ClockEstimate;
use tokio::sync::watch;

use super::compare::Message;
use super::options::Way;
use crate::failure::{Failure, Result};
use crate::media::{ReceivedFrame, StreamInfo};
use crate::run::probe::spawn;
use crate::run::probe::stages::{Passing, ProbeSink, examine, passing, picture_queue, stopped};
use crate::sink::Sink;

/// Maximum of frames that wait for a decoder.
const MAX_FRAMES: usize = 64;
/// Minimum time between two requests for the keyframe with which a decoder begins.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

/// A message for a decoder.
enum Fed {
    Start(StreamInfo),
    Frame(ReceivedFrame, Option<(u64, Option<ClockEstimate>)>),
}

/// A decoder with its queue.
struct Outlet {
    way: Way,
    feed: Passing<Fed>,
    /// False until the keyframe with which it begins.
    begun: bool,
    asked: Option<Instant>,
}

/// The stages of a decoder.
pub(super) struct Stages {
    pub(super) way: Way,
    decoding: JoinHandle<()>,
    examining: JoinHandle<()>,
}

/// The part of a way that its sink and the comparison share.
pub(super) struct Outlets {
    list: Mutex<Vec<Outlet>>,
    wants_keyframe: AtomicBool,
    arrived: watch::Sender<bool>,
    failure: Mutex<Option<Failure>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for Outlets {
    fn default() -> Self {
        Self {
            list: Mutex::default(),
            wants_keyframe: AtomicBool::new(false),
            arrived: watch::Sender::new(false),
            failure: Mutex::default(),
        }
    }
}

impl Outlets {
    /// Decode what comes this way from the next keyframe on, as pictures of `way`.
    pub(super) fn decode(
        self: &Arc<Self>,
        way: Way,
        program: Option<PathBuf>,
        messages: Passing<Message>,
    ) -> Result<Stages> {
        let (pictures, decoded) = picture_queue();
        let (feed, fed) = passing(MAX_FRAMES);
        let outlets = Arc::clone(self);
        let sink = ProbeSink::new(pictures, program);
        let examining = spawn("examine pictures", move || {
            examine(&decoded, true, |examined| {
                messages.pass(Message::Picture(way, examined))
            });
        })?;
        let decoding = spawn("decode pictures", move || outlets.decode_all(&fed, sink))?;
        locked(&self.list).push(Outlet {
            way,
            feed,
            begun: false,
            asked: None,
        });
        Ok(Stages {
            way,
            decoding,
            examining,
        })
    }

    /// Decode no more pictures of `way`.
    pub(super) fn end(&self, way: Way) {
        locked(&self.list).retain(|outlet| outlet.way != way);
    }

    /// Resolves when the first frame has come.
    pub(super) async fn arrived(&self) {
        // The sender is here as long as this is.
        let _ = self.arrived.subscribe().wait_for(|arrived| *arrived).await;
    }

    fn decode_all(&self, fed: &Receiver<Fed>, mut sink: ProbeSink) {
        while let Ok(fed) = fed.recv() {
            let taken = match fed {
                Fed::Start(info) => sink.start(&info),
                Fed::Frame(frame, stamp) => {
                    if let Some((stamped, clock)) = stamp {
                        sink.stamped(stamped, clock);
                    }
                    sink.write(&frame)
                }
            };
            if sink.wants_keyframe() {
                self.wants_keyframe.store(true, Ordering::Relaxed);
            }
            if let Err(failure) = taken {
                locked(&self.failure).get_or_insert(failure);
                return;
            }
        }
    }

    fn pass(&self, outlet: &Outlet, fed: Fed) -> Result<()> {
        match outlet.feed.pass(fed) {
            true => Ok(()),
            false => Err(locked(&self.failure).clone().unwrap_or_else(stopped)),
        }
    }
}

impl Stages {
    /// Waits until the stages have ended, after [`Outlets::end`].
    pub(super) fn join(self) -> std::thread::Result<()> {
        self.decoding.join()?;
        self.examining.join()
    }
}

/// Takes what comes a way.
pub(super) struct WaySink {
    outlets: Arc<Outlets>,
    info: Option<StreamInfo>,
    stamp: Option<(u64, Option<ClockEstimate>)>,
}

impl WaySink {
    pub(super) fn new(outlets: Arc<Outlets>) -> Self {
        Self {
            outlets,
            info: None,
            stamp: None,
        }
    }

    /// True if the outlet begins with this frame, or has begun.
    fn begin(&self, outlet: &mut Outlet, frame: &ReceivedFrame) -> Result<bool> {
        if outlet.begun {
            return Ok(true);
        }
        let Some(info) = self.info.as_ref().filter(|_| frame.keyframe) else {
            if outlet.asked.is_none_or(|asked| asked.elapsed() >= ASK_INTERVAL) {
                outlet.asked = Some(Instant::now());
                self.outlets.wants_keyframe.store(true, Ordering::Relaxed);
            }
            return Ok(false);
        };
        outlet.begun = true;
        self.outlets.pass(outlet, Fed::Start(info.clone()))?;
        Ok(true)
    }
}

impl Sink for WaySink {
    fn start(&mut self, info: &StreamInfo) -> Result<()> {
        self.info = Some(info.clone());
        let list = locked(&self.outlets.list);
        let mut begun = list.iter().filter(|outlet| outlet.begun);
        begun.try_for_each(|outlet| self.outlets.pass(outlet, Fed::Start(info.clone())))
    }

    fn stamped(&mut self, stamped: u64, clock: Option<ClockEstimate>) {
        self.stamp = Some((stamped, clock));
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        let stamp = self.stamp.take();
        self.outlets
            .arrived
            .send_if_modified(|arrived| !std::mem::replace(arrived, true));
        let mut list = locked(&self.outlets.list);
        for outlet in list.iter_mut() {
            if self.begin(outlet, frame)? {
                self.outlets.pass(outlet, Fed::Frame(frame.clone(), stamp))?;
            }
        }
        Ok(())
    }

    fn wants_keyframe(&mut self) -> bool {
        self.outlets.wants_keyframe.swap(false, Ordering::Relaxed)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}
