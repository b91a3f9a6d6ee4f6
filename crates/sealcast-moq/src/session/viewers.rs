//! The sessions of a publishing client, which viewers open.

use std::collections::HashMap;
use std::sync::Arc;

use moq_net::{announce, broadcast, origin, track};
use moq_tokio::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::{Instant, timeout};

use super::exchange::{Exchange, gone};
use super::inlet::Inlet;
use super::outlet::Outlet;
use super::table::Table;
use super::{APPEARANCE, TRACK, VIEWERS, info};

/// Sessions at a time, with those that begin or end.
const MAX_SESSIONS: usize = 1024;
/// Viewers that ask for their track before the relay says that they are there.
const MAX_EARLY: usize = 1024;
/// Digits of a token.
const TOKEN_DIGITS: usize = 32;

/// Finds the viewers that open sessions, and carries these.
pub(crate) struct Viewers {
    /// The camera's broadcast.
    name: String,
    /// Requests for tracks of it that it does not have.
    requests: broadcast::Dynamic,
    table: Arc<Table>,
    slots: Arc<Semaphore>,
    left_alone: u64,
}

/// The viewers of one connection of which one half has come, by their tokens.
#[derive(Default)]
struct Halves {
    /// Sessions that wait for the viewer to ask for its track.
    sessions: HashMap<String, oneshot::Sender<track::Request>>,
    /// Viewers that asked, and when.
    requests: HashMap<String, (track::Request, Instant)>,
}

impl Viewers {
    /// There are no sessions. `requests` are those of broadcast `name`.
    pub(crate) fn new(name: String, requests: broadcast::Dynamic, table: Arc<Table>) -> Self {
        Self {
            name,
            requests,
            table,
            slots: Arc::new(Semaphore::new(MAX_SESSIONS)),
            left_alone: 0,
        }
    }

    /// Carries the sessions of a connection, until it ends.
    ///
    /// # Errors
    /// Why the connection ended.
    pub(crate) async fn follow(&mut self, connection: &Connection, found: &origin::Producer) -> moq_tokio::Result<()> {
        let found = found.consume();
        let mut announced = found.announced();
        // Sessions end when it is dropped.
        let (_alive, alive) = watch::channel(());
        let mut halves = Halves::default();
        loop {
            tokio::select! {
                ended = connection.closed() => return ended,
                Some(update) = announced.next() => {
                    if update.kind == announce::Kind::Announced
                        && let Some(token) = self.token(update.prefix.as_str())
                    {
                        // Who is left alone is refused its track.
                        let request = halves.meet(token);
                        if let Some(slot) = self.slot() {
                            let session = self.session(token.to_owned(), request, &found, alive.clone());
                            tokio::spawn(async move {
                                session.await;
                                drop(slot);
                            });
                        }
                    }
                }
                Ok(request) = self.requests.requested_track() => halves.asked(request),
            }
        }
    }

    /// The token, if this is the broadcast of a viewer.
    fn token<'a>(&self, path: &'a str) -> Option<&'a str> {
        let below = path.strip_prefix(self.name.as_str())?;
        let token = below.strip_prefix('/')?.strip_prefix(VIEWERS)?.strip_prefix('/')?;
        is_token(token).then_some(token)
    }

    fn slot(&mut self) -> Option<OwnedSemaphorePermit> {
        let slot = self.slots.clone().try_acquire_owned().ok();
        if slot.is_none() {
            self.left_alone += 1;
            if self.left_alone.is_power_of_two() {
                eprintln!(
                    "sealcast-moq: there are {MAX_SESSIONS} sessions: {} more viewers were left alone",
                    self.left_alone
                );
            }
        }
        slot
    }

    /// A session, from the announcement of the viewer's broadcast on.
    fn session(
        &self,
        token: String,
        request: oneshot::Receiver<track::Request>,
        found: &origin::Consumer,
        alive: watch::Receiver<()>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let path = format!("{}/{VIEWERS}/{token}", self.name);
        let (found, table) = (found.clone(), self.table.clone());
        async move {
            let listen = async {
                let viewer = found
                    .request_broadcast(path.as_str())
                    .await
                    .map_err(|error| error.to_string())?;
                let inlet = Inlet::open(&viewer, TRACK).await?;
                Ok((viewer, inlet))
            };
            let speak = async {
                let request = request.await.map_err(|error| error.to_string())?;
                Outlet::new(request.accept(info()))
            };
            // A viewer of which one half does not come has no session, and sees its own deadline pass.
            let met = async { tokio::try_join!(listen, speak) };
            let Ok(Ok(((viewer, inlet), outlet))) = timeout(APPEARANCE, met).await else {
                return;
            };
            let Some((session, outbox)) = table.add_next() else {
                return;
            };
            let exchange = Exchange::new(session, table, outbox, outlet, inlet);
            exchange.run(gone("the viewer", &viewer, alive)).await;
        }
    }
}

impl Halves {
    /// The broadcast of the viewer is there.
    fn meet(&mut self, token: &str) -> oneshot::Receiver<track::Request> {
        let (sender, receiver) = oneshot::channel();
        match self.requests.remove(token) {
            // Fails only if the receiver is gone.
            Some((request, _)) => drop(sender.send(request)),
            None => {
                // As many as there are sessions.
                self.sessions.retain(|_, session| !session.is_closed());
                self.sessions.insert(token.to_owned(), sender);
            }
        }
        receiver
    }

    /// A viewer asked for its track.
    fn asked(&mut self, request: track::Request) {
        let token = request
            .name()
            .strip_prefix(VIEWERS)
            .and_then(|rest| rest.strip_prefix('/'));
        let Some(token) = token.filter(|token| is_token(token)).map(str::to_owned) else {
            request.reject(moq_net::Error::NotFound);
            return;
        };
        if let Some(session) = self.sessions.remove(&token) {
            // If the session did not wait so long, this refuses the request, as dropping it does below.
            let _ = session.send(request);
            return;
        }
        self.requests.retain(|_, (_, since)| since.elapsed() < APPEARANCE);
        if self.requests.len() < MAX_EARLY {
            self.requests.insert(token, (request, Instant::now()));
        }
    }
}

fn is_token(text: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == TOKEN_DIGITS && text.bytes().all(digit)
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn only_what_is_named_like_a_viewer_is_one() {
        let (sender, _output) = mpsc::channel(1);
        let camera = crate::connect::origin().create_broadcast("door").unwrap();
        let viewers = Viewers::new("door".to_owned(), camera.dynamic(), Table::new(sender));
        let token = "0123456789abcdef0123456789abcdef";
        assert_eq!(viewers.token(&format!("door/viewers/{token}")), Some(token));
        for path in [
            "door/viewers".to_owned(),
            format!("door/viewers/{token}/more"),
            format!("doors/viewers/{token}"),
            format!("door/viewer/{token}"),
            format!("viewers/{token}"),
            format!("door/viewers/{}", token.to_uppercase()),
            format!("door/viewers/{}", &token[1..]),
        ] {
            assert_eq!(viewers.token(&path), None, "{path}");
        }
    }
}
