//! Description of the build.

use serde::Serialize;

/// Description of the build, for `sealcast_build_info`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BuildInfo {
    /// Version of sealcast.
    pub version: String,
    /// Names of the suites that this build supports.
    pub suites: Vec<String>,
    /// Names of the key establishment mechanisms.
    pub mechanisms: Vec<String>,
}
