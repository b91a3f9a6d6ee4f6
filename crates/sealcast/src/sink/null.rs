//! A sink that only counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Sink;
use crate::failure::Result;
use crate::media::{ReceivedFrame, StreamInfo};

/// Counters of a [`NullSink`]; they may be read while the sink runs.
#[derive(Debug, Default)]
pub struct NullCounts {
    frames: AtomicU64,
    keyframes: AtomicU64,
    bytes: AtomicU64,
}

impl NullCounts {
    /// Frames so far.
    pub fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// Keyframes so far.
    pub fn keyframes(&self) -> u64 {
        self.keyframes.load(Ordering::Relaxed)
    }

    /// Bytes of all frames so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// Counts frames and bytes, and discards them.
#[derive(Debug, Default)]
pub struct NullSink {
    counts: Arc<NullCounts>,
}

impl NullSink {
    /// The counters; they remain available after the sink is gone.
    pub fn counts(&self) -> Arc<NullCounts> {
        Arc::clone(&self.counts)
    }
}

impl Sink for NullSink {
    fn start(&mut self, _info: &StreamInfo) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        self.counts.frames.fetch_add(1, Ordering::Relaxed);
        self.counts
            .keyframes
            .fetch_add(frame.keyframe.into(), Ordering::Relaxed);
        self.counts.bytes.fetch_add(frame.data.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let counts = &self.counts;
        tracing::info!(
            frames = counts.frames(),
            keyframes = counts.keyframes(),
            bytes = counts.bytes(),
            "null sink done"
        );
        Ok(())
    }
}
