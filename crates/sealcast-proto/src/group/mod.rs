//! Groups: one camera seals each frame once for all of its viewers (`docs/spec/groups.md`). The [`Leader`] is the
//! camera's side: who may open which epoch, and the key sheets that tell them. A [`Member`] takes sheets and opens
//! records.

mod epochs;
mod leader;
#[cfg(test)]
mod leader_tests;
mod member;
#[cfg(test)]
mod member_tests;
#[cfg(test)]
mod model_tests;
mod node;
mod pending;
mod refusal;
mod secret;
mod sheet;
mod terms;
#[cfg(test)]
mod test_world;
mod tree;
#[cfg(test)]
mod vector_tests;

pub use leader::{Announcement, IN_FORCE_WITHIN, InForce, Leader, LeaderConfig, SWITCH_WITHIN, SoundKeys};
pub use member::{Member, MemberConfig, Taken};
pub use node::{ARITY, DEPTH, MAX_MEMBERS};
pub use pending::{LeaderError, MemberId};
pub use refusal::{SheetRefusal, TermsRefusal};
pub use secret::{GroupName, MemberKey, RUN_LEN};
pub use sheet::{MAX_SHEET, Scope};
pub use terms::Terms;
#[cfg(test)]
pub(crate) use terms::resigned_terms;

/// Maximum number of steps of the ratchet between two sheets. It bounds what a member computes for a record that claims
/// to be of a later epoch, and for a sheet: some 0.1 ms (groups.md §6 and §8).
pub const MAX_RATCHET: u64 = 64;

/// Maximum number of members for which each sheet is a full one, so that the newest sheet in a relay's cache is all
/// that a viewer needs (groups.md §7).
pub const FULL_UP_TO: usize = 256;
