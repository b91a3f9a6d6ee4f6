//! A publisher's group: each frame is sealed once for all viewers (docs/spec/groups.md).

mod archive;
mod driver;
mod membership;
mod multicast;
mod relayed;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use sealcast_proto::clock::Now;
use sealcast_proto::group::{GroupName, LeaderError, MAX_MEMBERS, MemberId, MemberKey};
use sealcast_proto::group_media::{GroupSealer, GroupSealerConfig, SealedFrame};
use sealcast_proto::keys::PeerId;
use sealcast_proto::live::{Answer, Challenge};
use sealcast_proto::session::RepairNeed;
use sealcast_proto::sign::SignMode;
use sealcast_proto::unit::Selection;
use sealcast_proto::wire::{CameraName, GroupMessage, Hearing, MediaFrom};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use crate::archive::Recipient;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::keys::epoch_numbers::EpochNumbers;
use crate::keys::gop_key::GopSigningKey;
use crate::run::media::VIDEO;
use crate::run::media::lent::Lender;
use crate::run::media::queue::{FrameQueue, QueueLimits, Queued};
use crate::run::media::shape::FrameProof;
use crate::run::session::observe::Observation;
use crate::run::session::offer::Offer;
use crate::transport::udp::MulticastOut;

pub(super) use self::driver::drive;
pub(super) use self::membership::Membership;
use self::multicast::Multicast;
use self::relayed::Relayed;

/// The number of the group's stream.
pub const GROUP_STREAM: u16 = VIDEO as u16;

/// The group of a camera's picture.
pub(in crate::run) fn group_of(camera: PeerId) -> GroupName {
    GroupName {
        camera,
        stream: GROUP_STREAM.into(),
    }
}
/// Messages that may wait for a member. Who has more is too slow for the group.
const MAX_TOLD: usize = 256;

/// Frames that may wait for an archive's node at least: those of some seconds.
const MAX_WAITING_FOR_ARCHIVE: usize = 512;

/// Options of a publisher that seals for a group.
pub struct GroupOptions {
    /// Mode of signing.
    pub sign: SignMode,
    /// The numbers of its epochs.
    pub numbers: EpochNumbers,
    /// Multicast group to which each record is sent once for all viewers who hear it.
    pub multicast: Option<MulticastOut>,
    /// Recipients who can open what archive's nodes record.
    pub archive_to: Vec<Recipient>,
}

impl GroupOptions {
    /// Proof that leaves beside each frame's data.
    pub fn proof(&self) -> FrameProof {
        FrameProof::of_group(self.sign)
    }
}

/// A viewer's session, as the group must know it.
pub(super) struct MemberSession {
    /// The key that it shares with the camera.
    pub(super) key: MemberKey,
    /// Need of its path, if its media travels in packets.
    pub(super) need: Option<RepairNeed>,
    /// True if long messages should be as short as can be: they travel in packets, or in cells at a constant rate.
    pub(super) narrow: bool,
    /// The parts that it agreed to have encrypted.
    pub(super) selection: Selection,
    /// True if its frames come through a relay.
    pub(super) relayed: bool,
    /// True if the source is to be asked for a keyframe once it is a member.
    pub(super) awaits_keyframe: bool,
    /// Lends it to who has frames for it.
    pub(super) lender: Option<Lender>,
}

/// Messages to members beside frames, in the order in which the group says them.
#[derive(Clone)]
pub(super) enum Told {
    Sheet(Arc<[u8]>),
    Answer(Vec<u8>),
    Certificate(Arc<[u8]>),
    Signature(Arc<[u8]>),
    Recipients(Arc<[u8]>),
    ArchiveKey(u64, Arc<[u8]>),
}

impl Told {
    pub(super) fn message(&self) -> GroupMessage<'_> {
        match self {
            Self::Sheet(bytes) => GroupMessage::Sheet(bytes),
            Self::Answer(bytes) => GroupMessage::Answer(bytes),
            Self::Certificate(bytes) => GroupMessage::Certificate(bytes),
            Self::Signature(bytes) => GroupMessage::Signature(bytes),
            Self::Recipients(bytes) => GroupMessage::Recipients(bytes),
            Self::ArchiveKey(epoch, file) => GroupMessage::ArchiveKey { epoch: *epoch, file },
        }
    }
}

/// A frame on its way to a member.
pub(crate) struct MemberFrame {
    pub(super) sealed: Arc<SealedFrame>,
    /// Its number among the frames of its stream.
    pub(super) number: u64,
    /// When the source had it.
    pub(super) encoded: Instant,
    /// The answer to a challenge of this member, to which the frame's signature leads. It follows the frame, and leaves
    /// with it: another message would wake the viewer's task once more.
    pub(super) answer: Option<Answer>,
}

impl Queued for MemberFrame {
    fn keyframe(&self) -> bool {
        self.sealed.keyframe
    }

    fn sound(&self) -> bool {
        self.sealed.sound
    }

    fn size(&self) -> usize {
        self.sealed.bytes.len()
    }
}

impl Queued for Arc<SealedFrame> {
    fn keyframe(&self) -> bool {
        self.keyframe
    }

    fn sound(&self) -> bool {
        self.sound
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }
}

/// A viewer in the group.
struct Seat {
    id: MemberId,
    /// Way in which it joined. The frames of a relay bring all but the first sheet as well.
    media: MediaFrom,
    /// True if its frames come through a relay.
    relayed: bool,
    /// True if the source is to be asked for a keyframe once it is a member.
    awaits_keyframe: bool,
    told: mpsc::Sender<Told>,
    frames: Arc<FrameQueue<MemberFrame>>,
    /// Lends its session.
    lender: Option<Lender>,
    /// Need of its path, if its media travels in packets.
    need: Option<RepairNeed>,
    /// True if long messages should be as short as can be.
    narrow: bool,
    /// The parts that it agreed to have encrypted.
    selection: Selection,
    /// Report of what it hears of the multicast group.
    hearing: Hearing,
    /// True from its first sheet on: frames are for it, too.
    begun: bool,
    /// Number of the first frame that was sealed with it as a member.
    first: Arc<OnceLock<u64>>,
    /// True once a keyframe was queued for it: sound before that is for others, or it was given it alone.
    shown: bool,
    /// The epoch whose sheet it was told again, since its relay does not bring it.
    told_again: Option<u64>,
    /// It did not take what it was told.
    lost: bool,
}

struct State {
    sealer: GroupSealer,
    numbers: EpochNumbers,
    seats: Vec<Seat>,
    relayed: Relayed,
    /// Number of the next frame to be sealed.
    next_frame: u64,
    /// Signatures of groups of pictures that are being made.
    signing: JoinSet<()>,
    /// The source has ended: nothing follows.
    over: bool,
}

/// A group of viewers, shared by their tasks and the one that seals.
pub(crate) struct Group {
    state: Mutex<State>,
    /// Terms of this run of the group, signed.
    terms: Vec<u8>,
    gop_key: Option<GopSigningKey>,
    queue: QueueLimits,
    multicast: Option<Multicast>,
    archive_to: Vec<Recipient>,
    /// Members joined, left, or challenged.
    changed: Notify,
}

impl Group {
    /// A group without members.
    ///
    /// # Errors
    /// No numbers for its epochs can be reserved, or there is no randomness.
    pub(super) fn new(
        mut options: GroupOptions,
        camera_name: CameraName,
        offer: &Offer,
        queue: QueueLimits,
        observation: &Observation,
    ) -> Result<Self> {
        let now = observation.clock.now();
        let multicast = options
            .multicast
            .map(|out| Multicast::start(out, observation.metrics.clone()));
        let suite = offer.suites.first().copied().ok_or_else(|| {
            let hint = "name a suite";
            Failure::new(FailureKind::Usage, "there is no suite for the group", hint)
        })?;
        let config = GroupSealerConfig {
            identity: Arc::clone(&offer.identity),
            stream: GROUP_STREAM,
            camera_name,
            suite,
            sign: options.sign,
            unit: offer.unit,
            selection_seed: offer.selection_seed,
        };
        let numbers = options.numbers.reserve()?;
        let sealer = GroupSealer::new(now, config, numbers, entropy::random()?, &entropy::random()?);
        let sealer = sealer.map_err(|error| unusable(&error))?;
        let gops = options.sign.gops();
        let gop_key = gops.then(|| GopSigningKey::of(&offer.identity)).transpose()?;
        let certificate = gop_key.as_ref().map(|key| key.certificate().to_bytes());
        let terms = sealer.terms().to_vec();
        Ok(Self {
            state: Mutex::new(State {
                relayed: Relayed::new(sealer.epoch(), &terms, certificate.as_deref()),
                sealer,
                numbers: options.numbers,
                seats: Vec::new(),
                next_frame: 0,
                signing: JoinSet::new(),
                over: false,
            }),
            terms,
            gop_key,
            queue,
            multicast: multicast.transpose()?,
            archive_to: options.archive_to,
            changed: Notify::new(),
        })
    }

    /// Offer to viewers.
    pub(super) fn offer(&self) -> GroupMessage<'_> {
        GroupMessage::Terms(&self.terms)
    }

    /// Makes a viewer a member. Its first sheet follows, unless its enrolment brings it sheets.
    ///
    /// # Errors
    /// The group is full.
    pub(super) fn join(
        self: &Arc<Self>,
        now: Now,
        media: MediaFrom,
        session: MemberSession,
    ) -> std::result::Result<Membership, LeaderError> {
        let mut state = self.lock();
        let id = free_number(&state.seats).ok_or(LeaderError::Full)?;
        let has_leaf = matches!(media, MediaFrom::Session | MediaFrom::Relay);
        if has_leaf {
            state.sealer.admit(now, id, session.key)?;
        }
        let (told, hears) = mpsc::channel(MAX_TOLD);
        let mut limits = self.queue;
        if media == MediaFrom::Sealed {
            limits.frames = limits.frames.max(MAX_WAITING_FOR_ARCHIVE);
        }
        let (frames, first) = (Arc::new(FrameQueue::new(limits)), Arc::default());
        if state.over {
            frames.close();
        }
        state.seats.push(Seat {
            id,
            media,
            relayed: session.relayed,
            awaits_keyframe: session.awaits_keyframe,
            told,
            frames: Arc::clone(&frames),
            lender: session.lender,
            need: session.need,
            narrow: session.narrow,
            selection: session.selection,
            hearing: Hearing::Away,
            begun: !has_leaf,
            first: Arc::clone(&first),
            shown: false,
            told_again: None,
            lost: false,
        });
        drop(state);
        self.changed.notify_one();
        Ok(Membership::new(Arc::clone(self), id, hears, (frames, first)))
    }

    /// Takes a viewer out of the group: within a second it opens nothing new. Its number may be another's by now;
    /// then it was given up before.
    fn leave(&self, now: Now, id: MemberId, frames: &Arc<FrameQueue<MemberFrame>>) {
        let mut state = self.lock();
        let Some(at) = state.seats.iter().position(|seat| Arc::ptr_eq(&seat.frames, frames)) else {
            return;
        };
        state.seats.swap_remove(at);
        // It fails only if it has no leaf, or none yet, and then there is nothing to do.
        let _ = state.sealer.remove(now, id);
        drop(state);
        self.changed.notify_one();
    }

    /// Notes what the path to a member needs now.
    fn path_needs(&self, frames: &Arc<FrameQueue<MemberFrame>>, need: RepairNeed) {
        let mut state = self.lock();
        let seat = state.seats.iter_mut().find(|seat| Arc::ptr_eq(&seat.frames, frames));
        // For an archive's node frames are cut, and repaired, by its session alone.
        if let Some(seat) = seat.filter(|seat| seat.media == MediaFrom::Session) {
            seat.need = Some(need);
        }
    }

    /// A member agreed to have these parts encrypted.
    fn agreed(&self, frames: &Arc<FrameQueue<MemberFrame>>, selection: Selection) {
        let mut state = self.lock();
        if let Some(seat) = state.seats.iter_mut().find(|seat| Arc::ptr_eq(&seat.frames, frames)) {
            seat.selection = selection;
        }
    }

    /// True if relays are given what is sealed.
    pub(super) fn has_relays(&self) -> bool {
        self.lock().relayed.has_seats()
    }

    /// Message to members about a multicast group, if there is one.
    pub(super) fn multicast(&self) -> Option<GroupMessage<'static>> {
        let multicast = self.multicast.as_ref()?;
        Some(GroupMessage::Multicast(multicast.group))
    }

    /// Notes what a member hears of the multicast group. Returns the number of those who hear it.
    fn hears(&self, frames: &Arc<FrameQueue<MemberFrame>>, hearing: Hearing) -> usize {
        let mut state = self.lock();
        if let Some(seat) = state.seats.iter_mut().find(|seat| Arc::ptr_eq(&seat.frames, frames)) {
            seat.hearing = hearing;
        }
        drop(state);
        self.hearing()
    }

    /// The number of members who hear the multicast group.
    fn hearing(&self) -> usize {
        let hears = |seat: &&Seat| seat.hearing == Hearing::Hearing;
        self.lock().seats.iter().filter(hears).count()
    }

    /// Tells a viewer its sheet again: that of the leaf by its enrolment, or that of its session.
    fn tell_again(&self, id: MemberId, peer: Option<PeerId>) {
        let mut state = self.lock();
        let state = &mut *state;
        let Some(seat) = state.seats.iter_mut().find(|seat| seat.id == id) else {
            return;
        };
        let leaf = match seat.media {
            MediaFrom::RelayEnrolled => peer.and_then(|peer| state.relayed.leaf_of(peer)),
            MediaFrom::Session | MediaFrom::Relay => Some(id),
            MediaFrom::Sealed => None,
        };
        // A sheet costs a signature, and says the same until the next epoch.
        let epoch = state.sealer.announced_epoch();
        if seat.told_again.replace(epoch) == Some(epoch) {
            return;
        }
        if let Some(sheet) = leaf.and_then(|leaf| state.sealer.path_sheet(leaf)) {
            seat.tell(Told::Sheet(Arc::from(sheet)));
        }
    }

    fn challenged(&self, id: MemberId, challenge: Challenge) {
        // Every seat has a slot.
        let _ = self.lock().sealer.challenged(id, challenge);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each statement leaves the state consistent, so a panic in another thread does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The lowest number that no seat has. Answers to challenges name members by it.
fn free_number(seats: &[Seat]) -> Option<MemberId> {
    let mut taken = [false; MAX_MEMBERS];
    for seat in seats {
        // Seats have no other numbers than these.
        if let Some(taken) = usize::try_from(seat.id.0).ok().and_then(|id| taken.get_mut(id)) {
            *taken = true;
        }
    }
    let free = taken.iter().position(|taken| !taken);
    free.map(|number| MemberId(number as u64))
}

fn unusable(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(
        FailureKind::Internal,
        format!("the group's keys cannot be made: {error}"),
        "please report this",
    )
}
