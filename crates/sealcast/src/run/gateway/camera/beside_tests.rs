use sealcast_proto::rtsp::{Track, TrackSet, Verb};

use super::super::super::PACKETS;
use super::super::super::request_mux::Question;
use super::super::super::subscribers::{PacketQueue, Subscriber, SubscriberEvent};
use super::*;
use crate::rtsp::Tapped;
use crate::run::build_info;

const SDP: &[u8] = b"v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\nm=application 0 RTP/AVP 107\r\n";
const OTHER: &[u8] = b"v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H265/90000\r\n";

/// A gateway, and the requests of a camera whose source has this tap.
struct Gateway {
    subscriber: Subscriber,
    events: mpsc::Receiver<SubscriberEvent>,
    requests: mpsc::Sender<Request>,
    _stop: watch::Sender<bool>,
}

impl Gateway {
    fn begin(tap: &Arc<PacketTap>, subscribers: &Arc<Subscribers>) -> Self {
        let (requests, asked) = mpsc::channel(8);
        let (events, came) = mpsc::channel(8);
        let subscriber = Subscriber {
            id: 1,
            slot: 0,
            queue: Arc::new(PacketQueue::new(PACKETS)),
            rtp_sender: None,
            events,
        };
        let metrics = Metrics::new(build_info());
        let (tap, subscribers) = (Arc::clone(tap), Arc::clone(subscribers));
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(async move { serve(&tap, subscribers, (asked, stopped), &metrics).await });
        Self {
            subscriber,
            events: came,
            requests,
            _stop: stop,
        }
    }

    async fn ask(&self, request: u32, action: Action) {
        let subscriber = self.subscriber.clone();
        let question = Question {
            subscriber,
            request,
            action,
        };
        let sent = self.requests.send(Request::Question(question)).await;
        assert!(sent.is_ok(), "it is served");
    }

    async fn play(&self, request: u32, tracks: u16) {
        let play = Verb::Play(TrackSet::from_bits(tracks));
        self.ask(request, Action::Command(play, Parameters::default())).await;
    }

    /// The status of the next answer, with its body; or of the end of the camera.
    async fn told(&mut self) -> (u16, Vec<u8>) {
        loop {
            match self.events.recv().await.expect("it is served") {
                SubscriberEvent::Answer { status, with, .. } => return (status.code(), with.body),
                SubscriberEvent::Ended { status, .. } => return (status.code(), b"ended".to_vec()),
                SubscriberEvent::InOrder { .. } => {}
            }
        }
    }
}

fn playing(sdp: &[u8]) -> Playing {
    Playing {
        sdp: sdp.to_vec(),
        tracks: TrackSet::from_bits(0b01),
        in_order: TrackSet::from_bits(0b01),
    }
}

/// The next command that the source is asked to pass on.
async fn asked(tapped: &mut Tapped) -> (Verb, oneshot::Sender<Answered>) {
    match tapped.next().await {
        TapRequest::Command(verb, _, answer) => (verb, answer),
        TapRequest::Rtcp(..) => panic!("nobody reports"),
    }
}

#[tokio::test]
async fn the_camera_is_asked_for_what_its_source_does_not_take_and_for_nothing_else() {
    let (tap, subscribers) = (Arc::<PacketTap>::default(), Arc::<Subscribers>::default());
    let mut tapped = Tapped::begin(&tap, playing(SDP)).expect("the first");
    assert!(Tapped::begin(&tap, playing(SDP)).is_none(), "one connection at a time");
    let mut gateway = Gateway::begin(&tap, &subscribers);
    gateway.ask(1, Action::Describe).await;
    assert_eq!(gateway.told().await, (200, SDP.to_vec()));
    gateway.play(2, 0b01).await;
    assert_eq!(gateway.told().await.0, 200);
    gateway.play(3, 0b11).await;
    let (verb, answer) = asked(&mut tapped).await;
    assert_eq!(verb, Verb::Play(TrackSet::from_bits(0b11)));
    tapped.asks(answer);
    let status = CarriedStatus::of_camera(455);
    assert!(tapped.answered(status, Parameters::default(), TrackSet::from_bits(0b01)));
    assert_eq!(gateway.told().await.0, 455);
    assert!(
        !tapped.answered(status, Parameters::default(), TrackSet::default()),
        "that was all"
    );
    assert!(subscribers.is_empty(), "who was refused has nothing");
}

#[tokio::test]
async fn packets_are_taken_while_they_are_wanted() {
    let report = Bytes::from_static(b"report");
    let (tap, subscribers) = (Arc::<PacketTap>::default(), Arc::<Subscribers>::default());
    let _tapped = Tapped::begin(&tap, playing(SDP)).expect("the first");
    let mut gateway = Gateway::begin(&tap, &subscribers);
    gateway.play(1, 0b01).await;
    assert_eq!(gateway.told().await.0, 200);
    let track = Track::new(0).expect("a track");
    let channel = Channel { track, rtcp: true };
    for (wanted, came) in [(false, 0), (true, 6), (false, 6)] {
        tap.want(wanted);
        tap.take(channel, &report, Instant::now());
        assert_eq!(gateway.subscriber.queue.bytes(), came, "{wanted}");
    }
}

#[tokio::test]
async fn while_the_camera_is_away_requests_wait_and_players_of_another_camera_end() {
    let (tap, subscribers) = (Arc::<PacketTap>::default(), Arc::<Subscribers>::default());
    let mut tapped = Tapped::begin(&tap, playing(SDP)).expect("the first");
    let mut gateway = Gateway::begin(&tap, &subscribers);
    gateway.play(1, 0b11).await;
    let (_, answer) = asked(&mut tapped).await;
    tapped.asks(answer);
    // It breaks before it answers.
    drop(tapped);
    assert_eq!(gateway.told().await.0, 502);
    gateway.play(2, 0b11).await;
    let mut tapped = Tapped::begin(&tap, playing(SDP)).expect("it is back");
    let (_, answer) = asked(&mut tapped).await;
    tapped.asks(answer);
    tapped.answered(CarriedStatus::OK, Parameters::default(), TrackSet::from_bits(0b11));
    assert_eq!(gateway.told().await.0, 200);
    // It is back as it was: it is asked again for the track that its source does not take.
    drop(tapped);
    let mut tapped = Tapped::begin(&tap, playing(SDP)).expect("it is back");
    assert_eq!(asked(&mut tapped).await.0, Verb::Play(TrackSet::from_bits(0b11)));
    drop(tapped);
    let _tapped = Tapped::begin(&tap, playing(OTHER)).expect("another is there");
    assert_eq!(gateway.told().await, (502, b"ended".to_vec()));
}
