//! Objects of a camera for one relay: its group's frames, key sheets and proofs.

use std::io;
use std::sync::Arc;

use sealcast_proto::group_media::SealedFrame;
use tokio::sync::{mpsc, watch};

use super::client::{ClientRole, RelayClient};
use super::message::{LinkState, RelayEvent, Track};
use super::sessions::{RelayedSessions, Said};
use super::url::RelayUrl;
use crate::failure::Result;
use crate::meter::labels::{PeerQueue, TurnedAway};
use crate::run::group::Group;
use crate::run::media::queue::FrameQueue;
use crate::run::publish::camera::Camera;
use crate::run::session::retry::Retry;
use crate::transport::RelayedStream;

/// Objects and bytes of a group of pictures after which the next one is asked for. A relay client takes 8192 objects
/// and 32 MiB, and leaves out the rest.
const LONG_OBJECTS: usize = 6000;
const LONG_BYTES: usize = 24 << 20;

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

/// Destination of sessions that viewers open through a relay.
pub(in crate::run) type Arrivals = mpsc::Sender<RelayedStream>;

/// A relay client that is being fed.
struct Feeding {
    client: RelayClient,
    sessions: RelayedSessions,
    given: Given,
}

/// Objects that the present client was given.
#[derive(Default)]
struct Given {
    /// The group of key objects, and how many of it.
    keys: Option<(u64, usize)>,
    /// The number of the last proof.
    proof: u64,
    /// The group of pictures that was begun last.
    pictures: Option<Pictures>,
    /// A group of sound was begun.
    sound: bool,
}

/// Part of a group of pictures that a relay was given.
#[derive(Default)]
struct Pictures {
    objects: usize,
    bytes: usize,
    /// It is long, and the next one was asked for.
    long: bool,
}

impl Pictures {
    /// Counts a frame. Returns true if the next group of pictures should begin, once.
    fn count(&mut self, length: usize) -> bool {
        self.objects += 1;
        self.bytes += length;
        let long = self.objects >= LONG_OBJECTS || self.bytes >= LONG_BYTES;
        long && !std::mem::replace(&mut self.long, long)
    }
}

/// Gives a relay everything until the stream is over, with a relay client that is started again when it ends. Sessions
/// that viewers open through it are `arrivals`.
///
/// # Errors
/// The relay client cannot be started at all.
pub(in crate::run) async fn feed(
    mut outlet: Outlet,
    shared: Arc<Camera>,
    group: Arc<Group>,
    arrivals: Arrivals,
) -> Result<()> {
    let mut retry = Retry::default();
    shared.observation.metrics.holds(PeerQueue::Media, &outlet.frames);
    loop {
        let mut feeding = Feeding {
            client: RelayClient::start(&outlet.relay, ClientRole::Publish).await?,
            sessions: RelayedSessions::new(),
            given: Given::default(),
        };
        match outlet.feed(&mut feeding, &shared, &group, &arrivals, &mut retry).await {
            Ok(()) => {
                // Nothing follows: the relay client tells the relay.
                feeding.client.finish().await;
                return Ok(());
            }
            Err(error) => {
                tracing::warn!(relay = %outlet.relay, "the relay client is started again: {error}");
                retry.wait().await;
            }
        }
    }
}

impl Outlet {
    /// Feeds a relay client until there is nothing more.
    async fn feed(
        &mut self,
        feeding: &mut Feeding,
        shared: &Camera,
        group: &Group,
        arrivals: &Arrivals,
        retry: &mut Retry,
    ) -> io::Result<()> {
        let Feeding {
            client,
            sessions,
            given,
        } = feeding;
        shared.hub.request_keyframe();
        loop {
            given.keys(client, group).await?;
            while let Some(frame) = self.frames.pop() {
                if given.frame(client, &frame).await? {
                    shared.hub.request_keyframe();
                }
                given.keys(client, group).await?;
            }
            if self.frames.finished() {
                return Ok(());
            }
            tokio::select! {
                () = self.frames.changed() => {}
                changed = self.added.changed() => changed.map_err(|_| io::Error::other("the group is gone"))?,
                event = client.event() => match event {
                    Some(RelayEvent::State(state, words)) => self.note(state, &words, retry),
                    Some(RelayEvent::SessionOpened(session)) => {
                        if let Err(words) = self.arrives(sessions, session, arrivals) {
                            let metrics = &shared.observation.metrics;
                            metrics.turned_away(TurnedAway::Crowded, &self.relay, &words);
                            client.session(&Said::Closes(session)).await?;
                        }
                    }
                    Some(RelayEvent::SessionData(session, bytes)) => sessions.came(session, bytes),
                    Some(RelayEvent::SessionClosed(session, _)) => sessions.end(session),
                    Some(RelayEvent::Object(..) | RelayEvent::Group(_)) => {}
                    None => return Err(io::Error::other("it has ended")),
                },
                said = sessions.said() => client.session(&said).await?,
            }
        }
    }

    /// A viewer opened a session. An error says why there is no room for it.
    fn arrives(&self, sessions: &mut RelayedSessions, session: u32, arrivals: &Arrivals) -> Result<(), &'static str> {
        let place = arrivals.try_reserve();
        let place = place.map_err(|_| "turned a session away: too many wait to be accepted")?;
        let stream = sessions.begin(session);
        let stream = stream.ok_or("turned a session away: too many come through this relay")?;
        let relay = self.relay.to_string().into();
        place.send(RelayedStream { stream, relay });
        Ok(())
    }

    fn note(&self, state: LinkState, words: &str, retry: &mut Retry) {
        match state {
            LinkState::Connected => {
                *retry = Retry::default();
                tracing::info!(relay = %self.relay, "the relay takes the stream {words}");
            }
            LinkState::Disconnected => {
                let relay = &self.relay;
                retry.failed(&format_args!(
                    "no connection to the relay {relay}, it is tried again: {words}"
                ));
            }
            LinkState::Online | LinkState::Offline => {}
        }
    }
}

impl Given {
    /// Gives a frame. Returns true if a keyframe should be asked for.
    async fn frame(&mut self, client: &mut RelayClient, frame: &SealedFrame) -> io::Result<bool> {
        if frame.sound {
            self.sound(client, frame).await?;
            return Ok(false);
        }
        if frame.keyframe {
            client.begin_group(Track::Video, frame.group).await?;
            self.pictures = Some(Pictures::default());
        }
        let Some(pictures) = &mut self.pictures else {
            // An earlier client was given its beginning.
            return Ok(false);
        };
        client.object(Track::Video, &frame.bytes).await?;
        Ok(pictures.count(frame.bytes.len()))
    }

    /// Gives a packet of sound.
    async fn sound(&mut self, client: &mut RelayClient, packet: &SealedFrame) -> io::Result<()> {
        if packet.keyframe {
            client.begin_group(Track::Sound, packet.group).await?;
            self.sound = true;
        }
        if self.sound {
            client.object(Track::Sound, &packet.bytes).await?;
        }
        Ok(())
    }

    /// Gives the keys and proofs that were added.
    async fn keys(&mut self, client: &mut RelayClient, group: &Group) -> io::Result<()> {
        let (number, from) = self.keys.unwrap_or_default();
        let added = group.relayed(number, from, self.proof);
        if let Some(keys) = added.keys {
            if keys.first == 0 {
                client.begin_group(Track::Keys, keys.number).await?;
            }
            for object in &keys.objects {
                client.object(Track::Keys, object).await?;
            }
            self.keys = Some((keys.number, keys.first + keys.objects.len()));
        }
        for (number, proof) in added.proofs {
            client.begin_group(Track::Proofs, number).await?;
            client.object(Track::Proofs, &proof).await?;
            self.proof = number;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_group_of_pictures_is_asked_for_once_before_a_relay_leaves_out_the_rest() {
        let mut many = Pictures::default();
        let asked: Vec<usize> = (1..=8192).filter(|_| many.count(100)).collect();
        assert_eq!(asked, [LONG_OBJECTS]);
        let mut large = Pictures::default();
        let asked: Vec<usize> = (1..=32).filter(|_| large.count(1 << 20)).collect();
        assert_eq!(asked, [24]);
    }
}
