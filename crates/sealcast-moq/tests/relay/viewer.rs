//! A viewer that is not this program: it makes the objects of sessions itself, after docs/relay.md, also wrong ones.

use std::time::Duration;

use moq_net::bytes::Bytes;
use moq_net::track::{Info, Position, Producer, Subscriber, Subscription};
use moq_net::{Timestamp, broadcast, group, origin};
use moq_tokio::{Connection, connect, quic};
use tokio::runtime::Runtime;
use url::Url;

use crate::client::DEADLINE;
use crate::relay::Relay;

/// Its connection to a relay, over which it can open any number of sessions.
pub(crate) struct Viewer {
    runtime: Runtime,
    outgoing: origin::Producer,
    camera: broadcast::Consumer,
    name: String,
    // Ends with it.
    _connection: Connection,
}

/// A session of it. It ends when this is dropped.
pub(crate) struct Session {
    track: Producer,
    answers: Subscriber,
    group: Option<group::Consumer>,
    // The track ends with it.
    _broadcast: broadcast::Producer,
}

impl Viewer {
    /// Connects, and waits for the camera's broadcast.
    pub(crate) fn connect(relay: &Relay, name: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (outgoing, camera, connection) = runtime.block_on(async {
            let (outgoing, incoming) = (moq_tokio::origin::spawn(), moq_tokio::origin::spawn());
            let mut config = connect::Config::default();
            config.tls.fingerprint = vec![relay.sha256().to_owned()];
            let client = config.init(quic::Config::default()).unwrap();
            let client = client.with_publisher(&outgoing).with_subscriber(incoming.clone());
            let url = Url::parse(&relay.url("")).unwrap();
            let connection = client.connect(url).established().await.unwrap();
            let camera = incoming.consume();
            let camera = tokio::time::timeout(DEADLINE, camera.routed_broadcast(name)).await;
            (outgoing, camera.unwrap().unwrap(), connection)
        });
        Self {
            runtime,
            outgoing,
            camera,
            name: name.to_owned(),
            _connection: connection,
        }
    }

    /// Opens a session under a token. The words are the library's, if the camera refuses it.
    pub(crate) fn open(&self, token: u128) -> Result<Session, String> {
        self.runtime.block_on(async {
            let (token, info) = (format!("{token:032x}"), Info::default());
            let broadcast = self
                .outgoing
                .create_broadcast(format!("{}/viewers/{token}", self.name))
                .unwrap();
            let track = broadcast.create_track("session", info).unwrap();
            broadcast.announce(origin::Route::default()).unwrap();
            let first = track.append_group().unwrap();
            write(first, &[&taken(0)]);
            let from_the_first = Subscription::default()
                .with_max_age(Duration::from_secs(60))
                .with_start(Position::group(0));
            let answers = self.camera.track(&format!("viewers/{token}")).unwrap();
            let answers = tokio::time::timeout(DEADLINE, answers.subscribe(from_the_first))
                .await
                .unwrap();
            let answers = answers.map_err(|error| error.to_string())?;
            let mut session = Session {
                track,
                answers,
                group: None,
                _broadcast: broadcast,
            };
            assert_eq!(session.next().await?, taken(0));
            Ok(session)
        })
    }

    /// The next object of the camera in this session.
    pub(crate) fn next(&self, session: &mut Session) -> Vec<u8> {
        self.runtime.block_on(session.next()).unwrap()
    }
}

impl Session {
    /// Sends a group of objects.
    pub(crate) fn send(&self, number: u64, objects: &[&[u8]]) {
        let group = group::Info { sequence: number };
        write(self.track.create_group(group).unwrap(), objects);
    }

    async fn next(&mut self) -> Result<Vec<u8>, String> {
        let words = |error: moq_net::Error| error.to_string();
        loop {
            if let Some(group) = &mut self.group {
                let frame = tokio::time::timeout(DEADLINE, group.read_frame()).await.unwrap();
                if let Some(frame) = frame.map_err(words)? {
                    return Ok(frame.payload.to_vec());
                }
            }
            let group = tokio::time::timeout(DEADLINE, self.answers.recv_group()).await.unwrap();
            self.group = Some(group.map_err(words)?.ok_or("the track ended")?);
        }
    }
}

/// An object that says how many pieces were taken.
pub(crate) fn taken(pieces: u64) -> Vec<u8> {
    [&[0], &pieces.to_be_bytes()[..]].concat()
}

/// An object that has bytes.
pub(crate) fn piece(bytes: &[u8]) -> Vec<u8> {
    [&[1], bytes].concat()
}

fn write(mut group: group::Producer, objects: &[&[u8]]) {
    for object in objects {
        let object = Bytes::copy_from_slice(object);
        group.write_frame(Timestamp::from_millis(0).unwrap(), object).unwrap();
    }
    group.finish().unwrap();
}
