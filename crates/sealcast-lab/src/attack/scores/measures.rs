//! The measures, and the values that they give.

use std::collections::BTreeMap;

/// Scores of an attacker's pictures: for each measure a value for each picture that was scored.
pub(crate) type Scores = BTreeMap<&'static str, Vec<f64>>;

/// The measures, by the names used in records.
pub(crate) const PSNR: &str = "psnr";
pub(crate) const SSIM: &str = "ssim";
pub(crate) const MS_SSIM: &str = "ms-ssim";
pub(crate) const VMAF: &str = "vmaf";
pub(crate) const LSS: &str = "lss";
pub(crate) const ESS: &str = "ess";
/// Edge similarity to the original turned by 180 degrees: what edges in the wrong places get.
pub(crate) const ESS_TURNED: &str = "ess-turned";
/// Share of the blocks with detail that are seen.
pub(crate) const DETAIL: &str = "detail";
/// The same of the original turned by 180 degrees.
pub(crate) const DETAIL_TURNED: &str = "detail-turned";
/// The same of the blocks that moved within half a second, and of these of the original turned by 180 degrees.
pub(crate) const MOVING: &str = "moving";
pub(crate) const MOVING_TURNED: &str = "moving-turned";
/// Share of the clock's bits that are read wrong.
pub(crate) const CLOCK: &str = "clock-errors";
/// Share of the original's faces that are found.
pub(crate) const FACES: &str = "faces";
/// Share of the original's people that are found.
pub(crate) const PEOPLE: &str = "people";
/// Share of the text's characters that are read wrong.
pub(crate) const TEXT: &str = "text-errors";
