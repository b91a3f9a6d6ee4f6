//! The source's thread.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use super::away::{Away, SourceEnd};
use super::hub::Hub;
use super::shape::{Capacity, FrameProof, Shape};
use super::source_feed::{Reopen, SharedSkip, SourceFeed, Waiting};
use crate::run::session::runtime_settings::check_selection;
use sealcast_proto::unit::Selection;

use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, Frame, Track};
use crate::meter::metrics::Metrics;
use crate::meter::stage::Stage;
use crate::source::{Source, contain};

/// Called with each frame of the source; the demo shows the camera's picture with it.
pub(crate) type Tap = Box<dyn FnMut(&Frame) + Send>;

/// Forward frames from `source` to `hub` on a new thread until the source ends or the hub stops. With `reopen`, a
/// source that failed, or fails later, is opened again until it is back. Without `sound` only the picture is forwarded.
/// `selected` says what is encrypted at the moment, which a source that is back with another codec must fit.
pub(crate) fn start(
    (source, reopen, sound): (Result<Box<dyn Source>>, Option<Reopen>, bool),
    hub: Arc<Hub>,
    metrics: Metrics,
    mut tap: Option<Tap>,
    (shape, proof): (Shape, FrameProof),
    selected: impl Fn() -> Selection + Send + 'static,
) -> Result<JoinHandle<()>> {
    let began = Instant::now();
    let waiting = Waiting::new(reopen);
    match &source {
        Ok(source) => describe(&**source, &hub, sound),
        // Whoever asks from here on is told so.
        Err(failure) => Away::after(failure)
            .into_iter()
            .for_each(|away| hub.standing.away(began, away)),
    }
    let body = move || {
        let _within = hub.span.clone().entered();
        let forward = || {
            let mut waiting = waiting;
            let source = match source {
                Ok(source) => source,
                Err(failure) => {
                    let Some(source) = waiting.open(&hub, failure, began)? else {
                        return Ok(());
                    };
                    describe(&*source, &hub, sound);
                    source
                }
            };
            let most_waiting = shape.most_waiting(&source.info());
            let mut feed = SourceFeed::new(source, waiting, sound);
            feed.stop_when({
                let hub = Arc::clone(&hub);
                Arc::new(move || hub.stopping())
            });
            if let Some(most) = most_waiting {
                feed.skip_if(skip_over(most, &hub, &metrics));
            }
            pump(&mut feed, &hub, &metrics, &mut tap, shape.capacity(proof), &selected)
        };
        let end = match contain(forward) {
            Ok(()) => SourceEnd::Complete,
            Err(failure) => SourceEnd::Failed(failure),
        };
        hub.finish(end);
    };
    std::thread::Builder::new()
        .name("source".to_owned())
        .spawn(body)
        .map_err(|error| {
            let what = format!("the system gives no thread for the source ({error})");
            Failure::new(FailureKind::Internal, what, "raise the limit on threads")
        })
}

/// Tells the hub what the source gives.
fn describe(source: &dyn Source, hub: &Hub, with_sound: bool) {
    let sound = source.sound().filter(|_| with_sound);
    if let Some(sound) = &sound {
        let (codec, channels, rate) = (sound.codec.name(), sound.channels, sound.samples_per_second);
        tracing::info!(codec, channels, rate, "with sound");
    }
    hub.set_info(source.info());
    hub.set_sound(sound);
    hub.set_orientation(source.orientation());
    if !source.orientation().is_upright() {
        tracing::info!(orientation = %source.orientation(), "the picture of the source is shown as its file says");
    }
    hub.set_makes_keyframes(source.makes_keyframes());
    hub.set_plays_once(source.waits_for_viewers());
}

/// Leaves pictures out while more than `most` bytes wait for a viewer.
fn skip_over(most: usize, hub: &Arc<Hub>, metrics: &Metrics) -> SharedSkip {
    let (hub, metrics) = (Arc::clone(hub), metrics.clone());
    Arc::new(move || {
        let skip = hub.holds_more_than(most);
        if skip {
            metrics.picture_skipped();
        }
        skip
    })
}

fn pump(
    feed: &mut SourceFeed,
    hub: &Hub,
    metrics: &Metrics,
    tap: &mut Option<Tap>,
    mut capacity: Capacity,
    selected: &dyn Fn() -> Selection,
) -> Result<()> {
    let (mut number, mut sounds) = (0, 0);
    let (mut info, mut sound) = (feed.source().info(), feed.sound());
    let mut makes_keyframes = feed.source().makes_keyframes();
    // The source starts at its own rate.
    let mut target = u64::MAX;
    if feed.source().waits_for_viewers() {
        hub.wait_for_viewer();
    }
    while !hub.stopping() {
        if hub.take_keyframe_request() {
            feed.source().request_keyframe();
        }
        if feed.source().makes_keyframes() != makes_keyframes {
            // The source has found out what its encoder does.
            makes_keyframes = !makes_keyframes;
            hub.set_makes_keyframes(makes_keyframes);
        }
        if feed.take_reopened() {
            target = u64::MAX;
            // Another description may be lost on its way: a number that is left out shows that.
            sounds += 1;
        }
        if hub.target() != target {
            target = hub.target();
            let follows = feed.source().set_bitrate(target);
            tracing::trace!(target, follows, "another bit rate was asked of the source");
        }
        let next = feed.next(hub);
        count(metrics, feed);
        let Some(mut frame) = next? else { break };
        capacity.made(&frame)?;
        if frame.track == Track::Sound {
            let current = feed.sound();
            if current != sound {
                hub.set_sound(current.clone());
                sound = current;
            }
            frame.number = sounds;
            sounds += 1;
            hub.publish_sound(frame);
            continue;
        }
        // Number the frames as they are published: a gap then always means a loss after this point.
        frame.number = number;
        number += 1;
        record_stages(metrics, &frame);
        if frame.keyframe {
            hub.set_orientation(feed.source().orientation());
            let current = feed.source().info();
            if current != info {
                check_change(info.codec, current.codec, selected())?;
                hub.set_info(current.clone());
                info = current;
            }
        }
        if let Some(tap) = tap {
            tap(&frame);
        }
        hub.publish(frame);
    }
    Ok(())
}

/// Counts what the source lost, the jumps of its clock, and what strangers sent to it.
fn count(metrics: &Metrics, feed: &mut SourceFeed) {
    metrics.lost_at_source(feed.take_lost());
    metrics.source_jumped(feed.take_jumps());
    metrics.strangers_at_source(feed.take_strangers());
}

fn record_stages(metrics: &Metrics, frame: &Frame) {
    let (number, keyframe, bytes) = (frame.number, frame.keyframe, frame.data.len());
    tracing::trace!(number, keyframe, bytes, "a picture of the source");
    metrics.record_stage(Stage::Capture, frame.captured.saturating_duration_since(frame.began));
    metrics.record_stage(Stage::Encode, frame.encoded.saturating_duration_since(frame.captured));
}

/// Whether a source that is back may send another codec: of some codecs everything must be encrypted.
fn check_change(before: Codec, now: Codec, selection: Selection) -> Result<()> {
    let refused = match check_selection(now, selection) {
        Err(why) if now != before => why,
        _ => return Ok(()),
    };
    let what = format!(
        "the source sends {} now, and {} before: {refused}",
        now.title(),
        before.title()
    );
    Err(Failure::new(
        FailureKind::Source,
        what,
        "start the publisher anew with --encrypt all",
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    use super::super::hub::Start;
    use super::super::queue::QueueLimits;
    use super::super::target_rate::PathTarget;
    use super::*;
    use crate::media::{FrameRate, StampKind, StreamInfo};
    use crate::run::session::observe::build_info;
    use crate::source::Lost;

    /// A source whose library panics on its camera's data.
    struct Crashing;

    impl Source for Crashing {
        fn info(&self) -> StreamInfo {
            StreamInfo {
                codec: Codec::Mjpeg,
                width: 2,
                height: 2,
                rate: FrameRate {
                    numerator: 25,
                    denominator: 1,
                },
                parameters: Vec::new(),
            }
        }

        fn next(&mut self) -> Result<Option<Frame>> {
            panic!("as a parser does on hostile bytes")
        }

        fn request_keyframe(&mut self) {}
    }

    /// Records the requested rates, and sets viewers' targets as it goes.
    struct Listening {
        hub: Arc<Hub>,
        viewer: u64,
        made: usize,
        asked: Arc<Mutex<Vec<u64>>>,
    }

    impl Source for Listening {
        fn info(&self) -> StreamInfo {
            Crashing.info()
        }

        fn next(&mut self) -> Result<Option<Frame>> {
            let stated = [Some(500_000), Some(500_000), None, None];
            let Some(&target) = stated.get(self.made) else {
                return Ok(None);
            };
            let path = target.map(|rate| PathTarget::most(rate, true));
            self.hub.set_target(self.viewer, path);
            self.made += 1;
            let now = Instant::now();
            Ok(Some(Frame {
                track: Track::Picture,
                number: 0,
                keyframe: true,
                media_time: Duration::ZERO,
                began: now,
                stamp: StampKind::Arrival,
                captured: now,
                encoded: now,
                data: vec![0].into(),
            }))
        }

        fn request_keyframe(&mut self) {}

        fn set_bitrate(&mut self, bits_per_second: u64) -> bool {
            self.asked.lock().expect("no panic before").push(bits_per_second);
            true
        }
    }

    #[test]
    fn the_source_is_told_of_each_new_target_once() {
        let metrics = Metrics::new(build_info());
        let hub = Arc::new(Hub::new(QueueLimits::default(), metrics.clone()));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let source = Listening {
            viewer: hub.join(Start::NextKeyframe, None).id,
            hub: Arc::clone(&hub),
            made: 0,
            asked: Arc::clone(&asked),
        };
        let source: Result<Box<dyn Source>> = Ok(Box::new(source));
        let shape = (Shape::Off, FrameProof::None);
        let thread = start((source, None, true), hub, metrics, None, shape, || Selection::All).expect("a thread");
        thread.join().expect("it ends");
        assert_eq!(*asked.lock().expect("no panic before"), [500_000, u64::MAX]);
    }

    /// Loses frames, and then fails.
    struct Losing(u32);

    impl Source for Losing {
        fn info(&self) -> StreamInfo {
            Crashing.info()
        }

        fn next(&mut self) -> Result<Option<Frame>> {
            self.0 += 1;
            if self.0 > 2 {
                return Err(Failure::new(FailureKind::Source, "unplugged", "plug it in"));
            }
            let now = Instant::now();
            Ok(Some(Frame {
                track: Track::Picture,
                number: 0,
                keyframe: true,
                media_time: Duration::ZERO,
                began: now,
                stamp: StampKind::Arrival,
                captured: now,
                encoded: now,
                data: vec![0].into(),
            }))
        }

        fn take_lost(&mut self) -> Lost {
            Lost {
                dropped: 100,
                damaged: 10,
                left_out: 1,
            }
        }

        fn request_keyframe(&mut self) {}
    }

    #[test]
    fn what_the_source_lost_is_counted_up_to_its_failure() {
        let metrics = Metrics::new(build_info());
        let hub = Arc::new(Hub::new(QueueLimits::default(), metrics.clone()));
        let source = (Ok(Box::new(Losing(0)) as Box<dyn Source>), None, true);
        let thread = start(
            source,
            hub,
            metrics.clone(),
            None,
            (Shape::Off, FrameProof::None),
            || Selection::All,
        )
        .expect("a thread");
        thread.join().expect("it ends");
        let dropped = metrics.totals().frames_dropped;
        let counted = ["source", "damaged", "gap", "queue"].map(|cause| dropped[cause]);
        assert_eq!(counted, [300, 30, 3, 0]);
        let text = metrics.encode();
        let line = r#"sealcast_frames_dropped_total{cause="damaged"} 30"#;
        assert!(text.lines().any(|seen| seen == line), "{text}");
    }

    /// A camera that comes back with another codec.
    struct Changing(Codec, u64);

    impl Source for Changing {
        fn info(&self) -> StreamInfo {
            let codec = if self.1 > 1 { self.0 } else { Codec::H264 };
            StreamInfo {
                codec,
                ..Crashing.info()
            }
        }

        fn next(&mut self) -> Result<Option<Frame>> {
            self.1 += 1;
            if self.1 > 3 {
                return Ok(None);
            }
            Losing(0).next()
        }

        fn request_keyframe(&mut self) {}
    }

    #[test]
    fn a_source_comes_back_with_another_codec_unless_that_cannot_be_selected_from() {
        let (all, some) = (Selection::All, Selection::Keyframes);
        for (codec, selection, ends_well) in [
            (Codec::Mjpeg, some, true),
            (Codec::H265, some, false),
            (Codec::Av1, some, false),
            (Codec::H265, all, true),
        ] {
            let metrics = Metrics::new(build_info());
            let hub = Arc::new(Hub::new(QueueLimits::default(), metrics.clone()));
            let source = (Ok(Box::new(Changing(codec, 0)) as Box<dyn Source>), None, true);
            let proof = (Shape::Off, FrameProof::None);
            let thread = start(source, Arc::clone(&hub), metrics, None, proof, move || selection);
            thread.expect("a thread").join().expect("it ends");
            let (frames, end) = (hub.frames(), hub.end());
            match end.expect("it has ended") {
                SourceEnd::Complete => assert!(ends_well && frames == 3, "{codec:?}: {frames}"),
                SourceEnd::Failed(failure) => {
                    assert!(!ends_well && frames == 1, "{codec:?}: {frames}");
                    assert!(failure.what.contains("and H.264 before"), "{}", failure.what);
                }
            }
        }
    }

    #[test]
    fn a_camera_that_is_off_at_first_is_away_until_it_gives_its_description_and_pictures() {
        let metrics = Metrics::new(build_info());
        let hub = Arc::new(Hub::new(QueueLimits::default(), metrics.clone()));
        let off = || {
            Failure::new(
                FailureKind::Source,
                "rtsp://10.0.0.7/live does not answer",
                "switch it on",
            )
        };
        let mut opened = 0;
        let (looked, is_looked_at) = std::sync::mpsc::channel();
        let reopen = Reopen::new(move || {
            opened += 1;
            let _ = looked.send(());
            let is_on: Result<Box<dyn Source>> = Ok(Box::new(Changing(Codec::Mjpeg, 0)));
            if opened == 1 { Err(off()) } else { is_on }
        });
        let nudge = reopen.nudge();
        let source = (Err(off()), Some(reopen), true);
        let shape = (Shape::Off, FrameProof::None);
        let thread = start(source, Arc::clone(&hub), metrics.clone(), None, shape, || {
            Selection::All
        })
        .expect("a thread");
        let away = hub.standing.now().away.expect("away from the first moment on");
        assert_eq!(away.reason, "rtsp://10.0.0.7/live does not answer");
        assert!(hub.info().is_none());
        assert!(metrics.encode().contains("\nsealcast_camera_off 1\n"));
        is_looked_at.recv().expect("it is looked for");
        nudge.now();
        thread.join().expect("it ends");
        assert!(hub.standing.now().away.is_none() && hub.info().is_some());
        assert!(metrics.encode().contains("\nsealcast_camera_off 0\n"));
        assert_eq!(hub.frames(), 3);
    }

    #[test]
    fn a_source_that_crashes_ends_the_stream_with_a_failure() {
        let metrics = Metrics::new(build_info());
        let hub = Arc::new(Hub::new(QueueLimits::default(), metrics.clone()));
        let thread = start(
            (Ok(Box::new(Crashing)), None, true),
            Arc::clone(&hub),
            metrics,
            None,
            (Shape::Off, FrameProof::None),
            || Selection::All,
        )
        .expect("a thread");
        thread.join().expect("the panic was contained");
        let failed = |end: &SourceEnd| matches!(end, SourceEnd::Failed(failure) if failure.kind == FailureKind::Source);
        assert!(hub.end().as_ref().is_some_and(failed));
    }
}
