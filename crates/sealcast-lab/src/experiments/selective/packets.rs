//! The packets of a session: pictures of the test card as JPEG, padded to one length.

use sealcast::codec::jpeg;
use sealcast::failure::{Failure, FailureKind, Result};

use super::session::Session;
use crate::experiments::ciphers::card;

/// The pictures of a second, which are sent again and again.
pub(super) struct Packets {
    pictures: Vec<Vec<u8>>,
}

impl Packets {
    /// Draws and encodes the pictures.
    ///
    /// # Errors
    /// A picture cannot be drawn, or does not fit into a packet.
    pub(super) fn new(session: &Session) -> Result<Self> {
        let cards = card(session.size)?;
        let pictures = cards.iter().map(|picture| jpeg::encode(picture, session.quality));
        let pictures: Vec<Vec<u8>> = pictures.collect::<Result<_>>()?;
        let packets = Self { pictures };
        let (_, longest) = packets.lengths();
        if longest > session.packet_bytes {
            let what = format!(
                "a picture has {longest} bytes as JPEG, and a packet only {}",
                session.packet_bytes
            );
            return Err(Failure::new(FailureKind::Usage, what, "choose a lower quality"));
        }
        Ok(packets)
    }

    /// Bytes of the shortest and of the longest picture.
    pub(super) fn lengths(&self) -> (usize, usize) {
        let lengths = || self.pictures.iter().map(Vec::len);
        (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0))
    }

    pub(super) fn count(&self) -> usize {
        self.pictures.len()
    }

    fn picture(&self, number: u32) -> &[u8] {
        &self.pictures[number as usize % self.pictures.len()]
    }

    /// Makes the packet of this number: the picture, and zeros up to the packet's length.
    pub(super) fn make(&self, number: u32, packet: &mut [u8]) {
        let picture = self.picture(number);
        let (data, padding) = packet.split_at_mut(picture.len());
        data.copy_from_slice(picture);
        padding.fill(0);
    }

    /// True if this is the packet of this number.
    pub(super) fn is(&self, number: u32, packet: &[u8]) -> bool {
        let padding = packet.strip_prefix(self.picture(number));
        padding.is_some_and(|padding| padding.iter().all(|byte| *byte == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::example;
    use super::*;

    #[test]
    fn a_packet_is_a_whole_picture_and_zeros_and_is_told_from_others() {
        let session = example();
        let packets = Packets::new(&session).expect("they fit");
        let mut packet = vec![0xAA; session.packet_bytes];
        packets.make(3, &mut packet);
        let picture = packets.picture(3);
        assert!(
            packet.starts_with(picture) && picture.ends_with(&[0xFF, 0xD9]),
            "a whole JPEG"
        );
        assert!(packets.is(3, &packet) && packets.is(28, &packet) && !packets.is(4, &packet));
        *packet.last_mut().expect("bytes") = 1;
        assert!(!packets.is(3, &packet), "the padding counts");
    }

    #[test]
    fn pictures_that_do_not_fit_are_refused() {
        let session = Session {
            packet_bytes: 100,
            ..example()
        };
        let refused = Packets::new(&session).err().expect("too long");
        assert!(refused.what.contains("a packet only 100"), "{refused}");
    }
}
