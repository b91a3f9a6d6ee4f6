//! The task of one session: the loop and the event handling shared by all roles.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::keys::Peer;
use sealcast_proto::session::{Event, Facts, Input, Session};
use sealcast_proto::sign::{GopOutcome, GopVerdict};
use sealcast_proto::unit::Selection;
use sealcast_proto::wire::{Address, CameraName, CloseReason, MulticastGroup};
use tokio::sync::watch;

use super::address_telling::{self, AddressTelling};
use super::admission::{Admission, Admitted, Dismissal, Entry};
use super::admitted_places::{AdmittedPlaces, NoPlace};
use super::attendance::Presence;
use super::connection::{Connection, Ended, Listener};
use super::ended::{handshake_outcome, happened, turned_away};
use super::exchange::HandshakeTimer;
use super::observe::Observation;
use super::phases::SessionPhase;
use super::rarely::Rarely;
use super::retry::turned_on;
use super::role::Role;
use super::runtime_settings::announce;
use crate::keys::entropy;
use crate::keys::peers::{KnownEnd, Refusal};
use crate::meter::labels::{self, TurnedAway};
use crate::meter::telling::Telling;
use crate::run::media::lent::Lender;
use crate::transport::{Place, Transport};

/// Number of lists of cameras that are all logged, in a session.
const LISTS_LOGGED: u64 = 16;
/// Maximum of lists of addresses in a session that are written to the disk when they are told: a peer could tell others
/// endlessly. The last one is kept when the session ends.
const MAX_KEPT_AT_ONCE: u32 = 64;

/// Rare reason for the end of a session.
enum Rare {
    /// The peer is admitted no more, or has lost its place.
    Dismissed(Dismissal),
    /// The program stops.
    Stop,
}

/// A session on its carrier, with the state common to all roles.
pub(crate) struct SessionTask<T, L> {
    pub(crate) connection: Connection<T>,
    pub(crate) listener: L,
    pub(crate) observation: Arc<Observation>,
    pub(crate) remote: String,
    /// The identity that the peer has proved.
    pub(crate) peer: Option<Peer>,
    /// True once the session has been established, whatever its end.
    pub(crate) established: bool,
    /// Reason and text of the peer's close message.
    pub(crate) last_words: Option<(CloseReason, String)>,
    /// The camera that it is of, where there are several.
    camera: Option<CameraName>,
    /// Admission of the peer, if the peer connected to this end.
    admitted: Option<Admitted>,
    /// Its place among the sessions that stand, while it does.
    presence: Option<Presence>,
    /// True if this end ended the session because the peer is admitted no more, or has lost its place.
    pub(crate) dismissed: bool,
    /// Knowledge of the other end, if this end connected.
    pub(crate) known: Option<KnownEnd>,
    timer: HandshakeTimer,
    /// The place that an incoming connection holds until the session is established.
    place: Option<Place>,
    /// The place was taken away.
    evicted: bool,
    /// Tells the peer the addresses of this end.
    telling: Option<AddressTelling>,
    /// Addresses that the peer told last.
    pub(crate) told: Option<Vec<Address>>,
    /// The first camera that the peer told: of a session that named none it is the one that it is of.
    pub(crate) told_camera: Option<CameraName>,
    /// Lists of cameras that the peer told, as far as they belong in the log.
    pub(crate) lists: Telling,
    /// Number of times that what the peer told of its addresses was kept at once.
    kept: u32,
    rarely: Rarely<Rare>,
    /// Lends the session to whoever has frames for it, if that is somebody else.
    pub(crate) lender: Option<Lender>,
}

impl<T: Transport, L: Listener> SessionTask<T, L> {
    pub(crate) fn new(
        transport: T,
        session: Box<Session>,
        listener: L,
        observation: &Arc<Observation>,
        timer: HandshakeTimer,
        remote: String,
    ) -> Self {
        let connection = Connection::new(transport, session, observation.clock, observation.metrics.clone());
        let connection = connection.in_phase(SessionPhase::new(observation));
        Self {
            connection,
            listener,
            observation: Arc::clone(observation),
            remote,
            peer: None,
            established: false,
            last_words: None,
            camera: None,
            admitted: None,
            rarely: Rarely::new(),
            presence: None,
            dismissed: false,
            known: None,
            timer,
            place: None,
            evicted: false,
            telling: None,
            told: None,
            told_camera: None,
            lists: Telling::after(LISTS_LOGGED),
            kept: 0,
            lender: None,
        }
    }

    /// From now on the session is observed by `observation`, of the same program: that of the camera which its peer
    /// wishes. Call it when the peer is admitted, before any media.
    pub(crate) fn observe_by(&mut self, observation: &Arc<Observation>) {
        self.observation = Arc::clone(observation);
        self.connection.count_into(observation.metrics.clone());
    }

    /// The peer is told these addresses of this end.
    pub(crate) fn telling(mut self, telling: Option<AddressTelling>) -> Self {
        self.telling = telling;
        self
    }

    /// The session holds this place until it is established, and ends if the place is taken away.
    pub(crate) fn at_place(mut self, place: Option<Place>) -> Self {
        self.place = place;
        self
    }

    /// Run until the session ends, or turns to another role. It is closed once `stop` turns true.
    pub(crate) async fn run<R>(&mut self, role: &mut R, mut stop: watch::Receiver<bool>) -> Ended
    where
        R: Role<T, Listener = L>,
    {
        self.rarely.once(async move {
            turned_on(&mut stop).await;
            Rare::Stop
        });
        self.go_on(role, Ok(())).await
    }

    /// Turn a session that stands to another role, and run until it ends.
    pub(crate) async fn turn_to<R>(&mut self, role: &mut R) -> Ended
    where
        R: Role<T, Listener = L>,
    {
        let begun = role.established(self);
        self.go_on(role, begun).await
    }

    async fn go_on<R>(&mut self, role: &mut R, begun: Result<(), Ended>) -> Ended
    where
        R: Role<T, Listener = L>,
    {
        let ended = match begun {
            Ok(()) => self.serve(role).await,
            Err(ended) => Err(ended),
        };
        let ended = match ended {
            Ok(never) => match never {},
            Err(Ended::Turned) => return Ended::Turned,
            Err(ended) => ended,
        };
        self.evicted = matches!(ended, Ended::Evicted);
        // The peer's close message may still be among the events.
        let _ = self.take_events(role);
        self.note_where();
        self.connection.leave_phase();
        self.presence = None;
        ended
    }

    async fn serve<R>(&mut self, role: &mut R) -> Result<Infallible, Ended>
    where
        R: Role<T, Listener = L>,
    {
        let mut only_media = false;
        loop {
            if !std::mem::take(&mut only_media) {
                if let Some(lender) = &self.lender {
                    // Who has frames for many sessions reads none of them.
                    lender.own_turn().await;
                }
                let received = self.connection.receive(&mut self.listener);
                if received.is_ok() {
                    self.take_events(role)?;
                }
                role.received(self).await?;
                self.connection.finish(received, &mut self.listener)?;
                self.take_events(role)?;
                self.note_answered();
                if let Some(presence) = &mut self.presence {
                    presence.tell(&self.connection);
                }
            }
            role.send(self)?;
            tokio::select! {
                // Send waiting media first; everything else is handled before the next wait.
                biased;
                woken = role.wait() => only_media = role.woken(self, woken)?,
                waited = self.connection.wait() => waited?,
                rare = self.rarely.next() => match rare {
                    Rare::Dismissed(dismissal) => self.dismiss::<R>(dismissal)?,
                    Rare::Stop => self.handle(Input::Close(CloseReason::GoingAway, R::STOPPING))?,
                },
                () = address_telling::due(&mut self.telling), if self.established => self.tell_addresses()?,
                () = evicted(self.place.as_ref()) => return Err(Ended::Evicted),
            }
        }
    }

    /// Decide by `admission` on a peer of this kind that has proved its identity; `lacks` says why what it wishes is
    /// not here. Returns the input for its session.
    pub(crate) fn admit_by(
        &mut self,
        admission: &Arc<Admission>,
        (kind, peer): (&str, &Peer),
        places: &Arc<AdmittedPlaces>,
        lacks: Option<&'static str>,
    ) -> Input<'static> {
        let relay = (!self.connection.carries_media()).then(|| self.remote.as_str().into());
        let (from, session) = (&self.remote, &mut self.connection.session);
        let entry = Entry {
            places,
            heard: !session.may_stall(),
            relay,
            lacks,
            now: self.observation.clock.now().monotonic,
        };
        match admission.admit(peer, entry, || session.take_enrolment()) {
            Ok(admitted) => {
                if admitted.enrolled {
                    tracing::info!(peer = %peer.id, from, "enrolled a new {kind} by its invite");
                }
                let dismissal = admitted.dismissal();
                self.rarely.once(async { Rare::Dismissed(dismissal.await) });
                self.admitted = Some(admitted);
                Input::Admit
            }
            Err(refusal) => {
                let words = format_args!("refused a {kind}: {} (peer {})", happened(refusal.words()), peer.id);
                self.observation
                    .metrics
                    .turned_away(TurnedAway::NotAdmitted, from, &words);
                Input::Close(refusal.reason(), refusal.words())
            }
        }
    }

    /// The session is established: it counts among those of this end that stand, until it ends.
    /// It is of this camera; of none if the name is empty.
    pub(crate) fn attend(&mut self, admission: &Admission, camera: &str) {
        if let Some(peer) = &self.peer {
            let entered = admission
                .attendance()
                .enter(peer, camera, &self.remote, &self.connection);
            self.presence = Some(entered);
        }
    }

    fn dismiss<R: Role<T>>(&mut self, dismissal: Dismissal) -> Result<(), Ended> {
        let (reason, text) = dismissal.words();
        let peer = self.name();
        match dismissal {
            // Thousands come and go so.
            Dismissal::Answered => tracing::debug!(peer, "the session of a {} ends: {text}", R::PEER),
            _ => tracing::warn!(peer, "the session of a {} ends: {text}", R::PEER),
        }
        self.dismissed = true;
        self.handle(Input::Close(reason, text))
    }

    /// The peer's challenge is being answered, and it needs the session for nothing else.
    pub(crate) fn note_challenge_answered(&self) {
        if let Some(admitted) = &self.admitted {
            admitted.place.answered(self.observation.clock.now().monotonic);
        }
    }

    /// The peer was heard for the first time, or again: its session takes a place.
    fn take_place<R: Role<T>>(&mut self) -> Result<(), Ended> {
        let now = self.observation.clock.now().monotonic;
        let place = self.admitted.as_ref().map(|admitted| &admitted.place);
        match place.map(|place| place.heard(now)) {
            Some(Err(NoPlace)) => {
                let refusal = Refusal::NoPlace;
                tracing::warn!(peer = %self.name(), "the session of a {} ends: {}", R::PEER, refusal.words());
                self.dismissed = true;
                self.handle(Input::Close(refusal.reason(), refusal.words()))
            }
            Some(Ok(())) | None => Ok(()),
        }
    }

    fn tell_addresses(&mut self) -> Result<(), Ended> {
        let told = self.telling.as_mut().and_then(|telling| telling.take(Instant::now()));
        match told {
            Some(addresses) => self
                .connection
                .handle(Input::TellAddresses(addresses), &mut self.listener),
            None => Ok(()),
        }
    }

    /// Pass an input to the session and send the resulting output.
    pub(crate) fn handle(&mut self, input: Input<'_>) -> Result<(), Ended> {
        self.connection.handle(input, &mut self.listener)
    }

    /// Handle the events of the session since the last call.
    pub(crate) fn take_events<R>(&mut self, role: &mut R) -> Result<(), Ended>
    where
        R: Role<T, Listener = L>,
    {
        while let Some(event) = self.connection.events.pop_front() {
            self.take_event(role, event)?;
        }
        Ok(())
    }

    fn take_event<R>(&mut self, role: &mut R, event: Event) -> Result<(), Ended>
    where
        R: Role<T, Listener = L>,
    {
        match &event {
            Event::PeerProved(peer) => {
                self.peer = Some(*peer);
                let input = role.admit(self, peer);
                return self.handle(input);
            }
            Event::Established(facts) => return self.established(role, facts),
            Event::Rekeyed { epoch, cause } => {
                self.observation.metrics.set_epoch(*epoch);
                if let Some(presence) = &self.presence {
                    presence.rekeyed(self.observation.clock.now().wall);
                }
                self.observation.metrics.record_rekey(labels::RekeyCause::from(*cause));
                tracing::debug!(peer = %self.name(), epoch, "new keys");
            }
            Event::Clock(estimate) => self.observation.clock_estimate(estimate),
            Event::Closed { reason, text } => self.note_closed::<R>(*reason, text),
            Event::Selection(selection) if R::PUBLISHES => {
                tracing::info!(viewer = %self.name(), encrypt = %selection, "what is encrypted for a {}", R::PEER);
            }
            Event::Selection(selection) => {
                announce(&format!("the {}", R::PEER), *selection);
                self.observation.selection(*selection);
            }
            Event::Heard => self.take_place::<R>()?,
            Event::Stalled => self.note_stalled::<R>(),
            Event::Resumed => {
                tracing::info!(peer = %self.name(), "the {} is heard again", R::PEER);
                self.take_place::<R>()?;
            }
            Event::ChallengeDue => {
                let random = entropy::random().map_err(|failure| Ended::Carrier(io::Error::other(failure.what)))?;
                return self.handle(Input::Challenge(random));
            }
            Event::JoinedGroup(sign) => {
                tracing::info!(from = self.remote, %sign, "the camera seals for all its viewers at once, and signs");
            }
            Event::NoSuchSignatures(mode) => tracing::warn!(
                from = self.remote,
                "the camera seals for a group which this viewer does not join, and for it alone: {mode}"
            ),
            Event::Proven(verdict) => self.note_proven(verdict),
            Event::HearMulticast(group) => return self.hear_multicast(*group),
            Event::LeaveMulticast => self.leave_multicast(),
            Event::AddressesTold(addresses) => self.note_told(addresses),
            Event::CamerasTold(names) if self.told_camera.is_none() => self.told_camera = names.first().copied(),
            Event::KeyframeRequested(_)
            | Event::BudgetStated(_)
            | Event::Oriented(_)
            | Event::CameraTold { .. }
            | Event::CamerasTold(_)
            | Event::Gateway(_)
            | Event::JoinsGroup(_)
            | Event::GroupSaid(_)
            | Event::SealedRecord(_)
            | Event::Hears(_)
            | Event::DataTold(_)
            | Event::DataUnanswered
            | Event::Datagram(_)
            | Event::Challenged(_) => {}
        }
        role.event(self, event)
    }

    fn established<R>(&mut self, role: &mut R, facts: &Facts) -> Result<(), Ended>
    where
        R: Role<T, Listener = L>,
    {
        self.note_where();
        // The other end has kept the secret already, and will ask for it: it comes before all words.
        if let Some(known) = self.known.as_mut().filter(|known| known.enrols())
            && let Some(secret) = self.connection.session.take_enrolment()
        {
            known.keep(&secret);
            self.listener.enrolled();
        }
        if let Some(why) = role.lacks(&facts.peer) {
            // Who connected learns the wish of who listens here; who listens has judged it already.
            tracing::warn!(peer = %facts.peer.id, from = self.remote, "refused a {}: {}", R::PEER, happened(why));
            return self.handle(Input::Close(CloseReason::NotOffered, why));
        }
        self.camera = role.camera();
        self.note_established(role.established_words(), facts);
        if !R::PUBLISHES {
            self.observation.selection(Selection::All);
        }
        role.established(self)
    }

    /// Where several addresses were tried together, one of them has answered.
    fn note_where(&mut self) {
        if let Some(address) = self.connection.transport.answered_at() {
            self.remote = address.to_string();
        }
    }

    /// The peer told where it can be reached.
    fn note_told(&mut self, addresses: &[Address]) {
        if self.told.as_deref() == Some(addresses) {
            return;
        }
        if let Some(known) = self.known.as_ref().filter(|_| self.kept < MAX_KEPT_AT_ONCE) {
            self.kept += 1;
            known.told(addresses);
        }
        let shown: Vec<String> = addresses.iter().map(Address::to_string).collect();
        tracing::debug!(
            from = self.remote,
            "it tells where it can be reached: {}",
            shown.join(", ")
        );
        self.told = Some(addresses.to_vec());
    }

    /// The peer ended the session.
    fn note_closed<R: Role<T, Listener = L>>(&mut self, reason: CloseReason, text: &str) {
        if R::PUBLISHES {
            let camera = self.camera_shown();
            tracing::info!(viewer = %self.name(), camera, %reason, text, "the {} left", R::PEER);
        }
        if let (Some(known), CloseReason::NotAuthorised) = (&self.known, reason) {
            known.forget();
        }
        self.last_words = Some((reason, text.to_owned()));
    }

    /// The publisher sends to a multicast group: listen to it.
    fn hear_multicast(&mut self, group: MulticastGroup) -> Result<(), Ended> {
        let MulticastGroup { address, port, .. } = group;
        let heard = self.connection.transport.hear_multicast(group);
        match &heard {
            Ok(()) => tracing::info!(from = self.remote, %address, port, "listening to a multicast group"),
            Err(error) => tracing::info!(
                from = self.remote,
                %address,
                port,
                "a multicast group cannot be listened to ({error}): everything comes over this session"
            ),
        }
        self.handle(Input::ListensToMulticast(heard.is_ok()))
    }

    fn leave_multicast(&mut self) {
        tracing::info!(
            from = self.remote,
            "nothing comes from the multicast group: everything comes over this session"
        );
        self.connection.transport.leave_multicast();
    }

    /// The signature of a group of pictures came.
    fn note_proven(&self, verdict: &GopVerdict) {
        let forged = matches!(verdict.outcome, GopOutcome::Forged { .. });
        self.observation.metrics.part_judged(forged);
        if forged {
            tracing::error!(
                from = self.remote,
                group = verdict.group,
                stream = verdict.stream,
                "pictures or sound were played that the camera did not sign: somebody in the group forges it"
            );
        }
    }

    fn note_established(&mut self, what: &'static str, facts: &Facts) {
        let exchange = &self.connection.exchange;
        self.observation
            .established((what, self.camera_shown()), &self.timer, facts, exchange, &self.remote);
        self.peer = Some(facts.peer);
        self.established = true;
        self.place = None;
    }

    /// Only a valid hello is answered before the session is established.
    fn note_answered(&self) {
        if self.connection.exchange.sent > 0
            && let Some(place) = &self.place
        {
            place.speaks();
        }
    }

    fn note_stalled<R: Role<T>>(&self) {
        if let Some(admitted) = &self.admitted {
            admitted.place.silent();
        }
        let peer = R::PEER;
        if R::PUBLISHES {
            let (viewer, camera) = (self.name(), self.camera_shown());
            tracing::warn!(
                viewer,
                camera,
                "nothing was heard from the {peer} for 2 s: it is sent nothing until it is"
            );
        } else {
            tracing::warn!(
                from = self.remote,
                "nothing was heard from the {peer} for 2 s: waiting for it"
            );
        }
    }

    fn camera_shown(&self) -> Option<&str> {
        self.camera.as_ref().map(CameraName::as_str)
    }

    /// The peer's name in logs: its identity once that is proved, its address before.
    pub(crate) fn name(&self) -> String {
        self.peer.map_or_else(|| self.remote.clone(), |peer| peer.id.short())
    }

    /// Record the handshake if the session ended before it was established.
    pub(crate) fn note_failed_handshake(&self, ended: &Ended) {
        if self.established {
            return;
        }
        let peer = self
            .peer
            .map_or_else(|| self.remote.clone(), |peer| peer.id.to_string());
        let (observation, exchange) = (&self.observation, &self.connection.exchange);
        let row = self
            .timer
            .row(observation, handshake_outcome(ended), peer, None, exchange);
        observation.handshake(row, exchange);
    }

    /// Count and log the end of a session that was no goodbye, at the end that listens. Whoever was never admitted
    /// could fill the log, and is told of with others.
    pub(crate) fn log_end<R: Role<T>>(&self, ended: &Ended) {
        let (refused, camera) = (self.connection.refused, self.camera_shown());
        if refused > 0 {
            let records = refused;
            tracing::warn!(viewer = %self.name(), camera, records, "records of this {} were refused", R::PEER);
        }
        let Some(words) = ended.in_words() else { return };
        let (metrics, reason) = (&self.observation.metrics, turned_away(ended, self.established));
        if self.established {
            metrics.count_turned_away(reason);
            tracing::warn!(viewer = %self.name(), camera, from = self.remote, "{words}");
        } else {
            metrics.turned_away(reason, &self.remote, &words);
        }
    }

    /// Send the close message, for at most `patience`. Who lost its place is told nothing and costs nothing more.
    pub(crate) async fn say_goodbye(self, patience: Duration) {
        if !self.evicted {
            self.connection.say_goodbye(patience).await;
        }
    }
}

/// Wait until the place is taken away; forever if there is none. Cancel-safe.
pub(in crate::run) async fn evicted(place: Option<&Place>) {
    match place {
        Some(place) => place.evicted().await,
        None => std::future::pending().await,
    }
}
