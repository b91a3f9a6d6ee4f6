//! The sessions of a watching client, which opens them.

use std::collections::HashSet;
use std::sync::Arc;

use moq_net::{broadcast, origin};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout_at};

use super::exchange::{Exchange, gone};
use super::inlet::Inlet;
use super::outbox::Outbox;
use super::outlet::Outlet;
use super::table::Table;
use super::{APPEARANCE, BROKEN, TRACK, VIEWERS, answers, info};
use crate::offers::Offers;

/// Sessions that are open at a time: one in use, and some that begin.
const MAX_SESSIONS: usize = 4;
/// Sessions with those that sealcast closed and whose last bytes are still on their way.
const MAX_UNFINISHED: usize = 16;
/// Sessions that one client opens, one after the other, since their numbers are remembered.
const MAX_NUMBERS: usize = 1 << 16;

/// Opens sessions with the camera, and carries them.
pub(crate) struct Opener {
    numbers: HashSet<u32>,
    way: Arc<Way>,
}

/// A connection to the relay, for as long as it lasts.
#[derive(Clone)]
pub(crate) struct Link {
    /// Finds the camera's broadcast.
    pub(crate) camera: origin::Consumer,
    /// Whether the relay takes what this client announces.
    pub(crate) offers: Arc<Offers>,
    /// Changes when the connection ends.
    pub(crate) alive: watch::Receiver<()>,
}

/// Means of sessions to reach the camera.
struct Way {
    /// The camera's broadcast.
    name: String,
    /// Destination of the broadcasts of this client.
    outgoing: origin::Producer,
    link: watch::Sender<Option<Link>>,
    slots: Semaphore,
    table: Arc<Table>,
}

/// State of a session once both ends are there.
struct Met {
    camera: broadcast::Consumer,
    alive: watch::Receiver<()>,
    outlet: Outlet,
    inlet: Inlet,
    /// The broadcast of this end, which ends with it.
    _ours: broadcast::Producer,
}

impl Opener {
    /// No session is open. The broadcasts of this client appear in `outgoing`.
    pub(crate) fn new(name: String, outgoing: origin::Producer, table: Arc<Table>) -> Self {
        Self {
            numbers: HashSet::new(),
            way: Arc::new(Way {
                name,
                outgoing,
                link: watch::Sender::new(None),
                slots: Semaphore::new(MAX_UNFINISHED),
                table,
            }),
        }
    }

    /// Sender for the present connection; `None` when it ends.
    pub(crate) fn links(&self) -> watch::Sender<Option<Link>> {
        self.way.link.clone()
    }

    /// Opens a session. Sealcast hears of it, or of its end. Must be called within a runtime.
    ///
    /// # Errors
    /// The number has been used before; in words.
    pub(crate) fn open(&mut self, session: u32) -> Result<(), String> {
        if self.numbers.contains(&session) {
            return Err(format!("session {session} is opened a second time"));
        }
        let refused = self.refusal();
        if self.numbers.len() < MAX_NUMBERS {
            self.numbers.insert(session);
        }
        let (way, outbox) = (self.way.clone(), self.way.table.add(session));
        tokio::spawn(async move {
            let why = match (refused, way.slots.try_acquire()) {
                (None, Ok(_slot)) => return way.carry(session, outbox).await,
                (None, Err(_)) => format!("{MAX_UNFINISHED} sessions still end"),
                (Some(why), _) => why,
            };
            way.table.end(session, why).await;
        });
        Ok(())
    }

    /// Reason why there can be no further session now.
    fn refusal(&self) -> Option<String> {
        if self.numbers.len() == MAX_NUMBERS {
            return Some(format!("this client has opened {MAX_NUMBERS} sessions"));
        }
        let full = self.way.table.len() >= MAX_SESSIONS;
        full.then(|| format!("there are already {MAX_SESSIONS} sessions"))
    }
}

impl Way {
    async fn carry(&self, session: u32, outbox: Arc<Outbox>) {
        let met = tokio::select! {
            met = self.meet() => met,
            end = outbox.ended() => Err(end.to_string()),
        };
        match met {
            Err(why) => self.table.end(session, why).await,
            Ok(met) => {
                let gone = gone("the camera", &met.camera, met.alive);
                let exchange = Exchange::new(session, self.table.clone(), outbox, met.outlet, met.inlet);
                exchange.run(gone).await;
            }
        }
    }

    /// Meets the camera at the relay.
    async fn meet(&self) -> Result<Met, String> {
        let deadline = Instant::now() + APPEARANCE;
        let mut link = self.link.subscribe();
        let link = match timeout_at(deadline, link.wait_for(Option::is_some)).await {
            Ok(Ok(link)) => link.clone(),
            Ok(Err(_)) | Err(_) => None,
        };
        let Some(link) = link else {
            return Err(format!("there is no connection to the relay within {APPEARANCE:?}"));
        };
        let mut alive = link.alive.clone();
        tokio::select! {
            met = self.meet_by(&link, deadline) => met,
            _ = alive.changed() => Err(BROKEN.to_owned()),
        }
    }

    async fn meet_by(&self, link: &Link, deadline: Instant) -> Result<Met, String> {
        let refused = |error: moq_net::Error| format!("it cannot be published ({error})");
        let token = token()?;
        let path = format!("{}/{VIEWERS}/{token}", self.name);
        let ours = self.outgoing.create_broadcast(&path).map_err(refused)?;
        let outlet = Outlet::new(ours.create_track(TRACK, info()).map_err(refused)?)?;
        ours.announce(origin::Route::default()).map_err(refused)?;
        let name = self.name.as_str();
        let Ok(Ok(camera)) = timeout_at(deadline, link.camera.routed_broadcast(name)).await else {
            return Err(format!("broadcast {name} is not at the relay"));
        };
        let answers = timeout_at(deadline, Inlet::open(&camera, &answers(&token))).await;
        let taken = link.offers.taken(&path);
        let why = match answers {
            Ok(Ok(inlet)) => {
                return Ok(Met {
                    camera,
                    alive: link.alive.clone(),
                    outlet,
                    inlet,
                    _ours: ours,
                });
            }
            Ok(Err(why)) => format!("the camera does not take it: it takes none, or has too many ({why})"),
            Err(_) => format!(
                "the camera does not answer within {APPEARANCE:?}: the token in the relay's URL must let this viewer \
                 publish {name}/{VIEWERS}/..., and the camera subscribe to it"
            ),
        };
        match taken {
            true => Err(why),
            false => Err(format!(
                "the relay does not let this viewer publish {name}/{VIEWERS}/..., which a session needs: the token in \
                 its URL must allow that"
            )),
        }
    }
}

/// A name that no other session has: 32 hex digits.
fn token() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system gives no random bytes ({error})"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;
    use crate::pipe::Outgoing;

    fn closed(session: u32, why: &str) -> Option<Outgoing> {
        Some(Outgoing::SessionClosed(session, why.to_owned()))
    }

    #[tokio::test]
    async fn a_number_is_used_once_and_sessions_are_few() {
        let (sender, mut output) = mpsc::channel(1);
        let table = Table::new(sender);
        let mut opener = Opener::new("door".to_owned(), crate::connect::origin(), table.clone());
        // There is no relay: they wait for one.
        for session in 10..14 {
            opener.open(session).unwrap();
        }
        let twice = opener.open(12).err();
        assert_eq!(twice.as_deref(), Some("session 12 is opened a second time"));
        opener.open(7).unwrap();
        assert_eq!(output.recv().await, closed(7, "there are already 4 sessions"));
        table.close(13);
        assert_eq!(output.recv().await, closed(13, "sealcast closed it"));
        table.push(11, &vec![0; 5 << 20]);
        assert_eq!(
            output.recv().await,
            closed(11, "more than 4 MiB wait for it: the other end does not take them")
        );
        assert!(opener.open(7).is_err() && opener.open(13).is_err());
    }

    #[test]
    fn tokens_are_32_digits_and_differ() {
        let tokens: HashSet<String> = (0..100).map(|_| token().unwrap()).collect();
        assert_eq!(tokens.len(), 100);
        assert!(tokens.iter().all(|token| token.len() == 32));
    }
}
