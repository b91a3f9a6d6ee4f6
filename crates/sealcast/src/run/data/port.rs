//! The UDP socket of a data channel at this machine, and who is heard there.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use sealcast_proto::wire::MAX_DATAGRAM_ON_CHANNEL;
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

use super::url::{DataUrl, Local};
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::labels::DataDrop;
use crate::meter::metrics::Metrics;

/// A program that sent nothing for so long gives its place to the next that sends.
const SILENT: Duration = Duration::from_secs(5);
/// Room for a datagram: one byte more than the longest, so that longer ones are known as such.
const ROOM: usize = MAX_DATAGRAM_ON_CHANNEL + 1;
/// Most datagrams that are thrown away at once when a session begins: those of a socket's full buffer.
const MAX_STALE: usize = 10_000;

/// Time of this machine that a datagram takes, at least: more of them than 1024 a second, twice what a session carries,
/// would keep its task from its pictures.
const EACH: Duration = Duration::from_micros(976);
/// So much of that time may be used at once.
const AT_ONCE: Duration = Duration::from_millis(62);
/// Maximum number of datagrams that are looked at before others have their turn.
const MAX_LOOKS: usize = 16;

/// The program at this machine.
#[derive(Clone, Copy)]
enum Partner {
    /// It is at this address, and nowhere else.
    At(SocketAddr),
    /// The one that was heard last, if there is one: at this address, at this time. Only at the IP address, if given.
    Heard(Option<(SocketAddr, Instant)>, Option<IpAddr>),
}

impl Partner {
    /// True if a datagram from this address counts.
    fn hears(&mut self, address: SocketAddr, now: Instant) -> bool {
        match self {
            Self::At(partner) => *partner == address,
            Self::Heard(_, Some(from)) if *from != address.ip().to_canonical() => false,
            Self::Heard(heard, _) => {
                let other = heard.is_some_and(|(partner, at)| partner != address && now < at + SILENT);
                if !other {
                    *heard = Some((address, now));
                }
                !other
            }
        }
    }

    fn address(self) -> Option<SocketAddr> {
        match self {
            Self::At(address) => Some(address),
            Self::Heard(heard, _) => heard.map(|(address, _)| address),
        }
    }
}

/// Judgement of what comes to a socket.
struct Door {
    partner: Partner,
    /// Time that what was let in has used up.
    used: Option<Instant>,
}

impl Door {
    /// Reason why a datagram from this address does not count; `None` if it does.
    fn refuses(&mut self, address: SocketAddr, now: Instant) -> Option<DataDrop> {
        if !self.partner.hears(address, now) {
            return Some(DataDrop::Stranger);
        }
        let used = self.used.map_or(now, |used| used.max(now));
        if used > now + AT_ONCE {
            return Some(DataDrop::TooFast);
        }
        self.used = Some(used + EACH);
        None
    }
}

/// The socket of a channel.
pub(crate) struct DataPort {
    socket: UdpSocket,
    door: Mutex<Door>,
    metrics: Metrics,
}

impl DataPort {
    /// Opens the socket of a channel.
    ///
    /// # Errors
    /// The address cannot be listened at.
    pub(crate) fn open(url: &DataUrl, metrics: Metrics) -> Result<Self> {
        let (local, partner) = match url.local {
            Local::Listens(address, from) => (address, Partner::Heard(None, from)),
            Local::SendsTo(address) => {
                let any: SocketAddr = match address {
                    SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
                    SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
                };
                let own = SocketAddr::new(
                    if address.ip().is_loopback() {
                        address.ip()
                    } else {
                        any.ip()
                    },
                    0,
                );
                (own, Partner::At(address))
            }
        };
        let opened = std::net::UdpSocket::bind(local).and_then(|socket| {
            socket.set_nonblocking(true)?;
            UdpSocket::from_std(socket)
        });
        let socket = opened.map_err(|error| {
            let what = format!(
                "the data channel {} cannot listen at {local}: {error}",
                url.name.as_str()
            );
            Failure::new(
                FailureKind::Network,
                what,
                "choose another port, or end the program that has it",
            )
        })?;
        Ok(Self {
            socket,
            door: Mutex::new(Door { partner, used: None }),
            metrics,
        })
    }

    /// The next datagram of the program at this machine, in `buffer`. Those of others are dropped and counted.
    pub(crate) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Vec<u8>> {
        let mut room = [0; ROOM];
        for _ in 0..MAX_LOOKS {
            let mut buffer = ReadBuf::new(&mut room);
            // An error is that of an earlier datagram, which nobody took.
            let Ok(from) = ready!(self.socket.poll_recv_from(context, &mut buffer)) else {
                continue;
            };
            if let Some(datagram) = self.judge(from, buffer.filled()) {
                return Poll::Ready(datagram.to_vec());
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn judge<'a>(&self, from: SocketAddr, datagram: &'a [u8]) -> Option<&'a [u8]> {
        let mut door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cause) = door.refuses(from, Instant::now()) {
            self.metrics.data_dropped(cause, 1);
            return None;
        }
        // The session counts those that are too long for it.
        Some(datagram)
    }

    /// Sends a datagram to the program at this machine, if it is known where that is.
    pub(crate) fn send(&self, datagram: &[u8]) {
        let partner = self.door.lock().unwrap_or_else(PoisonError::into_inner).partner;
        let sent = match partner.address() {
            Some(address) => self.socket.try_send_to(datagram, address),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        if sent.is_err() {
            self.metrics.data_dropped(DataDrop::Unheard, 1);
        }
    }

    /// Throws away what came while there was no session: it is old.
    pub(crate) fn forget(&self) {
        let mut room = [0; ROOM];
        for _ in 0..MAX_STALE {
            match self.socket.try_recv_from(&mut room) {
                Ok((length, from)) => drop(self.judge(from, &room[..length.min(ROOM)])),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn one_program_is_heard_until_it_is_silent() {
        let (now, first, second) = (Instant::now(), at("127.0.0.1:5"), at("127.0.0.1:6"));
        let mut partner = Partner::Heard(None, None);
        assert_eq!(partner.address(), None);
        assert!(partner.hears(first, now));
        assert!(!partner.hears(second, now + SILENT / 2));
        assert!(partner.hears(first, now + SILENT / 2));
        assert!(!partner.hears(second, now + SILENT), "the first was heard meanwhile");
        assert_eq!(partner.address(), Some(first));
        assert!(partner.hears(second, now + SILENT * 2));
        assert_eq!(partner.address(), Some(second));
    }

    #[test]
    fn a_flood_at_the_port_is_let_in_at_the_rate_alone() {
        let (now, address) = (Instant::now(), at("127.0.0.1:5"));
        let mut door = Door {
            partner: Partner::At(address),
            used: None,
        };
        let times = (0..100_000).map(|tick| now + Duration::from_micros(20) * tick);
        let passed = times.filter(|now| door.refuses(address, *now).is_none()).count();
        assert!((2048..=2048 + 70).contains(&passed), "{passed} in two seconds");
    }

    #[test]
    fn a_program_whose_address_is_given_is_the_only_one() {
        let now = Instant::now();
        let mut partner = Partner::At(at("127.0.0.1:14550"));
        assert!(partner.hears(at("127.0.0.1:14550"), now));
        assert!(!partner.hears(at("127.0.0.1:14551"), now + SILENT * 2));
        let mut partner = Partner::Heard(None, Some("192.0.2.7".parse().expect("an address")));
        assert!(!partner.hears(at("192.0.2.8:1"), now) && partner.hears(at("[::ffff:192.0.2.7]:1"), now));
    }
}
