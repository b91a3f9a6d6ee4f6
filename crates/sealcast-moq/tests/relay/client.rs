//! This program, and the pipes to and from it. The messages are made and read here anew, after docs/relay.md.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::relay::Relay;

/// Time that an event may take before the test fails. It takes no longer on a machine that is not overloaded.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);

pub(crate) const VIDEO: u8 = 0;
pub(crate) const KEYS: u8 = 1;
pub(crate) const PROOFS: u8 = 2;

pub(crate) const DISCONNECTED: u8 = 0;
pub(crate) const CONNECTED: u8 = 1;
pub(crate) const PRESENT: u8 = 2;
pub(crate) const GONE: u8 = 3;

/// A message from the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    State(u8, String),
    Group(u8, u64),
    Object(u8, Vec<u8>),
    Opened(u32),
    Data(u32, Vec<u8>),
    Closed(u32, String),
}

/// A running client; it is killed when this is dropped.
pub(crate) struct Client {
    process: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Message>,
    log: Option<JoinHandle<String>>,
}

impl Client {
    /// Starts the program without saying anything to it.
    pub(crate) fn start() -> Self {
        Self::start_that(true)
    }

    /// Starts a watching client whose output nobody reads.
    pub(crate) fn watch_unread(relay: &Relay, name: &str) -> Self {
        let mut client = Self::start_that(false);
        client.send_open("watch", &relay.url(name), relay.sha256());
        client
    }

    fn start_that(is_read: bool) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_sealcast-moq"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let mut output = process.stdout.take().unwrap();
        let mut errors = process.stderr.take().unwrap();
        let (sender, messages) = channel();
        thread::spawn(move || {
            if !is_read {
                // The pipe stays open, for as long as the test lasts.
                std::mem::forget(output);
                return;
            }
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let log = thread::spawn(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).unwrap();
            text
        });
        Self {
            process,
            input,
            messages,
            log: Some(log),
        }
    }

    /// Starts a publishing client.
    pub(crate) fn publish(relay: &Relay, name: &str) -> Self {
        Self::open("publish", &relay.url(name), relay.sha256())
    }

    /// Starts a watching client that waits for slow groups.
    pub(crate) fn watch(relay: &Relay, name: &str) -> Self {
        Self::open("watch", &relay.url(name), relay.sha256())
    }

    /// Starts a client with this role, URL and SHA-256.
    pub(crate) fn open(role: &str, url: &str, sha256: &str) -> Self {
        let mut client = Self::start();
        client.send_open(role, url, sha256);
        client
    }

    fn send_open(&mut self, role: &str, url: &str, sha256: &str) {
        let open =
            format!(r#"{{"role": "{role}", "relay": "{url}", "certificates": ["{sha256}"], "patience_ms": 60000}}"#);
        self.send(1, &[open.as_bytes()]);
    }

    /// Sends a message; a client that has ended does not get it.
    pub(crate) fn send(&mut self, kind: u8, fields: &[&[u8]]) {
        let fields = fields.concat();
        let length = u32::try_from(fields.len() + 1).unwrap();
        self.send_bytes(&[&length.to_be_bytes()[..], &[kind], &fields].concat());
    }

    /// Sends any bytes.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        let _ = input.write_all(bytes).and_then(|()| input.flush());
    }

    pub(crate) fn send_group(&mut self, track: u8, number: u64) {
        self.send(2, &[&[track], &number.to_be_bytes()]);
    }

    pub(crate) fn send_object(&mut self, track: u8, object: &[u8]) {
        self.send(3, &[&[track], object]);
    }

    pub(crate) fn send_session_open(&mut self, session: u32) {
        self.send(4, &[&session.to_be_bytes()]);
    }

    pub(crate) fn send_session_data(&mut self, session: u32, bytes: &[u8]) {
        self.send(5, &[&session.to_be_bytes(), bytes]);
    }

    pub(crate) fn send_session_close(&mut self, session: u32) {
        self.send(6, &[&session.to_be_bytes()]);
    }

    /// Returns the next message.
    pub(crate) fn next(&mut self) -> Message {
        match self.messages.recv_timeout(DEADLINE) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => panic!("the client said nothing for {DEADLINE:?}"),
            Err(RecvTimeoutError::Disconnected) => panic!("the client ended: {}", self.log()),
        }
    }

    /// Returns the next message about a session; others before it are skipped.
    pub(crate) fn next_of_sessions(&mut self) -> Message {
        loop {
            let message = self.next();
            if matches!(message, Message::Opened(_) | Message::Data(..) | Message::Closed(..)) {
                return message;
            }
        }
    }

    /// Waits for the end of a session and returns its last bytes and why it ended. No other session says anything.
    pub(crate) fn wait_for_end(&mut self, session: u32) -> (Vec<u8>, String) {
        let mut last = Vec::new();
        loop {
            match self.next_of_sessions() {
                Message::Data(found, bytes) if found == session => last.extend(bytes),
                Message::Closed(found, words) if found == session => return (last, words),
                message => panic!("{} before the end of session {session}", brief(&message)),
            }
        }
    }

    /// Waits for as many bytes of a session. No other session says anything.
    pub(crate) fn wait_for_bytes(&mut self, session: u32, length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < length {
            match self.next_of_sessions() {
                Message::Data(found, more) if found == session => bytes.extend(more),
                message => panic!("{} instead of bytes of session {session}", brief(&message)),
            }
        }
        bytes
    }

    /// Waits for a state and returns its words. Nothing but states comes before it.
    pub(crate) fn wait_for(&mut self, state: u8) -> String {
        let (before, words) = self.collect_until(state);
        let only_states = before.iter().all(|message| matches!(message, Message::State(..)));
        assert!(only_states, "before state {state}: {before:?}");
        words
    }

    /// Waits for a state and returns what came before it, and its words.
    pub(crate) fn collect_until(&mut self, state: u8) -> (Vec<Message>, String) {
        let mut before = Vec::new();
        loop {
            match self.next() {
                Message::State(found, words) if found == state => return (before, words),
                message => before.push(message),
            }
        }
    }

    /// Returns the next messages that are no states: of this track, and as many as these. The others are kept out.
    pub(crate) fn expect(&mut self, expected: &[Message]) {
        for message in expected {
            let found = self.next();
            assert!(found == *message, "{} instead of {}", brief(&found), brief(message));
        }
    }

    /// Ends its input, waits for its end, and returns how it ended and what it wrote to standard error.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        drop(self.input.take());
        self.ended()
    }

    /// Waits for its end while its input stays open.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let since = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return (status, self.log());
            }
            assert!(since.elapsed() < DEADLINE, "the client does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn log(&mut self) -> String {
        let log = self.log.take().map(JoinHandle::join);
        log.map_or(String::new(), |text| text.unwrap())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Fails only if it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A message without the bytes of its object.
pub(crate) fn brief(message: &Message) -> String {
    match message {
        Message::Object(track, object) => format!(
            "object of {} bytes ({:02x?}...) of track {track}",
            object.len(),
            &object[..object.len().min(8)]
        ),
        Message::Data(session, bytes) => format!(
            "{} bytes ({:02x?}...) of session {session}",
            bytes.len(),
            &bytes[..bytes.len().min(8)]
        ),
        other => format!("{other:?}"),
    }
}

fn read(output: &mut impl Read) -> Option<Message> {
    let mut length = [0; 4];
    output.read_exact(&mut length).ok()?;
    let mut message = vec![0; u32::from_be_bytes(length) as usize];
    output.read_exact(&mut message).ok()?;
    let (kind, fields) = message.split_first().unwrap();
    if let 19..=21 = kind {
        let (session, rest) = fields.split_first_chunk().unwrap();
        let session = u32::from_be_bytes(*session);
        return Some(match kind {
            19 => {
                assert!(rest.is_empty(), "{rest:?}");
                Message::Opened(session)
            }
            20 => Message::Data(session, rest.to_vec()),
            _ => Message::Closed(session, String::from_utf8(rest.to_vec()).unwrap()),
        });
    }
    let (first, rest) = fields.split_first().unwrap();
    Some(match kind {
        16 => Message::State(*first, String::from_utf8(rest.to_vec()).unwrap()),
        17 => Message::Group(*first, u64::from_be_bytes(rest.try_into().unwrap())),
        18 => Message::Object(*first, rest.to_vec()),
        other => panic!("the client wrote a message of type {other}"),
    })
}
