//! Meters of a group's signatures: what they add to the stream, and the time that they take.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use super::families::{Counts, second_counts};
use super::labels::SignatureWork;

/// The metric families in the registry.
pub(super) struct SignatureMeter {
    pub(super) done: Counts,
    pub(super) bytes: Counts,
    pub(super) seconds: Vec<Counter<f64, AtomicU64>>,
}

impl SignatureMeter {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let names = SignatureWork::NAMES;
        Self {
            done: Counts::register(
                registry,
                "group_signatures",
                "Signatures of a group's frames and groups of pictures, made or verified",
                "work",
                names,
            ),
            bytes: Counts::register(
                registry,
                "group_signature_bytes",
                "Bytes of the records or messages of these, made once for all members or received",
                "work",
                names,
            ),
            seconds: second_counts(
                registry,
                "group_signature_seconds",
                "Time to make or verify these, with sealing or opening their records",
                "work",
                names,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::meter::metrics::Metrics;
    use crate::run::build_info;

    #[test]
    fn signatures_are_told_by_what_was_done() {
        let metrics = Metrics::new(build_info());
        metrics.signature(SignatureWork::Sign, 146, Duration::from_millis(2));
        metrics.signature(SignatureWork::Sign, 146, Duration::from_millis(1));
        metrics.signature(SignatureWork::Verify, 146, Duration::from_millis(4));
        let text = metrics.encode();
        for line in [
            "sealcast_group_signatures_total{work=\"sign\"} 2",
            "sealcast_group_signature_bytes_total{work=\"sign\"} 292",
            "sealcast_group_signature_seconds_total{work=\"sign\"} 0.003",
            "sealcast_group_signature_seconds_total{work=\"verify\"} 0.004",
            "sealcast_group_signatures_total{work=\"sign_gop\"} 0",
        ] {
            assert!(text.lines().any(|said| said == line), "{line} is not in {text}");
        }
    }
}
