//! Commitment and tag of TESLA, as they are sent (signatures.md §6).

use super::merkle::Hash;
use crate::keys::Identity;
use crate::wire::{MAX_STREAM, Malformed, PeerId, Reader};

const VERSION: u8 = 1;

/// Maximum number of intervals of a key chain, and so of the hashes that a receiver computes for one tag.
pub const MAX_INTERVALS: u32 = 65_536;

/// Shortest and longest interval in nanoseconds: 1 ms and 10 s.
const LENGTHS: std::ops::RangeInclusive<u64> = 1_000_000..=10_000_000_000;

/// Length of a commitment in bytes.
pub const COMMITMENT_LEN: usize = 120;

/// Length of a tag in bytes.
pub const TAG_LEN: usize = 52;

const LABEL: &[u8] = b"sealcast2 tesla\0";

/// Times of a key chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeslaPlan {
    /// Stream, 1 to 15.
    pub stream: u16,
    /// Number of intervals after which a key is disclosed, at least 1. It must cover the path's delay and the error of
    /// the viewers' clocks.
    pub delay: u8,
    /// Number of intervals, 1 to [`MAX_INTERVALS`].
    pub intervals: u32,
    /// Begin of interval 1 on the camera's wall clock, nanoseconds since 1970.
    pub start: u64,
    /// Length of an interval in nanoseconds, 1 ms to 10 s.
    pub length: u64,
}

impl TeslaPlan {
    /// True if all fields are within their bounds.
    pub fn is_valid(&self) -> bool {
        (1..=MAX_STREAM).contains(&u32::from(self.stream))
            && self.delay > 0
            && (1..=MAX_INTERVALS).contains(&self.intervals)
            && LENGTHS.contains(&self.length)
    }

    /// The end of the last interval on the camera's wall clock.
    pub(super) fn end(&self) -> u64 {
        self.start
            .saturating_add(self.length.saturating_mul(self.intervals.into()))
    }

    /// True if a chain with this plan goes on where one with the plan `before` ends, so that its first tags can
    /// disclose the last keys of that.
    pub(super) fn follows(&self, before: &Self) -> bool {
        let alike = |plan: &Self| (plan.stream, plan.delay, plan.length);
        self.start == before.end() && alike(self) == alike(before) && before.intervals >= u32::from(before.delay)
    }

    /// The interval at a time of the camera's wall clock; 0 before the first. It may be above `intervals`.
    pub(super) fn interval_at(&self, wall: u64) -> u64 {
        wall.checked_sub(self.start).map_or(0, |since| since / self.length + 1)
    }
}

/// The first key of a chain, which all others lead back to, signed by the camera. Not verified yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commitment {
    pub(super) plan: TeslaPlan,
    pub(super) key: Hash,
    signature: [u8; 64],
}

impl Commitment {
    pub(super) fn issue(identity: &Identity, plan: TeslaPlan, key: Hash) -> Self {
        let mut commitment = Self {
            plan,
            key,
            signature: [0; 64],
        };
        commitment.signature = identity.sign(&commitment.signed());
        commitment
    }

    fn head(&self) -> Vec<u8> {
        let plan = &self.plan;
        let mut out = Vec::with_capacity(COMMITMENT_LEN);
        out.extend_from_slice(&[VERSION, plan.delay]);
        out.extend_from_slice(&plan.stream.to_be_bytes());
        out.extend_from_slice(&plan.intervals.to_be_bytes());
        out.extend_from_slice(&plan.start.to_be_bytes());
        out.extend_from_slice(&plan.length.to_be_bytes());
        out.extend_from_slice(&self.key);
        out
    }

    fn signed(&self) -> Vec<u8> {
        [LABEL, &self.head()].concat()
    }

    /// The commitment's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.head()[..], &self.signature].concat()
    }

    /// Parses a commitment.
    ///
    /// # Errors
    /// [`Malformed`]: another version or length, or a plan out of its bounds.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let [version, delay] = reader.array()?;
        let commitment = Self {
            plan: TeslaPlan {
                delay,
                stream: reader.u16()?,
                intervals: reader.u32()?,
                start: reader.u64()?,
                length: reader.u64()?,
            },
            key: reader.array()?,
            signature: reader.array()?,
        };
        reader.finish()?;
        if version == VERSION && commitment.plan.is_valid() {
            Ok(commitment)
        } else {
            Err(Malformed)
        }
    }

    /// Returns true if the camera signed it.
    pub fn verifies(&self, camera: &PeerId) -> bool {
        camera.verifies(&self.signed(), &self.signature)
    }
}

/// What travels with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeslaTag {
    /// Interval in which the frame was sent; its key is still secret.
    pub interval: u32,
    /// Key of the interval `delay` before.
    pub disclosed: Hash,
    /// MAC of the frame's statement under the interval's key.
    pub mac: [u8; 16],
}

impl TeslaTag {
    /// The tag's bytes.
    pub fn to_bytes(&self) -> [u8; TAG_LEN] {
        let mut bytes = [0; TAG_LEN];
        bytes[..4].copy_from_slice(&self.interval.to_be_bytes());
        bytes[4..36].copy_from_slice(&self.disclosed);
        bytes[36..].copy_from_slice(&self.mac);
        bytes
    }

    /// Parses a tag.
    ///
    /// # Errors
    /// [`Malformed`]: another length.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let tag = Self {
            interval: reader.u32()?,
            disclosed: reader.array()?,
            mac: reader.array()?,
        };
        reader.finish()?;
        Ok(tag)
    }
}
