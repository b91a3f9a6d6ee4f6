//! What a viewer knows of a camera's key chains of TESLA, and the frames that wait for their keys (signatures.md §6).

use std::collections::VecDeque;
use std::time::Duration;

use super::statement::Statement;
use super::tesla::{Settled, TeslaReceiver, TeslaRefusal};
use super::tesla_messages::{Commitment, TeslaTag};
use crate::clock::Arrival;
use crate::wire::PeerId;

/// Maximum number of chains: the one before, the present, and the next.
const MAX_CHAINS: usize = 3;

/// Why nothing will prove a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unprovable {
    /// No commitment has come.
    NoChain,
    /// Nothing is known of the camera's clock.
    NoClock,
    /// Its key got lost with all tags that would have disclosed it or a later one of its chain.
    KeyLost,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeslaNews {
    /// It came in time, and waits for its key.
    Waits,
    /// Its key came `after` it did, and the camera made its statement.
    Proved {
        /// The statement.
        statement: Statement,
        /// From the frame to its key.
        after: Duration,
    },
    /// Its key came, and somebody else made its statement.
    Forged(Statement),
    /// It stays unproved.
    Unprovable(Unprovable),
}

/// Reason why a commitment was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitmentRefusal {
    /// It does not have the form of one, or is for another stream.
    #[error("the commitment to a key chain is malformed")]
    Malformed,
    /// The camera did not sign it.
    #[error("the commitment to a key chain is not the camera's")]
    Signature,
}

/// A viewer's half, over all chains of a camera. Each frame that is received becomes [news](Self::poll), most of them
/// twice.
pub struct TeslaViewer {
    camera: PeerId,
    stream: u16,
    /// Each follows the one before.
    chains: VecDeque<TeslaReceiver>,
    /// What one call told, which is asked for after it: of the frames that waited, at most
    /// [`MAX_WAITING`](super::MAX_WAITING) in each chain, and of its own.
    news: VecDeque<TeslaNews>,
}

impl TeslaViewer {
    /// A viewer that knows no chain.
    pub fn new(camera: PeerId, stream: u16) -> Self {
        Self {
            camera,
            stream,
            chains: VecDeque::new(),
            news: VecDeque::new(),
        }
    }

    /// Takes a commitment. One that is known, or older than those that are, changes nothing; one that does not follow
    /// the newest one replaces all: the camera began anew.
    ///
    /// # Errors
    /// [`CommitmentRefusal`].
    pub fn take(&mut self, commitment: &[u8]) -> Result<(), CommitmentRefusal> {
        let commitment = Commitment::parse(commitment).map_err(|_| CommitmentRefusal::Malformed)?;
        if commitment.plan.stream != self.stream {
            return Err(CommitmentRefusal::Malformed);
        }
        if !commitment.verifies(&self.camera) {
            return Err(CommitmentRefusal::Signature);
        }
        let plan = commitment.plan;
        let newest = self.chains.back().map(|chain| *chain.plan());
        if newest.is_some_and(|newest| plan.start <= newest.start) {
            return Ok(());
        }
        let follows = newest.is_some_and(|newest| plan.follows(&newest));
        let kept = if follows { MAX_CHAINS - 1 } else { 0 };
        self.forget(self.chains.len().saturating_sub(kept));
        self.chains.push_back(TeslaReceiver::new(&commitment));
        Ok(())
    }

    /// Takes the key that a tag discloses, whatever the frame is that it came with: a key that leads back to the
    /// commitment is the camera's. Without a commitment or the camera's clock nothing happens.
    ///
    /// # Errors
    /// [`TeslaRefusal`], except for [`Full`](TeslaRefusal::Full): the frame must not be shown.
    pub fn take_key(&mut self, arrival: Arrival, tag: &TeslaTag) -> Result<(), TeslaRefusal> {
        self.chain_with_key(arrival, tag).map(drop)
    }

    /// Takes the statement and tag of a frame, which a [`FrameVerifier`](super::FrameVerifier) found consistent, and
    /// the [key](Self::take_key) of the tag.
    ///
    /// # Errors
    /// [`TeslaRefusal`]: it must not be shown.
    pub fn receive(&mut self, arrival: Arrival, statement: &Statement, tag: &TeslaTag) -> Result<(), TeslaRefusal> {
        let news = match self.chain_with_key(arrival, tag)? {
            Ok(of) => {
                self.chains[of].wait(arrival.at, statement, tag)?;
                TeslaNews::Waits
            }
            Err(missing) => TeslaNews::Unprovable(missing),
        };
        self.news.push_back(news);
        Ok(())
    }

    /// The chain of a tag, once it has the key that this discloses, or what is missing for that.
    fn chain_with_key(&mut self, arrival: Arrival, tag: &TeslaTag) -> Result<Result<usize, Unprovable>, TeslaRefusal> {
        let latest = match (self.chains.is_empty(), arrival.peer_at_latest) {
            (true, _) => return Ok(Err(Unprovable::NoChain)),
            (false, None) => return Ok(Err(Unprovable::NoClock)),
            (false, Some(latest)) => latest,
        };
        let of = self.chain_of(latest, tag)?;
        let disclosed = self.disclose(of, tag);
        self.tell_settled(arrival.at);
        disclosed?;
        // A key of this chain is public, and so all of the ones before: their frames have missed theirs.
        let is_first = tag.interval <= u32::from(self.chains[of].plan().delay);
        let spent = if is_first { 0 } else { of };
        self.forget(spent);
        Ok(Ok(of - spent))
    }

    /// The chain of a tag: there is at most one in which its key is secret now, since chains follow each other and none
    /// is shorter than the delay.
    fn chain_of(&self, latest: u64, tag: &TeslaTag) -> Result<usize, TeslaRefusal> {
        let mut refusal = TeslaRefusal::Interval;
        for (at, chain) in self.chains.iter().enumerate() {
            match chain.timely(latest, tag) {
                Ok(()) => return Ok(at),
                Err(TeslaRefusal::Unsafe) => refusal = TeslaRefusal::Unsafe,
                Err(_) => {}
            }
        }
        Err(refusal)
    }

    /// Takes the key that a tag discloses: one of its own chain, or of the one before.
    fn disclose(&mut self, of: usize, tag: &TeslaTag) -> Result<(), TeslaRefusal> {
        let delay = u32::from(self.chains[of].plan().delay);
        if tag.interval > delay {
            return self.chains[of].disclose(tag.interval - delay, &tag.disclosed);
        }
        let before = of.checked_sub(1).and_then(|before| self.chains.get_mut(before));
        before.map_or(Ok(()), |before| {
            let interval = before.plan().intervals + tag.interval - delay;
            before.disclose(interval, &tag.disclosed)
        })
    }

    fn tell_settled(&mut self, now: Duration) {
        for chain in &mut self.chains {
            while let Some((settled, since)) = chain.poll_timed() {
                self.news.push_back(match settled {
                    Settled::Authentic(statement) => TeslaNews::Proved {
                        statement,
                        after: now.saturating_sub(since),
                    },
                    Settled::WrongMac(statement) => TeslaNews::Forged(statement),
                });
            }
        }
    }

    /// Forgets the oldest chains, and the frames that wait for their keys.
    fn forget(&mut self, count: usize) {
        for chain in self.chains.drain(..count) {
            let lost = std::iter::repeat_n(TeslaNews::Unprovable(Unprovable::KeyLost), chain.waits());
            self.news.extend(lost);
        }
    }

    /// Number of frames that wait for their keys.
    pub fn waiting(&self) -> usize {
        self.chains.iter().map(TeslaReceiver::waits).sum()
    }

    /// What became of frames since the last call. To be asked after each call of the others.
    pub fn poll(&mut self) -> Option<TeslaNews> {
        self.news.pop_front()
    }
}
