//! The slices of a stream that comes byte by byte.

use std::io::Read;
use std::process::ChildStdout;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use sealcast_testkit::gateways::clip::Codec;

/// Slices of H.264 and H.265, or the coded data of JPEG images.
pub(crate) struct Slices {
    /// That of the slices which are expected.
    pub(crate) codec: Codec,
    bytes: Receiver<Vec<u8>>,
    waiting: Vec<u8>,
}

fn find(bytes: &[u8], what: &[u8], from: usize) -> Option<usize> {
    let at = bytes.get(from..)?.windows(what.len()).position(|window| window == what);
    at.map(|at| at + from)
}

impl Slices {
    pub(crate) fn of(codec: Codec, mut output: ChildStdout) -> Self {
        let (sender, bytes) = channel();
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            codec,
            bytes,
            waiting: Vec::new(),
        }
    }

    /// The next one that is whole; `None` if it does not come in time.
    pub(crate) fn next(&mut self, within: Duration) -> Option<Vec<u8>> {
        loop {
            let found = match self.codec {
                Codec::H264 | Codec::H265 => self.unit(),
                Codec::Jpeg => self.image(),
            };
            match found {
                Some(unit) if unit.is_empty() || !self.codec.is_shown(&unit) => {}
                Some(unit) => return Some(unit),
                None => self.waiting.extend(self.bytes.recv_timeout(within).ok()?),
            }
        }
    }

    /// The bytes between two start codes.
    fn unit(&mut self) -> Option<Vec<u8>> {
        let begin = find(&self.waiting, &[0, 0, 1], 0)? + 3;
        let end = find(&self.waiting, &[0, 0, 1], begin)?;
        let mut unit = self.waiting[begin..end].to_vec();
        while unit.last() == Some(&0) {
            unit.pop();
        }
        self.waiting.drain(..end);
        Some(unit)
    }

    /// Bytes behind the last header of an image, up to its end.
    fn image(&mut self) -> Option<Vec<u8>> {
        let begin = find(&self.waiting, &[0xff, 0xda], 0)? + 2;
        let length = self.waiting.get(begin..begin + 2)?;
        let begin = begin + usize::from(u16::from_be_bytes([length[0], length[1]]));
        let end = find(&self.waiting, &[0xff, 0xd9], begin)?;
        let data = self.waiting[begin..end].to_vec();
        self.waiting.drain(..end + 2);
        Some(data)
    }
}
