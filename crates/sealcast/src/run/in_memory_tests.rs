//! A publisher's task and a viewer's session on carriers in memory instead of TCP.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::keys::{HelloKeys, Identity, PresharedKey, Role, Side};
use sealcast_proto::seal::suite;
use sealcast_proto::session::{Carrier, Delivery, Input, RekeyPolicy, Session};
use sealcast_proto::unit::{Selection, Unit};
use sealcast_proto::wire::CloseReason;
use tokio::sync::watch;

use super::accept::PendingSession;
use super::build_info;
use super::connection::Connection;
use super::exchange::HandshakeTimer;
use super::offer::CarrierConfig;
use super::publisher_state::PublisherState;
use super::received::Receiver;
use super::serve_viewer::serve_viewer;
use super::{Admission, FrameQueue, Hub, Observation, ObserveOptions, Offer, QueueLimits, RuntimeSettings};
use crate::keys::mechanism;
use crate::keys::peers::{KnownPeers, Terms};
use crate::media::{Codec, Frame, FrameRate, StampKind, StreamInfo, Track};
use crate::meter::metrics::Metrics;
use crate::transport::memory_pair;

/// The carrier behaves like TCP.
fn carrier_config() -> CarrierConfig {
    CarrierConfig {
        carrier: Carrier::Stream,
        delivery: Delivery::default(),
    }
}

fn offer(seed: u8) -> Offer {
    Offer {
        identity: Arc::new(Identity::from_seed(&[seed; 32])),
        suites: suite::RECOMMENDED.to_vec(),
        mechanisms: vec![mechanism::by_name("x25519").expect("a known name")],
        rekey: RekeyPolicy::default(),
        unit: Unit::Frame,
        selection_seed: 0,
        shape: super::Shape::Off,
        known: KnownPeers::nowhere(),
        group: None,
    }
}

fn frame(number: u64, data: &[u8]) -> Frame {
    let now = Instant::now();
    Frame {
        track: Track::Picture,
        number,
        keyframe: true,
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

/// A publisher's session with who is at the other end of a transport.
fn responding<T>(shared: &PublisherState, transport: T) -> PendingSession<T> {
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
    }
}

#[tokio::test]
async fn frames_reach_a_viewer_through_memory_as_they_do_through_tcp() {
    let observing = Observation::start("test", ObserveOptions::default(), Metrics::new(build_info()))
        .await
        .expect("nothing to open");
    let observation = observing.observation();
    let hub = Arc::new(Hub::new(QueueLimits::default(), observation.metrics.clone()));
    hub.set_info(info());
    let admission = Admission::in_memory();
    let invite = admission.invite(Terms { uses: 1, hours: 1 }).expect("random bytes");
    let shared = Arc::new(PublisherState {
        hub: Arc::clone(&hub),
        observation: Arc::clone(&observation),
        admission: Arc::new(admission),
        max_viewers: 1,
        wire_tap: None,
        offer: offer(2),
        settings: RuntimeSettings::new(Selection::All),
        group: None,
    });
    // Far smaller than a frame, so that both ends must wait for each other.
    let (near, far) = memory_pair(1000);
    let (_stop, stopped) = watch::channel(false);
    let pending = responding(&shared, near);
    let serving = tokio::spawn(serve_viewer(shared, pending, stopped));

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
    let mut receiver = Receiver::new(session.assembles_stream(), Arc::clone(&observation), Arc::clone(&queue));
    let mut viewer = Connection::new(far, session, observation.clock, observation.metrics.clone());
    let picture: Vec<u8> = (0..50_000_u32).map(|byte| byte as u8).collect();
    let mut received = Vec::new();
    while received.len() < 3 {
        viewer.work(&mut receiver).expect("the session goes on");
        if hub.viewers() == 1 && hub.frames() < 3 {
            hub.publish(frame(hub.frames(), &picture));
        }
        received.extend(std::iter::from_fn(|| queue.pop()));
        // Publish frames here: no byte from the other end wakes the task.
        let _ = tokio::time::timeout(Duration::from_millis(5), viewer.wait()).await;
    }
    assert!(received.iter().all(|delivered| delivered.frame.data[..] == picture[..]));
    viewer
        .handle(Input::Close(CloseReason::GoingAway, "seen enough"), &mut receiver)
        .expect("the publisher listens");
    viewer.say_goodbye(Duration::from_secs(1)).await;
    let departure = serving.await.expect("no panic");
    assert_eq!(departure.reason, Some(CloseReason::GoingAway));
}
