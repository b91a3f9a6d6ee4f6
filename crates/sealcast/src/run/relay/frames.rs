//! Opening by a viewer of what relays bring.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::group::{MemberConfig, MemberKey, SheetRefusal};
use sealcast_proto::group_media::{GroupRefusal, KeyNews, RelayRefusal, RelayedConfig, RelayedViewer};
use sealcast_proto::keys::{PeerId, PresharedKey, PskName};
use sealcast_proto::live::{CHALLENGE_LEN, Challenge};
use sealcast_proto::seal::Refusal;
use sealcast_proto::sign::{GopOutcome, GopVerdict, SignMode};

use super::recorded::Recorded;
use super::withheld::Withheld;
use crate::meter::telling::Telling;
use crate::run::group::group_of;
use crate::run::session::connection::Listener as _;
use crate::run::session::observe::Observation;
use crate::run::session::record_counts::open_failure;
use crate::run::watch::received::Receiver;
use crate::run::watch::recorder::Recorder;
use crate::run::watch::state::ViewerState;

/// Objects of the keys, and their bytes, that are kept while this viewer has no key of its own.
const MAX_KEPT: usize = 64;
const MAX_KEPT_BYTES: usize = 4 << 20;
/// Time for which a frame waits for its key before the camera itself is asked for the sheet.
const KEY_PATIENCE: Duration = Duration::from_millis(250);
/// Time between two such questions.
const ASK_INTERVAL: Duration = Duration::from_secs(1);
/// Time after which the viewer is told that pictures come and the camera does not answer.
const NO_ANSWER: Duration = Duration::from_secs(2);
/// Time without a key after which the viewer is told.
const NO_KEY: Duration = Duration::from_secs(2);

/// Key that a viewer shares with its camera.
pub(in crate::run) struct SharedKey {
    pub(in crate::run) key: MemberKey,
    /// The enrolment that it is of, if it is of one.
    pub(in crate::run) enrolment: Option<PskName>,
}

impl SharedKey {
    /// That of an enrolment.
    pub(in crate::run) fn of_enrolment(camera: PeerId, secret: &PresharedKey) -> Self {
        Self {
            key: MemberKey::derive(secret.reveal(), &group_of(camera)),
            enrolment: Some(secret.name()),
        }
    }
}

/// Opens the frames that come through relays, whichever brings them.
pub(super) struct RelayedFrames {
    camera: PeerId,
    least: SignMode,
    state: Arc<ViewerState>,
    /// Keeps what comes, where nothing is opened.
    recorded: Option<Recorded>,
    /// From when on there is a key.
    relayed: Option<RelayedViewer>,
    enrolment: Option<PskName>,
    /// The newest group of the keys, before there is a key: the session with the camera may be slower than the relay.
    kept: Vec<Vec<u8>>,
    receiver: Receiver,
    /// Frames that are not shown before the camera has answered.
    withheld: Withheld,
    /// When a frame was withheld first, until the user was told.
    withheld_since: Option<Duration>,
    observation: Arc<Observation>,
    keyed: bool,
    /// Since when the camera's keys are not for this viewer.
    no_slot: Option<tokio::time::Instant>,
    /// When the camera was asked for a sheet.
    asked: Option<Duration>,
    refused_keys: Telling,
    /// Frames that were older than what was shown before.
    rewound: Telling,
    /// Frames that came before the certificate, where it is required.
    uncertified: u64,
}

impl RelayedFrames {
    /// Nothing came yet, and there is no key. `least` must be signed.
    pub(super) fn new(state: &Arc<ViewerState>, camera: PeerId, least: SignMode) -> Self {
        Self {
            camera,
            least,
            state: Arc::clone(state),
            recorded: None,
            relayed: None,
            enrolment: None,
            kept: Vec::new(),
            receiver: state.receiver(true).without_session(state.without_session),
            withheld: Withheld::new(state.without_session),
            withheld_since: None,
            observation: Arc::clone(&state.observation),
            keyed: false,
            no_slot: None,
            asked: None,
            refused_keys: Telling::default(),
            rewound: Telling::default(),
            uncertified: 0,
        }
    }

    /// Keeps what comes, and opens nothing.
    pub(super) fn record(&mut self, recorder: Recorder) {
        self.recorded = Some(Recorded::new(recorder, self.camera, self.state.offer.wish.camera));
    }

    /// Opens sheets with this key from here on.
    pub(super) fn use_key(&mut self, shared: SharedKey) {
        let known = shared.enrolment.is_some() && shared.enrolment == self.enrolment;
        if known && self.relayed.is_some() {
            return;
        }
        self.enrolment = shared.enrolment;
        let relayed = RelayedViewer::new(RelayedConfig {
            key: shared.key,
            member: MemberConfig {
                group: group_of(self.camera),
                suites: self.state.offer.suites.clone(),
            },
            camera_name: self.state.offer.wish.camera,
            least: self.least,
            seen: self.state.seen.seen(),
        });
        self.relayed = Some(relayed.keeping_sealed(self.state.keeps_sealed));
        for object in std::mem::take(&mut self.kept) {
            self.told(&object);
        }
    }

    /// Key objects of a new group follow.
    pub(super) fn keys_begin(&mut self) {
        self.kept.clear();
    }

    /// Takes an object of the keys.
    pub(super) fn key(&mut self, object: Vec<u8>) {
        if let Some(recorded) = &mut self.recorded {
            return recorded.told(&object);
        }
        match self.relayed {
            Some(_) => self.told(&object),
            None if self.kept.len() < MAX_KEPT && self.kept_bytes() + object.len() <= MAX_KEPT_BYTES => {
                self.kept.push(object);
            }
            // The next group begins with all that matters.
            None => {}
        }
    }

    /// The frames' taker, and the camera's messages about them.
    pub(super) fn receiver(&mut self) -> &mut Receiver {
        &mut self.receiver
    }

    /// True once there is a key, or it is known without one what comes.
    pub(super) fn has_key(&self) -> bool {
        self.relayed.is_some() || self.recorded.as_ref().is_some_and(Recorded::is_told)
    }

    /// The frames that were released so far.
    pub(super) fn released(&self) -> u64 {
        self.receiver.frames() + self.withheld.held() + self.recorded.as_ref().map_or(0, Recorded::frames)
    }

    /// A frame came. `begins` if it begins a group of pictures.
    pub(super) fn frame(&mut self, begins: bool, frame: Vec<u8>) {
        let now = self.observation.clock.now().monotonic;
        if let Some(recorded) = &mut self.recorded {
            recorded.frame(&frame);
        } else if let Some(relayed) = &mut self.relayed {
            relayed.frame_object(now, begins, frame);
        }
    }

    /// A packet of sound came. `begins` if it is the first of its group of objects.
    pub(super) fn sound(&mut self, begins: bool, packet: Vec<u8>) {
        let now = self.observation.clock.now().monotonic;
        if let Some(recorded) = &mut self.recorded {
            recorded.frame(&packet);
        } else if let Some(relayed) = &mut self.relayed {
            relayed.sound_object(now, begins, packet);
        }
    }

    /// When something is due, on the monotonic clock: a frame has waited for its key for too long, the picture may be
    /// too old, or, if the camera can be told, a challenge, or that a sheet is missing.
    pub(super) fn deadline(&self, tells: bool) -> Option<Duration> {
        let relayed = self.relayed.as_ref()?;
        let now = self.observation.clock.now().monotonic;
        let told = [relayed.next_challenge(), self.asks_at()].into_iter().flatten().min();
        [relayed.deadline(now), told.filter(|_| tells)]
            .into_iter()
            .flatten()
            .min()
    }

    /// When the camera is to be asked for a sheet.
    fn asks_at(&self) -> Option<Duration> {
        let due = self.relayed.as_ref()?.waiting_since()? + KEY_PATIENCE;
        Some(self.asked.map_or(due, |asked| due.max(asked + ASK_INTERVAL)))
    }

    /// True, once, if the camera is to be asked for a sheet now.
    pub(super) fn asks(&mut self) -> bool {
        let now = self.observation.clock.now().monotonic;
        let asks = self.asks_at().is_some_and(|at| at <= now);
        if asks {
            self.asked = Some(now);
        }
        asks
    }

    /// Makes a challenge of 16 fresh random bytes, if one is due.
    pub(super) fn challenge(&mut self, random: [u8; CHALLENGE_LEN], round_trip: Duration) -> Option<Challenge> {
        let now = self.observation.clock.now().monotonic;
        self.relayed.as_mut()?.challenge(now, random, round_trip)
    }

    fn kept_bytes(&self) -> usize {
        self.kept.iter().map(Vec::len).sum()
    }

    /// Takes what the camera said on a session, or through a relay.
    pub(super) fn told(&mut self, message: &[u8]) {
        let Some(relayed) = &mut self.relayed else { return };
        match relayed.told(message) {
            Ok(KeyNews::Signs(sign)) => tracing::info!(%sign, "what the camera signs"),
            Ok(KeyNews::Sheet(taken)) => {
                self.observation.metrics.set_epoch(taken.epoch);
                self.no_slot = None;
                if !std::mem::replace(&mut self.keyed, true) {
                    tracing::info!(epoch = taken.epoch, "the camera's keys came");
                }
            }
            // Among these is the certificate of the key that signs groups of pictures.
            Ok(KeyNews::Nothing) => self.receiver.keep_proof(message),
            // Before the sheet with our slot there may be earlier ones.
            Err(RelayRefusal::Sheet(SheetRefusal::NoSlot)) => {
                self.no_slot.get_or_insert_with(tokio::time::Instant::now);
            }
            Err(refusal) => self.refused_key(refusal),
        }
    }

    /// Says once that there is no key for this viewer.
    pub(super) fn note_no_slot(&mut self) {
        if self.no_slot.is_some_and(|since| since.elapsed() >= NO_KEY) {
            tracing::warn!("the camera's keys are not for this viewer: was it removed?");
            // The next sheet says it again.
            self.no_slot = None;
        }
    }

    fn refused_key(&mut self, refusal: RelayRefusal) {
        if let Some(total) = self.refused_keys.count(Instant::now()) {
            tracing::warn!(total, "keys from the relay were refused: {refusal}");
        }
    }

    /// Takes an object of the proofs.
    pub(super) fn proof(&mut self, object: &[u8]) {
        if let Some(recorded) = &mut self.recorded {
            return recorded.told(object);
        }
        let Some(relayed) = &mut self.relayed else { return };
        match relayed.proof_object(object) {
            Ok(Some(verdict)) => {
                self.receiver.keep_proof(object);
                self.proven(&verdict);
            }
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
                stream = verdict.stream,
                "pictures or sound were played that the camera did not sign: somebody in the group forges it"
            );
        }
    }

    /// Opens the frames whose keys are there, and notes how old the picture can be.
    pub(super) fn open(&mut self) {
        let arrived = Instant::now();
        let now = self.observation.clock.at(arrived).monotonic;
        while let Some(opened) = self.relayed.as_mut().and_then(|relayed| relayed.open(now)) {
            if let Err(refusal) = opened {
                self.refused_frame(refusal);
            }
            while let Some(media) = self.relayed.as_mut().and_then(RelayedViewer::next_media) {
                if let Some(media) = self.withheld.take(media) {
                    self.receiver.media(media, arrived);
                }
            }
            if let Some(verdict) = self.relayed.as_mut().and_then(RelayedViewer::take_late_forgery) {
                self.proven(&verdict);
            }
        }
        if let Some(relayed) = &self.relayed {
            let age = relayed.picture_age(now);
            self.receiver.note_age(age, relayed.proofs(now));
            self.receiver.note_seen(Some(relayed.seen()));
            for media in self.withheld.release(age) {
                self.receiver.media(media, arrived);
            }
        }
        self.note_withheld(now);
    }

    /// Says once that pictures come and are not shown.
    fn note_withheld(&mut self, now: Duration) {
        let waits = self.withheld.holds() && self.withheld.held() > 0;
        let since = *self.withheld_since.get_or_insert(now);
        if !waits {
            self.withheld_since = None;
        } else if since != Duration::MAX && now >= since + NO_ANSWER {
            tracing::warn!(
                "pictures come through the relay and are not shown: the camera has not answered, so they may be old; \
                 they are shown once it has, or with --without-session"
            );
            self.withheld_since = Some(Duration::MAX);
        }
    }

    fn refused_frame(&mut self, refusal: GroupRefusal) {
        let metrics = &self.observation.metrics;
        match refusal {
            // After a new connection a relay gives what is known already.
            GroupRefusal::Record(Refusal::Replay) => {}
            GroupRefusal::Record(reason) => {
                metrics.record_refused(open_failure(reason));
                self.receiver.refused(reason, true);
            }
            GroupRefusal::Frame(reason) => {
                metrics.frame_not_the_cameras();
                self.receiver.not_the_cameras(reason);
            }
            GroupRefusal::Uncertified => {
                self.uncertified += 1;
                if self.uncertified.is_power_of_two() {
                    let total = self.uncertified;
                    tracing::warn!(total, "a frame is not shown, as --require-sign both says: {refusal}");
                }
            }
            GroupRefusal::Rewound => {
                if let Some(total) = self.rewound.count(Instant::now()) {
                    tracing::warn!(
                        total,
                        "the relay gives pictures or sound of before: they are {refusal}, and refused; the camera may \
                         be off, or the relay or somebody on the path plays a recording of it; if the camera has lost \
                         the file with its numbers of epochs, enrol this viewer anew"
                    );
                }
            }
            GroupRefusal::Sound(reason) => {
                metrics.frame_not_the_cameras();
                self.receiver.sound_not_the_cameras(reason);
            }
        }
    }
}
