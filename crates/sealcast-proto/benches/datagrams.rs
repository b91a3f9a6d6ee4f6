//! Cost of a session at either end where media travels in datagrams: from the frame to the datagrams that are handed to
//! the carrier, and from the datagrams to the frame. No sockets: everything happens in memory, on a virtual clock.
//! `cargo bench -p sealcast-proto --bench datagrams [-- [FRAMES] [SUITE]]`
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock and its arguments")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use sealcast_proto::clock::Now;
use sealcast_proto::seal::Suite;
use sealcast_proto::seal::suite::RECOMMENDED;
use sealcast_proto::session::{Fec, Handled, Input, Mtu, OutgoingFrame, Output, Session};
use sealcast_proto::unit::{Assembled, Codec, Preamble};
use sealcast_proto::wire::BASE_DATAGRAM;
use sealcast_testkit::ends::Setup;

/// Frames measured for each suite if nothing is said.
const FRAMES: usize = 4000;
/// Frames before: buffers grow, and the processor wakes up.
const WARM_UP: usize = 500;
/// Datagrams of a frame.
const PACKETS: usize = 64;
/// Bytes of a frame that fill so many datagrams: each has 54 bytes of its own, the first a preamble too.
const FRAME: usize = PACKETS * (BASE_DATAGRAM - 54) - 40;
/// From one frame to the next on the virtual clock.
const INTERVAL: Duration = Duration::from_micros(40);

/// Both ends, and the time.
struct Ends {
    publisher: Session,
    viewer: Session,
    now: Now,
    /// Messages of the viewer to the publisher.
    back: Vec<Vec<u8>>,
    frames: u64,
}

impl Ends {
    fn new(suite: Suite) -> Self {
        let mut setup = Setup::default();
        setup.publisher.handshake.suites = vec![suite];
        setup.publisher.delivery.fec = Fec::Off;
        setup.publisher.delivery.rate = None;
        setup.publisher.delivery.pace = false;
        setup.publisher.delivery.mtu = Mtu::Fixed(BASE_DATAGRAM);
        let mut world = setup.datagrams("delay=1ms", 1);
        world.run_cleanly(Duration::from_secs(1));
        let ends = Self {
            now: world.now,
            publisher: world.responder.session,
            viewer: world.initiator.session,
            back: Vec::new(),
            frames: 0,
        };
        assert!(ends.publisher.is_established() && ends.viewer.is_established());
        ends
    }

    /// Seal a frame, and copy its datagrams one behind the other as the kernel would; the time without the copy.
    fn send(&mut self, number: usize, data: &[u8], datagrams: &mut Vec<u8>) -> Duration {
        let began = Instant::now();
        for mut message in self.back.drain(..) {
            self.publisher
                .handle(self.now, Input::Message(&mut message))
                .expect("a record");
        }
        let frame = OutgoingFrame {
            stream: 1,
            codec: Codec::H264,
            keyframe: true,
            preamble: Preamble {
                frame: number as u64,
                ..Preamble::default()
            },
            data: black_box(data),
        };
        let sealed = self
            .publisher
            .seal_frame(self.now, &frame, &mut Vec::new())
            .expect("established");
        assert_eq!(sealed.records, PACKETS as u64);
        let mut copying = Duration::ZERO;
        datagrams.clear();
        while let Some(packets) = self.publisher.poll_packets(self.now) {
            assert_eq!(packets.size, BASE_DATAGRAM);
            let began = Instant::now();
            datagrams.extend_from_slice(black_box(packets.bytes));
            copying += began.elapsed();
            self.publisher.packets_sent(self.now);
        }
        loop {
            match self.publisher.poll() {
                Output::Transmit(mut message) => {
                    self.viewer
                        .handle(self.now, Input::Message(&mut message))
                        .expect("a record");
                }
                Output::Timeout(_) => break,
                _ => {}
            }
        }
        began.elapsed() - copying
    }

    /// Open datagrams as a carrier's loop does; the time that took.
    fn receive(&mut self, datagrams: &mut [u8]) -> Duration {
        let began = Instant::now();
        for datagram in datagrams.chunks_mut(BASE_DATAGRAM) {
            let handled = self.viewer.handle(self.now, Input::Message(datagram));
            assert!(matches!(handled, Ok(Handled::Done)));
            self.viewer.caught_up(self.now, false).expect("it has keys");
            loop {
                match self.viewer.poll() {
                    Output::Transmit(message) => self.back.push(message),
                    Output::Media(Assembled::Frame(frame)) => {
                        assert_eq!(black_box(&frame).data.len(), FRAME);
                        self.frames += 1;
                    }
                    Output::Timeout(_) => break,
                    _ => {}
                }
            }
        }
        began.elapsed()
    }

    fn tick(&mut self) {
        self.now = self.now.plus(INTERVAL);
    }
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

fn main() {
    let frames = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .next()
        .unwrap_or(FRAMES);
    println!("{frames} frames of {PACKETS} datagrams of {BASE_DATAGRAM} bytes; medians, each end on its own");
    println!("| suite             | send GB/s | ns a datagram | receive GB/s | ns a datagram |");
    println!("|-------------------|-----------|---------------|--------------|---------------|");
    let data: Vec<u8> = (0..FRAME).map(|at| at as u8).collect();
    let chosen = std::env::args().find_map(|argument| Suite::by_name(&argument));
    for suite in RECOMMENDED
        .into_iter()
        .filter(|suite| chosen.is_none_or(|chosen| chosen == *suite))
    {
        let mut ends = Ends::new(suite);
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        let mut datagrams = Vec::new();
        for number in 0..WARM_UP + frames {
            let times = (ends.send(number, &data, &mut datagrams), ends.receive(&mut datagrams));
            if number >= WARM_UP {
                sent.push(times.0);
                received.push(times.1);
            }
            ends.tick();
        }
        assert_eq!(ends.frames, (WARM_UP + frames) as u64, "nothing is lost");
        let (send, receive) = (median(&mut sent), median(&mut received));
        let rate = |time: f64| FRAME as f64 / time * 1e-9;
        let each = |time: f64| time * 1e9 / PACKETS as f64;
        println!(
            "| {:<17} | {:>9.2} | {:>13.0} | {:>12.2} | {:>13.0} |",
            suite.name,
            rate(send),
            each(send),
            rate(receive),
            each(receive)
        );
    }
}
