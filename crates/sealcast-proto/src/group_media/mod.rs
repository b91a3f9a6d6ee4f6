//! The media of a group: a camera seals each frame once for all members, signs it, and answers their challenges; a
//! member opens and verifies it (`docs/spec/groups.md` §10). What a [`GroupSealer`] makes travels over sessions and
//! through relays alike.

mod evidence;
mod key_track;
mod opener;
mod packets;
mod refusal;
mod relayed;
#[cfg(test)]
mod relayed_tests;
mod release;
#[cfg(test)]
mod rewound_tests;
mod seal_sound;
mod sealed_block;
mod sealed_frame;
mod sealer;
mod seen;
mod sound;
#[cfg(test)]
mod sound_tests;
#[cfg(test)]
mod test_camera;
#[cfg(test)]
mod tests;
mod waiting;

pub(crate) use evidence::Evidence;
pub use key_track::KeyTrack;
pub use opener::{GroupOpener, GroupOpenerConfig};
pub use refusal::{GroupRefusal, RelayRefusal};
pub use relayed::{KeyNews, RelayedConfig, RelayedViewer};
pub use sealed_block::{DatagramRun, SealedBlock};
pub use sealed_frame::{GroupSealError, SealedFrame, Sealing};
pub use sealer::{GroupSealer, GroupSealerConfig, UnsignedFrame};
pub use seen::{GroupStart, Seen};
