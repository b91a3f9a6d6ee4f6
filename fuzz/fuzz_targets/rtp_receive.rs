//! RTP packets of a track in any order, of any source and at any time: they come out once, those that wait are bounded,
//! and none waits longer than it may. What passes through a gateway loses nothing but copies and what is late.
#![no_main]

use std::collections::HashSet;
use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_proto::rtp::{Discipline, Label, MAX_PATIENCE, MAX_WAITING, MAX_WAITING_BYTES, Receiver, Sequence, Way};

#[derive(Arbitrary, Debug)]
enum Happens {
    /// A packet: how far its number, its time and its source are from those before, its type and its length.
    Packet(i16, u16, u8, u8, u16),
    /// One of the packets before, once more.
    Again(u8),
    /// Bytes that are seldom RTP.
    Other(Vec<u8>),
    Wait(u8),
}

/// The longest packet that arrives at a gateway.
const LONGEST: usize = 65_535;

fuzz_target!(|happens: Vec<Happens>| {
    let mut packets = Packets::default();
    let mut now = Duration::ZERO;
    let mut passing = Passing::new();
    let mut receivers = [Way::Stream, Way::Datagrams].map(|way| Receiver::new(&[96], way));
    for happens in &happens {
        let Some(packet) = packets.next(happens) else {
            let Happens::Wait(time) = happens else { continue };
            now += Duration::from_millis(u64::from(*time));
            passing.drain(now);
            receivers.iter_mut().for_each(|receiver| drain(receiver, now));
            continue;
        };
        passing.push(now, &packet);
        for receiver in &mut receivers {
            receiver.push(now, packet.clone().into());
            drain(receiver, now);
        }
    }
    passing.end(now + MAX_PATIENCE);
});

fn drain(receiver: &mut Receiver, now: Duration) {
    while receiver.poll(now).is_some() {}
    let bounded = |deadline| deadline > now && deadline <= now + MAX_PATIENCE;
    assert!(receiver.deadline().is_none_or(bounded));
}

/// The packets that were made.
#[derive(Default)]
struct Packets {
    number: u16,
    time: u32,
    source: u8,
    made: Vec<Vec<u8>>,
}

impl Packets {
    fn next(&mut self, happens: &Happens) -> Option<Vec<u8>> {
        let packet = match happens {
            Happens::Packet(number, time, source, kind, length) => {
                self.number = self.number.wrapping_add_signed(*number);
                self.time = self.time.wrapping_add(u32::from(*time));
                self.source = self.source.wrapping_add(*source);
                let mut packet = vec![0x80, *kind];
                packet.extend(self.number.to_be_bytes());
                packet.extend(self.time.to_be_bytes());
                packet.extend([0, 0, 0, self.source]);
                packet.resize(12 + usize::from(*length) % (LONGEST - 12), 0);
                packet
            }
            Happens::Again(back) => {
                let at = self.made.len().checked_sub(1 + usize::from(*back))?;
                return Some(self.made[at].clone());
            }
            Happens::Other(bytes) => bytes.clone(),
            Happens::Wait(_) => return None,
        };
        self.made.push(packet.clone());
        Some(packet)
    }
}

/// The order in a gateway. Packets are told apart by the order in which they were pushed.
struct Passing {
    sequence: Sequence<usize>,
    pushed: usize,
    out: HashSet<usize>,
}

impl Passing {
    fn new() -> Self {
        Self {
            sequence: Sequence::new(Discipline::Transparent),
            pushed: 0,
            out: HashSet::new(),
        }
    }

    fn push(&mut self, now: Duration, packet: &[u8]) {
        match Label::of(packet) {
            Some(label) if self.sequence.pass(now, label) => {
                assert_eq!(self.sequence.waiting_bytes(), 0, "it passes nothing that waits");
                self.out.insert(self.pushed);
            }
            Some(label) => self.sequence.push(now, label, self.pushed),
            None => self.sequence.push_stray(self.pushed),
        }
        self.pushed += 1;
        self.drain(now);
        assert!(self.sequence.waiting_bytes() <= MAX_WAITING_BYTES.max(LONGEST));
    }

    fn drain(&mut self, now: Duration) {
        while let Some(next) = self.sequence.poll(now) {
            assert!(self.out.insert(next.packet), "a packet comes out once");
        }
        let bounded = |deadline| deadline > now && deadline <= now + MAX_PATIENCE;
        assert!(self.sequence.deadline().is_none_or(bounded));
        let counts = self.sequence.counts();
        let dropped = (counts.duplicates + counts.late + counts.strays) as usize;
        // Those that may begin another sequence are few.
        assert!(self.pushed - self.out.len() - dropped <= 2 * MAX_WAITING);
    }

    fn end(mut self, now: Duration) {
        self.drain(now);
        let counts = self.sequence.counts();
        let dropped = counts.duplicates + counts.late;
        assert_eq!(
            self.pushed as u64,
            self.out.len() as u64 + dropped,
            "nothing else is lost"
        );
        assert_eq!((counts.strays, self.sequence.waiting_bytes()), (0, 0));
    }
}
