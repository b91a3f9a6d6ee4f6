//! How fast to send: a controller at the sender that follows the delay of the path, after RFC 8298 (SCReAM).
//!
//! ```text
//! sent, resent ─► what is under way ─┐                      ┌─► may_send, pacing: the congestion window
//! feedback ─► round trip, queue delay, trend, loss ─► window ┴─► target: the rate for the encoder
//! ```
//!
//! From RFC 8298, section 4.1.2 (network congestion control): bytes in flight, queue delay with a base delay, its
//! trend by autocorrelation, fast increase and its resumption, growth by LEDBAT, the limit of the window by what was
//! in flight, the send window, pacing, loss with a reordering window that adapts. From 4.1.3 (media rate control): the
//! interval, the ramp, its slowness near the rate at which congestion was last met, the limit by what is really sent.
//! Constants have the RFC's names and, unless listed, its values.
//!
//! What differs, and why:
//!
//! * *Loss alone is no congestion event* (4.1.2.1): radio links lose packets without a queue, and a cut for each would
//!   bring the rate down to nothing. Up to 10 % above the link's own loss are put up with. Above, the rate stops
//!   growing; it is cut as the RFC says where packets also wait 10 ms, and otherwise in proportion to the loss once
//!   that has lasted for 2 s. The link's own loss is that which did not fall when the rate was cut. Where a buffer is
//!   so short that it hardly shows as delay, about 10 % are therefore lost by our own doing.
//! * *The send queue is outside*, and drops whole groups of pictures. Its length may be told
//!   ([`RateController::queued`]): then the target does not grow while it is longer than RTP_QDELAY_TH (200 ms and not
//!   20, since a keyframe's own queue is longer than that), and the pacer empties it as fast as the window allows. For
//!   the RFC's TX_QUEUE_SIZE_FACTOR and TARGET_RATE_SCALE_RTP_QDELAY, the target is cut when the queue delay *on the
//!   path* passes half its target: by up to BETA_R and, from the whole target on, to the part of what was sent that
//!   arrives, but not below half of that. When the window is full the target is at most what the window carries.
//!   SCReAMv2 (draft-johansson-ccwg-rfc8298bis-screamv2) is alike.
//! * *From the whole queue delay target on the window is at most what empties the queue* (the bytes that arrive in the
//!   shortest round trip and half the queue delay target), at once and not over several round trips. In return LEDBAT
//!   shrinks it no faster than it lets it grow: both together would leave next to nothing.
//! * *The pacer runs at 1.25 times the target* and not at what the window carries: a keyframe then waits at the sender,
//!   where it is known, and does not look like congestion.
//! * QDELAY_TARGET_LO is 60 ms (SCReAMv2's), not 100, and is not raised for competing flows (4.1.2.3, which may be
//!   left out): live video is worth less late, and false alarms of that rule cost most. Against flows that fill every
//!   buffer the rate falls to its least.
//! * RAMP_UP_SPEED is 10 Mbit/s in a second, not 200 kbit/s, and so the ramp is mostly half the rate in a second:
//!   recovery should take seconds at 10 Mbit/s too.
//! * The target is not pulled down to twice what is really sent (rate_media_limit); it only stops growing, at half as
//!   much again. An encoder that has nothing to show for a while should not start again from nothing.
//! * What arrived before a cut counts for target_last_max too: of several cuts in a row only the first begins at the
//!   rate at which congestion was met.
//! * While nothing waits on the path the window lets through what the target makes in 75 ms beyond the round trip:
//!   reports are lost too, on links that lose packets in runs, and a window that closes for want of them makes frames
//!   late.
//! * *A source that nothing steers* ([`RateConfig::unsteered`]) sends above a target that was cut, and then the pacer
//!   would send what comes and keep what waits. Where packets have stood at the sender for 150 ms, nothing waits on the
//!   path and loss is low, the target is at least what arrives.
//! * The first window carries the start rate for 100 ms instead of one packet a round trip; MSS is 1200 bytes, or the
//!   longest packet sent.
//! * *Silence* is not in the RFC. At [`RateController::deadline`] what is under way is given up, the target halves, and
//!   each further timeout lets the smallest window out as a probe. The first report after it restores half. A sender
//!   that was pausing by itself misses one report and nothing else: there the target stays.
//! * ECN, several streams and their priorities are left out: nothing here could use them.

mod config;
mod controller;
mod delay;
mod flight;
mod loss;
#[cfg(test)]
mod tests;
mod window;

pub use config::RateConfig;
pub use controller::RateController;
pub use flight::{MAX_IN_FLIGHT, MAX_REPORT_BYTES, Report};
