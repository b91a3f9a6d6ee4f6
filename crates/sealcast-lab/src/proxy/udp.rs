//! A UDP proxy: every client has a link of its own to the other side.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sealcast_proto::sim::{LinkCounts, LinkProfile, MAX_PACKET, Random};

use super::scheduled::{LOOK_UP, Pair, Scheduled};
use super::{Direction, Links, Running, any_like, spawn};

/// Maximum number of clients at once; datagrams of others are dropped.
pub const MAX_CLIENTS: usize = 64;

/// A UDP proxy with a simulated link in each direction. Lengths count the datagram's payload. It ends when dropped.
pub struct UdpProxy {
    shared: Arc<UdpProxyState>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

struct UdpProxyState {
    socket: UdpSocket,
    to: SocketAddr,
    epoch: Instant,
    stop: AtomicBool,
    refused: AtomicU64,
    table: Mutex<Table>,
}

struct Table {
    links: Links,
    seeds: Random,
    clients: BTreeMap<SocketAddr, Client>,
}

/// One client's socket towards the far side, its links, and the threads that serve them.
struct Client {
    pair: Pair,
    threads: Vec<JoinHandle<()>>,
}

impl UdpProxy {
    /// Receives datagrams on `listen` (port 0 chooses one) and forwards them to `to`.
    ///
    /// # Errors
    /// The address cannot be bound, or a thread cannot be started.
    pub fn start(listen: SocketAddr, to: SocketAddr, links: Links) -> io::Result<Self> {
        let socket = UdpSocket::bind(listen)?;
        socket.set_read_timeout(Some(LOOK_UP))?;
        let address = socket.local_addr()?;
        let shared = Arc::new(UdpProxyState {
            socket,
            to,
            epoch: Instant::now(),
            stop: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            table: Mutex::new(Table {
                seeds: Random::new(links.seed),
                links,
                clients: BTreeMap::new(),
            }),
        });
        let listening = Arc::clone(&shared);
        let thread = Some(spawn("udp proxy", move || listening.listen())?);
        Ok(Self {
            shared,
            address,
            thread,
        })
    }

    /// The listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Packet statistics of all clients together.
    pub fn counts(&self, direction: Direction) -> LinkCounts {
        let mut sum = LinkCounts::default();
        for client in self.shared.table().clients.values() {
            sum += client.pair.link(direction).counts();
        }
        sum
    }

    /// Datagrams dropped because there were [`MAX_CLIENTS`] clients, or because no socket could be opened.
    pub fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::Relaxed)
    }
}

impl Running for UdpProxy {
    fn elapsed(&self) -> Duration {
        self.shared.epoch.elapsed()
    }

    fn profile(&self, direction: Direction) -> LinkProfile {
        self.shared.table().links.profile(direction).clone()
    }

    fn change(&self, direction: Direction, profile: LinkProfile) -> Result<(), String> {
        let mut table = self.shared.table();
        for client in table.clients.values() {
            client.pair.link(direction).change(profile.clone());
        }
        table.links.set(direction, profile);
        Ok(())
    }
}

impl Drop for UdpProxy {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let clients = std::mem::take(&mut self.shared.table().clients);
        for client in clients.values() {
            client.pair.stop();
        }
        let threads = clients.into_values().flat_map(|client| client.threads);
        for thread in threads.chain(self.thread.take()) {
            // A panic was already printed where it happened.
            let _ = thread.join();
        }
    }
}

impl UdpProxyState {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(self: &Arc<Self>) {
        let mut buffer = vec![0; MAX_PACKET];
        while !self.stop.load(Ordering::Relaxed) {
            let (length, from) = match self.socket.recv_from(&mut buffer) {
                Ok(received) => received,
                Err(error) if passes(&error) => continue,
                Err(_) => return,
            };
            match self.link_up(from) {
                Some(link) => link.send(&buffer[..length]),
                None => {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// The link from a client to the other side, created if the client is new.
    fn link_up(self: &Arc<Self>, from: SocketAddr) -> Option<Arc<Scheduled>> {
        let mut table = self.table();
        if let Some(client) = table.clients.get(&from) {
            return Some(Arc::clone(&client.pair.up));
        }
        if table.clients.len() >= MAX_CLIENTS || self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let Table { links, seeds, .. } = &mut *table;
        let pair = Pair::new(links, seeds, self.epoch);
        let threads = self.serve(from, &pair).ok()?;
        let link = Arc::clone(&pair.up);
        table.clients.insert(from, Client { pair, threads });
        Some(link)
    }

    fn serve(self: &Arc<Self>, client: SocketAddr, pair: &Pair) -> io::Result<Vec<JoinHandle<()>>> {
        let far = Arc::new(UdpSocket::bind(any_like(self.to))?);
        far.connect(self.to)?;
        far.set_read_timeout(Some(LOOK_UP))?;
        // A datagram that cannot be sent is lost, as on any network.
        let (link, socket) = (Arc::clone(&pair.up), Arc::clone(&far));
        let sends_up = spawn("udp up", move || {
            link.run(|packet| {
                let _ = socket.send(packet);
                true
            });
        })?;
        let (link, near) = (Arc::clone(&pair.down), Arc::clone(self));
        let sends_down = spawn("udp down", move || {
            link.run(|packet| {
                let _ = near.socket.send_to(packet, client);
                true
            });
        })?;
        let link = Arc::clone(&pair.down);
        let reads = spawn("udp back", move || {
            let mut buffer = vec![0; MAX_PACKET];
            while !link.is_stopped() {
                match far.recv(&mut buffer) {
                    Ok(length) => link.send(&buffer[..length]),
                    Err(error) if passes(&error) => {}
                    Err(_) => return,
                }
            }
        })?;
        Ok(vec![sends_up, sends_down, reads])
    }
}

/// True for errors that do not matter: a timeout, or an ICMP answer that nobody listens at an earlier datagram's
/// port.
fn passes(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock
            | ErrorKind::TimedOut
            | ErrorKind::Interrupted
            | ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
    )
}
