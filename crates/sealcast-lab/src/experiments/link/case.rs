//! A case: its link, and the time within which a frame is in time.

use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::LinkProfile;
use serde::Deserialize;

use super::system::BUDGET;
use crate::harness::Entry;

/// Allowance for the delay that programs and the machine add. SRT delivers every packet when the budget is used up,
/// by a timer of 10 ms; without this allowance all of its frames would be late.
pub(super) const GRACE: Duration = Duration::from_millis(20);

/// The link profile. Other fields of the case are for the table only.
#[derive(Deserialize)]
struct Case {
    link: String,
}

/// The profile of its link.
pub(super) fn profile(case: &Entry) -> Result<LinkProfile> {
    let Case { link } = case.read()?;
    link.parse().map_err(|error| {
        let what = format!("the link of `{}`, \"{link}\", is no profile: {error}", case.name);
        Failure::new(
            FailureKind::Usage,
            what,
            "see `sealcast-lab net --help` for how one is written",
        )
    })
}

/// The time after sending within which a frame is in time.
pub(super) fn deadline(case: &Entry) -> Result<Duration> {
    Ok(profile(case)?.delay + BUDGET + GRACE)
}
