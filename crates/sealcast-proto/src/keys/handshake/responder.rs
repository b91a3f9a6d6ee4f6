//! Handshake of the end that accepted the connection.

use std::sync::Arc;

use super::claim::Claim;
use super::{Agreed, HandshakeConfig, HandshakeError, Peer};
use crate::keys::messages::{Hello, Reply, Retry, alerted, parse_finish};
use crate::keys::psk::Psk;
use crate::keys::schedule::SealedPart;
use crate::keys::transcript::Transcript;
use crate::keys::{Mechanism, PeerId, Secret, Wish};
use crate::seal::Suite;

/// Next action of the responder.
pub enum ResponderStep {
    /// Send this message and wait for the answer.
    Send(Vec<u8>),
    /// The keys are agreed and the peer's identity is proven: admit the peer or refuse it.
    Done(Box<Agreed>),
}

enum State {
    ExpectHello,
    ExpectSecondHello {
        first: Box<Hello>,
        psk: Psk,
        retry: Retry,
        transcript: Transcript,
    },
    ExpectFinish {
        hs: Box<Secret>,
        psk: Psk,
        transcript: Transcript,
        suite: Suite,
        mechanism: Arc<dyn Mechanism>,
    },
    Over,
}

/// The responder's state machine.
pub struct Responder {
    config: HandshakeConfig,
    random: [u8; 32],
    cookie: Vec<u8>,
    state: State,
}

impl Responder {
    /// Creates a responder that waits for a hello. `random` is 32 fresh random bytes. If `cookie` is not empty (at most
    /// 64 bytes), the peer must return it before any public-key work is done for the peer.
    pub fn new(config: HandshakeConfig, random: [u8; 32], cookie: Vec<u8>) -> Self {
        Self {
            config,
            random,
            cookie,
            state: State::ExpectHello,
        }
    }

    /// True as long as nobody has sent a hello that was answered.
    pub fn awaits_hello(&self) -> bool {
        matches!(self.state, State::ExpectHello)
    }

    /// Processes a message of the initiator.
    ///
    /// # Errors
    /// [`HandshakeError`] with the reason. On a byte stream the handshake has failed then. Where anybody can inject
    /// messages, ignore the message: the error has not changed the state.
    pub fn handle(&mut self, message: &[u8]) -> Result<ResponderStep, HandshakeError> {
        if let Some(alert) = alerted(message)
            && !matches!(self.state, State::ExpectHello)
        {
            return Err(alert);
        }
        match &self.state {
            State::ExpectHello => self.handle_first_hello(message).map(ResponderStep::Send),
            State::ExpectSecondHello { .. } => self.handle_second_hello(message).map(ResponderStep::Send),
            State::ExpectFinish {
                hs,
                psk,
                transcript,
                suite,
                mechanism,
            } => {
                let (id, wish) = self.verify_initiator(hs, &transcript.hash(), message)?;
                let psk = self.config.hello_keys.name(*psk);
                let peer = Peer { id, psk, wish };
                let th3 = transcript.hash_with(message);
                let agreed = Agreed::new(hs, &th3, *suite, Arc::clone(mechanism), peer);
                self.state = State::Over;
                Ok(ResponderStep::Done(Box::new(agreed)))
            }
            State::Over => Err(HandshakeError::Misuse),
        }
    }

    fn handle_second_hello(&mut self, message: &[u8]) -> Result<Vec<u8>, HandshakeError> {
        let State::ExpectSecondHello {
            first,
            psk,
            retry,
            transcript,
        } = &self.state
        else {
            return Err(HandshakeError::Misuse);
        };
        let keys = &self.config.hello_keys;
        let (hello, second_psk) = Hello::parse(message, Some(*psk), self.config.role.other(), keys)?;
        check_repeated(first, retry, &hello)?;
        if second_psk != *psk {
            return Err(HandshakeError::Retry);
        }
        let mechanism = self.accepted(retry.mechanism).ok_or(HandshakeError::Misuse)?;
        let transcript = transcript.clone();
        self.reply(&hello, second_psk, message, transcript, mechanism)
    }

    fn accepted(&self, id: u8) -> Option<Arc<dyn Mechanism>> {
        self.config
            .mechanisms
            .iter()
            .find(|mechanism| mechanism.id() == id)
            .cloned()
    }

    fn handle_first_hello(&mut self, message: &[u8]) -> Result<Vec<u8>, HandshakeError> {
        let (hello, psk) = Hello::parse(message, None, self.config.role.other(), &self.config.hello_keys)?;
        self.choose_suite(&hello)?;
        let chosen = self
            .config
            .mechanisms
            .iter()
            .find(|mechanism| hello.mechanisms.contains(&mechanism.id()));
        let mechanism = chosen.cloned().ok_or(HandshakeError::NoCommonMechanism)?;
        if mechanism.id() == hello.share_mechanism && self.cookie.is_empty() {
            return self.reply(&hello, psk, message, Transcript::new(), mechanism);
        }
        let retry = Retry {
            mechanism: mechanism.id(),
            cookie: self.cookie.clone(),
        };
        let retry_bytes = retry.to_bytes();
        let transcript = Transcript::with_retry(message, &retry_bytes);
        self.state = State::ExpectSecondHello {
            first: Box::new(hello),
            psk,
            retry,
            transcript,
        };
        Ok(retry_bytes)
    }

    fn choose_suite(&self, hello: &Hello) -> Result<Suite, HandshakeError> {
        let chosen = self.config.suites.iter().find(|suite| hello.suites.contains(&suite.id));
        chosen.copied().ok_or(HandshakeError::NoCommonSuite)
    }

    fn reply(
        &mut self,
        hello: &Hello,
        psk: Psk,
        message: &[u8],
        mut transcript: Transcript,
        mechanism: Arc<dyn Mechanism>,
    ) -> Result<Vec<u8>, HandshakeError> {
        let suite = self.choose_suite(hello)?;
        let (ciphertext, shared) = mechanism.encapsulate(&hello.share)?;
        let hs = self.config.hello_keys.handshake_secret(psk, &shared);
        let mut reply = Reply {
            role: self.config.role,
            random: self.random,
            suite: suite.id,
            mechanism: mechanism.id(),
            ciphertext,
            sealed: Vec::new(),
        };
        transcript.add(message);
        let th1 = transcript.hash_with(&reply.head());
        reply.sealed = Claim::seal(SealedPart::Reply, &self.config, &hs, &th1);
        let reply = reply.to_bytes();
        transcript.add(&reply);
        self.state = State::ExpectFinish {
            hs: Box::new(hs),
            psk,
            transcript,
            suite,
            mechanism,
        };
        Ok(reply)
    }

    fn verify_initiator(
        &self,
        hs: &Secret,
        th2: &[u8; 32],
        message: &[u8],
    ) -> Result<(PeerId, Option<Wish>), HandshakeError> {
        let claim = Claim::open(SealedPart::Finish, hs, th2, parse_finish(message)?)?;
        let id = PeerId::new(claim.identity).ok_or(HandshakeError::Identity)?;
        if id == self.config.identity.peer_id() {
            return Err(HandshakeError::OwnIdentity);
        }
        let wish = claim.verify(SealedPart::Finish, self.config.role.other(), th2, &id)?;
        Ok((id, wish))
    }
}

/// Checks a second hello. It may differ from the first only in its share and its cookie, and must follow the retry.
fn check_repeated(first: &Hello, retry: &Retry, second: &Hello) -> Result<(), HandshakeError> {
    let same = first.role == second.role
        && first.random == second.random
        && first.suites == second.suites
        && first.mechanisms == second.mechanisms;
    let obeys = second.share_mechanism == retry.mechanism && second.cookie == retry.cookie;
    if same && obeys {
        Ok(())
    } else {
        Err(HandshakeError::Retry)
    }
}
