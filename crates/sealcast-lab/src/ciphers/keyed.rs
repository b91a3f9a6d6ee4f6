//! A cipher with its key loaded, and the packets that it is given.

use sealcast_cipher::Packet;

/// Loads a key.
pub(crate) type Load = dyn Fn(&[u8]) -> Box<dyn Keyed> + Send + Sync;

/// A cipher with its key loaded. In each packet `tag_bytes` follow the data.
pub(crate) trait Keyed {
    /// Sets up an IV and nothing else. Returns false if the cipher has no separate step for it.
    fn start(&self, iv: &[u8]) -> bool;

    /// Enciphers packets, each under its own IV, and writes the tags after them.
    fn seal(&self, packets: &mut [Packet<'_>]);

    /// Deciphers packets. Returns false if one is not authentic.
    fn open(&self, packets: &mut [Packet<'_>]) -> bool;
}

/// A batch as packets under one IV.
pub(super) fn packets<'a>(batch: &'a mut [Vec<u8>], iv: &'a [u8]) -> Vec<Packet<'a>> {
    batch.iter_mut().map(|data| Packet { iv, data }).collect()
}
