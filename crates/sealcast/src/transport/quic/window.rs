//! Congestion window: that of BBR, extended by room for a probe when nothing is acknowledged any more.
//!
//! On a silent path QUIC doubles the interval between probes each time (RFC 9002, 6.2) without an upper bound: after
//! an outage of ten seconds it may stay silent for ten more. Data that fits into the window is not subject to that,
//! so this end sends a probe [every 250 ms](ASK) and notices within that time that the path works again.
//!
//! BBR's window is twice what the path carries in its shortest round trip. On a path of less than a millisecond that is
//! ten packets, and a browser takes two milliseconds to acknowledge them: a keyframe, which has four times as many,
//! would wait for it three times. So [`Near`] widens the window of a path that answers soon.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Context;
use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn::Connection;
use quinn::congestion::{BbrConfig, Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// Interval between probes of a path that acknowledges nothing.
const ASK: Duration = Duration::from_millis(250);
/// Room for one probe in bytes: the largest packet, and the data sent with it.
const QUESTION: u64 = 3000;

/// A path with a longer round trip is not near. A window that filled a buffer on the path would make it longer.
const SOON: Duration = Duration::from_millis(10);
/// A path that lost packets is not near for so long.
const AFTER_LOSS: Duration = Duration::from_secs(10);

/// Room on a path that answers soon, and loses nothing.
#[derive(Clone, Copy)]
struct Near {
    room: u64,
    is_near: bool,
    lost: Option<Instant>,
}

impl Near {
    fn new(room: u64) -> Self {
        Self {
            room,
            is_near: false,
            lost: None,
        }
    }

    /// Packets were acknowledged; round trips take `smoothed` now.
    fn acknowledged(&mut self, now: Instant, smoothed: Duration) {
        let loses = self.lost.is_some_and(|lost| now < lost + AFTER_LOSS);
        self.is_near = smoothed < SOON && !loses;
    }

    fn lost(&mut self, now: Instant) {
        self.lost = Some(now);
        self.is_near = false;
    }

    /// Bytes that may be in flight at least.
    fn room(&self) -> u64 {
        if self.is_near { self.room } else { 0 }
    }
}

/// State of a window shared by quinn, which queries the window, and the transport, which notices the silence.
#[derive(Default)]
struct WindowState {
    /// Bytes sent that are neither acknowledged nor considered lost.
    in_flight: AtomicU64,
    /// Number of acknowledgements received.
    acknowledged: AtomicU64,
    /// Bytes that may be in flight, whatever BBR says.
    allowed: AtomicU64,
}

/// Creates the congestion windows of an endpoint's connections.
pub(super) struct Windows {
    pub(super) bbr: Arc<BbrConfig>,
    /// Bytes that may be in flight at least while the path is near.
    pub(super) near: u64,
}

impl ControllerFactory for Windows {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Window {
            bbr: Arc::clone(&self.bbr).build(now, current_mtu),
            near: Near::new(self.near),
            shared: Arc::default(),
        })
    }
}

struct Window {
    bbr: Box<dyn Controller>,
    near: Near,
    shared: Arc<WindowState>,
}

impl Controller for Window {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.shared.in_flight.fetch_add(bytes, Ordering::Relaxed);
        self.bbr.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.near.acknowledged(now, rtt.get());
        self.bbr.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_packet_num_acked: Option<u64>) {
        self.shared.in_flight.store(in_flight, Ordering::Relaxed);
        self.shared.acknowledged.fetch_add(1, Ordering::Relaxed);
        self.shared.allowed.store(0, Ordering::Relaxed);
        self.bbr
            .on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        self.near.lost(now);
        self.bbr
            .on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.bbr.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        let probe = self.shared.allowed.load(Ordering::Relaxed);
        self.bbr.window().max(probe).max(self.near.room())
    }

    fn metrics(&self) -> ControllerMetrics {
        self.bbr.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            bbr: self.bbr.clone_box(),
            near: self.near,
            shared: Arc::clone(&self.shared),
        })
    }

    fn initial_window(&self) -> u64 {
        self.bbr.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Detects that a path is silent, and sends probes.
pub(super) struct Watch {
    tick: Interval,
    acknowledged: u64,
    /// Time since the last acknowledgement.
    silent: Duration,
}

impl Watch {
    pub(super) fn new() -> Self {
        let mut tick = interval(ASK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            tick,
            acknowledged: 0,
            silent: Duration::ZERO,
        }
    }

    /// Probe `connection`'s path if it has been silent for longer than two round trips.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, connection: &Connection) {
        while self.tick.poll_tick(context).is_ready() {
            // Fetch the window each time: after the peer has migrated, the new path has a window of its own.
            let Ok(window) = connection.congestion_state().into_any().downcast::<Window>() else {
                return;
            };
            let shared = &window.shared;
            let acknowledged = shared.acknowledged.load(Ordering::Relaxed);
            let in_flight = shared.in_flight.load(Ordering::Relaxed);
            if std::mem::replace(&mut self.acknowledged, acknowledged) == acknowledged && in_flight > 0 {
                self.silent += ASK;
            } else {
                self.silent = Duration::ZERO;
            }
            if self.silent > connection.rtt() * 2 {
                shared.allowed.store(in_flight + QUESTION, Ordering::Relaxed);
                // An empty datagram is not a record. Sending fails if the connection has ended, which is reported
                // elsewhere.
                let _ = connection.send_datagram(Bytes::new());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_that_answers_soon_and_loses_nothing_has_more_room() {
        let began = Instant::now();
        let mut near = Near::new(64);
        assert_eq!(near.room(), 0, "nothing is known of the path");
        near.acknowledged(began, Duration::from_millis(2));
        assert_eq!(near.room(), 64);
        near.acknowledged(began, SOON);
        assert_eq!(near.room(), 0, "a buffer on the path fills");
        near.acknowledged(began, Duration::from_millis(2));
        near.lost(began);
        assert_eq!(near.room(), 0);
        near.acknowledged(began + AFTER_LOSS / 2, Duration::from_millis(2));
        assert_eq!(near.room(), 0, "it lost packets lately");
        near.acknowledged(began + AFTER_LOSS, Duration::from_millis(2));
        assert_eq!(near.room(), 64);
    }
}
