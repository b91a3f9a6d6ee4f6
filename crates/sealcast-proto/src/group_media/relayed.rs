//! A viewer that hears a camera's group through a relay (relay.md §3).

use std::time::Duration;

use super::waiting::{MAX_WAITING, MAX_WAITING_SOUND, WAIT_FOR_KEY, WaitingFrames};
use super::{Evidence, GroupOpener, GroupOpenerConfig, GroupRefusal, RelayRefusal, Seen};
use crate::group::{MemberConfig, MemberKey, SheetRefusal, Taken, Terms};
use crate::live::{CHALLENGE_LEN, Challenge, LivenessState, MAX_ROUND_TRIP};
use crate::seal::Refusal;
use crate::sign::{FrameRefusalCounts, GopRefusal, GopVerdict, ProofState, SignMode};
use crate::unit::Assembled;
use crate::wire::{CameraName, Control, GroupMessage, LENGTH_PREFIX, MessageLength, message_length};

/// Settings of a [`RelayedViewer`].
#[derive(Clone)]
pub struct RelayedConfig {
    /// The camera, its stream, and the suites that this end accepts.
    pub member: MemberConfig,
    /// Key that this end shares with the camera.
    pub key: MemberKey,
    /// The camera's name that was asked for; none for the publisher's only camera.
    pub camera_name: CameraName,
    /// Least signatures. Nothing of a camera whose terms say less is shown, and with [`SignMode::Both`] nothing
    /// before the certificate of its key.
    pub least: SignMode,
    /// Progress of this end in the group before: a relay may have kept older frames.
    pub seen: Seen,
}

/// News from an object of the track of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyNews {
    /// Signatures of the camera, by terms of a run that was unknown before.
    Signs(SignMode),
    /// A new sheet.
    Sheet(Taken),
    /// Nothing that matters here or was not known.
    Nothing,
}

/// State of the group, once there are terms of the camera.
struct View {
    opener: GroupOpener,
    evidence: Evidence,
    /// A frame was released that its group's signature, which came before, does not cover.
    late_forgery: Option<GopVerdict>,
}

/// Opens and verifies what a relay gives, in whatever order its tracks come. Nothing that it says is trusted. It is
/// deterministic: the program passes the monotonic clock in.
pub struct RelayedViewer {
    config: RelayedConfig,
    view: Option<View>,
    waiting: WaitingFrames,
    /// Sound, which comes on a track of its own.
    sound: WaitingFrames,
    /// True if frames carry their records as they came.
    keeps: bool,
}

impl RelayedViewer {
    /// A viewer that has heard nothing yet.
    pub fn new(config: RelayedConfig) -> Self {
        Self {
            config,
            view: None,
            waiting: WaitingFrames::new(MAX_WAITING),
            sound: WaitingFrames::new(MAX_WAITING_SOUND),
            keeps: false,
        }
    }

    /// From now on, frames carry [their records as they came](crate::unit::AssembledFrame::sealed). To be called before
    /// anything is told.
    #[must_use]
    pub fn keeping_sealed(mut self, keeps: bool) -> Self {
        self.keeps = keeps;
        self
    }

    /// Takes an object of the track of keys, or what the camera said on a session
    /// ([`Event::GroupSaid`](crate::session::Event::GroupSaid)).
    ///
    /// # Errors
    /// [`RelayRefusal`]; what was known before still holds.
    pub fn told(&mut self, message: &[u8]) -> Result<KeyNews, RelayRefusal> {
        match parse(message)? {
            GroupMessage::Terms(terms) => self.offered(terms),
            GroupMessage::Certificate(certificate) => {
                let view = self.view.as_mut().ok_or(RelayRefusal::Early)?;
                view.evidence.certified(certificate).map(|()| KeyNews::Nothing)
            }
            GroupMessage::Sheet(sheet) => {
                let view = self.view.as_mut().ok_or(RelayRefusal::Early)?;
                match view.take_sheet(sheet) {
                    Ok(taken) => Ok(KeyNews::Sheet(taken)),
                    // A relay gives the newest sheets to everybody anew, such as after a new connection.
                    Err(SheetRefusal::Stale) => Ok(KeyNews::Nothing),
                    Err(refusal) => Err(RelayRefusal::Sheet(refusal)),
                }
            }
            GroupMessage::Answer(answer) => {
                let view = self.view.as_mut().ok_or(RelayRefusal::Early)?;
                let answered = view.evidence.answered(answer);
                answered.map(|()| KeyNews::Nothing).map_err(|_| RelayRefusal::Malformed)
            }
            _ => Err(RelayRefusal::Malformed),
        }
    }

    fn offered(&mut self, terms: &[u8]) -> Result<KeyNews, RelayRefusal> {
        let RelayedConfig { member, least, .. } = &self.config;
        let terms = Terms::verified(terms, &member.group, &self.config.camera_name).map_err(RelayRefusal::terms)?;
        let (signed, least) = (terms.sign(), *least);
        if signed < least {
            return Err(RelayRefusal::Sign { signed, least });
        }
        let new = match &mut self.view {
            Some(view) => view.opener.agree(terms).map_err(RelayRefusal::terms)?,
            None => {
                let mut opener = self.opener();
                opener.agree(terms).map_err(RelayRefusal::terms)?;
                self.view = Some(View {
                    opener,
                    evidence: Evidence::new(self.config.member.group, signed, least, MAX_ROUND_TRIP),
                    late_forgery: None,
                });
                true
            }
        };
        Ok(match new {
            true => KeyNews::Signs(signed),
            false => KeyNews::Nothing,
        })
    }

    fn opener(&self) -> GroupOpener {
        let config = GroupOpenerConfig {
            member: self.config.member.clone(),
            tell_units: false,
        };
        let mut opener = GroupOpener::new(config, self.config.key.clone());
        opener.begin_at(self.config.seen);
        if self.keeps {
            opener.keep_sealed();
        }
        opener
    }

    /// Takes an object of the track of video: a frame, in the order in which the camera sealed it. `begins` if it is
    /// the first one of its group of objects. It is opened once its key is there, by [`open`](Self::open).
    pub fn frame_object(&mut self, now: Duration, begins: bool, frame: Vec<u8>) {
        self.waiting.push(now, begins, frame);
    }

    /// Takes an object of the track of sound: a packet, as [`frame_object`](Self::frame_object) does a frame.
    pub fn sound_object(&mut self, now: Duration, begins: bool, packet: Vec<u8>) {
        self.sound.push(now, begins, packet);
    }

    /// Opens the next frame whose key is there, or that has waited for it for a second. `None` if there is no such
    /// frame. What it completes is then [`next_media`](Self::next_media). What follows a beginning whose key did not
    /// come is left out.
    ///
    /// # Errors
    /// [`GroupRefusal`], the first one of its records; [`Refusal::Malformed`] if it is not made of records.
    pub fn open(&mut self, now: Duration) -> Option<Result<(), GroupRefusal>> {
        let view = &mut self.view;
        let waits = |frame: &[u8]| view.as_ref().is_none_or(|view| view.waits_for_key(frame));
        let (waiting, due) = match self.waiting.take(now, waits) {
            Some(frame) => (&mut self.waiting, frame),
            None => {
                let packet = self.sound.take(now, waits)?;
                (&mut self.sound, packet)
            }
        };
        let (begins, mut frame) = due;
        let opened = match view {
            Some(view) => view.open(now, &mut frame),
            None => Err(Refusal::UnknownEpoch.into()),
        };
        let unknown = matches!(
            opened,
            Err(GroupRefusal::Record(Refusal::UnknownEpoch | Refusal::Tag) | GroupRefusal::Uncertified)
        );
        waiting.skip_if(begins && unknown);
        Some(opened)
    }

    /// Takes an object of the track of proofs. `None` if this end does not know the key of the signature, or has it
    /// already: a relay gives the newest one anew after a new connection.
    ///
    /// # Errors
    /// [`RelayRefusal`].
    pub fn proof_object(&mut self, object: &[u8]) -> Result<Option<GopVerdict>, RelayRefusal> {
        let GroupMessage::Signature(signature) = parse(object)? else {
            return Err(RelayRefusal::Malformed);
        };
        let Some(view) = &mut self.view else { return Ok(None) };
        match view.evidence.verify(signature) {
            Ok(verdict) => Ok(Some(verdict)),
            Err(GopRefusal::Repeated | GopRefusal::Key) => Ok(None),
            Err(refusal) => Err(RelayRefusal::Signature(refusal)),
        }
    }

    /// The next description, frame or loss.
    pub fn next_media(&mut self) -> Option<Assembled> {
        self.view.as_mut()?.opener.next_media()
    }

    /// Verdict on a frame that was released last and is not the camera's: its group's signature came before it.
    pub fn take_late_forgery(&mut self) -> Option<GopVerdict> {
        self.view.as_mut()?.late_forgery.take()
    }

    /// When the next challenge is due, if the camera signs frames.
    pub fn next_challenge(&self) -> Option<Duration> {
        self.view.as_ref()?.evidence.next_challenge()
    }

    /// Makes a challenge of 16 fresh random bytes, if one is due. It must be sent to the camera now, over a session
    /// with this round trip.
    pub fn challenge(&mut self, now: Duration, random: [u8; CHALLENGE_LEN], round_trip: Duration) -> Option<Challenge> {
        self.view.as_mut()?.evidence.challenge(now, random, round_trip)
    }

    /// Age that the picture can have, if the camera signs frames.
    pub fn picture_age(&self, now: Duration) -> Option<LivenessState> {
        self.view.as_ref()?.evidence.picture_age(now)
    }

    /// Progress of the signatures of groups of pictures, if the camera makes them.
    pub fn proofs(&self, now: Duration) -> Option<ProofState> {
        self.view.as_ref()?.evidence.proofs(now)
    }

    /// Returns the progress of this end in the group, now and before.
    pub fn seen(&self) -> Seen {
        let now = self.view.as_ref().map(|view| view.opener.seen());
        self.config.seen.with(now.unwrap_or_default())
    }

    /// Since when a frame waits for its key.
    pub fn waiting_since(&self) -> Option<Duration> {
        let both = [self.waiting.since(), self.sound.since()];
        both.into_iter().flatten().min()
    }

    /// When the first frame that waits for its key is given up, or [`picture_age`](Self::picture_age) or
    /// [`proofs`](Self::proofs) becomes an alarm: a relay that keeps back what it should bring wakes nobody.
    pub fn deadline(&self, now: Duration) -> Option<Duration> {
        let given_up = self.waiting_since().map(|since| since + WAIT_FOR_KEY);
        let view = self.view.as_ref();
        let alarm = view.and_then(|view| view.evidence.next_alarm(now));
        [given_up, alarm].into_iter().flatten().min()
    }

    /// Counters of the frames that the camera did not sign as they came.
    pub fn refused(&self) -> Option<FrameRefusalCounts> {
        self.view.as_ref().map(|view| view.opener.refused())
    }
}

impl View {
    fn take_sheet(&mut self, sheet: &[u8]) -> Result<Taken, SheetRefusal> {
        let taken = self.opener.take_sheet(sheet)?;
        if let Some(sign) = self.opener.sign() {
            self.evidence.expect(sign);
        }
        Ok(taken)
    }

    fn waits_for_key(&self, frame: &[u8]) -> bool {
        !self.evidence.may_release() || first_record(frame).is_some_and(|record| self.opener.waits_for_key(record))
    }

    fn open(&mut self, now: Duration, frame: &mut [u8]) -> Result<(), GroupRefusal> {
        if !self.evidence.may_release() {
            return Err(GroupRefusal::Uncertified);
        }
        let mut outcome = Ok(());
        let mut rest = frame;
        while !rest.is_empty() {
            let length = message_length(rest, MessageLength::Record).ok().flatten();
            let end = length
                .map(|length| LENGTH_PREFIX + length)
                .filter(|&end| end <= rest.len());
            let Some(end) = end else {
                return outcome.and(Err(Refusal::Malformed.into()));
            };
            let (record, more) = rest.split_at_mut(end);
            outcome = outcome.and(self.opener.open(now, &mut record[LENGTH_PREFIX..]));
            rest = more;
            self.note(now);
        }
        outcome
    }

    /// Notes the frame that was released last.
    fn note(&mut self, now: Duration) {
        if let Some(verified) = self.opener.take_verified() {
            self.late_forgery = self.evidence.released(now, &verified).or(self.late_forgery.take());
        }
    }
}

fn parse(object: &[u8]) -> Result<GroupMessage<'_>, RelayRefusal> {
    match Control::parse(object) {
        Ok(Control::Group(message)) => Ok(message),
        _ => Err(RelayRefusal::Malformed),
    }
}

fn first_record(frame: &[u8]) -> Option<&[u8]> {
    let length = message_length(frame, MessageLength::Record).ok().flatten()?;
    frame.get(LENGTH_PREFIX..LENGTH_PREFIX + length)
}
