//! A camera, a viewer that has the group's key, and what an insider does with that key, for tests.

use aws_lc_rs::signature::{KeyPair, ML_DSA_65_SIGNING, PqdsaKeyPair};

use super::*;
use crate::keys::{EpochKeys, EpochSecret, Identity, Secret, Side};
use crate::seal::{RecordMeta, SealLimits, Sealed, suite};
use crate::wire::{Accept, Flags, PeerId};

pub(crate) const STREAM: u16 = 1;

/// The keys of an epoch, which all members have.
pub(crate) fn group_keys(epoch: u64, side: Side) -> EpochKeys {
    let secret = EpochSecret::new(Secret::from_bytes(&[epoch as u8; 32]), epoch);
    secret.keys(&suite::AES_128_GCM, side, SealLimits::COUNTER)
}

/// Seals a frame as who has the group's key can.
pub(crate) fn seal(keys: &mut EpochKeys, keyframe: bool, payloads: &[&[u8]]) -> Vec<Vec<u8>> {
    let last = payloads.len() - 1;
    let sealed = payloads.iter().enumerate().map(|(at, payload)| {
        let meta = RecordMeta {
            flags: Flags::frame(keyframe, at == 0, at == last),
            stream: STREAM.into(),
            timestamp: 1,
        };
        let mut record = Vec::new();
        keys.media_sealer
            .seal(meta, &[payload], &mut record)
            .expect("a fresh key");
        record
    });
    sealed.collect()
}

pub(crate) fn digest(records: &[Vec<u8>]) -> FrameDigest {
    let mut hasher = FrameHasher::new();
    records.iter().for_each(|record| hasher.push(record));
    hasher.finish().expect("a frame has records")
}

/// A frame as it leaves the camera.
#[derive(Clone)]
pub(crate) struct SentFrame {
    pub(crate) records: Vec<Vec<u8>>,
    pub(crate) epoch: u64,
    pub(crate) statement: Statement,
    pub(crate) proof: Vec<u8>,
    /// The part that is complete with this frame.
    pub(crate) part: Option<UnsignedPart>,
}

impl SentFrame {
    pub(crate) fn received(&self) -> ReceivedFrame {
        ReceivedFrame {
            digest: digest(&self.records),
            stream: STREAM,
            epoch: self.epoch,
        }
    }
}

pub(crate) struct Camera {
    pub(crate) identity: Identity,
    pub(crate) epoch: u64,
    pub(crate) next_frame: u64,
    pub(crate) parts: GopSigner,
    keys: EpochKeys,
    signer: FrameSigner,
    pair: PqdsaKeyPair,
}

impl Camera {
    pub(crate) fn new() -> Self {
        Self::with_seed(9)
    }

    pub(crate) fn with_seed(seed: u8) -> Self {
        let identity = Identity::from_seed(&[seed; 32]);
        let pair = PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, gop_seed(&identity).as_ref()).expect("32 bytes");
        Self {
            epoch: 3,
            next_frame: 0,
            parts: GopSigner::new(identity.peer_id()),
            keys: group_keys(3, Side::Responder),
            signer: FrameSigner::new(STREAM, 100),
            pair,
            identity,
        }
    }

    pub(crate) fn peer(&self) -> PeerId {
        self.identity.peer_id()
    }

    pub(crate) fn rekey(&mut self) {
        self.epoch += 1;
        self.keys = group_keys(self.epoch, Side::Responder);
    }

    pub(crate) fn frame(&mut self, keyframe: bool) -> SentFrame {
        self.frame_with(keyframe, None)
    }

    pub(crate) fn frame_with(&mut self, keyframe: bool, liveness: Option<Hash>) -> SentFrame {
        let content = self.next_frame.to_be_bytes();
        let records = seal(&mut self.keys, keyframe, &[&content, b"the middle", b"the end"]);
        let outgoing = OutgoingStatement {
            epoch: self.epoch,
            frame: self.next_frame,
            keyframe,
            digest: digest(&records),
            liveness,
        };
        self.next_frame += 1;
        let (statement, proof) = self.signer.sign(&self.identity, &outgoing).expect("in order");
        SentFrame {
            records,
            epoch: self.epoch,
            statement,
            proof: proof.to_bytes(),
            part: self.parts.push(&statement),
        }
    }

    /// A group of pictures.
    pub(crate) fn group(&mut self, frames: usize) -> Vec<SentFrame> {
        (0..frames).map(|index| self.frame(index == 0)).collect()
    }

    pub(crate) fn certificate(&self) -> Certificate {
        let key = self.pair.public_key().as_ref().try_into().expect("1952 bytes");
        Certificate::issue(&self.identity, key)
    }

    pub(crate) fn gop_key(&self) -> GopKey {
        self.certificate().verify(&self.peer(), None).expect("its own")
    }

    #[expect(clippy::disallowed_methods, reason = "tests sign as the program does")]
    pub(crate) fn sign(&self, part: UnsignedPart) -> GopSignature {
        let mut signature = [0; GOP_SIGNATURE_LEN];
        self.pair.sign(part.content(), &mut signature).expect("a key pair");
        part.signed(&signature)
    }
}

/// A viewer with the group's key, which opens records before it asks who made them.
pub(crate) struct Viewer {
    epoch: u64,
    pub(crate) verifier: FrameVerifier,
    /// Frames that were shown.
    pub(crate) shown: Vec<Vec<u8>>,
}

impl Viewer {
    pub(crate) fn new(camera: PeerId, epoch: u64) -> Self {
        Self {
            epoch,
            verifier: FrameVerifier::new(camera, STREAM),
            shown: Vec::new(),
        }
    }

    /// Opens all records, and shows the frame if it is verified.
    ///
    /// # Panics
    /// If a record does not open: an insider's do.
    pub(crate) fn take(&mut self, records: &[Vec<u8>], proof: Option<&[u8]>) -> Result<Verified, FrameRefusal> {
        let (mut hasher, mut content) = (FrameHasher::new(), Vec::new());
        for record in records {
            hasher.push(record);
            let mut record = record.clone();
            let sealed = Sealed::parse(&mut record, Accept::EncryptedOnly).expect("a record");
            // Whether a number was used before is the business of the replay window.
            let opened = group_keys(self.epoch, Side::Initiator).media_opener.open(sealed);
            content.extend_from_slice(opened.expect("sealed with the group's key").payload());
        }
        let frame = ReceivedFrame {
            digest: hasher.finish().expect("a frame has records"),
            stream: STREAM,
            epoch: self.epoch,
        };
        let verified = self.verifier.verify(&frame, proof)?;
        self.shown.push(content);
        Ok(verified)
    }
}
