//! A camera for the tests of this module.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::signature::{KeyPair, ML_DSA_65_SIGNING, PqdsaKeyPair};

use super::*;
use crate::clock::Now;
use crate::group::{GroupName, MemberId, MemberKey, Terms};
use crate::keys::Identity;
use crate::seal::suite;
use crate::session::{OutgoingFrame, OutgoingSound};
use crate::sign::{Certificate, GOP_SIGNATURE_LEN, SignMode, UnsignedPart, gop_seed};
use crate::unit::{Codec, FrameRate, Preamble, SoundCodec, SoundInfo, StreamInfo, Unit};
use crate::wire::{CameraName, LENGTH_PREFIX, MAX_RECORD};

pub(super) const STREAM: u16 = 1;
pub(super) const RUN: [u8; 16] = [9; 16];

pub(super) fn at(millis: u64) -> Now {
    Now {
        monotonic: Duration::from_millis(millis),
        wall: 1_700_000_000_000_000_000 + millis * 1_000_000,
    }
}

pub(super) fn identity() -> Arc<Identity> {
    Arc::new(Identity::from_seed(&[7; 32]))
}

fn gop_pair() -> PqdsaKeyPair {
    PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, gop_seed(&identity()).as_ref()).expect("32 bytes")
}

/// The certificate of the key that signs groups of pictures.
pub(super) fn certificate() -> Vec<u8> {
    let pair = gop_pair();
    let key = pair.public_key().as_ref().try_into().expect("1952 bytes");
    Certificate::issue(&identity(), key).to_bytes()
}

/// The signature of a group of pictures.
#[expect(clippy::disallowed_methods, reason = "tests sign as the program does")]
pub(super) fn sign_part(part: UnsignedPart) -> Vec<u8> {
    let mut signature = [0; GOP_SIGNATURE_LEN];
    gop_pair().sign(part.content(), &mut signature).expect("a key pair");
    part.signed(&signature).to_bytes()
}

pub(super) fn group() -> GroupName {
    GroupName {
        camera: identity().peer_id(),
        stream: STREAM.into(),
    }
}

pub(super) fn key(member: u64) -> MemberKey {
    let mut secret = [1; 32];
    secret[..8].copy_from_slice(&member.to_be_bytes());
    MemberKey::derive(&secret, &group())
}

pub(super) fn info() -> StreamInfo {
    StreamInfo {
        codec: Codec::Mjpeg,
        width: 640,
        height: 480,
        rate: FrameRate {
            numerator: 25,
            denominator: 1,
        },
        parameters: Vec::new(),
    }
}

/// The camera's terms where it signs this.
pub(super) fn terms(sign: SignMode) -> Vec<u8> {
    Camera::signing(sign).sealer.terms().to_vec()
}

/// The same, verified.
pub(super) fn agreed(sign: SignMode) -> Terms {
    Terms::verified(&terms(sign), &group(), &CameraName::NONE).expect("the camera's")
}

/// A camera, whose time goes on by 40 ms a frame.
pub(super) struct Camera {
    pub(super) sealer: GroupSealer,
    pub(super) frames: u64,
    pub(super) sounds: u64,
    pub(super) millis: u64,
    pub(super) seeds: u8,
}

impl Camera {
    pub(super) fn new(sign: SignMode, unit: Unit, numbers: std::ops::Range<u64>) -> Self {
        Self::in_run(RUN, sign, unit, numbers)
    }

    pub(super) fn in_run(run: [u8; 16], sign: SignMode, unit: Unit, numbers: std::ops::Range<u64>) -> Self {
        let config = GroupSealerConfig {
            identity: identity(),
            stream: STREAM,
            suite: suite::AES_256_GCM,
            sign,
            camera_name: CameraName::NONE,
            unit,
            selection_seed: 0,
        };
        let sealer = GroupSealer::new(at(0), config, numbers, run, &[3; 32]).expect("there are numbers");
        Self {
            sealer,
            frames: 0,
            sounds: 0,
            millis: 0,
            seeds: 0,
        }
    }

    pub(super) fn signing(sign: SignMode) -> Self {
        Self::new(sign, Unit::Frame, 5..1000)
    }

    /// Announces what waits; returns the sheet for everybody.
    pub(super) fn announce(&mut self) -> Option<Vec<u8>> {
        self.seeds += 1;
        let announced = self.sealer.announce(at(self.millis), &[self.seeds; 32]);
        announced.expect("numbers are left").and_then(|told| told.sheet)
    }

    pub(super) fn remove(&mut self, member: u64) {
        let removed = self.sealer.remove(at(self.millis), MemberId(member));
        removed.expect("it was a member");
    }

    /// Admits a member; returns the sheet for it.
    pub(super) fn admit(&mut self, member: u64) -> Vec<u8> {
        self.admit_all([member]).remove(0)
    }

    /// Admits members together; returns the sheet for each.
    pub(super) fn admit_all(&mut self, members: impl IntoIterator<Item = u64> + Clone) -> Vec<Vec<u8>> {
        for member in members.clone() {
            let admitted = self.sealer.admit(at(self.millis), MemberId(member), key(member));
            admitted.expect("there is room");
        }
        self.announce();
        let sheet = |member| self.sealer.path_sheet(MemberId(member)).expect("a member");
        members.into_iter().map(sheet).collect()
    }

    pub(super) fn frame(&mut self, keyframe: bool) -> Sealing {
        let data = picture(self.frames);
        let frame = OutgoingFrame {
            stream: STREAM.into(),
            codec: Codec::Mjpeg,
            keyframe,
            preamble: Preamble {
                frame: self.frames,
                ..Preamble::default()
            },
            data: &data,
        };
        self.frames += 1;
        self.millis += 40;
        let sealed = self.sealer.seal(at(self.millis), &info(), &frame);
        sealed.expect("within the limits").expect("a group has begun")
    }

    /// The next packet of sound, if it is sealed.
    pub(super) fn sound_packet(&mut self) -> Option<Sealing> {
        let data = sound_packet(self.sounds);
        let preamble = Preamble {
            frame: self.sounds,
            ..Preamble::default()
        };
        self.sounds += 1;
        let sound = OutgoingSound { preamble, data: &data };
        let sealed = self.sealer.seal_sound(at(self.millis), &sound_info(), &sound);
        sealed.expect("within the limits")
    }

    pub(super) fn sound(&mut self) -> Sealing {
        self.sound_packet().expect("a group has begun")
    }
}

pub(super) fn sound_info() -> SoundInfo {
    SoundInfo {
        codec: SoundCodec::Ulaw,
        channels: 1,
        samples_per_second: 8_000,
        samples_per_frame: 160,
        parameters: Vec::new(),
    }
}

pub(super) fn sound_packet(number: u64) -> Vec<u8> {
    (0..160_u8).map(|byte| byte ^ (number as u8)).collect()
}

pub(super) fn picture(number: u64) -> Vec<u8> {
    (0..3_000_u32).map(|byte| (byte as u8) ^ (number as u8)).collect()
}

/// The records of a frame.
pub(super) fn records(frame: &SealedFrame) -> Vec<Vec<u8>> {
    let mut rest = &frame.bytes[..];
    let mut records = Vec::new();
    while let Some((length, more)) = rest.split_first_chunk::<LENGTH_PREFIX>() {
        let length = u32::from_be_bytes(*length) as usize;
        assert!(length <= MAX_RECORD);
        records.push(more[..length].to_vec());
        rest = &more[length..];
    }
    records
}
