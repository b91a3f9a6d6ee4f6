//! Sessions with a camera that go through a relay client: each is a byte stream within this program, whose bytes the
//! client carries.

use std::collections::HashMap;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;

use super::message::MAX_PIECE;

/// Maximum of sessions through one relay client. A publisher admits fewer viewers than that unless it is told so.
const MAX_SESSIONS: usize = 1024;
/// Bytes of a session that wait in either direction.
const WINDOW: usize = 64 << 10;
/// Pieces of a session that wait for it. Who sends more than it takes is cut off, so that nobody else waits.
const MAX_WAITING: usize = 64;
/// Maximum number of messages of all sessions that wait for the relay client. Behind it they wait themselves.
const MAX_SAID: usize = 16;

/// Message of a session to the other end.
pub(super) enum Said {
    /// Bytes.
    Bytes(u32, Vec<u8>),
    /// It is over.
    Closes(u32),
}

/// The sessions through one relay client. They end with this.
pub(super) struct RelayedSessions {
    /// Takes what comes for each; `None` once it takes too little.
    open: HashMap<u32, Option<mpsc::Sender<Vec<u8>>>>,
    say: mpsc::Sender<Said>,
    said: mpsc::Receiver<Said>,
}

impl RelayedSessions {
    /// There is none yet.
    pub(super) fn new() -> Self {
        let (say, said) = mpsc::channel(MAX_SAID);
        Self {
            open: HashMap::new(),
            say,
            said,
        }
    }

    /// Begins a session, and returns this program's end of it. `None` if there are too many.
    pub(super) fn begin(&mut self, session: u32) -> Option<DuplexStream> {
        if self.open.len() >= MAX_SESSIONS || self.open.contains_key(&session) {
            return None;
        }
        let (near, far) = tokio::io::duplex(WINDOW);
        let (came, comes) = mpsc::channel(MAX_WAITING);
        self.open.insert(session, Some(came));
        tokio::spawn(carry(session, far, comes, self.say.clone()));
        Some(near)
    }

    /// Bytes came for a session. It ends if it takes too little. What crosses with its end is nobody's.
    pub(super) fn came(&mut self, session: u32, bytes: Vec<u8>) {
        if let Some(open) = self.open.get_mut(&session)
            && open.as_ref().is_some_and(|came| came.try_send(bytes).is_err())
        {
            *open = None;
        }
    }

    /// The other end of a session is gone.
    pub(super) fn end(&mut self, session: u32) {
        self.open.remove(&session);
    }

    /// Next message of a session. Cancel-safe.
    pub(super) async fn said(&mut self) -> Said {
        loop {
            // This holds a sender itself, so there is always a next one.
            let Some(said) = self.said.recv().await else {
                return std::future::pending().await;
            };
            let open = match &said {
                Said::Bytes(session, _) => self.open.contains_key(session),
                Said::Closes(session) => self.open.remove(session).is_some(),
            };
            if open {
                return said;
            }
        }
    }
}

/// Carries the bytes of a session between its stream and the relay client until either ends.
async fn carry(session: u32, stream: DuplexStream, mut comes: mpsc::Receiver<Vec<u8>>, say: mpsc::Sender<Said>) {
    let (mut read, mut write) = tokio::io::split(stream);
    let outward = async {
        let mut piece = vec![0; MAX_PIECE];
        while let Ok(length @ 1..) = read.read(&mut piece).await {
            if say.send(Said::Bytes(session, piece[..length].to_vec())).await.is_err() {
                return;
            }
        }
    };
    let inward = async {
        while let Some(bytes) = comes.recv().await {
            write.write_all(&bytes).await?;
        }
        write.shutdown().await
    };
    let inward = async {
        // Fails only if the stream's other end is gone.
        let _: std::io::Result<()> = inward.await;
    };
    tokio::select! {
        () = outward => {}
        () = inward => {}
    }
    // Fails only if the relay client is gone, and all sessions with it.
    let _ = say.send(Said::Closes(session)).await;
}
