//! State, inputs and outputs of the server.

use std::collections::VecDeque;
use std::time::Duration;

use data_encoding::HEXLOWER;

use super::{
    ANSWER_PATIENCE, PLAYER_TIMEOUT, PlayerAnswer, PlayerConfig, PlayerError, PlayerEvent, PlayerInput, PlayerOutput,
};
use crate::rtsp::auth::Verifier;
use crate::rtsp::carried::{CarriedStatus, Parameters, Verb};
use crate::rtsp::message::{Message, Request, Response};
use crate::rtsp::reader::MessageReader;
use crate::rtsp::tracks::{Channel, Interleaving, Track, TrackSet};
use crate::rtsp::transport::{PortPair, Route};

/// The camera of the player's last DESCRIBE.
pub(super) struct Camera {
    pub(super) path: String,
    /// Base URL of its tracks, with a slash at the end.
    pub(super) base: String,
    pub(super) tracks: usize,
}

/// The tracks that the player has set up.
#[derive(Default)]
pub(super) struct Watching {
    pub(super) tracks: TrackSet,
    pub(super) interleaving: Interleaving,
    /// The player's ports, by track.
    pub(super) udp: Vec<(Track, PortPair)>,
    pub(super) playing: bool,
}

/// The request to the program that is waiting for an answer.
pub(super) enum Question {
    Describe {
        path: String,
        base: String,
    },
    Ports {
        track: Track,
        client: PortPair,
    },
    Command(Verb),
    /// Whether the player may go on, with its request and whether the credentials in it are right.
    Login {
        request: Box<Request>,
        right: bool,
    },
}

/// A player's request that is not answered yet.
pub(super) struct Pending {
    pub(super) cseq: u32,
    pub(super) question: Question,
    deadline: Duration,
}

/// RTSP server for one player; see the module documentation.
pub struct PlayerServer {
    pub(super) udp_allowed: bool,
    pub(super) session_id: String,
    pub(super) verifier: Option<Verifier>,
    /// True once the player has proved its credentials, or if it needs none.
    pub(super) logged_in: bool,
    pub(super) failed_logins: u32,
    reader: MessageReader,
    out: VecDeque<PlayerOutput>,
    pub(super) camera: Option<Camera>,
    pub(super) watching: Option<Watching>,
    pending: Option<Pending>,
    /// Number of requests to the program so far, which is the number of the last one.
    questions: u32,
    heard: Duration,
    over: bool,
}

impl PlayerServer {
    /// Creates the server of a player that has connected. `now` is monotonic.
    pub fn new(config: PlayerConfig, now: Duration) -> Self {
        let (name, nonce) = config.entropy.split_at(16);
        let nonce = nonce.try_into().expect("the other half has 16 bytes");
        Self {
            udp_allowed: config.udp,
            session_id: HEXLOWER.encode(&name[..8]),
            logged_in: config.login.is_none(),
            verifier: config
                .login
                .map(|(credentials, algorithm)| Verifier::new(credentials, algorithm, nonce)),
            failed_logins: 0,
            reader: MessageReader::default(),
            out: VecDeque::new(),
            camera: None,
            watching: None,
            pending: None,
            questions: 0,
            heard: now,
            over: false,
        }
    }

    /// Returns true if the player has proved its credentials, or needs none.
    pub fn is_logged_in(&self) -> bool {
        self.logged_in
    }

    /// Processes an input at a monotonic time; see the module documentation.
    ///
    /// # Errors
    /// [`PlayerError`]: the connection must end.
    pub fn handle(&mut self, now: Duration, input: PlayerInput<'_>) -> Result<(), PlayerError> {
        if self.over {
            return Err(PlayerError::Misuse);
        }
        let handled = self.take(now, input).and_then(|()| self.read_on(now));
        self.over = handled.is_err();
        if let Err(PlayerError::NotRtsp(_)) = handled {
            self.send(Response::new(400), None);
        }
        handled
    }

    /// Returns the next output; see the module documentation.
    pub fn poll(&mut self) -> PlayerOutput {
        self.out
            .pop_front()
            .unwrap_or_else(|| PlayerOutput::Timeout(self.deadline()))
    }

    /// Route of a packet from the camera to the player, or `None` if the player does not receive this channel now.
    pub fn route(&self, channel: Channel) -> Option<Route> {
        let watching = self.watching.as_ref().filter(|watching| watching.playing)?;
        if let Some(number) = watching.interleaving.number(channel) {
            return Some(Route::Interleaved(number));
        }
        let (_, ports) = watching.udp.iter().find(|(track, _)| *track == channel.track)?;
        let port = if channel.rtcp { ports.rtcp } else { ports.rtp };
        Some(Route::Udp { port })
    }

    fn take(&mut self, now: Duration, input: PlayerInput<'_>) -> Result<(), PlayerError> {
        match input {
            PlayerInput::Bytes(bytes) => {
                self.heard = now;
                Ok(self.reader.push(bytes)?)
            }
            PlayerInput::Alive => {
                self.heard = now;
                Ok(())
            }
            PlayerInput::Timeout => self.time_out(now),
            PlayerInput::Answer(number, answer) => match self.pending.take_if(|_| number == self.questions) {
                Some(pending) => self.answered(now, pending, answer),
                None => Ok(()),
            },
        }
    }

    /// Processes requests until one has to wait for an answer of the program.
    fn read_on(&mut self, now: Duration) -> Result<(), PlayerError> {
        while self.pending.is_none() {
            if !self.logged_in && self.reader.begins_with_data() {
                return Err(PlayerError::DataBeforeLogin);
            }
            match self.reader.next_message()? {
                Some(Message::Request(request)) => self.request(now, request)?,
                Some(Message::Data { channel, bytes }) => self.data(channel, bytes),
                // The server sends no requests to players.
                Some(Message::Response(_)) => {}
                None => break,
            }
        }
        Ok(())
    }

    /// Passes RTCP packets on; nothing else is sent to a camera.
    fn data(&mut self, number: u8, bytes: Vec<u8>) {
        let channel = self
            .watching
            .as_ref()
            .and_then(|watching| watching.interleaving.channel(number));
        if let Some(channel) = channel.filter(|channel| channel.rtcp && !bytes.is_empty()) {
            self.out
                .push_back(PlayerOutput::Event(PlayerEvent::Rtcp(channel, bytes)));
        }
    }

    /// Sends a request to the program. The player is answered when the program has answered.
    pub(super) fn ask(&mut self, now: Duration, cseq: u32, question: Question, with: Parameters) {
        self.questions = self.questions.wrapping_add(1);
        let number = self.questions;
        self.out.push_back(PlayerOutput::Event(match &question {
            Question::Describe { path, .. } => PlayerEvent::Describe {
                number,
                path: path.clone(),
            },
            Question::Ports { track, client } => PlayerEvent::OpenPorts {
                number,
                track: *track,
                client: *client,
            },
            Question::Command(verb) => PlayerEvent::Command {
                number,
                verb: *verb,
                with,
            },
            Question::Login { right, .. } => PlayerEvent::Login { number, right: *right },
        }));
        self.pending = Some(Pending {
            cseq,
            question,
            deadline: now + ANSWER_PATIENCE,
        });
    }

    pub(super) fn send(&mut self, mut response: Response, cseq: Option<u32>) {
        if let Some(cseq) = cseq {
            response.headers.add("CSeq", cseq.to_string());
        }
        response.headers.add("Server", "sealcast");
        self.out.push_back(PlayerOutput::Transmit(response.to_bytes()));
    }

    /// Ends the player's session, if there is one.
    pub(super) fn tear_down(&mut self) {
        if self.watching.take().is_some() {
            self.out.push_back(PlayerOutput::Event(PlayerEvent::TornDown));
        }
    }

    fn time_out(&mut self, now: Duration) -> Result<(), PlayerError> {
        if now < self.deadline() {
            return Ok(());
        }
        if let Some(pending) = self.pending.take_if(|pending| pending.deadline <= now) {
            let late = match &pending.question {
                Question::Describe { .. } => PlayerAnswer::Described(Err(CarriedStatus::TIMEOUT)),
                Question::Ports { .. } => PlayerAnswer::Ports(None),
                Question::Command(_) => PlayerAnswer::Done(CarriedStatus::TIMEOUT, &Parameters::default()),
                Question::Login { .. } => PlayerAnswer::Login,
            };
            return self.answered(now, pending, late);
        }
        self.tear_down();
        Err(PlayerError::Silent)
    }

    fn deadline(&self) -> Duration {
        if self.over {
            return Duration::MAX;
        }
        // A player that receives everything on the RTSP connection needs no timeout: it is gone when the connection is.
        let over_udp = self.watching.as_ref().is_some_and(|watching| !watching.udp.is_empty());
        let silence = if over_udp {
            self.heard + PLAYER_TIMEOUT
        } else {
            Duration::MAX
        };
        let answer = self.pending.as_ref().map_or(Duration::MAX, |pending| pending.deadline);
        silence.min(answer)
    }
}
