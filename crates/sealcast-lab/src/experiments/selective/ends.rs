//! The sending and the receiving end of a session, each a process of its own.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::run::Clock;
use sealcast_proto::keys::Side;
use sealcast_proto::seal::{Opener, RecordMeta, Sealed, Sealer};
use sealcast_proto::unit::{Codec, Cutter, Room, Selection, Unit};
use sealcast_proto::wire::{Accept, Flags, HEADER_LEN, Header, Kind, LENGTH_PREFIX, MessageLength, TAG_LEN};
use sealcast_proto::wire::{message_length, write_framed};
use serde::{Deserialize, Serialize};

use super::packets::Packets;
use super::session::Session;
use super::usage::{Usage, Watch};
use crate::experiments::link::ends::{tell, told};

/// Start of the line that the receiver prints when it listens; its address follows.
pub(super) const AT: &str = "at ";
/// Start of the line that an end prints when it is done; JSON follows.
pub(super) const DONE: &str = "done ";

/// Poll interval for the sender's connection.
const LOOK: Duration = Duration::from_millis(5);
/// Position of the flags in a header, and the bit that says that the payload is encrypted.
const FLAGS: usize = 1;
const ENCRYPTED: u8 = 1;

/// The work on each packet, in microseconds, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Work {
    /// On packets that are encrypted.
    pub(super) encrypted_us: Vec<f64>,
    /// On packets that are only authenticated.
    pub(super) clear_us: Vec<f64>,
}

impl Work {
    fn add(&mut self, time: Duration, encrypted: bool) {
        let times = if encrypted {
            &mut self.encrypted_us
        } else {
            &mut self.clear_us
        };
        times.push(micros(time));
    }
}

/// Figures that the sender tells at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) set_up_us: f64,
    /// Making all packets, without sealing them.
    pub(super) make_us: f64,
    pub(super) sealing: Work,
    /// Packets that were begun more than a period late.
    pub(super) late: u32,
    pub(super) usage: Usage,
}

/// Figures that the receiver tells at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Received {
    pub(super) opening: Work,
    pub(super) usage: Usage,
}

/// Makes records of packets.
struct Maker {
    packets: Packets,
    cutter: Cutter,
    selection: Selection,
    clock: Clock,
    sealer: Sealer,
    /// A message: the record, preceded by its length.
    message: Vec<u8>,
}

/// Time that a record took, and whether its packet was encrypted.
struct Made {
    make: Duration,
    seal: Duration,
    encrypted: bool,
}

impl Maker {
    /// A maker of the session's records, and the time that its keys took.
    fn new(session: &Session) -> Result<(Self, Duration)> {
        let (keys, set_up) = session.keys(Side::Responder)?;
        let mut message = Vec::new();
        write_framed(&mut message, &vec![0; HEADER_LEN + session.packet_bytes + TAG_LEN]);
        let maker = Self {
            packets: Packets::new(session)?,
            cutter: Cutter::new(Unit::Frame, session.seed),
            selection: session.selection()?,
            clock: Clock::default(),
            sealer: keys.media_sealer,
            message,
        };
        Ok((maker, set_up))
    }

    /// Makes the packet of this number into a record, as a sealcast session does: the packet is put where it is sealed,
    /// it is drawn whether it is encrypted, and the record is sealed.
    fn make(&mut self, number: u32) -> Result<Made> {
        let began = Instant::now();
        let record = &mut self.message[LENGTH_PREFIX..];
        let end = record.len() - TAG_LEN;
        let packet = &mut record[HEADER_LEN..end];
        self.packets.make(number, packet);
        let room = Room {
            first: packet.len(),
            others: packet.len(),
        };
        let mut pieces = self
            .cutter
            .cut(self.selection, 1, Some(Codec::Mjpeg), true, packet)
            .in_room(room);
        let encrypted = pieces.next().is_some_and(|piece| piece.encrypt);
        let flags = Flags::frame(true, true, true);
        let meta = RecordMeta {
            flags: if encrypted { flags } else { in_clear(flags) },
            stream: 1,
            timestamp: self.clock.wall(began),
        };
        let made = Instant::now();
        let sealed = self.sealer.seal_in_place(meta, record);
        let seal = made.elapsed();
        sealed.map_err(|error| broken(&error))?;
        Ok(Made {
            make: made - began,
            seal,
            encrypted,
        })
    }
}

/// The same flags for a payload in clear. The protocol's sessions alone make these; here they are read from a header,
/// as a viewer has them.
fn in_clear(flags: Flags) -> Flags {
    let mut header = Header {
        kind: Kind::Media,
        flags,
        epoch: 0,
        stream: 1,
        seq: 0,
        timestamp: 0,
    }
    .to_bytes();
    header[FLAGS] &= !ENCRYPTED;
    Header::read(&header).flags
}

/// Sends a session to the receiver that listens there.
///
/// # Errors
/// The session is none, the connection fails, or this process cannot be watched.
pub fn send(session: &Session, to: SocketAddr) -> Result<()> {
    session.check()?;
    let (mut maker, set_up) = Maker::new(session)?;
    let mut stream = TcpStream::connect(to).map_err(|error| refused(&error))?;
    stream.set_nodelay(true).map_err(|error| refused(&error))?;
    let mut sent = Sent {
        set_up_us: micros(set_up),
        ..Sent::default()
    };
    let watch = Watch::start()?;
    let (began, period) = (Instant::now(), session.period());
    for number in 0..session.packets {
        let due = began + period * number;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        sent.late += u32::from(due.elapsed() > period);
        let made = maker.make(number)?;
        sent.make_us += micros(made.make);
        sent.sealing.add(made.seal, made.encrypted);
        stream.write_all(&maker.message).map_err(|error| refused(&error))?;
    }
    sent.usage = watch.finish();
    say(&sent)
}

/// Receives a session, and compares each packet with the one that was sent.
///
/// # Errors
/// The session is none, the connection ends early, a record is refused, or a packet is not the one that was sent.
pub fn receive(session: &Session) -> Result<()> {
    session.check()?;
    let packets = Packets::new(session)?;
    let (keys, _) = session.keys(Side::Initiator)?;
    let mut opener = keys.media_opener;
    let mut stream = connection()?;
    let mut received = Received::default();
    let mut record = Vec::new();
    let watch = Watch::start()?;
    for number in 0..session.packets {
        read_record(&mut stream, &mut record)?;
        let (took, encrypted) = open(&mut opener, &packets, number, &mut record)?;
        received.opening.add(took, encrypted);
    }
    received.usage = watch.finish();
    say(&received)
}

/// Opens a record. Returns how long that took, and whether it was encrypted.
fn open(opener: &mut Opener, packets: &Packets, number: u32, record: &mut [u8]) -> Result<(Duration, bool)> {
    let began = Instant::now();
    let opened = Sealed::parse(record, Accept::ClearMedia).and_then(|record| opener.open(record));
    let took = began.elapsed();
    let opened = opened.map_err(|refusal| broken(&format!("packet {number} is refused: {refusal:?}")))?;
    match packets.is(number, opened.payload()) {
        true => Ok((took, opened.header().flags.encrypted())),
        false => Err(broken(&format!("packet {number} is not the one that was sent"))),
    }
}

/// The sender's connection. Gives up when the process that started this one has gone.
fn connection() -> Result<TcpStream> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| refused(&error))?;
    listener.set_nonblocking(true).map_err(|error| refused(&error))?;
    let over = told();
    tell(&format!(
        "{AT}{}",
        listener.local_addr().map_err(|error| refused(&error))?
    ));
    while !over.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).map_err(|error| refused(&error))?;
                return Ok(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(LOOK),
            Err(error) => return Err(refused(&error)),
        }
    }
    Err(broken(&"no sender connected"))
}

fn read_record(stream: &mut TcpStream, record: &mut Vec<u8>) -> Result<()> {
    let mut prefix = [0; LENGTH_PREFIX];
    stream.read_exact(&mut prefix).map_err(|error| refused(&error))?;
    let length = message_length(&prefix, MessageLength::Record).map_err(|error| broken(&error))?;
    record.resize(length.unwrap_or_default(), 0);
    stream.read_exact(record).map_err(|error| refused(&error))
}

fn say(done: &impl Serialize) -> Result<()> {
    let json = serde_json::to_string(done).map_err(|error| broken(&error))?;
    tell(&format!("{DONE}{json}"));
    Ok(())
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

fn broken(why: &dyn std::fmt::Display) -> Failure {
    let what = format!("a session failed: {why}");
    Failure::new(FailureKind::Internal, what, "please report this")
}

fn refused(error: &std::io::Error) -> Failure {
    let what = format!("the other end of a session is gone ({error})");
    Failure::new(FailureKind::Network, what, "see whether loopback is up")
}

#[cfg(test)]
mod tests {
    use super::super::session::example;
    use super::*;

    /// Sends a session through memory. Returns the records' flags, and what each record shows of its packet.
    fn carried(session: &Session) -> Vec<(bool, bool)> {
        let (mut maker, _) = Maker::new(session).expect("a session");
        let (keys, _) = session.keys(Side::Initiator).expect("keys");
        let (mut opener, packets) = (keys.media_opener, Packets::new(session).expect("they fit"));
        let one = |number| {
            let made = maker.make(number).expect("a record");
            let mut record = maker.message[LENGTH_PREFIX..].to_vec();
            let shown = packets.is(number, &record[HEADER_LEN..record.len() - TAG_LEN]);
            let (_, encrypted) = open(&mut opener, &packets, number, &mut record).expect("it opens");
            assert_eq!(encrypted, made.encrypted, "packet {number}");
            (encrypted, shown)
        };
        (0..session.packets).map(one).collect()
    }

    fn with(encrypt: &str, suite: &str, seed: u64) -> Session {
        Session {
            encrypt: encrypt.to_owned(),
            suite: suite.to_owned(),
            seed,
            ..example()
        }
    }

    #[test]
    fn what_is_drawn_is_encrypted_and_the_rest_is_seen_and_the_seed_decides() {
        let drawn = carried(&with("rate:50", "aes-256-gcm", 1));
        assert!(drawn.iter().all(|(encrypted, shown)| encrypted != shown), "{drawn:?}");
        assert!(
            drawn.contains(&(true, false)) && drawn.contains(&(false, true)),
            "{drawn:?}"
        );
        assert_eq!(drawn, carried(&with("rate:50", "aes-256-gcm", 1)));
        assert_ne!(drawn, carried(&with("rate:50", "aes-256-gcm", 2)));
        for (encrypt, seen) in [("all", (true, false)), ("none", (false, true))] {
            assert!(carried(&with(encrypt, "aes-256-gcm", 1)).iter().all(|one| *one == seen));
        }
        assert!(
            carried(&with("none", "none", 1))
                .iter()
                .all(|one| *one == (false, true))
        );
    }

    #[test]
    fn packets_in_clear_are_authenticated_unless_nothing_is() {
        for (suite, is_refused) in [("aes-256-gcm", true), ("none", false)] {
            let session = with("none", suite, 1);
            let (mut maker, _) = Maker::new(&session).expect("a session");
            let (keys, _) = session.keys(Side::Initiator).expect("keys");
            maker.make(0).expect("a record");
            let mut record = maker.message[LENGTH_PREFIX..].to_vec();
            record[HEADER_LEN] ^= 1;
            let (mut opener, packets) = (keys.media_opener, Packets::new(&session).expect("they fit"));
            let failure = open(&mut opener, &packets, 0, &mut record).expect_err("it was altered");
            let words = if is_refused {
                "is refused: Tag"
            } else {
                "not the one that was sent"
            };
            assert!(failure.what.contains(words), "{suite}: {failure}");
        }
    }

    #[test]
    fn keys_of_other_lengths_are_other_keys() {
        let (short, long) = (
            example(),
            Session {
                key_characters: 32,
                ..example()
            },
        );
        let (mut maker, _) = Maker::new(&short).expect("a session");
        maker.make(0).expect("a record");
        let packets = Packets::new(&short).expect("they fit");
        let opened = |session: &Session| {
            let (keys, _) = session.keys(Side::Initiator).expect("keys");
            let mut record = maker.message[LENGTH_PREFIX..].to_vec();
            let mut opener = keys.media_opener;
            open(&mut opener, &packets, 0, &mut record).is_ok()
        };
        assert_eq!((opened(&short), opened(&long)), (true, false));
    }
}
