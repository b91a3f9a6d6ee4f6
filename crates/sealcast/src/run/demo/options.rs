//! The settings of the demo.

use std::sync::Arc;

use sealcast_proto::keys::Mechanism;
use sealcast_proto::seal::Suite;

use crate::run::media::shape::Shape;
use crate::run::session::observe::ObserveOptions;

/// The settings of the demo.
pub struct DemoOptions {
    /// URL of the source.
    pub source: String,
    /// True to serve no page and print the figures at the end.
    pub headless: bool,
    /// URL of the page.
    pub page: String,
    /// Shape of the traffic: what the sizes and times of records show.
    pub shape: Shape,
    /// Suites, best first.
    pub suites: Vec<Suite>,
    /// Mechanisms, best first.
    pub mechanisms: Vec<Arc<dyn Mechanism>>,
    /// Observations requested by the user.
    pub observe: ObserveOptions,
}
