//! A viewer that hears its camera through relays.

use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::group::{GroupName, MemberConfig, MemberKey, SheetRefusal};
use sealcast_proto::group_media::{GroupRefusal, KeyNews, RelayRefusal, RelayedConfig, RelayedViewer};
use sealcast_proto::keys::{PeerId, PresharedKey};
use sealcast_proto::seal::Refusal;
use sealcast_proto::sign::{GopOutcome, GopVerdict, SignMode};
use tokio::sync::watch;

use super::client::{ClientRole, RelayClient};
use super::message::{LinkState, RelayEvent, Track};
use super::url::RelayUrl;
use crate::failure::{Failure, FailureKind, Result};
use crate::run::connection::Listener as _;
use crate::run::group::GROUP_STREAM;
use crate::run::received::Receiver;
use crate::run::record_counts::open_failure;
use crate::run::retry::turned_on;
use crate::run::watch::{After, ViewerState};
use crate::run::{Observation, Retry};

/// Time without a new frame after which a viewer with several relays takes the next one.
const SILENCE: Duration = Duration::from_secs(2);

/// What a viewer knows of its camera.
pub(in crate::run) struct RelayedCamera {
    pub(in crate::run) camera: PeerId,
    /// What the enrolled viewer and the camera keep.
    pub(in crate::run) secret: PresharedKey,
    pub(in crate::run) relays: Vec<RelayUrl>,
    /// What must be signed.
    pub(in crate::run) least: SignMode,
}

/// Why a relay is left.
enum Left {
    /// The user stopped the viewer.
    Stopped,
    /// There is no way to the relay, or its client has ended.
    Broken,
    /// It has had nothing new for a while.
    Silent,
    /// The camera's broadcast is gone from it.
    Offline,
}

/// The state of a viewer over all its relays.
struct Inlet {
    relayed: RelayedViewer,
    receiver: Receiver,
    observation: Arc<Observation>,
    keyed: bool,
    /// Since when the camera's keys are not for this viewer.
    no_slot: Option<tokio::time::Instant>,
    /// The present client has a connection.
    connected: bool,
    /// The next frame begins a group of pictures.
    begins: bool,
    refused: u64,
    refused_keys: u64,
}

/// Watches through one relay after the other until the user stops, or the stream is over and `reconnect` is off.
pub(in crate::run) async fn watch_relays(
    state: &Arc<ViewerState>,
    camera: &RelayedCamera,
    reconnect: bool,
    mut stop: watch::Receiver<bool>,
) -> Result<After> {
    let mut inlet = Inlet::new(state, camera);
    let mut retry = Retry::default();
    for relay in camera.relays.iter().cycle() {
        let mut client = RelayClient::start(relay, ClientRole::Watch).await?;
        tracing::info!(%relay, camera = %camera.camera.short(), "watching through a relay");
        let frames = inlet.frames();
        let alone = camera.relays.len() == 1;
        let left = tokio::select! {
            left = inlet.hear(&mut client, relay, alone) => left,
            _ = turned_on(&mut stop) => Left::Stopped,
        };
        let why = match left {
            Left::Stopped => return Ok(After::Done),
            Left::Broken => "there is no way to it",
            Left::Silent => "nothing new comes from it",
            Left::Offline => "the camera is not there",
        };
        if !reconnect {
            let what = format!("{relay}: {why}");
            let failure = Failure::new(
                FailureKind::Network,
                what,
                "the camera may have stopped or be restarting",
            );
            return Ok(After::Broken(failure));
        }
        tracing::warn!(%relay, "left: {why}");
        match inlet.frames() > frames {
            // The next one is tried at once.
            true => retry = Retry::default(),
            false => tokio::select! {
                () = retry.wait() => {}
                _ = turned_on(&mut stop) => return Ok(After::Done),
            },
        }
    }
    let hint = "name a relay";
    Err(Failure::new(
        FailureKind::Usage,
        "there is no relay to watch through",
        hint,
    ))
}

impl Inlet {
    fn new(state: &ViewerState, camera: &RelayedCamera) -> Self {
        let group = GroupName {
            camera: camera.camera,
            stream: GROUP_STREAM.into(),
        };
        let config = RelayedConfig {
            key: MemberKey::derive(camera.secret.reveal(), &group),
            member: MemberConfig {
                group,
                suites: state.offer.suites.clone(),
            },
            least: camera.least,
        };
        Self {
            relayed: RelayedViewer::new(config),
            receiver: state.receiver(true),
            observation: Arc::clone(&state.observation),
            keyed: false,
            no_slot: None,
            connected: false,
            begins: true,
            refused: 0,
            refused_keys: 0,
        }
    }

    /// The frames that were released so far.
    fn frames(&self) -> u64 {
        self.receiver.frames()
    }

    /// Hears one relay until it is of no use any more. One that is `alone` is not left for its silence.
    async fn hear(&mut self, client: &mut RelayClient, relay: &RelayUrl, alone: bool) -> Left {
        self.connected = false;
        let (mut frames, mut since) = (self.frames(), tokio::time::Instant::now());
        loop {
            let due = self.due();
            let event = tokio::select! {
                event = client.event() => match event {
                    Some(event) => Some(event),
                    None => return Left::Broken,
                },
                () = due => None,
                () = tokio::time::sleep_until(since + SILENCE), if !alone => None,
            };
            if let Some(left) = event.and_then(|event| self.heard(event, relay, alone)) {
                return left;
            }
            self.open();
            self.note_no_slot();
            if self.frames() > frames {
                (frames, since) = (self.frames(), tokio::time::Instant::now());
            } else if !alone && since.elapsed() >= SILENCE {
                return Left::Silent;
            }
        }
    }

    /// Waits until a frame has waited for its key for too long. Cancel-safe.
    fn due(&self) -> impl Future<Output = ()> + use<> {
        let deadline = self.relayed.deadline();
        let instant = deadline.and_then(|deadline| self.observation.clock.instant(deadline));
        async move {
            match instant {
                Some(instant) => tokio::time::sleep_until(instant.into()).await,
                None => std::future::pending().await,
            }
        }
    }

    fn heard(&mut self, event: RelayEvent, relay: &RelayUrl, alone: bool) -> Option<Left> {
        match event {
            RelayEvent::State(LinkState::Connected, _) => {
                self.connected = true;
                tracing::info!(%relay, "connected to the relay");
            }
            RelayEvent::State(LinkState::Online, _) => tracing::info!(%relay, "the relay has the camera"),
            RelayEvent::State(LinkState::Disconnected, words) => {
                tracing::warn!(%relay, "no connection to the relay: {words}");
                // A relay client that connects again would leave out what was added to the keys in the meantime.
                let connected = std::mem::take(&mut self.connected);
                return (connected || !alone).then_some(Left::Broken);
            }
            RelayEvent::State(LinkState::Offline, _) => return Some(Left::Offline),
            RelayEvent::Object(Track::Video, frame) => {
                let now = self.observation.clock.now().monotonic;
                let begins = std::mem::take(&mut self.begins);
                self.relayed.frame_object(now, begins, frame);
            }
            RelayEvent::Object(Track::Keys, object) => self.key(&object),
            RelayEvent::Object(Track::Proofs, object) => self.proof(&object),
            RelayEvent::Group(Track::Video) => self.begins = true,
            RelayEvent::Group(_) => {}
        }
        None
    }

    fn key(&mut self, object: &[u8]) {
        match self.relayed.key_object(object) {
            Ok(KeyNews::Signs(sign)) => tracing::info!(%sign, "what the camera signs"),
            Ok(KeyNews::Sheet(taken)) => {
                self.observation.metrics.set_epoch(taken.epoch);
                self.no_slot = None;
                if !std::mem::replace(&mut self.keyed, true) {
                    tracing::info!(epoch = taken.epoch, "the camera's keys came through the relay");
                }
            }
            Ok(KeyNews::Nothing) => {}
            // Before the sheet with our slot there may be earlier ones.
            Err(RelayRefusal::Sheet(SheetRefusal::NoSlot)) => {
                self.no_slot.get_or_insert_with(tokio::time::Instant::now);
            }
            Err(refusal) => self.refused_key(refusal),
        }
    }

    /// Says once that there is no key for this viewer.
    fn note_no_slot(&mut self) {
        if self.no_slot.is_some_and(|since| since.elapsed() >= SILENCE) {
            tracing::warn!("the camera's keys are not for this viewer: was it removed?");
            // The next sheet says it again.
            self.no_slot = None;
        }
    }

    fn refused_key(&mut self, refusal: RelayRefusal) {
        self.refused_keys += 1;
        if self.refused_keys.is_power_of_two() {
            let total = self.refused_keys;
            tracing::warn!(total, "keys from the relay were refused: {refusal}");
        }
    }

    fn proof(&mut self, object: &[u8]) {
        match self.relayed.proof_object(object) {
            Ok(Some(verdict)) => self.proven(&verdict),
            Ok(None) => {}
            Err(refusal) => self.refused_key(refusal),
        }
    }

    fn proven(&self, verdict: &GopVerdict) {
        let forged = matches!(verdict.outcome, GopOutcome::Forged { .. });
        self.observation.metrics.part_judged(forged);
        if forged {
            let group = verdict.group;
            tracing::error!(
                group,
                "pictures were shown that the camera did not sign: somebody in the group forges it"
            );
        }
    }

    /// Opens the frames whose keys are there.
    fn open(&mut self) {
        let arrived = std::time::Instant::now();
        let now = self.observation.clock.at(arrived).monotonic;
        while let Some(opened) = self.relayed.open(now) {
            if let Err(refusal) = opened {
                self.refused_frame(refusal);
            }
            while let Some(media) = self.relayed.next_media() {
                self.receiver.media(media, arrived);
            }
        }
    }

    fn refused_frame(&mut self, refusal: GroupRefusal) {
        let metrics = &self.observation.metrics;
        match refusal {
            // After a new connection a relay gives what is known already.
            GroupRefusal::Record(Refusal::Replay) => {}
            GroupRefusal::Record(reason) => {
                self.refused += 1;
                metrics.record_refused(open_failure(reason));
                self.receiver.refused(reason, self.refused, true);
            }
            GroupRefusal::Frame(reason) => {
                metrics.frame_not_the_cameras();
                self.receiver.not_the_cameras(reason);
            }
        }
    }
}
