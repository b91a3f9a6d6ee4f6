//! A viewer whose publisher is authenticated but malicious: unit headers, parts of frames and repair symbols that
//! contradict each other. The suite does not authenticate, so recovered records are arbitrary, too.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_fuzz::{Ends, NULL, START, handshake, wait_until};
use sealcast_proto::clock::Now;
use sealcast_proto::keys::EpochKeys;
use sealcast_proto::repair::{Encoder, max_repairs};
use sealcast_proto::seal::RecordMeta;
use sealcast_proto::session::{Carrier, Input, Output, QuicMedia, Session};
use sealcast_proto::unit::{Assembled, MAX_FRAME, PREAMBLE_LEN, UnitHeader};
use sealcast_proto::wire::Flags;

/// More outputs than one record can cause: every block that is held, and a few more.
const MAX_OUTPUTS: usize = 2048;

#[derive(Debug, Arbitrary)]
struct Plan {
    streams: bool,
    budget: u8,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    /// One record; its number is relative to the previous one's.
    Unit {
        ahead: i8,
        far: u8,
        index: u8,
        sources: u8,
        repairs: u8,
        flags: u8,
        length: u16,
        begin: [u8; 4],
    },
    /// A correct block; `lost` selects the records that do not arrive.
    Block {
        sources: u8,
        repairs: u8,
        keyframe: bool,
        first: bool,
        last: bool,
        length: u16,
        lost: u128,
        lost_repairs: u64,
        /// Changes one byte of one symbol.
        spoilt: Option<(u8, u16, u8)>,
    },
    Skip(u32),
    Wait(u16),
}

struct Publisher {
    keys: EpochKeys,
    now: Now,
    next: u32,
}

impl Publisher {
    fn seal(&mut self, flags: Flags, parts: &[&[u8]]) -> Vec<u8> {
        let meta = RecordMeta {
            flags,
            stream: 1,
            timestamp: self.now.wall,
        };
        let mut record = Vec::new();
        let _ = self.keys.media_sealer.seal(meta, parts, &mut record);
        record
    }

    fn block(&mut self, step: &Step) -> Vec<Vec<u8>> {
        let &Step::Block {
            sources,
            repairs,
            keyframe,
            first,
            last,
            length,
            lost,
            lost_repairs,
            spoilt,
        } = step
        else {
            return Vec::new();
        };
        let sources = u16::from(sources % 128) + 1;
        let repairs = u16::from(repairs) % (max_repairs(usize::from(sources)) as u16 + 1);
        let length = PREAMBLE_LEN + usize::from(length) % 1200;
        let header = |index, number| UnitHeader {
            number,
            index,
            sources,
            repairs,
        };
        let start = self.next;
        let part = vec![7; length];
        let mut records = Vec::new();
        for index in 0..sources {
            let flags = Flags::frame(keyframe, first && index == 0, last && index + 1 == sources);
            let header = header(index, start.wrapping_add(index.into())).to_bytes();
            records.push(self.seal(flags, &[&header, &part]));
        }
        let mut symbols: Vec<Vec<u8>> = Vec::new();
        let encoded = Encoder::new().encode(records.iter().map(Vec::as_slice), repairs.into(), |_, symbol| {
            symbols.push(symbol.to_vec());
        });
        encoded.expect("within the limits");
        if let Some((which, at, with)) = spoilt
            && !symbols.is_empty()
        {
            let which = usize::from(which) % symbols.len();
            let at = usize::from(at) % symbols[which].len();
            symbols[which][at] ^= with;
        }
        records = (0..)
            .zip(records)
            .filter(|(index, _)| lost & (1 << index) == 0)
            .map(|(_, record)| record)
            .collect();
        for (index, symbol) in (0..repairs).zip(symbols) {
            if lost_repairs & (1 << index) == 0 {
                let number = start.wrapping_add(u32::from(sources) + u32::from(index));
                records.push(self.seal(Flags::REPAIR, &[&header(index, number).to_bytes(), &symbol]));
            }
        }
        self.next = start.wrapping_add(u32::from(sources) + u32::from(repairs));
        records
    }

    fn records(&mut self, step: &Step) -> Vec<Vec<u8>> {
        match *step {
            Step::Unit {
                ahead,
                far,
                index,
                sources,
                repairs,
                flags,
                length,
                begin,
            } => {
                let number = self
                    .next
                    .wrapping_add_signed(i32::from(ahead))
                    .wrapping_add(u32::from(far) << 8);
                let header = UnitHeader {
                    number,
                    index: index.into(),
                    sources: sources.into(),
                    repairs: repairs.into(),
                };
                self.next = number.wrapping_add(1);
                let flags = match flags % 10 {
                    8 => Flags::CONFIG,
                    9 => Flags::REPAIR,
                    bits => Flags::frame(bits & 1 != 0, bits & 2 != 0, bits & 4 != 0),
                };
                let mut part = begin.to_vec();
                part.resize(usize::from(length), begin[0]);
                vec![self.seal(flags, &[&header.to_bytes(), &part])]
            }
            Step::Block { .. } => self.block(step),
            Step::Skip(numbers) => {
                self.next = self.next.wrapping_add(numbers);
                Vec::new()
            }
            Step::Wait(_) => Vec::new(),
        }
    }
}

/// Handles all outputs of the session, and returns its deadline.
fn drain(session: &mut Session, _: Now) -> Duration {
    for _ in 0..MAX_OUTPUTS {
        match session.poll() {
            Output::Timeout(deadline) => return deadline,
            Output::Media(Assembled::Frame(frame)) => assert!(frame.data.len() <= MAX_FRAME),
            _ => {}
        }
    }
    panic!("a session has no end of things to do");
}

fuzz_target!(|plan: Plan| {
    let media = if plan.streams {
        QuicMedia::Streams
    } else {
        QuicMedia::Datagrams(1200)
    };
    let mut ends = Ends::new(true, Carrier::Quic(media));
    for end in [&mut ends.initiator, &mut ends.responder] {
        end.handshake.suites = vec![NULL];
        end.delivery.budget = Duration::from_millis(u64::from(plan.budget));
    }
    let (mut session, keys) = handshake(&ends);
    session.handle(START, Input::Admit).expect("the peer awaits admission");
    let mut publisher = Publisher {
        keys,
        now: START,
        next: 0,
    };
    let mut deadline = drain(&mut session, START);
    for step in plan.steps.iter().take(128) {
        if let Step::Wait(milliseconds) = step {
            let length = Duration::from_millis(u64::from(*milliseconds) % 500);
            deadline = wait_until(&mut session, &mut publisher.now, deadline, length, &mut drain);
        }
        for mut record in publisher.records(step) {
            match session.handle(publisher.now, Input::Message(&mut record)) {
                Ok(_) => {}
                Err(_) => assert!(session.is_over(), "an error ends a session"),
            }
            let _ = session.caught_up(publisher.now, record.len() % 2 == 0);
            deadline = drain(&mut session, publisher.now);
        }
        if session.is_over() {
            break;
        }
    }
});
