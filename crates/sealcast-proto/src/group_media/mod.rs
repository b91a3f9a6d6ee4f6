//! The media of a group: a camera seals each frame once for all members, signs it, and answers their challenges; a
//! member opens and verifies it (`docs/groups.md` §10). What a [`GroupSealer`] makes travels over sessions and through
//! relays alike.

mod opener;
mod sealer;
#[cfg(test)]
mod tests;

pub use opener::{GroupOpener, GroupOpenerConfig, GroupRefusal};
pub use sealer::{GroupSealError, GroupSealer, GroupSealerConfig, SealedFrame, Sealing};
