//! The handshake of three messages, with one state machine for each side:
//!
//! ```text
//! initiator:  hello → ExpectReply ─┬─ reply → finish, done
//!                                  └─ retry (once) → hello → ExpectReply
//! responder:  ExpectHello ─┬─ hello → reply → ExpectFinish → finish, done
//!                          └─ hello → retry (once) → ExpectHello
//! ```

mod claim;
mod error;
mod initiator;
mod responder;

use std::sync::Arc;

pub use error::HandshakeError;
pub use initiator::{Initiator, InitiatorStep};
pub use responder::{Responder, ResponderStep};

use zeroize::Zeroizing;

use super::{EpochSecret, HelloKeys, Identity, Mechanism, PeerId, PresharedKey, PskName, Role, Wish};
use crate::seal::Suite;

/// Configuration of one end for a handshake.
#[derive(Clone)]
pub struct HandshakeConfig {
    /// Role of this end.
    pub role: Role,
    /// Identity of this end.
    pub identity: Arc<Identity>,
    /// Accepted suites, best first; an initiator offers all of them, 1 to 8.
    pub suites: Vec<Suite>,
    /// Accepted mechanisms, best first; an initiator offers all of them, 1 to 8. It sends a share for one, normally the
    /// first.
    pub mechanisms: Vec<Arc<dyn Mechanism>>,
    /// The only peer that an initiator accepts. Empty at a responder, whose program decides by [`Peer`].
    pub pinned: Option<PeerId>,
    /// The keys of hellos to the responder, with the pre-shared key of an initiator, or all those of a responder.
    pub hello_keys: Arc<HelloKeys>,
    /// Wish of this end, if it is a viewer.
    pub wish: Wish,
}

/// The other end, with a proven identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its peer id.
    pub id: PeerId,
    /// The pre-shared key that it proved to know: of an invite, or kept from its enrolment.
    pub psk: Option<PskName>,
    /// Its wish, if it is a viewer.
    pub wish: Option<Wish>,
}

/// Result of a handshake.
pub struct Agreed {
    /// The secret of epoch 0.
    pub secret: EpochSecret,
    /// Public name of the session, for logs.
    pub session_id: [u8; 8],
    /// The chosen suite.
    pub suite: Suite,
    /// The chosen mechanism.
    pub mechanism: Arc<dyn Mechanism>,
    /// The other end.
    pub peer: Peer,
    /// Names the session in signatures.
    pub binding: [u8; 32],
    /// The pre-shared key of later handshakes of this pair, if the responder enrols the initiator in this one.
    pub enrolment: PresharedKey,
    /// A secret for other purposes than records, such as a group's member key.
    pub exporter: Zeroizing<[u8; 32]>,
}

impl Agreed {
    fn new(hs: &super::Secret, th3: &[u8; 32], suite: Suite, mechanism: Arc<dyn Mechanism>, peer: Peer) -> Self {
        let mut session_id = [0; 8];
        hs.expand(b"session id", th3, &mut session_id);
        let mut binding = [0; 32];
        hs.expand(b"binding", th3, &mut binding);
        let mut enrolment = Zeroizing::new([0; 32]);
        hs.expand(b"enrolment", th3, enrolment.as_mut());
        let mut exporter = Zeroizing::new([0; 32]);
        hs.expand(b"exporter", th3, exporter.as_mut());
        Self {
            secret: EpochSecret::new(hs.derive(b"epoch", th3), 0),
            session_id,
            suite,
            mechanism,
            peer,
            binding,
            enrolment: PresharedKey::new(*enrolment),
            exporter,
        }
    }
}
