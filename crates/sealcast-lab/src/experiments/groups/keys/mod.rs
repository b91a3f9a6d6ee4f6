//! The same operations on a group's keys with the key tree and with MLS, in one process.

mod cost;
#[cfg(feature = "mls")]
mod mls;
mod ours;

use std::sync::Arc;

use sealcast::failure::Result;
use sealcast_proto::keys::Mechanism;
use serde::Deserialize;

use self::cost::{Cost, Operations};
use crate::harness::Sample;

/// Words with which this program says that it was built without MLS.
pub(super) const NO_MLS: &str = "this build has no MLS; cargo build --release -p sealcast-lab --features mls";

/// A protocol that agrees on a group's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Protocol {
    /// Handshakes, the key tree and its sheets.
    Sealcast,
    /// OpenMLS.
    Mls,
}

impl Protocol {
    /// The reason why it cannot be measured, if there is one.
    pub(super) fn absent(self) -> Option<&'static str> {
        (self == Self::Mls && !cfg!(feature = "mls")).then_some(NO_MLS)
    }
}

/// All operations in a group of `viewers` and the camera.
///
/// # Errors
/// An operation failed.
pub(super) fn measure(protocol: Protocol, viewers: usize, mechanism: &Arc<dyn Mechanism>) -> Result<Sample> {
    let operations = match protocol {
        Protocol::Sealcast => ours::operations(viewers, mechanism)?,
        Protocol::Mls => beside(viewers)?,
    };
    Ok(sample(&operations))
}

#[cfg(feature = "mls")]
fn beside(viewers: usize) -> Result<Operations> {
    mls::operations(viewers).map_err(|why| super::cast::broken(&why))
}

#[cfg(not(feature = "mls"))]
fn beside(_: usize) -> Result<Operations> {
    Err(super::cast::broken(&NO_MLS))
}

fn sample(operations: &Operations) -> Sample {
    let Operations {
        create,
        add,
        remove,
        rekey,
    } = operations;
    let all = [("create", create), ("add", add), ("remove", remove), ("rekey", rekey)];
    all.into_iter().fold(Sample::default(), with)
}

fn with(sample: Sample, (name, cost): (&str, &Cost)) -> Sample {
    let millis = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    sample
        .with(&format!("{name}_camera_ms"), millis(cost.camera))
        .with_some(&format!("{name}_member_ms"), cost.member.map(millis))
        .with_some(&format!("{name}_joiner_ms"), cost.joiner.map(millis))
        .with(&format!("{name}_bytes"), cost.sent as f64)
        .with(&format!("{name}_received_bytes"), cost.received as f64)
}
