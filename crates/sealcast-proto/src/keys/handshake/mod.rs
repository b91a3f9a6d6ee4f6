//! The three-message handshake, one machine per side:
//!
//! ```text
//! initiator:  hello → ExpectReply ─┬─ reply → finish, done
//!                                  └─ retry (once) → hello → ExpectReply
//! responder:  ExpectHello ─┬─ hello → reply → ExpectFinish → finish, done
//!                          └─ hello → retry (once) → ExpectHello
//! ```

mod error;
mod initiator;
mod responder;

use std::sync::Arc;

pub use error::HandshakeError;
pub use initiator::{Initiator, InitiatorStep};
pub use responder::{Responder, ResponderStep};

use super::{EpochSecret, Identity, Invite, Mechanism, PeerId, Role};
use crate::seal::Suite;

/// What one end brings to a handshake.
#[derive(Clone)]
pub struct HandshakeConfig {
    /// What this end is for.
    pub role: Role,
    /// Who it is.
    pub identity: Arc<Identity>,
    /// Suites it accepts, best first. At most 8 are offered.
    pub suites: Vec<Suite>,
    /// Mechanisms it accepts, best first. At most 8 are offered; the initiator's share is for the first.
    pub mechanisms: Vec<Arc<dyn Mechanism>>,
    /// The only peer an initiator will talk to. A responder leaves it empty and judges by [`Peer`].
    pub pinned: Option<PeerId>,
    /// The invite an initiator proves, or a responder recognises.
    pub invite: Option<Invite>,
}

/// The other end, whose identity was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Who it is.
    pub id: PeerId,
    /// Whether it proved the invite. Always false at the initiator.
    pub invited: bool,
}

/// What a handshake gives.
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
}

impl Agreed {
    fn new(hs: &super::Secret, th3: &[u8; 32], suite: Suite, mechanism: Arc<dyn Mechanism>, peer: Peer) -> Self {
        let mut session_id = [0; 8];
        hs.expand(b"session id", th3, &mut session_id);
        Self {
            secret: EpochSecret::new(hs.derive(b"epoch", th3), 0),
            session_id,
            suite,
            mechanism,
            peer,
        }
    }
}

/// The bytes an end signs: whose signature of which role over what (keys.md §4).
fn signed_bytes(side: &str, role: Role, th: &[u8; 32], identity: &PeerId) -> Vec<u8> {
    [
        b"sealcast1 ",
        side.as_bytes(),
        b" ",
        role.name().as_bytes(),
        &[0],
        th,
        &identity.0,
    ]
    .concat()
}

const RESPONDER: &str = "responder";
const INITIATOR: &str = "initiator";
