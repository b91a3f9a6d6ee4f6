//! One session that is open: bytes in both directions.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use moq_net::broadcast;
use moq_net::bytes::Bytes;
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

use super::inlet::Inlet;
use super::object::Object;
use super::outbox::{End, Outbox};
use super::outlet::Outlet;
use super::table::Table;
use super::{BROKEN, WINDOW_BYTES, WINDOW_PIECES};
use crate::pipe::Outgoing;

/// Pieces after which the other end is told that they were taken. Fewer than its window has, or it would wait.
const TOLD_PIECES: usize = WINDOW_PIECES / 4;
/// Bytes after which it is told, likewise.
const TOLD_BYTES: usize = WINDOW_BYTES / 4;
/// Time that the last bytes of a session that sealcast closed may take to the other end.
const CLOSING: Duration = Duration::from_secs(5);
/// Time for which the rest of a session is awaited after its broadcast ended, which overtakes the last objects.
const REST: Duration = Duration::from_millis(500);

/// Both directions of a session, and sealcast.
pub(super) struct Exchange {
    session: u32,
    table: Arc<Table>,
    outbox: Arc<Outbox>,
    outlet: Outlet,
    inlet: Inlet,
    arrived: Arrived,
}

/// Pieces from the other end.
#[derive(Default)]
struct Arrived {
    /// Those that sealcast has not taken yet.
    pieces: VecDeque<Bytes>,
    bytes: usize,
    /// Pieces that sealcast took.
    taken: u64,
    /// Of these, pieces and bytes of which the other end has not been told.
    untold_pieces: usize,
    untold_bytes: usize,
}

/// Reason why a session ends.
enum Ending {
    /// Sealcast closed it.
    Closed,
    /// Anything else, in words.
    Because(String),
}

impl Exchange {
    /// The session is open at both ends, and has its number.
    pub(super) fn new(session: u32, table: Arc<Table>, outbox: Arc<Outbox>, outlet: Outlet, inlet: Inlet) -> Self {
        Self {
            session,
            table,
            outbox,
            outlet,
            inlet,
            arrived: Arrived::default(),
        }
    }

    /// Tells sealcast that the session is open, carries its bytes until it ends, and tells it why. `gone` resolves, in
    /// words, when the other end can no longer be there.
    pub(super) async fn run(mut self, gone: impl Future<Output = String>) {
        let mut gone = pin!(gone);
        self.say(Outgoing::SessionOpened(self.session)).await;
        match self.carry(gone.as_mut()).await {
            Ending::Because(why) => {
                for piece in std::mem::take(&mut self.arrived.pieces) {
                    self.say(Outgoing::SessionData(self.session, piece)).await;
                }
                self.table.end(self.session, why).await;
            }
            Ending::Closed => {
                self.table.end(self.session, End::Closed.to_string()).await;
                // Who does not take the last bytes in time does without them.
                let _ = timeout(CLOSING, self.wind_down(gone)).await;
            }
        }
    }

    async fn carry(&mut self, mut gone: impl Future<Output = String> + Unpin) -> Ending {
        let output = self.table.output().clone();
        loop {
            let carried = tokio::select! {
                why = &mut gone => return Ending::Because(why),
                end = self.outbox.ended() => return match end {
                    End::Closed => Ending::Closed,
                    End::TooMuch => Ending::Because(end.to_string()),
                },
                piece = self.outbox.next(), if self.outlet.has_room() => self.outlet.send(piece),
                permit = output.reserve(), if !self.arrived.pieces.is_empty() => {
                    let Ok(permit) = permit else {
                        return Ending::Because("sealcast is gone".to_owned());
                    };
                    if let Some(piece) = self.arrived.take() {
                        permit.send(Outgoing::SessionData(self.session, piece));
                    }
                    self.tell()
                }
                object = self.inlet.next() => match object {
                    Ok(Object::Piece(piece)) => self.arrived.add(piece),
                    Ok(Object::Taken(pieces)) => self.outlet.was_taken(pieces),
                    Ok(Object::End) => return Ending::Because("the other end closed it".to_owned()),
                    Err(why) => Err(why),
                },
            };
            if let Err(why) = carried {
                // That the other end is gone says more than what it left behind.
                return Ending::Because(timeout(REST * 2, gone).await.unwrap_or(why));
            }
            // Objects that are there are read without a pause, so others must have their turn.
            yield_now().await;
        }
    }

    /// Sends what waits, and waits until the other end knows.
    async fn wind_down(&mut self, mut gone: impl Future<Output = String> + Unpin) {
        let mut said = false;
        loop {
            if !said && self.outbox.is_empty() {
                said = true;
                if self.outlet.say_end().is_err() {
                    return;
                }
            }
            let carried = tokio::select! {
                _ = &mut gone => return,
                piece = self.outbox.next(), if self.outlet.has_room() => self.outlet.send(piece),
                object = self.inlet.next() => match object {
                    Ok(Object::Piece(piece)) => self.arrived.add(piece).and_then(|()| {
                        while self.arrived.take().is_some() {}
                        self.tell()
                    }),
                    Ok(Object::Taken(pieces)) => self.outlet.was_taken(pieces),
                    Ok(Object::End) | Err(_) => return,
                },
            };
            if carried.is_err() {
                return;
            }
            yield_now().await;
        }
    }

    /// Tells the other end what was taken, now and then.
    fn tell(&mut self) -> Result<(), String> {
        match self.arrived.due() {
            Some(taken) => self.outlet.say_taken(taken),
            None => Ok(()),
        }
    }

    async fn say(&self, message: Outgoing) {
        // The output ends only when sealcast does.
        let _ = self.table.output().send(message).await;
    }
}

impl Arrived {
    /// # Errors
    /// The other end does not wait until its pieces are taken; in words.
    fn add(&mut self, piece: Bytes) -> Result<(), String> {
        self.bytes += piece.len();
        self.pieces.push_back(piece);
        match self.pieces.len() <= WINDOW_PIECES && self.bytes <= WINDOW_BYTES {
            true => Ok(()),
            false => Err("the other end sends more than it may".to_owned()),
        }
    }

    fn take(&mut self) -> Option<Bytes> {
        let piece = self.pieces.pop_front()?;
        self.bytes -= piece.len();
        self.taken += 1;
        self.untold_pieces += 1;
        self.untold_bytes += piece.len();
        Some(piece)
    }

    /// Number of pieces that were taken, if it is time to tell.
    fn due(&mut self) -> Option<u64> {
        if self.untold_pieces < TOLD_PIECES && self.untold_bytes < TOLD_BYTES {
            return None;
        }
        self.untold_pieces = 0;
        self.untold_bytes = 0;
        Some(self.taken)
    }
}

/// Resolves in words when `who`, whose broadcast this is, is gone, or the connection to the relay, which `alive` stands
/// for.
pub(super) async fn gone(who: &str, broadcast: &broadcast::Consumer, mut alive: watch::Receiver<()>) -> String {
    let ended = async {
        broadcast.closed().await;
        sleep(REST).await;
    };
    tokio::select! {
        () = ended => format!("{who} is gone"),
        _ = alive.changed() => BROKEN.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use moq_net::origin;
    use tokio::sync::mpsc::{self, Receiver};

    use super::super::info;
    use super::super::outbox::MAX_WAITING;
    use super::*;
    use crate::pipe::MAX_SESSION_DATA;

    const LENGTH: usize = 3 << 20;

    /// One end of a session, and what it says to its sealcast.
    struct Side {
        table: Arc<Table>,
        output: Receiver<Outgoing>,
    }

    impl Side {
        /// Sends bytes to the other end, in pieces of this length.
        fn push(&self, bytes: &[u8], piece: usize) {
            bytes.chunks(piece).for_each(|piece| self.table.push(1, piece));
        }

        async fn next(&mut self) -> Outgoing {
            self.output.recv().await.unwrap()
        }

        async fn expect_bytes(&mut self, expected: &[u8]) {
            let mut found = Vec::new();
            while found.len() < expected.len() {
                match self.next().await {
                    Outgoing::SessionData(1, bytes) => found.extend_from_slice(&bytes),
                    message => panic!("{message:?}"),
                }
            }
            assert!(found == expected, "bytes that were not sent");
        }

        async fn expect_end(&mut self, expected: &str) {
            match self.next().await {
                Outgoing::SessionClosed(1, words) => assert!(words.contains(expected), "{words}"),
                message => panic!("{message:?}"),
            }
        }
    }

    /// Two ends in this process. Broadcasts end with the origin.
    async fn two_ends() -> (Side, Side, origin::Producer) {
        let origin = crate::connect::origin();
        let tracks = ["viewer", "camera"].map(|name| {
            let broadcast = origin.create_broadcast(name).unwrap();
            let track = broadcast.create_track("session", info()).unwrap();
            broadcast.announce(origin::Route::default()).unwrap();
            (broadcast, Outlet::new(track).unwrap())
        });
        let [viewer, camera] = tracks;
        let viewer_hears = Inlet::open(&found(&origin, "camera").await, "session").await;
        let camera_hears = Inlet::open(&found(&origin, "viewer").await, "session").await;
        let viewer = side(viewer, viewer_hears.unwrap()).await;
        let camera = side(camera, camera_hears.unwrap()).await;
        (viewer, camera, origin)
    }

    async fn found(origin: &origin::Producer, name: &str) -> broadcast::Consumer {
        origin.consume().routed_broadcast(name).await.unwrap()
    }

    async fn side((broadcast, outlet): (broadcast::Producer, Outlet), inlet: Inlet) -> Side {
        let (sender, output) = mpsc::channel(1);
        let table = Table::new(sender);
        let exchange = Exchange::new(1, table.clone(), table.add(1), outlet, inlet);
        tokio::spawn(async move {
            let _broadcast = broadcast;
            exchange.run(pending()).await;
        });
        let mut side = Side { table, output };
        assert_eq!(side.next().await, Outgoing::SessionOpened(1));
        side
    }

    fn stream(seed: usize) -> Vec<u8> {
        (0..LENGTH)
            .map(|at| (at * 31 + at / 251 + at / 65_537 + seed) as u8)
            .collect()
    }

    #[tokio::test]
    async fn bytes_go_both_ways_whole_and_in_order() {
        let (mut viewer, mut camera, _origin) = two_ends().await;
        let (up, down) = (stream(0), stream(1));
        viewer.push(&up, 61);
        camera.push(&down, MAX_SESSION_DATA);
        tokio::join!(viewer.expect_bytes(&down), camera.expect_bytes(&up));
        // Each short message is a piece of its own: many groups.
        for at in 0..3000_u32 {
            viewer.push(&at.to_be_bytes(), 4);
            camera.expect_bytes(&at.to_be_bytes()).await;
            camera.push(&at.to_le_bytes(), 4);
            viewer.expect_bytes(&at.to_le_bytes()).await;
        }
    }

    #[tokio::test]
    async fn what_was_given_before_the_close_arrives_before_the_end() {
        let (mut viewer, mut camera, _origin) = two_ends().await;
        let bytes = stream(2);
        viewer.push(&bytes, MAX_SESSION_DATA);
        viewer.table.close(1);
        viewer.expect_end("sealcast closed it").await;
        camera.expect_bytes(&bytes).await;
        camera.expect_end("the other end closed it").await;
    }

    #[tokio::test]
    async fn an_end_that_takes_nothing_costs_the_other_one_a_bounded_wait() {
        let (mut viewer, camera, _origin) = two_ends().await;
        // The window, what the output of the other end has room for, and what may wait are together not so much.
        for _ in 0..2 * (WINDOW_BYTES + MAX_WAITING) / MAX_SESSION_DATA {
            viewer.push(&[0; MAX_SESSION_DATA], MAX_SESSION_DATA);
            yield_now().await;
        }
        viewer.expect_end("more than 4 MiB wait for it").await;
        drop(camera);
    }

    #[test]
    fn an_end_that_does_not_wait_for_the_other_one_is_found_out() {
        let longest = Bytes::from(vec![0; MAX_SESSION_DATA]);
        let mut arrived = Arrived::default();
        for _ in 0..WINDOW_BYTES / MAX_SESSION_DATA {
            arrived.add(longest.clone()).unwrap();
        }
        assert!(arrived.add(Bytes::from_static(b"1")).is_err());
        let mut arrived = Arrived::default();
        for _ in 0..WINDOW_PIECES {
            arrived.add(Bytes::from_static(b"1")).unwrap();
        }
        assert!(arrived.add(Bytes::from_static(b"1")).is_err());
    }

    #[test]
    fn the_other_end_is_told_before_its_window_is_empty() {
        for length in [1, 5_000, MAX_SESSION_DATA] {
            let (mut arrived, mut told) = (Arrived::default(), 0);
            for taken in 1..2000_u64 {
                arrived.add(vec![0; length].into()).unwrap();
                arrived.take().unwrap();
                if let Some(pieces) = arrived.due() {
                    assert_eq!(pieces, taken);
                    told = taken;
                }
                let untold = (taken - told) as usize;
                assert!(untold < WINDOW_PIECES / 2 && untold * length <= WINDOW_BYTES / 2);
            }
        }
    }
}
