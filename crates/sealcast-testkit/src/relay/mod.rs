//! A relay for tests, and the client that leads to it. Like a relay of Media over QUIC it keeps the newest group of
//! each track for those who come later, and it does to what it gives viewers what a test tells it to.

mod sessions;

use std::collections::HashMap;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use self::sessions::{Sessions, is_of_session, message};

/// The tracks of a broadcast, by their numbers (docs/relay.md §2).
pub const VIDEO: u8 = 0;
/// The track of keys.
pub const KEYS: u8 = 1;
/// The track of signatures.
pub const PROOFS: u8 = 2;
/// The track of sound.
pub const SOUND: u8 = 3;

const GROUP: u8 = 2;
const OBJECT: u8 = 3;
const STATE: u8 = 16;
/// Messages of a publisher become those of a watcher by this.
const CAME: u8 = 15;

/// Changes an object on its way to viewers: into nothing, itself, or more.
pub type Meddling = Box<dyn FnMut(u8, Vec<u8>) -> Vec<Vec<u8>> + Send>;

/// State of a broadcast.
#[derive(Default)]
struct Broadcast {
    /// The messages of the newest group of each track.
    newest: HashMap<u8, Vec<Vec<u8>>>,
    viewers: Vec<Sender<Vec<u8>>>,
    streams: Vec<TcpStream>,
    /// The publisher that is connected, by a number.
    publisher: Option<usize>,
    connections: usize,
    down: bool,
    /// Nothing that comes is passed on.
    hangs: bool,
    /// Objects that were kept at some time to be given later.
    recording: HashMap<u8, Vec<Vec<u8>>>,
    meddling: Option<Meddling>,
    /// Every object that came, with its track.
    seen: Vec<(u8, Vec<u8>)>,
    /// Messages to the publisher that is connected.
    camera: Option<Sender<Vec<u8>>>,
    sessions: Sessions,
}

type Broadcasts = Arc<Mutex<HashMap<String, Broadcast>>>;

/// A relay in this process.
pub struct Relay {
    broadcasts: Broadcasts,
    port: u16,
    programs: TempDir,
}

impl Relay {
    /// Starts a relay.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let broadcasts = Broadcasts::default();
        let shared = Arc::clone(&broadcasts);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&shared);
                thread::spawn(move || serve(&shared, stream));
            }
        });
        let programs = tempfile::tempdir().expect("a folder");
        let client = programs.path().join("sealcast-moq");
        // Only pipes and a connection: what is said on them is the real client's language.
        // The end of its input ends it.
        let script = format!(
            "#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/{port} 4<&0\n(cat <&4 >&3; kill $$) >&- &\nexec cat <&3 4<&-\n"
        );
        std::fs::write(&client, script).expect("space");
        std::fs::set_permissions(&client, Permissions::from_mode(0o755)).expect("our own file");
        Self {
            broadcasts,
            port,
            programs,
        }
    }

    /// The address of a broadcast.
    pub fn url(&self, name: &str) -> String {
        format!("https://127.0.0.1:{}/{name}", self.port)
    }

    /// Lets a program find this relay's client.
    pub fn lead(&self, command: &mut Command) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.programs.path().to_owned()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders).expect("no colons"));
    }

    /// From now on this becomes of each object on its way to viewers.
    pub fn meddle(&self, name: &str, meddling: impl FnMut(u8, Vec<u8>) -> Vec<Vec<u8>> + Send + 'static) {
        self.with(name, |broadcast| broadcast.meddling = Some(Box::new(meddling)));
    }

    /// Cuts all connections of a broadcast, and takes no new ones.
    pub fn kill(&self, name: &str) {
        self.with(name, |broadcast| {
            broadcast.down = true;
            broadcast.cut();
        });
    }

    /// From now on, or no more, the relay keeps its connections and passes nothing on.
    pub fn hang(&self, name: &str, hangs: bool) {
        self.with(name, |broadcast| broadcast.hangs = hangs);
    }

    /// Records what it would give a new viewer now.
    pub fn record(&self, name: &str) {
        self.with(name, |broadcast| broadcast.recording = broadcast.newest.clone());
    }

    /// From now on new viewers are given what was recorded, and nothing that comes is passed on.
    pub fn rewind(&self, name: &str) {
        self.with(name, |broadcast| {
            broadcast.newest = broadcast.recording.clone();
            broadcast.hangs = true;
        });
    }

    /// Takes connections again, and knows nothing of before.
    pub fn restart(&self, name: &str) {
        self.with(name, |broadcast| {
            broadcast.cut();
            let connections = broadcast.connections;
            *broadcast = Broadcast {
                connections,
                ..Broadcast::default()
            };
        });
    }

    /// Every object that came for a broadcast so far, with its track.
    pub fn seen(&self, name: &str) -> Vec<(u8, Vec<u8>)> {
        self.with(name, |broadcast| broadcast.seen.clone())
    }

    /// From now on nobody can open a session with the camera through this relay.
    pub fn refuse_sessions(&self, name: &str) {
        self.with(name, |broadcast| broadcast.sessions.refused = true);
    }

    /// All bytes of sessions that came for a broadcast so far.
    pub fn seen_in_sessions(&self, name: &str) -> Vec<Vec<u8>> {
        self.with(name, |broadcast| broadcast.sessions.seen.clone())
    }

    /// Number of viewers of a broadcast.
    pub fn viewers(&self, name: &str) -> usize {
        self.with(name, |broadcast| broadcast.viewers.len())
    }

    fn with<T>(&self, name: &str, work: impl FnOnce(&mut Broadcast) -> T) -> T {
        work(lock(&self.broadcasts).entry(name.to_owned()).or_default())
    }
}

impl Broadcast {
    fn cut(&mut self) {
        for stream in self.streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.viewers.clear();
        self.camera = None;
        self.sessions.end();
    }

    fn give(&mut self, message: &[u8]) {
        self.viewers.retain(|viewer| viewer.send(message.to_vec()).is_ok());
    }

    /// Takes a message of the publisher.
    fn take(&mut self, kind: u8, fields: Vec<u8>) {
        if self.hangs {
            return;
        }
        if is_of_session(kind) {
            // One that the viewer has left is nobody's.
            let _ = self.sessions.take_of_camera(kind, &fields);
            return;
        }
        let Some(&track) = fields.first() else { return };
        let mut messages = Vec::new();
        match kind {
            GROUP => {
                self.newest.insert(track, Vec::new());
                messages.push(message(GROUP + CAME, &fields));
            }
            OBJECT => {
                let object = fields[1..].to_vec();
                self.seen.push((track, object.clone()));
                let given = match &mut self.meddling {
                    Some(meddling) => meddling(track, object),
                    None => vec![object],
                };
                let message = |object: &Vec<u8>| message(OBJECT + CAME, &[&[track], &object[..]].concat());
                messages.extend(given.iter().map(message));
            }
            _ => return,
        }
        for message in messages {
            self.newest.entry(track).or_default().push(message.clone());
            self.give(&message);
        }
    }

    /// Takes a message of a viewer. A session that the relay does not have is its viewer's mistake, or is over.
    fn take_of_viewer(&mut self, viewer: (usize, &Sender<Vec<u8>>), kind: u8, fields: &[u8]) {
        if !self.hangs {
            let camera = self.camera.as_ref();
            let _ = self.sessions.take_of_viewer(viewer, camera, kind, fields);
        }
    }
}

fn lock(broadcasts: &Broadcasts) -> MutexGuard<'_, HashMap<String, Broadcast>> {
    broadcasts.lock().unwrap_or_else(PoisonError::into_inner)
}

fn state(state: u8, words: &str) -> Vec<u8> {
    message(STATE, &[&[state], words.as_bytes()].concat())
}

fn read(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut bytes).ok()?;
    Some((*bytes.first()?, bytes[1..].to_vec()))
}

fn serve(broadcasts: &Broadcasts, mut stream: TcpStream) -> Option<()> {
    let (_, open) = read(&mut stream)?;
    let open: Value = serde_json::from_slice(&open).expect("JSON");
    let name = open["relay"].as_str()?.rsplit('/').next()?.to_owned();
    let with = |work: &mut dyn FnMut(&mut Broadcast)| work(lock(broadcasts).entry(name.clone()).or_default());
    let mut down = false;
    with(&mut |broadcast| {
        down = broadcast.down;
        broadcast.streams.extend(stream.try_clone());
    });
    if down {
        let _ = stream.shutdown(Shutdown::Both);
        return None;
    }
    if open["role"] == "publish" {
        let (tell, told) = channel();
        tell.send(state(1, "")).ok()?;
        write_all(&stream, told)?;
        let mut own = 0;
        with(&mut |broadcast| {
            broadcast.sessions.end();
            broadcast.camera = Some(tell.clone());
            broadcast.connections += 1;
            own = broadcast.connections;
            broadcast.publisher = Some(own);
            broadcast.give(&state(2, "it is there"));
        });
        while let Some((kind, fields)) = read(&mut stream) {
            let mut fields = Some(fields);
            with(&mut |broadcast| broadcast.take(kind, fields.take().unwrap_or_default()));
        }
        with(&mut |broadcast| {
            // Another one may be there by now.
            if broadcast.publisher == Some(own) {
                broadcast.publisher = None;
                broadcast.camera = None;
                broadcast.sessions.end();
                broadcast.newest.clear();
                broadcast.give(&state(3, "it is gone"));
            }
        });
        return Some(());
    }
    let (give, messages) = channel();
    let mut own = 0;
    with(&mut |broadcast| {
        broadcast.connections += 1;
        own = broadcast.connections;
        let connected = [state(1, ""), state(2, "it is there")];
        let known = connected
            .into_iter()
            .take(1 + usize::from(broadcast.publisher.is_some()));
        let kept = [KEYS, VIDEO, PROOFS, SOUND]
            .into_iter()
            .flat_map(|track| broadcast.newest.get(&track));
        for message in known.chain(kept.flatten().cloned()) {
            let _ = give.send(message);
        }
        broadcast.viewers.push(give.clone());
    });
    write_all(&stream, messages)?;
    while let Some((kind, fields)) = read(&mut stream) {
        with(&mut |broadcast| broadcast.take_of_viewer((own, &give), kind, &fields));
    }
    Some(())
}

/// Writes messages in a thread of its own until nobody can send one. Then the stream is cut.
fn write_all(stream: &TcpStream, messages: Receiver<Vec<u8>>) -> Option<()> {
    let mut stream = stream.try_clone().ok()?;
    thread::spawn(move || {
        while messages.recv().is_ok_and(|message| stream.write_all(&message).is_ok()) {}
        let _ = stream.shutdown(Shutdown::Both);
    });
    Some(())
}
