//! A publisher's task and a viewer's session on carriers in memory instead of TCP.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::keys::{HelloKeys, Identity, PresharedKey, Role, Side, Wish};
use sealcast_proto::seal::suite;
use sealcast_proto::session::{Carrier, Delivery, Input, RekeyPolicy, Session};
use sealcast_proto::sign::SignMode;
use sealcast_proto::unit::{Selection, Unit};
use sealcast_proto::wire::{CameraName, CloseReason};
use tokio::io::DuplexStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::keys::epoch_numbers::EpochNumbers;
use crate::keys::mechanism;
use crate::keys::peers::{KnownPeers, Terms};
use crate::media::{Codec, Frame, FrameRate, SoundCodec, SoundInfo, StampKind, StreamInfo, Track};
use crate::meter::metrics::Metrics;
use crate::run::group::{Group, GroupOptions, drive};
use crate::run::media::away::SourceEnd;
use crate::run::media::hub::Hub;
use crate::run::media::queue::{FrameQueue, QueueLimits};
use crate::run::publish::camera::Camera;
use crate::run::publish::camera_life::source_end;
use crate::run::publish::cameras::PublishedCameras;
use crate::run::publish::departure::Departure;
use crate::run::publish::serve_viewer::serve_viewer;
use crate::run::session::accept::PendingSession;
use crate::run::session::admission::Admission;
use crate::run::session::admitted_places::AdmittedPlaces;
use crate::run::session::connection::Connection;
use crate::run::session::exchange::HandshakeTimer;
use crate::run::session::observe::{Observation, ObserveOptions, Observing, build_info};
use crate::run::session::offer::{CarrierConfig, Offer};
use crate::run::session::runtime_settings::RuntimeSettings;
use crate::run::watch::received::{Delivered, Receiver};
use crate::transport::{StreamTransport, memory_pair};

/// The carrier behaves like TCP.
pub(super) fn carrier_config() -> CarrierConfig {
    CarrierConfig {
        carrier: Carrier::Stream,
        delivery: Delivery::default(),
    }
}

pub(super) fn offer(seed: u8) -> Offer {
    Offer {
        identity: Arc::new(Identity::from_seed(&[seed; 32])),
        suites: suite::RECOMMENDED.to_vec(),
        mechanisms: vec![mechanism::by_name("x25519").expect("a known name")],
        rekey: RekeyPolicy::default(),
        unit: Unit::Frame,
        selection_seed: 0,
        shape: crate::run::media::shape::Shape::Off,
        known: KnownPeers::nowhere(),
        group: None,
        wish: Wish::default(),
        attended: false,
    }
}

pub(super) fn frame(number: u64, keyframe: bool, data: &[u8]) -> Frame {
    let now = Instant::now();
    Frame {
        track: Track::Picture,
        number,
        keyframe,
        media_time: Duration::from_millis(40) * number as u32,
        began: now,
        stamp: StampKind::Arrival,
        captured: now,
        encoded: now,
        data: Bytes::copy_from_slice(data),
    }
}

fn info() -> StreamInfo {
    StreamInfo {
        codec: Codec::Mjpeg,
        width: 640,
        height: 480,
        rate: FrameRate {
            numerator: 25,
            denominator: 1,
        },
        parameters: Vec::new(),
    }
}

fn sound_info() -> SoundInfo {
    SoundInfo {
        codec: SoundCodec::Ulaw,
        channels: 1,
        samples_per_second: 8000,
        samples_per_frame: 160,
        parameters: Vec::new(),
    }
}

/// A publisher of pictures, for one viewer.
pub(super) fn publisher(observation: &Arc<Observation>, offer: Offer) -> Camera {
    let hub = Hub::new(QueueLimits::default(), observation.metrics.clone());
    hub.set_info(info());
    Camera {
        name: CameraName::new("camera").expect("a name"),
        hub: Arc::new(hub),
        observation: Arc::clone(observation),
        admission: Arc::new(Admission::in_memory()),
        places: AdmittedPlaces::new(1),
        wire_tap: None,
        offer,
        settings: RuntimeSettings::new(Selection::All),
        stream_budget: Duration::ZERO,
        leaves: AtomicBool::new(false),
        group: None,
        packets: Err("it has none"),
        packets_alone: false,
    }
}

/// A publisher of pictures that are sealed for a group, and are not signed.
pub(super) fn publisher_of_group(observation: &Arc<Observation>) -> (Arc<Camera>, Arc<Group>) {
    let options = GroupOptions {
        sign: SignMode::Off,
        numbers: EpochNumbers::nowhere(),
        multicast: None,
        archive_to: Vec::new(),
    };
    let offer = offer(2);
    let group = Group::new(options, CameraName::NONE, &offer, QueueLimits::default(), observation);
    let group = Arc::new(group.expect("random bytes"));
    let shared = Camera {
        group: Some(Arc::clone(&group)),
        places: AdmittedPlaces::new(8),
        ..publisher(observation, offer)
    };
    (Arc::new(shared), group)
}

/// Observation for the tests, which opens nothing.
pub(super) async fn observing() -> Observing {
    let observing = Observation::start("test", ObserveOptions::default(), Metrics::new(build_info()));
    observing.await.expect("nothing to open")
}

/// A publisher's session with who is at the other end of a transport.
pub(super) fn responding<T>(shared: &Camera, transport: T) -> PendingSession<T> {
    let config = shared.offer.session(
        Role::Publisher,
        Side::Responder,
        None,
        shared.admission.hello_keys(shared.offer.identity.peer_id()),
        carrier_config(),
    );
    PendingSession {
        transport,
        session: Session::respond(config, [4; 32], shared.observation.clock.now()).into(),
        delay_rate: None,
        remote: "memory".to_owned(),
        timer: HandshakeTimer::begin("responder", None),
        known: None,
        place: None,
        telling: None,
    }
}

/// A publisher's task and its viewer.
struct Ends {
    hub: Arc<Hub>,
    observing: Observing,
    serving: JoinHandle<Departure>,
    viewer: Connection<StreamTransport<DuplexStream>>,
    receiver: Receiver,
    queue: Arc<FrameQueue<Delivered>>,
    /// The budget that the viewer states before anything is published, if any.
    stated: Option<Duration>,
    /// True once it has asked for a keyframe after that.
    asked: bool,
    _stop: watch::Sender<bool>,
}

impl Ends {
    async fn new(stream_budget: Duration) -> Self {
        Self::shaped(stream_budget, crate::run::media::shape::Shape::Off).await
    }

    async fn shaped(stream_budget: Duration, shape: crate::run::media::shape::Shape) -> Self {
        let observing = observing().await;
        let observation = observing.observation();
        let state = publisher(&observation, Offer { shape, ..offer(2) });
        let hub = Arc::clone(&state.hub);
        let invite = state.admission.invite(Terms::hours(1, 1));
        let invite = invite.expect("random bytes");
        let shared = Arc::new(Camera { stream_budget, ..state });
        // Far smaller than a frame, so that both ends must wait for each other.
        let (near, far) = memory_pair(1000);
        let (stop, stopped) = watch::channel(false);
        let pending = responding(&shared, near);
        let serving = tokio::spawn(serve_viewer(PublishedCameras::of(&shared), pending, stopped));
        let publisher = Identity::from_seed(&[2; 32]).peer_id();
        let config = offer(1).session(
            Role::Viewer,
            Side::Initiator,
            Some(publisher),
            Arc::new(HelloKeys::new(&publisher, [&PresharedKey::from_invite(&invite)])),
            carrier_config(),
        );
        let session = Session::initiate(config, [3; 32], observation.clock.now()).expect("complete");
        let queue = Arc::new(FrameQueue::new(QueueLimits::default()));
        let receiver = Receiver::new(session.assembles_stream(), Arc::clone(&observation), Arc::clone(&queue));
        let viewer = Connection::new(far, session, observation.clock, observation.metrics.clone());
        Self {
            hub,
            observing,
            serving,
            viewer,
            receiver,
            queue,
            stated: None,
            asked: false,
            _stop: stop,
        }
    }

    /// True once the publisher knows the viewer's budget, if that has one: it has heard the request that follows it.
    fn has_stated_its_budget(&mut self) -> bool {
        // The first request is made as the viewer joins.
        if self.stated.is_none() || !self.viewer.session.is_established() || !self.hub.take_keyframe_request() {
            return self.stated.is_none();
        }
        if self.asked {
            return true;
        }
        self.asked = true;
        let budget = self.stated.unwrap_or_default();
        for input in [Input::StateBudget(budget), Input::RequestKeyframe(1)] {
            self.viewer
                .handle(input, &mut self.receiver)
                .expect("the publisher listens");
        }
        false
    }

    /// Publishes frames at once, each a keyframe or not, and ends the source. Returns the numbers of those that arrive,
    /// and how many were dropped.
    async fn burst(mut self, keyframes: &[bool]) -> (Vec<u64>, u64) {
        let mut received = Vec::new();
        let mut published = false;
        while self.viewer.work(&mut self.receiver).is_ok() {
            if self.hub.viewers() == 1 && !published && self.has_stated_its_budget() {
                published = true;
                for (number, &keyframe) in (0..).zip(keyframes) {
                    self.hub.publish(frame(number, keyframe, &[7; 5000]));
                }
                self.hub.finish(SourceEnd::Complete);
            }
            received.extend(std::iter::from_fn(|| self.queue.pop()).map(|one| one.frame.number));
            let _ = tokio::time::timeout(Duration::from_millis(5), self.viewer.wait()).await;
        }
        received.extend(std::iter::from_fn(|| self.queue.pop()).map(|one| one.frame.number));
        let totals = self.observing.observation().metrics.totals();
        (received, totals.all_frames_dropped())
    }
}

#[tokio::test]
async fn what_a_viewer_says_of_late_frames_holds_instead_of_the_publishers_own() {
    const HOUR: Duration = Duration::from_secs(3600);
    const GROUPS: &[bool] = &[true, false, true];
    for (own, stated, arrive) in [
        (Duration::ZERO, Some(Duration::from_secs(10)), vec![0, 1, 2]),
        (HOUR, Some(Duration::ZERO), vec![2]),
        (HOUR, None, vec![0, 1, 2]),
    ] {
        let mut ends = Ends::new(own).await;
        ends.hub.set_makes_keyframes(false);
        ends.stated = stated;
        let dropped = (GROUPS.len() - arrive.len()) as u64;
        assert_eq!(ends.burst(GROUPS).await, (arrive, dropped), "{own:?}, {stated:?}");
    }
}

#[tokio::test]
async fn a_late_frame_gives_way_to_a_newer_group_and_to_nothing_else() {
    const GROUPS: &[bool] = &[true, false, false, true, false];
    const HOUR: Duration = Duration::from_secs(3600);
    // Everything is late, and the source makes no keyframe when it is asked.
    let late = async |keyframes: &[bool]| {
        let ends = Ends::new(Duration::ZERO).await;
        ends.hub.set_makes_keyframes(false);
        ends.burst(keyframes).await
    };
    assert_eq!(late(GROUPS).await, (vec![3, 4], 3));
    assert_eq!(late(&[true; 5]).await, (vec![4], 4), "single pictures");
    assert_eq!(late(&GROUPS[..3]).await, (vec![0, 1, 2], 0), "there is nothing newer");
    let ends = Ends::new(HOUR).await;
    assert_eq!(ends.burst(GROUPS).await, (vec![0, 1, 2, 3, 4], 0), "nothing is late");
    let ends = Ends::new(Duration::ZERO).await;
    ends.hub.set_plays_once(true);
    assert_eq!(
        ends.burst(GROUPS).await,
        (vec![0, 1, 2, 3, 4], 0),
        "it is to arrive whole"
    );
}

#[tokio::test]
async fn frames_reach_a_viewer_through_memory_as_they_do_through_tcp() {
    let mut ends = Ends::new(Duration::from_secs(3600)).await;
    let picture: Vec<u8> = (0..50_000_u32).map(|byte| byte as u8).collect();
    let mut received = Vec::new();
    while received.len() < 3 {
        ends.viewer.work(&mut ends.receiver).expect("the session goes on");
        if ends.hub.viewers() == 1 && ends.hub.frames() < 3 {
            ends.hub.publish(frame(ends.hub.frames(), true, &picture));
        }
        received.extend(std::iter::from_fn(|| ends.queue.pop()));
        // Publish frames here: no byte from the other end wakes the task.
        let _ = tokio::time::timeout(Duration::from_millis(5), ends.viewer.wait()).await;
    }
    assert!(received.iter().all(|delivered| delivered.frame.data[..] == picture[..]));
    ends.viewer
        .handle(Input::Close(CloseReason::GoingAway, "seen enough"), &mut ends.receiver)
        .expect("the publisher listens");
    ends.viewer.say_goodbye(Duration::from_secs(1)).await;
    let departure = ends.serving.await.expect("no panic");
    assert_eq!(departure.reason, Some(CloseReason::GoingAway));
}

/// A picture or a packet of sound that was made a second ago.
fn late(track: Track, number: u64) -> Frame {
    let made = Instant::now().checked_sub(Duration::from_secs(1));
    Frame {
        track,
        encoded: made.expect("the machine runs for longer"),
        ..frame(number, track == Track::Sound, &[9; 100])
    }
}

/// Publishes a keyframe, and three late ones of a track behind it. Returns the numbers of those that came, and how many
/// were left out; the source ends at once or after that.
async fn late_ones_of(track: Track, ends_at_once: bool) -> (Vec<u64>, u64) {
    const RATE: u64 = 8_000_000;
    let mut ends = Ends::shaped(Duration::ZERO, crate::run::media::shape::Shape::Constant(RATE)).await;
    ends.hub.set_sound(Some(sound_info()));
    let (mut published, mut came) = (false, Vec::new());
    let left_out = |ends: &Ends| {
        let totals = ends.observing.observation().metrics.totals();
        totals.sound_dropped + totals.all_frames_dropped()
    };
    while ends.viewer.work(&mut ends.receiver).is_ok() {
        if ends.hub.viewers() == 1 && !published {
            published = true;
            ends.hub.publish(frame(0, true, &[7; 5000]));
            for number in 0..3 {
                match track {
                    Track::Picture => ends.hub.publish(late(track, number + 1)),
                    Track::Sound => ends.hub.publish_sound(late(track, number)),
                }
            }
        }
        if published && (ends_at_once || left_out(&ends) == 3) {
            ends.hub.finish(SourceEnd::Complete);
        }
        came.extend(std::iter::from_fn(|| ends.queue.pop()));
        let _ = tokio::time::timeout(Duration::from_millis(5), ends.viewer.wait()).await;
    }
    came.extend(std::iter::from_fn(|| ends.queue.pop()));
    let of_track = came.iter().filter(|one| one.track == track);
    (of_track.map(|one| one.frame.number).collect(), left_out(&ends))
}

#[tokio::test]
async fn what_is_late_is_left_out_unless_the_source_has_ended() {
    assert_eq!(late_ones_of(Track::Picture, false).await, (vec![0], 3));
    assert_eq!(late_ones_of(Track::Picture, true).await, (vec![0, 1, 2, 3], 0));
    assert_eq!(late_ones_of(Track::Sound, false).await, (vec![], 3));
    assert_eq!(late_ones_of(Track::Sound, true).await, (vec![0, 1, 2], 0));
}

/// It was not: the last frame went unsealed where a busy machine learned of it and of the end at once.
#[tokio::test]
async fn a_source_has_not_ended_before_its_last_frame_is_sealed_for_the_group() {
    let observing = observing().await;
    let observation = observing.observation();
    let (shared, group) = publisher_of_group(&observation);
    let sealing = drive(Arc::clone(&shared), Arc::clone(&group));
    tokio::pin!(sealing);
    // It waits for frames from here on.
    assert!(tokio::time::timeout(Duration::ZERO, &mut sealing).await.is_err());
    shared.hub.publish(frame(0, true, &[7; 100]));
    shared.hub.finish(SourceEnd::Complete);
    tokio::select! {
        biased;
        _ = source_end(&shared) => {}
        _ = &mut sealing => unreachable!("it waits for its members' tasks"),
    }
    assert!(group.is_over());
}
