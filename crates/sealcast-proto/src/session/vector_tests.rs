//! `vectors/datagrams.json`: media on datagrams: sealed as by the reference, then lost, repaired, or malformed.

use std::time::Duration;

use serde::Deserialize;

use super::flow::{Content, Sealing};
use super::machine::{Session, State};
use super::tests::session_over;
use super::{Carrier, Delivery, Entry, Fec, Input, Output, SessionError};
use crate::clock::Now;
use crate::keys::{EpochSecret, Role, Secret, Side};
use crate::repair::max_repairs;
use crate::seal::suite::{AES_256_GCM, RECOMMENDED};
use crate::unit::{Assembled, PREAMBLE_LEN, Piece};
use sealcast_testkit::vectors::{Hex, load};

#[derive(Deserialize)]
struct File {
    streams: Vec<Stream>,
    arrivals: Vec<Arrival>,
    violations: Vec<Violation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stream {
    name: String,
    expect: String,
    suite: u8,
    direction: String,
    epoch: u64,
    epoch_secret: Hex,
    connection: u32,
    stream: u32,
    pushes: Vec<Push>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Push {
    config: bool,
    keyframe: bool,
    timestamp: u64,
    data: Hex,
    unit: usize,
    blocks: Vec<Counts>,
    datagrams: Vec<Hex>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    sources: usize,
    repairs: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arrival {
    name: String,
    expect: String,
    stream: String,
    order: Vec<usize>,
    recovered: u64,
    media: Vec<Media>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Media {
    kind: String,
    bytes: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Violation {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: String,
    datagrams: Vec<Hex>,
}

/// One end of a stream's session.
fn end(stream: &Stream, role: Role, fec: Fec) -> Session {
    assert_eq!((stream.expect.as_str(), stream.direction.as_str()), ("ok", "r"));
    let suite = *RECOMMENDED
        .iter()
        .find(|suite| suite.id == stream.suite)
        .expect("a suite");
    let (connection, cookie) = (stream.connection, [1; 16]);
    let (side, entry) = match role {
        Role::Publisher => (Side::Responder, Entry::Shown { connection, cookie }),
        Role::Viewer => (
            Side::Initiator,
            Entry::Knock {
                connection,
                random: cookie,
            },
        ),
    };
    let delivery = Delivery {
        fec,
        rate: None,
        ..Delivery::default()
    };
    let secret = EpochSecret::new(Secret::from_bytes(&stream.epoch_secret.array()), stream.epoch);
    session_over(Carrier::Datagrams(entry), delivery, suite, side, role, vec![secret])
}

/// The share of repair symbols, in percent, that gives each of our blocks as many as the reference's block has.
fn share(stream: &Stream) -> Fec {
    let blocks = || stream.pushes.iter().flat_map(|push| &push.blocks);
    let fits = |share: &u8| {
        let repairs = |sources: usize| (sources * usize::from(*share)).div_ceil(100).min(max_repairs(sources));
        blocks().all(|block| repairs(block.sources) == block.repairs)
    };
    match (0..=50).find(fits).expect("one share for all blocks") {
        0 => Fec::Off,
        share => Fec::Fixed(share),
    }
}

/// Cut and seal the frame or codec configuration of a push. Returns the datagrams.
fn send(session: &mut Session, stream: &Stream, push: &Push) -> Vec<Vec<u8>> {
    let now = Now {
        monotonic: Duration::ZERO,
        wall: push.timestamp,
    };
    let (preamble, data) = push.data.0.split_at(if push.config { 0 } else { PREAMBLE_LEN });
    let sealing = Sealing {
        stream: stream.stream,
        keyframe: push.keyframe,
        content: if push.config { Content::Config } else { Content::Frame },
        may_be_clear: false,
        preamble,
        bytes: push.data.0.len(),
        unit: push.unit,
    };
    let (begin, rest) = data.split_at(data.len().min(push.unit - preamble.len()));
    let parts: Vec<&[u8]> = [begin].into_iter().chain(rest.chunks(push.unit)).collect();
    let mut pieces = parts.iter().enumerate().map(|(index, data)| Piece {
        data,
        zeros: 0,
        encrypt: true,
        first: index == 0,
        last: index + 1 == parts.len(),
    });
    let (State::Established(established), Some(outbound)) = (&mut session.state, &mut session.outbound) else {
        panic!("an established publisher");
    };
    let sealer = &mut established.ring.current.media_sealer;
    outbound
        .push(now, sealer, &sealing, &mut pieces)
        .expect("the key is good");
    let mut sent = Vec::new();
    while let Some(run) = outbound.poll(now.monotonic) {
        sent.extend(run.bytes.chunks(run.size).map(<[u8]>::to_vec));
        outbound.sent(now.monotonic);
    }
    sent
}

#[test]
fn frames_leave_as_the_references_datagrams() {
    let streams = load::<File>("datagrams").streams;
    assert_eq!(streams.len(), 9);
    for stream in &streams {
        let mut session = end(stream, Role::Publisher, share(stream));
        for (number, push) in stream.pushes.iter().enumerate() {
            let sent = send(&mut session, stream, push);
            let expected = push.datagrams.iter().map(|datagram| &datagram.0);
            assert!(sent.iter().eq(expected), "{}, {number}", stream.name);
        }
    }
}

/// Give the datagrams to a viewer and let time pass until one second after the beginning. Returns the media that it
/// delivers.
fn watch(session: &mut Session, datagrams: &[&Hex]) -> Result<Vec<Media>, SessionError> {
    let mut media = Vec::new();
    let mut now = Now {
        monotonic: Duration::ZERO,
        wall: 1,
    };
    let media_of = |media: Assembled| match media {
        Assembled::Info(info) => Some(("config", info.to_bytes())),
        Assembled::Frame(frame) => Some(("frame", [&frame.preamble.to_bytes()[..], &frame.data].concat())),
        _ => None,
    };
    let mut datagrams = datagrams.iter();
    while now.monotonic < Duration::from_secs(1) {
        match datagrams.next() {
            Some(datagram) => session.handle(now, Input::Message(&mut datagram.0.clone()))?,
            None => session.handle(now, Input::Timeout)?,
        };
        let deadline = loop {
            match session.poll() {
                Output::Media(made) => media.extend(media_of(made).map(|(kind, bytes)| Media {
                    kind: kind.to_owned(),
                    bytes: Hex(bytes),
                })),
                Output::Timeout(deadline) => break deadline,
                _ => {}
            }
        };
        if datagrams.len() == 0 {
            now = now.plus(deadline.saturating_sub(now.monotonic));
        }
    }
    Ok(media)
}

#[test]
fn what_comes_is_put_together_and_repaired_as_by_the_reference() {
    let file = load::<File>("datagrams");
    assert_eq!(file.arrivals.len(), 12);
    for case in &file.arrivals {
        assert_eq!(case.expect, "ok");
        let stream = file.streams.iter().find(|stream| stream.name == case.stream);
        let stream = stream.expect("its stream is there");
        let sent: Vec<&Hex> = stream.pushes.iter().flat_map(|push| &push.datagrams).collect();
        let came: Vec<&Hex> = case.order.iter().map(|&at| sent[at]).collect();
        let mut session = end(stream, Role::Viewer, Fec::Off);
        let media = watch(&mut session, &came).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert_eq!(media, case.media, "{}", case.name);
        let counts = session.inbound_counts().expect("a viewer");
        assert_eq!(counts.recovered, case.recovered, "{}", case.name);
    }
}

#[test]
fn authentic_records_that_do_not_fit_together_end_the_session() {
    let file = load::<File>("datagrams");
    assert_eq!(file.violations.len(), 21);
    let stream = file.streams.iter().find(|stream| stream.suite == AES_256_GCM.id);
    let stream = stream.expect("there is one");
    for case in &file.violations {
        assert_eq!(case.expect, "protocol-error");
        let mut session = end(stream, Role::Viewer, Fec::Off);
        let (last, before) = case.datagrams.split_last().expect("one at least");
        for datagram in before {
            let now = Now {
                monotonic: Duration::ZERO,
                wall: 1,
            };
            let mut datagram = datagram.0.clone();
            let taken = session.handle(now, Input::Message(&mut datagram));
            assert!(taken.is_ok(), "{}", case.name);
        }
        let ended = watch(&mut session, &[last]);
        assert_eq!(ended, Err(SessionError::PeerMisbehaved), "{}", case.name);
    }
}
