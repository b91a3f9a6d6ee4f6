//! Two ends of a QUIC connection without sessions: what they carry, and their limits.

use std::time::Duration;

use sealcast::meter::build_info::BuildInfo;
use sealcast::meter::labels::{DatagramUnsent, DoorAnswer, MediaStream};
use sealcast::meter::metrics::Metrics;
use sealcast::transport::{AnyTransport, Listener, Progress, Reach, Transport};
use sealcast_proto::keys::{Identity, Role};
use sealcast_proto::unit::Unit;
use sealcast_proto::wire::{Flags, HEADER_LEN, Header, Host, Kind, MessageLength, Ticket, TransportKind, write_framed};

const PATIENCE: Duration = Duration::from_secs(60);

/// A publisher that listened, and a viewer that connected to it.
struct Pair {
    publisher: AnyTransport,
    viewer: AnyTransport,
    metrics: Metrics,
    viewer_metrics: Metrics,
}

impl Pair {
    /// Lets both ends believe that their session is established.
    fn admit(&mut self) {
        self.publisher.admit(false);
        self.viewer.admit(true);
    }
}

/// A pair whose session is established.
async fn admitted(unit: Unit) -> Pair {
    let mut pair = pair(unit).await;
    pair.admit();
    pair
}

async fn pair(unit: Unit) -> Pair {
    let identity = Identity::from_seed(&[7; 32]);
    let metrics = Metrics::new(BuildInfo::default());
    let url = "quic://127.0.0.1:0".parse().expect("a URL");
    let mut listener = Listener::bind(&url, &identity, Role::Publisher, metrics.clone()).expect("a free port");
    let ticket = Ticket {
        host: Host::V4([127, 0, 0, 1].into()),
        port: listener.local_address().expect("bound").port(),
        peer: identity.peer_id(),
        transport: TransportKind::Quic,
        latency: None,
        cert_hashes: Vec::new(),
        broadcast: None,
        others: Vec::new(),
        invite: None,
    };
    let viewer_metrics = Metrics::new(BuildInfo::default());
    let connecting = async {
        let mut reach = Reach::new(ticket);
        let connected = reach.connect(Role::Viewer, Unit::Frame, viewer_metrics.clone());
        let mut viewer = connected
            .await
            .map(|connected| connected.transport)
            .expect("it listens");
        // The other end notices the stream only when data arrives on it.
        write_framed(viewer.outgoing(), b"hello");
        viewer.flush_now().expect("open");
        viewer
    };
    let both = async { tokio::join!(listener.accept(unit), connecting) };
    let (accepted, viewer) = tokio::time::timeout(PATIENCE, both).await.expect("in time");
    let mut publisher = accepted.expect("it connects").carriage;
    assert_eq!(
        next(&mut publisher, MessageLength::Handshake).await.as_deref(),
        Some(&b"hello"[..])
    );
    Pair {
        publisher,
        viewer,
        metrics,
        viewer_metrics,
    }
}

/// The next message, or `None` at the end.
async fn next(end: &mut AnyTransport, limit: MessageLength) -> Option<Vec<u8>> {
    let waiting = async {
        loop {
            if let Some(message) = end.message(limit).expect("well framed") {
                return Some(message.to_vec());
            }
            if end.wait().await.expect("open") == Progress::Closed {
                return None;
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("in time")
}

fn record(flags: Flags, seq: u32, length: usize) -> Vec<u8> {
    let header = Header {
        kind: Kind::Media,
        flags,
        epoch: 0,
        stream: 1,
        seq,
        timestamp: 0,
    };
    let mut record = header.to_bytes().to_vec();
    record.resize(length, seq as u8);
    record
}

fn sequence(record: &[u8]) -> u32 {
    u32::from_be_bytes(record[12..16].try_into().expect("four bytes"))
}

/// Drives both ends until the viewer has received `count` records.
async fn received(pair: &mut Pair, count: usize) -> Vec<Vec<u8>> {
    let mut got = Vec::new();
    let collecting = async {
        while got.len() < count {
            while let Some(message) = pair.viewer.message(MessageLength::Record).expect("well framed") {
                got.push(message.to_vec());
            }
            tokio::select! {
                waited = pair.viewer.wait() => assert!(waited.is_ok()),
                waited = pair.publisher.wait() => assert!(waited.is_ok()),
                () = tokio::time::sleep(Duration::from_millis(5)) => {}
            }
        }
    };
    let collected = tokio::time::timeout(PATIENCE, collecting).await;
    assert!(collected.is_ok(), "{} records of {count}", got.len());
    got
}

#[tokio::test]
async fn who_connects_shows_first_that_it_receives_at_its_address() {
    let pair = pair(Unit::Frame).await;
    assert_eq!(pair.metrics.door_answers(DoorAnswer::Retry), 1);
}

#[tokio::test]
async fn each_group_of_pictures_has_a_stream_of_its_own_that_a_description_may_begin() {
    let mut pair = admitted(Unit::Frame).await;
    let (key, delta) = (Flags::frame(true, true, true), Flags::frame(false, true, true));
    let flags = [Flags::CONFIG, key, delta, delta, key, delta, Flags::CONFIG, key, delta];
    let sent: Vec<Vec<u8>> = (0..)
        .zip(flags)
        .map(|(seq, flags)| record(flags, seq, 3_000 + 50_000 * (seq as usize % 3)))
        .collect();
    let mut got = Vec::new();
    for record in &sent {
        assert!(pair.publisher.send_packets(record, record.len()).expect("open"));
        got.extend(received(&mut pair, 1).await);
    }
    got.sort_by_key(|record| sequence(record));
    assert!(got == sent, "every byte");
    assert_eq!(pair.metrics.media_streams(MediaStream::Begun), 3);
    assert_eq!(pair.metrics.media_streams(MediaStream::Reset), 0);
}

#[tokio::test]
async fn media_waits_until_there_is_a_session() {
    let mut pair = pair(Unit::Frame).await;
    let media = record(Flags::frame(true, true, true), 0, 1_000);
    assert!(pair.publisher.send_packets(&media, media.len()).expect("open"));
    write_framed(pair.publisher.outgoing(), b"welcome");
    pair.publisher.flush_now().expect("open");
    let first = next(&mut pair.viewer, MessageLength::Handshake).await;
    assert_eq!(first.as_deref(), Some(&b"welcome"[..]));
    for _ in 0..10 {
        let early = pair.viewer.message(MessageLength::Handshake).expect("well framed");
        assert!(early.is_none(), "media before the session");
        let _ = tokio::time::timeout(Duration::from_millis(20), pair.viewer.wait()).await;
    }
    pair.admit();
    assert_eq!(next(&mut pair.viewer, MessageLength::Record).await, Some(media));
}

#[tokio::test]
async fn a_record_that_does_not_go_on_ends_its_stream() {
    let mut pair = admitted(Unit::Frame).await;
    // More than QUIC takes at once; the rest would follow if the publisher went on.
    let picture = record(Flags::frame(true, true, true), 0, 5_000_000);
    assert!(pair.publisher.send_packets(&picture, picture.len()).expect("open"));
    let lost = async {
        while pair.viewer_metrics.media_streams(MediaStream::Lost) == 0 {
            let waited = tokio::time::timeout(Duration::from_millis(50), pair.viewer.wait()).await;
            assert!(
                waited.is_err() || waited.is_ok_and(|waited| waited.is_ok()),
                "the connection stays"
            );
            assert_eq!(pair.viewer.message(MessageLength::Record), Ok(None));
        }
    };
    tokio::time::timeout(PATIENCE, lost).await.expect("it is given up");
}

#[tokio::test]
async fn records_of_a_packet_travel_in_datagrams_and_longer_ones_are_counted() {
    let mut pair = admitted(Unit::Packet).await;
    let flags = Flags::frame(true, true, true);
    let run: Vec<u8> = (0..20).flat_map(|seq| record(flags, seq, 1_100)).collect();
    assert!(pair.publisher.send_packets(&run, 1_100).expect("open"));
    let mut got = received(&mut pair, 20).await;
    got.sort_by_key(|record| sequence(record));
    assert!(got.concat() == run);
    assert_eq!(pair.metrics.media_streams(MediaStream::Begun), 0);
    let long = record(flags, 20, 9_000);
    assert!(pair.publisher.send_packets(&long, long.len()).expect("open"));
    assert_eq!(pair.metrics.datagrams_unsent_for(DatagramUnsent::TooLong), 1);
}

#[tokio::test]
async fn what_a_viewer_does_not_read_is_held_back_and_can_be_forgotten() {
    let mut pair = admitted(Unit::Frame).await;
    let mut taken = 0;
    for seq in 0..1_000 {
        let picture = record(Flags::frame(seq % 10 == 0, true, true), seq, 100_000);
        if !pair.publisher.send_packets(&picture, picture.len()).expect("open") {
            break;
        }
        taken += picture.len();
        let _ = tokio::time::timeout(Duration::from_millis(10), pair.publisher.wait()).await;
    }
    // More than the viewer's receive windows, our own buffers and one picture together.
    assert!(taken < 10 << 20, "{taken} bytes were taken");
    assert!(pair.publisher.backlog() > 0 && pair.publisher.backlog() < 200_000);
    pair.publisher.forget_media();
    assert_eq!(pair.publisher.backlog(), 0);
    assert!(pair.metrics.media_streams(MediaStream::Reset) > 0);
}

#[tokio::test]
async fn last_words_arrive_before_the_end() {
    let mut pair = pair(Unit::Frame).await;
    let words = vec![0x11; HEADER_LEN + 3_000];
    write_framed(pair.publisher.outgoing(), &words);
    pair.publisher.flush_now().expect("open");
    let heard = async {
        let heard = next(&mut pair.viewer, MessageLength::Handshake).await;
        (heard, next(&mut pair.viewer, MessageLength::Handshake).await)
    };
    let (heard, ()) = tokio::join!(heard, pair.publisher.finish());
    assert_eq!(heard, (Some(words), None));
}
