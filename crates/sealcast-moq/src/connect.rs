//! The connection to the relay, made again and again for as long as the program runs.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use moq_net::{Pattern, Patterns, cache, origin};
use moq_tokio::{Client, Connection, connect, quic};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use crate::open::Open;
use crate::pipe::{Outgoing, State};

/// Time for which QUIC is tried alone. WebSocket, for networks that let only TCP through, has many times its delay, and
/// who connected by it once stays with it.
const QUIC_ALONE: Duration = Duration::from_secs(2);
/// Wait after the first failure; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// A connection that lasts so long counts as a success: the next wait is the first again.
const LASTING: Duration = Duration::from_secs(5);
/// Time in which a connection is closed in order. The library gives the last objects a second of it.
const CLOSING: Duration = Duration::from_secs(2);
/// Bytes of objects in memory, beside the newest group of each track. Objects beyond that are forgotten.
const CACHE: u64 = 128 << 20;
/// Maximum of the words of a state, in bytes.
const MAX_WORDS: usize = 500;

/// Error of a relay that has another certificate than it should, in the words of the library.
const WRONG_CERTIFICATE: &str = "fingerprint mismatch";

/// Reason why a connection is used no more.
pub(crate) enum Ended {
    /// It ended.
    Closed(moq_tokio::Result<()>),
    /// The relay does not take what this end publishes.
    NotTaken,
}

/// The way to a relay, and the connection to it while there is one.
pub(crate) struct Relay {
    client: Client,
    url: Url,
    certificates: usize,
    output: Sender<Outgoing>,
    current: Mutex<Option<Connection>>,
}

impl Relay {
    /// There is no connection yet. Must be called within a runtime.
    ///
    /// # Errors
    /// The system gives no socket, or has no certificates of authorities; in words.
    pub(crate) fn new(open: &Open, output: Sender<Outgoing>) -> Result<Self, String> {
        let mut config = connect::Config::default();
        config.tls.fingerprint.clone_from(&open.certificates);
        config.websocket.delay = QUIC_ALONE;
        let client = config.clone().init(quic::Config::default()).or_else(|_| {
            // Without IPv6 there is no socket for both.
            config.bind = Some((Ipv4Addr::UNSPECIFIED, 0).into());
            config.init(quic::Config::default())
        });
        let client = client.map_err(|error| format!("no connection can be made ({error})"))?;
        Ok(Self {
            // The library's own attempts end after a while, and their errors go to its log only.
            client: client.with_reconnect(false),
            url: open.relay.clone(),
            certificates: open.certificates.len(),
            output,
            current: Mutex::new(None),
        })
    }

    /// Keeps a connection to the relay, for ever. `prepare` says what it carries. `during` uses each connection, with
    /// what `prepare` made for it, and returns why it ended.
    pub(crate) async fn keep<T>(
        &self,
        prepare: impl Fn(Client) -> (Client, T),
        mut during: impl AsyncFnMut(&Connection, T) -> Ended,
    ) {
        let mut wait = FIRST_WAIT;
        let mut said = String::new();
        loop {
            let (client, prepared) = prepare(self.client.clone());
            let why = match client.connect(self.url.clone()).established().await {
                Ok(connection) => {
                    let since = Instant::now();
                    self.remember(Some(connection.clone()));
                    said.clear();
                    let words = format!("connected to relay {}", self.peer());
                    self.say(State::Connected, words).await;
                    let ended = during(&connection, prepared).await;
                    if matches!(ended, Ended::NotTaken) {
                        connection.abort(moq_net::Error::Cancel);
                    }
                    self.remember(None);
                    if since.elapsed() >= LASTING {
                        wait = FIRST_WAIT;
                    }
                    self.why_ended(ended)
                }
                Err(error) => self.why_not(&error),
            };
            // Once for each reason, not for each attempt.
            if why != said {
                self.say(State::Disconnected, why.clone()).await;
                said = why;
            }
            sleep(jittered(wait)).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Closes the connection, if there is one, after what was queued has been sent.
    pub(crate) async fn close(self) {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).take();
        let closing = async {
            if let Some(connection) = current {
                // A connection that breaks now is closed, too.
                let _ = connection.close().await;
            }
            self.client.close().await;
        };
        // Without an answer the relay waits until the connection times out.
        let _ = timeout(CLOSING, closing).await;
    }

    fn remember(&self, connection: Option<Connection>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = connection;
    }

    async fn say(&self, state: State, words: String) {
        // The output ends only when sealcast does.
        let _ = self.output.send(Outgoing::State(state, self.presentable(words))).await;
    }

    /// Host and port: neither path nor query, which can hold a token.
    fn peer(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        format!("{host}:{}", self.url.port_or_known_default().unwrap_or_default())
    }

    fn why_ended(&self, ended: Ended) -> String {
        let peer = self.peer();
        match ended {
            Ended::NotTaken => self.why_refused("what is published here is not taken"),
            Ended::Closed(Err(error)) if error.is_auth() => self.why_refused(&error.to_string()),
            Ended::Closed(Err(error)) => format!("the connection to relay {peer} ended ({error}); connecting again"),
            Ended::Closed(Ok(())) => format!("relay {peer} is closing; connecting again"),
        }
    }

    fn why_not(&self, error: &moq_tokio::Error) -> String {
        let words = error.to_string();
        let peer = self.peer();
        if error.is_auth() {
            return self.why_refused(&words);
        }
        if words.contains(WRONG_CERTIFICATE) {
            return format!(
                "the certificate of relay {peer} is refused: its SHA-256 is none of the {} in `certificates`; ask who \
                 runs the relay for the present one",
                self.certificates
            );
        }
        format!("no connection to relay {peer} ({words}); trying again")
    }

    fn why_refused(&self, why: &str) -> String {
        let peer = self.peer();
        format!("relay {peer} refuses access ({why}); check the path and the token in its URL; trying again")
    }

    /// Words that can be shown: some are the relay's. The library leaves the query out; this does not depend on it.
    fn presentable(&self, words: String) -> String {
        let words = match self.url.query() {
            Some(query) if !query.is_empty() => words.replace(query, "..."),
            _ => words,
        };
        let mut words = words.replace(char::is_control, " ");
        words.truncate(words.floor_char_boundary(MAX_WORDS));
        words
    }
}

/// An origin (broadcasts of this end, or copies of the relay's) whose memory is bounded.
pub(crate) fn origin() -> origin::Producer {
    let mut config = origin::Config::default();
    let pool = cache::Config::default()
        .with_capacity(CACHE)
        .with_expiry(cache::DEFAULT_EXPIRY);
    config.pool = cache::Pool::new(pool);
    moq_tokio::origin::spawn_config(config)
}

/// Paths of broadcasts that match a pattern.
///
/// # Errors
/// It is no pattern; in words.
pub(crate) fn paths(pattern: &str) -> Result<Patterns, String> {
    let pattern: Result<Pattern, _> = pattern.parse();
    pattern
        .map(Patterns::from)
        .map_err(|error| format!("no broadcast has this name ({error})"))
}

/// As [`origin`], for broadcasts of the relay with these paths and no others, which are not even announced.
pub(crate) fn origin_of(paths: &Patterns) -> origin::Producer {
    origin().scope("", paths).expect("an origin has all paths")
}

/// Half of `wait` to all of it, so that the peers of a relay that starts again do not come all at once.
fn jittered(wait: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish() % 500;
    wait / 2 + wait * random as u32 / 1000
}
