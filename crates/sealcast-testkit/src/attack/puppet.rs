//! A malicious peer with a valid identity: it completes the handshake and then sends whatever the test wants.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::SystemTime;

use sealcast::keys::mechanism;
use sealcast_proto::keys::{
    EpochKeys, HandshakeConfig, Identity, Initiator, InitiatorStep, Role, Side, Wish, WishedMedia,
};
use sealcast_proto::rtsp::GatewayMessage;
use sealcast_proto::seal::{RecordMeta, SealLimits, suite};
use sealcast_proto::wire::{Control, Flags, Ticket, write_framed};
use socket2::{Domain, Socket, Type};

use super::{LENGTH, PATIENCE, websocket};
use crate::ends::hello_keys;

/// A peer after its handshake.
pub struct Puppet<S = TcpStream> {
    /// Way on which it sends.
    pub stream: S,
    keys: EpochKeys,
}

/// A keyframe request for the video.
pub const WANT_KEYFRAME: [u8; 5] = [5, 0, 0, 0, 1];
/// A ping.
pub const PING: [u8; 9] = [6, 0, 0, 0, 0, 0, 0, 0, 1];

impl Puppet {
    /// Connects to the end that issued `ticket`, and sends all handshake messages up to the finish. A publisher wishes
    /// nothing, whatever `media` is.
    pub fn connect(ticket: &str, role: Role, media: WishedMedia, invited: bool) -> Self {
        let ticket: Ticket = ticket.parse().expect("a ticket");
        let mut stream = Self::dial(ticket.port);
        let (finish, keys) = shake_hands(&ticket, role, media, invited, |hello| {
            send(&mut stream, hello);
            read(&mut stream).expect("a reply")
        });
        send(&mut stream, &finish);
        Self { stream, keys }
    }

    /// As a viewer over a WebSocket at this port of the page of the end that issued `ticket`.
    pub fn connect_by_websocket(ticket: &str, port: u16) -> Self {
        let ticket: Ticket = ticket.parse().expect("a ticket");
        let mut stream = Self::dial(port);
        websocket::upgrade(&mut stream, "");
        let framed = |message: &[u8]| {
            let mut framed = Vec::new();
            write_framed(&mut framed, message);
            websocket::frame(2, &framed)
        };
        let (finish, keys) = shake_hands(&ticket, Role::Viewer, WishedMedia::Frames, true, |hello| {
            stream.write_all(&framed(hello)).expect("a connection");
            // The reply is one message of the protocol, behind its length, in one of the WebSocket.
            websocket::next(&mut stream).expect("a reply").split_off(LENGTH)
        });
        stream.write_all(&framed(&finish)).expect("a connection");
        Self { stream, keys }
    }

    fn dial(port: u16) -> TcpStream {
        // A small receive buffer: data that the puppet does not read stays in the other end's queues.
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a socket option");
        // Puppets are peers from elsewhere: one address would have the handshakes of many counted together.
        let [low, middle, high, ..] = random();
        let from = SocketAddr::from(([127, high | 1, middle, low], 0));
        socket.bind(&from.into()).expect("all of 127.0.0.0/8 is ours");
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        socket.connect(&address.into()).expect("it listens");
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Sends a control message; returns true if the other end still accepts it.
    pub fn say(&mut self, payload: &[u8]) -> bool {
        let record = self.seal(payload);
        self.stream.write_all(&record).is_ok()
    }

    /// Sends a message to a camera gateway; returns true if the gateway still accepts it.
    pub fn tell(&mut self, message: &GatewayMessage) -> bool {
        let bytes = message.to_bytes().expect("it fits");
        self.say(&Control::Gateway(&bytes).to_bytes())
    }
}

impl<S> Puppet<S> {
    pub(super) fn after(stream: S, keys: EpochKeys) -> Self {
        Self { stream, keys }
    }

    /// A control record with this payload, framed.
    pub fn seal(&mut self, payload: &[u8]) -> Vec<u8> {
        let wall = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .expect("after 1970");
        let meta = RecordMeta {
            flags: Flags::CONTROL,
            stream: 0,
            timestamp: u64::try_from(wall.as_nanos()).expect("before 2554"),
        };
        let mut record = Vec::new();
        let sealed = self.keys.control_sealer.seal(meta, &[payload], &mut record);
        assert!(sealed.is_ok(), "the key is spent");
        let mut framed = Vec::new();
        write_framed(&mut framed, &record);
        framed
    }
}

/// The handshake as a peer with a new identity: `exchange` sends the hello and returns the reply. Returns the finish,
/// which is still to be sent, and the keys.
pub(super) fn shake_hands(
    ticket: &Ticket,
    role: Role,
    media: WishedMedia,
    invited: bool,
    exchange: impl FnOnce(&[u8]) -> Vec<u8>,
) -> (Vec<u8>, EpochKeys) {
    let config = HandshakeConfig {
        role,
        identity: Arc::new(Identity::from_seed(&random())),
        suites: suite::RECOMMENDED.to_vec(),
        mechanisms: mechanism::by_name("x25519-mlkem768").into_iter().collect(),
        pinned: Some(ticket.peer),
        hello_keys: hello_keys(ticket.peer, ticket.invite.as_ref().filter(|_| invited)),
        wish: Wish::of(media),
    };
    let (mut initiator, hello) = Initiator::new(config, random()).expect("a handshake begins");
    let reply = exchange(&hello);
    let Ok(InitiatorStep::Done(finish, agreed)) = initiator.handle(&reply) else {
        panic!("an honest reply was expected");
    };
    let keys = agreed.secret.keys(&agreed.suite, Side::Initiator, SealLimits::COUNTER);
    (finish, keys)
}

fn send(stream: &mut TcpStream, message: &[u8]) {
    let mut framed = Vec::new();
    write_framed(&mut framed, message);
    stream.write_all(&framed).expect("a connection");
}

fn read(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut message = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut message).ok()?;
    Some(message)
}

pub(super) fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    let read = File::open("/dev/urandom").and_then(|mut device| device.read_exact(&mut bytes));
    read.expect("the system's generator");
    bytes
}
