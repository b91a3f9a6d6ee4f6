//! All that was overheard of one direction of a connection.

use std::time::Duration;

use sealcast_proto::unit::StreamInfo;

use super::partial::{FrameGatherer, Gathered, PartialFrame};
use super::wiretap::{Carriage, Seen, Wiretap};

/// Stream as far as an observer has it. It grows with what is heard; the caller decides when it is enough.
#[derive(Debug)]
pub struct Overheard {
    wiretap: Wiretap,
    gatherer: FrameGatherer,
    /// The description of the stream, if one was in clear.
    pub info: Option<StreamInfo>,
    /// The frames, in order.
    pub frames: Vec<PartialFrame>,
    /// Number of media records.
    pub records: u64,
    /// Number of those in clear.
    pub in_clear: u64,
}

impl Overheard {
    /// Nothing yet.
    pub fn new(carriage: Carriage) -> Self {
        Self {
            wiretap: Wiretap::new(carriage),
            gatherer: FrameGatherer::new(carriage),
            info: None,
            frames: Vec::new(),
            records: 0,
            in_clear: 0,
        }
    }

    /// Hears the next bytes of a stream, or one datagram.
    pub fn hear(&mut self, at: Duration, bytes: &[u8]) {
        let Self {
            wiretap,
            gatherer,
            info,
            frames,
            records,
            in_clear,
        } = self;
        wiretap.hear(at, bytes, |record| {
            let Seen::Media(media) = &record.seen else { return };
            *records += 1;
            *in_clear += u64::from(media.clear.is_some());
            match gatherer.take(record.at, media) {
                Some(Gathered::Info(seen)) => *info = Some(seen),
                Some(Gathered::Frame(frame)) => frames.push(frame),
                None => {}
            }
        });
    }

    /// Share of the frames' bytes that are known, 0 to 1; 0 without frames.
    pub fn known_share(&self) -> f64 {
        let sum = |bytes: fn(&PartialFrame) -> usize| self.frames.iter().map(bytes).sum::<usize>() as f64;
        let all = sum(PartialFrame::length);
        if all > 0.0 { sum(PartialFrame::known) / all } else { 0.0 }
    }
}
