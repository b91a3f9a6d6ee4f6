//! Telling peers the addresses of a publisher (protocol.md §4, Addresses).

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::wire::{Address, TransportKind};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::ways::{LOOK, Ways};

/// Interval at which they are said again on datagrams, which may be lost.
const REPEAT: Duration = Duration::from_secs(10);

/// Tells one peer the addresses of this end.
pub(crate) struct AddressTelling {
    ways: Arc<Ways>,
    /// Those by which the peer may come back.
    transports: &'static [TransportKind],
    look: Interval,
    /// The addresses that were told last, and when.
    told: Vec<Address>,
    at: Option<Instant>,
}

impl AddressTelling {
    /// A peer that came over one of these transports, and was told nothing.
    pub(crate) fn new(ways: &Arc<Ways>, transports: &'static [TransportKind]) -> Self {
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            ways: Arc::clone(ways),
            transports,
            look,
            told: Vec::new(),
            at: None,
        }
    }

    /// Waits until it is time to look. Cancel-safe.
    pub(crate) async fn due(&mut self) {
        self.look.tick().await;
    }

    /// Takes what is to be said now, if there is something.
    pub(crate) fn take(&mut self, now: Instant) -> Option<&[Address]> {
        let addresses = self.ways.addresses(self.transports, now);
        let lossy = self.transports.contains(&TransportKind::Udp) || self.transports.contains(&TransportKind::Quic);
        let again = lossy && self.at.is_some_and(|at| now.saturating_duration_since(at) >= REPEAT);
        if addresses == self.told && !again {
            return None;
        }
        (self.told, self.at) = (addresses, Some(now));
        Some(&self.told)
    }
}

/// Waits until there may be addresses to tell; forever if there is nothing to tell. Cancel-safe.
pub(crate) async fn due(telling: &mut Option<AddressTelling>) {
    match telling {
        Some(telling) => telling.due().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use sealcast_proto::keys::{PeerId, Role};
    use sealcast_proto::wire::Ticket;

    use super::super::ways::Way;
    use super::*;

    /// A way whose ticket changes.
    fn ways(text: &str) -> (Arc<Mutex<String>>, Arc<Ways>) {
        let text = Arc::new(Mutex::new(text.to_owned()));
        let shared = Arc::clone(&text);
        let way = move || {
            let ticket = format!("sealcast://{}", shared.lock().expect("no panic"));
            let ticket = ticket.replace('@', &format!("/{}?", PeerId([7; 32])));
            Ok(ticket.parse::<Ticket>().expect("a ticket"))
        };
        let ways = Ways::new(Role::Publisher, vec![Box::new(way) as Way]);
        (text, Arc::new(ways))
    }

    fn said(telling: &mut AddressTelling, now: Instant) -> Option<Vec<String>> {
        let said = telling.take(now)?;
        Some(said.iter().map(Address::to_string).collect())
    }

    #[tokio::test]
    async fn a_peer_is_told_when_addresses_change_and_on_datagrams_again() {
        for (transport, lossy) in [("udp", true), ("tcp", false)] {
            let (text, ways) = ways(&format!("10.0.0.1:9@transport={transport}&addr=10.0.0.2"));
            let kind: &[_] = if lossy {
                &[TransportKind::Udp]
            } else {
                &[TransportKind::Tcp]
            };
            let mut telling = AddressTelling::new(&ways, kind);
            let began = Instant::now();
            let after = |seconds| began + Duration::from_secs(seconds);
            let both = Some(vec!["10.0.0.1:9".to_owned(), "10.0.0.2:9".to_owned()]);
            assert_eq!(said(&mut telling, began), both);
            assert_eq!(said(&mut telling, after(5)), None);
            assert_eq!(said(&mut telling, after(10)), both.clone().filter(|_| lossy));
            *text.lock().expect("no panic") = format!("10.0.0.3:9@transport={transport}");
            assert_eq!(said(&mut telling, after(15)), Some(vec!["10.0.0.3:9".to_owned()]));
            let mut other = AddressTelling::new(&ways, &[TransportKind::Quic]);
            assert_eq!(
                said(&mut other, after(15)),
                None,
                "it listens at none of that transport"
            );
        }
    }

    #[tokio::test]
    async fn what_means_another_machine_to_each_is_told_to_nobody() {
        let (_, ways) = ways("localhost:9@transport=tcp&addr=127.0.0.1&addr=[fe80::1]&addr=[::1]");
        assert_eq!(
            said(&mut AddressTelling::new(&ways, &[TransportKind::Tcp]), Instant::now()),
            None
        );
    }
}
