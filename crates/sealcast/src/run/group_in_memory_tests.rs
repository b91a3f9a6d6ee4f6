//! A group on carriers in memory: the task that seals a frame sends it to all members.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use sealcast_proto::keys::{HelloKeys, Identity, PresharedKey, Role, Side};
use sealcast_proto::session::{Event, GroupPolicy, OpenedBy, Session};
use sealcast_proto::sign::SignMode;
use tokio::io::DuplexStream;
use tokio::sync::watch;
use tokio::task::yield_now;

use crate::failure;
use crate::keys::peers::Terms;
use crate::run::group::drive;
use crate::run::in_memory_tests::{carrier_config, frame, observing, offer, publisher_of_group, responding};
use crate::run::media::queue::{FrameQueue, QueueLimits};
use crate::run::publish::camera::Camera;
use crate::run::publish::cameras::PublishedCameras;
use crate::run::publish::departure::Departure;
use crate::run::publish::serve_viewer::serve_viewer;
use crate::run::session::connection::{Connection, Ended};
use crate::run::session::observe::Observing;
use crate::run::session::offer::Offer;
use crate::run::watch::received::{Delivered, Receiver};
use crate::transport::{StreamTransport, memory_pair};

/// Remembers that a task was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A member: the publisher's task for it, and its viewer.
struct Member {
    serving: Pin<Box<dyn Future<Output = Departure>>>,
    woken: Arc<Woken>,
    viewer: Connection<StreamTransport<DuplexStream>>,
    receiver: Receiver,
    queue: Arc<FrameQueue<Delivered>>,
    /// The viewer has its first sheet.
    joined: bool,
    /// The numbers of the frames that came.
    came: Vec<u64>,
}

impl Member {
    /// Runs the publisher's task for it, if that was woken.
    fn serve(&mut self) -> Poll<Departure> {
        if !self.woken.0.swap(false, Ordering::Relaxed) {
            return Poll::Pending;
        }
        let waker = Waker::from(Arc::clone(&self.woken));
        self.serving.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Lets the viewer take what has come.
    fn watch(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            self.viewer.work(&mut self.receiver).expect("the session goes on");
            let joins = |event: Event| matches!(event, Event::JoinedGroup(_));
            self.joined |= std::iter::from_fn(|| self.viewer.next_event()).fold(false, |any, event| any | joins(event));
            match std::pin::pin!(self.viewer.wait()).poll(&mut context) {
                Poll::Ready(waited) => waited.expect("the carrier works"),
                Poll::Pending => break,
            }
        }
        self.came
            .extend(std::iter::from_fn(|| self.queue.pop()).map(|one| one.frame.number));
    }
}

/// A publisher whose tasks run when the test says so.
struct Audience {
    shared: Arc<Camera>,
    sealing: Pin<Box<dyn Future<Output = failure::Result<Infallible>>>>,
    members: Vec<Member>,
    observing: Observing,
    stop: watch::Sender<bool>,
}

impl Audience {
    /// Members whose carriers have room for so many bytes, and have the first frame.
    async fn new(rooms: &[usize]) -> Self {
        let observing = observing().await;
        let (shared, group) = publisher_of_group(&observing.observation());
        // However slow the machine is, all frames are sent.
        shared.hub.set_plays_once(true);
        let mut audience = Self {
            sealing: Box::pin(drive(Arc::clone(&shared), group)),
            shared,
            members: Vec::new(),
            observing,
            stop: watch::channel(false).0,
        };
        for &room in rooms {
            audience.seat(room).await;
        }
        audience
    }

    /// One more becomes a member.
    async fn seat(&mut self, room: usize) {
        let seed = 10 + self.members.len() as u8;
        let invite = self.shared.admission.invite(Terms::hours(1, 1));
        let publisher = self.shared.offer.identity.peer_id();
        let keys = HelloKeys::new(&publisher, [&PresharedKey::from_invite(&invite.expect("random bytes"))]);
        let offer = Offer {
            group: Some(GroupPolicy {
                sign: SignMode::Off,
                opened_by: OpenedBy::Session,
            }),
            identity: Arc::new(Identity::from_seed(&[seed; 32])),
            ..offer(seed)
        };
        let config = offer.session(
            Role::Viewer,
            Side::Initiator,
            Some(publisher),
            Arc::new(keys),
            carrier_config(),
        );
        let observation = self.observing.observation();
        let session = Session::initiate(config, [seed; 32], observation.clock.now()).expect("complete");
        let (near, far) = memory_pair(room);
        let pending = responding(&self.shared, near);
        let queue = Arc::new(FrameQueue::new(QueueLimits::default()));
        self.members.push(Member {
            serving: Box::pin(serve_viewer(
                PublishedCameras::of(&self.shared),
                pending,
                self.stop.subscribe(),
            )),
            woken: Arc::new(Woken(AtomicBool::new(true))),
            receiver: Receiver::new(session.assembles_stream(), Arc::clone(&observation), Arc::clone(&queue)),
            viewer: Connection::new(far, session, observation.clock, observation.metrics.clone()),
            queue,
            joined: false,
            came: Vec::new(),
        });
        while self.members.iter().any(|member| !member.joined) {
            self.run().await;
        }
        self.publish();
        self.until_all_have_it().await;
    }

    /// Runs everything until all viewers have the last frame.
    async fn until_all_have_it(&mut self) {
        let last = self.shared.hub.frames() - 1;
        while self.members.iter().any(|member| !member.came.contains(&last)) {
            self.run().await;
        }
    }

    fn publish(&self) {
        let number = self.shared.hub.frames();
        self.shared.hub.publish(frame(number, true, &[number as u8; 5000]));
    }

    /// Runs the task that seals, once.
    async fn seal(&mut self) {
        yield_now().await;
        let mut context = Context::from_waker(Waker::noop());
        assert!(self.sealing.as_mut().poll(&mut context).is_pending());
    }

    /// Runs everything once, and lets time pass.
    async fn run(&mut self) {
        self.seal().await;
        for member in &mut self.members {
            assert!(member.serve().is_pending());
            member.watch();
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    /// Publishes and seals a frame while none of the members' tasks waits to run. Returns its number.
    async fn seal_one(&mut self) -> u64 {
        self.publish();
        loop {
            let mut waiting = self.members.iter_mut();
            if !waiting.any(|member| member.woken.0.load(Ordering::Relaxed)) {
                break;
            }
            for member in &mut self.members {
                assert!(member.serve().is_pending());
            }
        }
        self.seal().await;
        self.shared.hub.frames() - 1
    }
}

#[tokio::test]
async fn who_seals_a_frame_sends_it_and_wakes_no_member() {
    let mut audience = Audience::new(&[1 << 20; 3]).await;
    for _ in 0..100 {
        let number = audience.seal_one().await;
        for member in &mut audience.members {
            member.watch();
            assert_eq!(member.came.last(), Some(&number), "without a turn of its task");
        }
        // What viewers answered is for their tasks.
        audience.run().await;
    }
    for member in &audience.members {
        let first = member.came[0];
        assert!(member.came.iter().copied().eq(first..first + member.came.len() as u64));
        assert_eq!(member.viewer.refused, 0);
    }
}

#[tokio::test]
async fn who_takes_part_of_a_frame_gets_the_rest_in_its_order_and_costs_others_nothing() {
    let mut audience = Audience::new(&[1 << 20, 1000, 1 << 20]).await;
    let before = audience.members[1].came.len();
    for _ in 0..5 {
        let number = audience.seal_one().await;
        for at in [0, 2] {
            audience.members[at].watch();
            assert_eq!(audience.members[at].came.last(), Some(&number));
        }
    }
    assert_eq!(audience.members[1].came.len(), before, "nobody reads there");
    audience.until_all_have_it().await;
    for member in &audience.members {
        assert!(member.came.is_sorted() && member.viewer.refused == 0);
    }
    assert_eq!(audience.members[1].came.len(), before + 5);
}

#[tokio::test]
async fn a_carrier_that_breaks_ends_its_member_alone_and_the_reason_is_told() {
    let mut audience = Audience::new(&[1 << 20; 2]).await;
    let Member {
        mut serving,
        woken,
        viewer,
        ..
    } = audience.members.remove(0);
    drop(viewer);
    // Its task has not run since when the next frame is sent.
    let number = audience.seal_one().await;
    audience.members[0].watch();
    assert_eq!(audience.members[0].came.last(), Some(&number));
    let departure = loop {
        let waker = Waker::from(Arc::clone(&woken));
        match serving.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(departure) => break departure,
            Poll::Pending => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    };
    let broken = |ended: &Ended| matches!(ended, Ended::Carrier(error) if error.kind() == ErrorKind::BrokenPipe);
    assert!(broken(&departure.ended), "{:?}", departure.ended);
    assert_eq!(audience.shared.hub.viewers(), 1);
}

#[tokio::test]
async fn who_joins_while_frames_are_sent_has_its_sheet_before_them() {
    let mut audience = Audience::new(&[1 << 20]).await;
    for _ in 0..3 {
        audience.seat(2000).await;
        audience.seal_one().await;
        audience.until_all_have_it().await;
    }
    assert!(audience.members.iter().all(|member| member.viewer.refused == 0));
}
