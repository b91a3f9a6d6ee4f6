//! The part of players' RTCP that reaches a camera.

use std::time::Instant;

use sealcast_proto::rtsp::rtcp_for_camera;

use crate::meter::labels::RtcpRefusal;
use crate::meter::metrics::Metrics;
use crate::run::media::keyframe_requests::KeyframeRequests;

/// The RTCP of all players on its way to a camera.
#[derive(Default)]
pub(super) struct PassedReports(KeyframeRequests);

impl PassedReports {
    /// The part of a compound packet that a camera may be told, if there is one.
    pub(super) fn pass(&mut self, compound: &[u8], metrics: &Metrics) -> Option<Vec<u8>> {
        let now = Instant::now();
        let Ok(passed) = rtcp_for_camera(compound, self.0.is_due(now)) else {
            metrics.rtcp_refused(RtcpRefusal::Malformed, 1);
            return None;
        };
        metrics.rtcp_refused(RtcpRefusal::Kind, passed.removed as u64);
        metrics.rtcp_refused(RtcpRefusal::Keyframe, passed.keyframes_removed as u64);
        if passed.keyframe && !passed.bytes.is_empty() {
            self.0.sent(now);
        }
        (!passed.bytes.is_empty()).then_some(passed.bytes)
    }
}
