//! Messages on byte streams, cut anywhere: the cuts do not change them, and memory grows with what arrived and never
//! with what was announced. Then many streams of a QUIC connection at once, and the door before it.
#![no_main]

use std::time::{Duration, Instant};

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast::fuzzing::{QuicDoor, QuicStreams, ScriptedStream, messages};
use sealcast_proto::wire::{LENGTH_PREFIX, MessageLength, message_length};

/// Room that a transport has before anything arrived, and after a full read.
const READ_CHUNK: usize = 64 * 1024;
/// Most bytes that a plan makes of a short description.
const MOST: usize = 1 << 20;

#[derive(Debug, Arbitrary)]
struct Plan {
    over: Over,
    streams: Vec<Stream>,
}

#[derive(Debug, Arbitrary)]
enum Over {
    Handshake,
    Record,
    Quic,
    Door { stride: u16 },
}

#[derive(Debug, Arbitrary)]
struct Stream {
    parts: Vec<Part>,
    /// Lengths of the pieces in which it arrives; the last one repeats.
    cuts: Vec<u16>,
    ends: bool,
}

#[derive(Debug, Arbitrary)]
enum Part {
    Message(Vec<u8>),
    Long(u32),
    /// A length without a message.
    Announced(u32),
    Raw(Vec<u8>),
    /// A packet with an ID that the door knows.
    Packet {
        chosen: bool,
        long: bool,
        rest: Vec<u8>,
    },
}

impl Stream {
    fn bytes(&self, door: Option<&QuicDoor>) -> Vec<u8> {
        let mut out = Vec::new();
        for part in self.parts.iter().take(64) {
            match part {
                Part::Message(bytes) => put(&mut out, bytes.len() as u32, bytes),
                Part::Long(length) => {
                    let length = (*length as usize % MOST).min(MOST.saturating_sub(out.len()));
                    put(&mut out, length as u32, &vec![7; length]);
                }
                Part::Announced(length) => put(&mut out, *length, &[]),
                Part::Raw(bytes) => out.extend_from_slice(bytes),
                Part::Packet { chosen, long, rest } => {
                    let id = door.map_or_else(Vec::new, |door| door.id(*chosen));
                    match long {
                        true => out.extend_from_slice(&[&[0xc0, 0, 0, 0, 1, id.len() as u8], &id[..], rest].concat()),
                        false => out.extend_from_slice(&[&[0x40], &id[..], rest].concat()),
                    }
                }
            }
        }
        out
    }

    fn pieces(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut cuts = self.cuts.iter().map(|cut| usize::from(*cut).max(1));
        let (mut rest, mut last) = (bytes, 4096);
        let mut pieces = Vec::new();
        while !rest.is_empty() && pieces.len() < 4096 {
            last = cuts.next().unwrap_or(last.max(64));
            let (piece, after) = rest.split_at(last.min(rest.len()));
            pieces.push(piece.to_vec());
            rest = after;
        }
        pieces.push(rest.to_vec());
        pieces
    }
}

fn put(out: &mut Vec<u8>, length: u32, bytes: &[u8]) {
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// The messages as the framing says it: `None` where it is lost.
fn expected(mut bytes: &[u8], limit: MessageLength) -> Vec<Option<Vec<u8>>> {
    let mut found = Vec::new();
    loop {
        match message_length(bytes, limit) {
            Ok(Some(length)) if bytes.len() >= LENGTH_PREFIX + length => {
                found.push(Some(bytes[LENGTH_PREFIX..LENGTH_PREFIX + length].to_vec()));
                bytes = &bytes[LENGTH_PREFIX + length..];
            }
            Ok(_) => return found,
            Err(_) => {
                found.push(None);
                return found;
            }
        }
    }
}

fuzz_target!(|plan: Plan| {
    match plan.over {
        Over::Handshake => alone(&plan.streams, MessageLength::Handshake),
        Over::Record => alone(&plan.streams, MessageLength::Record),
        Over::Quic => together(&plan.streams),
        Over::Door { stride } => door(&plan.streams, usize::from(stride)),
    }
});

fn alone(streams: &[Stream], limit: MessageLength) {
    for stream in streams.iter().take(4) {
        let bytes = stream.bytes(None);
        let (found, held) = messages(ScriptedStream::new(stream.pieces(&bytes), stream.ends), limit);
        assert!(found == expected(&bytes, limit), "the cuts change the messages");
        assert!(
            held <= (2 * bytes.len()).max(READ_CHUNK),
            "{held} bytes are held for {}",
            bytes.len()
        );
    }
}

fn together(streams: &[Stream]) {
    let mut now = Instant::now();
    let mut quic = QuicStreams::default();
    let mut wanted = Vec::new();
    for stream in streams.iter().take(16) {
        let bytes = stream.bytes(None);
        wanted.extend(expected(&bytes, MessageLength::Record));
        quic.open(ScriptedStream::new(stream.pieces(&bytes), stream.ends), now);
    }
    let lost = wanted.contains(&None);
    let mut found = Vec::new();
    while quic.read(now) {
        assert!(quic.held() <= QuicStreams::MOST, "{} bytes are held", quic.held());
        now += Duration::from_micros(10);
        loop {
            match quic.message() {
                Ok(Some(message)) => found.push(Some(message)),
                Ok(None) => break,
                Err(_) => {
                    assert!(lost, "framing was lost that is not");
                    return;
                }
            }
        }
    }
    wanted.sort();
    found.sort();
    let total: usize = wanted.iter().flatten().map(Vec::len).sum();
    assert!(
        lost || total > QuicStreams::MOST / 2 || found == wanted,
        "a record is missing or invented"
    );
    // What does not go on is given up.
    quic.read(now + Duration::from_secs(3600));
    assert!(quic.message().is_ok());
}

fn door(streams: &[Stream], stride: usize) {
    let door = QuicDoor::new(&[1; 32], &[2; 32]);
    for stream in streams.iter().take(4) {
        let run = stream.bytes(Some(&door));
        let (kept, strangers) = door.sift(&run, stride);
        let packets = run.chunks(stride.max(1)).count() as u64;
        assert!(kept.len() <= run.len() && strangers <= packets);
        let (again, none) = door.sift(&kept, stride);
        // The last packet of a run may be shorter, and only the last; the others keep their places.
        if kept.len() % stride.max(1) == 0 || strangers == 0 {
            assert!(again == kept && none == 0, "what came in comes in again");
        }
    }
}
