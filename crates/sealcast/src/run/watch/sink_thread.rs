//! The sink's thread.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use sealcast_proto::timeline::{Arrived, SessionTimeline};
use sealcast_proto::unit::{SoundInfo, StreamInfo};

use super::freezes::Freezes;
use super::group_proofs::GroupProofs;
use super::passage::Passage;
use super::received::Delivered;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Orientation, ReceivedFrame, Track};
use crate::meter::labels::DropCause;
use crate::run::media::queue::FrameQueue;
use crate::run::session::observe::Observation;
use crate::sink::Sink;

/// Feed `sink` from `queue`, and with `proofs`, on a new thread until the queue is closed and empty, or the sink fails.
/// On failure `failed` is called so that the session can be ended.
pub(crate) fn start(
    mut sink: Box<dyn Sink>,
    (queue, proofs): (Arc<FrameQueue<Delivered>>, Arc<GroupProofs>),
    observation: Arc<Observation>,
    failed: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<Result<()>>> {
    let body = move || {
        let written = feed(&mut *sink, (&queue, &proofs), &observation);
        if written.is_err() {
            queue.close();
            failed();
        }
        // Complete the file in any case, but report the first failure.
        written.and(sink.finish())
    };
    std::thread::Builder::new()
        .name("sink".to_owned())
        .spawn(body)
        .map_err(|error| {
            let what = format!("the system gives no thread for the sink ({error})");
            Failure::new(FailureKind::Internal, what, "raise the limit on threads")
        })
}

/// Descriptions of the stream that the sink was told.
#[derive(Default)]
struct Told {
    orientation: Orientation,
    info: Option<Arc<StreamInfo>>,
    sound: Option<Arc<SoundInfo>>,
}

impl Told {
    /// Tells the sink what is new.
    fn tell(
        &mut self,
        sink: &mut dyn Sink,
        orientation: Orientation,
        info: Arc<StreamInfo>,
        sound: Option<Arc<SoundInfo>>,
    ) -> Result<()> {
        if std::mem::replace(&mut self.orientation, orientation) != orientation {
            sink.orient(orientation)?;
        }
        if self.info.as_ref() != Some(&info) {
            sink.start(&info)?;
            self.info = Some(info);
        }
        if let Some(sound) = sound.filter(|sound| self.sound.as_ref() != Some(sound)) {
            sink.start_sound(&sound)?;
            self.sound = Some(sound);
        }
        Ok(())
    }
}

fn feed(
    sink: &mut dyn Sink,
    (queue, proofs): (&FrameQueue<Delivered>, &GroupProofs),
    observation: &Observation,
) -> Result<()> {
    let mut told = Told::default();
    // An archive keeps the frames of each session as they are.
    let mut timeline = (!sink.keeps_sealed()).then(SessionTimeline::default);
    // The frame presented last, until the next one completes what is known of it.
    let mut last: Option<Passage> = None;
    let mut freezes = Freezes::default();
    while let Some(delivered) = next(queue, &mut timeline, observation) {
        let Delivered {
            session: _,
            track,
            info,
            sound,
            orientation,
            frame,
            timeline,
            sealed,
        } = delivered;
        let taken = Instant::now();
        prove(sink, proofs)?;
        told.tell(sink, orientation, info, sound)?;
        sink.sealed(sealed);
        sink.stamped(timeline.stamped(), timeline.clock);
        if track == Track::Sound {
            sink.write_sound(&frame)?;
            continue;
        }
        if let Some(last) = last.take() {
            last.complete(observation, Some(&timeline.preamble));
        }
        let left_out = write(sink, &frame, timeline.preamble.kept)?;
        if sink.wants_keyframe() {
            queue.ask_for_keyframe();
        }
        if left_out > 0 {
            observation.metrics.record_dropped(DropCause::Queue, left_out);
            continue;
        }
        if let Some(length) = freezes.presented(Instant::now()) {
            observation.metrics.froze(length);
        }
        let bytes = frame.data.len();
        tracing::trace!(
            number = frame.number,
            keyframe = frame.keyframe,
            bytes,
            "a picture for the sink"
        );
        last = Some(Passage::presented(
            observation,
            &frame,
            timeline,
            taken,
            sink.decode_time(),
        ));
    }
    if let Some(last) = last {
        last.complete(observation, None);
    }
    prove(sink, proofs)
}

/// Hands the proofs on that came.
fn prove(sink: &mut dyn Sink, proofs: &GroupProofs) -> Result<()> {
    let mut proofs = proofs.take().into_iter();
    proofs.try_for_each(|proof| sink.group_proof(proof))
}

/// Writes a picture, which was kept for a viewer that joined or not. Returns how many pictures the sink left out.
fn write(sink: &mut dyn Sink, frame: &ReceivedFrame, kept: bool) -> Result<u64> {
    if kept {
        sink.kept();
    }
    sink.write(frame)?;
    Ok(sink.take_left_out())
}

/// The next frame, with its media time on a line through all sessions. What came in an earlier session is left out.
fn next(
    queue: &FrameQueue<Delivered>,
    timeline: &mut Option<SessionTimeline>,
    observation: &Observation,
) -> Option<Delivered> {
    loop {
        let mut delivered = queue.wait_pop()?;
        let Some(timeline) = timeline else {
            return Some(delivered);
        };
        let came = &delivered.timeline;
        let now = observation.clock.at(came.arrived);
        let of = (delivered.track, delivered.session);
        let arrived = Arrived::new(of, &came.preamble, came.sealed_at, now, came.clock);
        let media_time = timeline.media_time(&arrived);
        for (jump, _) in timeline.take_jumps().counts().filter(|(_, count)| *count > 0) {
            tracing::debug!(cause = jump.name(), "the publisher's media times jumped");
        }
        if let Some(media_time) = media_time {
            delivered.frame.media_time = media_time;
            return Some(delivered);
        }
    }
}
