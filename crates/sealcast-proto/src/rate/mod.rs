//! Rate control: a congestion controller at the sender that follows the delay of the path, after RFC 8298 (SCReAM).
//!
//! ```text
//! sent, resent ─► packets in flight ──┐                      ┌─► may_send, pacing: the congestion window
//! feedback ─► round trip, queue delay, trend, loss ─► window ┴─► target: the rate for the encoder
//! ```
//!
//! Taken from RFC 8298, section 4.1.2 (network congestion control): bytes in flight, queue delay above a base delay,
//! its trend by autocorrelation, fast increase and its resumption, growth as in LEDBAT, the limit of the window by the
//! bytes that were in flight, the send window, pacing, loss detection with an adaptive reordering window. From section
//! 4.1.3 (media rate control): the adjustment interval, the ramp, its slower pace near the rate at which congestion was
//! last met, the limit by the rate that is really sent. Constants have the RFC's names and, unless listed below, its
//! values.
//!
//! Differences from the RFC, and their reasons:
//!
//! * *Loss alone is no congestion event* (4.1.2.1). Radio links lose packets without a queue, and a cut for each loss
//!   would bring the rate down to nothing. Loss of up to 10 % above the link's own loss is tolerated. Above that the
//!   rate stops growing. It is cut as in the RFC if packets also wait 10 ms in a queue, and otherwise in proportion to
//!   the loss once that has lasted for 2 s. The link's own loss is the loss that did not decrease when the rate was
//!   cut. Where a buffer is so short that it hardly shows as delay, the sender itself therefore causes a loss of about
//!   10 %.
//! * *The send queue is outside* this module and drops whole groups of pictures. The caller may report its length
//!   ([`RateController::queued`]). The target then does not grow while the queue is longer than RTP_QDELAY_TH (200 ms:
//!   the RFC's 20 ms is less than the queue of a single keyframe), and the pacer drains it as fast as the window
//!   allows. In place of the RFC's TX_QUEUE_SIZE_FACTOR and TARGET_RATE_SCALE_RTP_QDELAY, the target is cut when the
//!   queue delay *on the path* passes half its target: by a factor down to BETA_R and, from the full target on, down to
//!   the share of packets that arrives, but not below half the rate that arrives. When the window is full, the target
//!   is at most the rate that the path is known to carry. SCReAMv2 (draft-johansson-ccwg-rfc8298bis-screamv2) does
//!   likewise.
//! * *At a queue delay above its target, the window is limited to what drains the queue*: the bytes that arrive in the
//!   shortest round trip plus half the queue delay target. This happens at once and not over several round trips. In
//!   return, LEDBAT shrinks the window no faster than it lets it grow: both together would leave next to nothing.
//! * *The pacer runs at 1.25 times the target* and not at the rate that the window allows. A keyframe then waits at the
//!   sender, where its queue is known, and does not look like congestion.
//! * QDELAY_TARGET_LO is 60 ms (SCReAMv2's value) instead of 100, and is not raised for competing flows (4.1.2.3, which
//!   is optional): live video loses value when it is late, and false alarms of that rule are expensive. Against flows
//!   that fill every buffer, the rate falls to its minimum.
//! * RAMP_UP_SPEED is 10 Mbit/s per second instead of 200 kbit/s, so that the ramp is mostly half the rate per second:
//!   recovery should take seconds at 10 Mbit/s too.
//! * The target is not pulled down to twice the rate that is really sent (rate_media_limit). It only stops growing at
//!   1.5 times that rate. An encoder that produces little for a while should not have to start again from nothing.
//! * The rate that arrived before a cut counts for target_last_max too: in a series of cuts only the first starts at
//!   the rate at which congestion was met.
//! * While nothing queues on the path, the window admits what the target produces in a round trip plus 75 ms. Reports
//!   are lost too, on links that lose packets in bursts, and a window that closes for lack of reports delays frames.
//! * *An unsteered source* ([`RateConfig::unsteered`]) goes on sending more than a target that was cut. The pacer would
//!   then let out as much as comes, and a queue at the sender would stay for ever. If such a queue has stood for 150
//!   ms, nothing queues on the path and loss is low, the target is at least the rate that arrives.
//! * The first window holds 100 ms of the start rate instead of MIN_CWND. MSS is 1200 bytes, or the longest packet
//!   sent.
//! * *Silence* is not in the RFC. At [`RateController::deadline`] the packets in flight are given up, the target
//!   halves, and each further timeout admits the smallest window as a probe. The first report after it restores half of
//!   the former target. If the sender itself was pausing, only one report is missing, and the target stays.
//! * ECN, several streams and their priorities are left out, because nothing here could use them.

mod config;
mod controller;
mod delay;
mod flight;
mod loss;
mod stream_path;
#[cfg(test)]
mod tests;
mod window;

pub use config::RateConfig;
pub use controller::RateController;
pub use flight::{MAX_IN_FLIGHT, MAX_REPORT_BYTES, Report};
pub use stream_path::{MAX_MARKS, MOST_QUEUED, StreamPath, StreamSample};
