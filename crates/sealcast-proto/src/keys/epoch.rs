//! Epochs: derivation of the keys of both directions and purposes from one secret (keys.md §5).

use zeroize::Zeroizing;

use super::schedule::sha256;
use super::transcript::entry_length;
use super::{Secret, SharedSecret};
use crate::seal::suite::MAX_KEY_LEN;
use crate::seal::{MediaKey, Opener, PacketKey, SealLimits, Sealer, Suite};
use crate::wire::{Kind, PeerId};

/// Side of the connection. It determines which end seals under which keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that opened the connection.
    Initiator,
    /// The end that accepted it.
    Responder,
}

impl Side {
    /// Returns the other side.
    pub fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Responder,
            Self::Responder => Self::Initiator,
        }
    }

    fn letter(self) -> char {
        match self {
            Self::Initiator => 'i',
            Self::Responder => 'r',
        }
    }
}

/// `E_n`: the secret of epoch `n`.
pub struct EpochSecret {
    secret: Secret,
    number: u64,
}

impl EpochSecret {
    /// Creates the secret of epoch `number`.
    pub fn new(secret: Secret, number: u64) -> Self {
        Self { secret, number }
    }

    /// Returns the epoch's number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Derives the next epoch's secret from an offer, its answer, and their shared secret.
    pub fn next(&self, offer: &[u8], answer: &[u8], shared: &SharedSecret) -> Self {
        let exchange = sha256(&[&entry_length(offer), offer, &entry_length(answer), answer]);
        let mut salt = Zeroizing::new([0; 32]);
        self.secret.expand(b"rekey", &exchange, salt.as_mut());
        Self {
            secret: Secret::extract(salt.as_ref(), shared.as_bytes()),
            number: self.number + 1,
        }
    }

    /// Derives the keys of one end, which seals as `side` and opens records of the other side.
    pub fn keys(&self, suite: &Suite, side: Side, limits: SealLimits) -> EpochKeys {
        let sealer = |kind| {
            let (key, base) = self.key(suite, kind, side);
            Sealer::new(key, base, kind, self.number as u16, limits)
        };
        let opener = |kind| {
            let (key, base) = self.key(suite, kind, side.other());
            Opener::new(key, base)
        };
        EpochKeys {
            number: self.number,
            control_sealer: sealer(Kind::Control),
            media_sealer: sealer(Kind::Media),
            cell_sealer: {
                let (key, base) = self.key(suite, Kind::Cell, side);
                Sealer::new(key, base, Kind::Cell, self.number as u16, limits.of_cells())
            },
            control_opener: opener(Kind::Control),
            media_opener: opener(Kind::Media),
            cell_opener: opener(Kind::Cell),
            data: None,
        }
    }

    /// Derives the keys of data channels for one end, as [`keys`](Self::keys).
    pub fn data_keys(&self, suite: &Suite, side: Side, limits: SealLimits) -> DataKeys {
        let ((key, base), (peer_key, peer_base)) = (
            self.key(suite, Kind::Data, side),
            self.key(suite, Kind::Data, side.other()),
        );
        DataKeys {
            sealer: Sealer::new(key, base, Kind::Data, self.number as u16, limits),
            opener: Opener::new(peer_key, peer_base),
        }
    }

    /// The key of the media that `side` seals, as an archive keeps it. `camera` is the peer on that side.
    pub(crate) fn media_key(&self, suite: &Suite, side: Side, camera: PeerId) -> Option<MediaKey> {
        let (key, base) = self.key_bytes(suite, Kind::Media, side);
        MediaKey::new(camera, self.number, *suite, &key[..suite.key_len], base)
    }

    fn key(&self, suite: &Suite, kind: Kind, side: Side) -> (Box<dyn PacketKey>, [u8; 8]) {
        let (key, base) = self.key_bytes(suite, kind, side);
        ((suite.make_key)(&key[..suite.key_len]), base)
    }

    fn key_bytes(&self, suite: &Suite, kind: Kind, side: Side) -> (Zeroizing<[u8; MAX_KEY_LEN]>, [u8; 8]) {
        let purpose = match kind {
            Kind::Control => "control",
            Kind::Media => "media",
            Kind::Cell => "cell",
            Kind::Data => "data",
        };
        let mut context = [0; 9];
        context[0] = suite.id;
        context[1..].copy_from_slice(&self.number.to_be_bytes());
        let direction = side.letter();
        let mut key = Zeroizing::new([0; MAX_KEY_LEN]);
        let used = &mut key[..suite.key_len];
        self.secret
            .expand(format!("{purpose} key {direction}").as_bytes(), &context, used);
        let mut base = [0; 8];
        self.secret
            .expand(format!("{purpose} base {direction}").as_bytes(), &context, &mut base);
        (key, base)
    }
}

/// The sealers and openers that one end holds for one epoch.
pub struct EpochKeys {
    /// The epoch's number.
    pub number: u64,
    /// Seals control records.
    pub control_sealer: Sealer,
    /// Seals media records.
    pub media_sealer: Sealer,
    /// Seals cells.
    pub cell_sealer: Sealer,
    /// Opens the other end's control records.
    pub control_opener: Opener,
    /// Opens the other end's media records.
    pub media_opener: Opener,
    /// Opens the other end's cells.
    pub cell_opener: Opener,
    /// Those of data channels, in a session that has any.
    pub data: Option<Box<DataKeys>>,
}

/// The sealer and the opener of data that one end holds for one epoch.
pub struct DataKeys {
    /// Seals data records.
    pub sealer: Sealer,
    /// Opens the other end's data records.
    pub opener: Opener,
}

impl EpochKeys {
    /// Returns the number of records sealed under the most used of this end's keys for control, media and data.
    pub fn sealed(&self) -> u64 {
        let data = self.data.as_ref().map_or(0, |data| data.sealer.sealed());
        self.control_sealer.sealed().max(self.media_sealer.sealed()).max(data)
    }

    /// Returns the low 16 bits of the number, as in headers.
    pub fn wire_number(&self) -> u16 {
        self.number as u16
    }
}
