//! A session whose media is sealed for a group (groups.md §10), on a byte stream.

use std::time::Duration;

use super::machine::Session;
use super::{Event, Handled, Output, SealedRecords, SessionError};
use crate::clock::Now;
use crate::group::{GroupName, MemberConfig, MemberKey};
use crate::group_media::{GroupOpener, GroupOpenerConfig, GroupRefusal, SealedFrame};
use crate::live::{Answer, CHALLENGE_LEN, Challenge, LivenessState, PictureAge};
use crate::sign::{Certificate, GopVerifier, SignMode};
use crate::wire::{Control, GroupMessage, Kind, MediaFrom};

/// How far a publisher has come with a viewer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupStanding {
    Offered(u16),
    Wanted(u16),
    Member(u16),
}

/// How far a viewer has come with a group whose frames come through a relay.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RelayedGroup {
    Offered(u16),
    Joined,
}

/// A viewer's view of its group.
pub(super) struct GroupView {
    opener: GroupOpener,
    sign: SignMode,
    stream: u16,
    age: PictureAge,
    /// The program was told that a challenge is due, and has not made one yet.
    challenge_due: bool,
    gops: Option<GopVerifier>,
    /// True from the first sheet on: all media is the group's.
    joined: bool,
}

impl Session {
    /// The key that the viewer and the camera share for the group of this stream, as long as the session lasts.
    pub fn member_key(&self, stream: u16) -> Option<MemberKey> {
        let name = self.group_name(stream)?;
        let super::machine::State::Established(established) = &self.state else {
            return None;
        };
        Some(MemberKey::derive(&established.exporter, &name))
    }

    /// The group of a stream of the end that publishes.
    fn group_name(&self, stream: u16) -> Option<GroupName> {
        let camera = if self.leads() {
            self.config.handshake.identity.peer_id()
        } else {
            self.facts()?.peer.id
        };
        let stream = stream.into();
        Some(GroupName { camera, stream })
    }

    /// Publisher: send a message of the group.
    pub(super) fn tell_group(&mut self, now: Now, message: GroupMessage<'_>) -> Result<(), SessionError> {
        if !self.is_established() || !self.leads() || self.unordered() || message.is_of_viewer() {
            return Err(SessionError::Misuse);
        }
        self.group = match (message, self.group) {
            (GroupMessage::Offer { stream, .. }, None) => Some(GroupStanding::Offered(stream)),
            (GroupMessage::Sheet(_), Some(GroupStanding::Wanted(stream))) => Some(GroupStanding::Member(stream)),
            (GroupMessage::Offer { .. }, _) | (_, None | Some(GroupStanding::Offered(_))) => {
                return Err(SessionError::Misuse);
            }
            (_, standing) => standing,
        };
        self.send_control(now, &Control::Group(message))?;
        // Answers use up the control key.
        self.rekey_if_due(now)
    }

    /// Publisher: true if the carrier is a byte stream, so that a group can be offered.
    pub fn may_have_group(&self) -> bool {
        self.leads() && !self.unordered()
    }

    /// Publisher: true if the viewer is a member: media is [forwarded](Self::forward) to it, and not sealed for it
    /// alone.
    pub fn is_member(&self) -> bool {
        matches!(self.group, Some(GroupStanding::Member(_)))
    }

    /// Publisher: append a frame of the group to `out`, or to the media that waits for cells.
    ///
    /// # Errors
    /// [`SessionError::Misuse`] if the viewer is no member.
    pub fn forward(&mut self, frame: &SealedFrame, out: &mut Vec<u8>) -> Result<SealedRecords, SessionError> {
        if !self.is_established() || !self.is_member() {
            return Err(SessionError::Misuse);
        }
        self.seal_for_cells_or(out, |_, out| out.extend_from_slice(&frame.bytes));
        Ok(frame.records)
    }

    /// Process a message of the group.
    pub(super) fn group_said(&mut self, now: Now, message: GroupMessage<'_>) -> Result<(), SessionError> {
        if message.is_of_viewer() != self.leads() {
            return Err(SessionError::PeerMisbehaved);
        }
        match message {
            GroupMessage::Offer { stream, sign, suite } => {
                let sign = SignMode::from_byte(sign).ok_or(SessionError::PeerMisbehaved)?;
                return self.offered(now, stream, sign, suite);
            }
            GroupMessage::Join { stream, media } => {
                if self.group != Some(GroupStanding::Offered(stream)) {
                    return Err(SessionError::PeerMisbehaved);
                }
                self.group = Some(match media {
                    MediaFrom::Session | MediaFrom::Relay => GroupStanding::Wanted(stream),
                    // Its sheets come through the relay.
                    MediaFrom::RelayEnrolled => GroupStanding::Member(stream),
                });
                self.out.push_back(Output::Event(Event::JoinsGroup(media)));
            }
            GroupMessage::Challenge(challenge) => {
                // Before it is a member, nothing is signed for it.
                if self.is_member() {
                    self.out
                        .push_back(Output::Event(Event::Challenged(Challenge(challenge))));
                }
            }
            _ if self.attends_group() => self.pass_on(message),
            _ => return self.told_as_member(message),
        }
        Ok(())
    }

    /// Viewer: let the program have what the camera says where frames come through a relay.
    fn pass_on(&mut self, message: GroupMessage<'_>) {
        let bytes = Control::Group(message).to_bytes();
        self.out.push_back(Output::Event(Event::GroupSaid(bytes)));
    }

    /// Viewer: the publisher offers a group. It joins if that is good enough; else everything stays as it is.
    fn offered(&mut self, now: Now, stream: u16, sign: SignMode, suite: u8) -> Result<(), SessionError> {
        if self.unordered() || self.group_view.is_some() || self.relayed.is_some() {
            return Err(SessionError::PeerMisbehaved);
        }
        let good = self.config.group.is_some_and(|policy| sign.covers(policy.sign));
        let suites = self.config.handshake.suites.clone();
        let known = suites.iter().any(|known| known.id == suite);
        let (Some(name), Some(key), true) = (self.group_name(stream), self.member_key(stream), good && known) else {
            return Ok(());
        };
        if self.config.group.is_some_and(|policy| policy.relayed) {
            self.relayed = Some(RelayedGroup::Offered(stream));
            let sign = sign.byte();
            self.pass_on(GroupMessage::Offer { stream, sign, suite });
            return Ok(());
        }
        let config = GroupOpenerConfig {
            member: MemberConfig { group: name, suites },
            sign,
            tell_units: self.config.delivery.tell_units,
        };
        self.group_view = Some(Box::new(GroupView {
            opener: GroupOpener::new(config, key),
            sign,
            stream,
            age: PictureAge::new(self.round_trip()),
            challenge_due: false,
            gops: None,
            joined: false,
        }));
        let media = MediaFrom::Session;
        self.send_control(now, &Control::Group(GroupMessage::Join { stream, media }))
    }

    /// Viewer: join a group whose frames come through a relay.
    pub(super) fn join_relayed(&mut self, now: Now, enrolled: bool) -> Result<(), SessionError> {
        let Some(RelayedGroup::Offered(stream)) = self.relayed else {
            return Err(SessionError::Misuse);
        };
        self.relayed = Some(RelayedGroup::Joined);
        let media = if enrolled {
            MediaFrom::RelayEnrolled
        } else {
            MediaFrom::Relay
        };
        self.send_control(now, &Control::Group(GroupMessage::Join { stream, media }))
    }

    /// Viewer: the publisher said something to a member.
    fn told_as_member(&mut self, message: GroupMessage<'_>) -> Result<(), SessionError> {
        let camera = self.facts().map(|facts| facts.peer.id);
        let (Some(view), Some(camera)) = (&mut self.group_view, camera) else {
            return Err(SessionError::PeerMisbehaved);
        };
        let misbehaved = |_| SessionError::PeerMisbehaved;
        match message {
            GroupMessage::Sheet(sheet) => {
                // On the session with the camera itself nobody else can have sent a bad one.
                view.opener
                    .take_sheet(sheet)
                    .map_err(|_| SessionError::PeerMisbehaved)?;
                if !std::mem::replace(&mut view.joined, true) {
                    self.out.push_back(Output::Event(Event::JoinedGroup(view.sign)));
                }
            }
            GroupMessage::Answer(answer) => {
                view.age.answer(&Answer::parse(answer).map_err(misbehaved)?);
            }
            GroupMessage::Certificate(certificate) => {
                let certificate = Certificate::parse(certificate).map_err(misbehaved)?;
                let key = certificate.verify(&camera, None);
                let key = key.map_err(|_| SessionError::PeerMisbehaved)?;
                view.gops = Some(GopVerifier::new(key, view.stream));
            }
            GroupMessage::Signature(signature) => {
                let gops = view.gops.as_mut().ok_or(SessionError::PeerMisbehaved)?;
                let verdict = gops.verify(signature).map_err(|_| SessionError::PeerMisbehaved)?;
                self.out.push_back(Output::Event(Event::Proven(verdict)));
            }
            GroupMessage::Offer { .. } | GroupMessage::Join { .. } | GroupMessage::Challenge(_) => {}
        }
        Ok(())
    }

    /// Viewer: a record came. `None` if it is none of a group's media.
    pub(super) fn group_media_came(&mut self, now: Now, record: &mut [u8]) -> Result<Option<Handled>, SessionError> {
        let Some(view) = self.group_view.as_mut().filter(|view| view.joined) else {
            return Ok(None);
        };
        if Kind::of(record) != Some(Kind::Media) {
            return Ok(None);
        }
        let opened = view.opener.open(now.monotonic, record);
        view.note(now.monotonic);
        self.out
            .extend(std::iter::from_fn(|| view.opener.next_media()).map(Output::Media));
        let spent = view.opener.integrity_spent();
        Ok(Some(match opened {
            Ok(()) => {
                self.refusals_in_a_row = 0;
                if self.liveness.heard(now.monotonic) {
                    self.out.push_back(Output::Event(Event::Resumed));
                }
                Handled::Done
            }
            Err(GroupRefusal::Record(reason)) if !spent => self.refuse(now, reason)?,
            Err(GroupRefusal::Record(_)) => return Err(SessionError::TooManyRefusals),
            Err(GroupRefusal::Frame(reason)) => Handled::NotTheCameras(reason),
        }))
    }

    /// Viewer: tell the program that a challenge is due.
    pub(super) fn challenge_if_due(&mut self, now: Now) {
        if self.group_deadline() <= now.monotonic
            && let Some(view) = &mut self.group_view
        {
            view.challenge_due = true;
            self.out.push_back(Output::Event(Event::ChallengeDue));
        }
    }

    /// Viewer: send a challenge.
    pub(super) fn send_challenge(&mut self, now: Now, random: [u8; CHALLENGE_LEN]) -> Result<(), SessionError> {
        let round_trip = self.round_trip();
        if self.attends_group() {
            self.send_control(now, &Control::Group(GroupMessage::Challenge(random)))?;
            return self.rekey_if_due(now);
        }
        let Some(view) = self.group_view.as_mut().filter(|view| view.challenges()) else {
            return Err(SessionError::Misuse);
        };
        view.challenge_due = false;
        match view.age.challenge(now.monotonic, random, round_trip) {
            Some(challenge) => {
                self.send_control(now, &Control::Group(GroupMessage::Challenge(challenge.0)))?;
                self.rekey_if_due(now)
            }
            None => Ok(()),
        }
    }

    /// Viewer: true once it joined a group whose frames come through a relay, so that it can challenge the camera.
    pub fn attends_group(&self) -> bool {
        self.relayed == Some(RelayedGroup::Joined)
    }

    /// Viewer: how old the picture can be, where the camera signs frames.
    pub fn picture_age(&self, now: Duration) -> Option<LivenessState> {
        let view = self.group_view.as_ref().filter(|view| view.challenges())?;
        Some(view.age.state(now))
    }

    pub(super) fn group_deadline(&self) -> Duration {
        let view = self.group_view.as_ref();
        let view = view.filter(|view| view.challenges() && !view.challenge_due);
        view.map_or(Duration::MAX, |view| view.age.next_challenge())
    }
}

impl GroupView {
    /// True if frames answer challenges.
    fn challenges(&self) -> bool {
        self.joined && self.sign.frames()
    }

    /// Notes the frame that was released last.
    fn note(&mut self, now: Duration) {
        if let Some(verified) = self.opener.take_verified() {
            self.age.verified(now, &verified);
        }
        let Some(statement) = self.opener.take_statement() else {
            return;
        };
        if let Some(gops) = &mut self.gops {
            gops.took(&statement);
        }
        self.age.released(now, &statement);
    }
}
