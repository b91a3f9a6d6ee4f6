//! AAC in RTP (RFC 3640): access units with a header each before them, several in a packet or one over several.

use super::bounds::{MAX_CONFIG, MAX_FIELD, MAX_UNITS};
use super::ready_sound::ReadySound;
use super::{Format, RtpPacket};
use crate::container::adts::AdtsHeader;
use crate::unit::SoundInfo;
use crate::unit::sound_headers::{self, AAC_RATES, Bits, MAX_SOUND_BYTES};

/// Audio object type of AAC-LC.
const AAC_LC: u16 = 2;
/// Parameters of header fields and forms that no camera is known to use; 0 if they are not used.
const UNREAD: [&str; 6] = [
    "constantsize",
    "ctsdeltalength",
    "dtsdeltalength",
    "randomaccessindication",
    "streamstateindication",
    "auxiliarydatasizelength",
];

/// Reasons of damage, in words as in [`Damage`](super::Damage).
const SHORT: &str = "has packets of AAC that are shorter than they say";
const NO_UNITS: &str = "has packets of AAC without access units";
const INTERLEAVED: &str = "has interleaved AAC, which is not put in order";
const UNENDED: &str = "has fragments of AAC without an end";
const MANY: &str = "has packets of AAC with more than 64 access units";
const LONG: &str = "has access units of AAC of more than 64 KiB";

/// Puts access units together.
#[derive(Debug)]
pub(super) struct Aac {
    /// Bits of the size in a header, of the index in the first and of the distance of the index in each other. Without
    /// size there are no headers.
    size: u32,
    index: u32,
    distance: u32,
    /// Ticks of the RTP clock a second.
    clock_rate: u32,
    /// Samples of an access unit, and how many a second has.
    samples: u32,
    samples_per_second: u32,
    under_way: Option<UnderWay>,
}

/// An access unit of which fragments came.
#[derive(Debug)]
struct UnderWay {
    timestamp: u32,
    size: usize,
    data: Vec<u8>,
}

impl Aac {
    /// Prepares for the access units of this format, which it describes.
    ///
    /// # Errors
    /// As [`SoundDepacketizer::new`](super::SoundDepacketizer::new).
    pub(super) fn new(format: &Format) -> Result<(Self, SoundInfo), &'static str> {
        let number = |name: &str| format.parameter(name).and_then(|value| value.parse::<u32>().ok());
        let mode = format.parameter("mode").unwrap_or_default().to_ascii_lowercase();
        let usual: [u32; 3] = match mode.as_str() {
            "aac-lbr" => [6, 2, 2],
            "generic" => [0; 3],
            celp if celp.starts_with("celp") => return Err("which is CELP, and is not carried"),
            _ => [13, 3, 3],
        };
        if UNREAD.iter().any(|name| number(name).is_some_and(|value| value > 0)) {
            return Err("which it sends in a form that is not read");
        }
        let names = ["sizelength", "indexlength", "indexdeltalength"];
        let [size, index, distance] = std::array::from_fn(|at| number(names[at]).unwrap_or(usual[at]));
        if [size, index, distance].iter().any(|field| *field > MAX_FIELD) {
            return Err("which it does not describe");
        }
        let info = describe(format).ok_or("which it does not describe")?;
        let new = Self {
            size,
            index,
            distance,
            clock_rate: format.clock_rate,
            samples: info.samples_per_frame,
            samples_per_second: info.samples_per_second,
            under_way: None,
        };
        Ok((new, info))
    }

    pub(super) fn push(&mut self, packet: &RtpPacket<'_>, lost: bool, ready: &mut ReadySound) {
        if lost {
            self.give_up(ready);
        }
        if packet.payload.is_empty() {
            return;
        }
        if self.size == 0 {
            return self.push_bare(packet, ready);
        }
        match self.headers(packet.payload) {
            Ok((sizes, data)) => match *sizes {
                [size] if size > data.len() => self.push_fragment(packet.timestamp, size, data, ready),
                _ => self.push_units(packet.timestamp, &sizes, data, ready),
            },
            Err(reason) => ready.damaged(reason),
        }
    }

    /// The sizes of the access units in a packet, and their data.
    fn headers<'a>(&self, payload: &'a [u8]) -> Result<(Vec<usize>, &'a [u8]), &'static str> {
        let (length, rest) = payload.split_first_chunk().ok_or(SHORT)?;
        let mut bits = u32::from(u16::from_be_bytes(*length));
        let (headers, data) = rest.split_at_checked(bits.div_ceil(8) as usize).ok_or(SHORT)?;
        let mut reader = Bits::new(headers);
        let mut sizes = Vec::new();
        loop {
            let index = if sizes.is_empty() { self.index } else { self.distance };
            let Some(left) = bits.checked_sub(self.size + index) else {
                break;
            };
            bits = left;
            let size = reader.take(self.size).ok_or(SHORT)?;
            // That of the first means nothing where units are in order.
            if reader.take(index).ok_or(SHORT)? != 0 && !sizes.is_empty() {
                return Err(INTERLEAVED);
            }
            if sizes.len() == MAX_UNITS {
                return Err(MANY);
            }
            sizes.push(size as usize);
        }
        if sizes.is_empty() {
            return Err(NO_UNITS);
        }
        Ok((sizes, data))
    }

    fn push_units(&mut self, timestamp: u32, sizes: &[usize], mut data: &[u8], ready: &mut ReadySound) {
        self.give_up(ready);
        for (number, size) in (0..).zip(sizes) {
            let Some((unit, rest)) = data.split_at_checked(*size) else {
                return ready.damaged(SHORT);
            };
            data = rest;
            ready.unit(timestamp.wrapping_add(self.ticks(number)), without_adts(unit));
        }
    }

    /// Takes a fragment, whose header has the size of the whole unit. Markers are not looked at.
    fn push_fragment(&mut self, timestamp: u32, size: usize, data: &[u8], ready: &mut ReadySound) {
        if size > MAX_SOUND_BYTES {
            self.give_up(ready);
            return ready.damaged(LONG);
        }
        let goes_on = |before: &UnderWay| {
            before.timestamp == timestamp && before.size == size && before.data.len() + data.len() <= size
        };
        if !self.under_way.as_ref().is_some_and(goes_on) {
            self.give_up(ready);
        }
        let unit = self.begin(timestamp, size);
        unit.data.extend_from_slice(data);
        if unit.data.len() == size {
            self.complete(ready);
        }
    }

    /// Takes a packet without headers: it is an access unit, or a fragment up to the marker or another time.
    fn push_bare(&mut self, packet: &RtpPacket<'_>, ready: &mut ReadySound) {
        if self
            .under_way
            .as_ref()
            .is_some_and(|unit| unit.timestamp != packet.timestamp)
        {
            self.complete(ready);
        }
        let unit = self.begin(packet.timestamp, MAX_SOUND_BYTES);
        if unit.data.len() + packet.payload.len() > unit.size {
            self.under_way = None;
            return ready.damaged(LONG);
        }
        unit.data.extend_from_slice(packet.payload);
        if packet.marker {
            self.complete(ready);
        }
    }

    /// The unit under way, or a new one.
    fn begin(&mut self, timestamp: u32, size: usize) -> &mut UnderWay {
        self.under_way.get_or_insert_with(|| UnderWay {
            timestamp,
            size,
            data: Vec::new(),
        })
    }

    fn complete(&mut self, ready: &mut ReadySound) {
        if let Some(unit) = self.under_way.take() {
            ready.unit(unit.timestamp, without_adts(&unit.data));
        }
    }

    /// Leaves the unit under way out, if there is one.
    fn give_up(&mut self, ready: &mut ReadySound) {
        if self.under_way.take().is_some() {
            ready.damaged(UNENDED);
        }
    }

    /// Time from the first access unit of a packet to this one, in ticks of the RTP clock.
    fn ticks(&self, number: u32) -> u32 {
        let samples = u64::from(number) * u64::from(self.samples);
        let rate = u64::from(self.samples_per_second).max(1);
        // The upper bits are those of a wrap.
        ((samples * u64::from(self.clock_rate) + rate / 2) / rate) as u32
    }
}

/// Describes the sound by its AudioSpecificConfig or, if there is none that can be read, as AAC-LC with the clock and
/// the channels of `a=rtpmap:`.
pub(super) fn describe(format: &Format) -> Option<SoundInfo> {
    let said = format.parameter("config").map(bytes).filter(|config| {
        // Object type 0 is none.
        config.first().is_some_and(|first| first >> 3 != 0)
    });
    let config = said.and_then(|config| sound_headers::aac(&config, format.channels.into()));
    config.or_else(|| {
        let rate = AAC_RATES.iter().position(|rate| *rate == format.clock_rate)?;
        let layout = match format.channels {
            channels @ 1..=6 => channels,
            8 => 7,
            _ => return None,
        };
        let config = AAC_LC << 11 | u16::try_from(rate).ok()? << 7 | u16::from(layout) << 3;
        sound_headers::aac(&config.to_be_bytes(), format.channels.into())
    })
}

/// Reads hexadecimal digits up to what is none. Half a byte at the end is left out.
fn bytes(text: &str) -> Vec<u8> {
    let text = text.trim_matches('"');
    let text = text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text);
    let digits: Vec<u8> = text
        .chars()
        .map_while(|digit| digit.to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    let (pairs, _) = digits.as_chunks::<2>();
    pairs
        .iter()
        .take(MAX_CONFIG)
        .map(|[high, low]| high << 4 | low)
        .collect()
}

/// An access unit without the ADTS header that some cameras leave before it, which says how long both are.
fn without_adts(unit: &[u8]) -> &[u8] {
    match AdtsHeader::parse(unit) {
        Some(adts) if adts.length == unit.len() => &unit[adts.header..],
        _ => unit,
    }
}

#[cfg(test)]
#[path = "aac_tests.rs"]
mod tests;
