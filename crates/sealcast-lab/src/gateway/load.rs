//! What cameras send.

use std::time::Duration;

use sealcast_proto::sim::Random;

use crate::throughput::Carrier;

/// Between frames that are further apart the sender watches the clock; closer ones are sent when the sleep is over.
const PRECISE: Duration = Duration::from_millis(1);

/// What cameras send, and how.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Its name in options, tables and records.
    pub name: &'static str,
    /// What carries it on all hops.
    pub carrier: Carrier,
    /// How many cameras there are.
    pub cameras: usize,
    /// Frames a second of each camera.
    pub rate: u32,
    /// The least and the most packets of a frame; drawn evenly.
    pub packets: (usize, usize),
    /// Bytes of each packet, the RTP header included.
    pub bytes: usize,
}

const fn single(name: &'static str, rate: u32) -> Load {
    Load {
        name,
        carrier: Carrier::Udp,
        cameras: 1,
        rate,
        packets: (1, 1),
        bytes: 1200,
    }
}

/// Frames of so many packets, which leave together.
const fn frames(name: &'static str, carrier: Carrier, rate: u32, packets: usize) -> Load {
    Load {
        carrier,
        packets: (packets, packets),
        ..single(name, rate)
    }
}

/// A hundred cameras of 25 frames of 10 kB.
const fn hundred(name: &'static str, carrier: Carrier) -> Load {
    Load {
        name,
        carrier,
        cameras: 100,
        rate: 25,
        packets: (5, 13),
        bytes: 1112,
    }
}

/// All there are.
pub const LOADS: [Load; 8] = [
    single("udp-250", 250),
    single("udp-2500", 2500),
    single("udp-10000", 10_000),
    frames("udp-frames", Carrier::Udp, 25, 20),
    frames("tcp-30", Carrier::Tcp, 30, 17),
    frames("tcp-300", Carrier::Tcp, 300, 17),
    hundred("cameras-udp", Carrier::Udp),
    hundred("cameras-tcp", Carrier::Tcp),
];

impl Load {
    /// In words.
    pub fn words(&self) -> String {
        let Self { cameras, rate, .. } = self;
        let (least, most) = self.packets;
        let packets = if least == most {
            least.to_string()
        } else {
            format!("{least} to {most}")
        };
        let frame = match most {
            1 => format!("packets of {} bytes", self.bytes),
            _ => format!("frames of {packets} packets of {} bytes", self.bytes),
        };
        let whose = if *cameras == 1 {
            "one camera".to_owned()
        } else {
            format!("{cameras} cameras")
        };
        format!("{whose} over {}, {rate} {frame} a second each", self.carrier)
    }

    /// Whether frames are far enough apart to send each at its time, to the microsecond.
    pub(super) fn precise(&self) -> bool {
        self.interval() > PRECISE
    }

    /// Between two frames of whatever camera, on average.
    fn interval(&self) -> Duration {
        Duration::from_secs(1) / self.rate / u32::try_from(self.cameras).unwrap_or(u32::MAX)
    }

    /// When in a frame's time each camera sends, in order; cameras keep no step with each other.
    pub(super) fn phases(&self, random: &mut Random) -> Vec<(Duration, usize)> {
        let period = Duration::from_secs(1) / self.rate;
        let nanos = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mut phases: Vec<_> = (0..self.cameras)
            .map(|camera| (Duration::from_nanos(random.uniform(0..nanos)), camera))
            .collect();
        phases.sort_unstable();
        phases
    }

    /// How many packets the next frame has.
    pub(super) fn draw(&self, random: &mut Random) -> usize {
        let (least, most) = self.packets;
        random.uniform(least as u64..most as u64 + 1) as usize
    }
}
