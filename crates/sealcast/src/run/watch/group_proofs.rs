//! Proofs that an archive keeps beside frames: signatures of groups of pictures, on their way from a session to the
//! sink.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use sealcast_proto::wire::{Control, GroupMessage};

use crate::sink::GroupProof;

/// Signatures that may wait for the sink: of half a minute, with sound. The oldest ones go.
const MAX_PROOFS: usize = 64;

/// Signatures of groups of pictures that wait for the sink.
pub(crate) struct GroupProofs(Option<Mutex<VecDeque<GroupProof>>>);

impl GroupProofs {
    /// None wait yet. False for a sink that keeps none.
    pub(crate) fn new(keeps: bool) -> Self {
        Self(keeps.then(Mutex::default))
    }

    /// Notes what the camera said, and was verified, if the sink keeps that.
    pub(crate) fn said(&self, message: &[u8]) {
        let Some(waiting) = &self.0 else { return };
        let proof = match Control::parse(message) {
            Ok(Control::Group(GroupMessage::Certificate(bytes))) => GroupProof::Key(bytes.to_vec()),
            Ok(Control::Group(GroupMessage::Signature(bytes))) => GroupProof::Signature(bytes.to_vec()),
            _ => return,
        };
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() == MAX_PROOFS {
            tracing::warn!("a signature of a group of pictures is not in the archive: the disk is too slow");
            waiting.pop_front();
        }
        waiting.push_back(proof);
    }

    /// Those that wait.
    pub(crate) fn take(&self) -> VecDeque<GroupProof> {
        let waiting = self.0.as_ref().map(|waiting| waiting.lock());
        let waiting = waiting.map(|waiting| std::mem::take(&mut *waiting.unwrap_or_else(PoisonError::into_inner)));
        waiting.unwrap_or_default()
    }
}
