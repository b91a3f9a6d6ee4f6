//! Memory and CPU of an end while its session runs.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::meter::resources::{ResourceSample, ResourceSampler};
use serde::{Deserialize, Serialize};

/// Length of the windows in which CPU is read.
const WINDOW: Duration = Duration::from_millis(100);

/// Memory and CPU that an end used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Usage {
    /// Resident size when the session began, in bytes; `None` if this system does not tell.
    pub(super) first_rss: Option<u64>,
    /// The greatest resident size at the end of a window.
    pub(super) most_rss: Option<u64>,
    /// CPU of each whole window, in percent of a core.
    pub(super) cpu_percent: Vec<f64>,
}

/// Reads what this process uses, from now on.
pub(super) struct Watch {
    sampler: ResourceSampler,
    samples: Receiver<ResourceSample>,
    first: ResourceSample,
}

impl Watch {
    /// Starts, and returns when the first sample was taken.
    pub(super) fn start() -> Result<Self> {
        let (sender, samples) = channel();
        let sampler = ResourceSampler::start(None, WINDOW, move |sample| {
            // The receiver lives as long as the sampler.
            let _ = sender.send(sample.clone());
        })?;
        let first = samples.recv().map_err(|_| {
            let what = "memory and CPU of this process cannot be read";
            Failure::new(FailureKind::Internal, what, "please report this")
        })?;
        Ok(Self {
            sampler,
            samples,
            first,
        })
    }

    /// Returns what was used until now. A session that is shorter than a window is taken for one.
    pub(super) fn finish(self) -> Usage {
        let (sender, last) = channel();
        self.sampler.requests().ask(move |taken| {
            // The receiver waits for it.
            let _ = sender.send(taken.and_then(|(_, sample)| sample.cpu_percent));
        });
        let summary = self.sampler.finish();
        let windows = self.samples.iter().filter_map(|sample| sample.cpu_percent);
        let mut cpu_percent: Vec<f64> = windows.collect();
        if cpu_percent.is_empty() {
            cpu_percent.extend(last.iter().flatten());
        }
        Usage {
            first_rss: self.first.rss_bytes,
            most_rss: summary.max_rss_bytes,
            cpu_percent,
        }
    }
}

#[cfg(test)]
mod tests {
    use sealcast::meter::resources::thread_cpu_time;

    use super::*;

    #[test]
    fn memory_and_work_of_a_session_are_seen_in_its_windows() {
        let watch = Watch::start().expect("it can be read");
        let (began, mut held) = (thread_cpu_time(), Vec::new());
        while thread_cpu_time() - began < 2 * WINDOW {
            held.resize(32 << 20, 1_u8);
            std::hint::black_box(&mut held).reverse();
        }
        let usage = watch.finish();
        // Other tests of this process may free memory meanwhile, so there is no difference to compare.
        let (held, most) = (std::hint::black_box(held).len() as u64, usage.most_rss.expect("Linux"));
        assert!(
            usage.first_rss.is_some() && most >= held && held == 32 << 20,
            "{usage:?}"
        );
        assert!(usage.cpu_percent.iter().any(|percent| *percent > 0.0), "{usage:?}");
    }

    #[test]
    fn a_session_shorter_than_a_window_has_one() {
        let usage = Watch::start().expect("it can be read").finish();
        assert!(!usage.cpu_percent.is_empty(), "{usage:?}");
    }
}
