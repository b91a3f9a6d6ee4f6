//! A session with an authenticated but malicious peer, which seals arbitrary content under the right keys.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_fuzz::{CONNECTION, Ends, NULL, START, handshake, wait_until};
use sealcast_proto::clock::Now;
use sealcast_proto::keys::EpochKeys;
use sealcast_proto::seal::RecordMeta;
use sealcast_proto::session::{Carrier, Input, OutgoingFrame, Output, QuicMedia, Session, ShapePlan};
use sealcast_proto::unit::{Assembled, Codec, MAX_FRAME, Preamble};
use sealcast_proto::wire::{Control, DataChannel, DataName, DataOrder, DataStanding, Feedback, Flags};

/// More outputs than one input can cause; exceeding it means an endless loop.
const MAX_OUTPUTS: usize = 96;
/// Largest number of media datagrams that may be sent at once: all that were sealed, and all that may be sent again.
const MAX_PACKETS: usize = 64 * 100 + 1024;

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Over {
    Stream,
    Datagrams,
    QuicStreams,
    QuicDatagrams,
}

#[derive(Debug, Arbitrary)]
struct Plan {
    publishes: bool,
    over: Over,
    unchecked: bool,
    admitted: bool,
    /// The publisher sends cells, where the carrier has them.
    shaped: bool,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    Control(Vec<u8>),
    Media {
        keyframe: bool,
        first: bool,
        last: bool,
        stream: u8,
        payload: Vec<u8>,
    },
    Config(Vec<u8>),
    /// A cell with this payload.
    Cell(Vec<u8>),
    /// A cell with some records of the control kind in it, as the carrier has them, and perhaps only a part of the
    /// last.
    Full {
        controls: Vec<Vec<u8>>,
        cut: u8,
        first: u8,
    },
    Nack(Vec<(u8, u8, u8)>),
    Feedback {
        highest: u16,
        far: bool,
        arrived: u64,
        budget: u16,
        received: Vec<u8>,
    },
    Part {
        message: u16,
        index: u8,
        count: u8,
        bytes: Vec<u8>,
    },
    /// A frame that the session itself sends.
    Frame {
        keyframe: bool,
        length: u16,
    },
    /// A data record with this payload.
    Data(Vec<u8>),
    /// The session says which data channels it has or wants.
    Channels(u8, bool),
    /// A datagram that the session itself sends.
    Datagram(u8, u16),
    Raw(Vec<u8>),
    Wait(u16),
    Rekey,
}

struct Peer {
    keys: EpochKeys,
    named: bool,
    now: Now,
}

impl Peer {
    fn message(&self) -> Vec<u8> {
        let connection = CONNECTION.to_be_bytes();
        if self.named { connection.to_vec() } else { Vec::new() }
    }

    fn control(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut message = self.message();
        let meta = RecordMeta {
            flags: Flags::CONTROL,
            stream: 0,
            timestamp: self.now.wall,
        };
        let _ = self.keys.control_sealer.seal(meta, &[payload], &mut message);
        message
    }

    fn media(&mut self, flags: Flags, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut message = self.message();
        let meta = RecordMeta {
            flags,
            stream,
            timestamp: self.now.wall,
        };
        let _ = self.keys.media_sealer.seal(meta, &[payload], &mut message);
        message
    }

    fn cell(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut message = self.message();
        let meta = RecordMeta {
            flags: Flags::CELL,
            stream: 0,
            timestamp: self.now.wall,
        };
        let _ = self.keys.cell_sealer.seal(meta, &[payload], &mut message);
        message
    }

    fn data(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut message = self.message();
        let meta = RecordMeta {
            flags: Flags::DATA,
            stream: 0,
            timestamp: self.now.wall,
        };
        if let Some(data) = &mut self.keys.data {
            let _ = data.sealer.seal(meta, &[payload], &mut message);
        }
        message
    }

    fn full(&mut self, controls: &[Vec<u8>], cut: u8, first: u8) -> Vec<u8> {
        let mut inner = Vec::new();
        for control in controls.iter().take(16) {
            let named = std::mem::take(&mut self.named);
            let record = self.control(control);
            self.named = named;
            let length = (record.len() as u32).to_be_bytes();
            inner.extend_from_slice(if named { &length[2..] } else { &length });
            inner.extend_from_slice(&record);
        }
        inner.truncate(inner.len().saturating_sub(cut.into()).min(60_000));
        let mut payload = (inner.len() as u16).to_be_bytes().to_vec();
        payload.extend_from_slice(&u16::from(first).to_be_bytes());
        payload.extend_from_slice(&inner);
        self.cell(&payload)
    }

    /// The message of a step, if it has one.
    fn say(&mut self, step: Step) -> Vec<u8> {
        match step {
            Step::Control(payload) => self.control(&payload),
            Step::Media {
                keyframe,
                first,
                last,
                stream,
                payload,
            } => self.media(Flags::frame(keyframe, first, last), u32::from(stream), &payload),
            Step::Config(payload) => self.media(Flags::CONFIG, 1, &payload),
            Step::Nack(entries) => {
                let count = entries.len().min(64) as u8;
                let entries = entries
                    .iter()
                    .take(64)
                    .flat_map(|&(high, low, more)| [0, 0, high, low, more]);
                let payload: Vec<u8> = [12, count].into_iter().chain(entries).collect();
                self.control(&payload)
            }
            Step::Feedback {
                highest,
                far,
                arrived,
                budget,
                received,
            } => {
                let feedback = Feedback {
                    highest: u32::from(highest) << if far { 16 } else { 0 },
                    arrived,
                    budget,
                    received: &received[..received.len().min(128)],
                };
                self.control(&Control::Feedback(feedback).to_bytes())
            }
            Step::Part {
                message,
                index,
                count,
                bytes,
            } => {
                let part = Control::Part {
                    message,
                    index,
                    count,
                    bytes: &bytes,
                };
                self.control(&part.to_bytes())
            }
            Step::Cell(payload) => self.cell(&payload),
            Step::Full { controls, cut, first } => self.full(&controls, cut, first),
            Step::Data(payload) => self.data(&payload),
            Step::Raw(bytes) => bytes,
            Step::Frame { .. } | Step::Channels(..) | Step::Datagram(..) | Step::Wait(_) | Step::Rekey => Vec::new(),
        }
    }
}

fuzz_target!(|plan: Plan| {
    let mut ends = match plan.over {
        Over::Stream => Ends::new(plan.publishes, Carrier::Stream),
        Over::Datagrams => Ends::on_datagrams(plan.publishes),
        Over::QuicStreams => Ends::new(plan.publishes, Carrier::Quic(QuicMedia::Streams)),
        Over::QuicDatagrams => Ends::new(plan.publishes, Carrier::Quic(QuicMedia::Datagrams(1200))),
    };
    if plan.unchecked {
        ends.initiator.handshake.suites = vec![NULL];
        ends.responder.handshake.suites = vec![NULL];
    }
    if plan.shaped && matches!(plan.over, Over::Stream | Over::Datagrams) {
        let shape = ShapePlan::constant(2_000_000);
        (ends.initiator.shape, ends.responder.shape) = (shape, shape);
    }
    let (mut session, keys) = handshake(&ends);
    let mut peer = Peer {
        keys,
        named: matches!(plan.over, Over::Datagrams),
        now: START,
    };
    if plan.admitted {
        session.handle(START, Input::Admit).expect("the peer awaits admission");
    }
    let mut deadline = drain(&mut session, START);
    for step in plan.steps.into_iter().take(256) {
        match step {
            Step::Wait(milliseconds) => {
                let length = Duration::from_millis(milliseconds.into());
                wait_until(&mut session, &mut peer.now, deadline, length, &mut drain);
            }
            Step::Rekey => {
                let _ = session.handle(peer.now, Input::Rekey);
            }
            // They end no session, unless it is not established.
            Step::Channels(count, sends) => {
                let _ = session.handle(peer.now, Input::Data(channels(count, sends)));
            }
            Step::Datagram(channel, length) => {
                let _ = session.handle(peer.now, Input::Datagram(channel, &vec![7; usize::from(length)]));
            }
            Step::Frame { keyframe, length } => publish(&mut session, peer.now, keyframe, length),
            step => {
                let mut message = peer.say(step);
                if session.handle(peer.now, Input::Message(&mut message)).is_err() {
                    assert!(session.is_over(), "an error ends a session");
                }
                let _ = session.caught_up(peer.now, message.len() % 2 == 0);
            }
        }
        deadline = drain(&mut session, peer.now);
    }
});

/// Some data channels, which are named by letters.
fn channels(count: u8, sends: bool) -> Vec<DataChannel> {
    let standing = if sends {
        DataStanding::Sends
    } else {
        DataStanding::Hears
    };
    let orders = [DataOrder::Ordered, DataOrder::Newest].into_iter().cycle();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"]
        .into_iter()
        .filter_map(DataName::new);
    let channels = names.zip(orders).take(usize::from(count % 9));
    let channel = |(name, order)| DataChannel { name, order, standing };
    channels.map(channel).collect()
}

/// Makes the session send a frame, if it is a publisher.
fn publish(session: &mut Session, now: Now, keyframe: bool, length: u16) {
    if session.media_backlog() > 1 << 20 {
        return;
    }
    let frame = OutgoingFrame {
        stream: 1,
        codec: Codec::H264,
        keyframe,
        preamble: Preamble::default(),
        data: &vec![7; usize::from(length)],
    };
    let _ = session.seal_frame(now, &frame, &mut Vec::new());
}

/// Handles all outputs of the session, and returns its deadline.
fn drain(session: &mut Session, now: Now) -> Duration {
    let mut packets = 0;
    while let Some(run) = session.poll_packets(now) {
        packets += run.bytes.chunks(run.size).count();
        assert!(packets <= MAX_PACKETS, "a session has no end of packets");
        session.packets_sent(now);
    }
    for _ in 0..MAX_OUTPUTS {
        match session.poll() {
            Output::Timeout(deadline) => return deadline,
            Output::Media(Assembled::Frame(frame)) => assert!(frame.data.len() <= MAX_FRAME),
            _ => {}
        }
    }
    panic!("a session has no end of things to do");
}
