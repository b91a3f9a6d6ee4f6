//! Age of the picture, without clocks: a camera's signed frames answer the challenges of its viewers
//! (`docs/spec/signatures.md` §6).

mod answer;
mod challenges;
mod liveness;
mod picture_age;

pub use answer::{Answer, CHALLENGE_LEN, Challenge, MAX_ANSWER, MAX_CHALLENGERS, MAX_PATH};
pub use challenges::{Batch, Challenges, NoSuchSlot};
pub use liveness::{
    AlarmCause, Liveness, LivenessConfig, LivenessState, MARGIN, MAX_GROUP, MAX_OUTSTANDING, MAX_PAUSE, MAX_ROOTS,
    MAX_ROUND_TRIP, MIN_GROUP, NotMine,
};
pub use picture_age::PictureAge;

#[cfg(test)]
mod liveness_tests;
#[cfg(test)]
mod relay_tests;
