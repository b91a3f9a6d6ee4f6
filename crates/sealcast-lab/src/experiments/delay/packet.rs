//! A packet: the run's token and the packet number in clear, then the data, enciphered under an IV of its own.

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_cipher::Packet;
use serde::Deserialize;

use super::columns::STEPS;
use crate::ciphers::implementation::{Implementation, set_iv};
use crate::ciphers::worker::{Done, Worker};

/// The name of runs without a cipher.
pub const NONE: &str = "none";
/// Bytes before the data: the run's token, and the packet's number.
const HEADER: usize = 8;

/// Bytes of a packet's data that hold its number.
const NUMBER: usize = 4;
/// Largest data of a packet in bytes: with header and tag it fits a UDP datagram.
const MOST_BYTES: usize = 65_000;
/// Largest number of packets in a run.
const MOST_PACKETS: u32 = 10_000_000;

/// The packets of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Medium {
    /// Number of packets: a multiple of 10, at most 10 000 000.
    pub packets: u32,
    /// Bytes of each, without header and tag: 4 to 65 000.
    pub bytes: usize,
}

impl Medium {
    /// Returns itself if its numbers are in range.
    ///
    /// # Errors
    /// A number is out of range.
    pub fn checked(self) -> Result<Self> {
        let tenths = self.packets.is_multiple_of(STEPS as u32) && (1..=MOST_PACKETS).contains(&self.packets);
        if tenths && (NUMBER..=MOST_BYTES).contains(&self.bytes) {
            return Ok(self);
        }
        let what = format!("{} packets of {} bytes cannot be measured", self.packets, self.bytes);
        let hint = format!("choose a multiple of {STEPS} up to {MOST_PACKETS}, and {NUMBER} to {MOST_BYTES} bytes");
        Err(Failure::new(FailureKind::Usage, what, hint))
    }
}

/// Makes packets at the sender and opens them at the receiver. Both use the same key.
pub(super) struct Codec<'a> {
    medium: Medium,
    token: u32,
    worker: Option<Box<dyn Worker + 'a>>,
    iv: Vec<u8>,
    tag_bytes: usize,
    packet: Vec<u8>,
    /// The data of packet 0.
    pattern: Vec<u8>,
}

impl<'a> Codec<'a> {
    /// Without an implementation, packets are not enciphered.
    ///
    /// # Errors
    /// The cipher cannot be started.
    pub(super) fn new(medium: Medium, token: u32, implementation: Option<&'a Implementation>) -> Done<Self> {
        let mut worker = implementation.map(Implementation::start).transpose()?;
        if let (Some(worker), Some(implementation)) = (&mut worker, implementation) {
            worker.load(&(1..).take(implementation.key_bytes).collect::<Vec<u8>>())?;
        }
        let tag_bytes = implementation.map_or(0, |implementation| implementation.tag_bytes);
        Ok(Self {
            medium,
            token,
            worker,
            iv: vec![0; implementation.map_or(0, |implementation| implementation.iv_bytes)],
            tag_bytes,
            packet: vec![0; HEADER + medium.bytes + tag_bytes],
            pattern: (0_u8..251).cycle().take(medium.bytes).collect(),
        })
    }

    /// Length of a whole packet in bytes.
    pub(super) fn length(&self) -> usize {
        self.packet.len()
    }

    /// The packet of this number.
    ///
    /// # Errors
    /// The cipher failed.
    pub(super) fn seal(&mut self, number: u32) -> Done<&[u8]> {
        self.packet[..4].copy_from_slice(&self.token.to_ne_bytes());
        self.packet[4..HEADER].copy_from_slice(&number.to_ne_bytes());
        let data = &mut self.packet[HEADER..];
        data[..self.medium.bytes].copy_from_slice(&self.pattern);
        data[..NUMBER].copy_from_slice(&number.to_ne_bytes());
        if let Some(worker) = &mut self.worker {
            set_iv(&mut self.iv, number.into());
            worker.seal(&mut [Packet { iv: &self.iv, data }])?;
        }
        Ok(&self.packet)
    }

    /// Deciphers a packet in place. Returns `None` if the packet is of another run, or fails the cipher's
    /// authentication.
    ///
    /// # Errors
    /// The cipher failed.
    pub(super) fn open(&mut self, packet: &mut [u8]) -> Done<Option<u32>> {
        let Some((header, data)) = packet.split_at_mut_checked(HEADER) else {
            return Ok(None);
        };
        let word = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let number = word(4);
        let right = data.len() == self.medium.bytes + self.tag_bytes;
        if !right || word(0) != self.token || number >= self.medium.packets {
            return Ok(None);
        }
        let Some(worker) = &mut self.worker else {
            return Ok(Some(number));
        };
        set_iv(&mut self.iv, number.into());
        let genuine = worker.open(&mut [Packet { iv: &self.iv, data }])?;
        Ok(genuine.then_some(number))
    }

    /// True if the deciphered packet equals the one sent under this number.
    pub(super) fn is_what_was_sent(&self, number: u32, packet: &[u8]) -> bool {
        let data = &packet[HEADER..HEADER + self.medium.bytes];
        data[..NUMBER] == number.to_ne_bytes() && data[NUMBER..] == self.pattern[NUMBER..]
    }
}

/// The implementation of this name; `None` for [`NONE`].
///
/// # Errors
/// There is no such implementation.
pub(super) fn implementation(name: &str) -> Done<Option<Implementation>> {
    if name == NONE {
        return Ok(None);
    }
    let mut all = crate::ciphers::catalogue::all().into_iter();
    let found = all.find(|one| one.name() == name);
    found.map(Some).ok_or_else(|| format!("there is no cipher `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AUDIO: Medium = Medium {
        packets: 500,
        bytes: 600,
    };

    #[test]
    fn media_that_no_packet_can_carry_are_refused() {
        assert_eq!(AUDIO.checked().expect("it is right"), AUDIO);
        for (packets, bytes) in [(0, 600), (501, 600), (500, 3), (500, 70_000)] {
            let refused = Medium { packets, bytes }.checked().expect_err("out of range");
            assert!(refused.hint.contains("multiple of 10"), "{refused}");
        }
    }

    #[test]
    fn a_packet_opens_at_the_other_end_and_nobody_elses_does() {
        for name in [NONE, "rc4/definition", "aes-128-gcm/aws-lc-rs"] {
            let implementation = implementation(name).expect("it is there");
            let codec = |token| Codec::new(AUDIO, token, implementation.as_ref()).expect("it starts");
            let (mut sender, mut receiver) = (codec(7), codec(7));
            let mut packet = sender.seal(3).expect("sealed").to_vec();
            assert_eq!(packet.len(), receiver.length());
            let sealed = packet.clone();
            assert_eq!(receiver.open(&mut packet), Ok(Some(3)), "{name}");
            assert!(
                receiver.is_what_was_sent(3, &packet) && !receiver.is_what_was_sent(4, &packet),
                "{name}"
            );

            assert_eq!(codec(8).open(&mut sealed.clone()), Ok(None), "{name}: another run's");
            assert_eq!(
                receiver.open(&mut sealed[1..].to_vec()),
                Ok(None),
                "{name}: a short one"
            );
            assert_eq!(receiver.open(&mut [0; 3]), Ok(None), "{name}: next to nothing");
            let mut altered = sealed.clone();
            altered[HEADER + 100] ^= 1;
            let opened = receiver.open(&mut altered).expect("it works");
            assert!(
                opened.is_none_or(|number| !receiver.is_what_was_sent(number, &altered)),
                "{name}: an altered one"
            );
            let mut beyond = sealed;
            beyond[4..HEADER].copy_from_slice(&AUDIO.packets.to_ne_bytes());
            assert_eq!(receiver.open(&mut beyond), Ok(None), "{name}: a number that is none");
        }
    }
}
