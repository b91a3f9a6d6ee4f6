//! The load: the frames that cameras send.

use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::Random;
use serde::Deserialize;

use crate::experiments::throughput::Carrier;
use crate::harness::Entry;

/// Allowed packet sizes in bytes, RTP header and stamp included.
const BYTES: std::ops::RangeInclusive<usize> = 64..=1400;

/// If frames are further apart than this, the sender spins until each is due; otherwise it only sleeps.
const PRECISE: Duration = Duration::from_millis(1);

/// The load of a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Load {
    /// The name of the case.
    #[serde(skip)]
    pub name: String,
    /// The transport on all hops.
    pub carrier: Carrier,
    /// Number of cameras.
    pub cameras: usize,
    /// Frames a second of each camera.
    pub rate: u32,
    /// Least and greatest number of packets in a frame; uniformly distributed.
    pub packets: (usize, usize),
    /// Bytes of each packet, the RTP header included.
    pub bytes: usize,
}

impl Load {
    /// Reads the load of a case.
    ///
    /// # Errors
    /// A field is missing or wrong.
    pub(super) fn read(case: &Entry) -> Result<Self> {
        let load: Self = case.read()?;
        let (least, most) = load.packets;
        let packets = BYTES.contains(&load.bytes) && 1 <= least && least <= most;
        if !(packets && load.cameras > 0 && load.rate > 0) {
            return Err(Failure::new(
                FailureKind::Usage,
                format!("`{}` is no load", case.name),
                format!(
                    "it needs a camera, a frame a second, and packets of {} to {} bytes at least",
                    BYTES.start(),
                    BYTES.end()
                ),
            ));
        }
        Ok(Self {
            name: case.name.clone(),
            ..load
        })
    }

    /// True if frames are far enough apart to send each at its time, to the microsecond.
    pub(super) fn precise(&self) -> bool {
        self.interval() > PRECISE
    }

    /// Average time between two frames, over all cameras.
    fn interval(&self) -> Duration {
        Duration::from_secs(1) / self.rate / u32::try_from(self.cameras).unwrap_or(u32::MAX)
    }

    /// The camera and its offset in the frame period, in order of time. The offsets are random: cameras are not
    /// synchronised.
    pub(super) fn phases(&self, random: &mut Random) -> Vec<(Duration, usize)> {
        let period = Duration::from_secs(1) / self.rate;
        let nanos = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mut phases: Vec<_> = (0..self.cameras)
            .map(|camera| (Duration::from_nanos(random.uniform(0..nanos)), camera))
            .collect();
        phases.sort_unstable();
        phases
    }

    /// Draws the number of packets of the next frame.
    pub(super) fn draw(&self, random: &mut Random) -> usize {
        let (least, most) = self.packets;
        random.uniform(least as u64..most as u64 + 1) as usize
    }
}
