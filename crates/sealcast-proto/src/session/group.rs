//! A session whose media is sealed for a group (groups.md §10).

use std::time::Duration;

use super::early_records::EarlyRecords;
use super::flow::Outbound;
use super::group_channel::{MAX_UNHEARD, backoff, patience};
use super::group_view::{Again, GroupStanding, GroupView, UnopenedGroup};
use super::machine::Session;
use super::{Event, GroupPolicy, Handled, OpenedBy, Output, SealedRecords, SessionError};
use crate::clock::Now;
use crate::group::{GroupName, MemberConfig, MemberKey, Terms, TermsRefusal};
use crate::group_media::{Evidence, GroupOpener, GroupOpenerConfig, GroupRefusal, SealedFrame, Seen};
use crate::live::{CHALLENGE_LEN, Challenge, LivenessState};
use crate::sign::{ProofState, SignMode};
use crate::wire::{Accept, Control, GroupMessage, Kind, MAX_GROUP_RECORD, MediaFrom};

/// Time for which a viewer that insists on signatures of groups of pictures waits for the terms of a group, while media
/// comes for it alone.
const WAIT_FOR_TERMS: Duration = Duration::from_secs(10);
/// Time for which it waits for the certificate once it was offered one: a source may make keyframes seldom.
const WAIT_FOR_CERTIFICATE: Duration = Duration::from_secs(60);

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
        let begins = matches!(message, GroupMessage::Begin { .. });
        if !self.may_tell_group() || message.is_of_viewer() || message.is_of_carriage() || begins {
            return Err(SessionError::Misuse);
        }
        self.group = match (message, self.group) {
            (GroupMessage::Terms(terms), None) => Some(GroupStanding::Offered(stream_of(terms)?)),
            (GroupMessage::Sheet(_), Some(GroupStanding::Wanted(stream))) => Some(GroupStanding::Member(stream)),
            (GroupMessage::Terms(_), _) | (_, None | Some(GroupStanding::Offered(_))) => {
                return Err(SessionError::Misuse);
            }
            (GroupMessage::Multicast(_), standing) => {
                self.offer_multicast()?;
                standing
            }
            (_, standing) => standing,
        };
        self.send_group(now, message)?;
        // Answers use up the control key.
        self.rekey_if_due(now)
    }

    /// Publisher: true if a group can be offered: its records fit the packets of this carrier, or its cells.
    pub fn may_have_group(&self) -> bool {
        let fits = |outbound: &Outbound| outbound.carries(MAX_GROUP_RECORD);
        let fits = self.outbound.as_ref().is_none_or(fits);
        self.may_tell_group() && fits
    }

    /// Publisher: true if a group can be offered to an archive's node, whose records are cut anew for this carrier.
    pub fn may_tell_group(&self) -> bool {
        self.is_established() && self.leads()
    }

    /// Publisher: true if the viewer is a member: media is [forwarded](Self::forward) to it, and not sealed for it
    /// alone.
    pub fn is_member(&self) -> bool {
        matches!(self.group, Some(GroupStanding::Member(_)))
    }

    /// Publisher: true if all that [`forward`](Self::forward) does with a frame of the group is to append its bytes.
    /// The caller may give them to the carrier itself, after all that it appended before.
    pub fn forwards_as_it_is(&self) -> bool {
        self.is_established() && self.is_member() && !self.unordered() && !self.is_shaped()
    }

    /// Publisher: append a frame of the group to `out`, or to the media that waits for cells. Where media may be lost
    /// `out` is not touched, as by [`seal_frame`](Self::seal_frame).
    ///
    /// # Errors
    /// [`SessionError::Misuse`] if the viewer is no member, or the frame was not sealed for packets where they are
    /// needed; [`SessionError::PeerLost`] if the viewer takes no messages of the group.
    pub fn forward(&mut self, now: Now, frame: &SealedFrame, out: &mut Vec<u8>) -> Result<SealedRecords, SessionError> {
        if !self.is_established() || !self.is_member() {
            return Err(SessionError::Misuse);
        }
        if self.carries_sealed() {
            return self.carry(now, frame, out);
        }
        let waited = self.media_backlog();
        let forwarded = if self.unordered() {
            self.forward_packets(now, frame)
        } else {
            self.seal_for_cells_or(out, |_, out| out.extend_from_slice(&frame.bytes));
            Ok(frame.records)
        };
        self.note_shaped_frame(now, waited);
        forwarded
    }

    fn forward_packets(&mut self, now: Now, frame: &SealedFrame) -> Result<SealedRecords, SessionError> {
        let (Some(outbound), Some(first)) = (&mut self.outbound, frame.blocks.first()) else {
            return Err(SessionError::Misuse);
        };
        if self.liveness.is_stalled() {
            return Ok(SealedRecords::default());
        }
        let begins = !outbound.is_of_group();
        if begins {
            outbound.begin_group(first.first);
        }
        outbound.forward(now.monotonic, &frame.bytes, &frame.blocks);
        if begins {
            let number = first.first as u32;
            let told = self.send_group(now, GroupMessage::Begin { number });
            told.map_err(|error| self.fail(now, error))?;
        }
        Ok(frame.records)
    }

    /// Process a message of the group.
    pub(super) fn group_said(&mut self, now: Now, message: GroupMessage<'_>) -> Result<(), SessionError> {
        if message.is_of_viewer() != self.leads() {
            return Err(SessionError::PeerMisbehaved);
        }
        match message {
            GroupMessage::Taken { next } if self.says_twice() => return self.group_taken(now, next),
            GroupMessage::Numbered { number, more, bytes } if self.says_twice() => {
                return self.group_told_in_order(now, (number, more), bytes);
            }
            GroupMessage::Taken { .. } | GroupMessage::Numbered { .. } => return Err(SessionError::PeerMisbehaved),
            _ => {}
        }
        // What the publisher says comes with a number where it may be lost, but for answers.
        let alone = self.leads() || matches!(message, GroupMessage::Answer(_));
        if self.says_twice() && !alone {
            return Err(SessionError::PeerMisbehaved);
        }
        self.group_said_in_order(now, message)
    }

    /// Process a message of the group whose turn it is.
    pub(super) fn group_said_in_order(&mut self, now: Now, message: GroupMessage<'_>) -> Result<(), SessionError> {
        match message {
            GroupMessage::Terms(terms) => return self.offered(now, terms),
            GroupMessage::Join { stream, media } if self.joined == Some((stream, media)) => match media {
                // It was said again, because the answer is late.
                MediaFrom::Session | MediaFrom::Sealed if self.says_twice() => {}
                MediaFrom::Session | MediaFrom::Sealed => return Err(SessionError::PeerMisbehaved),
                // A sheet is missing.
                MediaFrom::Relay | MediaFrom::RelayEnrolled => {
                    self.out.push_back(Output::Event(Event::JoinsGroup(media)));
                }
            },
            GroupMessage::Join { stream, media } => {
                if self.group != Some(GroupStanding::Offered(stream)) {
                    return Err(SessionError::PeerMisbehaved);
                }
                self.joined = Some((stream, media));
                self.group = Some(match media {
                    MediaFrom::Session | MediaFrom::Relay => GroupStanding::Wanted(stream),
                    // Its sheets come through the relay, or it gets none.
                    MediaFrom::RelayEnrolled | MediaFrom::Sealed => GroupStanding::Member(stream),
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
            GroupMessage::Hears(hearing) => return self.hears(now, hearing),
            _ if self.attends_group() => self.pass_on(message),
            _ => return self.told_as_member(now, message),
        }
        Ok(())
    }

    /// Viewer: let the program have what the camera says where the session does not open frames.
    fn pass_on(&mut self, message: GroupMessage<'_>) {
        if let Some(unopened) = &mut self.unopened {
            // The wish to join was heard.
            unopened.says_join = None;
        }
        let bytes = Control::Group(message).to_bytes();
        self.out.push_back(Output::Event(Event::GroupSaid(bytes)));
    }

    /// Viewer: the publisher offers a group. It joins if its terms are good enough; else everything stays as it is.
    fn offered(&mut self, now: Now, said: &[u8]) -> Result<(), SessionError> {
        if self.group_view.is_some() || self.unopened.is_some() {
            return Err(SessionError::PeerMisbehaved);
        }
        let stream = stream_of(said).map_err(|_| SessionError::PeerMisbehaved)?;
        let (Some(name), Some(key)) = (self.group_name(stream), self.member_key(stream)) else {
            return Ok(());
        };
        // On the session with the camera itself nobody else can have made bad ones.
        let terms = Terms::verified(said, &name, &self.config.handshake.wish.camera);
        let terms = match terms {
            Ok(terms) => terms,
            Err(TermsRefusal::Sign(mode)) => {
                // It is served alone.
                self.out.push_back(Output::Event(Event::NoSuchSignatures(mode)));
                return Ok(());
            }
            Err(_) => return Err(SessionError::PeerMisbehaved),
        };
        let sign = terms.sign();
        let least = self.config.group.map_or(SignMode::Off, |policy| policy.sign);
        if least.gops() && sign < least {
            return Err(SessionError::SignsTooLittle);
        }
        let good = self.config.group.is_some() && sign >= least;
        let suites = self.config.handshake.suites.clone();
        let known = suites.iter().any(|known| known.id == terms.suite());
        if !(good && known) {
            return Ok(());
        }
        if self
            .config
            .group
            .is_some_and(|policy| policy.opened_by == OpenedBy::Program)
        {
            self.unopened = Some(UnopenedGroup {
                stream,
                media: None,
                says_join: None,
            });
            self.pass_on(GroupMessage::Terms(said));
            return Ok(());
        }
        let config = GroupOpenerConfig {
            member: MemberConfig { group: name, suites },
            tell_units: self.config.delivery.tell_units,
        };
        let mut opener = GroupOpener::new(config, key);
        opener.agree(terms).map_err(|_| SessionError::PeerMisbehaved)?;
        if self.config.delivery.keep_sealed {
            opener.keep_sealed();
        }
        self.group_view = Some(Box::new(GroupView {
            opener,
            stream,
            evidence: Evidence::new(name, sign, least, self.shortest_round_trip()),
            challenge_due: false,
            joined: false,
            says_join: None,
            begun: false,
            early: EarlyRecords::default(),
            opened_packet: false,
            forged: None,
            late_forgery: None,
        }));
        self.say_join(now)
    }

    /// Viewer: join a group whose frames the session does not open, or ask for its sheet again, which the relay does
    /// not bring.
    pub(super) fn join_unopened(&mut self, now: Now, media: MediaFrom) -> Result<(), SessionError> {
        let fits = media != MediaFrom::Session;
        let unopened = self.unopened.as_mut().filter(|_| fits).ok_or(SessionError::Misuse)?;
        if *unopened.media.get_or_insert(media) != media {
            return Err(SessionError::Misuse);
        }
        unopened.says_join = None;
        if let Some(inbound) = self.inbound.as_mut().filter(|_| media == MediaFrom::Sealed) {
            inbound.numbers_tell();
        }
        self.say_join(now)
    }

    /// Viewer: say that it wants to be a member.
    fn say_join(&mut self, now: Now) -> Result<(), SessionError> {
        let wait = self.says_twice().then(|| patience(self.round_trip()));
        let (stream, media, says_join) = match (&mut self.group_view, &mut self.unopened) {
            (Some(view), _) => (view.stream, MediaFrom::Session, &mut view.says_join),
            (None, Some(unopened)) => match unopened.media {
                Some(media) => (unopened.stream, media, &mut unopened.says_join),
                None => return Ok(()),
            },
            (None, None) => return Ok(()),
        };
        let times = says_join.map_or(0, |again| again.times + 1);
        // The group may be full, and then there is no answer.
        let wait = wait.filter(|_| times < MAX_UNHEARD);
        *says_join = wait.map(|wait| Again {
            at: now.monotonic + backoff(wait, times),
            times,
        });
        self.send_control(now, &Control::Group(GroupMessage::Join { stream, media }))
    }

    /// Viewer: say again that it wants to be a member, if the publisher has not answered.
    pub(super) fn repeat_join(&mut self, now: Now) -> Result<(), SessionError> {
        match self.says_join().is_some_and(|due| now.monotonic >= due.at) {
            true => self.say_join(now),
            false => Ok(()),
        }
    }

    /// Viewer: the publisher said something to a member.
    fn told_as_member(&mut self, now: Now, message: GroupMessage<'_>) -> Result<(), SessionError> {
        let view = self.group_view.as_mut().ok_or(SessionError::PeerMisbehaved)?;
        match message {
            GroupMessage::Sheet(sheet) => {
                // On the session with the camera itself nobody else can have sent a bad one.
                view.opener
                    .take_sheet(sheet)
                    .map_err(|_| SessionError::PeerMisbehaved)?;
                view.says_join = None;
                if !std::mem::replace(&mut view.joined, true) {
                    self.out
                        .push_back(Output::Event(Event::JoinedGroup(view.evidence.sign())));
                }
                return self.take_early_packets(now);
            }
            GroupMessage::Begin { number } => {
                let inbound = self.inbound.as_mut().filter(|_| view.joined && !view.begun);
                let inbound = inbound.ok_or(SessionError::PeerMisbehaved)?;
                view.begun = true;
                inbound.begin_anew(number, now.monotonic, view.evidence.sign().frames());
                return self.take_early_packets(now);
            }
            GroupMessage::Answer(answer) => {
                let answered = view.evidence.answered(answer);
                answered.map_err(|_| SessionError::PeerMisbehaved)?;
            }
            GroupMessage::Certificate(certificate) => {
                let certified = view.evidence.certified(certificate);
                certified.map_err(|_| SessionError::PeerMisbehaved)?;
                self.keep_said(message);
                return self.take_early_packets(now);
            }
            GroupMessage::Signature(signature) => {
                let verdict = view.evidence.verify(signature);
                let verdict = verdict.map_err(|_| SessionError::PeerMisbehaved)?;
                self.out.push_back(Output::Event(Event::Proven(verdict)));
                self.keep_said(message);
            }
            GroupMessage::Multicast(group) => return self.told_of_multicast(now, group),
            // It is no archive's node.
            GroupMessage::Recipients(_) | GroupMessage::ArchiveKey { .. } => {
                return Err(SessionError::PeerMisbehaved);
            }
            // Handled before.
            GroupMessage::Terms(_)
            | GroupMessage::Join { .. }
            | GroupMessage::Challenge(_)
            | GroupMessage::Hears(_)
            | GroupMessage::Numbered { .. }
            | GroupMessage::Taken { .. } => {}
        }
        Ok(())
    }

    /// Viewer: let the program have what an archive keeps beside records.
    fn keep_said(&mut self, message: GroupMessage<'_>) {
        if self.config.delivery.keep_sealed {
            self.pass_on(message);
        }
    }

    /// Viewer: a record came. `None` if it is none of a group's media.
    pub(super) fn group_media_came(&mut self, now: Now, record: &mut [u8]) -> Result<Option<Handled>, SessionError> {
        if self.unordered() {
            return self.group_packet_came(now, record);
        }
        let of_media = Kind::of(record) == Some(Kind::Media);
        if of_media && self.joined_as() == Some(MediaFrom::Sealed) {
            // It says nothing about the camera: no key here verifies it.
            self.out.push_back(Output::Event(Event::SealedRecord(record.to_vec())));
            return Ok(Some(Handled::Done));
        }
        let Some(view) = self.group_view.as_mut().filter(|view| view.joined) else {
            return Ok(None);
        };
        if !of_media {
            return Ok(None);
        }
        if !view.evidence.may_release() {
            return self.withhold(now).map(|()| Some(Handled::Done));
        }
        view.opener
            .accept_clear(self.following.accept(now.monotonic) == Accept::ClearMedia);
        let opened = view.opener.open(now.monotonic, record);
        view.note(now.monotonic);
        self.out.extend(view.take_late_forgery());
        self.out
            .extend(std::iter::from_fn(|| view.opener.next_media()).map(Output::Media));
        let spent = view.opener.integrity_spent();
        Ok(Some(match opened {
            Ok(()) => {
                self.refusals_in_a_row = 0;
                self.heard_peer(now);
                Handled::Done
            }
            Err(GroupRefusal::Record(reason)) if !spent => self.refuse(now, reason)?,
            Err(GroupRefusal::Record(_) | GroupRefusal::Uncertified) => return Err(SessionError::TooManyRefusals),
            // A session with the camera itself is new, and so is what it brings.
            Err(GroupRefusal::Rewound) => Handled::Done,
            Err(GroupRefusal::Frame(reason)) => Handled::NotTheCameras(reason),
            Err(GroupRefusal::Sound(reason)) => Handled::NotTheCamerasSound(reason),
        }))
    }

    /// Viewer: true if it insists on signatures of groups of pictures. Then nothing is shown that is sealed for it
    /// alone.
    pub(super) fn insists_on_gops(&self) -> bool {
        let insists = |policy: GroupPolicy| policy.sign.gops() && policy.opened_by == OpenedBy::Session;
        self.config.group.is_some_and(insists)
    }

    /// Viewer: media came that is not shown, since no certificate has come.
    pub(super) fn withhold(&mut self, now: Now) -> Result<(), SessionError> {
        let since = *self.withheld_since.get_or_insert(now.monotonic);
        let wait = match self.group_view {
            Some(_) => WAIT_FOR_CERTIFICATE,
            None => WAIT_FOR_TERMS,
        };
        match now.monotonic < since + wait {
            true => Ok(()),
            false => Err(SessionError::SignsTooLittle),
        }
    }

    /// Viewer: tell the program that a challenge is due.
    pub(super) fn challenge_if_due(&mut self, now: Now) {
        if let Some(view) = &mut self.group_view
            && !view.challenge_due
            && view.next_challenge().is_some_and(|due| due <= now.monotonic)
        {
            view.challenge_due = true;
            self.out.push_back(Output::Event(Event::ChallengeDue));
        }
    }

    /// Viewer: send a challenge.
    pub(super) fn send_challenge(&mut self, now: Now, random: [u8; CHALLENGE_LEN]) -> Result<(), SessionError> {
        let round_trip = self.shortest_round_trip();
        if self.attends_group() {
            self.send_control(now, &Control::Group(GroupMessage::Challenge(random)))?;
            return self.rekey_if_due(now);
        }
        let view = self.group_view.as_mut();
        let view = view.filter(|view| view.next_challenge().is_some());
        let view = view.ok_or(SessionError::Misuse)?;
        view.challenge_due = false;
        match view.evidence.challenge(now.monotonic, random, round_trip) {
            Some(challenge) => {
                self.send_control(now, &Control::Group(GroupMessage::Challenge(challenge.0)))?;
                self.rekey_if_due(now)
            }
            None => Ok(()),
        }
    }

    /// Viewer: true once it joined a group whose frames the session does not open.
    pub fn attends_group(&self) -> bool {
        self.joined_as().is_some()
    }

    /// Viewer: how it joined a group whose frames the session does not open.
    fn joined_as(&self) -> Option<MediaFrom> {
        self.unopened.as_ref()?.media
    }

    /// Viewer: how old the picture can be, where the camera signs frames.
    pub fn picture_age(&self, now: Duration) -> Option<LivenessState> {
        let view = self.group_view.as_ref().filter(|view| view.joined)?;
        view.evidence.picture_age(now)
    }

    /// Viewer: how far signatures of groups of pictures have come, where the camera makes them. To be asked after each
    /// call: the session is called more than once a second.
    pub fn proofs(&self, now: Duration) -> Option<ProofState> {
        self.group_view.as_ref()?.evidence.proofs(now)
    }

    /// Viewer: what it has seen of the group, if it opens its frames.
    pub fn seen(&self) -> Option<Seen> {
        self.group_view.as_ref().map(|view| view.opener.seen())
    }

    pub(super) fn group_deadline(&self) -> Duration {
        let says_join = self.says_join().map_or(Duration::MAX, |again| again.at);
        let view = self.group_view.as_ref().filter(|view| !view.challenge_due);
        let challenge = view.and_then(|view| view.next_challenge());
        challenge.map_or(says_join, |challenge| challenge.min(says_join))
    }

    fn says_join(&self) -> Option<Again> {
        match &self.group_view {
            Some(view) => view.says_join,
            None => self.unopened.as_ref()?.says_join,
        }
    }

    /// Viewer: true if media comes in packets, and is the group's.
    pub(super) fn gets_group_packets(&self) -> bool {
        self.group_view.as_ref().is_some_and(|view| view.begun)
    }
}

/// The stream of terms.
fn stream_of(terms: &[u8]) -> Result<u16, SessionError> {
    let stream = Terms::stream_of(terms).ok();
    stream
        .and_then(|stream| stream.try_into().ok())
        .ok_or(SessionError::Misuse)
}
