//! The path of a frame through filter, packets, cipher and sink, and the check of its deadline.

use std::hint::black_box;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::Picture;
use sealcast_cipher::Packet;
use serde::Deserialize;

use super::filter::blur;
use crate::ciphers::implementation::{Implementation, set_iv};
use crate::ciphers::keyed::Keyed;
use crate::harness::process::{Stop, stopped};
use crate::harness::scheduling;

/// Frame bytes per packet.
const PACKET_BYTES: usize = 1200;
/// One frame in this many may be late.
const LATE_ONE_IN: usize = 100;
/// Read timeout of the receiver, after which it checks if it should end.
const LOOK: Duration = Duration::from_millis(50);

/// The destination of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sink {
    /// A socket of this process over the loopback interface, one datagram per system call.
    Udp,
    /// Memory.
    Memory,
}

impl Sink {
    /// Its name in options, tables and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Memory => "memory",
        }
    }
}

/// The sink in use.
enum Open {
    Udp {
        socket: UdpSocket,
        /// Ends when the sink is dropped.
        _receiver: Receiver,
    },
    Memory(Vec<u8>),
}

/// A thread that receives datagrams, until dropped.
struct Receiver {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Open {
    fn new(sink: Sink) -> std::io::Result<Self> {
        if sink == Sink::Memory {
            return Ok(Self::Memory(Vec::new()));
        }
        let (from, to) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
        from.connect(to.local_addr()?)?;
        to.set_read_timeout(Some(LOOK))?;
        let over = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let over = Arc::clone(&over);
            move || {
                let mut datagram = [0; 2 * PACKET_BYTES];
                while !over.load(Ordering::Relaxed) {
                    // Both a datagram and a timeout are fine.
                    let _ = black_box(to.recv(&mut datagram));
                }
            }
        });
        let thread = Some(thread);
        Ok(Self::Udp {
            socket: from,
            _receiver: Receiver { over, thread },
        })
    }

    fn take(&mut self, packets: &[Vec<u8>]) -> std::io::Result<()> {
        match self {
            Self::Udp { socket, .. } => packets.iter().try_for_each(|packet| socket.send(packet).map(drop)),
            Self::Memory(memory) => {
                memory.clear();
                packets.iter().for_each(|packet| memory.extend_from_slice(packet));
                black_box(memory);
                Ok(())
            }
        }
    }
}

/// Raw frames as a camera has them in memory: I420, all of the same size.
pub(super) struct Frames {
    pub(super) width: usize,
    pub(super) height: usize,
    frames: Vec<Vec<u8>>,
}

impl Frames {
    /// `pictures` must not be empty and must all have the same size.
    pub(super) fn new(pictures: &[Picture]) -> Self {
        let planes = |picture: &Picture| [&picture.y[..], &picture.u, &picture.v].concat();
        Self {
            width: pictures[0].width,
            height: pictures[0].height,
            frames: pictures.iter().map(planes).collect(),
        }
    }

    /// Bytes per frame.
    pub(super) fn bytes(&self) -> usize {
        self.frames[0].len()
    }
}

/// The path of frames under one cipher, or without a cipher.
pub(super) struct Pipeline<'a> {
    frames: &'a Frames,
    filtered: Option<Vec<u8>>,
    keyed: Option<Box<dyn Keyed>>,
    packets: Vec<Vec<u8>>,
    ivs: Vec<Vec<u8>>,
    /// Number of packets enciphered so far.
    number: u64,
    sink: Open,
}

impl<'a> Pipeline<'a> {
    /// # Errors
    /// The sink cannot be opened.
    pub(super) fn new(frames: &'a Frames, cipher: Option<&Implementation>, filter: bool, sink: Sink) -> Result<Self> {
        let key = |cipher: &Implementation| (1..).take(cipher.key_bytes).collect::<Vec<u8>>();
        let (tag, iv_bytes) = cipher.map_or((0, 0), |cipher| (cipher.tag_bytes, cipher.iv_bytes));
        let lengths = frames.frames[0].chunks(PACKET_BYTES).map(<[u8]>::len);
        let packets: Vec<Vec<u8>> = lengths.map(|length| vec![0; length + tag]).collect();
        Ok(Self {
            filtered: filter.then(|| frames.frames[0].clone()),
            keyed: cipher.and_then(|cipher| Some(cipher.load()?(&key(cipher)))),
            ivs: vec![vec![0; iv_bytes]; packets.len()],
            frames,
            packets,
            number: 0,
            sink: Open::new(sink).map_err(|error| unsent(&error))?,
        })
    }

    /// Processes one frame.
    ///
    /// # Errors
    /// The sink refuses a packet.
    pub(super) fn frame(&mut self, number: usize) -> Result<()> {
        let taken = &self.frames.frames[number % self.frames.frames.len()];
        let frame = match &mut self.filtered {
            Some(filtered) => {
                let luma = self.frames.width * self.frames.height;
                blur(&taken[..luma], self.frames.width, &mut filtered[..luma]);
                filtered[luma..].copy_from_slice(&taken[luma..]);
                filtered
            }
            None => taken,
        };
        for (packet, data) in self.packets.iter_mut().zip(frame.chunks(PACKET_BYTES)) {
            packet[..data.len()].copy_from_slice(data);
        }
        if let Some(keyed) = &self.keyed {
            for iv in &mut self.ivs {
                self.number += 1;
                set_iv(iv, self.number);
            }
            let pairs = self.ivs.iter().zip(&mut self.packets);
            let mut packets: Vec<Packet<'_>> = pairs.map(|(iv, data)| Packet { iv, data }).collect();
            keyed.seal(&mut packets);
        }
        self.sink.take(&self.packets).map_err(|error| unsent(&error))
    }

    /// True if frames at `rate` per second meet their deadlines over `time`: at most one in a hundred ends after the
    /// next one is due.
    ///
    /// # Errors
    /// The sink refuses a packet, or `stop` became true.
    pub(super) fn holds(&mut self, rate: f64, time: Duration, stop: Stop<'_>) -> Result<bool> {
        let frames = (rate * time.as_secs_f64()).ceil().max(1.0) as usize;
        let epoch = Instant::now();
        let mut late = 0;
        for number in 0..frames {
            if stop.load(Ordering::Relaxed) {
                return Err(stopped());
            }
            let due = |number: usize| Duration::from_secs_f64(number as f64 / rate);
            scheduling::wait_until(epoch, due(number), true);
            self.frame(number)?;
            late += usize::from(epoch.elapsed() > due(number + 1));
            if late > frames / LATE_ONE_IN {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn unsent(error: &std::io::Error) -> Failure {
    let what = format!("packets cannot be sent to 127.0.0.1 ({error})");
    Failure::new(
        FailureKind::Network,
        what,
        "see whether the loopback interface is up, or say --sink memory",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ciphers::catalogue;

    fn frames(brightness: u8) -> Frames {
        let mut picture = Picture::black(64, 48);
        picture.y.fill(brightness);
        picture.y[64 * 20 + 30] = brightness ^ 0x80;
        Frames::new(&[picture])
    }

    fn sent(pipeline: &mut Pipeline<'_>) -> Vec<u8> {
        pipeline.frame(0).expect("memory takes all");
        let Open::Memory(memory) = &pipeline.sink else {
            panic!("memory")
        };
        memory.clone()
    }

    #[test]
    fn without_cipher_and_filter_the_frame_arrives_as_it_was() {
        let frames = frames(90);
        let mut plain = Pipeline::new(&frames, None, false, Sink::Memory).expect("a pipeline");
        assert_eq!(sent(&mut plain), frames.frames[0]);
        let mut blurred = Pipeline::new(&frames, None, true, Sink::Memory).expect("a pipeline");
        let out = sent(&mut blurred);
        assert!(out != frames.frames[0] && out.len() == frames.bytes());
        assert_eq!(out[64 * 48..], frames.frames[0][64 * 48..], "colours are not filtered");
    }

    #[test]
    fn every_packet_of_every_frame_is_enciphered_under_another_iv() {
        let frames = frames(90);
        for cipher in catalogue::all().into_iter().filter(|one| one.iv_bytes > 0) {
            let mut pipeline = Pipeline::new(&frames, Some(&cipher), false, Sink::Memory).expect("a pipeline");
            let (first, second) = (sent(&mut pipeline), sent(&mut pipeline));
            assert_ne!(first, second, "{}", cipher.name());
            let packets = frames.bytes().div_ceil(PACKET_BYTES);
            assert_eq!(first.len(), frames.bytes() + packets * cipher.tag_bytes);
            let mut expected = vec![0; cipher.iv_bytes];
            set_iv(&mut expected, packets as u64 + 1);
            assert_eq!(pipeline.ivs[0], expected);
            let opened = {
                let mut data = vec![second[..PACKET_BYTES + cipher.tag_bytes].to_vec()];
                let own = pipeline.ivs[0].clone();
                let mut packets: Vec<Packet<'_>> = data.iter_mut().map(|data| Packet { iv: &own, data }).collect();
                assert!(pipeline.keyed.as_ref().expect("a key").open(&mut packets));
                data.remove(0)
            };
            assert_eq!(
                opened[..PACKET_BYTES],
                frames.frames[0][..PACKET_BYTES],
                "{}",
                cipher.name()
            );
        }
    }

    #[test]
    fn a_slow_rate_holds_and_one_beyond_every_machine_does_not() {
        let frames = frames(90);
        let mut pipeline = Pipeline::new(&frames, None, true, Sink::Udp).expect("a pipeline");
        let (time, stop) = (Duration::from_millis(200), AtomicBool::new(false));
        assert!(
            (0..20).any(|_| pipeline.holds(10.0, time, &stop).expect("it is sent")),
            "two frames of 64x48"
        );
        assert!(!pipeline.holds(1e7, time, &stop).expect("it is sent"));
        stop.store(true, Ordering::Relaxed);
        assert!(pipeline.holds(10.0, time, &stop).is_err(), "it was stopped");
    }
}
