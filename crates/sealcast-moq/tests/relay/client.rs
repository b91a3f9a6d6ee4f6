//! This program, and the pipes to and from it. The messages are made and read here anew, after docs/relay.md.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::relay::Relay;

/// How long an event may take before the test fails. It takes no longer on a machine that is not overloaded.
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
        let open =
            format!(r#"{{"role": "{role}", "relay": "{url}", "certificates": ["{sha256}"], "patience_ms": 60000}}"#);
        client.send(1, &[open.as_bytes()]);
        client
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

    /// Returns the next message.
    pub(crate) fn next(&mut self) -> Message {
        match self.messages.recv_timeout(DEADLINE) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => panic!("the client said nothing for {DEADLINE:?}"),
            Err(RecvTimeoutError::Disconnected) => panic!("the client ended: {}", self.log()),
        }
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
        other => format!("{other:?}"),
    }
}

fn read(output: &mut impl Read) -> Option<Message> {
    let mut length = [0; 4];
    output.read_exact(&mut length).ok()?;
    let mut message = vec![0; u32::from_be_bytes(length) as usize];
    output.read_exact(&mut message).ok()?;
    let (kind, fields) = message.split_first().unwrap();
    let (first, rest) = fields.split_first().unwrap();
    Some(match kind {
        16 => Message::State(*first, String::from_utf8(rest.to_vec()).unwrap()),
        17 => Message::Group(*first, u64::from_be_bytes(rest.try_into().unwrap())),
        18 => Message::Object(*first, rest.to_vec()),
        other => panic!("the client wrote a message of type {other}"),
    })
}
