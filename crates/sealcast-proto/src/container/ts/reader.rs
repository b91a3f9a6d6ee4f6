//! Reads a transport stream.

use std::collections::VecDeque;

use super::pieces::{Head, Open, Unwrapped};
use super::sections::{Program, Sections, SoundForm, first_program, program};
use super::sound::SoundReader;
use super::{HEADER, PAT_PID, TS_PACKET, TS_SYNC};
use crate::container::{Frame, MAX_PICTURE, Piece, Track};
use crate::unit::sound_headers::MAX_SOUND_BYTES;

/// Longest piece of sound in bytes.
const MAX_SOUND: usize = MAX_SOUND_BYTES;

/// Reads the first program of a transport stream: its first picture and its first sound that are carried.
///
/// Bytes that are no packets, and packets that are lost, cost the frames that they belong to: the next frame says that
/// something is missing.
#[derive(Clone, Debug, Default)]
pub struct TsReader {
    buffer: Vec<u8>,
    /// True while packets follow one another.
    synced: bool,
    programs: Sections,
    /// The packets of the program's table, and its sections.
    table: Option<(u16, Sections)>,
    program: Program,
    picture: Stream,
    sound: Stream,
    sound_reader: SoundReader,
    times: Unwrapped,
    scrambled: bool,
    ready: VecDeque<Piece>,
}

/// One stream of the program.
#[derive(Clone, Debug, Default)]
struct Stream {
    counter: Option<u8>,
    open: Option<Open>,
    /// Something before the next frame is missing.
    lost: bool,
}

impl Stream {
    /// Something is missing: the piece that is not whole is none.
    fn lose(&mut self) {
        self.open = None;
        self.lost = true;
    }
}

/// A packet.
struct Packet<'a> {
    pid: u16,
    begins: bool,
    random_access: bool,
    /// The counter may be another one here.
    discontinuous: bool,
    counter: u8,
    content: &'a [u8],
}

impl TsReader {
    /// Takes bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.extend_from_slice(bytes);
        let mut at = 0;
        // Between packets one is known by what follows it.
        while let Some(packet) = buffer.get(at..).and_then(|rest| rest.first_chunk::<TS_PACKET>()) {
            let begins = packet[0] == TS_SYNC;
            let followed = match (self.synced, buffer.get(at + TS_PACKET)) {
                (true, _) => true,
                (false, Some(next)) => *next == TS_SYNC,
                (false, None) if begins => break,
                (false, None) => false,
            };
            if begins && followed {
                self.synced = true;
                self.packet(packet);
                at += TS_PACKET;
                continue;
            }
            if std::mem::take(&mut self.synced) {
                self.picture.lose();
                self.lose_sound();
            }
            at += 1;
        }
        buffer.drain(..at);
        self.buffer = buffer;
    }

    /// Returns what was read. To be called after each [`push`](Self::push) until it returns `None`.
    pub fn poll(&mut self) -> Option<Piece> {
        self.ready.pop_front()
    }

    /// The stream has ended: what was begun is whole.
    pub fn finish(&mut self) {
        let rest = std::mem::take(&mut self.buffer);
        if let Some(packet) = rest.first_chunk::<TS_PACKET>().filter(|packet| packet[0] == TS_SYNC) {
            self.packet(packet);
        }
        self.finish_picture();
        self.finish_sound();
    }

    /// True if packets of picture or sound came that are encrypted.
    pub fn is_scrambled(&self) -> bool {
        self.scrambled
    }

    fn packet(&mut self, bytes: &[u8; TS_PACKET]) {
        let Some(packet) = parse(bytes) else { return };
        let is_table = self.table.as_ref().is_some_and(|(pid, _)| *pid == packet.pid);
        let of = |stream: Option<u16>| stream == Some(packet.pid);
        if packet.pid == PAT_PID {
            let found = self
                .programs
                .push(packet.begins, packet.content)
                .and_then(first_program);
            if let Some(found) = found.filter(|found| self.table.as_ref().is_none_or(|(pid, _)| pid != found)) {
                self.table = Some((found, Sections::default()));
            }
        } else if is_table {
            let table = self.table.as_mut().map(|(_, sections)| sections);
            let section = table.and_then(|table| table.push(packet.begins, packet.content));
            if let Some(found) = section.and_then(program) {
                self.changes_to(found);
            }
        } else if of(self.program.picture.map(|(pid, _)| pid)) {
            if self.scrambled(bytes) {
                return self.picture.lose();
            }
            self.picture_packet(&packet);
        } else if of(self.program.sound.map(|(pid, _)| pid)) {
            if self.scrambled(bytes) {
                return self.lose_sound();
            }
            self.sound_packet(&packet);
        }
    }

    fn scrambled(&mut self, bytes: &[u8; TS_PACKET]) -> bool {
        let scrambled = bytes[3] & 0xc0 != 0;
        self.scrambled |= scrambled;
        scrambled
    }

    fn changes_to(&mut self, program: Program) {
        if self.program == program {
            return;
        }
        if self.program.picture != program.picture {
            self.finish_picture();
            self.picture = Stream::default();
        }
        if self.program.sound != program.sound {
            self.finish_sound();
            self.sound = Stream::default();
            let opus = match program.sound {
                Some((_, SoundForm::Opus(channels))) => Some(channels),
                _ => None,
            };
            self.sound_reader = SoundReader::new(opus);
        }
        self.ready.push_back(Piece::Tracks(program.tracks.clone()));
        self.program = program;
    }

    /// Judges the counter of a packet. False for one that came already.
    fn in_order(stream: &mut Stream, packet: &Packet<'_>) -> bool {
        let before = stream.counter.replace(packet.counter);
        let Some(before) = before.filter(|_| !packet.discontinuous) else {
            return true;
        };
        let missing = packet.counter != (before + 1) & 0xf && packet.counter != before;
        if missing {
            stream.lose();
        }
        missing || packet.counter != before
    }

    fn picture_packet(&mut self, packet: &Packet<'_>) {
        if !Self::in_order(&mut self.picture, packet) {
            return;
        }
        let mut content = packet.content;
        if packet.begins {
            let Some(head) = Head::parse(packet.content) else {
                return self.picture.lose();
            };
            content = head.content;
            // A piece without a time goes on with the picture before it.
            if head.shown.is_some() || self.picture.open.is_none() {
                self.finish_picture();
                self.picture.open = Some(Open {
                    data: Vec::new(),
                    shown: head.shown,
                    missing: head.length,
                    random_access: packet.random_access,
                });
            } else if let Some(open) = &mut self.picture.open {
                open.missing = head.length;
            }
        }
        self.append_picture(content);
    }

    fn append_picture(&mut self, content: &[u8]) {
        let Some(open) = &mut self.picture.open else { return };
        let content = &content[..open.missing.unwrap_or(usize::MAX).min(content.len())];
        open.data.extend_from_slice(content);
        open.missing = open.missing.map(|missing| missing - content.len());
        if open.data.len() > MAX_PICTURE {
            self.picture.lose();
        }
    }

    fn finish_picture(&mut self) {
        let Some(open) = self.picture.open.take() else { return };
        let whole = open.missing.is_none_or(|missing| missing == 0) && !open.data.is_empty();
        let Some(shown) = open.shown.filter(|_| whole) else {
            return self.picture.lose();
        };
        let frame = Frame {
            track: Track::Picture,
            stamp: self.times.nanos(shown),
            keyframe: open.random_access,
            lost: std::mem::take(&mut self.picture.lost),
            data: open.data,
        };
        self.ready.push_back(Piece::Frame(frame));
    }

    fn lose_sound(&mut self) {
        self.sound.lose();
        self.sound_reader.lose();
    }

    fn sound_packet(&mut self, packet: &Packet<'_>) {
        let lost = self.sound.lost;
        if !Self::in_order(&mut self.sound, packet) {
            return;
        }
        if self.sound.lost && !lost {
            self.sound_reader.lose();
        }
        let mut content = packet.content;
        if packet.begins {
            self.finish_sound();
            let Some(head) = Head::parse(packet.content) else {
                return self.lose_sound();
            };
            content = head.content;
            self.sound.open = Some(Open {
                data: Vec::new(),
                shown: head.shown,
                missing: head.length,
                random_access: false,
            });
        }
        let Some(open) = &mut self.sound.open else { return };
        let content = &content[..open.missing.unwrap_or(usize::MAX).min(content.len())];
        open.data.extend_from_slice(content);
        open.missing = open.missing.map(|missing| missing - content.len());
        if open.data.len() > MAX_SOUND {
            return self.lose_sound();
        }
        if open.missing == Some(0) {
            self.finish_sound();
        }
    }

    fn finish_sound(&mut self) {
        let Some(open) = self.sound.open.take() else { return };
        let shown = open.shown.map(|shown| self.times.nanos(shown));
        let lost = &mut self.sound.lost;
        self.sound_reader.piece(shown, &open.data, lost, &mut self.ready);
    }
}

/// Reads a packet that has content and is not damaged.
fn parse(bytes: &[u8; TS_PACKET]) -> Option<Packet<'_>> {
    let damaged = bytes[1] & 0x80 != 0;
    let has_fields = bytes[3] & 0x20 != 0;
    let has_content = bytes[3] & 0x10 != 0;
    let fields = if has_fields { 1 + usize::from(bytes[4]) } else { 0 };
    let content = bytes.get(HEADER + fields..)?;
    let flags = if fields > 1 { bytes[5] } else { 0 };
    (has_content && !damaged).then_some(Packet {
        pid: u16::from_be_bytes([bytes[1], bytes[2]]) & 0x1fff,
        begins: bytes[1] & 0x40 != 0,
        random_access: flags & 0x40 != 0,
        discontinuous: flags & 0x80 != 0,
        counter: bytes[3] & 0xf,
        content,
    })
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
