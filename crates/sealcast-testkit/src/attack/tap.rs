//! A man in the middle for datagrams: sees every one and may change it.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use socket2::SockRef;

use super::Direction;

/// Limit for recorded traffic in bytes.
const MOST_SEEN: usize = 64 << 20;
/// Read timeout, after which threads check if they should stop.
const LOOK: Duration = Duration::from_millis(20);
/// Size of socket buffers: enough for the traffic while this thread is not scheduled.
const BUFFER: usize = 4 << 20;
/// Offset of the kind, after `connection u32`.
const KIND: usize = 4;

/// The kind of a datagram: the byte after the connection's number.
pub fn kind(datagram: &[u8]) -> Option<u8> {
    datagram.get(KIND).copied()
}

/// True for a media record.
pub fn carries_media(datagram: &[u8]) -> bool {
    kind(datagram) == Some(0x10)
}

/// True for any record.
pub fn carries_record(datagram: &[u8]) -> bool {
    matches!(kind(datagram), Some(0x10 | 0x11))
}

type Tamper = dyn FnMut(Direction, usize, &[u8]) -> Vec<Vec<u8>> + Send;

/// A relay between a publisher and one viewer at a time.
pub struct Tap {
    /// The port for viewers.
    pub port: u16,
    shared: Arc<TapState>,
}

struct TapState {
    /// The socket for viewers.
    near: UdpSocket,
    target: SocketAddr,
    stop: AtomicBool,
    state: Mutex<State>,
    tamper: Mutex<Box<Tamper>>,
}

struct State {
    client: Option<SocketAddr>,
    /// The socket towards the publisher.
    far: Arc<UdpSocket>,
    seen: Vec<(Direction, Vec<u8>)>,
    bytes: usize,
    counts: [usize; 2],
}

impl Tap {
    /// Relays to a local port. `tamper` gets every datagram with the number of earlier ones in the same direction,
    /// and returns the datagrams to forward instead.
    pub fn start(target: u16, tamper: impl FnMut(Direction, usize, &[u8]) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let target = SocketAddr::from(([127, 0, 0, 1], target));
        let near = socket("127.0.0.1:0");
        let port = near.local_addr().expect("bound").port();
        let shared = Arc::new(TapState {
            near,
            target,
            stop: AtomicBool::new(false),
            state: Mutex::new(State {
                client: None,
                far: Arc::new(socket("127.0.0.1:0")),
                seen: Vec::new(),
                bytes: 0,
                counts: [0; 2],
            }),
            tamper: Mutex::new(Box::new(tamper)),
        });
        let up = Arc::clone(&shared);
        thread::spawn(move || up.relay_up());
        shared.listen_far();
        Self { port, shared }
    }

    /// All datagrams that both ends sent, before tampering.
    pub fn seen(&self) -> Vec<(Direction, Vec<u8>)> {
        self.shared.state().seen.clone()
    }

    /// The connection number of the newest datagram.
    pub fn connection(&self) -> [u8; 4] {
        let state = self.shared.state();
        let (_, last) = state.seen.last().expect("a datagram");
        last[..KIND].try_into().expect("a connection")
    }

    /// The viewer's address.
    pub fn viewer(&self) -> SocketAddr {
        self.shared.state().client.expect("a viewer")
    }

    /// Sends a datagram to the publisher, from the viewer's address as the publisher knows it.
    pub fn to_publisher(&self, datagram: &[u8]) {
        let far = Arc::clone(&self.shared.state().far);
        // A datagram that the system refuses is lost, as on any network.
        let _ = far.send_to(datagram, self.shared.target);
    }

    /// Sends a datagram to the viewer, from the publisher's address as the viewer knows it.
    pub fn to_viewer(&self, datagram: &[u8]) {
        let client = self.shared.state().client;
        if let Some(client) = client {
            let _ = self.shared.near.send_to(datagram, client);
        }
    }

    /// From now on the viewer's traffic comes from another address and port; datagrams to the old one are lost.
    pub fn move_to(&self, address: &str) {
        self.shared.state().far = Arc::new(socket(address));
        self.shared.listen_far();
    }

    /// Replaces the tampering function.
    pub fn tamper(&self, tamper: impl FnMut(Direction, usize, &[u8]) -> Vec<Vec<u8>> + Send + 'static) {
        *self.shared.tamper.lock().expect("no panic") = Box::new(tamper);
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl TapState {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    fn relay_up(&self) {
        let mut buffer = [0; 65_536];
        while !self.stop.load(Ordering::Relaxed) {
            let Ok((length, from)) = self.near.recv_from(&mut buffer) else {
                continue;
            };
            self.state().client = Some(from);
            let on = self.pass(Direction::Up, &buffer[..length]);
            let far = Arc::clone(&self.state().far);
            for datagram in on {
                let _ = far.send_to(&datagram, self.target);
            }
        }
    }

    /// Relays datagrams to the current address, until it is replaced.
    fn listen_far(self: &Arc<Self>) {
        let shared = Arc::clone(self);
        let far = Arc::clone(&self.state().far);
        thread::spawn(move || {
            let mut buffer = [0; 65_536];
            while !shared.stop.load(Ordering::Relaxed) && Arc::ptr_eq(&far, &shared.state().far) {
                let Ok((length, _)) = far.recv_from(&mut buffer) else {
                    continue;
                };
                let on = shared.pass(Direction::Down, &buffer[..length]);
                let client = shared.state().client;
                for (datagram, client) in on.iter().zip(client.into_iter().cycle()) {
                    let _ = shared.near.send_to(datagram, client);
                }
            }
        });
    }

    fn pass(&self, direction: Direction, datagram: &[u8]) -> Vec<Vec<u8>> {
        let number = {
            let mut state = self.state();
            if state.bytes + datagram.len() <= MOST_SEEN {
                state.bytes += datagram.len();
                state.seen.push((direction, datagram.to_vec()));
            }
            let count = &mut state.counts[usize::from(direction == Direction::Down)];
            *count += 1;
            *count - 1
        };
        self.tamper.lock().expect("no panic")(direction, number, datagram)
    }
}

fn socket(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind(address).expect("an address of this machine");
    socket.set_read_timeout(Some(LOOK)).expect("a socket option");
    SockRef::from(&socket)
        .set_recv_buffer_size(BUFFER)
        .expect("a socket option");
    socket
}
