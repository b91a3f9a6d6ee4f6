//! Handshakes over a TCP connection on the loopback interface, between two threads.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use sealcast::failure::Result;
use sealcast::run::Clock;
use sealcast_proto::keys::Mechanism;

use super::ends::{Cost, End, Handshake, broken};

/// Longest wait for the other end.
const PATIENCE: Duration = Duration::from_secs(60);

/// The thread of the initiator, with the means to order a handshake of the responder's thread.
pub(super) struct Pair<'a> {
    mechanism: &'a Arc<dyn Mechanism>,
    address: SocketAddr,
    clock: Clock,
    orders: SyncSender<()>,
    /// First that the responder is ready, then what the handshake cost it.
    answers: Receiver<Result<Option<Cost>>>,
}

/// Calls `work` with a pair whose responder runs on a thread of its own.
///
/// # Errors
/// The port cannot be opened, or `work` fails.
pub(super) fn with_pair<R>(mechanism: &Arc<dyn Mechanism>, work: impl FnOnce(&Pair<'_>) -> Result<R>) -> Result<R> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| broken(&error))?;
    let address = listener.local_addr().map_err(|error| broken(&error))?;
    let clock = Clock::default();
    let (orders, ordered) = sync_channel(0);
    let (answer, answers) = sync_channel(2);
    thread::scope(|scope| {
        scope.spawn(move || {
            // Ends when the other thread has no more orders.
            while ordered.recv().is_ok() {
                let cost = respond(&listener, mechanism, clock, &answer);
                // Sending fails if nobody waits for it any more.
                let _ = answer.send(cost.map(Some));
            }
        });
        work(&Pair {
            mechanism,
            address,
            clock,
            orders,
            answers,
        })
    })
}

fn respond(
    listener: &TcpListener,
    mechanism: &Arc<dyn Mechanism>,
    clock: Clock,
    ready: &SyncSender<Result<Option<Cost>>>,
) -> Result<Cost> {
    let (stream, _) = listener.accept().map_err(|error| broken(&error))?;
    let end = End::responder(mechanism, clock)?;
    let _ = ready.send(Ok(None));
    drive(end, stream)
}

impl Pair<'_> {
    /// One handshake on a new connection. The time to connect, and to make the two sessions, is not part of it.
    ///
    /// # Errors
    /// The connection or the handshake fails.
    pub(super) fn handshake(&self) -> Result<Handshake> {
        let (end, keygen) = End::initiator(self.mechanism, self.clock)?;
        let stream = TcpStream::connect(self.address).map_err(|error| broken(&error))?;
        let gone = || broken(&"the other end's thread has ended");
        self.orders.send(()).map_err(|_| gone())?;
        self.answers.recv().map_err(|_| gone())??;
        let initiator = drive(end, stream)?;
        let responder = self.answers.recv().map_err(|_| gone())??;
        Ok(Handshake {
            keygen,
            initiator,
            responder: responder.ok_or_else(gone)?,
        })
    }
}

/// Drives an end until its session is established.
fn drive(mut end: End, mut stream: TcpStream) -> Result<Cost> {
    let prepared = stream.set_nodelay(true).and(stream.set_read_timeout(Some(PATIENCE)));
    prepared.map_err(|error| broken(&error))?;
    let mut incoming = Vec::new();
    loop {
        end.step(&mut incoming, |bytes| stream.write_all(bytes))?;
        if let Some(cost) = end.cost() {
            return Ok(cost);
        }
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).map_err(|error| broken(&error))?;
        if count == 0 {
            return Err(broken(&"the other end hung up"));
        }
        incoming.extend_from_slice(&chunk[..count]);
    }
}

#[cfg(test)]
mod tests {
    use sealcast::keys::mechanism;

    use super::super::ends::in_memory;
    use super::*;

    #[test]
    fn the_same_bytes_cross_over_tcp_as_in_memory() {
        let mechanism = mechanism::by_name("p256").expect("a known name");
        let here = in_memory(&mechanism).expect("it succeeds");
        let there = with_pair(&mechanism, |pair| {
            pair.handshake()?;
            pair.handshake()
        });
        let there = there.expect("both succeed");
        for (here, there) in [(here.initiator, there.initiator), (here.responder, there.responder)] {
            assert_eq!(
                (here.sent, here.received, here.messages),
                (there.sent, there.received, there.messages)
            );
            assert!(Duration::ZERO < there.cpu && there.cpu <= there.wall, "{there:?}");
        }
    }
}
