//! Handshake of the end that opened the connection.

use std::sync::Arc;

use super::claim::Claim;
use super::{Agreed, HandshakeConfig, HandshakeError, Peer};
use crate::keys::messages::{Hello, RETRY, Reply, Retry, alerted, can_be_offered, finish_to_bytes};
use crate::keys::schedule::SealedPart;
use crate::keys::transcript::Transcript;
use crate::keys::{DecapsulationKey, Mechanism, PeerId, Secret};

/// Number of times that a handshake over datagrams obeys another retry in place of one that may have been altered: each
/// costs a key pair, and anybody on the path can cause it.
const MAX_CORRECTIONS: u8 = 4;

/// Next action of the initiator.
pub enum InitiatorStep {
    /// Send this message and wait for the answer.
    Send(Vec<u8>),
    /// Send this finish. The keys are agreed; wait for the responder's welcome.
    Done(Vec<u8>, Box<Agreed>),
}

/// The initiator's state machine, waiting for a reply or a retry.
pub struct Initiator {
    config: HandshakeConfig,
    hello: Hello,
    hello_bytes: Vec<u8>,
    key: Option<Box<dyn DecapsulationKey>>,
    retry: Option<Transcript>,
    /// The mechanism whose share is in the first hello, and its bytes, once a second one has followed it.
    first: Option<(u8, Vec<u8>)>,
    corrections: u8,
}

impl Initiator {
    /// Begins a handshake with a share for the first mechanism. Returns the state machine and the hello to send.
    /// `random` is 32 fresh random bytes.
    ///
    /// # Errors
    /// [`HandshakeError::Misuse`] without a pinned peer, or unless the suites, and likewise the mechanisms, are 1 to 8
    /// different ones; [`HandshakeError::Library`].
    pub fn new(config: HandshakeConfig, random: [u8; 32]) -> Result<(Self, Vec<u8>), HandshakeError> {
        let first = config.mechanisms.first().ok_or(HandshakeError::Misuse)?.id();
        Self::guessing(config, random, first)
    }

    /// Begins a handshake with a share for the mechanism `guess`, for example the one that the responder chose last
    /// time.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`HandshakeError::Misuse`] if `guess` is not among the mechanisms.
    pub fn guessing(config: HandshakeConfig, random: [u8; 32], guess: u8) -> Result<(Self, Vec<u8>), HandshakeError> {
        let suites: Vec<u8> = config.suites.iter().map(|suite| suite.id).collect();
        let mechanisms: Vec<u8> = config.mechanisms.iter().map(|mechanism| mechanism.id()).collect();
        let guessed = config.mechanisms.iter().find(|mechanism| mechanism.id() == guess);
        let fits = can_be_offered(&suites) && can_be_offered(&mechanisms) && config.pinned.is_some();
        let key = guessed.filter(|_| fits).ok_or(HandshakeError::Misuse)?.generate()?;
        let hello = Hello {
            role: config.role,
            random,
            suites,
            mechanisms,
            share_mechanism: guess,
            share: key.share().to_vec(),
            cookie: Vec::new(),
        };
        let hello_bytes = hello.to_bytes(&config.hello_keys);
        let sent = hello_bytes.clone();
        Ok((
            Self {
                config,
                hello,
                hello_bytes,
                key: Some(key),
                retry: None,
                first: None,
                corrections: 0,
            },
            sent,
        ))
    }

    /// Processes a message of the responder.
    ///
    /// # Errors
    /// [`HandshakeError`] with the reason. On a byte stream the handshake has failed then. Where anybody can inject
    /// messages, ignore the message: the error has not changed the state.
    pub fn handle(&mut self, message: &[u8]) -> Result<InitiatorStep, HandshakeError> {
        if let Some(alert) = alerted(message) {
            return Err(alert);
        }
        match message.first() {
            Some(&RETRY) => self.handle_retry(message).map(InitiatorStep::Send),
            _ => self.handle_reply(message),
        }
    }

    /// Processes a retry that differs from the one that was obeyed, and comes in its place: where messages may be
    /// altered, that one may have been. Returns the second hello that obeys this one instead.
    ///
    /// # Errors
    /// [`HandshakeError`] with the reason, also beyond [`MAX_CORRECTIONS`]; nothing has changed then.
    pub(crate) fn correct(&mut self, message: &[u8]) -> Result<Vec<u8>, HandshakeError> {
        if self.corrections >= MAX_CORRECTIONS {
            return Err(HandshakeError::Retry);
        }
        let (guess, hello) = self.first.as_ref().ok_or(HandshakeError::Retry)?;
        let (retry, mechanism) = self.permitted(message, *guess)?;
        let transcript = Transcript::with_retry(hello, message);
        let second = self.repeat_hello(retry, &*mechanism, transcript)?;
        self.corrections += 1;
        Ok(second)
    }

    fn offered(&self, id: u8) -> Option<Arc<dyn Mechanism>> {
        self.config
            .mechanisms
            .iter()
            .find(|mechanism| mechanism.id() == id)
            .cloned()
    }

    fn handle_retry(&mut self, message: &[u8]) -> Result<Vec<u8>, HandshakeError> {
        if self.retry.is_some() {
            // Or it does not even have the form of a retry.
            return Err(Retry::parse(message).err().unwrap_or(HandshakeError::Retry));
        }
        let guess = self.hello.share_mechanism;
        let (retry, mechanism) = self.permitted(message, guess)?;
        let transcript = Transcript::with_retry(&self.hello_bytes, message);
        let first = self.hello_bytes.clone();
        let second = self.repeat_hello(retry, &*mechanism, transcript)?;
        self.first = Some((guess, first));
        Ok(second)
    }

    /// The retry in a message, and the mechanism that it names, if it may follow a hello with a share for `guess`.
    fn permitted(&self, message: &[u8], guess: u8) -> Result<(Retry, Arc<dyn Mechanism>), HandshakeError> {
        let retry = Retry::parse(message)?;
        let mechanism = self.offered(retry.mechanism).ok_or(HandshakeError::NotOffered)?;
        if retry.mechanism == guess && retry.cookie.is_empty() {
            // The retry asks for nothing new.
            return Err(HandshakeError::Retry);
        }
        Ok((retry, mechanism))
    }

    /// The second hello, which obeys this retry.
    fn repeat_hello(
        &mut self,
        retry: Retry,
        mechanism: &dyn Mechanism,
        transcript: Transcript,
    ) -> Result<Vec<u8>, HandshakeError> {
        let key = mechanism.generate()?;
        self.retry = Some(transcript);
        self.hello.share_mechanism = retry.mechanism;
        self.hello.share = key.share().to_vec();
        self.hello.cookie = retry.cookie;
        self.key = Some(key);
        self.hello_bytes = self.hello.to_bytes(&self.config.hello_keys);
        Ok(self.hello_bytes.clone())
    }

    fn handle_reply(&mut self, message: &[u8]) -> Result<InitiatorStep, HandshakeError> {
        let reply = Reply::parse(message)?;
        if reply.role != self.config.role.other() {
            return Err(HandshakeError::Role);
        }
        let suite = self.config.suites.iter().find(|suite| suite.id == reply.suite).copied();
        let suite = suite.ok_or(HandshakeError::NotOffered)?;
        if reply.mechanism != self.hello.share_mechanism {
            return Err(HandshakeError::NotOffered);
        }
        let mechanism = self.offered(reply.mechanism).ok_or(HandshakeError::NotOffered)?;
        let key = self.key.as_ref().ok_or(HandshakeError::Misuse)?;
        let (keys, shared) = (&self.config.hello_keys, key.decapsulate(&reply.ciphertext)?);
        let hs = keys.handshake_secret(keys.own(), &shared);

        let mut transcript = self.retry.clone().unwrap_or_else(Transcript::new);
        transcript.add(&self.hello_bytes);
        let peer = self.verify_responder(&hs, &transcript.hash_with(&reply.head()), &reply)?;
        transcript.add(message);
        let th2 = transcript.hash();
        let finish = finish_to_bytes(&Claim::seal(SealedPart::Finish, &self.config, &hs, &th2));
        let agreed = Agreed::new(&hs, &transcript.hash_with(&finish), suite, mechanism, peer);
        self.key = None;
        Ok(InitiatorStep::Done(finish, Box::new(agreed)))
    }

    fn verify_responder(&self, hs: &Secret, th1: &[u8; 32], reply: &Reply) -> Result<Peer, HandshakeError> {
        let claim = Claim::open(SealedPart::Reply, hs, th1, &reply.sealed)?;
        let id = PeerId(claim.identity);
        if self.config.pinned != Some(id) {
            return Err(HandshakeError::WrongPeer(id));
        }
        if id == self.config.identity.peer_id() {
            return Err(HandshakeError::OwnIdentity);
        }
        let wish = claim.verify(SealedPart::Reply, reply.role, th1, &id)?;
        let psk = self.config.hello_keys.name(self.config.hello_keys.own());
        Ok(Peer { id, psk, wish })
    }
}
