//! Records kept as they came, and the key of each: what an archive consists of (archive.md).

use std::sync::Arc;

use zeroize::Zeroizing;

use super::nonce::BASE_LEN;
use super::suite::{MAX_KEY_LEN, Suite};
use crate::wire::{Header, PeerId};

/// The key of one epoch's media from one camera. It opens these records and nothing else. It is wiped when dropped, and
/// has no `Debug`.
#[derive(Clone)]
pub struct MediaKey {
    camera: PeerId,
    epoch: u64,
    suite: Suite,
    /// True if it opens the sound of a group, and false if it opens all but that.
    sound: bool,
    key: Zeroizing<[u8; MAX_KEY_LEN]>,
    base: [u8; BASE_LEN],
}

impl MediaKey {
    /// A key from its parts. `None` if `key` does not have the length that the suite needs.
    pub(crate) fn new(camera: PeerId, epoch: u64, suite: Suite, key: &[u8], base: [u8; BASE_LEN]) -> Option<Self> {
        let mut kept = Zeroizing::new([0; MAX_KEY_LEN]);
        if key.len() != suite.key_len {
            return None;
        }
        kept[..key.len()].copy_from_slice(key);
        Some(Self {
            camera,
            epoch,
            suite,
            sound: false,
            key: kept,
            base,
        })
    }

    /// The same for the sound of a group, which has keys of its own.
    #[must_use]
    pub(crate) fn of_sound(self) -> Self {
        Self { sound: true, ..self }
    }

    /// True if it is that of a group's sound, and opens nothing else.
    pub fn is_of_sound(&self) -> bool {
        self.sound
    }

    /// The camera that seals under it. In a group every member could.
    pub fn camera(&self) -> PeerId {
        self.camera
    }

    /// The full number of its epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The suite.
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// The key itself, and the base of its nonces.
    pub(crate) fn reveal(&self) -> (&[u8], [u8; BASE_LEN]) {
        (&self.key[..self.suite.key_len], self.base)
    }
}

/// A media record that was verified, as it came: header, ciphertext and tag.
pub struct SealedRecord {
    /// The key that opens it.
    pub key: Arc<MediaKey>,
    /// The record.
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for SealedRecord {
    /// Shows the length only.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealedRecord({} bytes)", self.bytes.len())
    }
}

impl SealedRecord {
    /// True if it is of a stream's description.
    pub(crate) fn describes(&self) -> bool {
        let header = self.bytes.first_chunk().map(Header::read);
        header.is_some_and(|header| header.flags.codec_config())
    }

    /// Its stream.
    pub(crate) fn stream(&self) -> u32 {
        let header = self.bytes.first_chunk().map(Header::read);
        header.map_or(0, |header| header.stream)
    }
}

/// The records of a frame as they came: those of the description before it, its own, and its proof.
#[derive(Clone, Debug, Default)]
pub struct SealedFrame {
    /// The records in their order; none where such are not kept.
    pub records: Vec<Arc<SealedRecord>>,
    /// True if the payload of each begins with a unit header.
    pub units: bool,
}

impl SealedFrame {
    /// The descriptions before the frame, each by itself, with their streams.
    pub fn descriptions(&self) -> Vec<(u32, Self)> {
        let mut streams: Vec<(u32, Self)> = Vec::new();
        for record in self.records.iter().filter(|record| record.describes()) {
            let stream = record.stream();
            let known = streams.iter().position(|(known, _)| *known == stream);
            let at = known.unwrap_or_else(|| {
                let units = self.units;
                streams.push((
                    stream,
                    Self {
                        records: Vec::new(),
                        units,
                    },
                ));
                streams.len() - 1
            });
            streams[at].1.records.push(Arc::clone(record));
        }
        streams
    }

    /// The description before the frame by itself, if it has one.
    pub fn description(&self) -> Option<Self> {
        let records = self.records.iter().filter(|record| record.describes());
        let records: Vec<_> = records.cloned().collect();
        (!records.is_empty()).then_some(Self {
            records,
            units: self.units,
        })
    }
}
