//! Motion JPEG out of RTP packets (RFC 2435).
//!
//! A packet has a part of the image's coded data; headers and tables are made here, as RFC 2435, appendix B, does. A
//! picture that lacks a part is left out.

use std::collections::VecDeque;

use super::jpeg_tables::{HUFFMAN_TABLES, QUANTIZATION};
use super::{Damage, MAX_FRAME, RtpPacket, Unit};

/// Length of the main header, and of that of restart intervals.
const MAIN_HEADER: usize = 8;
const RESTART_HEADER: usize = 4;
/// Types that have a restart header.
const RESTARTS: std::ops::RangeInclusive<u8> = 64..=127;
/// Values of Q whose tables are made from the standard ones, and those whose tables come in the packet; a value of 255
/// says that they may change with each picture.
const FACTORS: std::ops::RangeInclusive<u8> = 1..=99;
const IN_BAND: u8 = 128;
const CHANGING: u8 = 255;
/// Bytes of one table.
const TABLE: usize = 64;
/// End of an image.
const END: [u8; 2] = [0xff, 0xd9];
/// Profile of ONVIF's header extension that has headers of JPEG for large pictures, with the marker of a frame's size.
const ONVIF_EXTENSION: u16 = 0xffd8;

const LACKS: &str = "lacks packets";

/// Puts images of Motion JPEG together.
#[derive(Debug)]
pub struct Jpeg {
    /// Size by the description, for pictures whose packets have none.
    size: Option<(u16, u16)>,
    /// Tables of each value of Q that came in a packet and stay.
    tables: Vec<(u8, Vec<u8>)>,
    data: Vec<u8>,
    /// Length of the headers that were made.
    headers: usize,
    under_way: Option<u32>,
    broken: Option<&'static str>,
    lost: bool,
    ready: VecDeque<Unit>,
    damage: Damage,
}

/// What a packet says of its picture.
struct Header {
    offset: usize,
    kind: u8,
    q: u8,
    size: (u16, u16),
    restart: Option<u16>,
}

impl Jpeg {
    /// For a track whose description may have a size.
    pub fn new(size: Option<(u16, u16)>) -> Self {
        Self {
            size,
            tables: Vec::new(),
            data: Vec::new(),
            headers: 0,
            under_way: None,
            broken: None,
            lost: false,
            ready: VecDeque::new(),
            damage: Damage::default(),
        }
    }

    /// Takes the next packet in order. `lost` is true if packets before it are missing.
    pub fn push(&mut self, packet: &RtpPacket<'_>, lost: bool) {
        self.lost |= lost;
        if packet.payload.is_empty() {
            return;
        }
        if self.under_way.is_some_and(|under_way| under_way != packet.timestamp) {
            // No packet ended the picture before.
            self.give_up(LACKS);
        }
        let Some((header, rest)) = header(packet.payload) else {
            return self.give_up("has packets without a header of JPEG");
        };
        if header.offset == 0 {
            if self.under_way.is_some() {
                self.give_up(LACKS);
            }
            // What was lost before it belongs to another picture.
            self.begin(packet, &header, rest);
        } else {
            if self.under_way.is_none() || self.data.len().checked_sub(self.headers) != Some(header.offset) {
                self.under_way = Some(packet.timestamp);
                self.broken.get_or_insert(LACKS);
            }
            self.append(rest);
        }
        if packet.marker {
            self.finish();
        }
    }

    /// Returns the next whole image.
    pub fn poll(&mut self) -> Option<Unit> {
        self.ready.pop_front()
    }

    /// Returns what was left out since the last call.
    pub fn take_damage(&mut self) -> Damage {
        std::mem::take(&mut self.damage)
    }

    fn begin(&mut self, packet: &RtpPacket<'_>, header: &Header, rest: &[u8]) {
        self.under_way = Some(packet.timestamp);
        (self.broken, self.headers) = (None, 0);
        self.data.clear();
        let size = picture_size(packet, header).or(self.size);
        let begun = self.tables(header.q, rest).and_then(|(tables, rest)| {
            let (width, height) = size.ok_or("has pictures without a size")?;
            if header.kind & 0x3f > 1 {
                return Err("has JPEG of an unknown type");
            }
            put_headers(&mut self.data, header, (width, height), &tables);
            self.headers = self.data.len();
            Ok(rest)
        });
        match begun {
            Ok(rest) => self.append(rest),
            Err(reason) => self.broken = Some(reason),
        }
    }

    /// The quantization tables of a picture, and the coded data behind them.
    fn tables<'a>(&mut self, q: u8, rest: &'a [u8]) -> Result<(Vec<u8>, &'a [u8]), &'static str> {
        if FACTORS.contains(&q) {
            return Ok((scaled(q), rest));
        }
        if q < IN_BAND {
            return Err("has a reserved value of Q");
        }
        let cut = "has quantization tables that are cut short";
        let (head, after) = rest.split_first_chunk::<4>().ok_or(cut)?;
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let (tables, after) = after.split_at_checked(length).ok_or(cut)?;
        // Of three tables the last is for the other colour, which is that of the second.
        let tables = &tables[..tables.len().min(2 * TABLE)];
        if head[1] != 0 {
            return Err("has quantization tables of 16 bits");
        }
        if tables.is_empty() {
            let kept = self.tables.iter().find(|(kept, _)| *kept == q);
            let (_, tables) = kept.ok_or("has no quantization tables yet")?;
            return Ok((tables.clone(), after));
        }
        if tables.len() % TABLE != 0 {
            return Err(cut);
        }
        if q != CHANGING {
            self.tables.retain(|(kept, _)| *kept != q);
            self.tables.push((q, tables.to_vec()));
        }
        Ok((tables.to_vec(), after))
    }

    fn append(&mut self, part: &[u8]) {
        if self.broken.is_none() && self.data.len() + part.len() + END.len() > MAX_FRAME {
            self.broken = Some("has a picture that is too large");
            self.data = Vec::new();
        }
        if self.broken.is_some() {
            return;
        }
        let needed = self.data.len() + part.len() + END.len();
        if needed > self.data.capacity() {
            // Twice as much each time, but never more than the largest picture.
            let capacity = (2 * self.data.capacity()).clamp(needed, MAX_FRAME);
            self.data.reserve_exact(capacity - self.data.len());
        }
        self.data.extend_from_slice(part);
    }

    fn finish(&mut self) {
        if let Some(reason) = self.broken {
            return self.give_up(reason);
        }
        let Some(timestamp) = self.under_way.take() else { return };
        let mut data = std::mem::take(&mut self.data);
        if !data.ends_with(&END) {
            data.extend_from_slice(&END);
        }
        self.ready.push_back(Unit {
            timestamp,
            lost: std::mem::take(&mut self.lost),
            data,
        });
    }

    /// Leaves the picture under way out.
    fn give_up(&mut self, reason: &'static str) {
        self.damage.units += 1;
        self.damage.reason = Some(self.broken.take().unwrap_or(reason));
        self.lost = true;
        self.under_way = None;
        self.data.clear();
    }
}

fn header(payload: &[u8]) -> Option<(Header, &[u8])> {
    let (head, mut rest) = payload.split_first_chunk::<MAIN_HEADER>()?;
    let [_, o0, o1, o2, kind, q, width, height] = *head;
    let mut restart = None;
    if RESTARTS.contains(&kind) {
        let (head, after) = rest.split_first_chunk::<RESTART_HEADER>()?;
        restart = Some(u16::from_be_bytes([head[0], head[1]]));
        rest = after;
    }
    let header = Header {
        offset: u32::from_be_bytes([0, o0, o1, o2]) as usize,
        kind,
        q,
        size: (u16::from(width) * 8, u16::from(height) * 8),
        restart,
    };
    Some((header, rest))
}

/// The size of a picture by its packet: from the header, or where that is 0 from ONVIF's extension.
fn picture_size(packet: &RtpPacket<'_>, header: &Header) -> Option<(u16, u16)> {
    let known = |size: &(u16, u16)| size.0 > 0 && size.1 > 0;
    let extension = || {
        let (_, segments) = packet.extension.filter(|(profile, _)| *profile == ONVIF_EXTENSION)?;
        // The start of a frame (SOF0): marker, length, precision, height, width.
        let frame = segments.windows(9).find(|bytes| bytes[..2] == [0xff, 0xc0])?;
        let side = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        Some((side(7), side(5)))
    };
    Some(header.size).filter(known).or_else(|| extension().filter(known))
}

/// The standard tables, scaled for a quality of 1 to 99 (RFC 2435, appendix A).
fn scaled(q: u8) -> Vec<u8> {
    let q = u32::from(q);
    let factor = if q < 50 { 5000 / q } else { 200 - 2 * q };
    let scale = |value: &u8| u8::try_from(((u32::from(*value) * factor + 50) / 100).clamp(1, 255)).unwrap_or(255);
    QUANTIZATION.as_flattened().iter().map(scale).collect()
}

/// The headers of an image: tables, restart interval, frame and scan (RFC 2435, appendix B).
fn put_headers(out: &mut Vec<u8>, header: &Header, (width, height): (u16, u16), tables: &[u8]) {
    out.extend_from_slice(&[0xff, 0xd8]);
    for (number, table) in (0..).zip(tables.chunks(TABLE)) {
        out.extend_from_slice(&[0xff, 0xdb, 0, 67, number]);
        out.extend_from_slice(table);
    }
    if let Some(interval) = header.restart {
        out.extend_from_slice(&[0xff, 0xdd, 0, 4]);
        out.extend_from_slice(&interval.to_be_bytes());
    }
    out.extend_from_slice(&[0xff, 0xc0, 0, 17, 8]);
    out.extend_from_slice(&height.to_be_bytes());
    out.extend_from_slice(&width.to_be_bytes());
    let luma_sampling = if header.kind & 0x3f == 0 { 0x21 } else { 0x22 };
    let colour = u8::from(tables.len() > TABLE);
    out.extend_from_slice(&[3, 1, luma_sampling, 0, 2, 0x11, colour, 3, 0x11, colour]);
    out.extend_from_slice(HUFFMAN_TABLES);
    out.extend_from_slice(&[0xff, 0xda, 0, 12, 3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0]);
}

#[cfg(test)]
#[path = "jpeg_tests.rs"]
mod tests;
