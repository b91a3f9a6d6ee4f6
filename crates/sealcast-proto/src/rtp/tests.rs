//! Packets in and units out, for the tests of depacketizers.

use super::{Damage, RtpPacket, Unit};

/// A packet, and whether others before it are missing.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) time: u32,
    pub(super) marker: bool,
    pub(super) payload: Vec<u8>,
    pub(super) extension: Option<(u16, Vec<u8>)>,
    pub(super) lost: bool,
}

impl Sent {
    pub(super) fn after_loss(mut self) -> Self {
        self.lost = true;
        self
    }

    pub(super) fn packet(&self) -> RtpPacket<'_> {
        RtpPacket {
            payload_type: 96,
            marker: self.marker,
            sequence: 0,
            timestamp: self.time,
            source: 1,
            extension: self
                .extension
                .as_ref()
                .map(|(profile, content)| (*profile, &content[..])),
            payload: &self.payload,
        }
    }
}

pub(super) fn packet(time: u32, marker: bool, payload: &[u8]) -> Sent {
    Sent {
        time,
        marker,
        payload: payload.to_vec(),
        extension: None,
        lost: false,
    }
}

/// Cuts what follows a unit's header into fragments of `size` bytes; `head` makes their headers.
pub(super) fn fragments(body: &[u8], size: usize, head: impl Fn(bool, bool) -> Vec<u8>) -> Vec<Vec<u8>> {
    let count = body.len().div_ceil(size);
    let parts = body.chunks(size).enumerate();
    parts
        .map(|(at, part)| [&head(at == 0, at + 1 == count)[..], part].concat())
        .collect()
}

pub(super) fn annex_b(units: &[&[u8]]) -> Vec<u8> {
    units.iter().flat_map(|unit| [&[0, 0, 0, 1], *unit].concat()).collect()
}

pub(super) fn unit(timestamp: u32, units: &[&[u8]]) -> Unit {
    Unit {
        timestamp,
        lost: false,
        data: annex_b(units),
    }
}

impl Unit {
    pub(super) fn lost(self) -> Self {
        Self { lost: true, ..self }
    }
}

/// Packets that are sent, and what comes out of them.
pub(super) struct Row {
    name: String,
    pub(super) packets: Vec<Sent>,
    units: Vec<Unit>,
    damage: Damage,
}

impl Row {
    pub(super) fn new(name: &str, packets: impl Into<Vec<Sent>>, units: impl Into<Vec<Unit>>) -> Self {
        Self {
            name: name.to_owned(),
            packets: packets.into(),
            units: units.into(),
            damage: Damage::default(),
        }
    }

    pub(super) fn damaged(self, units: u64, reason: &'static str) -> Self {
        let damage = Damage {
            units,
            reason: Some(reason),
        };
        Self { damage, ..self }
    }
}

/// Pushes packets, and polls after each.
macro_rules! run {
    ($depacketizer:expr, $packets:expr) => {{
        let mut units: Vec<$crate::rtp::Unit> = Vec::new();
        for sent in &$packets {
            $depacketizer.push(&sent.packet(), sent.lost);
            units.extend(std::iter::from_fn(|| $depacketizer.poll()));
        }
        (units, $depacketizer.take_damage())
    }};
}
pub(super) use run;

pub(super) fn check(row: &Row, (units, damage): (Vec<Unit>, Damage)) {
    let brief = |units: &[Unit]| {
        let head = |unit: &Unit| unit.data[..unit.data.len().min(64)].to_vec();
        units
            .iter()
            .map(|unit| format!("{} {} {:x?}", unit.timestamp, unit.lost, head(unit)))
            .collect::<Vec<_>>()
    };
    let (came, wanted) = (brief(&units), brief(&row.units));
    assert!(units == row.units, "{}: {came:#?}, not {wanted:#?}", row.name);
    assert_eq!(damage, row.damage, "{}", row.name);
}
