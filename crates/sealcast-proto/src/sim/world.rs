//! Two sessions joined by a link, on a virtual clock.

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::Now;
use crate::session::{Event, Handled, Input, Output, Session, SessionError};

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the initiator to the responder.
    ToResponder,
    /// From the responder to the initiator.
    ToInitiator,
}

/// What the network does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It arrives, altered if the judge altered it.
    Deliver,
    /// It is lost.
    Drop,
    /// It arrives twice.
    Duplicate,
}

/// One end as the world sees it.
pub struct End {
    /// Its session.
    pub session: Session,
    /// What it told the program.
    pub events: Vec<Event>,
    /// The payloads of the media records it opened.
    pub media: Vec<Vec<u8>>,
    /// The error that ended it.
    pub error: Option<SessionError>,
    deadline: Duration,
}

/// Initiator and responder with a link of fixed delay between them.
pub struct World {
    /// The end that opened the connection.
    pub initiator: End,
    /// The end that accepted it.
    pub responder: End,
    /// Whether the responder admits everybody that proves an identity.
    pub admit: bool,
    /// The virtual time.
    pub now: Now,
    delay: Duration,
    flying: VecDeque<(Duration, Direction, Vec<u8>)>,
}

impl World {
    /// Join two sessions by a link of `delay`.
    pub fn new(initiator: Session, responder: Session, delay: Duration, now: Now) -> Self {
        let end = |session| End {
            session,
            events: vec![],
            media: vec![],
            error: None,
            deadline: Duration::ZERO,
        };
        Self {
            initiator: end(initiator),
            responder: end(responder),
            admit: true,
            now,
            delay,
            flying: VecDeque::new(),
        }
    }

    /// One of the ends.
    pub fn end(&mut self, direction: Direction) -> &mut End {
        match direction {
            Direction::ToResponder => &mut self.responder,
            Direction::ToInitiator => &mut self.initiator,
        }
    }

    /// Let `length` pass; `judge` decides on every message.
    pub fn run(&mut self, length: Duration, judge: &mut dyn FnMut(Direction, &mut Vec<u8>) -> Verdict) {
        let end = self.now.monotonic + length;
        loop {
            self.drain(Direction::ToResponder, judge);
            self.drain(Direction::ToInitiator, judge);
            let arrival = self.flying.front().map_or(Duration::MAX, |(at, _, _)| *at);
            let next = arrival.min(self.initiator.deadline).min(self.responder.deadline);
            if next > end {
                self.now = self.now.plus(end.saturating_sub(self.now.monotonic));
                return;
            }
            self.now = self.now.plus(next.saturating_sub(self.now.monotonic));
            if arrival <= next {
                if let Some((_, direction, message)) = self.flying.pop_front() {
                    self.deliver(direction, message);
                }
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

    /// Let `length` pass with every message delivered.
    pub fn run_cleanly(&mut self, length: Duration) {
        self.run(length, &mut |_, _| Verdict::Deliver);
    }

    /// Put a message on the link, towards the end named by `direction`.
    pub fn send(&mut self, direction: Direction, message: Vec<u8>) {
        self.flying
            .push_back((self.now.monotonic + self.delay, direction, message));
    }

    /// Tell an end something, now.
    pub fn tell(&mut self, to: Direction, input: Input<'_>) {
        let now = self.now;
        let end = self.end(to);
        if let Err(error) = end.session.handle(now, input) {
            end.error.get_or_insert(error);
        }
    }

    fn deliver(&mut self, direction: Direction, mut message: Vec<u8>) {
        let now = self.now;
        let end = self.end(direction);
        match end.session.handle(now, Input::Message(&mut message)) {
            Ok(Handled::Media(record)) => end.media.push(record.payload().to_vec()),
            Ok(_) => {}
            Err(error) => {
                end.error.get_or_insert(error);
            }
        }
    }

    /// Take what an end wants sent, and its news.
    fn drain(&mut self, at: Direction, judge: &mut dyn FnMut(Direction, &mut Vec<u8>) -> Verdict) {
        let (now, delay, admit) = (self.now, self.delay, self.admit);
        let towards = match at {
            Direction::ToResponder => Direction::ToInitiator,
            Direction::ToInitiator => Direction::ToResponder,
        };
        loop {
            let end = self.end(at);
            match end.session.poll() {
                Output::Transmit(mut message) => {
                    let copies = match judge(towards, &mut message) {
                        Verdict::Deliver => 1,
                        Verdict::Drop => 0,
                        Verdict::Duplicate => 2,
                    };
                    for _ in 0..copies {
                        self.flying.push_back((now.monotonic + delay, towards, message.clone()));
                    }
                }
                Output::Event(event) => {
                    let proved = matches!(event, Event::PeerProved(_));
                    end.events.push(event);
                    if proved && admit {
                        self.tell(at, Input::Admit);
                    }
                }
                Output::Timeout(deadline) => {
                    end.deadline = deadline;
                    return;
                }
            }
        }
    }
}
