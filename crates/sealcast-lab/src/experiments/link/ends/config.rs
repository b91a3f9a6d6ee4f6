//! Configuration of an end.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::experiments::link::system::System;

/// Configuration of an end.
pub struct EndConfig {
    /// The system that carries the frames.
    pub system: System,
    /// The address to send to or to receive at; for sealcast's publisher, the address to listen at.
    pub address: SocketAddr,
    /// Number of frames to send.
    pub frames: u32,
    /// File for the recorded frames.
    pub rows: PathBuf,
    /// File for sealcast's own metrics.
    pub metrics: PathBuf,
}
