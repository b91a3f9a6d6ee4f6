//! The task that seals a group's frames, and tells its members of new keys.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::clock::Now;
use sealcast_proto::group::{Announcement, LeaderError, MemberId};
use sealcast_proto::group_media::{SealedFrame, Sealing, UnsignedFrame};
use sealcast_proto::live::{Answer, Batch};
use sealcast_proto::session::{OutgoingSound, RepairNeed};
use sealcast_proto::sign::UnsignedPart;
use sealcast_proto::unit::{Selection, StreamInfo};
use sealcast_proto::wire::{Hearing, MediaFrom};
use tokio::task::coop::has_budget_remaining;
use tokio::task::{JoinSet, yield_now};

use super::multicast::Multicast;
use super::{Group, MemberFrame, Seat, State, Told, unusable};
use crate::failure::Result;
use crate::keys::entropy;
use crate::media::{Frame, SoundInfo, Track};
use crate::meter::labels::{DropCause, SignatureWork};
use crate::meter::metrics::Metrics;
use crate::meter::stage::Stage;
use crate::run::clock::nanos_u32;
use crate::run::media::lent::{Lender, Loan};
use crate::run::publish::camera::Camera;
use crate::run::session::rarely::Rarely;

/// More epoch numbers are reserved while fewer than this are left.
const FEW_NUMBERS: u64 = 1 << 10;

/// A sheet for everybody that is longer is replaced by one of its own for a member whose messages travel in packets, or
/// whose session has a constant rate, at which a long message holds up the picture.
const LONGEST_FOR_ALL: usize = 1024;

/// The stream's descriptions, as the hub told them last.
#[derive(Default)]
struct Described {
    version: u64,
    info: Option<StreamInfo>,
    sound: Option<SoundInfo>,
}

/// Seals the frames of the hub for the group's members, as long as there are any.
///
/// # Errors
/// The keys have run out, or the system has no randomness: nothing more may be sent to the group.
pub(in crate::run) async fn drive(shared: Arc<Camera>, group: Arc<Group>) -> Result<Infallible> {
    let queue = shared.hub.tap();
    let mut settings = shared.settings.subscribe();
    let mut enrolled = shared.admission.enrolments();
    let camera = shared.offer.identity.peer_id();
    group.enrol(shared.observation.clock.now(), camera, &shared.admission);
    let mut enrolled_at = Instant::now();
    let mut described = Described::default();
    let mut sealed_in = Duration::ZERO;
    let mut loans = Vec::new();
    let mut rarely = Rarely::new().changes(settings.changes(), || ());
    loop {
        let deadline = group.announce(&shared)?;
        while let Some(frame) = queue.pop() {
            group.announce(&shared)?;
            described.hear(&shared);
            match frame.track {
                Track::Sound => group.seal_sound(&shared, &described, &frame, &mut loans)?,
                Track::Picture => sealed_in = group.seal(&shared, &described, &frame, sealed_in, &mut loans)?,
            }
            send(&mut loans).await;
        }
        if queue.finished() {
            group.sign_rest(&shared.observation.metrics).await;
            group.finish();
            shared.hub.note_end();
            // The members' tasks send what is queued, and end.
            return std::future::pending().await;
        }
        tokio::select! {
            () = queue.changed() => {}
            () = group.changed.notified() => {}
            () = Group::enrolled_changed(&mut enrolled, enrolled_at) => {
                group.enrol(shared.observation.clock.now(), camera, &shared.admission);
                enrolled_at = Instant::now();
            }
            () = rarely.next() => {
                if settings.take_rekey() {
                    group.lock().sealer.rekey(shared.observation.clock.now());
                }
            }
            () = sleep_until(shared.observation.clock.instant(deadline)) => {}
        }
    }
}

/// Lets the members' sessions send what was queued for them. That saves a wake-up of each one's task.
async fn send(loans: &mut Vec<Loan>) {
    for loan in loans.drain(..) {
        loan.run();
        if !has_budget_remaining() {
            yield_now().await;
        }
    }
}

/// An instant too far away for the clock does not come.
async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => std::future::pending().await,
    }
}

impl Group {
    /// Announces what waits, and returns when something is due again.
    fn announce(&self, shared: &Camera) -> Result<Duration> {
        let mut state = self.lock();
        let state = &mut *state;
        if state.sealer.numbers_left() < FEW_NUMBERS {
            let numbers = state.numbers.reserve()?;
            state.sealer.reserve(numbers.end);
        }
        let now = shared.observation.clock.now();
        let announced = match state.sealer.announces(now) {
            true => state.sealer.announce(now, &entropy::random()?),
            false => Ok(None),
        };
        let announced = announced.map_err(|error: LeaderError| unusable(&error))?;
        if let Some(announced) = announced {
            self.tell(state, &announced);
            self.tell_archives(state, announced.epoch)?;
            state.tell_relays(&announced);
            state.give_up_lost(now);
            let awaits = |seat: &Seat| seat.awaits_keyframe && announced.admitted.contains(&seat.id);
            if state.seats.iter().any(awaits) {
                shared.hub.request_keyframe();
            }
            let metrics = &shared.observation.metrics;
            metrics.group(state.seats.len(), announced.epoch);
            tracing::debug!(
                epoch = announced.epoch,
                admitted = announced.admitted.len(),
                removed = announced.removed.len(),
                "a new epoch of the group"
            );
        }
        Ok(state.sealer.deadline())
    }

    fn tell(&self, state: &mut State, announced: &Announcement) {
        let sheet: Option<Arc<[u8]>> = announced.sheet.as_deref().map(Arc::from);
        let certificate = self.gop_key.as_ref().map(|key| Arc::from(key.certificate().to_bytes()));
        for seat in &mut state.seats {
            if announced.admitted.contains(&seat.id) {
                seat.begun = true;
                // It was not set before: a member is admitted once.
                let _ = seat.first.set(state.next_frame);
                // One for this member alone: it knows nothing yet.
                let own = state
                    .sealer
                    .path_sheet(seat.id)
                    .map(|sheet| Told::Sheet(Arc::from(sheet)));
                let certificate = certificate.clone().map(Told::Certificate);
                own.into_iter().chain(certificate).for_each(|told| seat.tell(told));
            } else if let (true, Some(sheet)) = (seat.hears_all(), &sheet) {
                let too_long = seat.narrow && sheet.len() > LONGEST_FOR_ALL;
                let own = too_long.then(|| state.sealer.path_sheet(seat.id)).flatten();
                seat.tell(Told::Sheet(own.map_or_else(|| Arc::clone(sheet), Arc::from)));
            }
        }
    }

    /// Seals a frame once, and queues it for each member. `before` is how long the frame before took; returns how long
    /// this one did.
    fn seal(
        self: &Arc<Self>,
        shared: &Camera,
        described: &Described,
        frame: &Frame,
        before: Duration,
        loans: &mut Vec<Loan>,
    ) -> Result<Duration> {
        let mut state = self.lock();
        let state = &mut *state;
        state.next_frame = frame.number + 1;
        let (Some(info), true) = (&described.info, state.has_begun()) else {
            return Ok(before);
        };
        state.sealer.carry_in_packets(worst_need(&state.seats));
        state
            .sealer
            .select(agreed_by_all(shared.settings.selection(), &state.seats));
        let outgoing = shared.outgoing(frame, info.codec, (nanos_u32(before), 0));
        let observation = &shared.observation;
        let began = Instant::now();
        let now = observation.clock.at(began);
        let unsigned = state.sealer.seal_unsigned(now, info, &outgoing);
        let Some(unsigned) = unsigned.map_err(|error| unusable(&error))? else {
            return Ok(began.elapsed());
        };
        let Sealing {
            frame: sealed,
            answers,
            part,
        } = sign(state, now, unsigned, &observation.metrics)?;
        let took = began.elapsed();
        if let Some(unsplit) = state.sealer.unsplit() {
            shared.settings.tell_unsplit(unsplit);
        }
        observation.frame_sealed(sealed.records, sealed.bytes.len() as u64, took);
        let waited = began.saturating_duration_since(frame.encoded);
        observation.metrics.record_stage(Stage::Queue, waited);
        let sealed = Arc::new(sealed);
        state.give_relays(shared, &sealed);
        if let Some(multicast) = &self.multicast {
            state.send_multicast(multicast, &sealed);
        }
        state.give_members(shared, &sealed, frame, answers, loans);
        state.give_up_lost(observation.clock.now());
        if let Some(part) = part {
            self.sign_beside(&mut state.signing, part, &observation.metrics);
        }
        Ok(took)
    }

    /// Seals a packet of sound once, and queues it for each member.
    fn seal_sound(
        self: &Arc<Self>,
        shared: &Camera,
        described: &Described,
        frame: &Frame,
        loans: &mut Vec<Loan>,
    ) -> Result<()> {
        let mut state = self.lock();
        let state = &mut *state;
        let (Some(sound), Some(info), true) = (&described.sound, &described.info, state.has_begun()) else {
            return Ok(());
        };
        state.sealer.carry_in_packets(worst_need(&state.seats));
        let outgoing = shared.outgoing(frame, info.codec, (0, 0));
        let (preamble, data) = (outgoing.preamble, outgoing.data);
        let (observation, began) = (&shared.observation, Instant::now());
        let now = observation.clock.at(began);
        let sealing = state.sealer.seal_sound(now, sound, &OutgoingSound { preamble, data });
        let Some(sealing) = sealing.map_err(|error| unusable(&error))? else {
            return Ok(());
        };
        let sealed = Arc::new(sealing.frame);
        observation.sound_sealed(sealed.records, sealed.bytes.len() as u64);
        state.give_relays(shared, &sealed);
        if let Some(multicast) = &self.multicast {
            state.send_multicast(multicast, &sealed);
        }
        state.give_members_sound(shared, &sealed, frame, loans);
        if let Some(part) = sealing.part {
            self.sign_beside(&mut state.signing, part, &observation.metrics);
        }
        Ok(())
    }

    /// Signs a part of the stream on another thread, and gives it to all members.
    fn sign_beside(self: &Arc<Self>, signing: &mut JoinSet<()>, part: UnsignedPart, metrics: &Metrics) {
        while signing.try_join_next().is_some() {}
        let group = Arc::clone(self);
        let metrics = metrics.clone();
        signing.spawn_blocking(move || {
            let Some(key) = &group.gop_key else { return };
            let began = Instant::now();
            match key.sign(part) {
                Ok(signature) => {
                    let bytes: Arc<[u8]> = Arc::from(signature.to_bytes());
                    metrics.signature(SignatureWork::SignGop, bytes.len() as u64, began.elapsed());
                    let mut state = group.lock();
                    state.relayed.proof(&bytes);
                    for seat in state.seats.iter_mut().filter(|seat| seat.gets_frames()) {
                        seat.tell(Told::Signature(Arc::clone(&bytes)));
                    }
                }
                Err(failure) => tracing::error!("a group of pictures goes unsigned: {failure}"),
            }
        });
    }

    /// Signs the parts that the end of the source leaves, and waits for all signatures: nobody is told any afterwards.
    async fn sign_rest(self: &Arc<Self>, metrics: &Metrics) {
        let mut signing = {
            let mut state = self.lock();
            let state = &mut *state;
            for part in state.sealer.close_parts() {
                self.sign_beside(&mut state.signing, part, metrics);
            }
            std::mem::take(&mut state.signing)
        };
        while signing.join_next().await.is_some() {}
    }

    /// True if all of the source is sealed, and nothing follows.
    pub(in crate::run) fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Nothing follows.
    pub(in crate::run) fn finish(&self) {
        let mut state = self.lock();
        state.over = true;
        state.relayed.finish();
        for seat in &state.seats {
            seat.frames.close();
        }
    }
}

impl Described {
    /// Asks the hub for what is new.
    fn hear(&mut self, shared: &Camera) {
        let (version, newer) = shared.hub.info_since(self.version);
        if newer.is_some() {
            *self = Self {
                version,
                info: newer,
                sound: shared.hub.sound(),
            };
        }
    }
}

/// Need of the worst of those paths to members whose media travels in packets.
fn worst_need(seats: &[Seat]) -> Option<RepairNeed> {
    let needs = seats.iter().filter(|seat| seat.begun).filter_map(|seat| seat.need);
    needs.max_by_key(|need| need.symbols)
}

/// Selection in force: what the user wants, once everybody who gets frames has agreed to it.
fn agreed_by_all(wanted: Selection, seats: &[Seat]) -> Selection {
    let mut hearers = seats.iter().filter(|seat| seat.hears_all());
    match hearers.all(|seat| seat.selection == wanted) {
        true => wanted,
        false => Selection::All,
    }
}

/// Signs a frame, if frames are signed, and notes what that added.
fn sign(state: &mut State, now: Now, unsigned: UnsignedFrame, metrics: &Metrics) -> Result<Sealing> {
    let (before, began) = (unsigned.sealed_bytes(), Instant::now());
    let sealing = state.sealer.sign(now, unsigned).map_err(|error| unusable(&error))?;
    let added = sealing.frame.bytes.len() - before;
    if added > 0 {
        metrics.signature(SignatureWork::Sign, added as u64, began.elapsed());
    }
    Ok(sealing)
}

impl Seat {
    /// True if everything is for it, and comes over its session.
    fn hears_all(&self) -> bool {
        self.begun && self.media == MediaFrom::Session
    }

    /// Borrows its session. It can run only after the group's state is unlocked, which it locks itself.
    fn lend(&self) -> Option<Loan> {
        self.lender.as_ref().and_then(Lender::lend)
    }

    /// Tells a member something. Who does not take it is given up: with a sheet missing it would open nothing more.
    pub(super) fn tell(&mut self, told: Told) {
        self.lost |= self.told.try_send(told).is_err();
    }
}

impl State {
    /// Queues a frame for each member who gets it over its session, with the answer to its challenge. Others are told
    /// theirs.
    fn give_members(
        &mut self,
        shared: &Camera,
        sealed: &Arc<SealedFrame>,
        frame: &Frame,
        answers: Option<Batch>,
        loans: &mut Vec<Loan>,
    ) {
        let mut answers: HashMap<MemberId, Answer> = answers
            .iter()
            .flat_map(|batch| batch.answers())
            .map(|(slot, answer)| (MemberId(slot.into()), answer))
            .collect();
        for seat in &mut self.seats {
            let answer = answers.remove(&seat.id);
            if !seat.gets_frames() {
                answer
                    .iter()
                    .for_each(|answer| seat.tell(Told::Answer(answer.to_bytes())));
                continue;
            }
            seat.shown |= sealed.keyframe;
            loans.extend(seat.lend());
            let pushed = seat.frames.push(MemberFrame {
                sealed: Arc::clone(sealed),
                number: frame.number,
                encoded: frame.encoded,
                answer,
            });
            if pushed.dropped > 0 {
                let metrics = &shared.observation.metrics;
                metrics.record_dropped(DropCause::Queue, pushed.dropped as u64);
            }
            if pushed.wants_keyframe {
                shared.hub.request_keyframe();
            }
        }
    }

    /// Queues a packet of sound for each member who gets it over its session.
    fn give_members_sound(&mut self, shared: &Camera, sealed: &Arc<SealedFrame>, frame: &Frame, loans: &mut Vec<Loan>) {
        for seat in self.seats.iter_mut().filter(|seat| seat.shown && seat.gets_frames()) {
            loans.extend(seat.lend());
            let dropped = seat.frames.push_sound(MemberFrame {
                sealed: Arc::clone(sealed),
                number: frame.number,
                encoded: frame.encoded,
                answer: None,
            });
            shared.observation.metrics.sound_dropped(u64::from(dropped));
        }
    }

    /// True if somebody gets what is sealed.
    fn has_begun(&self) -> bool {
        self.relayed.has_seats() || self.seats.iter().any(|seat| seat.begun)
    }

    /// Sends a frame to the multicast group, if anybody listens.
    fn send_multicast(&self, multicast: &Multicast, sealed: &Arc<SealedFrame>) {
        if self.seats.iter().any(|seat| seat.hearing != Hearing::Away) {
            multicast.send(Arc::clone(sealed));
        }
    }

    /// Takes members out who were too slow to take what they were told. Their tasks notice it.
    fn give_up_lost(&mut self, now: Now) {
        for seat in self.seats.extract_if(.., |seat| seat.lost) {
            // It fails only if its admission was not announced, and then there is nothing to do.
            let _ = self.sealer.remove(now, seat.id);
        }
    }
}
