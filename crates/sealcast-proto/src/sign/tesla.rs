//! TESLA (RFC 4082), a study mode: MACs under keys that are disclosed later (signatures.md §6).

use std::collections::VecDeque;
use std::time::Duration;

use aws_lc_rs::hmac;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::merkle::Hash;
use super::statement::Statement;
use super::tesla_messages::{Commitment, TeslaPlan, TeslaTag};
use crate::clock::ClockReading;
use crate::keys::Identity;

/// Maximum number of frames that wait for their key or to be polled.
pub const MAX_WAITING: usize = 256;

fn hmac_sha256(key: &Hash, content: &[u8]) -> Hash {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), content);
    tag.as_ref().try_into().expect("HMAC-SHA-256 gives 32 bytes")
}

/// The key of the interval before.
fn earlier(key: &Hash) -> Hash {
    hmac_sha256(key, b"sealcast2 tesla chain")
}

fn mac(key: &Hash, statement: &Statement) -> [u8; 16] {
    let mac_key = Zeroizing::new(hmac_sha256(key, b"sealcast2 tesla mac"));
    let [mac @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = hmac_sha256(&mac_key, &statement.signed());
    mac
}

/// It is before the first interval of the chain, or after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key chain has no key for this time")]
pub struct TeslaEnded;

/// The camera's key chain.
pub struct TeslaSender {
    plan: TeslaPlan,
    /// All keys, from that of the commitment on. Wiped when dropped.
    keys: Zeroizing<Vec<Hash>>,
}

impl TeslaSender {
    /// A chain that ends with 32 random bytes; `None` if the plan is not [valid](TeslaPlan::is_valid). It computes and
    /// keeps all keys, up to 2 MiB.
    pub fn new(plan: TeslaPlan, mut random: [u8; 32]) -> Option<Self> {
        let last = Zeroizing::new(random);
        random.zeroize();
        if !plan.is_valid() {
            return None;
        }
        let mut keys = Zeroizing::new(vec![[0; 32]; plan.intervals as usize + 1]);
        keys[plan.intervals as usize] = *last;
        for interval in (0..plan.intervals as usize).rev() {
            keys[interval] = earlier(&keys[interval + 1]);
        }
        Some(Self { plan, keys })
    }

    /// The commitment, which every viewer needs before its first frame.
    pub fn commitment(&self, identity: &Identity) -> Commitment {
        Commitment::issue(identity, self.plan, self.keys[0])
    }

    /// The tag of a frame that is sent at `wall`, nanoseconds on the camera's wall clock. The clock must not go back.
    ///
    /// # Errors
    /// [`TeslaEnded`].
    pub fn tag(&self, wall: u64, statement: &Statement) -> Result<TeslaTag, TeslaEnded> {
        self.tag_after(None, wall, statement)
    }

    /// Like [`tag`](Self::tag), for a chain that follows another one: before it has a key to disclose, it discloses the
    /// last ones of that.
    pub(super) fn tag_after(
        &self,
        before: Option<&Self>,
        wall: u64,
        statement: &Statement,
    ) -> Result<TeslaTag, TeslaEnded> {
        let interval = usize::try_from(self.plan.interval_at(wall)).map_err(|_| TeslaEnded)?;
        let key = self.keys.get(interval).filter(|_| interval > 0).ok_or(TeslaEnded)?;
        let delay = usize::from(self.plan.delay);
        let disclosed = match before {
            Some(before) if interval <= delay => {
                let last = before.plan.intervals as usize;
                before.keys[(last + interval).saturating_sub(delay).min(last)]
            }
            _ => self.keys[interval.saturating_sub(delay)],
        };
        Ok(TeslaTag {
            interval: interval as u32,
            disclosed,
            mac: mac(key, statement),
        })
    }

    pub(super) fn plan(&self) -> &TeslaPlan {
        &self.plan
    }
}

/// Reason why a frame is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TeslaRefusal {
    /// Its interval is not one of the chain, or the camera cannot have reached it.
    #[error("interval")]
    Interval,
    /// It arrived when its key may have been disclosed: anybody may have made it.
    #[error("unsafe")]
    Unsafe,
    /// The key that it discloses does not lead back to the commitment.
    #[error("chain")]
    Chain,
    /// Too many frames wait.
    #[error("full")]
    Full,
}

/// What became of a frame that had to wait for its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The camera made this statement.
    Authentic(Statement),
    /// The MAC does not fit: somebody else made it.
    WrongMac(Statement),
}

struct Waiting {
    interval: u32,
    statement: Statement,
    mac: [u8; 16],
    /// When it came.
    since: Duration,
}

/// A viewer's half. Statements, which a [`FrameVerifier`](super::FrameVerifier::claim) found consistent, go in with
/// [`receive`](Self::receive), and come out of [`poll`](Self::poll) when their key is known.
pub struct TeslaReceiver {
    plan: TeslaPlan,
    /// The newest key known, and its interval.
    newest: (u32, Hash),
    waiting: Vec<Waiting>,
    /// Each with the time at which it came.
    settled: VecDeque<(Settled, Duration)>,
}

impl TeslaReceiver {
    /// A receiver for the chain of this commitment, which the caller has [verified](Commitment::verifies).
    pub fn new(commitment: &Commitment) -> Self {
        Self {
            plan: commitment.plan,
            newest: (0, commitment.key),
            waiting: Vec::new(),
            settled: VecDeque::new(),
        }
    }

    /// Takes a frame's statement and tag. `arrived` is this end's wall clock when the last byte came, and `clock` what
    /// is known of the camera's at that time: it showed at most their sum and the uncertainty (nanoseconds).
    ///
    /// # Errors
    /// [`TeslaRefusal`]. The frame is forgotten; a key that was refused changes nothing.
    pub fn receive(
        &mut self,
        arrived: u64,
        clock: &ClockReading,
        statement: &Statement,
        tag: &TeslaTag,
    ) -> Result<(), TeslaRefusal> {
        self.timely(clock.peer_at_latest(arrived), tag)?;
        self.disclose(tag.interval.saturating_sub(self.plan.delay.into()), &tag.disclosed)?;
        self.wait(Duration::ZERO, statement, tag)
    }

    /// Refuses a tag of an interval that the camera cannot have reached, or of which the key may be public. `latest` is
    /// the latest time that the camera's wall clock can show.
    pub(super) fn timely(&self, latest: u64, tag: &TeslaTag) -> Result<(), TeslaRefusal> {
        let reached = self.plan.interval_at(latest);
        let interval = u64::from(tag.interval);
        if !(1..=u64::from(self.plan.intervals).min(reached)).contains(&interval) {
            return Err(TeslaRefusal::Interval);
        }
        if reached >= interval + u64::from(self.plan.delay) {
            return Err(TeslaRefusal::Unsafe);
        }
        Ok(())
    }

    /// Keeps a statement, which came at `since`, until the key of its tag is known.
    pub(super) fn wait(&mut self, since: Duration, statement: &Statement, tag: &TeslaTag) -> Result<(), TeslaRefusal> {
        if self.waiting.len() + self.settled.len() >= MAX_WAITING {
            return Err(TeslaRefusal::Full);
        }
        self.waiting.push(Waiting {
            interval: tag.interval,
            statement: *statement,
            mac: tag.mac,
            since,
        });
        Ok(())
    }

    /// Returns the next statement of which the key is known by now.
    pub fn poll(&mut self) -> Option<Settled> {
        self.poll_timed().map(|(settled, _)| settled)
    }

    /// Like [`poll`](Self::poll), with the time at which it came.
    pub(super) fn poll_timed(&mut self) -> Option<(Settled, Duration)> {
        self.settled.pop_front()
    }

    pub(super) fn plan(&self) -> &TeslaPlan {
        &self.plan
    }

    /// Number of statements whose key is not known.
    pub(super) fn waits(&self) -> usize {
        self.waiting.len()
    }

    /// Takes a key. One that is older than the newest is not looked at: it says nothing new.
    pub(super) fn disclose(&mut self, interval: u32, key: &Hash) -> Result<(), TeslaRefusal> {
        let (known, newest) = self.newest;
        if interval < known {
            return Ok(());
        }
        let mut at = *key;
        for _ in known..interval {
            at = earlier(&at);
        }
        if at != newest {
            return Err(TeslaRefusal::Chain);
        }
        self.newest = (interval, *key);
        self.settle();
        Ok(())
    }

    /// Settles the frames of which the key is known. The newest intervals come first on the way back along the chain,
    /// and the frames come out in the order in which they arrived.
    fn settle(&mut self) {
        let (newest, newest_key) = self.newest;
        let known: Vec<Waiting> = self
            .waiting
            .extract_if(.., |waiting| waiting.interval <= newest)
            .collect();
        let mut order: Vec<usize> = (0..known.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(known[index].interval));
        let (mut at, mut key) = (newest, newest_key);
        let mut fits = vec![false; known.len()];
        for index in order {
            let waiting = &known[index];
            while at > waiting.interval {
                (at, key) = (at - 1, earlier(&key));
            }
            fits[index] = bool::from(mac(&key, &waiting.statement).ct_eq(&waiting.mac));
        }
        let settled = known.iter().zip(fits).map(|(waiting, fits)| match fits {
            true => (Settled::Authentic(waiting.statement), waiting.since),
            false => (Settled::WrongMac(waiting.statement), waiting.since),
        });
        self.settled.extend(settled);
    }
}
