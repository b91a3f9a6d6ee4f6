//! The sink's thread.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use sealcast_proto::unit::StreamInfo;

use super::received::{Delivered, FrameTimeline};
use super::{FrameQueue, Observation};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::ReceivedFrame;
use crate::meter::logs::{FrameRow, Phase};
use crate::meter::stage::Stage;
use crate::sink::Sink;

/// Feed `sink` from `queue` on a new thread until the queue is closed and empty, or the sink fails. On failure
/// `failed` is called so that the session can be ended.
pub(super) fn start(
    mut sink: Box<dyn Sink>,
    queue: Arc<FrameQueue<Delivered>>,
    observation: Arc<Observation>,
    failed: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<Result<()>>> {
    let body = move || {
        let written = feed(&mut *sink, &queue, &observation);
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

fn feed(sink: &mut dyn Sink, queue: &FrameQueue<Delivered>, observation: &Observation) -> Result<()> {
    let mut current: Option<Arc<StreamInfo>> = None;
    while let Some(Delivered { info, frame, timeline }) = queue.wait_pop() {
        if current.as_ref() != Some(&info) {
            sink.start(&info)?;
            current = Some(info);
        }
        sink.write(&frame)?;
        if sink.wants_keyframe() {
            queue.ask_for_keyframe();
        }
        let decode = sink.decode_time();
        if let Some(decode) = decode {
            observation.metrics.record_stage(Stage::Decode, decode);
            // From the complete picture at the source until now, if the peer's clock is known.
            observation.since(
                Stage::EndToEnd,
                timeline.preamble.captured,
                Instant::now(),
                timeline.clock,
            );
        }
        if let Some(logs) = observation.logs() {
            logs.frame(row(observation, &frame, &timeline, decode));
        }
    }
    Ok(())
}

fn row(
    observation: &Observation,
    frame: &ReceivedFrame,
    timeline: &FrameTimeline,
    decode: Option<Duration>,
) -> FrameRow {
    let micros = |nanos: u64| nanos as f64 / 1e3;
    let clock = observation.clock;
    let reading = timeline.clock.map(|estimate| estimate.at(clock.wall(timeline.arrived)));
    let preamble = timeline.preamble;
    let first = preamble.previous_seal == 0;
    let stage = |nanos: u32| (!first).then(|| micros(nanos.into()));
    FrameRow {
        time: Timestamp::now(),
        // Frames come in established sessions only; the sink may take them after their session has ended.
        phase: Phase::Steady,
        frame: frame.number,
        keyframe: frame.keyframe,
        bytes: frame.data.len() as u64,
        captured_ns: preamble.captured,
        encoded_ns: preamble.encoded,
        sealed_ns: timeline.sealed_at,
        received_ns: clock.wall(timeline.arrived),
        opened_ns: clock.wall(frame.opened),
        decoded_ns: decode.map(|_| clock.wall(Instant::now())),
        encode_us: micros(preamble.encoded.saturating_sub(preamble.captured)),
        seal_us: stage(preamble.previous_seal),
        send_us: stage(preamble.previous_send),
        network_us: timeline.network.map(|nanos| nanos as f64 / 1e3),
        open_us: (frame.opened - timeline.arrived).as_secs_f64() * 1e6,
        decode_us: decode.map(|decode| decode.as_secs_f64() * 1e6),
        clock_offset_us: reading.map_or(f64::NAN, |clock| clock.offset as f64 / 1e3),
        clock_spread_us: reading.map_or(f64::NAN, |clock| micros(clock.spread)),
        clock_uncertainty_us: reading.map_or(f64::NAN, |clock| micros(clock.uncertainty)),
    }
}
