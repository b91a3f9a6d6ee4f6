//! Options for carrying a stream: the part after the `?` of a listening URL.

use std::net::SocketAddr;
use std::time::Duration;

use crate::config::option::nearest;
use crate::failure::{Failure, FailureKind, Result};
use crate::length::Millis;
use sealcast_proto::rate::RateConfig;
use sealcast_proto::session::{self, Delivery};
use sealcast_proto::wire::{BASE_DATAGRAM, MAX_DATAGRAM, MAX_LATENCY};

/// Default latency budget of the viewer, in milliseconds (protocol.md §6).
pub const DEFAULT_LATENCY_MS: u16 = 120;
/// Latency budget over byte streams, in milliseconds: the waits of a path that carries the stream, such as for the
/// repair of a lost packet, are shorter.
const STREAM_LATENCY_MS: u16 = 400;
/// Highest FEC rate that may be requested, in percent of the sent data.
const MAX_FEC: u8 = 50;

/// Amount of repair data (FEC) sent with each frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fec {
    /// Adapts to the loss rate of the path.
    #[default]
    Auto,
    /// None.
    Off,
    /// This many percent of the frame, 0 to 50.
    Percent(u8),
}

/// Length of datagrams, in bytes of UDP payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mtu {
    /// The longest that path MTU discovery finds.
    Auto,
    /// At most this many bytes, 1200 to 8972.
    Bytes(u16),
}

impl Default for Mtu {
    fn default() -> Self {
        Self::Bytes(BASE_DATAGRAM as u16)
    }
}

/// Options for carrying a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkOptions {
    /// The viewer's latency budget: how much later a frame may be than over the fastest path. At most 10 s, in whole
    /// milliseconds.
    pub latency: Duration,
    /// The same over byte streams, where the publisher keeps it: age from which a frame gives way to a newer group of
    /// pictures. At most 10 s.
    pub stream_latency: Duration,
    /// Repair data sent ahead of losses.
    pub fec: Fec,
    /// True if lost records are requested again (NACK).
    pub nack: bool,
    /// True if the encoder's bit rate follows the capacity of the path.
    pub rate: bool,
    /// True if the datagrams of a frame are spread over time (pacing).
    pub pace: bool,
    /// The multicast group to which a publisher sends its group's records as well.
    pub multicast: Option<SocketAddr>,
    /// Length of datagrams; `None` means the default of the command. QUIC chooses for itself.
    pub mtu: Option<Mtu>,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            latency: Duration::from_millis(DEFAULT_LATENCY_MS.into()),
            stream_latency: Duration::from_millis(STREAM_LATENCY_MS.into()),
            fec: Fec::default(),
            nack: true,
            rate: true,
            pace: true,
            multicast: None,
            mtu: None,
        }
    }
}

impl NetworkOptions {
    /// These options as the protocol's [`Delivery`], with `usual` as the datagram length if none is set. The
    /// publisher adds the bounds of the bit rate.
    pub fn delivery(&self, usual: Mtu) -> Delivery {
        Delivery {
            budget: self.latency,
            fec: match self.fec {
                Fec::Auto => session::Fec::Adaptive,
                Fec::Off => session::Fec::Off,
                Fec::Percent(percent) => session::Fec::Fixed(percent),
            },
            nack: self.nack,
            rate: self.rate.then(RateConfig::default),
            pace: self.pace,
            mtu: match self.mtu.unwrap_or(usual) {
                Mtu::Auto => session::Mtu::Discover,
                Mtu::Bytes(bytes) => session::Mtu::Fixed(bytes.into()),
            },
            ..Delivery::default()
        }
    }

    /// Parse the `key=value&key=value` of a URL with `scheme`; `keys` are the keys that the scheme has.
    ///
    /// # Errors
    /// Kind `Usage`, naming the key and its allowed values.
    pub(super) fn parse(query: &str, scheme: &str, keys: &[&str]) -> Result<Self> {
        let usage = |what: String, hint: String| Failure::new(FailureKind::Usage, what, hint);
        let mut options = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for pair in query.split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(&key) = keys.iter().find(|&&known| known == key) else {
                let list = format!("{scheme}:// takes {}", keys.join(", "));
                let hint = match nearest(key, keys.iter().copied()) {
                    Some(meant) => format!("write {meant}=; {list}"),
                    None => list,
                };
                return Err(usage(format!("{scheme}:// has no option \"{key}\""), hint));
            };
            if seen.contains(&key) {
                return Err(usage(format!("{key} stands there twice"), "write it once".to_owned()));
            }
            seen.push(key);
            options
                .set(key, value)
                .map_err(|takes| usage(format!("{key} cannot be \"{value}\""), format!("{key} takes {takes}")))?;
        }
        Ok(options)
    }

    /// Set one option. If the value is invalid, the error lists the allowed values.
    fn set(&mut self, key: &str, value: &str) -> std::result::Result<(), String> {
        match key {
            "latency" => {
                let takes = || "a length of time, 0ms to 10s, and milliseconds without a unit".to_owned();
                let length: Millis = value.parse().map_err(|_| takes())?;
                let millis = length.whole().filter(|millis| *millis <= MAX_LATENCY.into());
                self.latency = Duration::from_millis(millis.ok_or_else(takes)?);
                self.stream_latency = self.latency;
            }
            "fec" => {
                self.fec = match value {
                    "auto" => Fec::Auto,
                    "off" => Fec::Off,
                    _ => {
                        let percent = number(value, 0, MAX_FEC.into());
                        let percent = percent.and_then(|percent| u8::try_from(percent).ok());
                        Fec::Percent(percent.ok_or_else(|| format!("auto, off, or percent, 0 to {MAX_FEC}"))?)
                    }
                }
            }
            "mtu" => {
                self.mtu = Some(match value {
                    "auto" => Mtu::Auto,
                    _ => {
                        let bytes = number(value, BASE_DATAGRAM as u32, MAX_DATAGRAM as u32);
                        let bytes = bytes.and_then(|bytes| u16::try_from(bytes).ok());
                        let takes = || format!("auto, or bytes of UDP payload, {BASE_DATAGRAM} to {MAX_DATAGRAM}");
                        Mtu::Bytes(bytes.ok_or_else(takes)?)
                    }
                })
            }
            "multicast" => {
                let takes = || "a multicast group and a port, as in 239.1.2.3:5000 or [ff02::5]:5000".to_owned();
                let group: Option<SocketAddr> = value.parse().ok();
                let group = group.filter(|group| group.ip().is_multicast() && group.port() != 0);
                self.multicast = Some(group.ok_or_else(takes)?);
            }
            "nack" => self.nack = switch(value)?,
            "rate" => self.rate = switch(value)?,
            _ => self.pace = switch(value)?,
        }
        Ok(())
    }
}

/// Parses a decimal number from `least` to `most`.
fn number(text: &str, least: u32, most: u32) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits)?;
    (least..=most).contains(&number).then_some(number)
}

fn switch(text: &str) -> std::result::Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("on or off".to_owned()),
    }
}
