//! A TCP proxy, which delays byte streams and limits their rate. Other network faults need packets, since TCP hides
//! them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sealcast_proto::sim::{LinkCounts, LinkProfile, Loss, Random};

use super::scheduled::{Pair, Scheduled};
use super::{Direction, Links, Running, spawn};

/// Maximum number of connections at once; others are closed.
const MAX_CONNECTIONS: usize = 64;

/// Bytes read at once if the rate is limited: about one packet's payload, so that the stream flows evenly.
const SMALL_CHUNK: usize = 1448;

/// Bytes read at once without a rate limit.
const LARGE_CHUNK: usize = 32 * 1024;

/// Maximum number of bytes in flight in one direction of a connection.
const MAX_UNDER_WAY: usize = 64 * 1024 * 1024;

/// Time limit for the other side to accept a connection.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// A TCP proxy that delays the stream of each connection and limits its rate. It ends when dropped.
///
/// It supports `delay`, `jitter` (order is kept), `rate`, `queue` (bytes that may wait before the rate limit; when it
/// is full, the proxy stops reading instead of dropping) and `outage` (during which the proxy reads nothing). Opening
/// a connection is not delayed.
pub struct TcpProxy {
    shared: Arc<TcpProxyState>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

struct TcpProxyState {
    to: SocketAddr,
    epoch: Instant,
    stop: AtomicBool,
    table: Mutex<Table>,
}

struct Table {
    links: Links,
    seeds: Random,
    connections: Vec<Connection>,
    /// Counters of connections that have ended.
    ended: [LinkCounts; 2],
}

struct Connection {
    streams: [TcpStream; 2],
    pair: Pair,
    threads: Vec<JoinHandle<()>>,
}

/// Converts a profile for the link of a stream.
///
/// # Errors
/// The profile has a property that only packets can have; the message says which.
pub fn stream_profile(profile: &LinkProfile) -> Result<LinkProfile, String> {
    let default = LinkProfile::default();
    let packets_only = [
        ("loss", profile.loss != Loss::None),
        ("reorder", profile.reorder > 0.0),
        ("duplicate", profile.duplicate > 0.0),
        ("corrupt", profile.corrupt > 0.0),
        ("mtu", profile.mtu != default.mtu),
    ];
    if let Some((word, _)) = packets_only.iter().find(|(_, asked)| *asked) {
        return Err(format!(
            "`{word}` makes no sense for a byte stream, since a TCP proxy sees no packets; \
             use `sealcast-lab net`, or leave it out"
        ));
    }
    Ok(LinkProfile {
        keep_order: true,
        ..profile.clone()
    })
}

impl TcpProxy {
    /// Accepts connections on `listen` (port 0 chooses one) and connects each to `to`.
    ///
    /// # Errors
    /// [`stream_profile`] refuses a profile, the address cannot be bound, or a thread cannot be started.
    pub fn start(listen: SocketAddr, to: SocketAddr, links: Links) -> io::Result<Self> {
        let checked =
            |profile| stream_profile(profile).map_err(|words| io::Error::new(io::ErrorKind::InvalidInput, words));
        let links = Links {
            up: checked(&links.up)?,
            down: checked(&links.down)?,
            ..links
        };
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(TcpProxyState {
            to,
            epoch: Instant::now(),
            stop: AtomicBool::new(false),
            table: Mutex::new(Table {
                seeds: Random::new(links.seed),
                links,
                connections: Vec::new(),
                ended: [LinkCounts::default(); 2],
            }),
        });
        let listening = Arc::clone(&shared);
        let thread = Some(spawn("tcp proxy", move || listening.listen(&listener))?);
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

    /// Statistics of the chunks of all streams together. A chunk is the result of one read.
    pub fn counts(&self, direction: Direction) -> LinkCounts {
        let table = self.shared.table();
        let mut sum = table.ended[direction as usize];
        for connection in &table.connections {
            sum += connection.pair.link(direction).counts();
        }
        sum
    }
}

impl Running for TcpProxy {
    fn elapsed(&self) -> Duration {
        self.shared.epoch.elapsed()
    }

    fn profile(&self, direction: Direction) -> LinkProfile {
        self.shared.table().links.profile(direction).clone()
    }

    /// Existing connections keep their queue. Fails if [`stream_profile`] refuses the profile.
    fn change(&self, direction: Direction, profile: LinkProfile) -> Result<(), String> {
        let profile = stream_profile(&profile)?;
        let mut table = self.shared.table();
        for connection in &table.connections {
            connection.pair.link(direction).change(unqueued(&profile));
        }
        table.links.set(direction, profile);
        Ok(())
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Connects to itself, since the listening thread is blocked in accept.
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        let woken = TcpStream::connect_timeout(&address, CONNECT_PATIENCE);
        let connections = std::mem::take(&mut self.shared.table().connections);
        for connection in connections {
            connection.end();
        }
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            // A panic was already printed where it happened.
            let _ = thread.join();
        }
    }
}

impl Connection {
    fn is_over(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    fn end(self) {
        self.pair.stop();
        for stream in &self.streams {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

impl TcpProxyState {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(&self, listener: &TcpListener) {
        for near in listener.incoming() {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let Ok(near) = near else { continue };
            self.tidy();
            if self.table().connections.len() >= MAX_CONNECTIONS {
                continue;
            }
            // If the connection cannot be made, the client's connection is closed, so that the client notices.
            let Ok(far) = TcpStream::connect_timeout(&self.to, CONNECT_PATIENCE) else {
                continue;
            };
            let mut table = self.table();
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            if let Ok(connection) = self.connect(near, far, &mut table) {
                table.connections.push(connection);
            }
        }
    }

    /// Removes the connections that have ended, but keeps their counters.
    fn tidy(&self) {
        let mut table = self.table();
        let (over, going) = std::mem::take(&mut table.connections)
            .into_iter()
            .partition(Connection::is_over);
        table.connections = going;
        for connection in over {
            for direction in [Direction::Up, Direction::Down] {
                table.ended[direction as usize] += connection.pair.link(direction).counts();
            }
        }
    }

    fn connect(&self, near: TcpStream, far: TcpStream, table: &mut Table) -> io::Result<Connection> {
        near.set_nodelay(true)?;
        far.set_nodelay(true)?;
        let Table { links, seeds, .. } = table;
        let unqueued = Links {
            up: unqueued(&links.up),
            down: unqueued(&links.down),
            ..links.clone()
        };
        let pair = Pair::new(&unqueued, seeds, self.epoch);
        let mut threads = Vec::new();
        let mut serve = |from: &TcpStream, to: &TcpStream, direction: Direction| {
            let (filled, emptied) = (Arc::clone(pair.link(direction)), Arc::clone(pair.link(direction)));
            let (mut source, source_end, mut sink) = (from.try_clone()?, from.try_clone()?, to.try_clone()?);
            let queue = links.profile(direction).queue;
            threads.push(spawn("tcp in", move || fill(&mut source, &filled, queue))?);
            threads.push(spawn("tcp out", move || {
                // A stream may be closed already.
                if emptied.run(|piece| sink.write_all(piece).is_ok()) {
                    let _ = sink.shutdown(Shutdown::Write);
                } else {
                    emptied.stop();
                    let _ = source_end.shutdown(Shutdown::Read);
                }
            })?);
            io::Result::Ok(())
        };
        serve(&near, &far, Direction::Up)?;
        serve(&far, &near, Direction::Down)?;
        Ok(Connection {
            streams: [near, far],
            pair,
            threads,
        })
    }
}

/// A stream's link drops nothing; the sender waits instead.
fn unqueued(profile: &LinkProfile) -> LinkProfile {
    LinkProfile {
        queue: usize::MAX,
        ..profile.clone()
    }
}

/// Reads a stream into its link until it ends.
fn fill(from: &mut TcpStream, link: &Scheduled, queue: usize) {
    let mut buffer = vec![0; LARGE_CHUNK];
    while !link.is_stopped() {
        link.wait_for_room(|profile| room(profile, queue));
        let limited = link.profile().rate.is_some();
        let chunk = if limited { SMALL_CHUNK } else { LARGE_CHUNK };
        match from.read(&mut buffer[..chunk]) {
            Ok(0) | Err(_) => break,
            Ok(length) => link.send(&buffer[..length]),
        }
    }
    link.finish();
}

/// Maximum number of bytes in flight: the queue, and the bytes sent at this rate within the delay.
fn room(profile: &LinkProfile, queue: usize) -> usize {
    let Some(rate) = profile.rate else { return MAX_UNDER_WAY };
    let delay = profile.delay.saturating_add(profile.jitter);
    let travelling = u128::from(rate) * delay.as_nanos() / 8_000_000_000;
    let travelling = usize::try_from(travelling).unwrap_or(MAX_UNDER_WAY);
    queue.max(SMALL_CHUNK).saturating_add(travelling).min(MAX_UNDER_WAY)
}
