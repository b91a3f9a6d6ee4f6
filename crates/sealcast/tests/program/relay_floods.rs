//! Strangers who come through a relay: a flood of their sessions is told in a few lines, and an honest viewer gets in.

use std::io::Write;
use std::net::TcpStream;
use std::thread;

use sealcast_testkit::program::{PATIENCE, home, until};
use sealcast_testkit::relay::Relay;

use super::relays::{ANSWERED, camera, viewer_by};

const CARD: &str = "test:160x120@10";
/// Number of sessions that strangers open.
const SESSIONS: u32 = 2000;
/// Limit for the lines about them: each reason is told at powers of two, or once a minute.
const MOST_LINES: usize = 100;
/// Messages to a relay client (docs/relay.md, section 2).
const OPEN: u8 = 1;
const SESSION_OPEN: u8 = 4;
const SESSION_DATA: u8 = 5;
const SESSION_CLOSE: u8 = 6;

/// Whoever knows the address of a relay: it speaks as a watching client does, and what comes back it does not read.
struct Stranger(TcpStream);

impl Stranger {
    fn at(relay: &Relay, name: &str) -> Self {
        let url = relay.url(name);
        let place = url.trim_start_matches("https://").split('/').next().expect("a host");
        let stream = TcpStream::connect(place).expect("it listens");
        let mut answers = stream.try_clone().expect("a socket");
        thread::spawn(move || std::io::copy(&mut answers, &mut std::io::sink()));
        let mut stranger = Self(stream);
        let open = format!(r#"{{"role":"watch","relay":"{url}","certificates":[],"patience_ms":500}}"#);
        stranger.say(OPEN, open.as_bytes());
        stranger
    }

    fn say(&mut self, kind: u8, fields: &[u8]) {
        let length = u32::try_from(1 + fields.len()).expect("a short message");
        let message = [&length.to_be_bytes()[..], &[kind], fields].concat();
        self.0.write_all(&message).expect("a connection");
    }

    /// Opens a session, says this in it, and closes it or leaves it open.
    fn tries(&mut self, session: u32, words: &[u8], closes: bool) {
        let number = session.to_be_bytes();
        self.say(SESSION_OPEN, &number);
        self.say(SESSION_DATA, &[&number[..], words].concat());
        if closes {
            self.say(SESSION_CLOSE, &number);
        }
    }
}

#[test]
fn a_flood_of_strangers_through_a_relay_is_told_in_a_few_lines() {
    let (relay, own, guest) = (Relay::start(), home(), home());
    let publisher = camera(&relay, own.path(), CARD, &["front"], &[]);
    let ticket = publisher.program.line();
    publisher.program.says("the relay takes the stream", PATIENCE);
    let mut stranger = Stranger::at(&relay, "front");
    // A length beyond all bounds, a hello of another end, half a message, and nothing.
    let hello = [&[0, 0, 1, 0, 1][..], &[7; 255]].concat();
    let words: [&[u8]; 4] = [&[0xff; 8], &hello, &[0, 0, 4, 0, 1], &[]];
    for (session, words) in (0..SESSIONS).zip(words.iter().cycle()) {
        stranger.tries(session, words, session % 2 == 0);
    }
    let counted = || {
        let metrics = publisher.program.metrics();
        let counts = metrics
            .lines()
            .filter(|line| line.starts_with("sealcast_turned_away_total{"));
        let counts = counts.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        counts.sum::<f64>()
    };
    until("all are counted", || counted() >= f64::from(SESSIONS));
    let said = publisher.program.said();
    let told = said.matches(" reason=").count();
    assert!((1..MOST_LINES).contains(&told), "{told} lines:\n{said}");
    assert!(said.lines().count() < 2 * MOST_LINES, "{said}");
    let watching = viewer_by(&relay, guest.path(), &ticket, &["--to", "null:"]);
    watching.says(ANSWERED, PATIENCE);
}
