//! Motion JPEG out of RTP packets (RFC 2435).
//!
//! A packet has a part of the image's coded data; the headers are made here ([`ImageHead`]). A picture that lacks a
//! part is left out.

use std::collections::VecDeque;

use super::bounds::{MAX_PICTURE, MAX_READY_IMAGES, MAX_SPARE};
use super::jpeg_head::ImageHead;
use super::jpeg_quantization::{Quantization, TableStore};
use super::{Damage, RtpPacket, Unit};

/// Length of the main header, and of that of restart intervals.
const MAIN_HEADER: usize = 8;
const RESTART_HEADER: usize = 4;
/// Types that have a restart header.
const RESTARTS: std::ops::RangeInclusive<u8> = 64..=127;
/// End of an image.
const END: [u8; 2] = [0xff, 0xd9];

const LACKS: &str = "lacks packets";

/// Puts images of Motion JPEG together.
#[derive(Debug)]
pub struct Jpeg {
    /// Size by the description, for pictures whose packets have none.
    size: Option<(u16, u16)>,
    tables: TableStore,
    data: Vec<u8>,
    /// Bytes of coded data that came of the picture under way.
    coded: usize,
    under_way: Option<u32>,
    broken: Option<&'static str>,
    /// There was a marker: a picture without one is not whole.
    marked: bool,
    lost: bool,
    ready: VecDeque<Unit>,
    damage: Damage,
}

/// Header of a packet about its picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    offset: usize,
    kind: u8,
    q: u8,
    /// Width and height in blocks of eight.
    blocks: (u8, u8),
    restart: Option<u16>,
}

impl Jpeg {
    /// For a track whose description may have a size.
    pub fn new(size: Option<(u16, u16)>) -> Self {
        Self {
            size,
            tables: TableStore::default(),
            data: Vec::new(),
            coded: 0,
            under_way: None,
            broken: None,
            marked: false,
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
        let parsed = header(packet.payload);
        let begins = parsed.as_ref().is_some_and(|(header, _)| header.offset == 0);
        // ONVIF's header extension may come in packets of its own, before the first with coded data.
        let headers_alone = begins && self.under_way == Some(packet.timestamp) && self.is_empty();
        if self.under_way.is_some_and(|under_way| under_way != packet.timestamp) || begins && !headers_alone {
            // No marker ended the picture before.
            if (lost || self.marked) && !self.data.ends_with(&END) {
                self.broken.get_or_insert(LACKS);
            }
            self.finish();
        }
        match parsed {
            None => self.go_on_without(packet.timestamp, "has packets without a header of JPEG"),
            Some((header, rest)) if headers_alone && packet.extension.is_none() => self.go_on(&header, rest),
            Some((header, rest)) if begins => self.begin(packet, &header, rest),
            Some((header, rest)) => {
                if self.under_way.is_none() || self.coded != header.offset {
                    self.go_on_without(packet.timestamp, LACKS);
                }
                self.append(rest);
            }
        }
        if packet.marker {
            self.marked = true;
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
        (self.under_way, self.broken) = (Some(packet.timestamp), None);
        self.data.clear();
        self.coded = 0;
        match self.head(packet, header, rest) {
            Ok((head, rest)) => {
                head.write(&mut self.data);
                self.append(rest);
            }
            Err(reason) => self.broken = Some(reason),
        }
    }

    /// Takes the first packet with coded data behind one that had headers alone.
    fn go_on(&mut self, header: &Header, rest: &[u8]) {
        match self.tables.of_picture(header.q, rest) {
            _ if header.q == 0 => self.append(rest),
            Ok((_, rest)) => self.append(rest),
            Err(reason) => self.broken = Some(reason),
        }
    }

    /// The headers of a picture, and the coded data in its first packet.
    fn head<'a>(
        &mut self,
        packet: &RtpPacket<'a>,
        header: &Header,
        rest: &'a [u8],
    ) -> Result<(ImageHead<'a>, &'a [u8]), &'static str> {
        let mut head = ImageHead::of_extension(packet.extension);
        let (tables, rest) = if header.q == 0 && head.has_tables() {
            (Quantization::default(), rest)
        } else {
            self.tables.of_picture(header.q, rest)?
        };
        if !head.has_frame() {
            if !matches!(header.kind, 0 | 1 | 64 | 65) {
                return Err("has JPEG of an unknown type");
            }
            let (width, height) = size(header.blocks, self.size)
                .ok_or("has pictures above 2040 pixels whose size neither they nor its description tell")?;
            head.set_frame(width, height, header.kind & 0x3f == 1, &tables);
        }
        head.set_tables(tables);
        head.set_restart(header.restart);
        Ok((head, rest))
    }

    fn append(&mut self, part: &[u8]) {
        if self.broken.is_some() {
            return;
        }
        if self.data.len() + part.len() + END.len() > MAX_PICTURE {
            self.broken = Some("has a picture that is too large");
            self.data = Vec::new();
        } else {
            self.data.extend_from_slice(part);
            self.coded += part.len();
        }
    }

    /// True if there is no coded data yet, and nothing is wrong.
    fn is_empty(&self) -> bool {
        self.broken.is_none() && self.coded == 0
    }

    /// The picture with this timestamp lacks something.
    fn go_on_without(&mut self, timestamp: u32, reason: &'static str) {
        self.under_way = Some(timestamp);
        self.broken.get_or_insert(reason);
    }

    /// Ends the picture under way.
    fn finish(&mut self) {
        let Some(timestamp) = self.under_way.take() else { return };
        let empty = self.is_empty().then_some("has pictures without data");
        let full = (self.ready.len() >= MAX_READY_IMAGES).then_some("has too many pictures in a packet");
        let spare = Vec::with_capacity(self.data.len().min(MAX_SPARE));
        let mut data = std::mem::replace(&mut self.data, spare);
        if let Some(reason) = self.broken.take().or(empty).or(full) {
            self.damage.units += 1;
            self.damage.reason = Some(reason);
            self.lost = true;
            return;
        }
        if !data.ends_with(&END) {
            data.extend_from_slice(&END);
        }
        self.ready.push_back(Unit {
            timestamp,
            lost: std::mem::take(&mut self.lost),
            data,
        });
    }
}

fn header(payload: &[u8]) -> Option<(Header, &[u8])> {
    let (head, mut rest) = payload.split_first_chunk::<MAIN_HEADER>()?;
    let [_, o0, o1, o2, kind, q, width, height] = *head;
    let mut restart = None;
    if RESTARTS.contains(&kind) {
        let (head, after) = rest.split_first_chunk::<RESTART_HEADER>()?;
        restart = Some(u16::from_be_bytes([head[0], head[1]])).filter(|interval| *interval > 0);
        rest = after;
    }
    let header = Header {
        offset: u32::from_be_bytes([0, o0, o1, o2]) as usize,
        kind,
        q,
        blocks: (width, height),
        restart,
    };
    Some((header, rest))
}

/// The size of a picture by its packets, which count blocks in one byte, and by its description. The latter counts
/// where the former is 0, and where it is the former but for what does not fit into a byte or makes no block.
fn size(blocks: (u8, u8), described: Option<(u16, u16)>) -> Option<(u16, u16)> {
    let side = |blocks: u8, described: Option<u16>| {
        let described = described.filter(|side| *side > 0);
        let same = described.filter(|side| blocks == 0 || side.div_ceil(8) & 0xff == u16::from(blocks));
        same.or(Some(u16::from(blocks) * 8)).filter(|side| *side > 0)
    };
    Some((
        side(blocks.0, described.map(|size| size.0))?,
        side(blocks.1, described.map(|size| size.1))?,
    ))
}
