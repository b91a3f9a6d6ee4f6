//! Packets of sound that wait to be taken.

use std::collections::VecDeque;

use super::bounds::MAX_READY_SOUND;
use super::{Damage, Unit};
use crate::unit::sound_headers::MAX_SOUND_BYTES;

/// Sound that was put together.
#[derive(Debug, Default)]
pub(super) struct ReadySound {
    pub(super) units: VecDeque<Unit>,
    /// True if something before the next unit is missing.
    pub(super) lost: bool,
    pub(super) damage: Damage,
}

impl ReadySound {
    /// A packet of sound is whole.
    pub(super) fn unit(&mut self, timestamp: u32, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        if data.len() > MAX_SOUND_BYTES {
            return self.damaged("has sound of more than 64 KiB in one piece");
        }
        if self.units.len() == MAX_READY_SOUND {
            self.units.pop_front();
            self.damaged("has more sound than is taken");
        }
        let lost = std::mem::take(&mut self.lost);
        let data = data.to_vec();
        self.units.push_back(Unit { timestamp, lost, data });
    }

    /// A packet of sound is left out, for a reason as in [`Damage`].
    pub(super) fn damaged(&mut self, reason: &'static str) {
        self.lost = true;
        self.damage.units += 1;
        self.damage.reason = Some(reason);
    }
}
