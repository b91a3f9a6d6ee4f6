//! Members and tracks of a group's relays: enrolled viewers are members without a session, and keys and proofs go on
//! tracks.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::clock::Now;
use sealcast_proto::group::{Announcement, MemberId, MemberKey};
use sealcast_proto::group_media::{KeyTrack, SealedFrame};
use sealcast_proto::keys::{PeerId, PresharedKey, PskName};
use sealcast_proto::wire::{Control, GroupMessage};
use tokio::sync::watch;

use super::{Group, State, group_of};
use crate::meter::labels::DropCause;
use crate::run::media::queue::{FrameQueue, QueueLimits};
use crate::run::publish::camera::Camera;
use crate::run::relay::{Outlet, RelaySeat, RelayUrl};
use crate::run::session::admission::Admission;

/// The first number of a member that has no session. Those with one have numbers below.
const FIRST_ENROLLED: u64 = 1 << 32;
/// Number of proofs that are kept for a relay client that begins: of four groups of pictures with their sound.
const KEPT_PROOFS: usize = 8;
/// Numbers of groups of objects for each epoch number that is reserved: those of a camera that begins anew are higher.
const GROUPS_PER_EPOCH: u64 = 1 << 20;

/// Pause between two looks at the list of enrolled viewers, which takes milliseconds if there are thousands: of a crowd
/// that enrols, many become members at once.
const ENROLMENT_PAUSE: Duration = Duration::from_millis(100);

/// An enrolled viewer in the group.
struct Enrolled {
    secret: PskName,
    id: MemberId,
}

/// Objects for relays beside frames, and who may open them.
pub(super) struct Relayed {
    seats: Vec<RelaySeat>,
    keys: KeyTrack,
    proofs: VecDeque<(u64, Arc<[u8]>)>,
    next_proof: u64,
    enrolled: HashMap<PeerId, Enrolled>,
    next_id: u64,
    /// The epoch under which the group of pictures that is under way began.
    oldest: u64,
    added: watch::Sender<u64>,
}

/// Objects that a relay has not been given yet.
pub(in crate::run) struct Added {
    pub(in crate::run) keys: Option<AddedKeys>,
    /// Each with the number of its group.
    pub(in crate::run) proofs: Vec<(u64, Arc<[u8]>)>,
}

/// Objects of the newest group of the track of keys.
pub(in crate::run) struct AddedKeys {
    /// The group's number.
    pub(in crate::run) number: u64,
    /// The index of the first of these in the group.
    pub(in crate::run) first: usize,
    pub(in crate::run) objects: Vec<Arc<[u8]>>,
}

impl Relayed {
    /// For a camera whose first epoch is this.
    pub(super) fn new(epoch: u64, terms: &[u8], certificate: Option<&[u8]>) -> Self {
        let first = epoch.saturating_mul(GROUPS_PER_EPOCH);
        Self {
            seats: Vec::new(),
            keys: KeyTrack::new(first, terms, certificate),
            proofs: VecDeque::new(),
            next_proof: first,
            enrolled: HashMap::new(),
            next_id: FIRST_ENROLLED,
            oldest: epoch,
            added: watch::Sender::new(0),
        }
    }

    /// Takes one more relay.
    pub(super) fn seat(&mut self, relay: RelayUrl, limits: QueueLimits) -> Outlet {
        let frames = Arc::new(FrameQueue::new(limits));
        self.seats.push(RelaySeat {
            frames: Arc::clone(&frames),
        });
        Outlet {
            relay,
            frames,
            added: self.added.subscribe(),
        }
    }

    /// The member that an enrolled viewer is.
    pub(super) fn leaf_of(&self, peer: PeerId) -> Option<MemberId> {
        self.enrolled.get(&peer).map(|one| one.id)
    }

    pub(super) fn has_seats(&self) -> bool {
        !self.seats.is_empty()
    }

    /// A frame for all relays. Returns how many frames were dropped, and whether a keyframe is needed.
    pub(super) fn frame(&mut self, frame: &Arc<SealedFrame>, epoch: u64) -> (usize, bool) {
        if frame.keyframe && !frame.sound {
            self.oldest = epoch;
        }
        let (mut dropped, mut wanted) = (0, false);
        for seat in &self.seats {
            if frame.sound {
                dropped += usize::from(seat.frames.push_sound(Arc::clone(frame)));
                continue;
            }
            let pushed = seat.frames.push(Arc::clone(frame));
            dropped += pushed.dropped;
            wanted |= pushed.wants_keyframe;
        }
        (dropped, wanted)
    }

    pub(super) fn proof(&mut self, signature: &[u8]) {
        if !self.has_seats() {
            return;
        }
        self.next_proof += 1;
        let message = Control::Group(GroupMessage::Signature(signature));
        self.proofs.push_back((self.next_proof, message.to_bytes().into()));
        if self.proofs.len() > KEPT_PROOFS {
            self.proofs.pop_front();
        }
        self.tell();
    }

    pub(super) fn finish(&self) {
        for seat in &self.seats {
            seat.frames.close();
        }
    }

    fn tell(&self) {
        self.added.send_modify(|version| *version = version.wrapping_add(1));
    }
}

impl State {
    /// Queues a frame for all relays.
    pub(super) fn give_relays(&mut self, shared: &Camera, frame: &Arc<SealedFrame>) {
        let epoch = self.sealer.epoch();
        let (dropped, wants_keyframe) = self.relayed.frame(frame, epoch);
        let metrics = &shared.observation.metrics;
        if frame.sound {
            metrics.sound_dropped(dropped as u64);
        } else if dropped > 0 {
            metrics.record_dropped(DropCause::Queue, dropped as u64);
        }
        if wants_keyframe {
            shared.hub.request_keyframe();
        }
    }

    /// A new epoch was announced: relays get its sheet, and a full one if somebody has joined whom no other way tells.
    pub(super) fn tell_relays(&mut self, announced: &Announcement) {
        if !self.relayed.has_seats() {
            return;
        }
        let joined = announced.admitted.iter().any(|id| id.0 >= FIRST_ENROLLED);
        let full = (joined || self.relayed.keys.wants_full()).then(|| self.sealer.full_sheet());
        if let Some(sheet) = full.as_deref().or(announced.sheet.as_deref()) {
            let oldest = self.relayed.oldest;
            self.relayed.keys.push(announced.epoch, sheet, oldest);
            self.relayed.tell();
        }
    }

    /// Makes members of those who are enrolled now, and of nobody else who was. `names` are those of their secrets.
    fn enrol(
        &mut self,
        now: Now,
        camera: PeerId,
        enrolled: Vec<(PeerId, PskName, PresharedKey)>,
        names: &HashMap<PeerId, PskName>,
    ) {
        let gone = |peer: &PeerId, one: &mut Enrolled| names.get(peer) != Some(&one.secret);
        for (_, gone) in self.relayed.enrolled.extract_if(gone) {
            // It fails only if its admission was not announced, and then there is nothing to do.
            let _ = self.sealer.remove(now, gone.id);
        }
        let group = group_of(camera);
        for (peer, name, secret) in enrolled {
            if self.relayed.enrolled.contains_key(&peer) {
                continue;
            }
            let id = MemberId(self.relayed.next_id);
            self.relayed.next_id += 1;
            match self.sealer.admit(now, id, MemberKey::derive(secret.reveal(), &group)) {
                Ok(()) => {
                    self.relayed.enrolled.insert(peer, Enrolled { secret: name, id });
                }
                Err(error) => tracing::warn!(viewer = %peer, "it cannot watch through relays: {error}"),
            }
        }
    }
}

impl Group {
    /// Takes one more relay. Enrolled viewers can watch through it.
    pub(in crate::run) fn relay(&self, relay: RelayUrl) -> Outlet {
        self.lock().relayed.seat(relay, self.queue)
    }

    /// Waits until others are enrolled than before, and for the end of a pause since the `last` of them were made
    /// members. Cancel-safe.
    pub(super) async fn enrolled_changed(changes: &mut watch::Receiver<u64>, last: Instant) {
        // First the pause: what is noticed before it and not waited for would be forgotten.
        tokio::time::sleep_until((last + ENROLMENT_PAUSE).into()).await;
        if changes.changed().await.is_err() {
            std::future::pending().await
        }
    }

    /// Makes members of those who are enrolled now.
    pub(super) fn enrol(&self, now: Now, camera: PeerId, admission: &Admission) {
        if !self.lock().relayed.has_seats() {
            return;
        }
        let enrolled = admission.enrolled();
        let names = enrolled.iter().map(|(peer, name, _)| (*peer, *name)).collect();
        self.lock().enrol(now, camera, enrolled, &names);
    }

    /// Objects that a relay client has not been given yet. It was given so many objects of this group of key objects,
    /// and proofs up to this one.
    pub(in crate::run) fn relayed(&self, number: u64, given: usize, proof: u64) -> Added {
        let state = self.lock();
        let relayed = &state.relayed;
        let newest = relayed.keys.number();
        // A relay client that has begun nothing has no group, and is given the newest one whole.
        let first = if number == newest { given } else { 0 };
        let objects: Vec<Arc<[u8]>> = relayed.keys.objects_from(first).map(Arc::clone).collect();
        let newer = relayed.proofs.iter().filter(|(number, _)| *number > proof);
        Added {
            keys: (!objects.is_empty()).then_some(AddedKeys {
                number: newest,
                first,
                objects,
            }),
            proofs: newer.cloned().collect(),
        }
    }
}
