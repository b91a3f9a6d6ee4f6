//! Sessions between viewers and the camera through a relay.

use std::collections::HashMap;
use std::sync::mpsc::Sender;

const OPEN: u8 = 4;
const DATA: u8 = 5;
const CLOSE: u8 = 6;
const OPENED: u8 = 19;
const CAME: u8 = 20;
const CLOSED: u8 = 21;

/// The open sessions of a broadcast, by the camera's numbers.
#[derive(Default)]
pub(super) struct Sessions {
    open: HashMap<u32, Session>,
    last: u32,
    /// True if the relay lets nobody open one.
    pub(super) refused: bool,
    /// All bytes that came in them.
    pub(super) seen: Vec<Vec<u8>>,
}

struct Session {
    /// The number of the viewer's connection.
    connection: usize,
    viewer: Sender<Vec<u8>>,
    /// The number that the viewer gave it.
    number: u32,
}

impl Sessions {
    /// Takes a message of a viewer, of whom the number of the connection is known and the way back, for the camera that
    /// is connected.
    pub(super) fn take_of_viewer(
        &mut self,
        (connection, viewer): (usize, &Sender<Vec<u8>>),
        camera: Option<&Sender<Vec<u8>>>,
        kind: u8,
        fields: &[u8],
    ) -> Option<()> {
        let (number, bytes) = split(fields)?;
        if kind == OPEN {
            let Some(camera) = camera.filter(|_| !self.refused) else {
                viewer
                    .send(about(CLOSED, number, b"this relay lets nobody publish"))
                    .ok()?;
                return None;
            };
            self.last += 1;
            let own = self.last;
            camera.send(about(OPENED, own, b"")).ok()?;
            viewer.send(about(OPENED, number, b"")).ok()?;
            let viewer = viewer.clone();
            let session = Session {
                connection,
                viewer,
                number,
            };
            self.open.insert(own, session);
            return Some(());
        }
        let of_viewer = |session: &Session| session.connection == connection && session.number == number;
        let own = *self.open.iter().find(|(_, session)| of_viewer(session))?.0;
        let camera = camera?;
        match kind {
            DATA => {
                self.seen.push(bytes.to_vec());
                camera.send(about(CAME, own, bytes)).ok()
            }
            CLOSE => {
                self.open.remove(&own);
                camera.send(about(CLOSED, own, b"the viewer left")).ok()
            }
            _ => None,
        }
    }

    /// Takes a message of the camera about a session.
    pub(super) fn take_of_camera(&mut self, kind: u8, fields: &[u8]) -> Option<()> {
        let (own, bytes) = split(fields)?;
        let session = self.open.get(&own)?;
        let sent = match kind {
            DATA => {
                self.seen.push(bytes.to_vec());
                session.viewer.send(about(CAME, session.number, bytes))
            }
            _ => session
                .viewer
                .send(about(CLOSED, session.number, b"the camera ended it")),
        };
        if kind == CLOSE || sent.is_err() {
            self.open.remove(&own);
        }
        Some(())
    }

    /// The camera is gone.
    pub(super) fn end(&mut self) {
        for (_, session) in self.open.drain() {
            let _ = session
                .viewer
                .send(about(CLOSED, session.number, b"the camera is gone"));
        }
    }
}

/// True for messages about sessions.
pub(super) fn is_of_session(kind: u8) -> bool {
    (OPEN..=CLOSE).contains(&kind)
}

/// A message as the relay's client reads and writes it.
pub(super) fn message(kind: u8, fields: &[u8]) -> Vec<u8> {
    let length = (fields.len() + 1) as u32;
    [&length.to_be_bytes()[..], &[kind], fields].concat()
}

fn split(fields: &[u8]) -> Option<(u32, &[u8])> {
    let (number, bytes) = fields.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), bytes))
}

fn about(kind: u8, session: u32, bytes: &[u8]) -> Vec<u8> {
    message(kind, &[&session.to_be_bytes()[..], bytes].concat())
}
