//! What a camera gives one relay: its group's frames, key sheets and proofs.

use std::io;
use std::sync::Arc;

use sealcast_proto::group_media::SealedFrame;
use tokio::sync::watch;

use super::carrier::{Carrier, CarrierRole};
use super::message::{CarrierEvent, LinkState, Track};
use super::url::RelayUrl;
use crate::failure::Result;
use crate::run::group::Group;
use crate::run::publisher_state::PublisherState;
use crate::run::{FrameQueue, Retry};

/// A relay's place at the group.
pub(in crate::run) struct RelaySeat {
    pub(in crate::run) frames: Arc<FrameQueue<Arc<SealedFrame>>>,
}

/// The end of the group that feeds one relay.
pub(in crate::run) struct Outlet {
    pub(in crate::run) relay: RelayUrl,
    pub(in crate::run) frames: Arc<FrameQueue<Arc<SealedFrame>>>,
    /// Turns when keys or proofs were added.
    pub(in crate::run) added: watch::Receiver<u64>,
}

/// What the present carrier was given.
#[derive(Default)]
struct Given {
    /// The group of key objects, and how many of it.
    keys: Option<(u64, usize)>,
    /// The number of the last proof.
    proof: u64,
    /// A group of pictures has begun.
    begun: bool,
}

/// Gives a relay everything until the stream is over, with a carrier that is started again when it ends.
///
/// # Errors
/// The carrier cannot be started at all.
pub(in crate::run) async fn carry(mut outlet: Outlet, shared: Arc<PublisherState>, group: Arc<Group>) -> Result<()> {
    let mut retry = Retry::default();
    loop {
        let mut carrier = Carrier::start(&outlet.relay, CarrierRole::Publish).await?;
        match outlet.feed(&mut carrier, &shared, &group, &mut retry).await {
            Ok(()) => {
                // Nothing follows: the carrier tells the relay.
                carrier.finish().await;
                return Ok(());
            }
            Err(error) => {
                tracing::warn!(relay = %outlet.relay, "the carrier is started again: {error}");
                retry.wait().await;
            }
        }
    }
}

impl Outlet {
    /// Feeds a carrier until there is nothing more.
    async fn feed(
        &mut self,
        carrier: &mut Carrier,
        shared: &PublisherState,
        group: &Group,
        retry: &mut Retry,
    ) -> io::Result<()> {
        let mut given = Given::default();
        shared.hub.request_keyframe();
        loop {
            given.keys(carrier, group).await?;
            while let Some(frame) = self.frames.pop() {
                given.frame(carrier, &frame).await?;
                given.keys(carrier, group).await?;
            }
            if self.frames.finished() {
                return Ok(());
            }
            tokio::select! {
                () = self.frames.changed() => {}
                changed = self.added.changed() => changed.map_err(|_| io::Error::other("the group is gone"))?,
                event = carrier.event() => match event {
                    Some(CarrierEvent::State(state, words)) => self.note(state, &words, retry),
                    Some(_) => {}
                    None => return Err(io::Error::other("it has ended")),
                },
            }
        }
    }

    fn note(&self, state: LinkState, words: &str, retry: &mut Retry) {
        match state {
            LinkState::Connected => {
                *retry = Retry::default();
                tracing::info!(relay = %self.relay, "the relay takes the stream {words}");
            }
            LinkState::Disconnected => {
                tracing::warn!(relay = %self.relay, "no connection to the relay, it is tried again: {words}");
            }
            LinkState::Online | LinkState::Offline => {}
        }
    }
}

impl Given {
    async fn frame(&mut self, carrier: &mut Carrier, frame: &SealedFrame) -> io::Result<()> {
        if frame.keyframe {
            carrier.begin_group(Track::Video, frame.group).await?;
            self.begun = true;
        }
        match self.begun {
            true => carrier.object(Track::Video, &frame.bytes).await,
            // An earlier carrier was given its beginning.
            false => Ok(()),
        }
    }

    /// Gives the keys and proofs that were added.
    async fn keys(&mut self, carrier: &mut Carrier, group: &Group) -> io::Result<()> {
        let (number, from) = self.keys.unwrap_or_default();
        let added = group.relayed(number, from, self.proof);
        if let Some(keys) = added.keys {
            if keys.first == 0 {
                carrier.begin_group(Track::Keys, keys.number).await?;
            }
            for object in &keys.objects {
                carrier.object(Track::Keys, object).await?;
            }
            self.keys = Some((keys.number, keys.first + keys.objects.len()));
        }
        for (number, proof) in added.proofs {
            carrier.begin_group(Track::Proofs, number).await?;
            carrier.object(Track::Proofs, &proof).await?;
            self.proof = number;
        }
        Ok(())
    }
}
