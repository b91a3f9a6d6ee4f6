//! Proof by the signatures of groups of pictures of the frames that were taken (signatures.md §5).

use std::collections::BTreeMap;
use std::time::Duration;

use super::certificate::GopKey;
use super::gop_message::{GopSignature, MAX_PART_FRAMES};
use super::merkle::Hash;
use super::statement::Statement;
use crate::unit::SOUND_STREAM;

/// Maximum number of parts of groups of which frames or signatures are remembered: those of 2.5 s where each picture is
/// a group, at 25 a second.
pub const MAX_OPEN_PARTS: usize = 64;

/// Time from the end of a part for which its signature is waited for.
pub const PROOF_PATIENCE: Duration = Duration::from_secs(10);

/// Time that a signature may take to be made and to come, before it can be called missing.
pub const PROOF_DELAY: Duration = Duration::from_secs(1);

/// Result of checking a signature against the frames of its part that were taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GopOutcome {
    /// All frames of the part were taken, and all are the camera's.
    Proven,
    /// The frames that were taken are the camera's. These were not, by their indexes in the group.
    Incomplete {
        /// Their indexes, in order.
        missing: Vec<u32>,
    },
    /// Frames were taken that the camera did not make.
    Forged {
        /// Their indexes, in order.
        forged: Vec<u32>,
    },
}

/// Verdict after the signature of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GopVerdict {
    /// The stream.
    pub stream: u16,
    /// Number of the group of pictures.
    pub group: u64,
    /// The outcome.
    pub outcome: GopOutcome,
    /// True if it follows the part that was verified before: no part between was left out.
    pub follows: bool,
}

/// Reason why a signature of a group is refused. It changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GopRefusal {
    /// It does not have the form of one.
    #[error("malformed")]
    Malformed,
    /// It is for another stream.
    #[error("stream")]
    Stream,
    /// No certificate of the camera's key has come.
    #[error("key")]
    Key,
    /// It is not the camera's.
    #[error("signature")]
    Signature,
    /// The signature of this part was verified before.
    #[error("repeated")]
    Repeated,
}

/// State of a frame when it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The signature of its group is still to come.
    Waiting,
    /// The signature came before the frame, and covers it.
    Proven,
    /// The signature came before the frame, and the camera did not make this one.
    Forged,
}

/// A part of which frames were taken, or the signature is known.
#[derive(Default)]
struct Part {
    /// Leaves of the frames taken, by their index.
    taken: BTreeMap<u32, Hash>,
    /// Leaves of all frames, once the signature has been verified.
    signed: Option<Vec<Hash>>,
    /// When a frame of a later part was taken.
    ended: Option<Duration>,
}

/// Group and first index of a part.
type Number = (u64, u32);

/// When the first two parts ended that are newer than all signatures.
#[derive(Default)]
struct Unsigned {
    first: Option<Duration>,
    second: Option<Duration>,
}

impl Unsigned {
    fn note(&mut self, ended: Duration) {
        if self.first.is_none() {
            self.first = Some(ended);
        } else {
            self.second.get_or_insert(ended);
        }
    }

    /// When signatures are missing, if none comes until then.
    fn due(&self) -> Option<Duration> {
        let first = self.first?;
        let most = first + PROOF_PATIENCE;
        Some(self.second.map_or(most, |second| most.min(second + PROOF_DELAY)))
    }
}

/// Remembers the frames that were taken, until the signature of their group comes, and signatures for frames that come
/// late. It knows since when signatures are missing. Times are those of the caller's monotonic clock.
pub struct GopVerifier {
    key: Option<GopKey>,
    stream: u16,
    parts: BTreeMap<Number, Part>,
    /// The newest part that was verified, and its root.
    newest: Option<(Number, Hash)>,
    /// The newest part of which a frame was taken.
    latest: Option<Number>,
    unsigned: Unsigned,
    counts: ProofCounts,
}

/// Numbers of frames that the signatures of their groups did not prove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProofCounts {
    /// Frames whose group's signature did not come.
    pub unproven: u64,
    /// Frames that their group's signature says are not the camera's.
    pub forged: u64,
}

/// Progress of the signatures of a camera's groups of pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProofState {
    /// True while they are missing: a second after two complete groups without, or ten after one, until the next comes.
    pub missing: bool,
    /// Numbers of frames so far.
    pub counts: ProofCounts,
}

impl GopVerifier {
    /// A verifier for a stream of a camera whose key is not known yet.
    pub fn new(stream: u16) -> Self {
        Self {
            key: None,
            stream,
            parts: BTreeMap::new(),
            newest: None,
            latest: None,
            unsigned: Unsigned::default(),
            counts: ProofCounts::default(),
        }
    }

    /// The same, with the camera's key.
    #[must_use]
    pub fn with_key(mut self, key: GopKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Remembers a frame that was taken.
    pub fn took(&mut self, now: Duration, statement: &Statement) -> Taken {
        let (index, leaf) = (statement.index, statement.leaf());
        let number = (statement.group, first_of(index));
        if self.latest.is_none_or(|latest| latest < number) {
            self.latest = Some(number);
            self.end_before(now, number);
        }
        let part = self.parts.entry(number).or_default();
        part.taken.insert(index, leaf);
        let taken = match &part.signed {
            None => Taken::Waiting,
            Some(signed) if covers(signed, index, &leaf) => Taken::Proven,
            Some(_) => Taken::Forged,
        };
        self.counts.forged += u64::from(taken == Taken::Forged);
        let over = |part: &Part| part.ended.is_some_and(|ended| now >= ended + PROOF_PATIENCE);
        while self.parts.first_key_value().is_some_and(|(_, part)| over(part)) {
            self.forget_oldest();
        }
        self.keep_few();
        taken
    }

    /// Ends the parts before this one, of which the first frame came.
    fn end_before(&mut self, now: Duration, number: Number) {
        for (before, part) in self.parts.range_mut(..number) {
            if part.ended.is_none() {
                part.ended = Some(now);
                if part.signed.is_none() && self.newest.is_none_or(|(newest, _)| newest < *before) {
                    self.unsigned.note(now);
                }
            }
        }
    }

    /// Numbers of frames so far.
    pub fn counts(&self) -> ProofCounts {
        self.counts
    }

    /// When signatures are missing, if none comes until then: a second after two complete parts without, or ten after
    /// one.
    pub fn missing_at(&self) -> Option<Duration> {
        self.unsigned.due()
    }

    /// Verifies the signature of a part, and compares the frames of it that were taken.
    ///
    /// # Errors
    /// [`GopRefusal`]; nothing is changed.
    pub fn verify(&mut self, message: &[u8]) -> Result<GopVerdict, GopRefusal> {
        let message = GopSignature::parse(message).map_err(|_| GopRefusal::Malformed)?;
        let head = message.head;
        if head.stream != self.stream {
            return Err(GopRefusal::Stream);
        }
        let root = message.root();
        let key = self.key.as_ref().ok_or(GopRefusal::Key)?;
        let content = head.content(key.camera(), &root);
        if !key.verifies(&content, &message.signature) {
            return Err(GopRefusal::Signature);
        }
        let number = (head.group, head.first);
        let part = self.parts.entry(number).or_default();
        if part.signed.is_some() {
            return Err(GopRefusal::Repeated);
        }
        let outcome = outcome(head.first, &message.leaves, &part.taken);
        if let GopOutcome::Forged { forged } = &outcome {
            self.counts.forged += forged.len() as u64;
        }
        part.signed = Some(message.leaves);
        let follows = self.newest.is_none_or(|(_, newest)| newest == head.previous);
        if self.newest.is_none_or(|(newest, _)| newest < number) {
            self.newest = Some((number, root));
        }
        self.note_unsigned();
        self.keep_few();
        Ok(GopVerdict {
            stream: head.stream,
            group: head.group,
            outcome,
            follows,
        })
    }

    /// Looks anew for parts that are newer than all signatures.
    fn note_unsigned(&mut self) {
        self.unsigned = Unsigned::default();
        let Some((newest, _)) = self.newest else { return };
        for (number, part) in self.parts.range(newest..) {
            if let (true, None, Some(ended)) = (*number > newest, &part.signed, part.ended) {
                self.unsigned.note(ended);
            }
        }
    }

    fn keep_few(&mut self) {
        if self.parts.len() > MAX_OPEN_PARTS {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, oldest)) = self.parts.pop_first()
            && oldest.signed.is_none()
        {
            self.counts.unproven += oldest.taken.len() as u64;
        }
    }
}

/// The verifiers of a camera's stream and of the sound beside it, whose groups are signed apart.
pub struct GopVerifiers {
    picture: GopVerifier,
    sound: GopVerifier,
}

impl GopVerifiers {
    /// Verifiers for this stream of a camera whose key is not known yet, and for its sound.
    pub fn new(stream: u16) -> Self {
        Self {
            picture: GopVerifier::new(stream),
            sound: GopVerifier::new(SOUND_STREAM as u16),
        }
    }

    /// Takes the camera's key. The first one stays.
    pub fn certified(&mut self, key: &GopKey) {
        for verifier in [&mut self.picture, &mut self.sound] {
            verifier.key.get_or_insert_with(|| key.clone());
        }
    }

    /// True once the camera's key is known.
    pub fn is_certified(&self) -> bool {
        self.picture.key.is_some()
    }

    /// As [`GopVerifier::took`].
    pub fn took(&mut self, now: Duration, statement: &Statement) -> Taken {
        if statement.stream == self.picture.stream {
            self.picture.took(now, statement)
        } else {
            self.sound.took(now, statement)
        }
    }

    /// As [`GopVerifier::verify`].
    ///
    /// # Errors
    /// [`GopRefusal`]; nothing is changed.
    pub fn verify(&mut self, message: &[u8]) -> Result<GopVerdict, GopRefusal> {
        match self.picture.verify(message) {
            Err(GopRefusal::Stream) => self.sound.verify(message),
            verdict => verdict,
        }
    }

    /// Numbers of frames and packets of sound so far.
    pub fn counts(&self) -> ProofCounts {
        let (picture, sound) = (self.picture.counts, self.sound.counts);
        ProofCounts {
            unproven: picture.unproven + sound.unproven,
            forged: picture.forged + sound.forged,
        }
    }

    /// As [`GopVerifier::missing_at`], for whichever comes first.
    pub fn missing_at(&self) -> Option<Duration> {
        let both = [self.picture.missing_at(), self.sound.missing_at()];
        both.into_iter().flatten().min()
    }
}

/// Index with which the part of a frame begins.
fn first_of(index: u32) -> u32 {
    index - index % MAX_PART_FRAMES as u32
}

/// True if the frame with this index has this leaf among those that are signed.
fn covers(signed: &[Hash], index: u32, leaf: &Hash) -> bool {
    signed.get((index - first_of(index)) as usize) == Some(leaf)
}

fn outcome(first: u32, signed: &[Hash], taken: &BTreeMap<u32, Hash>) -> GopOutcome {
    let others = taken.iter().filter(|(index, leaf)| !covers(signed, **index, leaf));
    let forged: Vec<u32> = others.map(|(index, _)| *index).collect();
    if !forged.is_empty() {
        return GopOutcome::Forged { forged };
    }
    let all = (0..signed.len() as u32).map(|at| first + at);
    let missing: Vec<u32> = all.filter(|index| !taken.contains_key(index)).collect();
    if missing.is_empty() {
        GopOutcome::Proven
    } else {
        GopOutcome::Incomplete { missing }
    }
}
