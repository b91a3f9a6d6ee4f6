//! Two sessions joined by a link, on a virtual clock.

use std::time::Duration;

use super::{Link, LinkProfile};
use crate::clock::Now;
use crate::session::{Elsewhere, Event, Handled, Input, OutgoingFrame, OutgoingSound, Output, Session, SessionError};
use crate::sign::FrameRefusal;
use crate::unit::{Assembled, SoundInfo, StreamInfo};
use crate::wire::{AddressBytes, HEADER_LEN, Kind, MAX_RECORD, RetryCookies, TAG_LEN, Unconnected};

/// Address of the initiator in every world, from which its cookie is made.
pub const WORLD_ADDRESS: AddressBytes = [0; 18];

/// Direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the initiator to the responder.
    ToResponder,
    /// From the responder to the initiator.
    ToInitiator,
}

/// Fate of a message in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It arrives, with any changes that the judge made to it.
    Deliver,
    /// It is lost.
    Drop,
    /// It arrives twice. Media packets ([`Session::poll_packets`]) arrive only once.
    Duplicate,
}

/// One end of a world.
pub struct End {
    /// Its session.
    pub session: Session,
    /// Events that it reported to the program.
    pub events: Vec<Event>,
    /// Payloads of the media records that it opened on a byte stream.
    pub media: Vec<Vec<u8>>,
    /// Media that it handed out, and when.
    pub assembled: Vec<(Duration, Assembled)>,
    /// Reasons why it refused frames of a group that the camera did not sign as they came.
    pub not_the_cameras: Vec<FrameRefusal>,
    /// The error that ended it.
    pub error: Option<SessionError>,
    deadline: Duration,
}

/// An initiator and a responder with a link between them.
pub struct World {
    /// The end that opened the connection.
    pub initiator: End,
    /// The end that accepted it.
    pub responder: End,
    /// Answers an initiator's knocks for the responder with retry cookies, over datagrams, until its session begins.
    pub cookies: Option<RetryCookies>,
    /// Cookies that answer knocks, until they are put on the link.
    answers: Vec<Vec<u8>>,
    /// The initiator's new address, until the responder follows it there. Only challenges reach the initiator until
    /// then.
    pub moved: Option<Elsewhere>,
    /// Challenges that the responder sent to the new address.
    pub challenges: u32,
    /// True if the responder admits every peer that proves an identity.
    pub admit: bool,
    /// Virtual time.
    pub now: Now,
    /// Rate of the responder's wall clock beyond the initiator's, in parts per million from the beginning on.
    pub drift_ppm: i64,
    to_responder: Link,
    to_initiator: Link,
}

impl World {
    /// Joins two sessions by a link with this delay.
    pub fn new(initiator: Session, responder: Session, delay: Duration, now: Now) -> Self {
        let profile = LinkProfile {
            delay,
            keep_order: true,
            // The link stands for a byte stream, whose messages are longer than any packet.
            mtu: MAX_RECORD,
            ..LinkProfile::default()
        };
        Self::over(initiator, responder, &profile, 0, now)
    }

    /// Joins two sessions by a link with this profile in both directions.
    pub fn over(initiator: Session, responder: Session, profile: &LinkProfile, seed: u64, now: Now) -> Self {
        let end = |session| End {
            session,
            events: vec![],
            media: vec![],
            assembled: vec![],
            not_the_cameras: vec![],
            error: None,
            deadline: Duration::ZERO,
        };
        Self {
            initiator: end(initiator),
            responder: end(responder),
            cookies: None,
            answers: vec![],
            moved: None,
            challenges: 0,
            admit: true,
            now,
            drift_ppm: 0,
            to_responder: Link::new(profile.clone(), seed),
            to_initiator: Link::new(profile.clone(), !seed),
        }
    }

    /// One of the ends.
    pub fn end(&mut self, direction: Direction) -> &mut End {
        match direction {
            Direction::ToResponder => &mut self.responder,
            Direction::ToInitiator => &mut self.initiator,
        }
    }

    /// The time as the clocks of an end show it.
    fn time(&self, at: Direction) -> Now {
        let drift = match at {
            Direction::ToResponder => self.drift_ppm * (self.now.monotonic.as_nanos() / 1_000_000) as i64,
            Direction::ToInitiator => 0,
        };
        Now {
            wall: self.now.wall.saturating_add_signed(drift),
            ..self.now
        }
    }

    /// Lets `length` pass. `judge` decides the fate of every message.
    pub fn run(&mut self, length: Duration, judge: &mut dyn FnMut(Direction, &mut Vec<u8>) -> Verdict) {
        let end = self.now.monotonic + length;
        loop {
            self.drain(Direction::ToResponder, judge);
            self.drain(Direction::ToInitiator, judge);
            let arrivals = [&self.to_responder, &self.to_initiator].map(Link::next_delivery);
            let arrival = arrivals.into_iter().flatten().min().unwrap_or(Duration::MAX);
            let next = arrival.min(self.initiator.deadline).min(self.responder.deadline);
            if next > end {
                self.now = self.now.plus(end.saturating_sub(self.now.monotonic));
                return;
            }
            self.now = self.now.plus(next.saturating_sub(self.now.monotonic));
            if arrival <= next {
                self.deliver_what_came();
            } else {
                let late = if self.initiator.deadline <= next {
                    Direction::ToInitiator
                } else {
                    Direction::ToResponder
                };
                self.tell(late, Input::Timeout);
                self.drain(late, judge);
                let deadline = self.end(late).deadline;
                assert!(
                    deadline > next,
                    "a deadline that a timeout does not clear would spin the program"
                );
            }
        }
    }

    /// Lets `length` pass, with every message delivered.
    pub fn run_cleanly(&mut self, length: Duration) {
        self.run(length, &mut |_, _| Verdict::Deliver);
    }

    /// Puts a message on the link towards the end that `direction` names.
    pub fn send(&mut self, direction: Direction, message: Vec<u8>) {
        let now = self.now.monotonic;
        self.link(direction).send(now, message);
    }

    /// The link towards the end that `direction` names.
    pub fn link(&mut self, direction: Direction) -> &mut Link {
        match direction {
            Direction::ToResponder => &mut self.to_responder,
            Direction::ToInitiator => &mut self.to_initiator,
        }
    }

    /// Makes an end publish a frame, where media may be lost.
    ///
    /// # Errors
    /// See [`Session::seal_frame`].
    pub fn publish(&mut self, at: Direction, frame: &OutgoingFrame<'_>) -> Result<(), SessionError> {
        let now = self.time(at);
        self.end(at).session.seal_frame(now, frame, &mut Vec::new()).map(drop)
    }

    /// Makes an end publish a stream's description, where media may be lost.
    ///
    /// # Errors
    /// See [`Session::seal_info`].
    pub fn describe(&mut self, at: Direction, stream: u32, info: &StreamInfo) -> Result<(), SessionError> {
        let now = self.time(at);
        self.end(at)
            .session
            .seal_info(now, stream, info, &mut Vec::new())
            .map(drop)
    }

    /// Makes an end publish a packet of sound, where media may be lost.
    ///
    /// # Errors
    /// See [`Session::seal_sound`].
    pub fn publish_sound(&mut self, at: Direction, sound: &OutgoingSound<'_>) -> Result<(), SessionError> {
        let now = self.time(at);
        self.end(at).session.seal_sound(now, sound, &mut Vec::new()).map(drop)
    }

    /// Makes an end publish the description of sound, where media may be lost.
    ///
    /// # Errors
    /// See [`Session::seal_sound_info`].
    pub fn describe_sound(&mut self, at: Direction, info: &SoundInfo) -> Result<(), SessionError> {
        let now = self.time(at);
        self.end(at)
            .session
            .seal_sound_info(now, info, &mut Vec::new())
            .map(drop)
    }

    fn deliver_what_came(&mut self) {
        let now = self.now.monotonic;
        for direction in [Direction::ToResponder, Direction::ToInitiator] {
            while let Some(message) = self.link(direction).deliver(now) {
                self.deliver(direction, message);
            }
        }
    }

    /// Gives an end an input now.
    pub fn tell(&mut self, to: Direction, input: Input<'_>) {
        let now = self.time(to);
        let end = self.end(to);
        if let Err(error) = end.session.handle(now, input) {
            end.error.get_or_insert(error);
        }
    }

    fn deliver(&mut self, direction: Direction, mut message: Vec<u8>) {
        let now = self.time(direction);
        if let Some(cookies) = self.cookies.as_ref().filter(|_| direction == Direction::ToResponder) {
            match cookies.judge(&WORLD_ADDRESS, &message) {
                Unconnected::Retry(answer) => {
                    self.answers.push(answer.to_vec());
                    return;
                }
                // From now on the connection is known, and all of its datagrams go to the session.
                Unconnected::Begin { .. } => self.cookies = None,
                Unconnected::Unknown | Unconnected::Ignore => {}
            }
        }
        let moved = self.moved.filter(|_| direction == Direction::ToResponder);
        let end = self.end(direction);
        // Media on a byte stream: its records are opened in place, until the session is over.
        let open = end.session.assembles_stream() && !end.session.is_over();
        let media = open && Kind::of(&message) == Some(Kind::Media);
        let input = match moved {
            Some(elsewhere) => Input::MessageFrom(elsewhere, &mut message),
            None => Input::Message(&mut message),
        };
        match end.session.handle(now, input) {
            Ok(Handled::Done) if media => end.media.push(message[HEADER_LEN..message.len() - TAG_LEN].to_vec()),
            Ok(Handled::NotTheCameras(reason) | Handled::NotTheCamerasSound(reason)) => {
                end.not_the_cameras.push(reason);
            }
            Ok(_) => {}
            Err(error) => {
                end.error.get_or_insert(error);
            }
        }
        if let Err(error) = end.session.caught_up(now, false) {
            end.error.get_or_insert(error);
        }
    }

    /// Sends what an end wants to transmit, and collects its events and media.
    fn drain(&mut self, at: Direction, judge: &mut dyn FnMut(Direction, &mut Vec<u8>) -> Verdict) {
        let (now, admit) = (self.time(at), self.admit);
        if at == Direction::ToResponder {
            for mut answer in std::mem::take(&mut self.answers) {
                if judge(Direction::ToInitiator, &mut answer) != Verdict::Drop {
                    self.to_initiator.send(now.monotonic, answer);
                }
            }
        }
        let towards = match at {
            Direction::ToResponder => Direction::ToInitiator,
            Direction::ToInitiator => Direction::ToResponder,
        };
        loop {
            let gone = towards == Direction::ToInitiator && self.moved.is_some();
            let end = self.end(at);
            match end.session.poll() {
                Output::Transmit(_) if gone => {}
                Output::Challenge(message) => {
                    self.challenges += 1;
                    self.link(towards).send(now.monotonic, message);
                }
                Output::Follow => self.moved = None,
                Output::Transmit(mut message) => {
                    let copies = match judge(towards, &mut message) {
                        Verdict::Deliver => 1,
                        Verdict::Drop => 0,
                        Verdict::Duplicate => 2,
                    };
                    for _ in 0..copies {
                        self.link(towards).send(now.monotonic, message.clone());
                    }
                }
                Output::Event(event) => {
                    let proved = matches!(event, Event::PeerProved(_));
                    end.events.push(event);
                    if proved && admit {
                        self.tell(at, Input::Admit);
                    }
                }
                Output::Media(media) => end.assembled.push((now.monotonic, media)),
                Output::Timeout(_) => break,
            }
        }
        self.drain_packets(at, towards, judge);
    }

    fn drain_packets(
        &mut self,
        at: Direction,
        towards: Direction,
        judge: &mut dyn FnMut(Direction, &mut Vec<u8>) -> Verdict,
    ) {
        let now = self.time(at);
        let mut packets = Vec::new();
        let session = &mut self.end(at).session;
        while let Some(run) = session.poll_packets(now) {
            packets.extend(run.bytes.chunks(run.size).map(<[u8]>::to_vec));
            session.packets_sent(now);
        }
        let gone = towards == Direction::ToInitiator && self.moved.is_some();
        for mut packet in packets {
            if !gone && judge(towards, &mut packet) != Verdict::Drop {
                self.link(towards).send(now.monotonic, packet);
            }
        }
        // Sending may have changed the next timeout.
        let end = self.end(at);
        if let Output::Timeout(deadline) = end.session.poll() {
            end.deadline = deadline;
        }
    }
}
