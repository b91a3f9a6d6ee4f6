//! sealcast's own sessions.

use std::time::Duration;

use sealcast::failure::Result;
use sealcast::run::throughput::{Load, carry};
use sealcast_proto::seal::Suite;
use sealcast_proto::unit::{PREAMBLE_LEN, UNIT_HEADER_LEN};
use sealcast_proto::wire::{CONNECTION_LEN, HEADER_LEN, TAG_LEN, TransportKind};

use super::{BOTH_ENDS, Carrier, Contender, DATAGRAM, Sample};

/// Datagrams of a frame: two batches of the largest size that the kernel segments in one call.
const PACKETS: usize = 2 * (65_507 / DATAGRAM);
/// Bytes of a frame that exactly fills these datagrams.
const FRAME: usize = PACKETS * (DATAGRAM - CONNECTION_LEN - HEADER_LEN - UNIT_HEADER_LEN - TAG_LEN) - PREAMBLE_LEN;

/// The frame lengths to measure.
pub(super) fn frames(carrier: Carrier) -> &'static [usize] {
    match carrier {
        Carrier::Udp => &[FRAME],
        Carrier::Tcp => &[64 << 10, 1 << 20],
    }
}

pub(super) struct Ours {
    pub(super) suite: Suite,
    pub(super) carrier: Carrier,
    pub(super) frame: usize,
}

impl Contender for Ours {
    fn name(&self) -> String {
        match self.carrier {
            Carrier::Udp => format!("sealcast {}", self.suite.name),
            Carrier::Tcp => format!("sealcast {}, frames of {} KiB", self.suite.name, self.frame >> 10),
        }
    }

    fn carrier(&self) -> Carrier {
        self.carrier
    }

    fn counted(&self) -> &'static str {
        BOTH_ENDS
    }

    fn measure(&mut self, time: Duration) -> Result<Sample> {
        let carried = carry(Load {
            suite: self.suite,
            transport: match self.carrier {
                Carrier::Udp => TransportKind::Udp,
                Carrier::Tcp => TransportKind::Tcp,
            },
            frame: self.frame,
            time,
        })?;
        Ok(Sample {
            bytes: carried.bytes,
            elapsed: carried.elapsed,
            cpu: carried.publisher_cpu + carried.viewer_cpu,
            sent: carried.sent,
            lost: carried.sent.saturating_sub(carried.arrived),
        })
    }
}
