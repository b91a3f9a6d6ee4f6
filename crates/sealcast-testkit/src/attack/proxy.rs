//! A man in the middle: a TCP proxy that parses the framing, sees every message and may change it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the end that connected.
    Up,
    /// To the end that connected.
    Down,
}

/// The position of a message in the traffic that the proxy sees.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Number of connections before this one.
    pub connection: usize,
    /// Its direction.
    pub direction: Direction,
    /// Number of earlier messages on this connection in this direction.
    pub number: usize,
}

/// The proxy's action on a message.
#[derive(Default)]
pub struct Act {
    /// Messages to forward instead.
    pub on: Vec<Vec<u8>>,
    /// Messages to send back to the sender.
    pub back: Vec<Vec<u8>>,
    /// True to cut the connection afterwards.
    pub cut: bool,
}

impl Act {
    /// Forwards it unchanged.
    pub fn pass(message: Vec<u8>) -> Self {
        Self::all([message])
    }

    /// Forwards these instead.
    pub fn all(messages: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self {
            on: messages.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Drops it.
    pub fn drop() -> Self {
        Self::default()
    }
}

type Tamper = dyn FnMut(Seen, Vec<u8>) -> Act + Send;

/// All bytes that both ends sent, before tampering: one buffer for each direction of each connection.
type Wire = Arc<Mutex<Vec<(Direction, Vec<u8>)>>>;

/// A proxy in front of a local port.
pub struct Proxy {
    /// The listening port.
    pub port: u16,
    wire: Wire,
}

impl Proxy {
    /// Forwards connections to `target`. `tamper` gets every message with its length prefix.
    pub fn start(target: u16, tamper: impl FnMut(Seen, Vec<u8>) -> Act + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let wire = Wire::default();
        let tamper: Arc<Mutex<Tamper>> = Arc::new(Mutex::new(tamper));
        let seen_wire = Arc::clone(&wire);
        thread::spawn(move || {
            for (connection, near) in listener.incoming().flatten().enumerate() {
                let Ok(far) = TcpStream::connect(("127.0.0.1", target)) else {
                    continue;
                };
                for direction in [Direction::Up, Direction::Down] {
                    let (from, to) = if direction == Direction::Up {
                        (&near, &far)
                    } else {
                        (&far, &near)
                    };
                    let (from, to) = (clone(from), clone(to));
                    let (tamper, wire) = (Arc::clone(&tamper), Arc::clone(&seen_wire));
                    thread::spawn(move || forward(connection, direction, &from, &to, &tamper, &wire));
                }
            }
        });
        Self { port, wire }
    }

    /// The ticket with the proxy's port instead of the publisher's.
    pub fn ticket(&self, ticket: &str) -> String {
        Self::redirect(ticket, self.port)
    }

    /// The ticket with another port.
    pub fn redirect(ticket: &str, port: u16) -> String {
        let (head, tail) = ticket.split_once("127.0.0.1:").expect("a ticket of this machine");
        let (_, tail) = tail.split_once('/').expect("a peer id");
        format!("{head}127.0.0.1:{port}/{tail}")
    }

    /// The port in a ticket.
    pub fn port_of(ticket: &str) -> u16 {
        let (_, tail) = ticket.split_once("127.0.0.1:").expect("a ticket of this machine");
        tail.split('/')
            .next()
            .and_then(|port| port.parse().ok())
            .expect("a port")
    }

    /// The bytes that each end sent on each connection, in the order in which the connections began.
    pub fn wire(&self) -> Vec<(Direction, Vec<u8>)> {
        self.wire.lock().expect("no panic").clone()
    }
}

fn clone(stream: &TcpStream) -> TcpStream {
    stream.set_nodelay(true).expect("a socket option");
    stream.try_clone().expect("a descriptor")
}

fn forward(
    connection: usize,
    direction: Direction,
    from: &TcpStream,
    to: &TcpStream,
    tamper: &Mutex<Tamper>,
    wire: &Wire,
) {
    let place = {
        let mut wire = wire.lock().expect("no panic");
        wire.push((direction, Vec::new()));
        wire.len() - 1
    };
    let mut number = 0;
    while let Ok(message) = read_message(from) {
        wire.lock().expect("no panic")[place].1.extend_from_slice(&message);
        let seen = Seen {
            connection,
            direction,
            number,
        };
        number += 1;
        let act = tamper.lock().expect("no panic")(seen, message);
        let sent = [(to, act.on), (from, act.back)]
            .into_iter()
            .try_for_each(|(mut stream, messages)| messages.iter().try_for_each(|message| stream.write_all(message)));
        if act.cut || sent.is_err() {
            for stream in [from, to] {
                // The thread for the other direction may have closed it already.
                let _ = stream.shutdown(Shutdown::Both);
            }
            return;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

fn read_message(mut from: &TcpStream) -> io::Result<Vec<u8>> {
    let mut message = vec![0; 4];
    from.read_exact(&mut message)?;
    let length = u32::from_be_bytes([message[0], message[1], message[2], message[3]]) as usize;
    message.resize(4 + length, 0);
    from.read_exact(&mut message[4..])?;
    Ok(message)
}
