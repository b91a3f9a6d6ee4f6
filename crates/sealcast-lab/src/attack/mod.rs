//! Attacks without keys on a stream that is encrypted in part: attackers work on what is overheard of the wire, and
//! their pictures are scored against the original. `docs/lab.md` has the rules.

mod attackers;
mod camera;
mod clip;
mod ffmpeg;
mod jpeg;
mod pcap;
mod picture;
mod puzzle;
mod recorded;
mod scene;
mod scores;
#[cfg(test)]
mod tests;
mod trial;
mod wire;

pub(crate) use attackers::ALL;
pub(crate) use camera::Camera;
pub(crate) use recorded::Recorded;
pub(crate) use scene::SceneKind;
pub(crate) use scores::{
    CLOCK, DETAIL, DETAIL_TURNED, ESS, ESS_TURNED, FACES, LSS, MOVING, MOVING_TURNED, MS_SSIM, PEOPLE, PSNR, SSIM,
    TEXT, VMAF, vmaf_program,
};
pub(crate) use trial::{Filmed, Result as TrialResult, Tools, Trial};
pub(crate) use wire::Protection;
